/* Elements lifted for scans whose results have few bits: integers to numbers of 32 bits that wrap, or of as many as
 * they have themselves, floats to f32, any to truth values. */
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#define DEFINE_LIFTS(tag, magnitude)                                                                                   \
    static void product_of_##tag(const void *x, const void *y, size_t n, void *lifted) {                               \
        const e_##tag *restrict a = x, *restrict b = y ? y : x;                                                        \
        uint32_t *restrict to = lifted;                                                                                \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = (uint32_t)a[i] * (uint32_t)b[i];                                                                   \
    }                                                                                                                  \
    static void magnitude_of_##tag(const void *x, const void *y, size_t n, void *lifted) {                             \
        const e_##tag *restrict a = x;                                                                                 \
        uint32_t *restrict to = lifted;                                                                                \
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

/* Products of floats of 16 bits are exact in f32. y is NULL for absolute values. */
#define DEFINE_LIFTS_OF_FLOATS(tag)                                                                                    \
    static void lift_##tag(const e_##tag *a, const e_##tag *b, size_t n, s_f32 *to) {                                  \
        enum { LANES = LANES_OF(s_f32) };                                                                              \
        e_##tag rest[2][LANES] = {{0}};                                                                                \
        for (size_t i = 0; i < n; i += LANES) {                                                                        \
            const size_t some = n - i < LANES ? n - i : (size_t)LANES;                                                 \
            const e_##tag *p = a + i, *q = b ? b + i : NULL;                                                           \
            if (some < LANES) {                                                                                        \
                p = memcpy(rest[0], p, some * sizeof *p);                                                              \
                q = q ? memcpy(rest[1], q, some * sizeof *q) : NULL;                                                   \
            }                                                                                                          \
            const v_f32 v = load_f32_from_##tag(p), lifted = q ? v * load_f32_from_##tag(q) : abs_f32(v);              \
            memcpy(to + i, &lifted, sizeof lifted);                                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void product_of_##tag(const void *x, const void *y, size_t n, void *to) {                                   \
        lift_##tag(x, y ? y : x, n, to);                                                                               \
    }                                                                                                                  \
    static void magnitude_of_##tag(const void *x, const void *y, size_t n, void *to) {                                 \
        (void)y;                                                                                                       \
        lift_##tag(x, NULL, n, to);                                                                                    \
    }
DEFINE_LIFTS_OF_FLOATS(f16)
DEFINE_LIFTS_OF_FLOATS(bf16)
DEFINE_LIFTS_OF_FLOATS(f32)

extern tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_32, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type) {
    static tally_cpu_lift_32 *const products[TALLY_DTYPE_COUNT] = {
        [TALLY_I8] = product_of_i8,   [TALLY_I16] = product_of_i16,   [TALLY_I32] = product_of_i32,
        [TALLY_U8] = product_of_u8,   [TALLY_U16] = product_of_u16,   [TALLY_U32] = product_of_u32,
        [TALLY_F16] = product_of_f16, [TALLY_BF16] = product_of_bf16, [TALLY_F32] = product_of_f32,
    };
    static tally_cpu_lift_32 *const magnitudes[TALLY_DTYPE_COUNT] = {
        [TALLY_I8] = magnitude_of_i8,   [TALLY_I16] = magnitude_of_i16,   [TALLY_I32] = magnitude_of_i32,
        [TALLY_U8] = magnitude_of_u8,   [TALLY_U16] = magnitude_of_u16,   [TALLY_U32] = magnitude_of_u32,
        [TALLY_F16] = magnitude_of_f16, [TALLY_BF16] = magnitude_of_bf16, [TALLY_F32] = magnitude_of_f32,
    };
    return monoid == TALLY_MONOID_sumsq || monoid == TALLY_MONOID_dot ? products[type]
           : monoid == TALLY_MONOID_sumabs                            ? magnitudes[type]
                                                                      : NULL;
}

/* To as many bits as integers of 1 and 2 bytes have, where results have no more: products, or magnitudes of signed ones
 * where there is no y. There is room for a vector behind 'to'. */
extern tally_cpu_lift_32 *PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type);
#if defined(__AVX2__)
#define DEFINE_NARROW_LIFTS(bits)                                                                                      \
    static void lift_to_##bits(const char *x, const char *y, size_t n, char *to) {                                     \
        for (size_t i = 0; i < n; i += VECTOR_BYTES) {                                                                 \
            const size_t some = n - i < VECTOR_BYTES ? n - i : VECTOR_BYTES;                                           \
            v_u##bits a, b;                                                                                            \
            load_bytes(x + i, some, &a);                                                                               \
            if (y)                                                                                                     \
                load_bytes(y + i, some, &b);                                                                           \
            a = y ? a * b : magnitudes_of_i##bits(a);                                                                  \
            memcpy(to + i, &a, sizeof a);                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void narrow_product_##bits(const void *x, const void *y, size_t n, void *to) {                              \
        lift_to_##bits(x, y ? y : x, n * sizeof(s_u##bits), to);                                                       \
    }                                                                                                                  \
    static void narrow_magnitude_##bits(const void *x, const void *y, size_t n, void *to) {                            \
        (void)y;                                                                                                       \
        lift_to_##bits(x, NULL, n * sizeof(s_u##bits), to);                                                            \
    }
ALWAYS_INLINE v_u8 magnitudes_of_i8(v_u8 x) {
    const v_u8 sign = (v_u8)((v_i8)x < 0);
    return (x ^ sign) - sign;
}
ALWAYS_INLINE v_u16 magnitudes_of_i16(v_u16 x) {
    const v_u16 sign = (v_u16)((v_i16)x >> 15);
    return (x ^ sign) - sign;
}
DEFINE_NARROW_LIFTS(8)
DEFINE_NARROW_LIFTS(16)

tally_cpu_lift_32 *PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type) {
    const bool in_8 = type == TALLY_I8 || type == TALLY_U8, in_16 = type == TALLY_I16 || type == TALLY_U16;
    if (monoid == TALLY_MONOID_sumsq || monoid == TALLY_MONOID_dot)
        return in_8 ? narrow_product_8 : in_16 ? narrow_product_16 : NULL;
    if (monoid != TALLY_MONOID_sumabs)
        return NULL;
    return type == TALLY_I8 ? narrow_magnitude_8 : type == TALLY_I16 ? narrow_magnitude_16 : NULL;
}
#else
tally_cpu_lift_32 *PASTE4(tally_cpu_lift_narrow, _, TALLY_LEVEL, )(tally_monoid monoid, tally_dtype type) {
    (void)monoid, (void)type;
    return NULL;
}
#endif

/* A vector at a time, where a comparison gives a bit for each lane. */
#if defined(__AVX512BW__)
#define TRUTHS_OF(bits, half, v, mask) _mm##half##_maskz_set1_epi8(_mm512_test_epi##bits##_mask(v, mask), 1)
#define TRUTHS_BY_VECTORS(bits, half, x, n, mask, to)                                                                  \
    const __m512i which = _mm512_set1_epi##bits((s_i##bits)mask);                                                      \
    for (; i + LANES_OF(s_u##bits) <= n; i += LANES_OF(s_u##bits)) {                                                   \
        const __auto_type truths = TRUTHS_OF(bits, half, _mm512_loadu_si512(x + i), which);                            \
        memcpy(to + i, &truths, LANES_OF(s_u##bits));                                                                  \
    }
#else
#define TRUTHS_BY_VECTORS(bits, half, x, n, mask, to)
#endif

#define DEFINE_TRUTHS(bits, half)                                                                                      \
    static void truths_##bits(const e_u##bits *restrict x, size_t n, s_u##bits mask, uint8_t *restrict to) {           \
        size_t i = 0;                                                                                                  \
        TRUTHS_BY_VECTORS(bits, half, x, n, mask, to)                                                                  \
        for (; i < n; i++)                                                                                             \
            to[i] = (x[i] & mask) != 0;                                                                                \
    }
DEFINE_TRUTHS(8, 512)
DEFINE_TRUTHS(16, 256)
DEFINE_TRUTHS(32, )
DEFINE_TRUTHS(64, )

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

#define DEFINE_MAGNITUDES(bits)                                                                                        \
    static void magnitudes_##bits(const e_u##bits *restrict x, size_t n, e_u##bits *restrict to) {                     \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = x[i] & (s_u##bits)((s_u##bits) - 1 >> 1);                                                          \
    }
DEFINE_MAGNITUDES(32)
DEFINE_MAGNITUDES(64)

tally_cpu_magnitudes PASTE4(tally_cpu_magnitudes, _, TALLY_LEVEL, );
void PASTE4(tally_cpu_magnitudes, _, TALLY_LEVEL, )(const void *x, size_t n, size_t bytes, void *to) {
    if (bytes == 4)
        magnitudes_32(x, n, to);
    else
        magnitudes_64(x, n, to);
}
