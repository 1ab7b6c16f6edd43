/* Sums of e^(x - m) over integers of any width, up to their largest m, without floating point: the distance m - x looks
 * up a number of 64 bits, as four of 16 bits that are summed apart. Twice as many lanes as of 32 bits share a look-up,
 * and sums are exact but for the 2^-64 of each number. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512BW__)

enum { WORDS = 64, TABLES = 4, LANES = LANES_OF(s_i16), FAR = WORDS - 1 };

/* 2^63 e^-d, the highest 16 bits first, each less 2^15, since they are summed as signed numbers. The last is 0. */
static const _Alignas(64) int16_t shares[TABLES][WORDS] = {
    {0,      -20714, -28334, -31137, -32168, -32548, -32687, -32739, -32758, -32764, -32767, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768},
    {-32768, 11372,  10915,  -5069,  -21833, 18943,  -18105, 24939,  32272,  -29892, -809,   3098,   -19574,
     -27914, -30983, -32112, -32527, -32680, -32736, -32756, -32764, -32767, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768},
    {-32768, -9762,  16257,  -19540, -31705, -32662, 17487,  7204,   520,    2377,   6998,   8476,   6262,
     -31429, 12735,  27540,  10973,  26508,  13509,  -30677, -4831,  8411,   6490,   -18326, -27455, -30814,
     -32049, -32504, -32671, -32733, -32755, -32764, -32767, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768},
    {-32768, -4211,  19360,  -21582, 7823,   7089,   -11433, 10639,  -27690, 5398,   -14390, -1221,  1913,
     6174,   -5114,  -15106, 22388,  -8854,  -26413, -106,   5501,   -29426, -14855, -12344, -30832, 3561,
     -30123, 1322,   -12352, 19589,  -21648, 22600,  18502,  10203,  -16960, -26953, -30629, -31981, -32478,
     -32661, -32729, -32754, -32763, -32766, -32767, -32768, -32768, -32768, -32768, -32768, -32768, -32768,
     -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768, -32768},
};

/* A vector of elements, of which 'bytes' are there, or all; the others are such that their share is 0. */
enum { ALL = 1 << 30 };
ALWAYS_INLINE v_u64 take(const void *x, size_t bytes, v_u64 others) {
    if (bytes >= ALL)
        return (v_u64)_mm512_loadu_si512(x);
    const __mmask64 there = _bzhi_u64(UINT64_MAX, bytes < VECTOR_BYTES ? (unsigned)bytes : VECTOR_BYTES);
    return (v_u64)_mm512_mask_loadu_epi8((__m512i)others, there, x);
}
ALWAYS_INLINE size_t behind(size_t bytes) {
    return bytes >= ALL ? ALL : bytes > VECTOR_BYTES ? bytes - VECTOR_BYTES : 0;
}

/* The distances of LANES elements, at most FAR, in any order. */
#define DEFINE_FEW(bits)                                                                                               \
    ALWAYS_INLINE v_u##bits few_##bits(const char *x, size_t bytes, v_u##bits largest) {                               \
        const v_u##bits v = (v_u##bits)take(x, bytes, (v_u64)(largest - FAR));                                         \
        return min_u##bits(largest - v, (v_u##bits){0} + FAR);                                                         \
    }
DEFINE_FEW(16)
DEFINE_FEW(32)
DEFINE_FEW(64)
ALWAYS_INLINE v_u16 distances_8(const char *x, size_t bytes, v_u8 largest) {
    const __mmask32 there = _bzhi_u32(UINT32_MAX, bytes < LANES ? (unsigned)bytes : LANES);
    const __m256i others = _mm512_castsi512_si256((__m512i)(largest - FAR));
    const __m256i v =
        bytes >= ALL ? _mm256_loadu_si256((const __m256i *)(const void *)x) : _mm256_mask_loadu_epi8(others, there, x);
    const __m256i d = _mm256_sub_epi8(_mm512_castsi512_si256((__m512i)largest), v);
    return (v_u16)_mm512_cvtepu8_epi16(_mm256_min_epu8(d, _mm256_set1_epi8(FAR)));
}
ALWAYS_INLINE v_u16 distances_16(const char *x, size_t bytes, v_u16 largest) {
    return few_16(x, bytes, largest);
}
ALWAYS_INLINE v_u16 distances_32(const char *x, size_t bytes, v_u32 largest) {
    return (v_u16)(few_32(x, bytes, largest) | few_32(x + VECTOR_BYTES, behind(bytes), largest) << 16);
}
ALWAYS_INLINE v_u16 distances_64(const char *x, size_t bytes, v_u64 largest) {
    v_u64 all = {0};
    UNROLL_8 for (int part = 0; part < 4; part++, x += VECTOR_BYTES, bytes = behind(bytes)) all |=
        few_64(x, bytes, largest) << 16 * part;
    return (v_u16)all;
}

/* Adds the shares of distances to the sums of each table. */
ALWAYS_INLINE void add_shares(v_u16 d, v_i32 *sums) {
    UNROLL_8 for (int t = 0; t < TABLES; t++) {
        const __m512i share =
            _mm512_permutex2var_epi16(_mm512_load_si512(shares[t]), (__m512i)d, _mm512_load_si512(shares[t] + LANES));
        sums[t] += (v_i32)_mm512_madd_epi16(share, _mm512_set1_epi16(1));
    }
}

/* The sum of all tables' lanes, of n numbers each. */
ALWAYS_INLINE double total(const v_i32 *sums, size_t n) {
    __m512i pairs[2];
    for (int h = 0; h < 2; h++) {
        const __m512i a = (__m512i)sums[2 * h], b = (__m512i)sums[2 * h + 1];
        pairs[h] = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    }
    const __m512i four =
        _mm512_add_epi32(_mm512_unpacklo_epi64(pairs[0], pairs[1]), _mm512_unpackhi_epi64(pairs[0], pairs[1]));
    const __m256i two = _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));
    const __m256d each =
        _mm256_cvtepi32_pd(_mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1)));
    const __m256d sum = (each + (double)(n << 15)) * _mm256_setr_pd(0x1p-15, 0x1p-31, 0x1p-47, 0x1p-63);
    return sum[0] + (sum[1] + (sum[2] + sum[3]));
}

#define DEFINE_SUM(bits)                                                                                               \
    static double sum_##bits(const void *elements, size_t n, uint64_t most) {                                          \
        const char *x = elements;                                                                                      \
        const v_u##bits largest = (s_u##bits)most - (v_u##bits){0};                                                    \
        v_i32 sums[TABLES] = {{0}, {0}, {0}, {0}};                                                                     \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES, x += LANES * bits / 8)                                                      \
            add_shares(distances_##bits(x, ALL, largest), sums);                                                       \
        if (i < n) {                                                                                                   \
            add_shares(distances_##bits(x, (n - i) * bits / 8, largest), sums);                                        \
            i += LANES;                                                                                                \
        }                                                                                                              \
        return total(sums, i);                                                                                         \
    }
DEFINE_SUM(8)
DEFINE_SUM(16)
DEFINE_SUM(32)
DEFINE_SUM(64)
/* ---- columns: LANES of them side by side, two rows at a time, whose shares are added as 32 bits ---- */

ALWAYS_INLINE v_u16 column_distances_8(const char *x, size_t bytes, const v_u64 *largest) {
    const __m256i v = bytes >= LANES ? _mm256_loadu_si256((const __m256i *)(const void *)x)
                                     : _mm256_maskz_loadu_epi8(_bzhi_u32(UINT32_MAX, (unsigned)bytes), x);
    const __m256i d = _mm256_sub_epi8(_mm512_castsi512_si256((__m512i)*largest), v);
    return (v_u16)_mm512_cvtepu8_epi16(_mm256_min_epu8(d, _mm256_set1_epi8(FAR)));
}
ALWAYS_INLINE v_u16 column_distances_16(const char *x, size_t bytes, const v_u64 *largest) {
    return few_16(x, bytes, (v_u16)*largest);
}
ALWAYS_INLINE v_u16 column_distances_32(const char *x, size_t bytes, const v_u64 *largest) {
    return (v_u16)(few_32(x, bytes, (v_u32)largest[0]) | few_32(x + VECTOR_BYTES, behind(bytes), (v_u32)largest[1])
                                                             << 16);
}

/* Where the column of a word is: with 32 bits, each second word is of the second vector. */
ALWAYS_INLINE size_t column_of_word(size_t word, int bits) {
    return bits == 32 ? word / 2 + word % 2 * (LANES / 2) : word;
}

static __attribute__((noinline)) void give_columns(const v_i32 sums[TABLES][2], size_t rows, size_t width, int bits,
                                                   double *to) {
    int32_t words[TABLES][2][LANES / 2];
    memcpy(words, sums, sizeof words);
    const double more = (double)((rows + 1) / 2 * 2 << 15);
    for (size_t h = 0; h < 2; h++)
        for (size_t l = 0; l < LANES / 2; l++) {
            const size_t j = column_of_word(l / 4 * 8 + 4 * h + l % 4, bits);
            const double sum = (words[0][h][l] + more) * 0x1p-15 +
                               ((words[1][h][l] + more) * 0x1p-31 +
                                ((words[2][h][l] + more) * 0x1p-47 + (words[3][h][l] + more) * 0x1p-63));
            if (j < width)
                to[j] = sum;
        }
}

/* to[j] = the sums of LANES columns, of which 'width' are there. */
#define DEFINE_COLUMNS(bits)                                                                                           \
    ALWAYS_INLINE void strip_##bits(const char *x, size_t rows, size_t width, size_t stride, const char *largest,      \
                                    double *to) {                                                                      \
        enum { BYTES = bits / 8 };                                                                                     \
        const size_t bytes = width < LANES ? width * BYTES : ALL;                                                      \
        v_u64 top[2] = {take(largest, width * BYTES, (v_u64){0}),                                                      \
                        take(largest + VECTOR_BYTES, behind(width * BYTES), (v_u64){0})};                              \
        v_i32 sums[TABLES][2] = {{{0}}};                                                                               \
        const v_u16 none = (v_u16){0} + FAR;                                                                           \
        for (size_t r = 0; r < rows; r += 2, x += 2 * stride * BYTES) {                                                \
            const __m512i a = (__m512i)column_distances_##bits(x, bytes, top),                                         \
                          b = r + 1 < rows ? (__m512i)column_distances_##bits(x + stride * BYTES, bytes, top)          \
                                           : (__m512i)none;                                                            \
            UNROLL_8 for (int t = 0; t < TABLES; t++) {                                                                \
                const __m512i low = _mm512_load_si512(shares[t]), high = _mm512_load_si512(shares[t] + LANES),         \
                              p = _mm512_permutex2var_epi16(low, a, high),                                             \
                              q = _mm512_permutex2var_epi16(low, b, high), ones = _mm512_set1_epi16(1);                \
                sums[t][0] += (v_i32)_mm512_madd_epi16(_mm512_unpacklo_epi16(p, q), ones);                             \
                sums[t][1] += (v_i32)_mm512_madd_epi16(_mm512_unpackhi_epi16(p, q), ones);                             \
            }                                                                                                          \
        }                                                                                                              \
        v_i32 all[TABLES][2]; /* so that 'sums' stay in registers */                                                   \
        memcpy(all, sums, sizeof all);                                                                                 \
        give_columns(all, rows, width, bits, to);                                                                      \
    }                                                                                                                  \
    static void columns_##bits(const void *elements, size_t rows, size_t width, size_t stride, const void *largest,    \
                               double *to) {                                                                           \
        for (size_t j = 0; j < width; j += LANES)                                                                      \
            strip_##bits((const char *)elements + j * (bits / 8), rows, width - j, stride,                             \
                         (const char *)largest + j * (bits / 8), to + j);                                              \
    }
DEFINE_COLUMNS(8)
DEFINE_COLUMNS(16)
DEFINE_COLUMNS(32)
#define SUM(bits)     sum_##bits
#define COLUMNS(bits) columns_##bits
#else
#define SUM(bits)     NULL
#define COLUMNS(bits) NULL
#endif

extern tally_cpu_integer_exps *const PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, )[4];
tally_cpu_integer_exps *const PASTE4(tally_cpu_integer_exps, _, TALLY_LEVEL, )[4] = {SUM(8), SUM(16), SUM(32), SUM(64)};

extern tally_cpu_integer_exps_of_columns *const PASTE4(tally_cpu_integer_exps_of_columns, _, TALLY_LEVEL, )[4];
tally_cpu_integer_exps_of_columns *const PASTE4(tally_cpu_integer_exps_of_columns, _,
                                                TALLY_LEVEL, )[4] = {COLUMNS(8), COLUMNS(16), COLUMNS(32), NULL};
