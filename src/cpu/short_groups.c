/* Short groups are stood upright, each in a column (kernels/upright.c), and the columns are folded. Where a group is
 * shorter than its neighbours, its column ends in elements that change nothing. */
#include "cpu/short_groups.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"

/* Groups that are folded at a time: their columns fill the rows of tally_cpu_stand. */
static size_t groups_at_a_time(const tally_cpu_plan *plan) {
    return TALLY_CPU_UPRIGHT_BYTES / plan->base.computation.in_bytes;
}

/* What the columns are filled up with. */
typedef enum filling { FILLED_WITH_ZERO, FILLED_WITH_ONE, FILLED_WITH_ITS_FIRST, FILLED_WITH_NOTHING } filling;

static filling filling_of(tally_monoid monoid) {
    switch (tally_class_of(monoid)) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_COUNT:
    case TALLY_CLASS_MAGNITUDE:
        return FILLED_WITH_ZERO;
    case TALLY_CLASS_TOTAL:
        return FILLED_WITH_ONE;
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_VALUES:
    case TALLY_CLASS_INDEXED:
        return FILLED_WITH_ITS_FIRST;
    case TALLY_CLASS_BITS:
        return monoid == TALLY_MONOID_band ? FILLED_WITH_ITS_FIRST : FILLED_WITH_ZERO;
    default:
        return FILLED_WITH_NOTHING;
    }
}

/* Elements of this many bytes a group, on average. 600,000 elements in groups of random lengths, one thread: maxima of
 * f64 took 0.74 of the time that a call for each group takes in groups of 10, and 1.05 in groups of 20; or of i32 0.69
 * in groups of 20, and 1.07 in groups of 40. */
enum { SHORT_BYTES = 128 };

bool tally_cpu_stands_groups(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t bytes = most(c->in_bytes, sizeof(uint32_t)) * (c->monoid == TALLY_MONOID_dot ? 2 : 1);
    /* sums of short groups have kernels of their own, and exact mode and users' operators are not in the table */
    return c->monoid != TALLY_MONOID_sum && plan->lifted.scan && filling_of(c->monoid) != FILLED_WITH_NOTHING &&
           elements * bytes < groups * SHORT_BYTES;
}

/* As many groups as groups_at_a_time, the longest of 'rows' elements. */
static void fold_upright(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t elements,
                         const uint64_t *offsets, const uint32_t *lengths, size_t count, size_t rows, void *acc) {
    const tally_computation *c = &plan->base.computation;
    const size_t bytes = c->in_bytes;
    tally_cpu_stand *const stand = plan->device->level->upright->stand[bytes == 1   ? 0
                                                                       : bytes == 2 ? 1
                                                                       : bytes == 4 ? 2
                                                                                    : 3];
    const filling with = filling_of(c->monoid);
    _Alignas(64) char columns[2][TALLY_CPU_UPRIGHT_ROWS * TALLY_CPU_UPRIGHT_BYTES];
    uint64_t pad = 0;
    if (with == FILLED_WITH_ONE)
        tally_cpu_convert_numbers(plan, TALLY_I64, c->desc.in, &(int64_t){1}, 1, &pad);
    stand(x, elements, offsets, lengths, count, rows, with == FILLED_WITH_ITS_FIRST ? NULL : &pad, columns[0]);
    if (y)
        stand(y, elements, offsets, lengths, count, rows, &pad, columns[1]);
    plan->kernels->identity(&plan->context, count, acc);
    plan->kernels->fold_columns(&plan->context, columns[0], y ? columns[1] : NULL, rows, count,
                                TALLY_CPU_UPRIGHT_BYTES / bytes, 0, acc);
}

/* The groups that did not fit: empty and long ones, whose lengths stand as 0. */
static void fold_others(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                        const uint32_t *lengths, size_t count, void *acc) {
    const size_t bytes = plan->base.computation.in_bytes;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i])
            continue;
        void *const own = tally_at_mutable(acc, i, plan->acc_bytes);
        plan->kernels->identity(&plan->context, 1, own);
        plan->kernels->fold(&plan->context, tally_at(x, offsets[i], bytes), y ? tally_at(y, offsets[i], bytes) : NULL,
                            offsets[i + 1] - offsets[i], 0, own);
    }
}

/* A few groups that are much longer than the others would make all columns long. They count as long ones, unless calls
 * for them take longer than the rows that this saves: a call takes as long as some 16 vectors. (Power-law lengths, one
 * thread: argmax of f32 by segments of 4 took 3.4 ns an element, now 2.6; minmax of bf16 by segments of 17 0.87 and
 * 0.78; any of i32 by segments of 3 1.55 and 1.46.) */
enum { CALL_IN_VECTORS = 16, USUAL_ROWS = 8 };

static void take_out_longest(const uint64_t *offsets, size_t count, uint32_t *lengths, tally_cpu_lengths *found) {
    const uint32_t usual = USUAL_ROWS + (uint32_t)least(2 * (offsets[count] - offsets[0]) / count, UINT32_MAX / 2);
    const uint32_t row = TALLY_CPU_UPRIGHT_BYTES / 64; /* vectors */
    uint32_t longer = 0, longest = 0;
    if (found->longest <= usual)
        return;
    for (size_t i = 0; i < count; i++)
        longer += lengths[i] > usual;
    if (longer * CALL_IN_VECTORS > (found->longest - usual) * row)
        return;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = lengths[i] > usual ? 0 : lengths[i];
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    found->longest = longest;
    found->some_long = true;
}

void tally_cpu_fold_short_groups(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t elements,
                                 const uint64_t *offsets, size_t count, void *acc) {
    const bool empties_count = filling_of(plan->base.computation.monoid) == FILLED_WITH_ITS_FIRST;
    for (size_t done = 0, part; done < count; done += part) {
        part = least(count - done, groups_at_a_time(plan));
        const uint64_t *o = offsets + done;
        char *const to = tally_at_mutable(acc, done, plan->acc_bytes);
        uint32_t lengths[TALLY_CPU_UPRIGHT_BYTES];
        tally_cpu_lengths found = plan->device->level->upright->measure(o, part, lengths);
        take_out_longest(o, part, lengths, &found);
        fold_upright(plan, x, y, elements, o, lengths, part, found.longest, to);
        if (found.some_long || (found.some_empty && empties_count))
            fold_others(plan, x, y, o, lengths, part, to);
    }
}
