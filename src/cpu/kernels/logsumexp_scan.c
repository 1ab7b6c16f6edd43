/* Running logsumexps, from elements to results. Where the elements of a block are near each other, the largest of all
 * serves every prefix (running_exps.h). Elsewhere each prefix has its own (logsumexp_lanes.h), and so it has in
 * columns.
 */
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/logsumexp_lanes.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd_exp.h"

enum { BLOCK = TALLY_CPU_EXPS_BLOCK, ROWS = TALLY_CPU_EXPS_ROWS, LANES = LANES_OF(s_f64) };

/* Whole numbers are looked up to 63 below the largest; sums are not below e^-NEAR, about LEAST_SUM, or groups have no
 * others. */
enum { NEAR = 16, MOST_DISTANCE = 60 };
#define LEAST_SUM 0x1p-23
#define MOST_SUM  0x1p60

typedef s_f32 half_f32 __attribute__((vector_size(sizeof(v_f64) / 2)));

ALWAYS_INLINE v_f32 narrowed_f32(const v_f64 *x) {
    half_f32 halves[2];
    v_f32 v;
    for (int h = 0; h < 2; h++)
        halves[h] = __builtin_convertvector(x[h], half_f32);
    memcpy(&v, halves, sizeof v);
    return v;
}
ALWAYS_INLINE void widened_f32(v_f32 x, v_f64 *v) {
    half_f32 halves[2];
    memcpy(halves, &x, sizeof x);
    for (int h = 0; h < 2; h++)
        v[h] = __builtin_convertvector(halves[h], v_f64);
}
ALWAYS_INLINE v_f64 narrowed_f64(const v_f64 *x) {
    return *x;
}
ALWAYS_INLINE void widened_f64(v_f64 x, v_f64 *v) {
    *v = x;
}

/* Largest elements and sums of a vector of columns out of accumulators, and back. */
ALWAYS_INLINE void take_pairs(const double *acc, v_f64 *largest, v_f64 *sum) {
    v_f64 low, high;
    memcpy(&low, acc, sizeof low);
    memcpy(&high, acc + LANES, sizeof high);
    *largest = every_second_f64(low, high, 0);
    *sum = every_second_f64(low, high, 1);
}
ALWAYS_INLINE void put_pairs(v_f64 largest, v_f64 sum, double *acc) {
    const v_f64 low = in_turns_f64(largest, sum, false), high = in_turns_f64(largest, sum, true);
    memcpy(acc, &low, sizeof low);
    memcpy(acc + LANES, &high, sizeof high);
}

#if defined(__AVX512F__)
#define add_log_f64(above, x) ((above) + log_f64(x, false))
#define add_log_f32(above, x) log_of_parts_f32(above, (v_f32){0}, x)
#else
/* log(m) of normal numbers 2^k m, as plain_log has it; k is added to *octaves. */
ALWAYS_INLINE v_f64 log_of_share_f64(v_f64 x, bool is_near, v_f64 *octaves) {
    (void)is_near;
    const v_f64 zero = {0}, one = zero + 1.0;
    const v_u64 up = (v_u64)x - 0x3fe6a09e667f3bcd + (1ull << 62), k = (up >> 52) - 1024;
    const v_f64 m = (v_f64)((v_u64)x - (k << 52));
    const v_f64 s = (m - one) / (m + one), z = s * s;
    v_f64 sum = add_product_f64(zero + 0x1.39fe606542dbap-3, zero + 0x1.2b584aae78c14p-3, z);
    sum = add_product_f64(zero + 0x1.7462b4ab2ef6cp-3, sum, z);
    sum = add_product_f64(zero + 0x1.c71c62e5800a1p-3, sum, z);
    sum = add_product_f64(zero + 0x1.2492492df148dp-2, sum, z);
    sum = add_product_f64(zero + 0x1.99999999952e2p-2, sum, z);
    sum = add_product_f64(zero + 0x1.5555555555558p-1, sum, z);
    *octaves += (v_f64)(k + 0x4338000000000000) - 0x1.8p52;
    return 2 * s + s * z * sum;
}
ALWAYS_INLINE v_f64 log_f64(v_f64 x, bool is_near) {
    v_f64 k = {0};
    const v_f64 log = log_of_share_f64(x, is_near, &k);
    return k * LN2_HIGH + (log + k * LN2_LOW);
}
ALWAYS_INLINE v_f64 add_log_f64(v_f64 above, v_f64 x) {
    const v_f64 zero = {0};
    return SELECT_LANES(f64, (x == zero), zero - (double)INFINITY, above + log_f64(x, false));
}
ALWAYS_INLINE v_f64 log_or_itself_f64(v_f64 value, v_f64 x) {
    return SELECT_LANES(f64, (x == x), value, (v_f64){0} + (double)NAN);
}
/* The same in floats, with an error of 2^-25 and two roundings. */
ALWAYS_INLINE v_f32 log_of_parts_f32(v_f32 above, v_f32 octaves, v_f32 x) {
    const v_f32 zero = {0}, one = zero + 1.0f;
    const v_u32 up = ((v_u32)x - 0x3f3504f3) & 0xff800000;
    const v_f32 m = (v_f32)((v_u32)x - up), k = octaves + __builtin_convertvector((v_i32)up, v_f32) * 0x1p-23f;
    const v_f32 s = (m - one) / (m + one), z = s * s;
    v_f32 sum = add_product_f32(zero + 0x1.997c20p-2f, zero + 0x1.2ee8dep-2f, z);
    sum = add_product_f32(zero + 0x1.55555cp-1f, sum, z);
    return above + (k * 0x1.62e4p-1f + (2 * s + add_product_f32(k * 0x1.7f7d1cp-20f, s * z, sum)));
}
ALWAYS_INLINE v_f32 log_of_octaves_f32(v_f32 octaves, v_f32 x) {
    return log_of_parts_f32((v_f32){0}, octaves, x);
}
#define add_log_f32(above, x) log_of_parts_f32(above, (v_f32){0}, x)
#endif

/* top + log(1 + t) for 0 <= t <= MOST_SHARE, by polynomials interpolated at Chebyshev's points, to 2^-28 and 2^-56 */
#define MOST_SHARE_f32 0x1p-4f
#define MOST_SHARE_f64 0x1p-5
ALWAYS_INLINE v_f32 add_log_near_1_f32(v_f32 top, v_f32 t) {
    const v_f32 zero = {0};
    v_f32 sum = add_product_f32(zero + 0x1.546bcp-2f, zero - 0x1.d03f66p-3f, t);
    sum = add_product_f32(zero - 0x1.fffd1cp-2f, sum, t);
    sum = add_product_f32(zero + 1.0f, sum, t);
    return add_product_f32(top, sum, t);
}
ALWAYS_INLINE v_f64 add_log_near_1_f64(v_f64 top, v_f64 t) {
    const v_f64 zero = {0};
    v_f64 sum = add_product_f64(zero - 0x1.543839b7f718fp-3, zero + 0x1.0a263e3042705p-3, t);
    sum = add_product_f64(zero + 0x1.999394baeeeaap-3, sum, t);
    sum = add_product_f64(zero - 0x1.ffffef3b752efp-3, sum, t);
    sum = add_product_f64(zero + 0x1.5555554a2fe48p-2, sum, t);
    sum = add_product_f64(zero - 0x1.fffffffffa6f6p-2, sum, t);
    sum = add_product_f64(zero + 0x1.ffffffffffffcp-1, sum, t);
    return add_product_f64(top, sum, t);
}

/* The logarithm of a sum that is relative to 2^octaves, or to e^above of whole numbers, is *large + what is returned:
 * so of doubles it is rounded once where it is large, and what the product with ln(2) has lost is not. */
ALWAYS_INLINE v_f64 split_log_f64(v_f64 sum, v_f64 octaves, v_f64 above, bool are_whole, v_f64 *large) {
    *large = above;
    if (are_whole)
        return log_f64(sum, false);
    const v_f64 log = log_of_share_f64(sum, false, &octaves);
    *large = octaves * LN2;
    return log + rests_of_octaves(octaves);
}
ALWAYS_INLINE v_f32 split_log_f32(v_f32 sum, v_f32 octaves, v_f32 above, bool are_whole, v_f32 *large) {
    (void)are_whole;
    *large = above;
    return log_of_octaves_f32(octaves, sum);
}
#define whole_log_f64(large, small) ((large) + (small))
#define whole_log_f32(large, small) (small)

#define SELECT_OF(tag, mask, yes, no) SELECT_LANES(tag, mask, yes, no)

#define LANE f32
#define BITS 32
#include "cpu/kernels/running_exps.h"
#undef LANE
#undef BITS
#define LANE f64
#define BITS 64
#include "cpu/kernels/running_exps.h"

/* largest + log(sum), also of sums that are 0 or not finite */
#define result_f32(largest, sum) log_or_itself_f32(add_log_f32(largest, sum), sum)
#define result_f64(largest, sum) log_or_itself_f64(add_log_f64(largest, sum), sum)

/* results[k] = largest[k] + log(sums[k]), in whole vectors; results may be either. */
static void give_apart(const double *largest, const double *sums, size_t n, double *results) {
    for (size_t k = 0; k < n; k += LANES) {
        v_f64 top, sum;
        memcpy(&top, largest + k, sizeof top);
        memcpy(&sum, sums + k, sizeof sum);
        top = result_f64(top, sum);
        top = SELECT_LANES(f64, (top == top), top, (v_f64){0} + (double)NAN);
        memcpy(results + k, &top, sizeof top);
    }
}

/* The prefixes before each lane; *before is the last of the vector before. */
ALWAYS_INLINE open_group moved_up(open_group prefix, v_f64 number, open_group *before) {
    const v_f64 zero = {0};
    const v_i64 first = number == 1;
    const v_f64 largest = shift_up_f64(prefix.largest, before->largest, 1),
                sum = shift_up_f64(prefix.sum, before->sum, 1);
    *before = (open_group){last_f64(prefix.largest), last_f64(prefix.sum)};
    return (open_group){SELECT_LANES(f64, first, zero + LOWEST_f64, largest), SELECT_LANES(f64, first, zero, sum)};
}

static void apart(double *x, const uint32_t *numbers, size_t n, bool exclusive, double *acc) {
    _Alignas(64) double sums[BLOCK];
    open_group open = {(v_f64){0} + acc[0], (v_f64){0} + acc[1]}, before = open;
    for (size_t k = n; k % LANES; k++)
        x[k] = LOWEST_f64;
    for (size_t k = 0; k < n; k += LANES) {
        const v_f64 number = numbers ? load_numbers_f64(numbers + k) : (v_f64){0} + 1e9;
        v_f64 v;
        memcpy(&v, x + k, sizeof v);
        open_group prefix = scan_apart(v, number, &open);
        if (exclusive)
            prefix = moved_up(prefix, number, &before);
        memcpy(x + k, &prefix.largest, sizeof v);
        memcpy(sums + k, &prefix.sum, sizeof v);
    }
    give_apart(x, sums, n, x);
    acc[0] = open.largest[0];
    acc[1] = open.sum[0];
}

/* ---- columns ---- */

/* An element takes one exponential, as in scan_apart: of the sum so far, or its own. */
static void columns_apart(double *x, size_t rows, size_t width, bool reverse, bool exclusive, double *acc) {
    const v_f64 one = (v_f64){0} + 1.0;
    _Alignas(64) double sums[BLOCK + LANES];
    for (size_t j = 0; j < width; j += LANES) {
        v_f64 v, top, sum;
        take_pairs(acc + 2 * j, &top, &sum);
        for (size_t r = 0; r < rows; r++) {
            const size_t at = (reverse ? rows - 1 - r : r) * width + j;
            const v_f64 before = top, sum_before = sum;
            memcpy(&v, x + at, sizeof v);
            const v_i64 grows = ~(v_i64)(v <= top); /* or NaN */
            const v_f64 e = shifted_exp_f64(SELECT_LANES(f64, grows, top, v), SELECT_LANES(f64, grows, v, top));
            top = SELECT_LANES(f64, grows, v, top);
            sum = add_product_f64(SELECT_LANES(f64, grows, one, e), sum, SELECT_LANES(f64, grows, e, one));
            put_f64(exclusive ? before : top, width - j, (e_f64 *)x + at);
            put_f64(exclusive ? sum_before : sum, width - j, (e_f64 *)sums + at);
        }
        put_pairs(top, sum, acc + 2 * j);
    }
    give_apart(x, sums, rows * width, x);
}

/* ---- whole columns of a few rows: with AVX2 f32 loses (2 and 8 rows 1.28, 0.52 and 1.46, 0.62) ---- */

#if defined(__AVX512F__)
#define DEFINE_FEW(tag, lane, TAKE, larger, exponential, to_lane)                                                      \
    ALWAYS_INLINE void few_strip_##tag(const e_##tag *x, size_t rows, size_t count, size_t stride, e_##lane *to) {     \
        v_##tag largest = TAKE(x, count);                                                                              \
        v_##lane sum = {0};                                                                                            \
        for (size_t r = 1; r < rows; r++)                                                                              \
            largest = larger(TAKE(x + r * stride, count), largest);                                                    \
        for (size_t r = 0; r < rows; r++)                                                                              \
            sum += exponential(TAKE(x + r * stride, count), largest);                                                  \
        put_##lane(result_##lane(to_lane(largest), sum), count, to);                                                   \
    }                                                                                                                  \
    static void few_##tag(const void *elements, size_t rows, size_t width, size_t stride, void *target) {              \
        const e_##tag *const x = elements;                                                                             \
        e_##lane *const to = target;                                                                                   \
        size_t j = 0;                                                                                                  \
        for (; j + LANES_OF(s_##lane) <= width; j += LANES_OF(s_##lane))                                               \
            few_strip_##tag(x + j, rows, LANES_OF(s_##lane), stride, to + j);                                          \
        if (j < width)                                                                                                 \
            few_strip_##tag(x + j, rows, width - j, stride, to + j);                                                   \
    }
#define TAKE_f32(x, n) take_f32(x, n, 0)
#define TAKE_i64(x, n) ((v_i64)take_f64((const e_f64 *)(x), n, 0))
#define SAME(x)        (x)
#define TO_DOUBLES(x)  __builtin_convertvector(x, v_f64)
DEFINE_FEW(f32, f32, TAKE_f32, larger_f32, shifted_exp_f32, SAME)
DEFINE_FEW(i64, f64, TAKE_i64, max_i64, integer_exp, TO_DOUBLES)
#define FEW(tag) few_##tag
#else
#define FEW(tag) NULL
#endif

extern const tally_cpu_running_exps PASTE4(tally_cpu_running_exps, _, TALLY_LEVEL, );
const tally_cpu_running_exps PASTE4(tally_cpu_running_exps, _, TALLY_LEVEL, ) = {
    .run_f32 = run_f32,
    .run_f64 = run_f64,
    .groups_f32 = groups_f32,
    .groups_f64 = groups_f64,
    .apart = apart,
    .columns_f32 = columns_f32,
    .columns_f64 = columns_f64,
    .columns_apart = columns_apart,
    .few_f32 = FEW(f32),
    .few_i64 = FEW(i64),
};
