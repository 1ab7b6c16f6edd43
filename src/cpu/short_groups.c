/* Short groups are stood upright, each in a column (kernels/upright.c), and the columns are folded. Where a group is
 * shorter than its neighbours, its column ends in elements that change nothing. Moments and logsumexp have kernels for
 * that of their own (kernels/upright_floats.c). Sums of what very short groups are lifted to need no columns, nor do
 * counts of elements that are not zero. */
#include "cpu/short_groups.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"

/* Moments of any type are folded in f64, and logsumexp in f32 or f64, each by a kernel of its own. */
typedef enum floats { NOT_FLOATS, MOMENTS, LOGSUMEXP } floats;

static floats floats_of(const tally_cpu_plan *plan) {
    const tally_monoid monoid = plan->base.computation.monoid;
    if (plan->base.computation.exact || plan->states || plan->context.nans)
        return NOT_FLOATS;
    return monoid == TALLY_MONOID_moments ? MOMENTS : monoid == TALLY_MONOID_logsumexp ? LOGSUMEXP : NOT_FLOATS;
}

static tally_dtype folded_type(const tally_cpu_plan *plan, floats kind) {
    const tally_dtype in = plan->base.computation.desc.in;
    if (kind == MOMENTS || !tally_dtype_is_float(in))
        return TALLY_F64;
    return !plan->context.convert ? in : plan->context.converted_bytes == sizeof(float) ? TALLY_F32 : TALLY_F64;
}

/* Groups that are folded at a time: their columns fill the rows of tally_cpu_stand. */
static size_t groups_at_a_time(const tally_cpu_plan *plan) {
    const floats kind = floats_of(plan);
    const size_t bytes = kind ? tally_dtype_size(folded_type(plan, kind)) : 0;
    return TALLY_CPU_UPRIGHT_BYTES / most(bytes, plan->base.computation.in_bytes);
}

/* What the columns are filled up with. */
typedef enum filling { FILLED_WITH_ZERO, FILLED_WITH_ONE, FILLED_WITH_ITS_FIRST, FILLED_WITH_NOTHING } filling;

static filling filling_of(tally_monoid monoid) {
    switch (tally_class_of(monoid)) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_MAGNITUDE:
        return FILLED_WITH_ZERO;
    case TALLY_CLASS_TOTAL:
        return FILLED_WITH_ONE;
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_VALUES:
    case TALLY_CLASS_INDEXED:
    case TALLY_CLASS_FLOATS:
        return FILLED_WITH_ITS_FIRST;
    case TALLY_CLASS_BITS:
        return monoid == TALLY_MONOID_band ? FILLED_WITH_ITS_FIRST : FILLED_WITH_ZERO;
    default:
        return FILLED_WITH_NOTHING;
    }
}

/* Groups that are shorter on average stand upright, by the bytes of an element: from there on a call for each takes
 * less time. What takes less depends on the lengths, too. (One thread, ns an element upright and by calls. Maxima of
 * f32 in groups of 10, of uniform lengths 0.85 and 0.92, of exponential ones 1.10 and 0.99; of f64 in groups of 5,
 * power-law lengths 1.63 and 1.72, in groups of 10 1.27 and 0.96; of bf16 in groups of 14, uniform, 0.50 and 0.71, in
 * groups of 20, power-law, 0.56 and 0.55. argmax of f64 in groups of 8, exponential, 1.33 and 2.03.) */
static uint64_t short_length(size_t bytes) {
    return bytes == 1 ? 18 : bytes == 2 ? 16 : bytes == 4 ? 10 : 8;
}

/* The same for moments and logsumexp (variances of f32 in groups of 10, uniform, 1.35 and 1.42, exponential 1.73 and
 * 1.23; logsumexp of f32 in groups of 20, exponential, 1.67 and 1.50, of f64 in groups of 10 3.44 and 2.99). */
enum { SHORT_MOMENTS = 10, SHORT_EXPONENTIALS_32 = 40, SHORT_EXPONENTIALS_64 = 14 };

/* ---- sums of what elements are lifted to ---- */

enum {
    LIFTED_BYTES = 40,   /* of a group on average, at most */
    LIFTED_BLOCK = 2048, /* elements that are lifted at a time: 16 KB, which stay in the first cache */
    LIFTED_GROUPS = 256  /* that are added up at a time */
};

/* Squares, products and absolute values of very short groups: elements are lifted a block at a time, and the
 * accumulators are added by the kernel for sums of short segments. (One thread, random lengths: dot of f32 in groups of
 * 2 took 5.1 ns an element as columns and 1.1 so; norm1 of i64 in groups of 1.2 6.7 and 3.3; sumsq of i8 in groups of
 * 20 0.37 and 0.68.) */
static bool adds_lifted(const tally_cpu_plan *plan, const uint64_t *offsets, size_t count) {
    const size_t bytes = plan->base.computation.in_bytes;
    switch (plan->base.computation.monoid) {
    case TALLY_MONOID_sumabs:
    case TALLY_MONOID_sumsq:
    case TALLY_MONOID_dot:
        return bytes >= sizeof(uint32_t) && (offsets[count] - offsets[0]) * bytes < count * LIFTED_BYTES;
    default:
        return false;
    }
}

static void fold_alone(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t first, uint64_t n,
                       void *acc) {
    const size_t bytes = plan->base.computation.in_bytes;
    plan->kernels->identity(&plan->context, 1, acc);
    plan->kernels->fold(&plan->context, tally_at(x, first, bytes), tally_at(y, first, bytes), n, 0, acc);
}

static void fold_lifted(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets, size_t count,
                        void *acc) {
    const size_t bytes = plan->base.computation.in_bytes;
    const tally_cpu_kernels *const sum = plan->device->level->types[plan->kernels->acc_type]->kernels(TALLY_MONOID_sum);
    _Alignas(64) uint64_t lifted[LIFTED_BLOCK];
    for (size_t done = 0, taken; done < count; done += taken) {
        uint64_t own[LIFTED_GROUPS + 1] = {0};
        const uint64_t first = offsets[done];
        void *const to = tally_at_mutable(acc, done, plan->acc_bytes);
        for (taken = 0; taken < least(count - done, LIFTED_GROUPS); taken++) {
            own[taken + 1] = offsets[done + taken + 1] - first;
            if (own[taken + 1] > LIFTED_BLOCK)
                break;
        }
        if (taken == 0) {
            fold_alone(plan, x, y, first, own[1], to);
            taken = 1;
            continue;
        }
        plan->kernels->fold_rows(&plan->context, tally_at(x, first, bytes), tally_at(y, first, bytes), own[taken], 1,
                                 lifted);
        sum->fold_segments(&plan->context, lifted, lifted, own, taken, to);
    }
}

/* ---- counts ---- */

enum {
    COUNTED_BLOCK = 4096, /* elements whose truth values are counted at a time */
    LEAST_BY_BITS = 6     /* of a group on average: in groups of 1.5 and 5 bits take up to 1.3 and 1.1 times as long */
};

static bool counts_truths(const tally_cpu_plan *plan) {
    return plan->base.computation.monoid == TALLY_MONOID_nonzero && plan->lifted.scan;
}

/* The bits of which an element that is not zero has one: -0 is zero. */
static uint64_t bits_of_truth(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return tally_dtype_is_float(c->desc.in) ? ~(UINT64_C(1) << (8 * c->in_bytes - 1)) : UINT64_MAX;
}

static uint64_t lowest_byte_first(uint64_t x) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(x);
#else
    return x;
#endif
}

/* Groups of elements that are not zero: how many come before a group's end, less how many come before its beginning.
 * What comes before each eighth element is added up, and a multiplication gives what comes before the elements between.
 * So a group takes the same few operations whatever its length. A function of its own: inlined beside others it took
 * 1.4 times as long, as gcc kept pointers in vector registers. */
static __attribute__((noinline)) void count_truths(const tally_cpu_plan *plan, const void *x, const uint64_t *offsets,
                                                   size_t count, int64_t *acc) {
    const size_t bytes = plan->base.computation.in_bytes;
    const uint64_t bits = bits_of_truth(plan);
    _Alignas(64) uint8_t before[COUNTED_BLOCK + 8];
    int64_t eighths[COUNTED_BLOCK / 8 + 1], previous = 0, total = 0;
    size_t group = 0;
    for (uint64_t at = offsets[0]; group < count;) {
        const size_t n = least(offsets[count] - at, COUNTED_BLOCK);
        plan->device->scans->truths(tally_at(x, at, bytes), n, bytes, bits, before);
        memset(before + n, 0, 8);
        for (size_t k = 0; k <= n / 8; k++) {
            uint64_t truths;
            memcpy(&truths, before + 8 * k, sizeof truths);
            const uint64_t sums = lowest_byte_first(truths) * UINT64_C(0x0101010101010101),
                           exclusive = lowest_byte_first(sums << 8);
            memcpy(before + 8 * k, &exclusive, sizeof exclusive);
            eighths[k] = total;
            total += (int64_t)(sums >> 56);
        }
        for (; group < count && offsets[group + 1] - at <= n; group++) {
            const uint64_t end = offsets[group + 1] - at;
            const int64_t all = eighths[end / 8] + before[end];
            acc[group] = all - previous;
            previous = all;
        }
        at += n;
    }
}

/* ---- columns ---- */

bool tally_cpu_stands_groups(const tally_cpu_plan *plan, uint64_t elements, uint64_t groups,
                             tally_cpu_spread_of_lengths lengths) {
    const tally_computation *c = &plan->base.computation;
    const floats kind = floats_of(plan);
    /* 1,500,000 elements, exponential lengths, ns an element by calls and so: any of i8, bf16, i32 and i64 in groups of
     * 64 0.11, 0.15, 0.18, 0.23 and 0.10, 0.10, 0.12, 0.18, of 128 0.07, 0.08, 0.11, 0.15 and 0.09, 0.10, 0.11, 0.16 */
    if (counts_truths(plan))
        return elements < groups * TALLY_CPU_SHORT_GROUP;
    /* sums of short groups have kernels of their own, and exact mode and users' operators are not in the table */
    const bool can_stand =
        kind || (c->monoid != TALLY_MONOID_sum && plan->lifted.scan && filling_of(c->monoid) != FILLED_WITH_NOTHING);
    if (!can_stand)
        return false;
    if (tally_cpu_has_masks(plan))
        return elements < groups * tally_cpu_short_limits_of(plan, lengths).upright;
    if (kind == MOMENTS)
        return elements < groups * SHORT_MOMENTS;
    if (kind == LOGSUMEXP)
        return elements <
               groups * (folded_type(plan, kind) == TALLY_F32 ? SHORT_EXPONENTIALS_32 : SHORT_EXPONENTIALS_64);
    return elements < groups * short_length(c->in_bytes);
}

/* Columns of floats, which stand one above the other in rows of TALLY_CPU_UPRIGHT_BYTES. */
static bool fold_floats(const tally_cpu_plan *plan, floats kind, const char *columns, const uint32_t *lengths,
                        size_t count, size_t rows, void *acc) {
    const tally_cpu_upright_floats *const upright = plan->device->level->upright_floats;
    const tally_dtype in = plan->base.computation.desc.in, type = folded_type(plan, kind);
    const size_t stride = TALLY_CPU_UPRIGHT_BYTES / tally_dtype_size(type);
    _Alignas(64) char converted[TALLY_CPU_UPRIGHT_ROWS * TALLY_CPU_UPRIGHT_BYTES];
    if (in != type) {
        for (size_t k = 0; k < rows; k++)
            plan->device->level->types[in]->convert[type](columns + k * TALLY_CPU_UPRIGHT_BYTES,
                                                          least(round_up(count, 16), stride),
                                                          converted + k * TALLY_CPU_UPRIGHT_BYTES);
        columns = converted;
    }
    if (kind == MOMENTS)
        return upright->moments((const double *)(const void *)columns, stride, lengths, count, acc);
    if (type == TALLY_F32)
        return upright->logsumexp_f32((const float *)(const void *)columns, stride, lengths, count, acc);
    return upright->logsumexp_f64((const double *)(const void *)columns, stride, lengths, count, acc);
}

/* As many groups as groups_at_a_time, the longest of 'rows' elements. False if they have to be folded alone. */
static bool fold_upright(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t elements,
                         const uint64_t *offsets, const uint32_t *lengths, size_t count, size_t rows, void *acc) {
    const tally_computation *c = &plan->base.computation;
    const size_t bytes = c->in_bytes;
    const floats kind = floats_of(plan);
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
    if (kind)
        return fold_floats(plan, kind, columns[0], lengths, count, rows, acc);
    plan->kernels->identity(&plan->context, count, acc);
    plan->kernels->fold_columns(&plan->context, columns[0], y ? columns[1] : NULL, rows, count,
                                TALLY_CPU_UPRIGHT_BYTES / bytes, 0, acc);
    return true;
}

enum { MOST_STANDING = 64 }; /* bytes of an accumulator; moments have four doubles */

/* The groups that did not fit: empty and long ones, whose lengths stand as 0. */
static void fold_others(const tally_cpu_plan *plan, const void *x, const void *y, const uint64_t *offsets,
                        const uint32_t *lengths, size_t count, void *acc) {
    _Alignas(64) uint64_t identity[MOST_STANDING / sizeof(uint64_t)];
    const bool is_number = plan->acc_bytes == sizeof *identity; /* which is copied without a call */
    plan->kernels->identity(&plan->context, 1, identity);
    for (size_t i = 0; i < count; i++) {
        void *const to = tally_at_mutable(acc, i, plan->acc_bytes);
        if (lengths[i] != 0)
            continue;
        if (offsets[i + 1] > offsets[i])
            fold_alone(plan, x, y, offsets[i], offsets[i + 1] - offsets[i], to);
        else if (is_number)
            memcpy(to, identity, sizeof *identity);
        else
            memcpy(to, identity, plan->acc_bytes);
    }
}

/* A few groups that are much longer than the others would make all columns long. They count as long ones, unless calls
 * for them take longer than the rows that this saves: a call takes as long as some 8 vectors. (Power-law lengths, one
 * thread: argmax of f32 by segments of 4 took 3.4 ns an element, now 2.6; minmax of bf16 by segments of 17 0.87 and
 * 0.78; any of i32 by segments of 3 1.55 and 1.46.) */
enum { CALL_IN_VECTORS = 8, USUAL_ROWS = 8 };

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
    if (counts_truths(plan)) {
        const tally_cpu_scans *const scans = plan->device->scans;
        if (scans->count_groups && offsets[count] - offsets[0] >= LEAST_BY_BITS * count)
            scans->count_groups(x, offsets, count, plan->base.computation.in_bytes, bits_of_truth(plan), acc);
        else
            count_truths(plan, x, offsets, count, acc);
        return;
    }
    const bool empties_count = filling_of(plan->base.computation.monoid) == FILLED_WITH_ITS_FIRST && !floats_of(plan);
    if (adds_lifted(plan, offsets, count)) {
        fold_lifted(plan, x, y, offsets, count, acc);
        return;
    }
    for (size_t done = 0, part; done < count; done += part) {
        part = least(count - done, groups_at_a_time(plan));
        const uint64_t *o = offsets + done;
        char *const to = tally_at_mutable(acc, done, plan->acc_bytes);
        uint32_t lengths[TALLY_CPU_UPRIGHT_BYTES];
        tally_cpu_lengths found = plan->device->level->upright->measure(o, part, lengths);
        take_out_longest(o, part, lengths, &found);
        memset(lengths + part, 0, (round_up(part, 16) - part) * sizeof *lengths);
        if (!fold_upright(plan, x, y, elements, o, lengths, part, found.longest, to)) {
            memset(lengths, 0, part * sizeof *lengths);
            found.some_long = true;
        }
        if (found.some_long || (found.some_empty && empties_count))
            fold_others(plan, x, y, o, lengths, part, to);
    }
}
