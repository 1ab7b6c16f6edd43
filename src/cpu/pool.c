/* The pool: one job slot, a share of the tasks for each thread, and a gate that threads enter while the job is open.
 *
 * A thread that sees a new job enters (inside += 1) and then checks whether the job is still open. The caller closes
 * the job when no task is left and waits until inside is 0. So a late thread finds the job closed and touches nothing,
 * and the caller waits only for threads that hold a task. */
#define _GNU_SOURCE
#include "cpu/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/signals.h"
#include "cpu/fpenv.h"

/* How long a thread without work spins before it sleeps, and the caller before it yields: long enough to bridge the gap
 * between two calls in a loop, short enough to leave the core to others. */
enum { SPIN_NANOSECONDS = 20000, SPINS_BETWEEN_LOOKS = 32 };

typedef struct share {
    _Alignas(64) atomic_size_t next;
    size_t end;
} share;

struct tally_pool {
    pthread_mutex_t busy; /* held by the caller whose job runs */
    unsigned threads;     /* workers, including the caller; like the following members guarded by 'busy' */
    unsigned started;     /* how many of them exist; the caller is the first */
    pthread_t *handles;
    share *shares;

    _Alignas(64) atomic_uint generation; /* a new value is a new job; sleepers wait on it */
    atomic_uint sleepers;
    atomic_bool ending;
    bool alone; /* no threads except the caller's; never changes */

    /* An entering thread reads only the cache line by which it enters: each further line that must come from the
     * caller's core delays the start by about 0.1 us. */
    _Alignas(64) atomic_uint inside;
    atomic_uint open; /* the generation whose job takes workers; 0: none */
    tally_task *task;
    void *job;
    unsigned share_count; /* 1: in order */

    tally_pool *next, *previous; /* in the list of all pools */
};

typedef struct worker_start {
    tally_pool *pool;
    unsigned worker;
} worker_start;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static uint64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_while(atomic_uint *word, unsigned value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(atomic_uint *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Takes tasks from its own share, then from the others', until none is left. */
static void take_tasks(tally_pool *pool, unsigned worker) {
    for (unsigned k = 0; k < pool->share_count; k++) {
        share *from = &pool->shares[(worker + k) % pool->share_count];
        for (;;) {
            if (atomic_load_explicit(&from->next, memory_order_relaxed) >= from->end)
                break;
            size_t task = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
            if (task >= from->end)
                break;
            pool->task(pool->job, task, worker);
        }
    }
}

/* Waits for a job other than the one seen last; false when the pool ends. */
static bool wait_for_job(tally_pool *pool, unsigned seen) {
    uint64_t until = 0;
    while (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen) {
        for (int i = 0; i < SPINS_BETWEEN_LOOKS; i++) {
            if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen)
                return !atomic_load(&pool->ending);
            relax();
        }
        uint64_t now = nanoseconds();
        if (!until)
            until = now + SPIN_NANOSECONDS;
        if (now < until)
            continue;
        atomic_fetch_add(&pool->sleepers, 1);
        sleep_while(&pool->generation, seen);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
    return !atomic_load(&pool->ending);
}

static void *worker_main(void *argument) {
    worker_start start = *(worker_start *)argument;
    free(argument);
    tally_pool *pool = start.pool;
    tally_fpenv_enter();
    unsigned seen = 0;
    while (wait_for_job(pool, seen)) {
        seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->inside, 1);
        if (atomic_load(&pool->open) == seen)
            take_tasks(pool, start.worker);
        atomic_fetch_sub_explicit(&pool->inside, 1, memory_order_release);
    }
    return NULL;
}

/* Starts the missing threads. If some cannot be started, the pool works without them. */
static void start_threads(tally_pool *pool) {
    sigset_t signals;
    tally_block_signals(&signals);
    while (pool->started < pool->threads) {
        worker_start *start = malloc(sizeof *start);
        if (!start)
            break;
        *start = (worker_start){pool, pool->started};
        if (pthread_create(&pool->handles[pool->started], NULL, worker_main, start) != 0) {
            free(start);
            break;
        }
        pool->started++;
    }
    pool->threads = pool->started;
    tally_unblock_signals(&signals);
}

/* ---- fork ---- */

/* A child of fork has the pools but none of their threads. A job, or a worker entering or leaving, that the fork caught
 * never ends there. So the child, which is still alone, resets every pool to one whose threads have not started. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static tally_pool *pools;

static void before_fork(void) {
    pthread_mutex_lock(&list_lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&list_lock);
}

static void after_fork_in_child(void) {
    for (tally_pool *pool = pools; pool; pool = pool->next) {
        pool->busy = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        pool->started = 1;
        atomic_store(&pool->sleepers, 0);
        atomic_store(&pool->inside, 0);
        atomic_store(&pool->open, 0);
    }
    pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void list(tally_pool *pool) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&list_lock);
    pool->next = pools;
    if (pools)
        pools->previous = pool;
    pools = pool;
    pthread_mutex_unlock(&list_lock);
}

static void unlist(tally_pool *pool) {
    pthread_mutex_lock(&list_lock);
    if (pool->previous)
        pool->previous->next = pool->next;
    else
        pools = pool->next;
    if (pool->next)
        pool->next->previous = pool->previous;
    pthread_mutex_unlock(&list_lock);
}

/* ---- the calls ---- */

tally_pool *tally_pool_create(unsigned threads) {
    tally_pool *pool = aligned_alloc(64, (sizeof *pool + 63) / 64 * 64);
    share *shares = aligned_alloc(64, sizeof *shares * threads);
    pthread_t *handles = calloc(threads, sizeof *handles);
    if (!pool || !shares || !handles) {
        free(pool);
        free(shares);
        free(handles);
        return NULL;
    }
    *pool = (tally_pool){.alone = threads < 2, .threads = threads, .started = 1, .handles = handles, .shares = shares};
    pthread_mutex_init(&pool->busy, NULL);
    list(pool);
    return pool;
}

void tally_pool_destroy(tally_pool *pool) {
    if (!pool)
        return;
    unlist(pool);
    atomic_store(&pool->ending, true);
    atomic_fetch_add(&pool->generation, 1);
    wake_all(&pool->generation);
    for (unsigned i = 1; i < pool->started; i++)
        pthread_join(pool->handles[i], NULL);
    pthread_mutex_destroy(&pool->busy);
    free(pool->shares);
    free(pool->handles);
    free(pool);
}

static void share_out(tally_pool *pool, size_t tasks, bool in_order) {
    pool->share_count = in_order ? 1 : pool->threads;
    for (unsigned i = 0; i < pool->share_count; i++) {
        /* tasks * i could overflow only past 2^50 tasks and 2^14 threads */
        atomic_store_explicit(&pool->shares[i].next, tasks * i / pool->share_count, memory_order_relaxed);
        pool->shares[i].end = tasks * (i + 1) / pool->share_count;
    }
}

static void run(tally_pool *pool, size_t tasks, tally_task *task, void *job, bool in_order) {
    if (tasks < 2 || pool->alone || pthread_mutex_trylock(&pool->busy) != 0) {
        for (size_t i = 0; i < tasks; i++)
            task(job, i, 0);
        return;
    }
    if (pool->started < pool->threads)
        start_threads(pool);
    share_out(pool, tasks, in_order);
    pool->task = task;
    pool->job = job;
    unsigned generation = atomic_load(&pool->generation) + 1;
    if (generation == 0)
        generation = 1; /* 0 means closed */
    atomic_store(&pool->open, generation);
    atomic_store(&pool->generation, generation);
    if (atomic_load(&pool->sleepers) > 0)
        wake_all(&pool->generation);

    take_tasks(pool, 0);

    atomic_store(&pool->open, 0);
    for (unsigned spins = 0; atomic_load(&pool->inside) != 0; spins++) {
        if (spins < 1000)
            relax();
        else
            sched_yield();
    }
    pthread_mutex_unlock(&pool->busy);
}

void tally_pool_run(tally_pool *pool, size_t tasks, tally_task *task, void *job) {
    run(pool, tasks, task, job, false);
}

void tally_pool_run_in_order(tally_pool *pool, size_t tasks, tally_task *task, void *job) {
    run(pool, tasks, task, job, true);
}

void tally_turn_wait(tally_turn *turn, size_t task) {
    for (unsigned spins = 0; __atomic_load_n(&turn->next, __ATOMIC_ACQUIRE) != task; spins++) {
        if (spins < 1000)
            relax();
        else
            sched_yield();
    }
}

void tally_turn_pass(tally_turn *turn, size_t task) {
    __atomic_store_n(&turn->next, task + 1, __ATOMIC_RELEASE);
}
