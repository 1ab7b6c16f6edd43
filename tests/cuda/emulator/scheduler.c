#define _GNU_SOURCE
#include "scheduler.h"

#include "early.h"

#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, LANES = 32, STACK = 1 << 17, PAGE = 4096, SAVED_REGISTERS = 6, MOST_COPIES = 256 };
enum { GUARDED = 1 << 14 /* stacks: a page that faults takes two of the 65530 mappings that a process may have */ };
enum { PATIENCE = 1000 /* rounds of all blocks without any progress */, BARRIERS = 16 };

typedef enum thread_state { READY, AT_BARRIER, AT_WARP, ENDED } thread_state;

typedef struct thread {
    void *stack; /* where it goes on */
    thread_state state;
    int barrier, needed;
    const char *what;         /* at which its warp meets */
    unsigned long in_cluster; /* the barrier of the cluster that it has arrived at */
    int copies, grouped;
    struct thread_copies *pending; /* elsewhere, so that the threads' states lie close together */
} thread;

typedef struct thread_copies {
    emulate_copy copy[MOST_COPIES], group[MOST_COPIES]; /* not yet made */
} thread_copies;

/* The words that the lanes of a warp show: two sets, so that no lane overwrites one that another has yet to read. */
typedef struct warp {
    emulate_word shown[2][LANES];
    unsigned turn;
} warp;

typedef struct block {
    pthread_t worker;
    sem_t turn;
    thread *threads;
    char *stacks;
    char *dynamic_pages;
    size_t dynamic_room; /* whole pages, and one past them that faults */
    warp warps[MOST_THREADS / LANES];
    void *scheduler; /* the worker's own stack */
    unsigned current, rank;
    emulate_index at;
    void *dynamic, *anchor;
    unsigned long in_cluster; /* barriers that this block's cluster has passed; of its first block */
    unsigned arrived;         /* at the next; of the first block */
    bool fresh, ended;
    races *races;
} block;

static pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
static const emulate_launch *launch;
static block *blocks, *now; /* those alive together; the one that runs */
static unsigned block_count, alive, cluster /* blocks */;
static sem_t back; /* posted when a block has done what it can */
static unsigned long progress;
static bool failed, reverse, finds_races;

/* ---- coroutines: the registers that a function keeps, on a stack of its own (x86-64 as System V has it) ---- */

void emulate_switch(void **from, void *to);
__asm__(".text\n"
        ".local emulate_switch\n"
        "emulate_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n");

static thread *running(void) {
    return &now->threads[now->current];
}

/* ---- faults ---- */

static void say(const char *why) {
    fprintf(stderr, "emulator: %s, block %u.%u, thread %u: %s\n", launch->name, now->at.x, now->at.y, now->current,
            why);
}

/* Ends the launch; the other threads are left where they are. */
static void fault(const char *why) {
    say(why);
    failed = true;
    emulate_switch(&running()->stack, now->scheduler);
}

/* The compiler's checks trap; memory past the stacks and the shared memory cannot be reached. */
static void die(int signal_number) {
    if (now && launch)
        say(signal_number == SIGILL || signal_number == SIGTRAP
                ? "a misaligned access, an index or a shift out of its bounds"
                : "an address that is none: past the shared memory, or a NULL");
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = die, .sa_flags = SA_ONSTACK};
    const stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&own, NULL);
    const int signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS};
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        sigaction(signals[k], &action, NULL);
}

/* ---- who touches what ---- */

static void fault_of_race(int other, const void *at, bool writes, bool is_copy) {
    char why[160], whose[32] = "a copy";
    if ((unsigned)other < launch->block)
        snprintf(whose, sizeof whose, "thread %d", other);
    snprintf(why, sizeof why, "%s %s shared memory (%p) after %s, and nothing orders them", is_copy ? "a copy" : "it",
             writes ? "writes" : "reads", at, whose);
    fault(why);
}

static void note(const void *at, size_t bytes, bool writes, bool is_copy) {
    const int other = races_access(now->races, now->current, at, bytes, writes, is_copy);
    if (other >= 0)
        fault_of_race(other, at, writes, is_copy);
}

static void access_memory(const void *at, size_t bytes, bool writes) {
    if (finds_races)
        note(at, bytes, writes, false);
}

static void note_copy(const emulate_copy *c) {
    if (!finds_races || !c->to)
        return;
    note(c->from, c->bytes, false, true);
    note(c->to, c->bytes, true, true);
}

static void at_gate(const emulate_word *gate, races_event event) {
    if (finds_races)
        races_at_gate(now->races, now->current, gate, event);
}

/* This OS thread's variables of the library that has one of them at 'anchor'. */
static int find_statics(struct dl_phdr_info *library, size_t size, void *found) {
    races_region *region = found;
    (void)size;
    for (int k = 0; library->dlpi_tls_data && k < library->dlpi_phnum; k++) {
        const races_region all = {library->dlpi_tls_data, library->dlpi_phdr[k].p_memsz};
        if (library->dlpi_phdr[k].p_type == PT_TLS && (size_t)(region->begin - all.begin) < all.bytes) {
            *region = all;
            return 1;
        }
    }
    return 0;
}

static void begin_races(block *b) {
    races_region statics = {b->anchor, 0};
    dl_iterate_phdr(find_statics, &statics);
    races_begin(&b->races, launch->block, (races_region){b->dynamic, launch->dynamic_bytes}, statics);
}

/* ---- copies ---- */

static void make(const emulate_copy *c) {
    if (c->bytes && c->to)
        memcpy(c->to, c->from, c->bytes);
    if (c->then)
        c->then(c->gate, c->bytes);
    progress++;
}

static void make_copies(thread *t) {
    for (int k = 0; k < t->copies; k++)
        make(&t->pending->copy[k]);
    t->copies = 0;
}

static void let_go(const emulate_copy *c) {
    thread *t = running();
    if (t->copies == MOST_COPIES)
        make_copies(t);
    t->pending->copy[t->copies++] = *c;
}

static void wait_for_groups(int but_last) {
    thread *t = running();
    int groups = 0, made = 0;
    if (finds_races)
        races_await_copies(now->races, now->current);
    for (int k = 0; k < t->grouped; k++)
        groups += t->pending->group[k].to == NULL;
    for (; groups > but_last; made++) {
        groups -= t->pending->group[made].to == NULL;
        make(&t->pending->group[made]);
    }
    t->grouped -= made;
    memmove(t->pending->group, t->pending->group + made, (size_t)t->grouped * sizeof *t->pending->group);
}

static void copy_in_group(const emulate_copy *c) {
    thread *t = running();
    note_copy(c);
    if (t->grouped == MOST_COPIES)
        fault("too many copies that nobody waits for");
    emulate_copy *const kept = &t->pending->group[t->grouped++];
    *kept = *c;
    if (early_is_hidden() && c->to && !c->then) { /* as early as the hardware may, so that it copies what was */
        memcpy(c->to, c->from, c->bytes);
        kept->bytes = 0;
    }
}

static void let_groups_go(void) {
    thread *t = running();
    for (int k = 0; k < t->grouped; k++)
        if (t->pending->group[k].to)
            let_go(&t->pending->group[k]);
    t->grouped = 0;
}

static void copy(const emulate_copy *c) {
    note_copy(c);
    let_go(c);
}

/* ---- waiting ---- */

static void stop(thread_state state) {
    thread *t = running();
    t->state = state;
    make_copies(t);
    emulate_switch(&t->stack, now->scheduler);
}

static void give_way(void) {
    stop(READY);
}

static void sync_block(int barrier, int needed) {
    running()->barrier = barrier;
    running()->needed = needed;
    progress++;
    stop(AT_BARRIER);
}

static const emulate_word *exchange(const char *what, emulate_word mine) {
    warp *w = &now->warps[now->current / LANES];
    emulate_word *shown = w->shown[w->turn & 1];
    shown[now->current % LANES] = mine;
    running()->what = what;
    progress++;
    stop(AT_WARP);
    return shown;
}

/* Until all threads that are alive together wait for something. */
static void wait_for_last(void) {
    while (early_is_hidden())
        give_way();
    early_waited();
}

/* ---- clusters ---- */

static block *first_of_cluster(void) {
    return now - now->rank % cluster;
}

static void arrive_in_cluster(void) {
    block *first = first_of_cluster();
    progress++;
    running()->in_cluster = first->in_cluster + 1;
    if (++first->arrived == launch->block * cluster) {
        first->arrived = 0;
        first->in_cluster++;
        bool marks[MOST_THREADS];
        memset(marks, 1, sizeof marks);
        for (unsigned b = 0; b < cluster && finds_races; b++)
            races_meet(first[b].races, marks);
    }
}

static void wait_for_cluster(void) {
    while (first_of_cluster()->in_cluster < running()->in_cluster)
        give_way();
}

static void *at_block(void *shared, unsigned rank) {
    if (rank >= cluster)
        fault("a block that the cluster does not have");
    return (char *)first_of_cluster()[rank].anchor + ((char *)shared - (char *)now->anchor);
}

static void *dynamic_shared(void) {
    return now->dynamic;
}

static unsigned ordinal_of_block(void) {
    return reverse ? launch->grid.x - 1 - now->at.x : now->at.x;
}

static const emulate_scheduler interface = {.sync = sync_block,
                                            .exchange = exchange,
                                            .give_way = give_way,
                                            .copy = copy,
                                            .copy_in_group = copy_in_group,
                                            .wait_for_groups = wait_for_groups,
                                            .let_groups_go = let_groups_go,
                                            .arrive_in_cluster = arrive_in_cluster,
                                            .wait_for_cluster = wait_for_cluster,
                                            .at_block = at_block,
                                            .dynamic_shared = dynamic_shared,
                                            .ordinal_of_block = ordinal_of_block,
                                            .let_next_start = early_let_next,
                                            .wait_for_last = wait_for_last,
                                            .fault = fault,
                                            .access = access_memory,
                                            .at_gate = at_gate};

/* ---- one block ---- */

static void body(void) {
    launch->kernel->call(launch->parameters);
    for (int k = 0; k < running()->grouped; k++)
        if (running()->pending->group[k].to)
            fault("ends before its copies are done");
    progress++;
    stop(ENDED);
}

static void begin_thread(block *b, unsigned t) {
    void **top = (void **)(b->stacks + (size_t)(t + 1) * STACK);
    *--top = NULL; /* as if called: the stack is aligned so */
    *--top = (void *)body;
    for (int k = 0; k < SAVED_REGISTERS; k++)
        *--top = NULL;
    b->threads[t].stack = top;
    b->threads[t].state = READY;
    b->threads[t].copies = b->threads[t].grouped = 0;
}

/* Ends at a page that cannot be reached, and is filled with a nonzero pattern. */
static void begin_dynamic(block *b) {
    const size_t pages = (launch->dynamic_bytes + PAGE - 1) / PAGE * PAGE;
    if (pages + PAGE > b->dynamic_room) {
        if (b->dynamic_room)
            munmap(b->dynamic_pages, b->dynamic_room);
        b->dynamic_room = pages + PAGE;
        b->dynamic_pages = mmap(NULL, b->dynamic_room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(b->dynamic_pages + pages, PAGE, PROT_NONE);
    }
    b->dynamic = b->dynamic_pages + (b->dynamic_room - PAGE - launch->dynamic_bytes) / 128 * 128;
    memset(b->dynamic, 0xa5, launch->dynamic_bytes);
}

static void begin_block(block *b) {
    b->anchor = launch->kernel->anchor();
    memset(b->warps, 0, sizeof b->warps);
    begin_dynamic(b);
    if (finds_races)
        begin_races(b);
    for (unsigned t = 0; t < launch->block; t++)
        begin_thread(b, t);
    b->fresh = false;
}

/* Lets the threads of a warp go on if all of them are there. */
static void release_warp(block *b, unsigned first) {
    const char *what = NULL;
    unsigned waiting = 0, ended = 0, count = launch->block - first < LANES ? launch->block - first : LANES;
    for (unsigned t = first; t < first + count; t++) {
        ended += b->threads[t].state == ENDED;
        if (b->threads[t].state != AT_WARP)
            continue;
        b->current = t;
        if (what && strcmp(what, b->threads[t].what) != 0) {
            say("the lanes of its warp meet at different instructions");
            failed = true;
        }
        what = b->threads[t].what;
        waiting++;
    }
    if (!waiting || waiting + ended < count)
        return;
    if (ended && strcmp(what, "__syncwarp") != 0) {
        say("a lane that has ended is called to an exchange");
        failed = true;
    }
    b->warps[first / LANES].turn++;
    bool marks[MOST_THREADS] = {false};
    for (unsigned t = first; t < first + count; t++)
        if (b->threads[t].state == AT_WARP) {
            b->threads[t].state = READY;
            marks[t] = true;
        }
    if (finds_races && strcmp(what, "__syncwarp") == 0)
        races_meet(b->races, marks);
    progress++;
}

static void release_barriers(block *b) {
    unsigned waiting[BARRIERS] = {0}, ended = 0;
    int needed[BARRIERS] = {0};
    for (unsigned t = 0; t < launch->block; t++) {
        const thread *at = &b->threads[t];
        ended += at->state == ENDED;
        if (at->state != AT_BARRIER)
            continue;
        b->current = t;
        if (waiting[at->barrier]++ && needed[at->barrier] != at->needed) {
            say("a barrier is given different numbers of threads");
            failed = true;
        }
        needed[at->barrier] = at->needed;
    }
    for (int k = 0; k < BARRIERS; k++) {
        const unsigned all = needed[k] ? (unsigned)needed[k] : launch->block - ended;
        if (!waiting[k] || waiting[k] < all)
            continue;
        if (waiting[k] > all) {
            say("more threads than a barrier is for");
            failed = true;
        }
        bool marks[MOST_THREADS] = {false};
        for (unsigned t = 0; t < launch->block; t++)
            if (b->threads[t].state == AT_BARRIER && b->threads[t].barrier == k) {
                b->threads[t].state = READY;
                marks[t] = true;
            }
        if (finds_races)
            races_meet(b->races, marks);
        progress++;
    }
}

/* Runs a warp as far as it can go by itself: no kernel may rely on how far that is ahead of the others. */
static void run_warp(block *b, unsigned first) {
    const unsigned count = launch->block - first < LANES ? launch->block - first : LANES;
    unsigned long before;
    do {
        before = progress;
        for (unsigned k = 0; k < count && !failed; k++) {
            const unsigned t = first + (reverse ? count - 1 - k : k);
            if (b->threads[t].state != READY)
                continue;
            b->current = t;
            launch->kernel->thread->x = t;
            emulate_switch(&b->scheduler, b->threads[t].stack);
        }
        if (!failed)
            release_warp(b, first);
    } while (progress != before && !failed);
}

static void run_warps(block *b) {
    const unsigned warps = (launch->block + LANES - 1) / LANES;
    b->ended = true;
    for (unsigned k = 0; k < warps && !failed; k++)
        run_warp(b, (reverse ? warps - 1 - k : k) * LANES);
    if (!failed)
        release_barriers(b);
    for (unsigned t = 0; t < launch->block; t++)
        b->ended = b->ended && b->threads[t].state == ENDED;
}

static void run_turn(block *b) {
    unsigned long before;
    now = b;
    *launch->kernel->block = b->at;
    if (b->fresh)
        begin_block(b);
    do {
        before = progress;
        run_warps(b);
    } while (!failed && !b->ended && progress != before);
}

/* ---- all blocks ---- */

static void *work(void *argument) {
    block *b = argument;
    catch_signals();
    for (;;) {
        while (sem_wait(&b->turn) != 0)
            ;
        run_turn(b);
        sem_post(&back);
    }
    return NULL;
}

static void prepare(block *b) {
    b->threads = calloc(MOST_THREADS, sizeof *b->threads);
    thread_copies *copies = calloc(MOST_THREADS, sizeof *copies);
    for (int t = 0; t < MOST_THREADS; t++)
        b->threads[t].pending = &copies[t];
    b->stacks = mmap(NULL, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    static int guarded;
    for (int t = 0; t < MOST_THREADS && guarded < GUARDED; t++, guarded++)
        mprotect(b->stacks + (size_t)t * STACK, PAGE, PROT_NONE);
    sem_init(&b->turn, 0, 0);
    pthread_create(&b->worker, NULL, work, b);
    pthread_detach(b->worker);
}

/* What the kernels before have written can be seen from here on. */
static void reveal(void) {
    if (!early_reveal()) {
        say("it writes before it waits for the last kernel, where that has written");
        failed = true;
    }
}

static void run_together(unsigned first, unsigned count) {
    unsigned long before = progress;
    unsigned idle = 0;
    early_hide();
    for (unsigned k = 0; k < count; k++) {
        block *b = &blocks[k];
        b->rank = k;
        b->at = (emulate_index){(first + k) % launch->grid.x, (first + k) / launch->grid.x, 0};
        b->fresh = true;
        b->ended = false;
        b->in_cluster = b->arrived = 0;
    }
    do {
        alive = 0;
        for (unsigned k = 0; k < count && !failed; k++) {
            block *b = &blocks[reverse ? count - 1 - k : k];
            if (b->ended)
                continue;
            sem_post(&b->turn);
            while (sem_wait(&back) != 0)
                ;
            alive += !b->ended;
        }
        idle = progress == before ? idle + 1 : 0;
        before = progress;
        if (idle)
            reveal();
        if (alive && idle == PATIENCE && !failed) {
            say("nobody can go on");
            failed = true;
        }
    } while (alive && !failed);
    reveal();
}

bool emulate_run(const emulate_launch *due) {
    const char *order = getenv("EMULATE_ORDER"), *wants_races = getenv("EMULATE_RACES");
    const unsigned all = due->grid.x * due->grid.y;
    pthread_mutex_lock(&one_launch);
    launch = due;
    cluster = due->cluster ? due->cluster : (unsigned)due->kernel->cluster;
    const unsigned together = due->cooperative ? all : cluster;
    failed = all % together != 0 || due->block > MOST_THREADS;
    reverse = order && order[0] == 'r';
    finds_races = wants_races && wants_races[0];
    if (together > block_count) {
        if (!block_count)
            sem_init(&back, 0, 0);
        /* the old ones' workers hold on to theirs */
        blocks = calloc(together, sizeof *blocks);
        for (unsigned k = 0; k < together; k++)
            prepare(&blocks[k]);
        block_count = together;
    }
    *due->kernel->scheduler = &interface;
    *due->kernel->grid_size = due->grid;
    *due->kernel->block_size = (emulate_index){due->block, 1, 1};
    early_begin(due->starts_early, due->stream);
    for (unsigned first = 0; first < all && !failed; first += together)
        run_together(reverse ? all - together - first : first, together);
    if (!failed && !early_may_end()) {
        say("it ends without waiting for the last kernel, for which the next one may wait in vain");
        failed = true;
    }
    early_end();
    now = NULL;
    launch = NULL;
    pthread_mutex_unlock(&one_launch);
    return !failed;
}
