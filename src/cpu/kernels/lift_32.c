/* Elements of integers lifted to numbers of 32 bits that wrap, for scans whose results have no more. */
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
