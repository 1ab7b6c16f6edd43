/* The GLSL text of kernels: the vocabulary, the types and functions that the operator table gives for one monoid in one
 * arithmetic, and all kernels. Used when the library is built, for the table's own monoids, and at run time for a
 * user's. */
#ifndef TALLY_VULKAN_SPECIALIZE_H
#define TALLY_VULKAN_SPECIALIZE_H

#include "exact/superaccumulator.h"
#include "gpu/expressions.h"
#include "gpu/text.h"

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

/* The kernels of a module: entry points of the same names in lower case. */
typedef enum tally_vulkan_kernel {
    TALLY_VULKAN_REDUCE,
    TALLY_VULKAN_SHORT_ROWS,
    TALLY_VULKAN_SLABS, /* not of users' operators */
    TALLY_VULKAN_SPINE,
    TALLY_VULKAN_SCAN_ROWS,
    TALLY_VULKAN_SCAN_ONCE, /* for monoids of tally_vulkan_scans_once */
    TALLY_VULKAN_SCAN_COLUMNS,
    TALLY_VULKAN_FOLD_GROUPS,
    TALLY_VULKAN_SPINE_OF_GROUPS,
    TALLY_VULKAN_GIVE_GROUPS,
    TALLY_VULKAN_GIVE_RUNS,
    TALLY_VULKAN_SHORT_SEGMENTS,
    TALLY_VULKAN_TILED_SEGMENTS,
    TALLY_VULKAN_OPEN_SEGMENTS,
    TALLY_VULKAN_CLOSE_SEGMENTS,
    TALLY_VULKAN_CLEAR_CONTROL, /* from here on the same for every monoid */
    TALLY_VULKAN_CLEAR_TILES,
    TALLY_VULKAN_INSPECT_SEGMENTS,
    TALLY_VULKAN_REPORT,
    TALLY_VULKAN_COUNT_DIGITS, /* from here on of the module of services alone */
    TALLY_VULKAN_PLACE_DIGITS,
    TALLY_VULKAN_SORT_BY_DIGIT,
    TALLY_VULKAN_PACK_SORTED,
    TALLY_VULKAN_FIND_GROUPS,
    TALLY_VULKAN_FIND_INDICES,
    TALLY_VULKAN_EXACT_ROWS, /* from here on of modules for exact mode */
    TALLY_VULKAN_EXACT_MERGE,
    TALLY_VULKAN_EXACT_SEGMENTS,
    TALLY_VULKAN_EXACT_PIECES,
    TALLY_VULKAN_EXACT_JOIN,
    TALLY_VULKAN_COUNT_HEADS,
    TALLY_VULKAN_RANK_HEADS,
    TALLY_VULKAN_EXACT_RUNS,
    TALLY_VULKAN_SUM_CHUNKS, /* from here on of modules for exact scans */
    TALLY_VULKAN_SCAN_SUMS,
    TALLY_VULKAN_GIVE_PREFIXES,
    TALLY_VULKAN_FIND_WINDOW, /* from here on of modules for exact scans in a window */
    TALLY_VULKAN_MARK_HEADS,
    TALLY_VULKAN_CHECK_WINDOW,
    TALLY_VULKAN_SCAN_IN_WINDOW,
    TALLY_VULKAN_KERNEL_COUNT
} tally_vulkan_kernel;

/* The module from which kernels that do not depend on the monoid are made. */
#define TALLY_VULKAN_SERVICE_MONOID     TALLY_MONOID_max
#define TALLY_VULKAN_SERVICE_ARITHMETIC TALLY_VULKAN_u32

extern const char *const tally_vulkan_kernel_names[TALLY_VULKAN_KERNEL_COUNT];
extern const char *const tally_vulkan_arithmetic_names[TALLY_VULKAN_ARITHMETIC_COUNT];

/* An accumulator as GLSL's std430 layout has it. */
typedef struct tally_vulkan_slot {
    unsigned bytes, alignment;
} tally_vulkan_slot;
tally_vulkan_slot tally_vulkan_slot_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* What follows "a" in the name of an accumulator's component k. */
const char *tally_vulkan_digit_of(const tally_monoid_text *monoid, int k);

/* Monoids that choose among elements compare floats by integers in their order, with no rounding and few instructions.
 */
bool tally_vulkan_is_ordered(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Accumulators of a tile in shared memory, a thread: each of a vector of 16 bytes. */
unsigned tally_vulkan_tile_slots(tally_vulkan_slot slot);

/* Vectors that a thread has of a tile of scan_rows.comp and groups.comp. */
unsigned tally_vulkan_tile_vectors(tally_vulkan_slot slot, unsigned in_bytes);

/* Neighbouring elements that a thread of runs.comp takes. */
unsigned tally_vulkan_run_items(tally_vulkan_slot slot);

/* Whether a module has scan_once.comp: accumulators are one number of 4 or 8 bytes, elements come from one array. */
bool tally_vulkan_scans_once(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Vectors of 16 bytes that a thread has of a tile there. */
unsigned tally_vulkan_once_vectors(tally_vulkan_slot slot);

/* The record of a chunk in groups.comp. */
unsigned tally_vulkan_record_bytes(tally_vulkan_slot slot);

/* Whether the arithmetic or the monoid's accumulators need doubles. */
bool tally_vulkan_has_double(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Whether values or accumulators are integers of 64 bits. */
bool tally_vulkan_has_int64(tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* Exact scans: the bytes of a sum in global memory (exact_prefixes.comp). */
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

/* Whether this is exact mode that relies on the rounding of floats. */
bool tally_vulkan_relies_on_rounding(tally_vulkan_arithmetic arithmetic);

/* Vectors of 16 bytes that a thread has of a tile of scan_in_window.comp, and words of a sum. */
enum { TALLY_VULKAN_WINDOW_VECTORS = 4 };
unsigned tally_vulkan_window_words(tally_vulkan_arithmetic arithmetic);

/* text->failed says whether there was too little memory. */
void tally_vulkan_specialize(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* The same of a user's operator: 'functions' are acc_t, identity, lift, combine and lower (translate.h). */
void tally_vulkan_specialize_user(tally_text *text, const char *functions, tally_vulkan_slot slot,
                                  tally_vulkan_arithmetic arithmetic, bool has_double, bool commutes);

#endif
