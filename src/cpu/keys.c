/* Reductions and scans by key: a group is a run of equal neighbouring keys.
 *
 * A task finds the heads of its chunk, the elements whose key differs from the one before. It hands on the number of
 * heads and the open group, so each task knows where its results go. */
#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "cpu/equal_groups.h"
#include "cpu/keys.h"
#include "cpu/reduce.h"
#include "cpu/runs.h"
#include "cpu/scan_run.h"
#include "cpu/scratch.h"

/* Heads of a chunk that are kept from the counting of runs, so that its keys are read once. (One thread, keys of i64,
 * ns an element: max of f64 in runs of 500 0.37 and 0.27.) Where more are likely, they are only counted, and found
 * later. */
enum { SAVED_HEADS = 128, SAMPLE = 512 };

/* Few elements are cut so that threads share them: a chunk of so many takes some 2 to 20 us. Long runs take less, and
 * two threads 1 us to meet. */
enum { LEAST_CHUNK = 8 * 1024, SHARED_AMONG = 16, LONG_RUN = 64 };

/* So many runs, but for the last one, are rows if they have one length of no more elements. */
enum { LEAST_EVEN = 8, MOST_EVEN = TALLY_CPU_SHORT_ROW };

/* The record of a chunk of a reduction: the number of its heads, the positions of the first and the last, and the
 * number of the run that is open before it. */
typedef struct remains {
    uint64_t heads, first_head, last_head, run;
    bool saved;
    uint32_t positions[SAVED_HEADS];
} remains;

typedef struct keys {
    tally_runs runs;
    const char *keys;
    size_t key_bytes;
    uint64_t elements;
    uint64_t chunk; /* elements of a task */
    uint64_t tasks;
    char *keys_out;
    uint64_t *starts;   /* reverse scans: the beginning of the group of a chunk's first element */
    uint64_t run;       /* handed on: the number of the open group */
    uint64_t run_start; /* handed on: where it begins */
    uint64_t run_end;   /* handed on in reverse scans: where it ends */
    uint64_t length;    /* reductions: of all runs but the last, unless they are 'uneven' */
    bool uneven;
    remains *remains; /* reductions whose runs were counted */
    void *partials;   /* two accumulators a chunk: of the run that ends in it first, and of its last one */
    tally_turn turn;
    unsigned char *carry;
} keys;

/* ---- heads ---- */

static const tally_cpu_heads *kernels_of(const keys *k) {
    const size_t bytes = k->key_bytes;
    return &k->runs.plan->device->level->heads[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

/* The heads among elements first .. first + n - 1, relative to first; element 0 is none. */
static uint64_t find_heads(const keys *k, uint64_t first, uint32_t n, uint32_t *heads) {
    const char *chunk = k->keys + first * k->key_bytes;
    if (first > 0)
        return kernels_of(k)->find(chunk, n, 0, heads);
    return n ? kernels_of(k)->find(chunk + k->key_bytes, n - 1, 1, heads) : 0;
}

/* Worker scratch: first what the runs need, then the heads. */
static uint32_t *heads_of(const keys *k, unsigned worker) {
    size_t before = (tally_stretch_bytes(k->runs.plan) + 63) / 64 * 64;
    return (uint32_t *)(void *)((char *)tally_cpu_worker(k->runs.plan, worker) + before);
}

/* And marks. */
enum { HEADS_BYTES = (TALLY_CPU_KEYS_CHUNK + 16 + 2) * sizeof(uint32_t), MARKS_BYTES = TALLY_CPU_KEYS_CHUNK / 8 + 8 };

static uint64_t *marks_of(const keys *k, unsigned worker) {
    return (uint64_t *)(void *)((char *)heads_of(k, worker) + HEADS_BYTES);
}

static size_t worker_bytes(const tally_cpu_plan *plan) {
    return tally_stretch_bytes(plan) + 64 + HEADS_BYTES + MARKS_BYTES;
}

/* As find_heads, but as bits. */
static uint64_t mark_heads(const keys *k, uint64_t first, uint32_t n, uint64_t *marks) {
    const char *chunk = k->keys + first * k->key_bytes;
    if (first > 0)
        return kernels_of(k)->mark(chunk, n, marks);
    const uint64_t count = kernels_of(k)->mark(chunk + k->key_bytes, n - 1, marks);
    uint64_t before = 0;
    for (uint32_t w = 0; w <= (n - 1) / 64; w++) {
        const uint64_t own = marks[w];
        marks[w] = own << 1 | before >> 63;
        before = own;
    }
    return count;
}

/* The length of the first runs that begin in a stretch, if it is the same; else 0. */
static uint64_t length_of_first(const uint64_t *marks, size_t words) {
    enum { ENOUGH = 16 };
    uint64_t before = 0, length = 0, seen = 0;
    for (size_t w = 0; w < words && seen < ENOUGH; w++)
        for (uint64_t word = marks[w]; word && seen < ENOUGH; word &= word - 1, seen++) {
            const uint64_t at = 64 * w + (uint64_t)__builtin_ctzll(word);
            if (seen > 1 && at - before != length)
                return 0;
            length = seen ? at - before : 0;
            before = at;
        }
    return length;
}

static uint32_t first_and_last(const uint64_t *marks, uint64_t words, uint32_t *last) {
    uint64_t low = 0, high = words - 1;
    while (!marks[low])
        low++;
    while (!marks[high])
        high--;
    *last = (uint32_t)(64 * high + 63 - (uint64_t)__builtin_clzll(marks[high]));
    return (uint32_t)(64 * low + (uint64_t)__builtin_ctzll(marks[low]));
}

/* The heads of a stretch by way of marks, or as marks where it is scanned with them. */
static void find_marks(const keys *k, tally_stretch *s, unsigned worker) {
    const tally_cpu_plan *plan = k->runs.plan;
    const tally_computation *c = &plan->base.computation;
    const uint32_t n = (uint32_t)(s->end - s->begin);
    const uint64_t words = divide_up(n, 64);
    uint64_t *const marks = marks_of(k, worker);
    uint32_t *const heads = heads_of(k, worker);
    s->boundaries = mark_heads(k, s->begin, n, marks);
    s->heads = heads;
    /* runs of one length may be rows */
    if (tally_is_scan(c) && !c->reverse && tally_stretch_takes_marks(plan, s) &&
        !tally_cpu_scans_equal(plan, length_of_first(marks, words))) {
        heads[0] = first_and_last(marks, words, &heads[1]);
        s->marks = marks;
    } else {
        kernels_of(k)->list(marks, n, heads);
    }
}

static tally_stretch find_stretch(const keys *k, uint64_t chunk, unsigned worker) {
    tally_stretch s = {.begin = chunk * k->chunk, .all = k->elements};
    s.end = least(s.begin + k->chunk, k->elements);
    s.heads_base = s.begin;
    if (k->remains && k->remains[chunk].saved) {
        s.boundaries = k->remains[chunk].heads;
        s.heads = k->remains[chunk].positions;
        return s;
    }
    if (kernels_of(k)->mark) {
        find_marks(k, &s, worker);
        return s;
    }
    uint32_t *heads = heads_of(k, worker);
    s.boundaries = find_heads(k, s.begin, (uint32_t)(s.end - s.begin), heads);
    s.heads = heads;
    return s;
}

static uint64_t last_head(const tally_stretch *s) {
    return tally_stretch_boundary(s, s->boundaries - 1);
}

/* ---- how many runs there are, and where they begin ---- */

static void count_task(void *job, size_t task, unsigned worker) {
    keys *k = job;
    remains *left = &k->remains[task];
    uint64_t first = most(task * k->chunk, 1);
    uint64_t end = least((task + 1) * k->chunk, k->elements);
    uint32_t n = first < end ? (uint32_t)(end - first) : 0, sample = (uint32_t)least(n, SAMPLE);
    const char *from = k->keys + first * k->key_bytes;
    left->heads = n ? kernels_of(k)->count(from, sample) : 0;
    left->saved = left->heads <= SAMPLE * SAVED_HEADS / TALLY_CPU_KEYS_CHUNK;
    if (left->saved) {
        uint32_t *heads = heads_of(k, worker);
        left->heads = find_heads(k, task * k->chunk, (uint32_t)(end - task * k->chunk), heads);
        left->saved = left->heads <= SAVED_HEADS;
        if (left->saved)
            memcpy(left->positions, heads, left->heads * sizeof *heads);
    } else if (n > sample) {
        left->heads += kernels_of(k)->count(from + sample * k->key_bytes, n - sample);
    }
}

static tally_status count_runs(tally_cpu_plan *plan, keys *k, uint64_t *runs) {
    const size_t partials = (2 * k->tasks * plan->acc_bytes + 63) / 64 * 64;
    void *scratch;
    tally_status status = tally_cpu_scratch(plan, partials + k->tasks * sizeof *k->remains, &scratch);
    if (status != TALLY_OK)
        return status;
    k->partials = scratch;
    k->remains = tally_at_mutable(scratch, partials, 1);
    tally_pool_run(plan->device->pool, k->tasks, count_task, k);
    uint64_t run = 0;
    for (uint64_t task = 0; task < k->tasks; task++) {
        k->remains[task].run = run;
        run += k->remains[task].heads;
    }
    *runs = k->elements ? run + 1 : 0;
    return TALLY_OK;
}

static void starts_task(void *job, size_t task, unsigned worker) {
    keys *k = job;
    tally_stretch s = find_stretch(k, task, worker);
    /* the beginning of this chunk's last run; find_starts turns it into the beginning of the run that the next chunk
     * starts in */
    k->starts[task] = s.boundaries ? last_head(&s) : UINT64_MAX;
}

static void find_starts(keys *k) {
    tally_pool_run(k->runs.plan->device->pool, k->tasks, starts_task, k);
    uint64_t start = 0;
    for (uint64_t task = 0; task < k->tasks; task++) {
        uint64_t last = k->starts[task];
        k->starts[task] = start;
        if (last != UINT64_MAX)
            start = last;
    }
}

/* ---- the work ---- */

static void write_keys(const keys *k, const tally_stretch *s) {
    if (k->keys_out)
        kernels_of(k)->pick(k->keys + s->heads_base * k->key_bytes, s->heads, s->boundaries,
                            k->keys_out + (s->first_result + 1) * k->key_bytes);
}

static void chunk_task(void *job, size_t task, unsigned worker) {
    keys *k = job;
    const tally_cpu_plan *plan = k->runs.plan;
    const tally_computation *c = &plan->base.computation;
    uint64_t chunk = c->reverse ? k->tasks - 1 - task : task;
    tally_stretch s = find_stretch(k, chunk, worker);
    _Alignas(64) unsigned char own[TALLY_CPU_ACC_MOST], carry[TALLY_CPU_ACC_MOST];
    if (c->reverse) {
        s.group_start = k->starts[chunk];
    } else if (s.boundaries == 0) { /* else the fold begins at the chunk's last head */
        s.group_start = s.begin;
        if (tally_looks_at_index(c)) {
            tally_turn_wait(&k->turn, task);
            s.group_start = k->run_start;
        }
    }
    const tally_runs runs = tally_runs_staged(&k->runs, s.begin, s.end, worker);
    const bool hands_on = task + 1 < k->tasks || !tally_is_scan(c); /* a reduction's last run is given later */
    if (hands_on)
        tally_stretch_fold(&runs, &s, worker, own);
    tally_turn_wait(&k->turn, task);
    memcpy(carry, k->carry, plan->acc_bytes);
    if (hands_on)
        tally_stretch_hand_on(&k->runs, &s, own, k->carry);
    if (c->reverse) {
        s.group_end = k->run_end;
        if (s.boundaries)
            k->run_end = s.heads[0] + s.heads_base;
    } else {
        s.group_start = k->run_start;
        s.first_result = k->run;
        k->run += s.boundaries;
        if (s.boundaries)
            k->run_start = last_head(&s);
    }
    tally_turn_pass(&k->turn, task);
    if (tally_is_scan(c)) {
        tally_stretch_scan(&runs, &s, worker, carry);
    } else {
        write_keys(k, &s);
        tally_stretch_reduce(&runs, &s, worker, carry);
    }
}

/* If the runs were counted, the places of a chunk's results are known and no task waits for another. The parts that
 * cross the chunks' ends are combined afterwards. */
static void reduce_task(void *job, size_t task, unsigned worker) {
    keys *k = job;
    const size_t bytes = k->runs.plan->acc_bytes;
    tally_stretch s = find_stretch(k, task, worker);
    remains *left = &k->remains[task];
    s.group_start = s.begin;
    s.first_result = left->run;
    const tally_runs runs = tally_runs_staged(&k->runs, s.begin, s.end, worker);
    tally_stretch_first(&runs, &s, tally_at_mutable(k->partials, 2 * task, bytes));
    tally_stretch_fold(&runs, &s, worker, tally_at_mutable(k->partials, 2 * task + 1, bytes));
    if (s.boundaries == 0)
        return;
    left->first_head = s.heads[0] + s.heads_base;
    left->last_head = last_head(&s);
    write_keys(k, &s);
    tally_stretch_inner(&runs, &s, worker);
}

static void join_chunks(keys *k) {
    const tally_cpu_plan *plan = k->runs.plan;
    for (size_t task = 0; task < k->tasks; task++) {
        const remains *left = &k->remains[task];
        const void *first = tally_at(k->partials, 2 * task, plan->acc_bytes);
        const void *last = tally_at(k->partials, 2 * task + 1, plan->acc_bytes);
        if (left->heads) {
            uint64_t length = left->first_head - k->run_start;
            plan->kernels->combine(&plan->context, 1, first, k->carry);
            tally_runs_emit(&k->runs, left->run, 1, &length, k->carry);
            plan->kernels->identity(&plan->context, 1, k->carry);
            k->run_start = left->last_head;
        }
        plan->kernels->combine(&plan->context, 1, last, k->carry);
        k->run = left->run + left->heads;
    }
}

static bool has_room(const keys *k, const tally_args *args, uint64_t runs) {
    const tally_computation *c = &k->runs.plan->base.computation;
    return args->out_bytes / (c->out_bytes * c->per_result) >= runs &&
           (!args->keys_out || args->keys_out_bytes / k->key_bytes >= runs);
}

/* Fails if the outputs have no room for the runs. *args->count is their number in either case. */
static tally_status check_room(const keys *k, const tally_args *args, uint64_t runs) {
    if (args->count)
        *args->count = runs;
    const tally_outcome outcome = {.lacks_room = !has_room(k, args, runs), .runs = runs};
    return tally_run_outcome(&k->runs.plan->base.computation, args, &outcome);
}

/* ---- runs of one length ---- */

/* Whether heads[i] = first + i * length for i < count. */
static bool are_multiples(const uint32_t *heads, uint64_t count, uint32_t first, uint32_t length) {
    uint32_t differs = 0;
    for (uint64_t i = 0; i < count; i++)
        differs |= heads[i] ^ (first + (uint32_t)i * length);
    return !differs;
}

static void even_task(void *job, size_t task, unsigned worker) {
    keys *k = job;
    const uint64_t begin = task * k->chunk, n = least(k->chunk, k->elements - begin);
    const uint64_t first = begin ? (k->length - begin % k->length) % k->length : k->length;
    uint32_t *heads = heads_of(k, worker);
    if (__atomic_load_n(&k->uneven, __ATOMIC_RELAXED))
        return;
    const uint64_t count = find_heads(k, begin, (uint32_t)n, heads);
    if (count != (first < n ? divide_up(n - first, k->length) : 0) ||
        !are_multiples(heads, count, (uint32_t)first, (uint32_t)k->length))
        __atomic_store_n(&k->uneven, true, __ATOMIC_RELAXED);
}

/* The first keys tell whether it is worth looking at all. */
static void find_even(keys *k) {
    uint32_t *heads = heads_of(k, 0);
    const uint64_t count = find_heads(k, 0, (uint32_t)least(k->elements, SAMPLE), heads);
    k->length = count ? heads[0] : 0;
    k->uneven = !tally_cpu_reduces_rows(k->runs.plan, k->length) || count < LEAST_EVEN ||
                !are_multiples(heads, count, heads[0], heads[0]);
    if (!k->uneven)
        tally_pool_run(k->runs.plan->device->pool, k->tasks, even_task, k);
}

static void even_keys_task(void *job, size_t task, unsigned worker) {
    const keys *k = job;
    const uint64_t runs = divide_up(k->elements, k->length);
    const uint64_t end = least((task + 1) * (uint64_t)TALLY_CPU_KEYS_CHUNK, runs);
    uint32_t places[TALLY_CPU_BATCH];
    (void)worker;
    for (size_t i = 0; i < TALLY_CPU_BATCH; i++)
        places[i] = (uint32_t)(i * k->length);
    for (uint64_t run = task * (uint64_t)TALLY_CPU_KEYS_CHUNK; run < end; run += TALLY_CPU_BATCH)
        kernels_of(k)->pick(k->keys + run * k->length * k->key_bytes, places, least(end - run, TALLY_CPU_BATCH),
                            k->keys_out + run * k->key_bytes);
}

/* The last run may have another length. */
static tally_status reduce_even(tally_cpu_plan *plan, keys *k) {
    const size_t bytes = plan->base.computation.in_bytes;
    const uint64_t rows = divide_up(k->elements, k->length) - 1, last = rows * k->length, n = k->elements - last;
    if (k->keys_out)
        tally_pool_run(plan->device->pool, divide_up(rows + 1, TALLY_CPU_KEYS_CHUNK), even_keys_task, k);
    plan->kernels->fold(&plan->context, tally_at(k->runs.x, last, bytes), tally_at(k->runs.y, last, bytes), n, 0,
                        k->carry);
    tally_runs_emit(&k->runs, rows, 1, &n, k->carry);
    return tally_cpu_reduce_rows(plan, k->runs.x, k->runs.y, rows, k->length, k->runs.out);
}

/* ---- reductions ---- */

/* Elements of one chunk: no run crosses its ends, so these are boundaries as well, and nothing is handed on. */
static tally_status reduce_chunk(tally_cpu_plan *plan, keys *k, const tally_args *args) {
    uint32_t *const heads = heads_of(k, 0), n = (uint32_t)k->elements;
    const uint64_t runs = 1 + find_heads(k, 0, n, heads + 1);
    heads[0] = 0;
    heads[runs] = n;
    const tally_status status = check_room(k, args, runs);
    if (status != TALLY_OK)
        return status;
    if (k->keys_out)
        kernels_of(k)->pick(k->keys, heads, runs, k->keys_out);
    k->length = runs > LEAST_EVEN ? heads[1] : 0;
    if (k->length - 1 < MOST_EVEN && are_multiples(heads, runs, 0, heads[1]) && n - heads[runs - 1] <= k->length &&
        tally_cpu_reduces_rows(plan, k->length)) {
        k->keys_out = NULL; /* which are there */
        return reduce_even(plan, k);
    }
    const tally_stretch s = {
        .end = n, .boundaries = runs + 1, .heads = heads, .group_end = n, .first_result = TALLY_BEFORE_FIRST};
    const tally_runs staged = tally_runs_staged(&k->runs, 0, n, 0);
    tally_stretch_inner(&staged, &s, 0);
    return TALLY_OK;
}

static tally_status reduce_keys(tally_cpu_plan *plan, keys *k, const tally_args *args) {
    if (k->tasks == 1)
        return reduce_chunk(plan, k, args);
    tally_status status = TALLY_OK;
    find_even(k);
    if (!k->uneven) {
        status = check_room(k, args, divide_up(k->elements, k->length));
        return status == TALLY_OK ? reduce_even(plan, k) : status;
    }
    if (!has_room(k, args, k->elements)) {
        uint64_t runs;
        status = count_runs(plan, k, &runs);
        if (status == TALLY_OK)
            status = check_room(k, args, runs);
    }
    if (status != TALLY_OK)
        return status;
    if (k->remains && !tally_looks_at_index(&plan->base.computation)) {
        tally_pool_run(plan->device->pool, k->tasks, reduce_task, k);
        join_chunks(k);
    } else {
        tally_pool_run_in_order(plan->device->pool, k->tasks, chunk_task, k);
    }
    if (k->elements) {
        uint64_t length = k->elements - k->run_start;
        tally_runs_emit(&k->runs, k->run, 1, &length, k->carry);
        if (k->keys_out)
            memcpy(k->keys_out, k->keys, k->key_bytes);
    }
    if (args->count)
        *args->count = k->elements ? k->run + 1 : 0;
    return TALLY_OK;
}

/* Elements of a task. Two threads have as many each if there are not many. */
static uint64_t choose_chunk(const keys *k) {
    const tally_computation *c = &k->runs.plan->base.computation;
    if (!tally_is_scan(c) && k->elements > LEAST_CHUNK && k->elements <= TALLY_CPU_KEYS_CHUNK &&
        tally_cpu_reads_fast(c) && k->elements * (k->key_bytes + c->in_bytes) <= TALLY_CPU_ALONE_BYTES &&
        kernels_of(k)->count(k->keys + k->key_bytes, SAMPLE) < SAMPLE / LONG_RUN)
        return k->elements;
    return least(tally_even_part(most(k->elements, 1), LEAST_CHUNK, SHARED_AMONG), TALLY_CPU_KEYS_CHUNK);
}

tally_status tally_cpu_keys(tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) unsigned char carry[TALLY_CPU_ACC_MOST];
    keys k = {.keys = args->keys,
              .key_bytes = c->index_bytes,
              .elements = args->shape.extent,
              .keys_out = args->keys_out,
              .run_end = args->shape.extent,
              .carry = carry};
    k.runs = (tally_runs){
        plan,          args->x,   args->y,
        args->initial, args->out, args->shape.extent * c->out_bytes > TALLY_CPU_STREAM_BYTES && args->out != args->x};
    k.chunk = choose_chunk(&k);
    k.tasks = divide_up(k.elements, k.chunk);
    tally_status status = tally_cpu_worker_scratch(plan, worker_bytes(plan));
    if (status != TALLY_OK)
        return status;
    tally_cpu_start(plan, args->initial, carry);
    if (!tally_is_scan(c))
        return reduce_keys(plan, &k, args);
    if (c->reverse) {
        void *starts;
        if ((status = tally_cpu_scratch(plan, k.tasks * sizeof *k.starts, &starts)) != TALLY_OK)
            return status;
        k.starts = starts;
        find_starts(&k);
    }
    tally_pool_run_in_order(plan->device->pool, k.tasks, chunk_task, &k);
    return TALLY_OK;
}
