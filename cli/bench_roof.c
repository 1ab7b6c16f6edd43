/* The roofs: how fast this machine reads and copies memory at a given size, with the best of plain loops, streaming
 * stores and memcpy, on one thread and on all. The threads are the bench's own team, which spins while a roof is timed
 * and sleeps at all other times, so that it never takes a core from the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ------------------------------------------------------------------------------------------- the kernels ----- */

typedef uint64_t roof_vector __attribute__((vector_size(64), aligned(1), may_alias));

typedef struct roof_kernels {
    const char *name;
    uint64_t (*read)(const char *from, size_t bytes);
    void (*copy)(char *to, const char *from, size_t bytes);
    void (*fill)(char *to, size_t bytes);
    void (*copy_stream)(char *to, const char *from, size_t bytes); /* NULL where there are no streaming stores */
    void (*fill_stream)(char *to, size_t bytes);
} roof_kernels;

#define ROOF(name) name##_baseline
#define ROOF_TARGET
#include "bench_roof_kernels.h"
#undef ROOF
#undef ROOF_TARGET
static const roof_kernels kernels_baseline = {"baseline", read_baseline, copy_baseline, fill_baseline, NULL, NULL};

#if defined(__x86_64__)
#include <immintrin.h>

/* Loads the halves through memory so that no 64-byte vector must be split in a register. */
#define ROOF(name)  name##_avx2
#define ROOF_TARGET __attribute__((target("avx2")))
#define ROOF_STREAM(to, value)                                                                                         \
    do {                                                                                                               \
        const roof_vector v_ = (value);                                                                                \
        const __m256i *half_ = (const __m256i *)(const void *)&v_;                                                     \
        _mm256_stream_si256((__m256i *)(void *)(to), _mm256_loadu_si256(half_));                                       \
        _mm256_stream_si256((__m256i *)(void *)(to) + 1, _mm256_loadu_si256(half_ + 1));                               \
    } while (0)
#include "bench_roof_kernels.h"
#undef ROOF
#undef ROOF_TARGET
#undef ROOF_STREAM
static const roof_kernels kernels_avx2 = {"avx2", read_avx2, copy_avx2, fill_avx2, copy_stream_avx2, fill_stream_avx2};

#define ROOF(name)             name##_avx512
#define ROOF_TARGET            __attribute__((target("avx512f")))
#define ROOF_STREAM(to, value) _mm512_stream_si512((__m512i *)(void *)(to), (__m512i)(value))
#include "bench_roof_kernels.h"
#undef ROOF
#undef ROOF_TARGET
#undef ROOF_STREAM
static const roof_kernels kernels_avx512 = {"avx512",    read_avx512,        copy_avx512,
                                            fill_avx512, copy_stream_avx512, fill_stream_avx512};
#endif

static const roof_kernels *kernels_of_this_machine(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}

const char *bench_roof_instructions(void) {
    return kernels_of_this_machine()->name;
}

/* ---------------------------------------------------------------------------------------------- the team ----- */

typedef struct member {
    pthread_t thread;
    unsigned number; /* from 1: the caller is number 0 */
} member;

static struct {
    member *members; /* threads - 1 of them */
    unsigned threads;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool asleep; /* under lock */
    atomic_bool spin;
    atomic_uint round; /* a new value: there is a share of work */
    atomic_uint done;
    atomic_bool stop;
    bench_share share;
    void *context;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .threads = 1};

static void pause_briefly(unsigned *spins) {
    if (++*spins % 4096 == 0)
        sched_yield(); /* another program may hold the core that the other thread needs */
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void *team_thread(void *argument) {
    const unsigned me = ((const member *)argument)->number;
    unsigned seen = 0, spins = 0;
    while (!atomic_load(&team.stop)) {
        if (!atomic_load(&team.spin)) {
            pthread_mutex_lock(&team.lock);
            while (team.asleep)
                pthread_cond_wait(&team.wake, &team.lock);
            pthread_mutex_unlock(&team.lock);
        }
        unsigned round = atomic_load_explicit(&team.round, memory_order_acquire);
        if (round == seen) {
            pause_briefly(&spins);
            continue;
        }
        seen = round;
        team.share(team.context, me, team.threads);
        atomic_fetch_add_explicit(&team.done, 1, memory_order_release);
    }
    return NULL;
}

static void team_wake(void) {
    pthread_mutex_lock(&team.lock);
    team.asleep = false;
    atomic_store(&team.spin, true);
    pthread_cond_broadcast(&team.wake);
    pthread_mutex_unlock(&team.lock);
}

static void team_sleep(void) {
    pthread_mutex_lock(&team.lock);
    team.asleep = true;
    atomic_store(&team.spin, false);
    pthread_mutex_unlock(&team.lock);
}

/* The team must be awake. */
static void team_run(bench_share share, void *context) {
    unsigned spins = 0;
    team.share = share;
    team.context = context;
    atomic_store_explicit(&team.done, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&team.round, 1, memory_order_release);
    share(context, 0, team.threads);
    while (atomic_load_explicit(&team.done, memory_order_acquire) != team.threads - 1)
        pause_briefly(&spins);
}

void bench_team_run_once(bench_share share, void *context) {
    team_wake();
    team_run(share, context);
    team_sleep();
}

/* The roofs use as many threads as the device may: those of its spec, of the environment, or of the process. */
unsigned bench_threads_of(const char *spec) {
    const char *said = strstr(spec, "threads=");
    const char *environment = getenv("TALLY_THREADS");
    long threads = said ? strtol(said + strlen("threads="), NULL, 10) : environment ? strtol(environment, NULL, 10) : 0;
    cpu_set_t set;
    if (threads < 1)
        threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return threads < 1 ? 1 : threads > 1024 ? 1024 : (unsigned)threads;
}

bool bench_team_start(unsigned threads) {
    team.asleep = true;
    team.members = calloc(threads ? threads : 1, sizeof *team.members);
    if (!team.members)
        return false;
    /* The number is final before any thread runs; after a failure the threads started so far must stop. */
    team.threads = threads ? threads : 1;
    for (unsigned i = 1; i < team.threads; i++) {
        member *new_member = &team.members[i - 1];
        new_member->number = i;
        if (pthread_create(&new_member->thread, NULL, team_thread, new_member) != 0) {
            team.threads = i;
            bench_team_stop();
            return false;
        }
    }
    return true;
}

void bench_team_stop(void) {
    atomic_store(&team.stop, true);
    team_wake();
    for (unsigned i = 1; i < team.threads; i++)
        pthread_join(team.members[i - 1].thread, NULL);
    free(team.members);
    team.members = NULL;
    team.threads = 1;
}

unsigned bench_team_threads(void) {
    return team.threads;
}

/* ---------------------------------------------------------------------------------------------- the roof ----- */

static void add_move(bench_roof *roof, const void *from, void *to, size_t bytes) {
    if (bytes == 0 || roof->count == BENCH_MOVES)
        return;
    roof->moves[roof->count++] = (bench_move){from, to, bytes};
    roof->bytes += (from ? bytes : 0) + (to ? bytes : 0);
}

void bench_roof_of(const bench_span *inputs, size_t inputs_count, const bench_span *outputs, size_t outputs_count,
                   bench_roof *roof) {
    size_t i = 0, o = 0, in_at = 0, out_at = 0;
    *roof = (bench_roof){.count = 0};
    while (i < inputs_count || o < outputs_count) {
        char *from = i < inputs_count ? (char *)inputs[i].start + in_at : NULL;
        char *to = o < outputs_count ? (char *)outputs[o].start + out_at : NULL;
        size_t in_left = from ? inputs[i].bytes - in_at : SIZE_MAX;
        size_t out_left = to ? outputs[o].bytes - out_at : SIZE_MAX;
        size_t bytes = in_left < out_left ? in_left : out_left;
        add_move(roof, from, to, bytes);
        in_at += from ? bytes : 0;
        out_at += to ? bytes : 0;
        if (from && in_at == inputs[i].bytes)
            i++, in_at = 0;
        if (to && out_at == outputs[o].bytes)
            o++, out_at = 0;
    }
}

enum { STORE_PLAIN = 0, STORE_MEMCPY, STORE_STREAM, STORES };

static const char *const store_names[STORES] = {"plain", "memcpy", "streaming"};

typedef struct roof_job {
    const bench_roof *roof;
    const roof_kernels *kernels;
    int store;
    uint64_t sums[64]; /* of each thread, 8 apart would be a cache line; written once a call, so it does not matter */
} roof_job;

static uint64_t move_share(const roof_job *job, const bench_move *move, size_t start, size_t bytes) {
    const char *from = move->from ? (const char *)move->from + start : NULL;
    char *to = move->to ? (char *)move->to + start : NULL;
    if (!to)
        return job->kernels->read(from, bytes);
    if (!from && job->store == STORE_STREAM)
        job->kernels->fill_stream(to, bytes);
    else if (!from && job->store == STORE_MEMCPY)
        memset(to, 1, bytes);
    else if (!from)
        job->kernels->fill(to, bytes);
    else if (job->store == STORE_STREAM)
        job->kernels->copy_stream(to, from, bytes);
    else if (job->store == STORE_MEMCPY)
        memcpy(to, from, bytes);
    else
        job->kernels->copy(to, from, bytes);
    return 0;
}

static void roof_share(void *context, unsigned thread, unsigned threads) {
    roof_job *job = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < job->roof->count; i++) {
        const bench_move *move = &job->roof->moves[i];
        size_t part = (move->bytes / threads + 63) / 64 * 64;
        size_t start = part * thread < move->bytes ? part * thread : move->bytes;
        size_t end = thread + 1 == threads || start + part > move->bytes ? move->bytes : start + part;
        sum += move_share(job, move, start, end - start);
    }
    if (thread < 64)
        job->sums[thread] = sum;
}

static size_t stores_of(const bench_roof *roof) {
    for (size_t i = 0; i < roof->count; i++)
        if (roof->moves[i].to)
            return kernels_of_this_machine()->copy_stream ? STORES : STORE_STREAM;
    return 1;
}

size_t bench_roof_ways(const bench_roof *roof) {
    return stores_of(roof) * (team.threads > 1 ? 2 : 1);
}

void bench_roof_way_name(const bench_roof *roof, size_t way, char *name, size_t bytes) {
    size_t stores = stores_of(roof);
    unsigned threads = way < stores ? team.threads : 1;
    if (stores == 1)
        snprintf(name, bytes, "%u thread%s", threads, threads == 1 ? "" : "s");
    else
        snprintf(name, bytes, "%s, %u thread%s", store_names[way % stores], threads, threads == 1 ? "" : "s");
}

static void no_share(void *context, unsigned thread, unsigned threads) {
    (void)context, (void)thread, (void)threads;
}

double bench_roof_seconds(const bench_roof *roof, size_t way, size_t iterations) {
    size_t stores = stores_of(roof);
    roof_job job = {.roof = roof, .kernels = kernels_of_this_machine(), .store = (int)(way % stores)};
    const bool all = way < stores && team.threads > 1;
    static volatile uint64_t keep; /* reads the sums, so that no compiler drops them */
    double start;
    if (all) {
        team_wake();
        team_run(no_share, NULL); /* the threads are on their cores when the clock starts */
        start = bench_now();
        for (size_t i = 0; i < iterations; i++)
            team_run(roof_share, &job);
    } else {
        start = bench_now();
        for (size_t i = 0; i < iterations; i++) {
            roof_share(&job, 0, 1);
            __asm__ volatile("" : : "r"(&job) : "memory");
        }
    }
    double seconds = bench_now() - start;
    if (all)
        team_sleep();
    keep = job.sums[0];
    (void)keep;
    return seconds;
}
