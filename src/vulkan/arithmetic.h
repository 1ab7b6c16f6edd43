/* The arithmetics in which Vulkan's kernels compute, and what they decide: the types of values and accumulators, what a
 * device must have, and how much a thread takes. The texts of kernels, the paths of plans and the pipelines follow
 * them. */
#ifndef TALLY_VULKAN_ARITHMETIC_H
#define TALLY_VULKAN_ARITHMETIC_H

#include "exact/superaccumulator.h"
#include "gpu/expressions.h"

/* The arithmetic of a variant; variants.def explains them. */
typedef enum tally_vulkan_arithmetic {
    TALLY_VULKAN_i32,
    TALLY_VULKAN_u32,
    TALLY_VULKAN_i64,
    TALLY_VULKAN_u64,
    TALLY_VULKAN_u64d,
    TALLY_VULKAN_f32,
    TALLY_VULKAN_f32w,
    TALLY_VULKAN_f64,
    TALLY_VULKAN_f64r,
    TALLY_VULKAN_bits,
    TALLY_VULKAN_exact32,
    TALLY_VULKAN_exact64,
    TALLY_VULKAN_exact32f,
    TALLY_VULKAN_exact64f,
    TALLY_VULKAN_scan32,
    TALLY_VULKAN_scan64,
    TALLY_VULKAN_window32,
    TALLY_VULKAN_window64,
    TALLY_VULKAN_ARITHMETIC_COUNT
} tally_vulkan_arithmetic;

extern const char *const tally_vulkan_arithmetic_names[TALLY_VULKAN_ARITHMETIC_COUNT];

/* The GLSL type of values, the symbol of its kind, and its bytes. */
typedef struct tally_vulkan_value {
    const char *value, *kind;
    unsigned bytes;
} tally_vulkan_value;
extern const tally_vulkan_value tally_vulkan_values[TALLY_VULKAN_ARITHMETIC_COUNT];

/* The same type for one monoid: floats that are compared as integers have the type of these. */
const char *tally_vulkan_value_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* The components of a monoid's accumulator: their GLSL types and their bytes. */
typedef struct tally_vulkan_components {
    const char *type[TALLY_MOST_COMPONENTS];
    unsigned bytes[TALLY_MOST_COMPONENTS];
} tally_vulkan_components;
tally_vulkan_components tally_vulkan_components_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* An accumulator as GLSL's std430 layout has it. */
typedef struct tally_vulkan_slot {
    unsigned bytes, alignment;
} tally_vulkan_slot;
tally_vulkan_slot tally_vulkan_slot_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* What follows "a" in the name of an accumulator's component k. */
const char *tally_vulkan_digit_of(const tally_monoid_text *monoid, int k);

/* Whether the monoid chooses among elements: a smallest or a largest one, or its place. */
bool tally_vulkan_chooses(tally_monoid monoid);

/* Whether it compares floats as integers, which have the same order, for few instructions and no rounding. */
bool tally_vulkan_is_ordered(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Whether a thread folds its elements into running values (running_moments.comp, running_logsumexp.comp). */
bool tally_vulkan_has_running(tally_monoid monoid);

/* Whether a module has the kernels of few rows and of few columns: not those of two inputs, wide integers and higher
 * moments, which are rare: they would make these kernels half as large again. */
bool tally_vulkan_has_few(tally_monoid monoid);

/* Accumulators of a tile in shared memory, a thread: each of a vector of 16 bytes. */
unsigned tally_vulkan_tile_slots(tally_vulkan_slot slot);

/* Vectors that a thread has of a tile of scan_rows.comp. */
unsigned tally_vulkan_tile_vectors(tally_vulkan_slot slot, unsigned in_bytes);

/* What a thread of group_tiles.comp has of a group: an accumulator; of argmin and argmax, a value and a place of 32
 * bits; of counts, 32 bits. */
typedef struct tally_vulkan_part {
    enum { TALLY_VULKAN_ACCUMULATORS, TALLY_VULKAN_PLACES, TALLY_VULKAN_COUNTS } kind;
    unsigned bytes;
    bool is_long; /* its text is, so loops over elements stay loops */
} tally_vulkan_part;
tally_vulkan_part tally_vulkan_part_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Neighbouring elements of 4 bytes that a thread takes there. */
unsigned tally_vulkan_most_items(tally_vulkan_part part);

/* Elements of any size, always whole vectors. */
unsigned tally_vulkan_group_items(tally_vulkan_part part, unsigned in_bytes);

/* Groups a thread whose parts wait in shared memory (runs.comp). */
unsigned tally_vulkan_staged_slots(tally_vulkan_part part);

/* Whether a module has scan_once.comp: accumulators are one number of 4 or 8 bytes, elements come from one array. */
bool tally_vulkan_scans_once(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Vectors of 16 bytes that a thread has of a tile there. */
unsigned tally_vulkan_once_vectors(tally_vulkan_slot slot);

/* Elements that a thread has of a tile of moment_tiles.comp. */
unsigned tally_vulkan_moments_a_thread(unsigned in_bytes);

/* The record of a chunk in groups.comp. */
unsigned tally_vulkan_record_bytes(tally_vulkan_slot slot);

/* Whether values or accumulators are doubles. */
bool tally_vulkan_has_double(tally_vulkan_arithmetic arithmetic);

/* Whether values or accumulators are integers of 64 bits. */
bool tally_vulkan_has_int64(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Exact scans: the words of a sum, and the type whose exponents it covers. The integers have room for 2^64 finite
 * elements, for the sign, and for a word above it. */
typedef struct tally_vulkan_scan_integer {
    unsigned words;
    tally_dtype type;
} tally_vulkan_scan_integer;
tally_vulkan_scan_integer tally_vulkan_scan_integer_of(tally_vulkan_arithmetic arithmetic);

/* The bytes of that sum in global memory (exact_prefixes.comp). */
unsigned tally_vulkan_prefix_bytes(tally_vulkan_arithmetic arithmetic);

/* Exact reductions: the numbers of a group, which are the sum of the elements for variances, and that of the elements
 * or of products. */
typedef struct tally_vulkan_numbers {
    int32_t sum_limbs, sum_lowest; /* limbs: 0 if there is no such number */
    int32_t limbs, lowest;
    unsigned least_team; /* the fewest threads that share a group */
} tally_vulkan_numbers;

/* The numbers of the element type, or of f32 for f16 and bf16. monoid is sum, dot or moments. */
tally_vulkan_numbers tally_vulkan_numbers_of(tally_monoid monoid, tally_dtype in);

/* Whether this is exact mode in floats, by levels (exact_levels.comp). */
bool tally_vulkan_is_by_levels(tally_vulkan_arithmetic arithmetic);

/* Whether this is an exact scan of values in a window (scan_in_window.comp). */
bool tally_vulkan_is_in_window(tally_vulkan_arithmetic arithmetic);

/* Whether either of these, which rely on the rounding of floats, is meant. */
bool tally_vulkan_relies_on_rounding(tally_vulkan_arithmetic arithmetic);

/* Vectors of 16 bytes that a thread has of a tile of scan_in_window.comp, and words of a sum. */
enum { TALLY_VULKAN_WINDOW_VECTORS = 4 };
unsigned tally_vulkan_window_words(tally_vulkan_arithmetic arithmetic);

#endif
