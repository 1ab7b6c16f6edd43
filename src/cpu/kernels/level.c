/* Collects the kernels of one instruction-set level. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"

#define TYPES(X)                                                                                                       \
    X(TALLY_I8, i8)                                                                                                    \
    X(TALLY_I16, i16)                                                                                                  \
    X(TALLY_I32, i32)                                                                                                  \
    X(TALLY_I64, i64)                                                                                                  \
    X(TALLY_U8, u8)                                                                                                    \
    X(TALLY_U16, u16)                                                                                                  \
    X(TALLY_U32, u32)                                                                                                  \
    X(TALLY_U64, u64)                                                                                                  \
    X(TALLY_F16, f16)                                                                                                  \
    X(TALLY_BF16, bf16)                                                                                                \
    X(TALLY_F32, f32)                                                                                                  \
    X(TALLY_F64, f64)

#define DECLARE(dtype, tag) extern const tally_cpu_type PASTE4(tally_cpu_type_, tag, _, TALLY_LEVEL);
TYPES(DECLARE)

extern tally_cpu_convert *const PASTE4(tally_cpu_converts, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT][TALLY_DTYPE_COUNT];

extern const tally_cpu_heads PASTE4(tally_cpu_heads, _, TALLY_LEVEL, )[4];

bool PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n);

#define TEXT_(x)          #x
#define TEXT(x)           TEXT_(x)
#define ENTRY(dtype, tag) [dtype] = &PASTE4(tally_cpu_type_, tag, _, TALLY_LEVEL),
const tally_cpu_level PASTE4(tally_cpu_level, _, TALLY_LEVEL, ) = {TEXT(TALLY_LEVEL),
                                                                   {TYPES(ENTRY)},
                                                                   PASTE4(tally_cpu_converts, _, TALLY_LEVEL, ),
                                                                   PASTE4(tally_cpu_heads, _, TALLY_LEVEL, ),
                                                                   PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, )};
