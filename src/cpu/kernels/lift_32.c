/* Elements lifted for scans whose results have few bits: integers to numbers of 32 bits that wrap, any to truth values.
 */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#define DEFINE_LIFTS(tag, magnitude)                                                                                   \
    static void product_of_##tag(const void *x, const void *y, size_t n, uint32_t *restrict to) {                      \
        const e_##tag *restrict a = x, *restrict b = y ? y : x;                                                        \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = (uint32_t)a[i] * (uint32_t)b[i];                                                                   \
    }                                                                                                                  \
    static void magnitude_of_##tag(const void *x, const void *y, size_t n, uint32_t *restrict to) {                    \
        const e_##tag *restrict a = x;                                                                                 \
        (void)y;                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint32_t v = (uint32_t)a[i];                                                                         \
            to[i] = magnitude;                                                                                         \
        }                                                                                                              \
    }
DEFINE_LIFTS(i8, (v >> 31 ? 0 - v : v))
DEFINE_LIFTS(i16, (v >> 31 ? 0 - v : v))
DEFINE_LIFTS(i32, (v >> 31 ? 0 - v : v))
DEFINE_LIFTS(u8, v)
DEFINE_LIFTS(u16, v)
DEFINE_LIFTS(u32, v)

extern tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type) {
    static tally_cpu_lift_32 *const products[TALLY_DTYPE_COUNT] = {
        [TALLY_I8] = product_of_i8, [TALLY_I16] = product_of_i16, [TALLY_I32] = product_of_i32,
        [TALLY_U8] = product_of_u8, [TALLY_U16] = product_of_u16, [TALLY_U32] = product_of_u32,
    };
    static tally_cpu_lift_32 *const magnitudes[TALLY_DTYPE_COUNT] = {
        [TALLY_I8] = magnitude_of_i8, [TALLY_I16] = magnitude_of_i16, [TALLY_I32] = magnitude_of_i32,
        [TALLY_U8] = magnitude_of_u8, [TALLY_U16] = magnitude_of_u16, [TALLY_U32] = magnitude_of_u32,
    };
    return monoid == TALLY_MONOID_sumsq || monoid == TALLY_MONOID_dot ? products[type]
           : monoid == TALLY_MONOID_sumabs                            ? magnitudes[type]
                                                                      : NULL;
}

#define DEFINE_TRUTHS(bits)                                                                                            \
    static void truths_##bits(const e_u##bits *restrict x, size_t n, s_u##bits mask, uint8_t *restrict to) {           \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = (x[i] & mask) != 0;                                                                                \
    }
DEFINE_TRUTHS(8)
DEFINE_TRUTHS(16)
DEFINE_TRUTHS(32)
DEFINE_TRUTHS(64)

tally_cpu_truths PASTE4(tally_cpu_truths, _, TALLY_LEVEL, );
void PASTE4(tally_cpu_truths, _, TALLY_LEVEL, )(const void *x, size_t n, size_t bytes, uint64_t bits, uint8_t *to) {
    switch (bytes) {
    case 1:
        truths_8(x, n, (uint8_t)bits, to);
        return;
    case 2:
        truths_16(x, n, (uint16_t)bits, to);
        return;
    case 4:
        truths_32(x, n, (uint32_t)bits, to);
        return;
    default:
        truths_64(x, n, bits, to);
    }
}
