#include "cuda/accumulator.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cuda/agreed.h"
#include "exact/superaccumulator.h"
#include "gpu/expressions.h"

/* ---- types ---- */

const char *tally_cuda_element_type(tally_dtype dtype) {
    return tally_dtypes[dtype].device_name;
}

const char *tally_cuda_value_type(tally_dtype in) {
    return tally_cuda_element_type(tally_dtype_value(in));
}

/* Registers have at least 32 bits. */
static const char *register_type(tally_dtype in) {
    if (tally_dtype_is_float(in) || tally_dtype_size(in) >= 4)
        return tally_cuda_value_type(in);
    return tally_dtype_is_signed(in) ? "int32" : "uint32";
}

/* Keys are compared by their bits. */
const char *tally_cuda_index_type(const tally_computation *c) {
    static const char *const bits[] = {[1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64"};
    if (c->desc.grouping == TALLY_KEYS)
        return bits[c->index_bytes];
    return tally_cuda_element_type(c->desc.index == TALLY_DEFAULT ? TALLY_I64 : c->desc.index);
}

/* ---- accumulators ---- */

bool tally_cuda_is_flag(const tally_computation *c) {
    const bool has_states = c->words.count > 0; /* which have counts, as labels' tables do */
    return c->entry && c->entry->result == TALLY_RESULT_FLAG && c->desc.grouping != TALLY_LABELS && !has_states;
}

const tally_monoid_text *tally_cuda_monoid(const tally_computation *c) {
    static const tally_component_text any = {"0", "IS_NONZERO(x)", "a | b"}, all = {"1", "IS_NONZERO(x)", "a & b"};
    static const tally_monoid_text flags[] = {{"any", TALLY_CLASS_BITS, 1, &any}, {"all", TALLY_CLASS_BITS, 1, &all}};
    return tally_cuda_is_flag(c) ? &flags[c->desc.op == TALLY_ALL] : &tally_monoid_texts[c->monoid];
}

const char *tally_cuda_lower(const tally_computation *c) {
    if (tally_cuda_is_flag(c))
        return "a";
    return c->desc.op == TALLY_MEAN && tally_is_scan(c) ? "MEAN_OF(a, n)" : c->entry->lower;
}

bool tally_cuda_lowers_by_count(const tally_computation *c) {
    return c->entry && !tally_cuda_is_flag(c) && !tally_cuda_counts_elements(c) && tally_lowers_by_count(c->entry);
}

/* ---- NaNs that are left out ---- */

bool tally_cuda_counts_elements(const tally_computation *c) {
    const bool has_states = c->words.count > 0,
               has_moments = tally_class_of(c->monoid) == TALLY_CLASS_FLOATS && c->monoid != TALLY_MONOID_logsumexp;
    return c->skips_nan && !c->exact && (c->desc.op == TALLY_MEAN || (has_states && !has_moments));
}

tally_cuda_skipping tally_cuda_skipping_of(const tally_computation *c, const char **neutral) {
    *neutral = NULL;
    if (!c->skips_nan)
        return TALLY_CUDA_KEEPS_NANS;
    if (c->exact && !tally_is_scan(c))
        return TALLY_CUDA_DROPS_NANS;
    if (tally_cuda_counts_elements(c))
        return TALLY_CUDA_LIFTS_NANS;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_VALUES:
        return tally_is_scan(c) ? TALLY_CUDA_LIFTS_NANS : TALLY_CUDA_NAN_IS_IDENTITY;
    case TALLY_CLASS_INDEXED:
        return TALLY_CUDA_NAN_IS_IDENTITY;
    case TALLY_CLASS_FLOATS:
        *neutral = c->monoid == TALLY_MONOID_logsumexp ? "range<value_t>::lowest()" : NULL;
        break;
    default:
        *neutral = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS)         ? NULL
                   : c->exact                                            ? "0"
                   : c->desc.op == TALLY_PROD || c->desc.op == TALLY_ALL ? "1"
                                                                         : "-0.0";
    }
    return *neutral ? TALLY_CUDA_REPLACES_NANS : TALLY_CUDA_LIFTS_NANS;
}

/* Elements that a lane takes: sums of integers in 32 bits cannot overflow, and those of floats lose few bits. */
enum { LANE_LIMIT = 64 };

/* SUM, SQUARE, TOTAL: 64-bit integers or floats, with narrower lanes for some elements at a time. */
static void sum_components(const tally_computation *c, tally_monoid_class kind, tally_cuda_accumulator *t) {
    bool is_float = tally_dtype_is_float(c->desc.acc), is_signed = tally_dtype_is_signed(c->desc.in);
    size_t bytes = c->in_bytes;
    t->bytes = 8;
    if (is_float) {
        bool narrow = c->desc.acc == TALLY_F32 && c->desc.out != TALLY_F64;
        t->acc[0] = narrow && tally_is_scan(c) ? "float" : "double";
        t->bytes = narrow && tally_is_scan(c) ? 4 : 8;
        t->lane[0] = c->desc.acc == TALLY_F32 ? "float" : "double";
        if (kind == TALLY_CLASS_TOTAL)
            t->lane[0] = t->acc[0];
        t->lane_limit = LANE_LIMIT;
        return;
    }
    bool narrow = tally_is_scan(c) && !tally_dtype_is_float(c->desc.out) && c->out_bytes <= 4;
    if (narrow) { /* sums that wrap in 32 bits need no more, but an absolute value all of its element's */
        t->acc[0] = t->lane[0] = "uint32";
        t->lifted = t->lifted_lane = kind != TALLY_CLASS_SUM || !is_signed            ? "uint32"
                                     : c->monoid == TALLY_MONOID_sumabs && bytes == 8 ? "int64"
                                                                                      : "int32";
        t->bytes = 4;
        t->lane_limit = TALLY_CUDA_LANE_UNLIMITED;
        return;
    }
    t->acc[0] = "uint64";
    t->lifted = kind == TALLY_CLASS_SUM && is_signed ? "int64" : "uint64";
    bool fits = kind == TALLY_CLASS_SUM ? bytes <= 2 : kind == TALLY_CLASS_SQUARE && bytes == 1;
    t->lane[0] = !fits ? "uint64" : is_signed && c->monoid != TALLY_MONOID_sumabs ? "int32" : "uint32";
    t->lifted_lane = fits ? is_signed ? "int32" : "uint32" : t->lifted;
    t->lane_limit = fits ? LANE_LIMIT : TALLY_CUDA_LANE_UNLIMITED;
}

static void components_of(const tally_computation *c, tally_cuda_accumulator *t) {
    const tally_monoid_text *m = tally_cuda_monoid(c);
    tally_dtype in = c->desc.in;
    const char *in_register = register_type(in);
    unsigned register_bytes = c->in_bytes == 8 ? 8 : 4;
    memset(t, 0, sizeof *t);
    t->domain = tally_cuda_value_type(in);
    t->lane_limit = TALLY_CUDA_LANE_UNLIMITED;
    t->bytes = register_bytes;
    if (tally_cuda_is_flag(c)) {
        t->acc[0] = t->lane[0] = "uint32";
        t->lifted = t->lifted_lane = tally_cuda_value_type(in);
        t->bytes = 4;
        return;
    }
    switch (m->kind) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_TOTAL:
        sum_components(c, m->kind, t);
        return;
    case TALLY_CLASS_COUNT:
        t->acc[0] = "uint64";
        t->lane[0] = "uint32";
        t->lifted = t->lifted_lane = tally_cuda_value_type(in);
        t->bytes = 8;
        return;
    case TALLY_CLASS_MAGNITUDE:
        t->acc[0] = t->lane[0] = register_type(tally_dtype_to_unsigned(in));
        t->lifted = t->lifted_lane = tally_cuda_value_type(in);
        return;
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_BITS:
        t->acc[0] = t->lane[0] = in_register;
        return;
    case TALLY_CLASS_VALUES:
        t->acc[0] = t->acc[1] = t->lane[0] = t->lane[1] = in_register;
        t->bytes = 2 * register_bytes;
        return;
    case TALLY_CLASS_INDEXED:
        t->acc[0] = t->lane[0] = in_register;
        t->acc[1] = t->lane[1] = "uint64";
        t->lifted = t->lifted_lane = in_register;
        t->bytes = 16;
        return;
    case TALLY_CLASS_USER: /* has no text */
        return;
    case TALLY_CLASS_INTEGERS:
        for (int k = 0; k < m->components; k++)
            t->acc[k] = t->lane[k] = "uint64";
        t->domain = "uint64";
        t->lifted = t->lifted_lane = tally_dtype_is_signed(in) ? "int64" : "uint64";
        t->bytes = 8 * (unsigned)m->components;
        return;
    case TALLY_CLASS_FLOATS: {
        const bool is_narrow =
            c->monoid == TALLY_MONOID_logsumexp && c->desc.acc == TALLY_F32 && c->desc.out != TALLY_F64;
        const char *real = is_narrow ? "float" : "double";
        for (int k = 0; k < m->components; k++)
            t->acc[k] = t->lane[k] = real;
        t->domain = t->lifted = t->lifted_lane = real;
        t->bytes = (is_narrow ? 4 : 8) * (unsigned)m->components;
        if (c->monoid == TALLY_MONOID_logsumexp || c->monoid == TALLY_MONOID_moments)
            t->lane_limit = LANE_LIMIT; /* digits */
        return;
    }
    }
}

void tally_cuda_accumulator_of(const tally_computation *c, tally_cuda_accumulator *t) {
    components_of(c, t);
    if (!tally_cuda_counts_elements(c))
        return;
    const int last = tally_cuda_monoid(c)->components;
    t->acc[last] = "uint64";
    t->lane[last] = "uint32";
    t->bytes = round_up(t->bytes, 8) + 8;
}

unsigned tally_cuda_accumulator_bytes(const tally_computation *c) {
    if (!c->entry)
        return (unsigned)round_up(c->user.acc_bytes, 16);
    if (tally_is_exact_scan(c)) /* and a word that tells infinities and the like, which fit no window */
        return (tally_cuda_scan_integer_of(c).words + !c->in_window) * (unsigned)sizeof(uint32_t);
    tally_cuda_accumulator t;
    tally_cuda_accumulator_of(c, &t);
    return t.bytes;
}

/* In a window, so many words hold the sum of 2^28 normal numbers. An initial value has the output's type, which may be
 * wider. Of finite f16 there is room for 2^54, of bf16 and f32 for
 * 2^74, of f64 for 2^45. */
tally_cuda_scan_integer tally_cuda_scan_integer_of(const tally_computation *c) {
    if (c->in_window)
        return (tally_cuda_scan_integer){.words = c->desc.in == TALLY_F64 ? 4 : 3};
    if (c->desc.in == TALLY_F64 || c->desc.out == TALLY_F64)
        return (tally_cuda_scan_integer){.words = 67, .lowest = -1074};
    if (c->desc.in == TALLY_F16 && c->desc.out == TALLY_F16)
        return (tally_cuda_scan_integer){.words = 3, .lowest = -24};
    return (tally_cuda_scan_integer){.words = 11, .lowest = -149};
}

bool tally_cuda_scans_by_chunks(const tally_computation *c) {
    return tally_is_exact_scan(c) && !c->in_window;
}

bool tally_cuda_scans_by_chunks_alone(const tally_computation *c) {
    enum { MOST_IN_REGISTERS = 16 };
    return tally_cuda_scans_by_chunks(c) && tally_cuda_scan_integer_of(c).words > MOST_IN_REGISTERS;
}

bool tally_cuda_exact_has_products(const tally_computation *c) {
    return tally_cuda_exact_has_moments(c) || tally_exact_has_products(c->desc.op);
}

int tally_cuda_exact_limbs(const tally_computation *c) {
    return tally_layout_limbs(tally_exact_layout_of(c->desc.in, tally_cuda_exact_has_products(c)));
}

int tally_cuda_exact_sum_limbs(const tally_computation *c) {
    return tally_cuda_exact_has_moments(c) ? tally_layout_limbs(tally_exact_layout_of(c->desc.in, false)) : 0;
}

/* ---- what follows for the choice of kernels ---- */

/* Nothing but NaNs has the index -1. */
static bool skips_indices(const tally_computation *c) {
    return c->skips_nan && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED;
}

bool tally_cuda_needs_start(const tally_computation *c) {
    tally_grouping grouping = c->desc.grouping;
    if (grouping != TALLY_SEGMENTS && grouping != TALLY_KEYS)
        return false;
    if (!c->entry)
        return strstr(c->user.lower_source ? c->user.lower_source : "", "count") != NULL;
    return (tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && !c->gives_places) || tally_cuda_lowers_by_count(c);
}

bool tally_cuda_lowers_directly(const tally_computation *c) {
    return c->entry && c->per_result == 1 && !skips_indices(c) && tally_lower_component(tally_cuda_lower(c)) >= 0;
}

bool tally_cuda_result_keeps_lane(const tally_computation *c) {
    const bool is_same = c->desc.out == c->desc.in, is_float = tally_dtype_is_float(c->desc.out);
    if (c->entry && tally_class_of(c->monoid) == TALLY_CLASS_VALUES)
        return is_same && !c->skips_nan;
    if (!tally_cuda_lowers_directly(c))
        return false;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_COUNT:
        return !is_float;
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_TOTAL:
        return !is_float && !tally_dtype_is_float(c->desc.in);
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_BITS:
        return is_same;
    case TALLY_CLASS_MAGNITUDE:
        return is_float ? is_same : tally_dtype_is_unsigned(c->desc.out) && c->out_bytes == c->in_bytes;
    default:
        return false;
    }
}

bool tally_cuda_lowers_cheaply(const tally_computation *c) {
    enum { MOST_BYTES = 16 };
    return c->entry && tally_cuda_accumulator_bytes(c) <= MOST_BYTES &&
           (c->per_result == 2 || c->entry->result == TALLY_RESULT_FLAG ||
            tally_lower_component(tally_cuda_lower(c)) >= 0);
}

bool tally_cuda_scans_flags(const tally_computation *c) {
    return tally_is_scan(c) && !c->exact && tally_cuda_is_flag(c) && c->out_bytes == 1 &&
           !tally_dtype_is_float(c->desc.out);
}

int tally_cuda_word_kind(const tally_computation *c) {
    if (!tally_is_scan(c) || c->exact || c->in_bytes > 2 || c->out_bytes != c->in_bytes || c->per_result != 1 ||
        tally_dtype_is_float(c->desc.in) || tally_dtype_is_float(c->desc.out) || !tally_cuda_lowers_directly(c))
        return 0;
    switch (c->monoid) {
    case TALLY_MONOID_band:
    case TALLY_MONOID_bor:
        return TALLY_CUDA_WORD_OR;
    case TALLY_MONOID_bxor:
        return TALLY_CUDA_WORD_XOR;
    case TALLY_MONOID_min:
    case TALLY_MONOID_max:
    case TALLY_MONOID_maxabs:
        return TALLY_CUDA_WORD_LARGEST;
    case TALLY_MONOID_sum:
    case TALLY_MONOID_sumabs:
        return c->in_bytes == 1 ? TALLY_CUDA_WORD_SUM : 0;
    default:
        return 0;
    }
}

bool tally_cuda_has_higher_moments(const tally_computation *c) {
    return c->entry && (c->monoid == TALLY_MONOID_moments3 || c->monoid == TALLY_MONOID_moments4);
}

/* Whether a scan's results are as wide as its elements, and what they keep of them is enough to go on. */
static bool keeps_width(const tally_computation *c) {
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool are_same = c->desc.in == c->desc.out || (kind != TALLY_CLASS_VALUE && kind != TALLY_CLASS_BITS);
    return c->in_bytes <= 2 && c->out_bytes == c->in_bytes && c->per_result == 1 && !tally_dtype_is_float(c->desc.in) &&
           !tally_dtype_is_float(c->desc.out) && !tally_dtype_is_float(c->desc.acc) &&
           tally_cuda_accumulator_bytes(c) == sizeof(uint32_t) &&
           (tally_cuda_scans_flags(c) || (tally_cuda_lowers_directly(c) && are_same)) &&
           !tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
}

int tally_cuda_column_packs(const tally_computation *c, int architecture) {
    const bool has_pairs = architecture >= 90, is_scan = tally_is_scan(c); /* of 16 bits, compared by one instruction */
    if (!c->entry || c->exact || c->words.count || c->in_window || c->desc.grouping != TALLY_AXIS ||
        (is_scan ? !keeps_width(c) : c->in_bytes != 1))
        return 0;
    if (tally_cuda_is_flag(c))
        return c->desc.op == TALLY_ALL ? TALLY_CUDA_PACKED_ALL : is_scan ? TALLY_CUDA_PACKED_ANY : TALLY_CUDA_PACKED_OR;
    switch (c->monoid) {
    case TALLY_MONOID_band:
        return TALLY_CUDA_PACKED_AND;
    case TALLY_MONOID_bor:
        return TALLY_CUDA_PACKED_OR;
    case TALLY_MONOID_bxor:
        return TALLY_CUDA_PACKED_XOR;
    case TALLY_MONOID_sum:
    case TALLY_MONOID_sumabs:
        return TALLY_CUDA_PACKED_SUM;
    case TALLY_MONOID_min:
        return has_pairs ? TALLY_CUDA_PACKED_MIN : 0;
    case TALLY_MONOID_max:
    case TALLY_MONOID_maxabs:
        return has_pairs ? TALLY_CUDA_PACKED_MAX : 0;
    case TALLY_MONOID_minmax:
        return has_pairs ? TALLY_CUDA_PACKED_MINMAX : 0;
    case TALLY_MONOID_prod:
        return is_scan ? TALLY_CUDA_PACKED_PROD : 0;
    default:
        return 0;
    }
}

bool tally_cuda_looks_up_exponentials(const tally_computation *c) {
    return c->entry && c->monoid == TALLY_MONOID_logsumexp && c->in_bytes == 1 && !tally_is_scan(c) &&
           !c->words.count && c->desc.grouping == TALLY_ALL_VALUES;
}

bool tally_cuda_looks_up_powers(const tally_computation *c) {
    return c->entry && c->monoid == TALLY_MONOID_logsumexp && !tally_dtype_is_float(c->desc.in) && !tally_is_scan(c) &&
           !c->words.count && !c->exact && !tally_cuda_looks_up_exponentials(c) &&
           (c->desc.grouping == TALLY_AXIS || c->desc.grouping == TALLY_ALL_VALUES);
}

int tally_cuda_factors(const tally_computation *c) {
    const bool are_narrow = c->entry && c->monoid == TALLY_MONOID_prod && !tally_is_scan(c) && !c->exact &&
                            !c->words.count && c->in_bytes <= 2 && !tally_dtype_is_float(c->desc.in);
    return are_narrow ? 4 / (int)c->in_bytes : 1;
}

bool tally_cuda_order_shows(const tally_computation *c) {
    if (!c->entry)
        return true;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_COUNT:
    case TALLY_CLASS_BITS:
    case TALLY_CLASS_INDEXED:
        return false;
    case TALLY_CLASS_FLOATS:
        return true;
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_VALUES: /* which zero of two is taken: of f64 the later one, by a comparison */
        return c->desc.in == TALLY_F64;
    default:
        return tally_dtype_is_float(c->desc.acc);
    }
}

int tally_cuda_brief_moments(const tally_computation *c) {
    if (!c->entry || c->monoid != TALLY_MONOID_moments || tally_is_scan(c) || c->exact || c->words.count ||
        c->skips_nan || c->in_bytes > 2)
        return 0;
    if (!tally_dtype_is_float(c->desc.in))
        return TALLY_CUDA_MOMENTS_IN_INTEGERS;
    return c->desc.in == TALLY_F16 && c->desc.out == TALLY_F16 ? TALLY_CUDA_MOMENTS_IN_FLOATS : 0;
}

bool tally_cuda_has_half_columns(const tally_computation *c) {
    return !tally_is_scan(c) && c->desc.grouping == TALLY_AXIS && !c->exact && c->entry && !c->words.count &&
           c->monoid == TALLY_MONOID_moments && !c->skips_nan && c->desc.out == c->desc.in &&
           (c->desc.in == TALLY_F16 || c->desc.in == TALLY_BF16);
}

bool tally_cuda_has_half_moments(const tally_computation *c) {
    return tally_is_scan(c) && !c->exact && c->entry && c->monoid == TALLY_MONOID_moments && !c->skips_nan &&
           c->desc.in == TALLY_F16 && c->desc.out == TALLY_F16;
}

/* By keys only narrow ones with sums of 32 bits, and variances. Measured on an H200, in microseconds (in brackets:
 * without differences): mean of 30 million u16 in runs of 25 62 (82), var of 20 million i16 of 9 82 (120); but sum of
 * 12 million i32 in runs of 3 98 (83), any of 28 million bf16 of 1090 64 (64). */
int tally_cuda_differences(const tally_computation *c) {
    const bool keys = c->desc.grouping == TALLY_KEYS;
    if (!c->entry || c->exact || c->words.count || c->skips_nan || (c->desc.grouping != TALLY_SEGMENTS && !keys) ||
        tally_is_scan(c) || tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS))
        return 0;
    if (tally_cuda_brief_moments(c) == TALLY_CUDA_MOMENTS_IN_INTEGERS)
        return TALLY_CUDA_OF_MOMENTS;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    if (keys && (tally_cuda_is_flag(c) || (kind != TALLY_CLASS_SUM && kind != TALLY_CLASS_SQUARE) ||
                 c->in_bytes > (kind == TALLY_CLASS_SQUARE ? 1 : 2)))
        return 0;
    if (tally_cuda_is_flag(c))
        return TALLY_CUDA_OF_FLAGS;
    if (kind == TALLY_CLASS_COUNT)
        return TALLY_CUDA_OF_COUNTS;
    if (c->monoid == TALLY_MONOID_bxor)
        return TALLY_CUDA_OF_XOR;
    if ((kind != TALLY_CLASS_SUM && kind != TALLY_CLASS_SQUARE) || tally_dtype_is_float(c->desc.acc) ||
        tally_dtype_is_float(c->desc.in))
        return 0;
    return c->in_bytes > 1              ? TALLY_CUDA_OF_LANES
           : kind == TALLY_CLASS_SQUARE ? TALLY_CUDA_OF_SQUARES
                                        : TALLY_CUDA_OF_BYTES;
}

bool tally_cuda_has_place_keys(const tally_computation *c) {
    return c->entry && !c->exact && !c->skips_nan && !tally_is_scan(c) && c->in_bytes <= 2 &&
           tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && !tally_dtype_is_float(c->desc.in);
}

bool tally_cuda_finds_places(const tally_computation *c) {
    return tally_is_scan(c) && c->entry && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED && !c->reverse &&
           !c->skips_nan && !c->exact;
}

bool tally_cuda_has_terms(const tally_computation *c) {
    return tally_is_scan(c) && !c->exact && c->entry &&
           (c->monoid == TALLY_MONOID_logsumexp || c->monoid == TALLY_MONOID_moments ||
            tally_cuda_has_higher_moments(c));
}

bool tally_cuda_has_integer_terms(const tally_computation *c) {
    return tally_cuda_has_terms(c) && c->monoid == TALLY_MONOID_moments && c->in_bytes <= 2 &&
           !tally_dtype_is_float(c->desc.in);
}

bool tally_cuda_takes_vectors(const tally_computation *c) {
    const bool by_heads = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
    return tally_cuda_has_terms(c) && c->monoid == TALLY_MONOID_moments && c->out_bytes == c->in_bytes &&
           (by_heads || tally_dtype_is_float(c->desc.in));
}

bool tally_cuda_varies_in_floats(const tally_computation *c) {
    return tally_cuda_takes_vectors(c) && c->desc.grouping != TALLY_ALL_VALUES && c->in_bytes == 2 && !c->skips_nan;
}

bool tally_cuda_counts_places(const tally_computation *c) {
    return c->reverse && !c->gives_places && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED &&
           (c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS);
}
