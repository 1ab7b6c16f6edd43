/* What turns two scans of numbers into a scan of pairs: minmax is a minimum and a maximum side by side, and argmin is a
 * minimum and the place where it last changed. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
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

/* Extremes hardly ever change, so most blocks are filled. Bits that are the same are values that are. */
enum { BLOCK = 16 };
#define DEFINE_FOLLOW(tag, bits, IS_NAN)                                                                               \
    ALWAYS_INLINE int64_t follow_some_##tag(const e_##tag *restrict a, const e_##tag *restrict b, size_t n,            \
                                            uint64_t first, int64_t place, e_i64 *restrict places) {                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            places[i] = place = ((a[i] != b[i]) & !IS_NAN(a[i])) ? (int64_t)(first + i) : place;                       \
        return place;                                                                                                  \
    }                                                                                                                  \
    static int64_t follow_##tag(const void *before, const void *after, size_t n, uint64_t first, int64_t place,        \
                                void *to) {                                                                            \
        const e_##tag *restrict a = before, *restrict b = after;                                                       \
        e_i64 *restrict places = to;                                                                                   \
        size_t i = 0;                                                                                                  \
        place = place < 0 ? (int64_t)first : place;                                                                    \
        for (; i + BLOCK <= n; i += BLOCK) {                                                                           \
            const e_u##bits *p = (const e_u##bits *)(a + i), *q = (const e_u##bits *)(b + i);                          \
            s_u##bits changed = 0;                                                                                     \
            for (size_t l = 0; l < BLOCK; l++)                                                                         \
                changed |= p[l] ^ q[l];                                                                                \
            if (changed)                                                                                               \
                place = follow_some_##tag(a + i, b + i, BLOCK, first + i, place, places + i);                          \
            else                                                                                                       \
                for (size_t l = 0; l < BLOCK; l++)                                                                     \
                    places[i + l] = place;                                                                             \
        }                                                                                                              \
        return follow_some_##tag(a + i, b + i, n - i, first + i, place, places + i);                                   \
    }
DEFINE_FOLLOW(i32, 32, IS_NO_NAN)
DEFINE_FOLLOW(i64, 64, IS_NO_NAN)
DEFINE_FOLLOW(f32, 32, IS_NAN)
DEFINE_FOLLOW(f64, 64, IS_NAN)

extern tally_cpu_follow *const PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
tally_cpu_follow *const PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I32] = follow_i32, [TALLY_U32] = follow_i32, [TALLY_I64] = follow_i64,
    [TALLY_U64] = follow_i64, [TALLY_F32] = follow_f32, [TALLY_F64] = follow_f64,
};
