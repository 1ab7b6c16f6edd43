#include "cpu/few_rows.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/running.h"

enum {
    MOST_ROWS = 16, /* variances of f32 in 9 and 20 rows: 0.33 and 0.21 ns by accumulators, 0.19 and 0.24 so */
    BLOCK = 2048,   /* doubles of a block: half of a first-level cache */
    COLUMNS = 256,  /* and its columns, at most */
    PADDING = 8,    /* doubles behind the last row that are read, a vector at most */
    /* The most rows of argmin and argmax that go this way: of 1- and 2-byte elements, and of 4-byte ones. Those of 8
     * are not compared in vectors by the baseline's instructions. (ns an element by accumulators, and so: u8 in 4, 30
     * and 60 rows 0.62, 0.11, 0.08 and 0.15, 0.07, 0.06; i16 in 20 and 50 0.19, 0.14 and 0.14, 0.17; f32 in 3, 6 and 8
     * 0.86, 0.55, 0.66 and 0.49, 0.47, 0.73.) */
    MOST_NARROW_ROWS = 24,
    MOST_WIDE_ROWS = 6,
    /* The same by a kernel for places, of 2-, 4- and 8-byte elements. (By accumulators, and so: f16 in 2, 6 and 16 rows
     * 0.67, 0.27, 0.14 and 0.30, 0.21, 0.19; f32 in 3, 12 and 32 0.29, 0.15, 0.10 and 0.18, 0.13, 0.12; f64 in 3, 12
     * and 64 0.46, 0.20, 0.14 and 0.14, 0.11, 0.11.) */
    MOST_PLACES_ROWS_2 = 8,
    MOST_PLACES_ROWS_4 = 16,
    MOST_PLACES_ROWS_8 = 64,
    MOST_EXPS_ROWS = 16, /* of logsumexp: f32 in 2, 8, 16 rows 0.40, 0.19, 0.15 by accumulators, 0.20, 0.14, 0.13 so */
    LEAST_EXPS = 4,
    MOST_PAIRS_ROWS = 8, /* of minmax: f64 in 2, 6 and 16 rows 0.29, 0.15, 0.12 by accumulators, 0.20, 0.13, 0.13 so */
    MOST_PAIRS_ROWS_OF_HALVES = 3, /* f16 in 2 and 6 0.28, 0.11 and 0.19, 0.13 */
    LEAST_PAIRS = 4,
    LEAST_NEAR = 16,    /* columns of sums that are f32 at once */
    MOST_NEAR_ROWS = 15 /* more are halved where they are narrow (columns.c), and f64 from there on */
};

/* The kernels for the values of argmin and argmax, if these are elements. */
static const tally_cpu_kernels *extremes_of(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_monoid monoid = c->monoid == TALLY_MONOID_argmin ? TALLY_MONOID_min : TALLY_MONOID_max;
    const tally_cpu_kernels *kernels = plan->device->level->types[c->desc.in]->kernels(monoid);
    return kernels && kernels->acc_type == c->desc.in ? kernels : NULL;
}

/* The type in which a kernel for places takes the elements: floats of 16 bits are converted. */
static tally_dtype places_type(const tally_cpu_plan *plan) {
    const tally_dtype in = plan->base.computation.desc.in;
    return tally_cpu_is_half(in) ? TALLY_F32 : in;
}
static bool has_places(const tally_cpu_plan *plan) {
    return tally_cpu_places_kernel(plan, places_type(plan)) != NULL;
}

/* Whether exponentials of floats are f32: neither elements nor results have more digits. */
static bool takes_f32_exps(const tally_computation *c) {
    return c->desc.acc == TALLY_F32 && c->out_bytes <= sizeof(float);
}

/* Floats of up to 4 bytes whose accumulator is an f64 without having more digits. */
static bool gives_f32(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    return tally_dtype_is_float(c->desc.in) && c->in_bytes <= sizeof(float) && c->out_bytes <= sizeof(float) &&
           plan->kernels->fold_block && plan->kernels->acc_type == TALLY_F64 && c->desc.acc == TALLY_F32 &&
           tally_cpu_result_is_number(plan) && c->monoid != TALLY_MONOID_dot && tally_dtype_is_float(c->desc.out) &&
           tally_cpu_has_masks(plan);
}

bool tally_cpu_has_few_rows(const tally_cpu_plan *plan, uint64_t extent, uint64_t columns) {
    const tally_computation *c = &plan->base.computation;
    const bool is_plain = !c->exact && !c->takes_words && !c->gives_words && !plan->states && !plan->context.nans;
    if (!is_plain || extent == 0)
        return false;
    if (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && has_places(plan))
        return columns >= TALLY_CPU_LEAST_PLACES && extent <= (c->in_bytes == 8   ? MOST_PLACES_ROWS_8
                                                               : c->in_bytes == 4 ? MOST_PLACES_ROWS_4
                                                                                  : MOST_PLACES_ROWS_2);
    if (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED)
        return c->in_bytes < sizeof(uint64_t) && extremes_of(plan) &&
               extent <= (c->in_bytes < sizeof(uint32_t) ? MOST_NARROW_ROWS : MOST_WIDE_ROWS);
    if (c->monoid == TALLY_MONOID_minmax)
        return extent <= (tally_cpu_is_half(c->desc.in) ? MOST_PAIRS_ROWS_OF_HALVES : MOST_PAIRS_ROWS) &&
               columns >= LEAST_PAIRS && !tally_cpu_is_strict(plan) && plan->device->scans->minmax[places_type(plan)];
    if (c->monoid == TALLY_MONOID_logsumexp)
        return (tally_dtype_is_float(c->desc.in) ? takes_f32_exps(c) : c->desc.in != TALLY_U64) &&
               extent <= MOST_EXPS_ROWS && columns >= LEAST_EXPS && plan->device->scans->running_exps->few_f32;
    if (gives_f32(plan))
        return extent <= MOST_NEAR_ROWS && columns >= LEAST_NEAR;
    return c->monoid == TALLY_MONOID_moments && (c->desc.op == TALLY_VAR || c->desc.op == TALLY_STD) &&
           extent <= MOST_ROWS;
}

/* places[j] = the first of 'rows' rows whose element j is the extreme. */
#define DEFINE_FIND(tag, type, unsigned_type, is_same)                                                                 \
    static void find_##tag(const void *x, uint64_t rows, uint64_t width, uint64_t stride, const void *extremes,        \
                           void *found) {                                                                              \
        typedef type element __attribute__((aligned(1), may_alias));                                                   \
        const type *extreme = extremes;                                                                                \
        unsigned_type *places = found;                                                                                 \
        for (uint64_t row = rows; row-- > 0;) {                                                                        \
            const element *from = (const element *)x + row * stride;                                                   \
            for (uint64_t j = 0; j < width; j++) {                                                                     \
                const type a = from[j], b = extreme[j];                                                                \
                places[j] = (is_same) ? (unsigned_type)row : places[j];                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_FIND(8, uint8_t, uint8_t, a == b)
DEFINE_FIND(16, uint16_t, uint16_t, a == b)
DEFINE_FIND(32, uint32_t, uint32_t, a == b)
DEFINE_FIND(f32, float, uint32_t, (a == b) | ((a != a) & (b != b)))

/* The extremes first, in the elements' own width, then where they are: accumulators have 16 bytes. */
static void find_places(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                        void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_kernels *const kernels = extremes_of(plan);
    const bool is_float = tally_dtype_is_float(c->desc.in);
    for (uint64_t first = 0, columns; first < width; first += columns) {
        _Alignas(64) uint32_t extremes[COLUMNS], places[COLUMNS];
        columns = least(width - first, COLUMNS);
        const void *const from = tally_at(x, first, c->in_bytes);
        kernels->identity(&plan->context, columns, extremes);
        kernels->fold_columns(&plan->context, from, NULL, rows, columns, stride, 0, extremes);
        memset(places, 0, columns * c->in_bytes);
        if (c->in_bytes == sizeof(uint8_t))
            find_8(from, rows, columns, stride, extremes, places);
        else if (c->in_bytes == sizeof(uint16_t))
            find_16(from, rows, columns, stride, extremes, places);
        else
            (is_float ? find_f32 : find_32)(from, rows, columns, stride, extremes, places);
        const tally_dtype type = c->in_bytes == 1 ? TALLY_U8 : c->in_bytes == 2 ? TALLY_U16 : TALLY_U32;
        tally_cpu_convert_numbers(plan, type, c->desc.out, places, columns, tally_at_mutable(out, first, c->out_bytes));
    }
}

/* The last of running extremes, each of which overwrites the one before. */
static void find_pairs(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                       void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_dtype type = places_type(plan);
    const bool takes = c->desc.in != type, gives = c->desc.out != type;
    _Alignas(64) float block[BLOCK];
    _Alignas(64) double pairs[2 * COLUMNS];
    const uint64_t most_columns = takes ? least(COLUMNS, BLOCK / rows) : gives ? COLUMNS : width;
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        const void *const from = tally_at(x, first, c->in_bytes);
        void *const target = tally_at_mutable(out, first, 2 * c->out_bytes);
        if (takes)
            tally_cpu_convert_rows(plan, c->desc.in, type, from, rows, columns, stride, columns, block);
        plan->device->scans->minmax[type](takes ? block : from, rows, columns, (ptrdiff_t)(takes ? columns : stride),
                                          NULL, NULL, gives ? pairs : target, 0);
        if (gives)
            tally_cpu_convert_numbers(plan, type, c->desc.out, pairs, 2 * columns, target);
    }
}

/* Exponentials and one logarithm a column; those of integers are f64. */
static void sum_exps(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                     void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_running_exps *const exps = plan->device->scans->running_exps;
    const bool is_float = tally_dtype_is_float(c->desc.in);
    const tally_dtype type = is_float ? TALLY_F32 : TALLY_I64, result = is_float ? TALLY_F32 : TALLY_F64;
    const bool takes = c->desc.in != type, gives = c->desc.out != result;
    _Alignas(64) double block[BLOCK], results[COLUMNS];
    const uint64_t most_columns = takes ? least(BLOCK / rows, COLUMNS) : COLUMNS;
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        const void *const from = tally_at(x, first, c->in_bytes);
        void *const target = tally_at_mutable(out, first, c->out_bytes);
        if (takes)
            tally_cpu_convert_rows(plan, c->desc.in, type, from, rows, columns, stride, columns, block);
        (is_float ? exps->few_f32 : exps->few_i64)(takes ? block : from, rows, columns, takes ? columns : stride,
                                                   gives ? results : target);
        if (gives)
            tally_cpu_convert_numbers(plan, result, c->desc.out, results, columns, target);
    }
}

/* Lanes of f32 to results. */
static void fold_near(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                      void *out) {
    const tally_computation *c = &plan->base.computation;
    _Alignas(64) float results[4 * COLUMNS];
    const uint64_t most_columns = c->desc.out == TALLY_F32 ? width : 4 * COLUMNS;
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        void *const target = tally_at_mutable(out, first, c->out_bytes);
        plan->kernels->fold_block(tally_at(x, first, c->in_bytes), NULL, rows, columns, stride, TALLY_CPU_NEAR,
                                  c->desc.out == TALLY_F32 ? target : results);
        if (c->desc.out != TALLY_F32)
            tally_cpu_convert_numbers(plan, TALLY_F32, c->desc.out, results, columns, target);
    }
}

static void by_accumulators(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                            void *out) {
    _Alignas(64) char acc[COLUMNS * sizeof(tally_cpu_moments)];
    plan->kernels->identity(&plan->context, width, acc);
    plan->kernels->fold_columns(&plan->context, x, NULL, rows, width, stride, 0, acc);
    plan->lower(plan, acc, width, (tally_counts){NULL, rows, 0}, out);
}

static void keep_places(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width, uint64_t stride,
                        void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_dtype type = places_type(plan);
    const bool converts = c->desc.in != type;
    _Alignas(64) float block[BLOCK];
    _Alignas(64) uint64_t extremes[COLUMNS], places[COLUMNS];
    const uint64_t most_columns = converts ? least(COLUMNS, BLOCK / rows) : COLUMNS;
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        if (columns < TALLY_CPU_LEAST_PLACES) { /* the last ones, with some before them */
            first -= TALLY_CPU_LEAST_PLACES - columns;
            columns = TALLY_CPU_LEAST_PLACES;
        }
        const void *const from = tally_at(x, first, c->in_bytes);
        if (converts)
            tally_cpu_convert_rows(plan, c->desc.in, type, from, rows, columns, stride, columns, block);
        places[0] = UINT64_MAX; /* no row came before */
        tally_cpu_places_kernel(plan, type)(converts ? block : from, rows, columns, converts ? columns : stride,
                                            tally_cpu_places_turn(plan, type), 0, extremes, (int64_t *)places, NULL, 0);
        tally_cpu_convert_numbers(plan, TALLY_I64, c->desc.out, places, columns,
                                  tally_at_mutable(out, first, c->out_bytes));
    }
}

void tally_cpu_reduce_few_rows(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                               uint64_t stride, void *out) {
    const tally_computation *c = &plan->base.computation;
    if (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED) {
        if (has_places(plan) && width >= TALLY_CPU_LEAST_PLACES)
            keep_places(plan, x, rows, width, stride, out);
        else if (has_places(plan))
            by_accumulators(plan, x, rows, width, stride, out);
        else
            find_places(plan, x, rows, width, stride, out);
        return;
    }
    if (c->monoid == TALLY_MONOID_minmax) {
        find_pairs(plan, x, rows, width, stride, out);
        return;
    }
    if (gives_f32(plan)) {
        fold_near(plan, x, rows, width, stride, out);
        return;
    }
    if (c->monoid == TALLY_MONOID_logsumexp) {
        sum_exps(plan, x, rows, width, stride, out);
        return;
    }
    const tally_cpu_spread how = {.ddof = c->desc.ddof, .root = c->desc.op == TALLY_STD};
    const tally_dtype in = c->desc.in, to = c->desc.out;
    const bool is_narrow = c->out_bytes <= sizeof(float) && c->in_bytes <= sizeof(float);
    _Alignas(64) double block[BLOCK + PADDING], results[COLUMNS + PADDING];
    const uint64_t most_columns = least(BLOCK / rows, COLUMNS);
    memset(block + rows * least(width, most_columns), 0, PADDING * sizeof *block);
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, most_columns);
        const void *const from = tally_at(x, first, c->in_bytes);
        void *const target = tally_at_mutable(out, first, c->out_bytes);
        if (columns == stride || rows == 1)
            tally_cpu_convert_numbers(plan, in, TALLY_F64, from, rows * columns, block);
        for (uint64_t r = 0; columns < stride && rows > 1 && r < rows; r++)
            tally_cpu_convert_numbers(plan, in, TALLY_F64, tally_at(from, r * stride, c->in_bytes), columns,
                                      block + r * columns);
        if (!plan->device->scans->moments_of_few_rows(block, rows, columns, how, is_narrow, results))
            by_accumulators(plan, from, rows, columns, stride, target);
        else
            tally_cpu_convert_numbers(plan, TALLY_F64, to, results, columns, target);
    }
}
