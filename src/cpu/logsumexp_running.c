#include "cpu/logsumexp_running.h"

#include <math.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/running.h"

enum {
    BLOCK = TALLY_CPU_EXPS_BLOCK,
    RUN = BLOCK,                /* elements of a run that are taken at a time; or so many where they are apart: */
    FAR = 32,                   /* further on they may be near */
    ROWS = TALLY_CPU_EXPS_ROWS, /* of columns */
    STRIP = 64,
    STRIP_BLOCK = ROWS * STRIP, /* numbers, 16 KiB */
    PADDING = TALLY_CPU_RUNNING_SLACK
};

bool tally_cpu_scans_logsumexp(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return c->monoid == TALLY_MONOID_logsumexp && tally_is_scan(c) && !c->exact && !plan->states;
}

static bool is_exclusive(const tally_cpu_plan *plan) {
    return plan->base.computation.desc.form == TALLY_EXCLUSIVE_SCAN;
}

/* Whole numbers are looked up, as far as they are from one of them; partial results of u64 are relative to any number.
 */
static void make_whole(const tally_cpu_plan *plan, uint64_t n, double *acc) {
    for (uint64_t i = 0; plan->base.computation.desc.in == TALLY_U64 && i < n; i++, acc += 2) {
        const double whole = ceil(acc[0]);
        if (acc[1] > 0 && whole != acc[0])
            acc[1] *= exp(acc[0] - whole);
        acc[0] = whole;
    }
}

static bool is_narrow(const tally_cpu_plan *plan) {
    return plan->base.computation.desc.acc == TALLY_F32 && plan->base.computation.out_bytes <= sizeof(float);
}

/* The type of elements and results in kernels, and whether the plan's are taken, or given, by copies. */
typedef struct sides {
    tally_dtype type;
    bool narrow, takes, gives, whole;
} sides;
static sides sides_of(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool narrow = is_narrow(plan);
    const tally_dtype type = narrow ? TALLY_F32 : TALLY_F64;
    return (sides){type, narrow, c->desc.in != type || c->reverse, c->desc.out != type || c->reverse,
                   !tally_dtype_is_float(c->desc.in)};
}

void tally_cpu_logsumexp_scan(const tally_cpu_plan *plan, const void *x, uint64_t n, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_running_exps *const exps = plan->device->scans->running_exps;
    const bool exclusive = is_exclusive(plan);
    const sides s = sides_of(plan);
    _Alignas(64) double block[RUN + PADDING];
    make_whole(plan, 1, acc);
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, RUN);
        uint64_t first = c->reverse ? n - done - count : done;
        const void *from = tally_at(x, first, c->in_bytes);
        void *to = tally_at_mutable(out, first, c->out_bytes);
        if (s.takes)
            tally_cpu_take_block(plan, from, count, s.type, block);
        if ((s.narrow ? exps->run_f32 : exps->run_f64)(s.takes ? block : from, count, exclusive, s.whole, acc,
                                                       s.gives ? block : to)) {
            if (s.gives)
                tally_cpu_give_block(plan, block, count, s.type, to);
            continue;
        }
        count = least(n - done, FAR);
        first = c->reverse ? n - done - count : done;
        tally_cpu_take_block(plan, tally_at(x, first, c->in_bytes), count, TALLY_F64, block);
        exps->apart(block, NULL, count, exclusive, acc);
        tally_cpu_give_block(plan, block, count, TALLY_F64, tally_at_mutable(out, first, c->out_bytes));
    }
}

void tally_cpu_logsumexp_groups(const tally_cpu_plan *plan, const void *x, int8_t *heads, uint64_t n, void *out) {
    const tally_cpu_running_exps *const exps = plan->device->scans->running_exps;
    const bool exclusive = is_exclusive(plan);
    _Alignas(64) double block[BLOCK + PADDING];
    _Alignas(64) uint32_t numbers[BLOCK];
    const sides s = sides_of(plan);
    tally_cpu_number_block(plan, heads, n, numbers);
    if (s.takes)
        tally_cpu_take_block(plan, x, n, s.type, block);
    if ((s.narrow ? exps->groups_f32 : exps->groups_f64)(s.takes ? block : x, numbers, n, exclusive, s.whole,
                                                         s.gives ? block : out)) {
        if (s.gives)
            tally_cpu_give_block(plan, block, n, s.type, out);
        return;
    }
    double nothing[2] = {-(double)INFINITY, 0};
    tally_cpu_take_block(plan, x, n, TALLY_F64, block);
    if (!s.narrow || !exps->groups_f64(block, numbers, n, exclusive, false, block))
        exps->apart(block, numbers, n, exclusive, nothing);
    tally_cpu_give_block(plan, block, n, TALLY_F64, out);
}

/* ---- columns ---- */

typedef struct columns {
    const void *x;
    void *out;
    uint64_t stride;
} columns;

/* Columns first .. first + width - 1 of rows row .. row + rows - 1 as doubles, a strip at a time. */
static void scan_apart(const tally_cpu_plan *plan, const columns *s, uint64_t row, uint64_t rows, uint64_t first,
                       uint64_t width, double *acc) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) double block[BLOCK + PADDING], own[2 * (BLOCK / ROWS + PADDING)];
    for (uint64_t done = 0, strip; done < width; done += strip) {
        strip = least(width - done, BLOCK / ROWS);
        const uint64_t at = row * s->stride + first + done;
        for (uint64_t j = 0; j < strip; j++) {
            own[2 * j] = acc ? acc[2 * (done + j)] : -(double)INFINITY;
            own[2 * j + 1] = acc ? acc[2 * (done + j) + 1] : 0;
        }
        tally_cpu_convert_rows(plan, c->desc.in, TALLY_F64, tally_at(s->x, at, c->in_bytes), rows, strip, s->stride,
                               strip, block);
        plan->device->scans->running_exps->columns_apart(block, rows, strip, c->reverse, is_exclusive(plan), own);
        tally_cpu_convert_rows(plan, TALLY_F64, c->desc.out, block, rows, strip, strip, s->stride,
                               tally_at_mutable(s->out, at, c->out_bytes));
        if (acc)
            memcpy(acc + 2 * done, own, 2 * strip * sizeof *own);
    }
}

/* As far as columns have elements near each other; a strip that has others is taken apart. */
static void scan_near(const tally_cpu_plan *plan, const columns *s, uint64_t row, uint64_t rows, uint64_t first,
                      uint64_t width, double *acc) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_running_exps *const exps = plan->device->scans->running_exps;
    const sides types = sides_of(plan);
    const bool copies = c->desc.in != types.type || c->desc.out != types.type;
    _Alignas(64) double block[STRIP_BLOCK];
    for (uint64_t done = 0, strip; done < width; done += strip) {
        strip = copies && rows * width > STRIP_BLOCK ? least(width - done, STRIP) : width - done;
        const uint64_t at = row * s->stride + first + done;
        const void *from = tally_at(s->x, at, c->in_bytes);
        void *to = tally_at_mutable(s->out, at, c->out_bytes);
        if (copies)
            tally_cpu_convert_rows(plan, c->desc.in, types.type, from, rows, strip, s->stride, strip, block);
        const uint64_t near = (types.narrow ? exps->columns_f32 : exps->columns_f64)(
            copies ? block : from, rows, strip, copies ? strip : s->stride, c->reverse, is_exclusive(plan), types.whole,
            acc ? acc + 2 * done : NULL, copies ? block : to);
        if (copies)
            tally_cpu_convert_rows(plan, types.type, c->desc.out, block, rows, near, strip, s->stride, to);
        if (near == strip)
            continue;
        strip = least(strip, near + PADDING); /* one more vector */
        scan_apart(plan, s, row, rows, first + done + near, strip - near, acc ? acc + 2 * (done + near) : NULL);
    }
}

void tally_cpu_logsumexp_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                 uint64_t stride, void *acc, void *out) {
    const columns s = {x, out, stride};
    const uint64_t most_rows = width <= 2 * STRIP ? least(STRIP_BLOCK / width, ROWS) : ROWS; /* all columns at once */
    if (acc)
        make_whole(plan, width, acc);
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = acc ? least(rows - done, most_rows) : rows;
        const uint64_t row = plan->base.computation.reverse ? rows - done - count : done;
        scan_near(plan, &s, row, count, 0, width, acc);
    }
}
