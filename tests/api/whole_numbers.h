/* Random elements for tests that compare one way to compute with another, bit for bit. */
#ifndef TALLY_TEST_WHOLE_NUMBERS_H
#define TALLY_TEST_WHOLE_NUMBERS_H

#include "support.h"

static uint64_t state_of_random = 1;

static uint64_t random_below(uint64_t n) {
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state_of_random >> 33) % n;
}

/* Small whole numbers, of which no operator's result is rounded but those of divisions and roots; some are not numbers.
 */
static void fill(tally_dtype type, size_t n, unsigned char *x) {
    for (size_t i = 0; i < n; i++) {
        const int64_t value = (int64_t)random_below(5) -
                              (type == TALLY_U8 || type == TALLY_U16 || type == TALLY_U32 || type == TALLY_U64 ? 0 : 2);
        const bool is_nan = random_below(40) == 0;
        const float f = is_nan ? __builtin_nanf("") : (float)value;
        const double d = (double)f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        static const uint16_t halves[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
        const uint16_t half = is_nan ? 0x7e00 : halves[value + 2 > 4 ? 4 : value + 2], bfloat = (uint16_t)(bits >> 16);
        switch (tally_dtype_size(type)) {
        case 1:
            x[i] = (unsigned char)value;
            break;
        case 2:
            memcpy(x + 2 * i,
                   type == TALLY_F16    ? &half
                   : type == TALLY_BF16 ? &bfloat
                                        : &(uint16_t){(uint16_t)value},
                   2);
            break;
        case 4:
            memcpy(x + 4 * i, type == TALLY_F32 ? (const void *)&f : &(uint32_t){(uint32_t)value}, 4);
            break;
        default:
            memcpy(x + 8 * i, type == TALLY_F64 ? (const void *)&d : &(uint64_t){(uint64_t)value}, 8);
        }
    }
}

/* Sums of rounded terms may depend on their order. */
static bool rounds_terms(tally_op op) {
    return op == TALLY_VAR || op == TALLY_STD || op == TALLY_LOGSUMEXP || op == TALLY_SKEWNESS ||
           op == TALLY_KURTOSIS || op == TALLY_USER;
}

#endif
