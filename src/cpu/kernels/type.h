/* All kernels of one element type, which a file of the build includes with what element.h begins from. It ends with
 * tally_cpu_type_<tag>_<level>. Some monoids have no kernels for some types: those are computed as f32, i64 or f64,
 * which converted.c converts to. */
#include <math.h>

#include "core/operator.h"
#include "cpu/kernels/element.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

enum {
#define TALLY_DTYPE(ENUMERATOR, tag, ...) DTYPE_##tag = TALLY_##ENUMERATOR,
#include "core/dtypes.def"
};

#if ELEMENT_IS_FLOAT
DEFINE_LOAD_OF_BITS(COUNT_LANE, ELEMENT)
#endif

/* Floats keep zero's sign in the top bit, which does not count. */
#define COUNT_SHIFT ELEMENT_IS_FLOAT

#if ELEMENT_IS_FLOAT
#define IS_NAN(v)    ((v) != (v))
#define NOT_A_NUMBER NAN
#else
#define IS_NAN(v)    0
#define NOT_A_NUMBER 0 /* never comes about */
#endif

#define KEEP(...) __VA_ARGS__
#define DROP(...)

/* ---- conversions ---- */
#include "cpu/kernels/convert.h"

/* ---- sums ---- */
#define CLASS    SUM
#define ON_SUM   KEEP
#define LANE     SUM_LANE
#define ACC      TOTAL_ACC
#define FLUSH    SUM_FLUSH
#define LANE_ABS abs
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS <= 32 && defined(__SSE2__)
#define FAST_FOLD "cpu/kernels/packed_sum.h"
#endif
#define FAST_ROWS "cpu/kernels/rows.h"
#if ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define COMPENSATES
#endif
#include "cpu/kernels/fold.h"

/* ---- products ---- */
#define CLASS     SQUARE
#define ON_SQUARE KEEP
#define LANE      SQUARE_LANE
#define ACC       TOTAL_ACC
#define FLUSH     SUM_FLUSH
#define LANE_ABS  abs
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS <= 32
#define NARROW_PRODUCTS
#endif
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS <= 32 && !(ELEMENT_BITS == 16 && !ELEMENT_IS_SIGNED) && defined(__AVX2__)
#define FAST_FOLD "cpu/kernels/packed_square.h"
#endif
#if ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define COMPENSATES
#endif
#include "cpu/kernels/fold.h"

#define CLASS    TOTAL
#define ON_TOTAL KEEP
#define LANE     TOTAL_LANE
#define ACC      TOTAL_ACC
#define FLUSH    SUM_FLUSH
#define LANE_ABS abs
#include "cpu/kernels/fold.h"

/* ---- those whose results are f64 by default, in f64 throughout: means of 64-bit integers, norms of 32-bit ones ----
 */
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS >= 32
#define CLASS     F64
#define ON_SUM    KEEP
#define ON_SQUARE KEEP
#define LANE      f64
#define ACC       f64
#define FLUSH     NEVER
#define LANE_ABS  abs
#define FAST_ROWS "cpu/kernels/rows.h"
#define COMPENSATES
#include "cpu/kernels/fold.h"
#endif

/* ---- counts: the elements' bits are the lanes ---- */
#define CLASS    COUNT
#define ON_COUNT KEEP
#define LANE     COUNT_LANE
#define ACC      i64
#define FLUSH    COUNT_FLUSH
#define LANE_ABS abs
#include "cpu/kernels/fold.h"

/* ---- comparisons ---- */
#define CLASS    VALUE
#define ON_VALUE KEEP
#define LANE     VALUE_LANE
#define ACC      VALUE_LANE
#define FLUSH    NEVER
#define LANE_ABS abs
#if ELEMENT_IS_FLOAT && defined(__AVX2__)
#define FAST_FOLD "cpu/kernels/extremum.h"
#endif
#include "cpu/kernels/fold.h"

#define CLASS        MAGNITUDE
#define ON_MAGNITUDE KEEP
#define LANE         MAGNITUDE_LANE
#define ACC          MAGNITUDE_LANE
#define FLUSH        NEVER
#define LANE_ABS     MAGNITUDE_ABS
#if ELEMENT_IS_FLOAT && (defined(__AVX512BW__) || (defined(__AVX2__) && ELEMENT_BITS < 64))
#define FAST_FOLD "cpu/kernels/magnitude.h"
#endif
#include "cpu/kernels/fold.h"

/* ---- bits ---- */
#if !ELEMENT_IS_FLOAT
#define CLASS    BITS
#define ON_BITS  KEEP
#define LANE     VALUE_LANE
#define ACC      VALUE_LANE
#define FLUSH    NEVER
#define LANE_ABS abs
#include "cpu/kernels/fold.h"
#endif

/* ---- several components ---- */
#define CLASS     VALUES
#define ON_VALUES KEEP
#define LANE      VALUE_LANE
#define C0        VALUE_LANE
#define C1        VALUE_LANE
#define FAST_FOLD "cpu/kernels/minmax.h"
#define EXTREMA   VALUE
#include "cpu/kernels/pairs.h"

/* ---- minimum and maximum once more, with -0 below +0 ---- */
#if ELEMENT_IS_FLOAT && ELEMENT_BITS >= 32
#define CLASS     STRICT
#define ON_VALUE  KEEP
#define LANE      VALUE_LANE
#define ACC       VALUE_LANE
#define FLUSH     NEVER
#define LANE_ABS  abs
#define STRICTLY  strict_
#define IS_STRICT 1
#if defined(__AVX2__)
#define FAST_FOLD "cpu/kernels/extremum.h"
#endif
#include "cpu/kernels/fold.h"

#define CLASS     STRICT_PAIR
#define ON_VALUES KEEP
#define LANE      VALUE_LANE
#define C0        VALUE_LANE
#define C1        VALUE_LANE
#define FAST_FOLD "cpu/kernels/minmax.h"
#define EXTREMA   STRICT
#define STRICTLY  strict_
#define IS_STRICT 1
#include "cpu/kernels/pairs.h"
#endif

#define CLASS      INDEXED
#define ON_INDEXED KEEP
#define LANE       VALUE_LANE
#define C0         VALUE_LANE
#define C1         i64
#define FAST_FOLD  "cpu/kernels/indexed.h"
#define FAST_COLUMNS
#include "cpu/kernels/pairs.h"

#if ELEMENT_IS_FLOAT ? ELEMENT_BITS >= 32 : ELEMENT_IS_SIGNED && ELEMENT_BITS == 64
#define CLASS      FLOATS2
#define ON_FLOATS2 KEEP
#define LANE       f64
#define C0         f64
#define C1         f64
#define FAST_FOLD  "cpu/kernels/logsumexp.h"
#define SORTS_LABELS
#include "cpu/kernels/pairs.h"
#endif

#define CLASS      FLOATS4
#define ON_FLOATS4 KEEP
#define LANE       f64
#define C0         f64
#define C1         f64
#define C2         f64
#define C3         f64
#define FAST_FOLD  "cpu/kernels/moments.h"
#define SORTS_LABELS
#include "cpu/kernels/pairs.h"

#if ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define CLASS      FLOATS5
#define ON_FLOATS5 KEEP
#define LANE       f64
#define C0         f64
#define C1         f64
#define C2         f64
#define C3         f64
#define C4         f64
#define FAST_FOLD  "cpu/kernels/higher_moments.h"
#define SORTS_LABELS
#include "cpu/kernels/pairs.h"

#define CLASS      FLOATS6
#define ON_FLOATS6 KEEP
#define LANE       f64
#define C0         f64
#define C1         f64
#define C2         f64
#define C3         f64
#define C4         f64
#define C5         f64
#define FAST_FOLD  "cpu/kernels/higher_moments.h"
#define SORTS_LABELS
#include "cpu/kernels/pairs.h"

#endif

/* ---- sums of several words, where one could overflow ---- */
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS >= 16
#define CLASS        INTEGERS2
#define ON_INTEGERS2 KEEP
#define LANE         TOTAL_LANE
#define C0           u64
#define C1           u64
#define FAST_FOLD    "cpu/kernels/integers.h"
#include "cpu/kernels/pairs.h"
#endif

#if !ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define CLASS        INTEGERS3
#define ON_INTEGERS3 KEEP
#define LANE         TOTAL_LANE
#define C0           u64
#define C1           u64
#define C2           u64
#define FAST_FOLD    "cpu/kernels/integers.h"
#include "cpu/kernels/pairs.h"
#endif

#if !ELEMENT_IS_FLOAT
#define CLASS        INTEGERS6
#define ON_INTEGERS6 KEEP
#define LANE         TOTAL_LANE
#define C0           u64
#define C1           u64
#define C2           u64
#define C3           u64
#define C4           u64
#define C5           u64
#define FAST_FOLD    "cpu/kernels/integer_moments.h"
#include "cpu/kernels/pairs.h"
#endif

/* ---- direct scans ---- */
#ifdef SAME_LANE
#if ELEMENT_IS_SIGNED
#define CLASS    SUM
#define ON_SUM   KEEP
#define ON_TOTAL KEEP
#define LANE     SAME_LANE
#define ACC      TOTAL_ACC
#define WIDTH    same
#define SCANS_GROUPS
#include "cpu/kernels/scan.h"
#endif

#define CLASS    VALUE
#define ON_VALUE KEEP
#if !ELEMENT_IS_FLOAT && ELEMENT_IS_SIGNED
#define ON_BITS KEEP
#endif
#if ELEMENT_IS_FLOAT && defined(__AVX2__)
#define SCANS_EXTREMES
#endif
#define LANE  SAME_LANE
#define ACC   VALUE_LANE
#define WIDTH same
#define SCANS_GROUPS
#include "cpu/kernels/scan.h"
#endif

#ifdef WIDE_LANE
#define CLASS  SUM
#define ON_SUM KEEP
#define LANE   WIDE_LANE
#define ACC    TOTAL_ACC
#define WIDTH  wide
#include "cpu/kernels/scan.h"
#endif

/* ---- what there is, by monoid ---- */

#define CASE(name, value)                                                                                              \
    case TALLY_MONOID_##name:                                                                                          \
        return &value;
#define HAVE(class, name)     CASE(name, kernels_##class##_##name)
#define ENTRY_SUM(name)       HAVE(SUM, name)
#define ENTRY_SQUARE(name)    HAVE(SQUARE, name)
#define ENTRY_TOTAL(name)     HAVE(TOTAL, name)
#define ENTRY_COUNT(name)     HAVE(COUNT, name)
#define ENTRY_VALUE(name)     HAVE(VALUE, name)
#define ENTRY_MAGNITUDE(name) HAVE(MAGNITUDE, name)
#define ENTRY_VALUES(name)    HAVE(VALUES, name)
#define ENTRY_INDEXED(name)   HAVE(INDEXED, name)
#define ENTRY_FLOATS4(name)   HAVE(FLOATS4, name)
#if ELEMENT_IS_FLOAT
#define ENTRY_BITS(name)
#else
#define ENTRY_BITS(name) HAVE(BITS, name)
#endif
#if ELEMENT_IS_FLOAT ? ELEMENT_BITS >= 32 : ELEMENT_IS_SIGNED && ELEMENT_BITS == 64
#define ENTRY_FLOATS2(name) HAVE(FLOATS2, name)
#else
#define ENTRY_FLOATS2(name)
#endif
#if ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define ENTRY_FLOATS5(name) HAVE(FLOATS5, name)
#define ENTRY_FLOATS6(name) HAVE(FLOATS6, name)
#else
#define ENTRY_FLOATS5(name)
#define ENTRY_FLOATS6(name)
#endif
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS >= 16
#define ENTRY_INTEGERS2(name) HAVE(INTEGERS2, name)
#else
#define ENTRY_INTEGERS2(name)
#endif
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS == 64
#define ENTRY_INTEGERS3(name) HAVE(INTEGERS3, name)
#else
#define ENTRY_INTEGERS3(name)
#endif
#if !ELEMENT_IS_FLOAT
#define ENTRY_INTEGERS6(name) HAVE(INTEGERS6, name)
#else
#define ENTRY_INTEGERS6(name)
#endif

static const tally_cpu_kernels *kernels_for(tally_monoid monoid) {
    switch (monoid) {
#define TALLY_COMPONENT(identity, lift, combine)
#define TALLY_MONOID(name, class, components) ENTRY_##class(name)
#include "core/monoids.def"
    default:
        return NULL;
    }
}

static const tally_cpu_kernels *f64_kernels_for(tally_monoid monoid) {
    switch (monoid) {
#if !ELEMENT_IS_FLOAT && ELEMENT_BITS >= 32
        CASE(sumsq, kernels_F64_sumsq)
#if ELEMENT_BITS == 64
        CASE(sum, kernels_F64_sum)
#endif
#endif
    default:
        return NULL;
    }
}

static const tally_cpu_kernels *strict_kernels_for(tally_monoid monoid) {
    switch (monoid) {
#if ELEMENT_IS_FLOAT && ELEMENT_BITS >= 32
        CASE(min, kernels_STRICT_min)
        CASE(max, kernels_STRICT_max)
        CASE(minmax, kernels_STRICT_PAIR_minmax)
#endif
    default:
        return NULL;
    }
}

static const tally_cpu_direct_scan *same_scan_for(tally_monoid monoid) {
    switch (monoid) {
#ifdef SAME_LANE
        CASE(min, direct_scan_min_same)
        CASE(max, direct_scan_max_same)
#if ELEMENT_IS_SIGNED
        CASE(sum, direct_scan_sum_same)
        CASE(prod, direct_scan_prod_same)
#if !ELEMENT_IS_FLOAT
        CASE(band, direct_scan_band_same)
        CASE(bor, direct_scan_bor_same)
        CASE(bxor, direct_scan_bxor_same)
#endif
#endif
#endif
    default:
        return NULL;
    }
}

static const tally_cpu_direct_scan *wide_scan_for(tally_monoid monoid) {
    switch (monoid) {
#ifdef WIDE_LANE
        CASE(sum, direct_scan_sum_wide)
#endif
    default:
        return NULL;
    }
}

const tally_cpu_type PASTE4(tally_cpu_type_, ELEMENT, _, TALLY_LEVEL);
const tally_cpu_type PASTE4(tally_cpu_type_, ELEMENT, _, TALLY_LEVEL) = {
    .kernels = kernels_for,
    .f64_kernels = f64_kernels_for,
    .strict_kernels = strict_kernels_for,
    .same_scan = same_scan_for,
    .wide_scan = wide_scan_for,
    .convert = converters,
};
