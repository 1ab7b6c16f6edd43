#include "cpu/lifted.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/scratch.h"

/* How the monoids of one component lift and combine, as text. */
static const struct {
    struct {
        const char *lift, *combine;
    } component[6];
} monoids[TALLY_MONOID_COUNT] = {
#define TALLY_COMPONENT(identity, lift, combine) {#lift, #combine},
#define TALLY_MONOID(name, class, components)    [TALLY_MONOID_##name] = {{components}},
#include "core/monoids.def"
};

/* The first monoid of the table that combines as this one does: sum for sums of squares. */
static tally_monoid combining(tally_monoid monoid) {
    for (tally_monoid m = 0; m < monoid; m++)
        if (tally_components_of(m) == 1 &&
            strcmp(monoids[m].component->combine, monoids[monoid].component->combine) == 0)
            return m;
    return monoid;
}

/* Whether the monoid takes elements as they are, but for their type. */
static bool lifts_by_conversion(tally_monoid monoid) {
    return tally_components_of(monoid) == 1 && strcmp(monoids[monoid].component->lift, "x") == 0;
}

static tally_dtype scanned_type(tally_dtype acc) {
    if (tally_dtype_is_float(acc) || tally_dtype_size(acc) >= sizeof(uint32_t))
        return acc;
    return tally_dtype_is_signed(acc) ? TALLY_I32 : TALLY_U32;
}

/* Whether results are integers of at most 32 bits that keep the lowest bits of a sum or a product: 32 bits suffice. */
static bool wraps_in_32_bits(const tally_computation *c, tally_dtype acc) {
    const tally_monoid_class kind = tally_class_of(c->monoid);
    return (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE || kind == TALLY_CLASS_TOTAL) && tally_is_scan(c) &&
           !tally_dtype_is_float(acc) && !tally_dtype_is_float(c->desc.out) && c->out_bytes <= sizeof(uint32_t);
}

static bool is_half(tally_dtype type) {
    return tally_dtype_is_float(type) && tally_dtype_size(type) < sizeof(float);
}

/* Whether sums of floats of 16 bits are scanned in 32, as those of f32 are: results are floats of 16 bits. */
static bool suits_f32(const tally_computation *c, tally_dtype acc) {
    const tally_monoid_class kind = tally_class_of(c->monoid);
    return (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE) && tally_is_scan(c) && acc == TALLY_F64 &&
           c->desc.acc != TALLY_F64 && is_half(c->desc.in) && is_half(c->desc.out) &&
           c->entry->result != TALLY_RESULT_FLOAT;
}

const tally_cpu_direct_scan *tally_cpu_same_scan(const tally_cpu_level *level, tally_dtype type, tally_monoid monoid) {
    const tally_cpu_direct_scan *own = level->types[type]->same_scan[monoid];
    const tally_dtype as_signed = type == TALLY_U32 ? TALLY_I32 : type == TALLY_U64 ? TALLY_I64 : type;
    return own ? own : level->types[as_signed]->same_scan[monoid];
}

bool tally_cpu_is_strict(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_type *type = plan->device->level->types[tally_dtype_value(c->desc.in)];
    return c->desc.mode == TALLY_EXACT && type->strict_kernels[c->monoid];
}

void tally_cpu_lifted_choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_level *level = plan->device->level;
    const tally_dtype acc = plan->kernels->acc_type;
    if (c->exact || c->monoid == TALLY_MONOID_user || acc == TALLY_DEFAULT)
        return;
    if (tally_cpu_is_strict(plan)) /* which no scan is */
        return;
    const bool as_they_are = plan->direct && plan->direct->groups;
    const tally_dtype type = as_they_are                ? c->desc.in
                             : wraps_in_32_bits(c, acc) ? TALLY_U32
                             : suits_f32(c, acc)        ? TALLY_F32
                                                        : scanned_type(acc);
    const tally_monoid monoid = combining(c->monoid);
    const tally_cpu_direct_scan *scan = tally_cpu_same_scan(level, type, monoid);
    if (scan)
        plan->lifted = (tally_cpu_lifted){scan, type, level->types[type]->kernels[monoid]->acc_type, as_they_are,
                                          lifts_by_conversion(c->monoid)};
}

static void convert(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *values, size_t count,
                    void *out) {
    if (from == to)
        memcpy(out, values, count * tally_dtype_size(from));
    else
        plan->device->level->types[from]->convert[to](values, count, out);
}

/* block->lifted[place ..] = n elements, lifted. */
static void lift_to(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, tally_cpu_lifted_block *block,
                    uint64_t place) {
    const tally_dtype acc = plan->kernels->acc_type, type = plan->lifted.type;
    void *to = tally_at_mutable(block->lifted, place, tally_dtype_size(type));
    if (plan->lifted.by_conversion) {
        convert(plan, plan->base.computation.desc.in, type, x, n, to);
        return;
    }
    plan->kernels->fold_rows(&plan->context, x, y, n, 1, acc == type ? to : block->narrow);
    if (acc != type)
        convert(plan, acc, type, block->narrow, n, to);
}

/* n neighbouring elements, lifted: themselves where there is nothing to lift. */
static const void *lift(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                        tally_cpu_lifted_block *block) {
    if (plan->lifted.as_they_are || (plan->base.computation.desc.in == plan->lifted.type && plan->lifted.by_conversion))
        return x;
    lift_to(plan, x, y, n, block, 0);
    return block->lifted;
}

void tally_cpu_widen(const tally_cpu_plan *plan, const void *acc, uint64_t *carry) {
    convert(plan, plan->kernels->acc_type, plan->lifted.carry, acc, 1, carry);
}

void tally_cpu_narrow(const tally_cpu_plan *plan, const void *numbers, size_t count, void *acc) {
    convert(plan, plan->lifted.type, plan->kernels->acc_type, numbers, count, acc);
}

/* Narrow accumulators are values, whose conversions go through the wider type as well. */
void tally_cpu_lower_numbers(const tally_cpu_plan *plan, const void *numbers, size_t count, tally_counts counts,
                             void *out) {
    const tally_dtype from = plan->lifted.type, to = plan->base.computation.desc.out;
    if (plan->lifted.as_they_are)
        memcpy(out, numbers, count * plan->base.computation.out_bytes);
    else if (from == plan->kernels->acc_type)
        plan->lower(plan, numbers, count, counts, out);
    else
        convert(plan, from, to, numbers, count, out);
}

void tally_cpu_lifted_scan(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                           uint64_t length, unsigned worker, const void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    const tally_dtype type = plan->lifted.type;
    const size_t bytes = tally_dtype_size(type);
    const tally_cpu_scan_options how = {.reverse = c->reverse};
    tally_cpu_lifted_block *block = tally_cpu_worker(plan, worker);
    uint64_t carry;
    tally_cpu_widen(plan, acc, &carry);
    for (uint64_t done = 0, count; done < n; done += count) {
        count = least(n - done, TALLY_CPU_LIFTED_BLOCK);
        const uint64_t first = c->reverse ? n - done - count : done;
        const void *lifted = lift(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), count, block);
        /* the value before the block, then those after each element; the other way round in a reverse scan */
        char *before = tally_at_mutable(block->scanned, c->reverse ? count : 0, bytes);
        char *after = tally_at_mutable(block->scanned, c->reverse ? 0 : 1, bytes);
        convert(plan, plan->lifted.carry, type, &carry, 1, before);
        plan->lifted.scan->scan(lifted, count, how, &carry, after);
        convert(plan, type, plan->lifted.carry, c->reverse ? after : after + (count - 1) * bytes, 1, &carry);
        const char *prefixes = exclusive == c->reverse ? (char *)block->scanned + bytes : (char *)block->scanned;
        const uint64_t number = index + first;
        const uint64_t elements = c->reverse ? length - number - exclusive : number + !exclusive;
        tally_cpu_lower_numbers(plan, prefixes, count, (tally_counts){NULL, elements, c->reverse ? -1 : 1},
                                tally_at_mutable(out, first, c->out_bytes));
    }
}

/* Results of the rows in block->scanned. */
static void lower_rows(const tally_cpu_plan *plan, uint64_t rows, uint64_t width, uint64_t stride, uint64_t number,
                       uint64_t length, tally_cpu_lifted_block *block, void *out) {
    const tally_computation *c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN, counted = tally_lowers_by_count(c->entry);
    const size_t bytes = tally_dtype_size(plan->lifted.type);
    number = c->reverse ? length - number - exclusive : number + !exclusive;
    if (width == stride) {
        for (uint64_t r = 0; counted && r < rows; r++)
            for (uint64_t j = 0; j < width; j++)
                block->counts[r * width + j] = c->reverse ? number - r : number + r;
        tally_cpu_lower_numbers(plan, block->scanned, rows * width, (tally_counts){block->counts, 0, 0}, out);
        return;
    }
    for (uint64_t r = 0; r < rows; r++)
        tally_cpu_lower_numbers(plan, tally_at(block->scanned, r * width, bytes), width,
                                (tally_counts){NULL, c->reverse ? number - r : number + r, 0},
                                tally_at_mutable(out, r * stride, c->out_bytes));
}

/* As tally_cpu_lifted_columns, for columns of which a block holds some rows. */
static void scan_some_columns(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                              uint64_t stride, uint64_t index, uint64_t length, tally_cpu_lifted_block *block,
                              void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_scan_options how = {.reverse = c->reverse, .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN};
    uint64_t carry[TALLY_CPU_LIFTED_COLUMNS];
    convert(plan, plan->kernels->acc_type, plan->lifted.carry, acc, width, carry);
    for (uint64_t done = 0, count; done < rows; done += count) {
        count = least(rows - done, TALLY_CPU_LIFTED_BLOCK / width);
        const uint64_t row = c->reverse ? rows - done - count : done;
        const void *lifted = block->lifted;
        if (width == stride)
            lifted = lift(plan, tally_at(x, row * stride, c->in_bytes), tally_at(y, row * stride, c->in_bytes),
                          count * width, block);
        for (uint64_t r = 0; width < stride && r < count; r++)
            lift_to(plan, tally_at(x, (row + r) * stride, c->in_bytes), tally_at(y, (row + r) * stride, c->in_bytes),
                    width, block, r * width);
        plan->lifted.scan->columns(lifted, count, width, width, how, carry, block->scanned);
        lower_rows(plan, count, width, stride, index + row, length, block,
                   tally_at_mutable(out, row * stride, c->out_bytes));
    }
    convert(plan, plan->lifted.carry, plan->kernels->acc_type, carry, width, acc);
}

/* Rows of more columns are faster one by one by fold_columns, in the elements' own width: 192 columns of i8 took 0.06
 * ns an element so, 0.11 lifted; 48 took 0.44 and 0.13. Floats of 16 bits are converted in either case. */
enum { WIDE_COLUMNS = 96 };

bool tally_cpu_lifts_columns(const tally_cpu_plan *plan, uint64_t inner) {
    return plan->lifted.scan && (inner < WIDE_COLUMNS || is_half(plan->base.computation.desc.in));
}

void tally_cpu_lifted_columns(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                              uint64_t stride, uint64_t index, uint64_t length, unsigned worker, void *acc, void *out) {
    const tally_computation *c = &plan->base.computation;
    for (uint64_t first = 0, columns; first < width; first += columns) {
        columns = least(width - first, divide_up(width, divide_up(width, TALLY_CPU_LIFTED_COLUMNS)));
        scan_some_columns(plan, tally_at(x, first, c->in_bytes), tally_at(y, first, c->in_bytes), rows, columns, stride,
                          index, length, tally_cpu_worker(plan, worker), tally_at_mutable(acc, first, plan->acc_bytes),
                          tally_at_mutable(out, first, c->out_bytes));
    }
}

void tally_cpu_lifted_groups(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, bool exclusive,
                             tally_cpu_lifted_block *block, const void *start, void *acc, void *to) {
    const tally_cpu_scan_options how = {.reverse = plan->base.computation.reverse, .exclusive = exclusive};
    plan->lifted.scan->groups(lift(plan, x, y, n, block), block->heads, n, how, start, acc, to);
}
