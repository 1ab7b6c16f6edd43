/* Moments and logsumexp of groups that stand upright (upright.c), as many at once as a vector has lanes. Elements below
 * a column's length are its first one again. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/lanes.h"
#include "cpu/kernels/paste.h"

ALWAYS_INLINE uint32_t longest_of(const uint32_t *lengths, size_t lanes) {
    uint32_t longest = 0;
    for (size_t l = 0; l < lanes; l++)
        longest = lengths[l] > longest ? lengths[l] : longest;
    return longest;
}

/* The squares of the distances from a shift near the mean, and the sum of the distances, of elements k < n. */
static __attribute__((noinline)) void sum_about(const double *x, size_t stride, size_t rows, v_f64 n, v_f64 shift,
                                                v_f64 *sum, v_f64 *squares) {
    *sum = *squares = (v_f64){0};
    for (size_t k = 0; k < rows; k++) {
        v_f64 row;
        memcpy(&row, x + k * stride, sizeof row);
        const v_f64 d = (v_f64)((v_i64)(row - shift) & (n > (v_f64){0} + (s_f64)k));
        *sum += d;
        *squares = add_product_f64(*squares, d, d);
    }
}

/* M2 = sum(d^2) - sum(d)^2 / n over the distances d from the group's first element, which are 0 where the column is
 * filled up. With n elements the subtraction loses log2(n) bits at most. Where it has lost more than three, the group
 * is passed once more, with its mean as the shift. */
static bool fold_moments(const double *columns, size_t stride, const uint32_t *lengths, size_t count, void *acc) {
    enum { LANES = LANES_OF(s_f64) };
    typedef uint32_t measured __attribute__((vector_size(LANES * sizeof(uint32_t))));
    s_f64 *to = acc;
    v_u64 wrong = {0};
    for (size_t i = 0; i < count; i += LANES, to += 4 * LANES) {
        const double *const x = columns + i;
        const uint32_t longest = longest_of(lengths + i, LANES);
        measured length;
        v_f64 shift, row, sum = {0};
        memcpy(&length, lengths + i, sizeof length);
        memcpy(&shift, x, sizeof shift);
        v_f64 squares = shift - shift; /* NaN if one element alone is not finite */
        for (size_t k = 1; k < longest; k++) {
            memcpy(&row, x + k * stride, sizeof row);
            const v_f64 d = row - shift;
            sum += d;
            squares = add_product_f64(squares, d, d);
        }
        const v_f64 n = __builtin_convertvector(length, v_f64), zero = {0};
        const v_i64 has_elements = n > 0;
        const v_f64 share = 1.0 / SELECT_LANES(f64, has_elements, n, zero + 1.0);
        v_f64 off = sum * share, m2 = squares - sum * off;
        if (any_bit((v_u64)(~(squares <= 8 * m2) & has_elements))) {
            const v_f64 mean = shift + off;
            v_f64 rest, about_mean;
            sum_about(x, stride, longest, n, mean, &rest, &about_mean);
            const v_i64 is_far = ~(squares <= 8 * m2);
            rest *= share;
            shift = SELECT_LANES(f64, is_far, mean, shift);
            m2 = SELECT_LANES(f64, is_far, about_mean - rest * rest * n, m2);
            off = SELECT_LANES(f64, is_far, rest, off);
        }
        wrong |= (v_u64)(~(m2 - m2 == 0) & has_elements);
        m2 = (v_f64)((v_i64)m2 & ~(v_i64)(m2 < 0));
        const v_f64 part[4] = {n, (v_f64)((v_i64)shift & has_elements), (v_f64)((v_i64)off & has_elements),
                               (v_f64)((v_i64)m2 & has_elements)};
        const v_f64 even[2] = {in_turns_f64(part[0], part[2], false), in_turns_f64(part[0], part[2], true)};
        const v_f64 odd[2] = {in_turns_f64(part[1], part[3], false), in_turns_f64(part[1], part[3], true)};
        v_f64 groups[4];
        UNROLL_8 for (int k = 0; k < 4; k++) groups[k] = in_turns_f64(even[k / 2], odd[k / 2], k % 2);
        memcpy(to, groups, (count - i < LANES ? count - i : LANES) * 4 * sizeof *to);
    }
    return !any_bit(wrong);
}

/* The largest element, and then the sum of exp(x - largest). */
#define DEFINE_FOLD_LOGSUMEXP(tag, bits)                                                                               \
    static bool fold_logsumexp_##tag(const s_##tag *columns, size_t stride, const uint32_t *lengths, size_t count,     \
                                     void *acc) {                                                                      \
        enum { LANES = LANES_OF(s_##tag) };                                                                            \
        typedef uint32_t measured_as_##tag __attribute__((vector_size(LANES * sizeof(uint32_t))));                     \
        for (size_t i = 0; i < count; i += LANES) {                                                                    \
            const uint32_t longest = longest_of(lengths + i, LANES);                                                   \
            const s_##tag *const x = columns + i;                                                                      \
            measured_as_##tag length;                                                                                  \
            v_##tag largest, row, sum = {0};                                                                           \
            s_##tag own[2][LANES];                                                                                     \
            memcpy(&length, lengths + i, sizeof length);                                                               \
            const v_i##bits n = __builtin_convertvector(length, v_i##bits);                                            \
            memcpy(&largest, x, sizeof largest);                                                                       \
            for (size_t k = 1; k < longest; k++) {                                                                     \
                memcpy(&row, x + k * stride, sizeof row);                                                              \
                largest = larger_##tag(row, largest); /* which passes NaNs over */                                     \
            }                                                                                                          \
            for (size_t k = 0; k < longest; k++) {                                                                     \
                memcpy(&row, x + k * stride, sizeof row);                                                              \
                const v_##tag e = shifted_exp_##tag(row, largest);                                                     \
                sum += (v_##tag)((v_i##bits)e & (n > (s_i##bits)k));                                                   \
            }                                                                                                          \
            largest += sum - sum; /* NaN if the sum is */                                                              \
            largest = SELECT_LANES(tag, (n > 0), largest, ((v_##tag){0} + LOWEST_##tag));                              \
            memcpy(own[0], &largest, sizeof largest);                                                                  \
            memcpy(own[1], &sum, sizeof sum);                                                                          \
            s_f64 pairs[2 * LANES];                                                                                    \
            for (size_t l = 0; l < LANES; l += LANES_OF(s_f64)) {                                                      \
                const v_f64 first = load_f64_from_##tag((const e_##tag *)own[0] + l),                                  \
                            second = load_f64_from_##tag((const e_##tag *)own[1] + l);                                 \
                const v_f64 low = in_turns_f64(first, second, false), high = in_turns_f64(first, second, true);        \
                memcpy(pairs + 2 * l, &low, sizeof low);                                                               \
                memcpy(pairs + 2 * l + LANES_OF(s_f64), &high, sizeof high);                                           \
            }                                                                                                          \
            if (i + LANES <= count)                                                                                    \
                memcpy((s_f64 *)acc + 2 * i, pairs, sizeof pairs);                                                     \
            else                                                                                                       \
                memcpy((s_f64 *)acc + 2 * i, pairs, 2 * (count - i) * sizeof *pairs);                                  \
        }                                                                                                              \
        return true;                                                                                                   \
    }
DEFINE_FOLD_LOGSUMEXP(f32, 32)
DEFINE_FOLD_LOGSUMEXP(f64, 64)

extern const tally_cpu_upright_floats PASTE4(tally_cpu_upright_floats, _, TALLY_LEVEL, );
const tally_cpu_upright_floats PASTE4(tally_cpu_upright_floats, _, TALLY_LEVEL, ) = {fold_moments, fold_logsumexp_f32,
                                                                                     fold_logsumexp_f64};
