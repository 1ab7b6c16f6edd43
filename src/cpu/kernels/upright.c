/* Short groups stood upright, each in a column, so that many are folded at once by the kernels of columns. One call for
 * each group would take longer than the group; so would a scan with marks (Blelloch, 1990): 24000 i32 in groups of 6
 * took 0.7 ns an element. */
#include <string.h>

#include "cpu/interleave.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

/* Groups of a few elements: each row is gathered. gather_BITS(x, first, k) gives the 32 or 64 bits that begin with
 * x[first[r] + k], for W groups, and NARROWED_BITS the lowest BITS of each after a shift. Up to FEW_BITS rows are made
 * so where the processor can. (AVX-512, ns an element of groups of uniform lengths, turned and gathered: largest of i32
 * up to 2.6 elements 2.58 and 1.65, up to 5.6 1.24 and 1.26, up to 7.8 1.00 and 1.16; of i64 up to 3.8 1.91 and 1.81.)
 */
#if defined(__AVX512BW__) && defined(__AVX512VL__)
enum { FEW_8 = 4, FEW_16 = 2, FEW_32 = 6, FEW_64 = 4 };
typedef __m512i gathered_8, gathered_32, gathered_64;
typedef __m256i gathered_16;
ALWAYS_INLINE __m512i places_at(const uint64_t *first, size_t k) {
    return _mm512_add_epi64(_mm512_loadu_si512(first), _mm512_set1_epi64((long long)k));
}
#define HALF_GATHER(x, first, k, bytes) _mm512_i64gather_epi32(places_at(first, k), (const void *)(x), bytes)
#define GATHER_16(x, first, k, bytes)                                                                                  \
    _mm512_inserti64x4(_mm512_castsi256_si512(HALF_GATHER(x, first, k, bytes)), HALF_GATHER(x, (first) + 8, k, bytes), \
                       1)
ALWAYS_INLINE __m512i gather_8(const void *x, const uint64_t *first, size_t k) {
    return GATHER_16(x, first, k, 1);
}
ALWAYS_INLINE __m256i gather_16(const void *x, const uint64_t *first, size_t k) {
    return HALF_GATHER(x, first, k, 2);
}
ALWAYS_INLINE __m512i gather_32(const void *x, const uint64_t *first, size_t k) {
    return GATHER_16(x, first, k, 4);
}
ALWAYS_INLINE __m512i gather_64(const void *x, const uint64_t *first, size_t k) {
    return _mm512_i64gather_epi64(places_at(first, k), x, 8);
}
#define NARROWED_8(x, down)  _mm512_cvtepi32_epi8(_mm512_srli_epi32(x, down))
#define NARROWED_16(x, down) _mm256_cvtepi32_epi16(_mm256_srli_epi32(x, down))
#define NARROWED_32(x, down) (x)
#define NARROWED_64(x, down) (x)
#else
enum { FEW_8 = 0, FEW_16 = 0, FEW_32 = 0, FEW_64 = 0 };
typedef int gathered_8, gathered_16, gathered_32, gathered_64;
ALWAYS_INLINE int gather_nothing(const void *x, const uint64_t *first, size_t k) {
    (void)x, (void)first, (void)k;
    return 0;
}
#define gather_8             gather_nothing
#define gather_16            gather_nothing
#define gather_32            gather_nothing
#define gather_64            gather_nothing
#define NARROWED_8(x, down)  v[k]
#define NARROWED_16(x, down) v[k]
#define NARROWED_32(x, down) v[k]
#define NARROWED_64(x, down) v[k]
#endif

/* Blocks of W groups by W elements. The vector that begins with a group's element is read whole, and after the blocks
 * are turned, a row takes what belongs to its groups. Near the end of the input elements are read one by one. */
#define DEFINE_STAND_(bits, W)                                                                                         \
    typedef uint##bits##_t element_##bits __attribute__((may_alias, aligned(1)));                                      \
    typedef uint##bits##_t vector_##bits __attribute__((vector_size(W * bits / 8)));                                   \
    typedef int##bits##_t lengths_##bits __attribute__((vector_size(W * bits / 8)));                                   \
    typedef uint32_t measured_##bits __attribute__((vector_size(W * 4)));                                              \
    enum { COLUMNS_##bits = TALLY_CPU_UPRIGHT_BYTES * 8 / bits };                                                      \
                                                                                                                       \
    ALWAYS_INLINE void read_last_##bits(const element_##bits *x, uint64_t elements, const uint64_t *first, size_t k,   \
                                        vector_##bits *v) {                                                            \
        for (size_t r = 0; r < W; r++) {                                                                               \
            uint##bits##_t own[W] = {0};                                                                               \
            for (size_t l = 0; l < W && first[r] + k + l < elements; l++)                                              \
                own[l] = x[first[r] + k + l];                                                                          \
            memcpy(&v[r], own, sizeof own);                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    ALWAYS_INLINE void transpose_##bits(vector_##bits *v) {                                                            \
        vector_##bits w[W];                                                                                            \
        TRANSPOSE(vector_##bits, W, v, w)                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    /* What belongs to the groups, and elsewhere what fills their columns. */                                          \
    ALWAYS_INLINE void put_row_##bits(vector_##bits v, lengths_##bits belongs, vector_##bits fill,                     \
                                      element_##bits *to) {                                                            \
        v = (v & (vector_##bits)belongs) | (fill & ~(vector_##bits)belongs);                                           \
        memcpy(to, &v, sizeof v);                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    /* v[k] = row k, for k < rows */                                                                                   \
    ALWAYS_INLINE void gather_rows_##bits(const element_##bits *x, const uint64_t *first, size_t rows,                 \
                                          vector_##bits *v) {                                                          \
        enum { AT_ONCE = bits < 32 ? 32 / bits : 1 };                                                                  \
        for (size_t k = 0; k < rows; k += AT_ONCE) {                                                                   \
            const gathered_##bits some = gather_##bits(x, first, k);                                                   \
            (void)some;                                                                                                \
            UNROLL_8 for (size_t j = 0; j < AT_ONCE; j++) v[k + j] =                                                   \
                (vector_##bits)NARROWED_##bits(some, (unsigned)j * bits);                                              \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void stand_##bits(const void *source, uint64_t elements, const uint64_t *offsets, const uint32_t *lengths,  \
                             size_t count, size_t rows, const void *pad, void *target) {                               \
        const element_##bits *x = source;                                                                              \
        for (size_t i = 0; i < count; i += W) {                                                                        \
            element_##bits *to = (element_##bits *)target + i;                                                         \
            uint64_t last_first[W];                                                                                    \
            uint32_t last_length[W] = {0}, longest = 0;                                                                \
            const uint64_t *first = offsets + i;                                                                       \
            const uint32_t *length = lengths + i;                                                                      \
            if (i + W > count) {                                                                                       \
                for (size_t r = 0; r < W; r++)                                                                         \
                    last_first[r] = offsets[i + r < count ? i + r : count];                                            \
                memcpy(last_length, length, (count - i) * sizeof *length);                                             \
                first = last_first, length = last_length;                                                              \
            }                                                                                                          \
            measured_##bits measured;                                                                                  \
            memcpy(&measured, length, sizeof measured);                                                                \
            const lengths_##bits own = __builtin_convertvector(measured, lengths_##bits);                              \
            for (size_t r = 0; r < W; r++)                                                                             \
                longest = length[r] > longest ? length[r] : longest;                                                   \
            vector_##bits v[W], fill = {0};                                                                            \
            if (pad)                                                                                                   \
                fill += *(const element_##bits *)pad;                                                                  \
            if (FEW_##bits > 0 && longest <= FEW_##bits && first[W - 1] + FEW_##bits + 4 <= elements) {                \
                const size_t own_rows = longest ? longest : 1;                                                         \
                gather_rows_##bits(x, first, own_rows, v);                                                             \
                fill = pad ? fill : v[0];                                                                              \
                for (size_t k = 0; k < rows; k++, to += COLUMNS_##bits) {                                              \
                    const lengths_##bits belongs = own > (int##bits##_t)k;                                             \
                    put_row_##bits(v[k < own_rows ? k : 0], belongs, fill, to);                                        \
                }                                                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            for (size_t k = 0; k < rows; k += W, to += W * COLUMNS_##bits) {                                           \
                if (k >= longest && k > 0) {                                                                           \
                    UNROLL_16 for (size_t r = 0; r < W; r++) memcpy(to + r * COLUMNS_##bits, &fill, sizeof fill);      \
                    continue;                                                                                          \
                }                                                                                                      \
                if (first[W - 1] + k + W <= elements) {                                                                \
                    UNROLL_16 for (size_t r = 0; r < W; r++) memcpy(&v[r], x + first[r] + k, sizeof v[r]);             \
                } else {                                                                                               \
                    read_last_##bits(x, elements, first, k, v);                                                        \
                }                                                                                                      \
                transpose_##bits(v);                                                                                   \
                if (!pad && k == 0)                                                                                    \
                    fill = v[0];                                                                                       \
                UNROLL_16 for (size_t r = 0; r < W / 2; r++)                                                           \
                    put_row_##bits(v[r], own > (int##bits##_t)(k + r), fill, to + r * COLUMNS_##bits);                 \
                if (k + W / 2 >= rows)                                                                                 \
                    break;                                                                                             \
                UNROLL_16 for (size_t r = W / 2; r < W; r++)                                                           \
                    put_row_##bits(v[r], own > (int##bits##_t)(k + r), fill, to + r * COLUMNS_##bits);                 \
            }                                                                                                          \
        }                                                                                                              \
    }
#define DEFINE_STAND(bits, W) DEFINE_STAND_(bits, W)
#if VECTOR_BYTES == 64
#define LANES_32 16
#define LANES_64 8
#elif VECTOR_BYTES == 32
#define LANES_32 8
#define LANES_64 4
#else
#define LANES_32 4
#define LANES_64 2
#endif
DEFINE_STAND(8, 16)
DEFINE_STAND(16, 8)
DEFINE_STAND(32, LANES_32)
DEFINE_STAND(64, LANES_64)

/* Loops that the compiler makes vectors of. */
static tally_cpu_lengths measure(const uint64_t *restrict offsets, size_t count, uint32_t *restrict lengths) {
    uint32_t longest = 0, empty = 0;
    uint64_t is_long = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = offsets[i + 1] - offsets[i], fits = length <= TALLY_CPU_UPRIGHT_ROWS;
        lengths[i] = (uint32_t)(length & -fits);
        is_long |= fits ^ 1;
    }
    for (size_t i = 0; i < count; i++) {
        longest = lengths[i] > longest ? lengths[i] : longest;
        empty |= lengths[i] == 0;
    }
    return (tally_cpu_lengths){longest, empty, is_long};
}

extern const tally_cpu_upright PASTE4(tally_cpu_upright, _, TALLY_LEVEL, );
const tally_cpu_upright PASTE4(tally_cpu_upright, _, TALLY_LEVEL, ) = {measure,
                                                                       {stand_8, stand_16, stand_32, stand_64}};
