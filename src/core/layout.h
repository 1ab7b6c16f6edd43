/* The layouts of exact sums: which bits an exact sum of elements of a type needs. superaccumulator.h computes with
 * them, and words.h counts digits by them. */
#ifndef TALLY_CORE_LAYOUT_H
#define TALLY_CORE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "tally/tally.h"

/* The range of a state: bit 0 of limb 0 is the smallest unit in the last place of a summand, and there is room for 2^64
 * of the largest summands. The layouts differ in nothing else. f16 and bf16 use those of f32. */
typedef enum tally_exact_layout {
    TALLY_LAYOUT_SUM_F32,     /* bit 0 is 2^-149 */
    TALLY_LAYOUT_SUM_F64,     /* bit 0 is 2^-1074 */
    TALLY_LAYOUT_PRODUCT_F32, /* bit 0 is 2^-298 */
    TALLY_LAYOUT_PRODUCT_F64, /* bit 0 is 2^-2148 */
    TALLY_LAYOUT_COUNT
} tally_exact_layout;

/* The layout with products for a layout of sums. */
static inline tally_exact_layout tally_exact_layout_with(tally_exact_layout layout, bool products) {
    return products && layout == TALLY_LAYOUT_SUM_F64   ? TALLY_LAYOUT_PRODUCT_F64
           : products && layout == TALLY_LAYOUT_SUM_F32 ? TALLY_LAYOUT_PRODUCT_F32
                                                        : layout;
}

/* The layout for elements of type 'in' (f16, bf16, f32 or f64), or for products of two of them. */
static inline tally_exact_layout tally_exact_layout_of(tally_dtype in, bool products) {
    if (in == TALLY_F64)
        return products ? TALLY_LAYOUT_PRODUCT_F64 : TALLY_LAYOUT_SUM_F64;
    return products ? TALLY_LAYOUT_PRODUCT_F32 : TALLY_LAYOUT_SUM_F32;
}

/* The range of a layout's summands: multiples of 2^lowest, less than 2^highest. */
int32_t tally_layout_lowest(tally_exact_layout layout);
int32_t tally_layout_highest(tally_exact_layout layout);
int32_t tally_layout_limbs(tally_exact_layout layout);

#endif
