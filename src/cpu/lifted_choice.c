/* How a plan's elements are lifted and scanned. */
#include <string.h>

#include "core/dtype.h"
#include "cpu/components.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"

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

/* Whether the monoid takes elements of a type as they are, but for their type. */
static bool lifts_by_conversion(tally_monoid monoid, tally_dtype type) {
    if (tally_components_of(monoid) != 1)
        return false;
    const char *const lift = monoids[monoid].component->lift;
    const bool is_unsigned = !tally_dtype_is_float(type) && !tally_dtype_is_signed(type);
    return strcmp(lift, "x") == 0 || (is_unsigned && strcmp(lift, "ABS(x)") == 0);
}

tally_monoid tally_cpu_scanned_as(tally_monoid monoid, tally_dtype type) {
    return lifts_by_conversion(monoid, type) ? combining(monoid) : monoid;
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

/* Whether sums of floats are scanned in f32, because results have no more digits. The accumulator between blocks stays
 * f64: without that, 600,000 times 0.1 of f16 had 9 of 100 prefixes rounded to the neighbour. Products of f32 whose sum
 * may be small stay f64, as one alone may overflow. */
static bool suits_f32(const tally_computation *c, tally_dtype acc) {
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool are_halves = tally_cpu_is_half(c->desc.in) && tally_cpu_is_half(c->desc.out);
    const bool are_f32 = c->desc.in == TALLY_F32 && c->desc.out == TALLY_F32 && c->monoid != TALLY_MONOID_dot;
    return (kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE) && tally_is_scan(c) && acc == TALLY_F64 &&
           c->desc.acc != TALLY_F64 && (are_halves || are_f32) && c->entry->result != TALLY_RESULT_FLOAT;
}

/* Elements; what is left goes the old way, in another call. (500 rows of 350, us: norm1 of f64 43 and 52 so, means 82
 * and 66; of 530 60 and 63; means of 200 36 and 42.) */
enum { LEAST_OF_MEANS = 256, LEAST_SUMMED = 576 };

/* Sums, and means and roots of them, from elements to results (running_sums.c). Lanes are f32 where suits_f32 says so,
 * and for means and roots of 16 bits; a bf16 may be the root of what is too small, or too large, for f32. Sums of
 * products of f32 and of narrow integers are as fast in blocks. */
static void choose_sums(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_dtype in = c->desc.in, type = plan->lifted.type, carry = plan->lifted.carry;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool adds = kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE || kind == TALLY_CLASS_TOTAL;
    const bool is_mean = c->desc.op == TALLY_MEAN, is_root = c->desc.op == TALLY_NORM2;
    const bool is_real = is_mean || is_root;
    const bool is_number = tally_cpu_result_is_number(plan), is_f32 = in == TALLY_F32 && c->desc.acc != TALLY_F64;
    if (!tally_is_scan(c) || !adds || plan->context.nans || (is_mean && c->reverse) || (!is_number && !is_real))
        return;
    if (!tally_dtype_is_float(in)) {
        const bool are_integers = !tally_dtype_is_float(type) && plan->lifted.bytes == sizeof(uint64_t);
        const bool suits = is_real ? c->desc.out == TALLY_F64 && c->in_bytes < sizeof(uint64_t)
                                   : is_number && !tally_dtype_is_float(c->desc.out) && c->in_bytes == sizeof(uint64_t);
        if (type == carry && are_integers && suits && c->out_bytes == sizeof(uint64_t))
            plan->lifted.sums = plan->device->scans->wide_sums[in];
        if (type == TALLY_F64 && carry == TALLY_F64 && is_real && c->desc.out == TALLY_F64)
            plan->lifted.sums = plan->device->scans->real_sums[in];
    } else if (carry != TALLY_F64 || c->desc.out != in) {
        return;
    } else if (plan->lifted.folds_carry ||
               (tally_cpu_is_half(in) && c->desc.acc != TALLY_F64 && (is_mean || (is_root && in == TALLY_F16)))) {
        plan->lifted.sums = plan->device->scans->sums[in];
    } else if (type == TALLY_F64 && (in == TALLY_F64 || (is_f32 && is_real))) {
        plan->lifted.sums = plan->device->scans->wide_sums[in];
    }
    plan->lifted.least_summed = is_mean ? LEAST_OF_MEANS : LEAST_SUMMED;
    plan->lifted.sums_options = (tally_cpu_sums_options){
        .reverse = c->reverse,
        .exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN,
        .magnitudes = c->monoid == TALLY_MONOID_sumabs && (tally_dtype_is_float(in) || tally_dtype_is_signed(in)),
        .squares = c->monoid == TALLY_MONOID_sumsq,
        .result = is_mean   ? TALLY_CPU_MEANS
                  : is_root ? TALLY_CPU_ROOTS
                            : TALLY_CPU_SUMS};
}

const tally_cpu_direct_scan *tally_cpu_same_scan(const tally_cpu_device *device, tally_dtype type,
                                                 tally_monoid monoid) {
    const tally_cpu_level *level = device->level;
    const tally_cpu_direct_scan *narrow = device->scans->narrow(type, monoid);
    if (narrow)
        return narrow;
    const tally_cpu_direct_scan *own = level->types[type]->same_scan(monoid);
    const tally_dtype as_signed = type == TALLY_U32 ? TALLY_I32 : type == TALLY_U64 ? TALLY_I64 : type;
    return own ? own : level->types[as_signed]->same_scan(monoid);
}

bool tally_cpu_is_strict(const tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_type *type = plan->device->level->types[tally_dtype_value(c->desc.in)];
    return c->desc.mode == TALLY_EXACT && type->strict_kernels(c->monoid);
}

/* Two scans of numbers instead of one of pairs. */
static void choose_pair(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool is_narrow =
        (c->monoid == TALLY_MONOID_minmax && plan->device->scans->narrow(c->desc.in, TALLY_MONOID_min)) ||
        (!tally_is_scan(c) && plan->device->scans->first_equal(c->desc.in));
    const tally_dtype type = is_narrow ? c->desc.in : scanned_type(tally_dtype_value(c->desc.in));
    tally_monoid first = TALLY_MONOID_min, second = TALLY_MONOID_max;
    if (c->monoid == TALLY_MONOID_argmin || c->monoid == TALLY_MONOID_argmax) {
        first = c->monoid == TALLY_MONOID_argmin ? TALLY_MONOID_min : TALLY_MONOID_max;
        second = c->reverse ? TALLY_MONOID_min : TALLY_MONOID_max;
    } else if (c->monoid != TALLY_MONOID_minmax) {
        return;
    }
    const bool places = c->monoid != TALLY_MONOID_minmax;
    plan->lifted = (tally_cpu_lifted){.parts = places ? TALLY_CPU_PLACE : TALLY_CPU_EXTREMES,
                                      .scan = tally_cpu_same_scan(plan->device, type, first),
                                      .second = tally_cpu_same_scan(plan->device, places ? TALLY_I64 : type, second),
                                      .tree = plan->device->scans->trees(type, first),
                                      .second_tree = plan->device->scans->trees(type, second),
                                      .first_equal = places ? plan->device->scans->first_equal(type) : NULL,
                                      .type = type,
                                      .carry = type,
                                      .by_conversion = true};
}

static void choose(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_cpu_level *level = plan->device->level;
    const tally_dtype acc = plan->kernels->acc_type;
    if (c->exact || c->monoid == TALLY_MONOID_user)
        return;
    if (tally_cpu_is_strict(plan)) /* which no scan is */
        return;
    if (acc == TALLY_DEFAULT) {
        choose_pair(plan);
        return;
    }
    const bool is_all = c->desc.op == TALLY_ALL;
    if (tally_is_scan(c) && (is_all || c->desc.op == TALLY_ANY) &&
        plan->device->scans->narrow(TALLY_U8, TALLY_MONOID_bor)) {
        plan->lifted = (tally_cpu_lifted){
            .scan = tally_cpu_same_scan(plan->device, TALLY_U8, is_all ? TALLY_MONOID_band : TALLY_MONOID_bor),
            .type = TALLY_U8,
            .carry = TALLY_U8,
            .truths = true};
        return;
    }
    if (c->monoid == TALLY_MONOID_maxabs && tally_dtype_is_float(c->desc.in) && !tally_cpu_is_half(c->desc.in) &&
        plan->device->scans->narrow(TALLY_U16, TALLY_MONOID_max)) {
        const tally_dtype bits = c->in_bytes == sizeof(uint32_t) ? TALLY_I32 : TALLY_I64;
        plan->lifted = (tally_cpu_lifted){.scan = tally_cpu_same_scan(plan->device, bits, TALLY_MONOID_max),
                                          .tree = plan->device->scans->trees(bits, TALLY_MONOID_max),
                                          .type = c->desc.in,
                                          .carry = c->desc.in,
                                          .magnitudes = true};
        return;
    }
    if (tally_cpu_is_half(c->desc.in) && c->desc.out == c->desc.in && tally_cpu_result_is_number(plan) &&
        (c->monoid == TALLY_MONOID_min || c->monoid == TALLY_MONOID_max || c->monoid == TALLY_MONOID_maxabs) &&
        plan->device->scans->narrow(TALLY_U16, combining(c->monoid))) {
        plan->lifted = (tally_cpu_lifted){.scan = tally_cpu_same_scan(plan->device, TALLY_U16, combining(c->monoid)),
                                          .tree = plan->device->scans->trees(TALLY_U16, combining(c->monoid)),
                                          .type = TALLY_U16,
                                          .carry = TALLY_U16,
                                          .by_conversion = lifts_by_conversion(c->monoid, c->desc.in),
                                          .by_order = true};
        return;
    }
    const bool as_they_are = plan->direct && plan->direct->groups;
    const bool in_f32 = suits_f32(c, acc);
    const tally_monoid monoid = combining(c->monoid);
    const bool is_narrow = plan->device->scans->narrow(acc, monoid);
    /* integers of 1 or 2 bytes whose results have no more wrap in as many */
    const bool wraps_narrow = wraps_in_32_bits(c, acc) && c->out_bytes == c->in_bytes &&
                              plan->device->scans->lift_narrow(c->monoid, c->desc.in) &&
                              plan->device->scans->narrow(c->desc.in, monoid);
    const tally_dtype type = as_they_are || wraps_narrow ? c->desc.in
                             : wraps_in_32_bits(c, acc)  ? TALLY_U32
                             : in_f32                    ? TALLY_F32
                             : is_narrow                 ? acc
                                                         : scanned_type(acc);
    const tally_cpu_direct_scan *scan = tally_cpu_same_scan(plan->device, type, monoid);
    if (scan)
        plan->lifted = (tally_cpu_lifted){.scan = scan,
                                          .tree = plan->device->scans->trees(type, monoid),
                                          .type = type,
                                          .carry = level->types[type]->kernels(monoid)->acc_type,
                                          .as_they_are = as_they_are,
                                          .by_conversion = lifts_by_conversion(c->monoid, c->desc.in),
                                          .counts = c->monoid == TALLY_MONOID_nonzero && tally_is_scan(c) &&
                                                    plan->device->scans->count,
                                          .folds_carry = in_f32 && !as_they_are};
}

void tally_cpu_lifted_choose(tally_cpu_plan *plan) {
    choose(plan);
    plan->lifted.bytes = tally_dtype_size(plan->lifted.type);
    plan->lifted.second_bytes = tally_dtype_size(tally_cpu_second_type(plan));
    if (plan->lifted.scan && plan->lifted.parts == TALLY_CPU_NUMBER)
        choose_sums(plan);
}
