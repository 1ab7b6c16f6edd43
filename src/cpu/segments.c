/* Reductions and scans of segments given by offsets.
 *
 * The tasks cut the path that a merge of offsets and elements would take (Merrill and Garland's merge path, 2016). So
 * each task has the same number of elements and segment ends together, whatever the lengths: one segment of half of all
 * elements is shared, and so are a million empty ones. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "cpu/offsets.h"
#include "cpu/reduce.h"
#include "cpu/runs.h"
#include "cpu/scan_run.h"
#include "cpu/scratch.h"
#include "cpu/segments.h"

/* Elements and segment ends of a task, and most tasks of a reduction. Short segments, and scans that are not direct,
 * take 0.3 to 2 ns a step. So a task has fewer steps where there are few in all, and threads share these, too. */
enum {
    PATH_STEPS = 32 * 1024,
    LEAST_SHORT_STEPS = 16 * 1024, /* sums of f32 take 0.15 ns a step */
    LEAST_SCAN_STEPS = 8 * 1024,
    SHARED_AMONG = 16,
    MOST_ALONE = 64 * 1024, /* of TALLY_CPU_ALONE_BYTES: products of u8 take 0.03 ns */
    MOST_STRETCHES = 1024,
    CHECKED_AT_A_TIME = 64 * 1024,
    /* So many segments, but for the last one, are rows if they have one length of no more elements. */
    LEAST_EVEN = 8,
    MOST_EVEN = TALLY_CPU_SHORT_ROW
};

/* Reductions: the rest of a stretch when its whole segments are done. */
typedef struct remains {
    uint64_t first_result; /* the segment that was open before it */
    bool has_end;          /* whether this one ends in it */
} remains;

typedef struct segments {
    tally_runs runs;
    const void *offsets;
    tally_dtype type;
    uint64_t elements, count;
    uint64_t first; /* where the first segment begins */
    uint64_t last;  /* where the last one ends */
    uint64_t steps, tasks;
    remains *remains;
    void *partials; /* two accumulators per task: of its first segment if that ends in the task, and of its last segment
                     */
    uint64_t length; /* of the first segment; of all but the last, if not 'uneven' */
    bool uneven, checked, empty_is_error;
    uint64_t bad;   /* the first segment that is known to be bad; count if none is */
    uint64_t empty; /* the first empty one, where that is an error */
    tally_turn turn;
    unsigned char *carry; /* not an array: to clear it would take a fifth of the time of 100 elements */
} segments;

static uint64_t offset_at(const segments *s, uint64_t i) {
    uint64_t number;
    tally_cpu_read_offsets(s->offsets, s->type, i, 1, &number);
    return number;
}

/* ---- checks ---- */

static void lower_to(uint64_t *lowest, uint64_t value) {
    uint64_t seen = __atomic_load_n(lowest, __ATOMIC_RELAXED);
    while (value < seen &&
           !__atomic_compare_exchange_n(lowest, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static bool decreases(const segments *s, const uint64_t *numbers, size_t n) {
    return s->runs.plan->device->level->decreases(numbers, sizeof *numbers, n);
}

static bool is_uneven(const segments *s) {
    return __atomic_load_n(&s->uneven, __ATOMIC_RELAXED);
}

/* Whether n segments have the length that all have so far. */
static bool are_even(segments *s, const uint64_t *numbers, size_t n) {
    if (is_uneven(s))
        return false;
    if (n == 0 || (numbers[1] - numbers[0] == s->length && s->runs.plan->device->level->is_even(numbers, n)))
        return true;
    __atomic_store_n(&s->uneven, true, __ATOMIC_RELAXED);
    return false;
}

static void check_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    segments *s = job;
    const uint64_t first = task * (uint64_t)CHECKED_AT_A_TIME, end = least(first + CHECKED_AT_A_TIME, s->count);
    const size_t bytes = tally_dtype_size(s->type);
    /* as they are: the ends were checked, so that a negative offset is followed by a smaller number */
    if (is_uneven(s) && !s->empty_is_error &&
        !s->runs.plan->device->level->decreases(tally_at(s->offsets, first, bytes), bytes, end - first))
        return;
    for (uint64_t i = first; i < end;) {
        uint64_t room[TALLY_CPU_BATCH + 1];
        size_t batch = least(end - i, TALLY_CPU_BATCH);
        const uint64_t *numbers =
            tally_cpu_see_offsets(s->runs.plan->device->level, s->offsets, s->type, i, batch + 1, room);
        const bool is_last = i + batch == s->count;
        if (are_even(s, numbers, batch - is_last) && !is_last) { /* and none of them is empty */
            i += batch;
            continue;
        }
        const bool bad = decreases(s, numbers, batch);
        const bool empty = s->empty_is_error && s->runs.plan->device->level->repeats(numbers, batch);
        for (size_t k = 0; (bad || empty) && k < batch; k++) {
            if (numbers[k + 1] < numbers[k])
                lower_to(&s->bad, i + k);
            else if (numbers[k + 1] == numbers[k])
                lower_to(&s->empty, i + k);
        }
        i += batch;
    }
}

typedef struct number_text {
    char digits[24];
} number_text;

/* An offset in the caller's type, which may be negative. */
static number_text told_offset(const segments *s, uint64_t i) {
    number_text text;
    const uint64_t offset = offset_at(s, i);
    if (s->type == TALLY_U64)
        snprintf(text.digits, sizeof text.digits, "%" PRIu64, offset);
    else
        snprintf(text.digits, sizeof text.digits, "%" PRId64, (int64_t)offset);
    return text;
}

static tally_status bad_offsets(const segments *s) {
    if (s->bad < s->count)
        return tally_fail(TALLY_BAD_OFFSETS,
                          "offsets[%" PRIu64 "] is %s and offsets[%" PRIu64
                          "] is %s: offsets may not decrease or pass the end of the values, %" PRIu64,
                          s->bad, told_offset(s, s->bad).digits, s->bad + 1, told_offset(s, s->bad + 1).digits,
                          s->elements);
    return TALLY_OK;
}

/* The first and the last offset can be checked without reading those between. */
static tally_status check_ends(segments *s) {
    s->first = offset_at(s, 0);
    s->last = offset_at(s, s->count);
    if (s->first > s->elements)
        return tally_fail(TALLY_BAD_OFFSETS, "offsets[0] is %s, but there are %" PRIu64 " values",
                          told_offset(s, 0).digits, s->elements);
    if (s->last > s->elements || s->last < s->first)
        return tally_fail(TALLY_BAD_OFFSETS,
                          "the last offset, offsets[%" PRIu64 "], is %s; it must lie between the first, %" PRIu64
                          ", and the number of values, %" PRIu64,
                          s->count, told_offset(s, s->count).digits, s->first, s->elements);
    return TALLY_OK;
}

static tally_status check(segments *s, const tally_args *args) {
    const tally_computation *c = &s->runs.plan->base.computation;
    tally_status status = check_ends(s);
    s->bad = s->empty = s->count;
    s->empty_is_error = tally_empty_is_error(c);
    s->length = s->count ? offset_at(s, 1) - s->first : 0;
    s->uneven = tally_is_scan(c) || s->count < LEAST_EVEN || s->length - 1 >= MOST_EVEN ||
                !tally_cpu_reduces_rows(s->runs.plan, s->length);
    bool while_running = (c->desc.flags & TALLY_CHECK_WHILE_RUNNING) && !s->empty_is_error && !c->reverse;
    if (while_running)
        s->uneven = true;
    s->checked = !while_running;
    if (status != TALLY_OK || while_running)
        return status;
    tally_pool_run(s->runs.plan->device->pool, divide_up(s->count, CHECKED_AT_A_TIME), check_task, s);
    if ((status = bad_offsets(s)) != TALLY_OK)
        return status;
    const tally_outcome outcome = {.is_empty = s->empty_is_error && s->empty < s->count, .segment = s->empty};
    return tally_run_outcome(c, args, &outcome);
}

/* ---- cutting ---- */

/* The point of the path after 'steps' elements and segment ends: in segment *segment before *element. */
static void locate(const segments *s, uint64_t steps, uint64_t *segment, uint64_t *element) {
    uint64_t low = 0, high = s->count; /* the answer: the largest i with offsets[i] - first + i <= steps */
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (offset_at(s, middle) - s->first + middle <= steps)
            low = middle;
        else
            high = middle - 1;
    }
    *segment = low;
    *element = least(s->first + (steps - low), s->last);
}

/* The ends of the path are not located: unchecked offsets might begin it too late or end it too early, and is_sound
 * would not see those that no task has. */
static tally_stretch cut(const segments *s, size_t task) {
    tally_stretch t = {
        .offsets = s->offsets, .offsets_type = s->type, .begin = s->first, .end = s->last, .all = s->last - s->first};
    uint64_t last = s->count;
    if (task)
        locate(s, (uint64_t)task * s->steps, &t.first_result, &t.begin);
    if (task + 1 < s->tasks)
        locate(s, ((uint64_t)task + 1) * s->steps, &last, &t.end);
    t.boundaries = last - t.first_result;
    t.first_offset = t.first_result + 1;
    t.group_start = task && t.first_result < s->count ? offset_at(s, t.first_result) : t.begin;
    t.group_end = last < s->count ? offset_at(s, last + 1) : t.end;
    return t;
}

/* Unchecked offsets: whether they can be followed without leaving this stretch. */
static bool is_sound(segments *s, const tally_stretch *t) {
    uint64_t before = t->begin, room[TALLY_CPU_BATCH];
    bool sound = t->begin <= t->end && t->group_start <= t->begin && t->end <= s->elements;
    for (uint64_t k = 0; sound && k < t->boundaries;) {
        size_t batch = least(t->boundaries - k, TALLY_CPU_BATCH);
        const uint64_t *numbers =
            tally_cpu_see_offsets(s->runs.plan->device->level, s->offsets, s->type, t->first_offset + k, batch, room);
        sound = before <= numbers[0] && !decreases(s, numbers, batch - 1);
        before = numbers[batch - 1];
        k += batch;
    }
    sound = sound && before <= t->end;
    if (!sound)
        lower_to(&s->bad, t->first_result);
    return sound;
}

static void scan_task(void *job, size_t task, unsigned worker) {
    segments *s = job;
    const tally_cpu_plan *plan = s->runs.plan;
    const tally_computation *c = &plan->base.computation;
    tally_stretch stretch = cut(s, c->reverse ? s->tasks - 1 - task : task);
    bool sound = s->checked || is_sound(s, &stretch);
    _Alignas(64) unsigned char own[TALLY_CPU_ACC_MOST], carry[TALLY_CPU_ACC_MOST];
    const tally_runs runs = sound ? tally_runs_staged(&s->runs, stretch.begin, stretch.end, worker) : s->runs;
    const bool hands_on = sound && task + 1 < s->tasks;
    if (hands_on)
        tally_stretch_fold(&runs, &stretch, worker, own);
    tally_turn_wait(&s->turn, task);
    memcpy(carry, s->carry, plan->acc_bytes);
    if (hands_on)
        tally_stretch_hand_on(&s->runs, &stretch, own, s->carry);
    tally_turn_pass(&s->turn, task);
    if (sound)
        tally_stretch_scan(&runs, &stretch, worker, carry);
}

/* No task waits for another; the parts that cross its ends are combined afterwards. (When tasks took turns, as scans
 * must, a descheduled thread held up the others: 0.3 of the roof for segments of 2^20 on a busy machine.) */
static void reduce_task(void *job, size_t task, unsigned worker) {
    segments *s = job;
    tally_stretch stretch = cut(s, task);
    s->remains[task] = (remains){stretch.first_result, stretch.boundaries > 0};
    if (!s->checked && !is_sound(s, &stretch))
        return;
    const size_t bytes = s->runs.plan->acc_bytes;
    const tally_runs runs = tally_runs_staged(&s->runs, stretch.begin, stretch.end, worker);
    tally_stretch_first(&runs, &stretch, tally_at_mutable(s->partials, 2 * task, bytes));
    tally_stretch_fold(&runs, &stretch, worker, tally_at_mutable(s->partials, 2 * task + 1, bytes));
    if (stretch.boundaries)
        tally_stretch_inner(&runs, &stretch, worker);
}

/* The segments that begin and end in different stretches, in order. */
static void join_stretches(segments *s) {
    const tally_cpu_plan *plan = s->runs.plan;
    for (size_t task = 0; task < s->tasks; task++) {
        const remains *left = &s->remains[task];
        const void *first = tally_at(s->partials, 2 * task, plan->acc_bytes);
        const void *last = tally_at(s->partials, 2 * task + 1, plan->acc_bytes);
        if (left->has_end) {
            uint64_t length = offset_at(s, left->first_result + 1) - offset_at(s, left->first_result);
            plan->kernels->combine(&plan->context, 1, first, s->carry);
            tally_runs_emit(&s->runs, left->first_result, 1, &length, s->carry);
            plan->kernels->identity(&plan->context, 1, s->carry);
        }
        plan->kernels->combine(&plan->context, 1, last, s->carry);
    }
}

/* All segments as one stretch: none crosses its ends, so nothing is handed on. */
static void reduce_alone(segments *s) {
    const tally_stretch stretch = {.offsets = s->offsets,
                                   .offsets_type = s->type,
                                   .begin = s->first,
                                   .end = s->last,
                                   .all = s->last - s->first,
                                   .boundaries = s->count + 1,
                                   .group_start = s->first,
                                   .group_end = s->last,
                                   .first_result = TALLY_BEFORE_FIRST};
    if (!s->checked && !is_sound(s, &stretch)) {
        s->bad = 0;
        return;
    }
    const tally_runs runs = tally_runs_staged(&s->runs, s->first, s->last, 0);
    tally_stretch_inner(&runs, &stretch, 0);
}

static tally_status reduce_segments(tally_cpu_plan *plan, segments *s) {
    if (s->tasks == 1) {
        reduce_alone(s);
        return TALLY_OK;
    }
    const size_t partials = (2 * s->tasks * plan->acc_bytes + 63) / 64 * 64;
    void *scratch;
    tally_status status = tally_cpu_scratch(plan, partials + s->tasks * sizeof *s->remains, &scratch);
    if (status != TALLY_OK)
        return status;
    s->partials = scratch;
    s->remains = tally_at_mutable(scratch, partials, 1);
    tally_pool_run(plan->device->pool, s->tasks, reduce_task, s);
    if (s->bad == s->count)
        join_stretches(s);
    return TALLY_OK;
}

/* Segments of one length, of which the last one may have another. False if that one is long enough to be shared. */
static bool reduces_even(tally_cpu_plan *plan, segments *s, tally_status *status) {
    const size_t bytes = plan->base.computation.in_bytes;
    const uint64_t rows = s->count - 1, last = s->first + rows * s->length, n = s->last - last;
    if (s->uneven || n > PATH_STEPS)
        return false;
    *status = tally_cpu_reduce_rows(plan, tally_at(s->runs.x, s->first, bytes), tally_at(s->runs.y, s->first, bytes),
                                    rows, s->length, s->runs.out);
    if (*status != TALLY_OK) /* no memory, and nothing is written */
        return true;
    plan->kernels->identity(&plan->context, 1, s->carry);
    plan->kernels->fold(&plan->context, tally_at(s->runs.x, last, bytes), tally_at(s->runs.y, last, bytes), n, 0,
                        s->carry);
    tally_runs_emit(&s->runs, rows, 1, &n, s->carry);
    return true;
}

/* Names the bad offsets after a run without a check has met some; the pass of a checked run finds them. */
static tally_status name_bad_offsets(segments *s) {
    s->bad = s->count;
    for (size_t task = 0; task < divide_up(s->count, CHECKED_AT_A_TIME); task++)
        check_task(s, task, 0);
    return bad_offsets(s);
}

/* Two threads have as many steps each if there are not many. */
static uint64_t choose_steps(const tally_cpu_plan *plan, const segments *s, uint64_t path) {
    const tally_computation *c = &plan->base.computation;
    const bool is_scan = tally_is_scan(c), are_short = path < s->count * TALLY_CPU_SHORT_GROUP;
    const bool are_staged = plan->staging_bytes > 0; /* copies without NaNs have room for PATH_STEPS */
    if (is_scan)
        return are_short || !plan->direct || are_staged
                   ? least(tally_even_part(path, LEAST_SCAN_STEPS, SHARED_AMONG), PATH_STEPS)
                   : tally_even_part(path, PATH_STEPS, UINT64_MAX);
    const uint64_t steps =
        are_short ? least(most(divide_up(path, SHARED_AMONG), LEAST_SHORT_STEPS), PATH_STEPS) : PATH_STEPS;
    if (are_staged)
        return steps;
    if (!are_short && path <= MOST_ALONE && path * c->in_bytes <= TALLY_CPU_ALONE_BYTES && tally_cpu_reads_fast(c))
        return path;
    const uint64_t tasks = divide_up(path, steps);
    return tasks == 1              ? steps
           : tasks <= SHARED_AMONG ? divide_up(path, round_up(tasks, 2))
                                   : most(steps, divide_up(path, MOST_STRETCHES));
}

tally_status tally_cpu_segments(tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) unsigned char carry[TALLY_CPU_ACC_MOST];
    segments s = {.offsets = args->offsets,
                  .type = c->desc.index,
                  .elements = args->shape.extent,
                  .count = args->shape.groups,
                  .carry = carry};
    s.runs = (tally_runs){
        plan,          args->x,   args->y,
        args->initial, args->out, args->shape.extent * c->out_bytes > TALLY_CPU_STREAM_BYTES && args->out != args->x};
    tally_status status = check(&s, args);
    if (status != TALLY_OK || s.count == 0)
        return status;
    if (reduces_even(plan, &s, &status))
        return status;
    if ((status = tally_cpu_worker_scratch(plan, tally_stretch_bytes(plan))) != TALLY_OK)
        return status;
    const uint64_t path = s.last - s.first + s.count;
    s.steps = choose_steps(plan, &s, path);
    s.tasks = divide_up(path, s.steps);
    tally_cpu_start(plan, args->initial, carry);
    if (tally_is_scan(c))
        tally_pool_run_in_order(plan->device->pool, s.tasks, scan_task, &s);
    else if ((status = reduce_segments(plan, &s)) != TALLY_OK)
        return status;
    return s.bad < s.count ? name_bad_offsets(&s) : TALLY_OK;
}
