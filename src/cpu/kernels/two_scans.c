/* What turns two scans of numbers into a scan of pairs: minmax is a minimum and a maximum side by side, and argmin is a
 * minimum and the place where it last changed. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* interleave, changes and equals of kernels.h by the elements' type: integers are only compared for equality, so their
 * sign does not count. */
#define IS_NAN(v)    ((v) != (v))
#define IS_NO_NAN(v) 0
#define DEFINE_FOR_TYPE(tag, IS_NAN)                                                                                   \
    static void interleave_##tag(const void *first, const void *second, size_t n, void *target) {                      \
        const e_##tag *restrict a = first, *restrict b = second;                                                       \
        e_##tag *restrict to = target;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            to[2 * i] = a[i];                                                                                          \
            to[2 * i + 1] = b[i];                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void changes_##tag(const void *before, const void *after, const uint64_t *restrict numbers, size_t n,       \
                              int64_t *restrict places) {                                                              \
        const e_##tag *restrict a = before, *restrict b = after;                                                       \
        for (size_t i = 0; i < n; i++)                                                                                 \
            places[i] = ((a[i] != b[i]) & !IS_NAN(a[i])) ? (int64_t)numbers[i] : -1;                                   \
    }                                                                                                                  \
    static void equals_##tag(const void *x, const void *after, const uint64_t *restrict numbers, size_t n,             \
                             int64_t *restrict places) {                                                               \
        const e_##tag *restrict a = x, *restrict b = after;                                                            \
        for (size_t i = 0; i < n; i++)                                                                                 \
            places[i] = ((a[i] == b[i]) | (IS_NAN(a[i]) & IS_NAN(b[i]))) ? (int64_t)numbers[i] : INT64_MAX;            \
    }
DEFINE_FOR_TYPE(i32, IS_NO_NAN)
DEFINE_FOR_TYPE(i64, IS_NO_NAN)
DEFINE_FOR_TYPE(f32, IS_NAN)
DEFINE_FOR_TYPE(f64, IS_NAN)

extern const tally_cpu_pairs PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
#define ENTRY(tag)                                                                                                     \
    { interleave_##tag, changes_##tag, equals_##tag }
const tally_cpu_pairs PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I32] = ENTRY(i32), [TALLY_U32] = ENTRY(i32), [TALLY_I64] = ENTRY(i64),
    [TALLY_U64] = ENTRY(i64), [TALLY_F32] = ENTRY(f32), [TALLY_F64] = ENTRY(f64),
};
