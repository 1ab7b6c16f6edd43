#include "core/layout.h"

/* limbs * 32 >= highest - lowest + 64, with a limb to spare for the third one that a deposit touches. */
static const struct {
    int32_t lowest, highest, limbs;
} layouts[TALLY_LAYOUT_COUNT] = {
    [TALLY_LAYOUT_SUM_F32] = {-149, 128, 11},
    [TALLY_LAYOUT_SUM_F64] = {-1074, 1024, 70},
    [TALLY_LAYOUT_PRODUCT_F32] = {-298, 256, 21},
    [TALLY_LAYOUT_PRODUCT_F64] = {-2148, 2048, 136},
};

int32_t tally_layout_lowest(tally_exact_layout layout) {
    return layouts[layout].lowest;
}

int32_t tally_layout_highest(tally_exact_layout layout) {
    return layouts[layout].highest;
}

int32_t tally_layout_limbs(tally_exact_layout layout) {
    return layouts[layout].limbs;
}
