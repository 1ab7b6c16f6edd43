/* Whether a vector changes a running extreme: any_smaller_TAG(x, running) and any_larger_TAG say whether any lane of x
 * comes before (after) the running value's, or is NaN, or that is NaN. It is one comparison where there is one. */
#ifndef TALLY_CPU_SETTLED_H
#define TALLY_CPU_SETTLED_H

#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)
#define DEFINE_ANY_INTEGER(tag, suffix)                                                                                \
    ALWAYS_INLINE bool any_smaller_##tag(v_##tag x, v_##tag running) {                                                 \
        return _mm512_cmplt_##suffix##_mask((__m512i)x, (__m512i)running) != 0;                                        \
    }                                                                                                                  \
    ALWAYS_INLINE bool any_larger_##tag(v_##tag x, v_##tag running) {                                                  \
        return _mm512_cmpgt_##suffix##_mask((__m512i)x, (__m512i)running) != 0;                                        \
    }
#define DEFINE_ANY_FLOAT(tag, suffix)                                                                                  \
    ALWAYS_INLINE bool any_smaller_##tag(v_##tag x, v_##tag running) {                                                 \
        return _mm512_cmp_##suffix##_mask(x, running, _CMP_NGE_UQ) != 0;                                               \
    }                                                                                                                  \
    ALWAYS_INLINE bool any_larger_##tag(v_##tag x, v_##tag running) {                                                  \
        return _mm512_cmp_##suffix##_mask(x, running, _CMP_NLE_UQ) != 0;                                               \
    }
#else
#define DEFINE_ANY_INTEGER(tag, suffix)                                                                                \
    ALWAYS_INLINE bool any_smaller_##tag(v_##tag x, v_##tag running) {                                                 \
        return any_bit((v_u64)(min_##tag(x, running) ^ running));                                                      \
    }                                                                                                                  \
    ALWAYS_INLINE bool any_larger_##tag(v_##tag x, v_##tag running) {                                                  \
        return any_bit((v_u64)(max_##tag(x, running) ^ running));                                                      \
    }
#define DEFINE_ANY_FLOAT(tag, suffix)                                                                                  \
    ALWAYS_INLINE bool any_smaller_##tag(v_##tag x, v_##tag running) {                                                 \
        return any_bit(~(v_u64)(x >= running));                                                                        \
    }                                                                                                                  \
    ALWAYS_INLINE bool any_larger_##tag(v_##tag x, v_##tag running) {                                                  \
        return any_bit(~(v_u64)(x <= running));                                                                        \
    }
#endif
DEFINE_ANY_INTEGER(u8, epu8)
DEFINE_ANY_INTEGER(u16, epu16)
DEFINE_ANY_INTEGER(i32, epi32)
DEFINE_ANY_INTEGER(u32, epu32)
DEFINE_ANY_INTEGER(i64, epi64)
DEFINE_ANY_INTEGER(u64, epu64)
DEFINE_ANY_FLOAT(f32, ps)
DEFINE_ANY_FLOAT(f64, pd)

#endif
