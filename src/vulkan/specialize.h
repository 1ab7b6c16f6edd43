/* The GLSL text of kernels: the vocabulary, the types and functions that the operator table gives for one monoid in one
 * arithmetic, and all kernels. Used when the library is built, for the table's own monoids, and at run time for a
 * user's. */
#ifndef TALLY_VULKAN_SPECIALIZE_H
#define TALLY_VULKAN_SPECIALIZE_H

#include "gpu/text.h"
#include "vulkan/arithmetic.h"

/* The kernels of a module: entry points of the same names in lower case. */
typedef enum tally_vulkan_kernel {
    TALLY_VULKAN_REDUCE,
    TALLY_VULKAN_SHORT_ROWS,
    TALLY_VULKAN_SLABS, /* not of users' operators, as the three that follow */
    TALLY_VULKAN_TALL_SLABS,
    TALLY_VULKAN_FEW_ROWS,
    TALLY_VULKAN_NARROW_COLUMNS,
    TALLY_VULKAN_SPINE,
    TALLY_VULKAN_SCAN_ROWS,
    TALLY_VULKAN_SCAN_ONCE, /* for monoids of tally_vulkan_scans_once, as GROUPS_ONCE */
    TALLY_VULKAN_SCAN_COLUMNS,
    TALLY_VULKAN_SUM_COLUMNS,
    TALLY_VULKAN_FOLD_GROUPS,
    TALLY_VULKAN_SPINE_OF_GROUPS,
    TALLY_VULKAN_GROUPS_ONCE,
    TALLY_VULKAN_GIVE_GROUPS,
    TALLY_VULKAN_GIVE_ROWS,
    TALLY_VULKAN_GIVE_RUNS,
    TALLY_VULKAN_GIVE_LONG_RUNS,
    TALLY_VULKAN_SEGMENT_TILES, /* not of monoids with running values */
    TALLY_VULKAN_JOIN_TILES,
    TALLY_VULKAN_MOMENT_ROWS, /* of the module of running variances, which has these and fold_groups */
    TALLY_VULKAN_MOMENT_COLUMNS,
    TALLY_VULKAN_MOMENT_SLABS,
    TALLY_VULKAN_MOMENT_TALL,
    TALLY_VULKAN_MOMENT_GROUPS,
    TALLY_VULKAN_MOMENT_RUNS,
    TALLY_VULKAN_SHORT_SEGMENTS,
    TALLY_VULKAN_TILED_SEGMENTS,
    TALLY_VULKAN_LONG_SEGMENTS,
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

/* text->failed says whether there was too little memory. */
void tally_vulkan_specialize(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic);

/* The same of a user's operator: 'functions' are acc_t, identity, lift, combine and lower (translate.h). */
void tally_vulkan_specialize_user(tally_text *text, const char *functions, tally_vulkan_slot slot,
                                  tally_vulkan_arithmetic arithmetic, bool has_double, bool commutes);

#endif
