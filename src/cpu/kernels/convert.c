/* Conversions between element types, for results whose type is not the accumulator's. Integers go to every type,
 * wrapping as C's conversions do; floats go to floats only, rounded once. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#define DEFINE_CONVERT(from, to, EXPRESSION)                                                                           \
    static void convert_##from##_##to(const void *source, size_t n, void *target) {                                    \
        const e_##from *restrict in = source;                                                                          \
        e_##to *restrict out = target;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const s_##from v = in[i];                                                                                  \
            out[i] = (s_##to)(EXPRESSION);                                                                             \
        }                                                                                                              \
    }
#define DEFINE_TO_FLOATS(from)                                                                                         \
    DEFINE_CONVERT(from, f16, tally_f16_of_f64((double)v))                                                             \
    DEFINE_CONVERT(from, bf16, tally_bf16_of_f64((double)v))                                                           \
    DEFINE_CONVERT(from, f32, v)                                                                                       \
    DEFINE_CONVERT(from, f64, v)
#define DEFINE_TO_INTEGERS(from)                                                                                       \
    DEFINE_CONVERT(from, i8, v)                                                                                        \
    DEFINE_CONVERT(from, i16, v)                                                                                       \
    DEFINE_CONVERT(from, i32, v)                                                                                       \
    DEFINE_CONVERT(from, i64, v)                                                                                       \
    DEFINE_CONVERT(from, u8, v)                                                                                        \
    DEFINE_CONVERT(from, u16, v)                                                                                       \
    DEFINE_CONVERT(from, u32, v)                                                                                       \
    DEFINE_CONVERT(from, u64, v)
#define DEFINE_FROM_INTEGER(from)                                                                                      \
    DEFINE_TO_INTEGERS(from)                                                                                           \
    DEFINE_TO_FLOATS(from)
#define DEFINE_FROM_WIDE_INTEGER(from)                                                                                 \
    DEFINE_TO_INTEGERS(from)                                                                                           \
    DEFINE_CONVERT(from, f16, tally_f16_of_f64(exactly_enough_##from(v)))                                              \
    DEFINE_CONVERT(from, bf16, tally_bf16_of_f64(exactly_enough_##from(v)))                                            \
    DEFINE_CONVERT(from, f32, v)                                                                                       \
    DEFINE_CONVERT(from, f64, v)

/* A 64-bit integer as a double that rounds to 16 bits as the integer itself would. If bits are cut off, the lowest
 * remaining bit is set to say so. */
ALWAYS_INLINE double exactly_enough_u64(uint64_t v) {
    return v >> 53 ? (double)((v & ~(uint64_t)0x7ff) | ((v & 0x7ff) ? 0x800 : 0)) : (double)v;
}
ALWAYS_INLINE double exactly_enough_i64(int64_t v) {
    return v < 0 ? -exactly_enough_u64(-(uint64_t)v) : exactly_enough_u64((uint64_t)v);
}

DEFINE_FROM_INTEGER(i8)
DEFINE_FROM_INTEGER(i16)
DEFINE_FROM_INTEGER(i32)
DEFINE_FROM_WIDE_INTEGER(i64)
DEFINE_FROM_INTEGER(u8)
DEFINE_FROM_INTEGER(u16)
DEFINE_FROM_INTEGER(u32)
DEFINE_FROM_WIDE_INTEGER(u64)
DEFINE_TO_FLOATS(f32)
DEFINE_TO_FLOATS(f64)
DEFINE_CONVERT(f16, f32, tally_f32_of_f16(v))
DEFINE_CONVERT(f16, f64, tally_f32_of_f16(v))
DEFINE_CONVERT(bf16, f32, tally_f32_of_bf16(v))
DEFINE_CONVERT(bf16, f64, tally_f32_of_bf16(v))

#define FROM_INTEGER(from)                                                                                             \
    {                                                                                                                  \
        [TALLY_I8] = convert_##from##_i8, [TALLY_I16] = convert_##from##_i16, [TALLY_I32] = convert_##from##_i32,      \
        [TALLY_I64] = convert_##from##_i64, [TALLY_U8] = convert_##from##_u8, [TALLY_U16] = convert_##from##_u16,      \
        [TALLY_U32] = convert_##from##_u32, [TALLY_U64] = convert_##from##_u64, [TALLY_F16] = convert_##from##_f16,    \
        [TALLY_BF16] = convert_##from##_bf16, [TALLY_F32] = convert_##from##_f32, [TALLY_F64] = convert_##from##_f64   \
    }
#define FROM_FLOAT(from)                                                                                               \
    {                                                                                                                  \
        [TALLY_F16] = convert_##from##_f16, [TALLY_BF16] = convert_##from##_bf16, [TALLY_F32] = convert_##from##_f32,  \
        [TALLY_F64] = convert_##from##_f64                                                                             \
    }
#define FROM_HALF(from)                                                                                                \
    { [TALLY_F32] = convert_##from##_f32, [TALLY_F64] = convert_##from##_f64 }

extern tally_cpu_convert *const PASTE4(tally_cpu_converts, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT][TALLY_DTYPE_COUNT];
tally_cpu_convert *const PASTE4(tally_cpu_converts, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT][TALLY_DTYPE_COUNT] = {
    [TALLY_I8] = FROM_INTEGER(i8),   [TALLY_I16] = FROM_INTEGER(i16), [TALLY_I32] = FROM_INTEGER(i32),
    [TALLY_I64] = FROM_INTEGER(i64), [TALLY_U8] = FROM_INTEGER(u8),   [TALLY_U16] = FROM_INTEGER(u16),
    [TALLY_U32] = FROM_INTEGER(u32), [TALLY_U64] = FROM_INTEGER(u64), [TALLY_F32] = FROM_FLOAT(f32),
    [TALLY_F64] = FROM_FLOAT(f64),   [TALLY_F16] = FROM_HALF(f16),    [TALLY_BF16] = FROM_HALF(bf16),
};
