/* Short groups stood upright, each in a column, so that many are folded at once by the kernels of columns. One call for
 * each group would take longer than the group; so would a scan with marks (Blelloch, 1990): 24000 i32 in groups of 6
 * took 0.7 ns an element. */
#include <string.h>

#include "cpu/interleave.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#define ONES_16  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
#define ZEROS_16 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
static const int8_t ones_then_zeros[128] = {ONES_16, ONES_16, ONES_16, ONES_16, ZEROS_16, ZEROS_16, ZEROS_16, ZEROS_16};

/* Blocks of W groups by W elements. A group's vector is read whole, and a mask takes what belongs to it; near the end
 * of the input elements are read one by one. */
#define DEFINE_STAND_(bits, W)                                                                                         \
    typedef uint##bits##_t element_##bits __attribute__((may_alias, aligned(1)));                                      \
    typedef uint##bits##_t vector_##bits __attribute__((vector_size(W * bits / 8)));                                   \
    enum { COLUMNS_##bits = TALLY_CPU_UPRIGHT_BYTES * 8 / bits };                                                      \
                                                                                                                       \
    ALWAYS_INLINE vector_##bits read_##bits(const element_##bits *x, size_t zeros, vector_##bits fill) {               \
        vector_##bits v, mask;                                                                                         \
        memcpy(&v, x, sizeof v);                                                                                       \
        memcpy(&mask, ones_then_zeros + zeros, sizeof mask);                                                           \
        return (v & mask) | (fill & ~mask);                                                                            \
    }                                                                                                                  \
                                                                                                                       \
    ALWAYS_INLINE void transpose_##bits(vector_##bits *v) {                                                            \
        vector_##bits w[W];                                                                                            \
        TRANSPOSE(vector_##bits, W, v, w)                                                                              \
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
            uint##bits##_t fill[W];                                                                                    \
            for (size_t r = 0; r < W; r++)                                                                             \
                longest = length[r] > longest ? length[r] : longest;                                                   \
            for (size_t r = 0; r < W; r++)                                                                             \
                fill[r] = pad ? *(const element_##bits *)pad : length[r] ? x[first[r]] : 0;                            \
            for (size_t k = 0; k < rows; k += W, to += W * COLUMNS_##bits) {                                           \
                vector_##bits v[W];                                                                                    \
                uint32_t left[W], zeros[W];                                                                            \
                if (k >= longest) {                                                                                    \
                    memcpy(v, fill, sizeof v[0]);                                                                      \
                    for (size_t r = 0; r < W; r++)                                                                     \
                        memcpy(to + r * COLUMNS_##bits, v, sizeof v[0]);                                               \
                    continue;                                                                                          \
                }                                                                                                      \
                for (size_t r = 0; r < W; r++) {                                                                       \
                    left[r] = length[r] > k ? length[r] - (uint32_t)k : 0;                                             \
                    left[r] = left[r] < W ? left[r] : W;                                                               \
                    zeros[r] = (uint32_t)sizeof(ones_then_zeros) / 2 - left[r] * (bits / 8);                           \
                }                                                                                                      \
                if (first[W - 1] + k + W <= elements) {                                                                \
                    UNROLL_16 for (size_t r = 0; r < W; r++) v[r] =                                                    \
                        read_##bits(x + first[r] + k, zeros[r], fill[r] - (vector_##bits){0});                         \
                } else {                                                                                               \
                    for (size_t r = 0; r < W; r++)                                                                     \
                        for (size_t l = 0; l < W; l++)                                                                 \
                            v[r][l] = l < left[r] ? x[first[r] + k + l] : fill[r];                                     \
                }                                                                                                      \
                transpose_##bits(v);                                                                                   \
                UNROLL_16 for (size_t r = 0; r < W; r++) memcpy(to + r * COLUMNS_##bits, &v[r], sizeof v[r]);          \
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

static tally_cpu_lengths measure(const uint64_t *offsets, size_t count, uint32_t *lengths) {
    uint32_t longest = 0, empty = 0, is_long = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = offsets[i + 1] - offsets[i];
        lengths[i] = length <= TALLY_CPU_UPRIGHT_ROWS ? (uint32_t)length : 0;
        longest = lengths[i] > longest ? lengths[i] : longest;
        empty |= lengths[i] == 0;
        is_long |= length > TALLY_CPU_UPRIGHT_ROWS;
    }
    return (tally_cpu_lengths){longest, empty, is_long};
}

extern const tally_cpu_upright PASTE4(tally_cpu_upright, _, TALLY_LEVEL, );
const tally_cpu_upright PASTE4(tally_cpu_upright, _, TALLY_LEVEL, ) = {measure,
                                                                       {stand_8, stand_16, stand_32, stand_64}};
