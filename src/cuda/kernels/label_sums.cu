/* Reductions by labels whose accumulators are integers: each block has a table of them in shared memory, as words of 32
 * bits, to which its threads add by atomic operations. The order of integer additions cannot show. If there are more
 * groups than one table holds, blocks that read the same elements share the groups out.
 *
 * Sums of floats up to 32 bits are such integers too: of 96 bits, scaled by an exponent that a sample of the elements
 * shows. Nearly all data fit without a rounding. If an element does not, the tables are given up and the launches that
 * follow sort the elements (sort_labels.cu). */
enum {
    WIDEST_WORD = sizeof(in_t) > sizeof(index_t) ? sizeof(in_t) : sizeof(index_t),
    WORD_WIDTH = 16 / WIDEST_WORD > 4 ? 4 : 16 / WIDEST_WORD, /* neighbouring elements of a thread */
    WORD_AHEAD = 4,
    SUM_WORDS = IS_WINDOW ? 3 : 2, /* of an integer */
    HIGHEST_BIT = 62,              /* of the largest element. 2^32 of them leave the sign */
    MARGIN = 4                     /* powers of two that elements may be larger than the sample's */
};

struct word_sum {
    uint32 word[SUM_WORDS];
    uint64 count;

    void add(const word_sum &other) {
        uint64 carry = 0;
#pragma unroll
        for (int w = 0; w < SUM_WORDS; w++) {
            carry += (uint64)word[w] + other.word[w];
            word[w] = (uint32)carry;
            carry >>= 32;
        }
        count += other.count;
    }
};

/* ---- floats ---- */

#if IS_WINDOW
inline uint32 exponent_of(value_t x) {
    return __float_as_uint(x) >> 23 & 255;
}

#endif

/* The largest exponent of a sample. Infinities and NaNs have none. */
extern "C" __global__ void __launch_bounds__(WORD_THREADS) find_window(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
#if IS_WINDOW
    enum { SAMPLED = 16 };
    __shared__ uint32 largest;
    if (threadIdx.x == 0)
        largest = 0;
    __syncthreads();
    uint32 mine = 0;
#pragma unroll
    for (int k = 0; k < SAMPLED && p.n; k++) {
        const uint64 at = p.n * (k * WORD_THREADS + threadIdx.x) / (SAMPLED * WORD_THREADS); /* n is below 2^32 */
        const uint32 exponent = exponent_of(value_of(load(p.x + at)));
        mine = exponent > mine && exponent < 255 ? exponent : mine;
    }
    atomicMax(&largest, mine);
    __syncthreads();
    if (threadIdx.x == 0) {
        p.window->highest = largest + MARGIN;
        p.window->failed = 0;
    }
#endif
}

/* ---- a block's table ---- */

struct word_table {
    uint32 *first; /* word 0 of group 0; the others follow, 'width' words apart */
    uint32 width, begin, groups;
    uint32 failed = 0; /* else bits of an element outside the window */
    uint64 first_bad = ~0ull;
    uint32 exponent_of_last_bit, least_exponent, exponents; /* of the window */

    word_table(const label_sums_args &p, uint32 *words, uint32 part_begin, uint32 part_groups)
        : first(words), width(p.width), begin(part_begin), groups(part_groups) {
#if IS_WINDOW
        const uint32 highest = p.window->highest;
        exponent_of_last_bit = highest - (HIGHEST_BIT - 23);
        least_exponent = highest > HIGHEST_BIT - 23 ? exponent_of_last_bit : 1;
        exponents = (highest < 254 ? highest : 254) - least_exponent;
#endif
    }

    /* Adds low + 2^32 high + 2^64 top; top is 0 or -1. High words of floats are hardly ever 0. */
    void add_number(uint32 *to, uint32 low, uint32 high, uint32 top) {
        uint32 carry = 0;
        if (low) {
            const uint32 before = atomicAdd(to, low);
            carry = before + low < before;
        }
        if (IS_WINDOW || high + carry) {
            const uint32 before = atomicAdd(to + width, high + carry);
            top += (uint32)(((uint64)before + high + carry) >> 32);
        }
        if (SUM_WORDS > 2 && top)
            atomicAdd(to + 2 * width, top);
    }
#if IS_WINDOW
    void add_value(uint32 *to, value_t x) {
        const uint32 bits = __float_as_uint(x), exponent = bits >> 23 & 255;
        if (exponent - least_exponent > exponents) { /* too large or too small, subnormal, 0 or not finite */
            failed |= IS_EXACT ? bits : bits & 0x7fffffff; /* a sum of only -0 is -0 */
            return;
        }
        const int sign = IS_SUM_OF_ABSOLUTES ? 0 : (int)bits >> 31;
        const int fraction = (int)((bits & 0x7fffff) | 0x800000);
        const uint64 number = (uint64)(int64)((fraction ^ sign) - sign) << (exponent - exponent_of_last_bit);
        add_number(to, (uint32)number, (uint32)(number >> 32), (uint32)sign);
    }
#else
    void add_value(uint32 *to, value_t x) {
        const uint64 value = (uint64)lift_as<acc_t>(x, value_t(0), 0).a0;
        add_number(to, (uint32)value, (uint32)(value >> 32), 0);
    }
#endif
    void add_good(uint32 g, in_t x) {
        const value_t value = value_of(x);
        if (SKIPS_NAN && is_nan(value))
            return;
        add_value(first + g, value);
        if (LOWERS_BY_COUNT)
            atomicAdd(first + SUM_WORDS * width + g, 1u);
    }
    void add(const label_sums_args &p, in_t x, index_t label, uint64 i) {
        const bool is_good = sizeof(index_t) <= 4 ? (uint32)label < (uint32)p.groups : (uint64)label < p.groups;
        const uint32 g = (uint32)label - begin;
        if (is_good && g < groups) {
            add_good(g, x);
        } else if (!is_good && i < first_bad) {
            first_bad = i;
        }
    }
};

/* Adds the elements of whole steps; all loads of some are under way together. */
inline void add_steps(word_table &table, const label_sums_args &p, uint64 steps, uint64 me, uint64 stride) {
    for (uint64 step = me; step < steps; step += WORD_AHEAD * stride) {
        few<in_t, WORD_WIDTH> x[WORD_AHEAD];
        few<index_t, WORD_WIDTH> label[WORD_AHEAD];
#pragma unroll
        for (int k = 0; k < WORD_AHEAD; k++) {
            const uint64 at = (step + k * stride < steps ? step + k * stride : step) * WORD_WIDTH;
            label[k] = load_few<WORD_WIDTH>(p.labels + at);
            x[k] = load_few<WORD_WIDTH>(p.x + at);
        }
#pragma unroll
        for (int k = 0; k < WORD_AHEAD; k++)
            if (step + k * stride < steps)
#pragma unroll
                for (int j = 0; j < WORD_WIDTH; j++)
                    table.add(p, x[k].element[j], label[k].element[j], (step + k * stride) * WORD_WIDTH + j);
    }
}

extern "C" __global__ void __launch_bounds__(WORD_THREADS, 1) add_sums(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    extern __shared__ __align__(16) uint8 word_memory[];
    uint32 *const words = (uint32 *)word_memory;
    const uint32 part = blockIdx.x % p.parts, chunk = blockIdx.x / p.parts, begin = part * p.width;
    const uint32 groups = begin >= p.groups ? 0 : p.groups - begin < p.width ? (uint32)p.groups - begin : p.width;
    word_table table(p, words, begin, groups);
    for (uint32 k = threadIdx.x; k < (SUM_WORDS + LOWERS_BY_COUNT) * p.width; k += WORD_THREADS)
        words[k] = 0;
    __syncthreads();
    const bool is_aligned = ((uint64)p.x & (WORD_WIDTH * sizeof(in_t) - 1)) == 0 &&
                            ((uint64)p.labels & (WORD_WIDTH * sizeof(index_t) - 1)) == 0;
    const uint64 steps = is_aligned ? p.n / WORD_WIDTH : 0;
    const uint64 me = chunk * (uint64)WORD_THREADS + threadIdx.x, stride = p.chunks * WORD_THREADS;
    add_steps(table, p, steps, me, stride);
    for (uint64 i = steps * WORD_WIDTH + me; i < p.n; i += stride)
        table.add(p, load(p.x + i), load(p.labels + i), i);
    __syncthreads();
    for (uint32 w = 0; w < SUM_WORDS + LOWERS_BY_COUNT; w++)
        for (uint32 g = threadIdx.x; g < groups; g += WORD_THREADS)
            p.partials[(chunk * (uint64)(SUM_WORDS + LOWERS_BY_COUNT) + w) * p.groups + begin + g] =
                words[w * p.width + g];
#if IS_WINDOW
    if (table.failed)
        atomicOr(&p.window->failed, 1u);
#endif
    if (part == 0 && !p.skips && table.first_bad != ~0ull) {
        atomicOr(&p.told->refused, 1u);
        atomicMax(&p.told->not_bad, ~table.first_bad);
    }
}

/* ---- all tables ---- */

#if IS_EXACT
inline out_t result_of(const label_sums_args &p, const word_sum &sum) {
    uint32 digits[SUM_WORDS];
    const bool is_below = sum.word[SUM_WORDS - 1] >> 31;
    uint64 carry = is_below;
    int count = 0;
#pragma unroll
    for (int w = 0; w < SUM_WORDS; w++) {
        carry += is_below ? ~sum.word[w] : sum.word[w];
        digits[w] = (uint32)carry;
        carry >>= 32;
        count = digits[w] ? w + 1 : count;
    }
    const magnitude size = {digits, count, (int)p.window->highest - 127 - HIGHEST_BIT, is_below};
    return element_of_bits<out_t>(result_bits(size, SAW_OTHER, sum.count));
}
#else
inline result_t result_of(const label_sums_args &p, const word_sum &sum) {
    acc_t acc;
#if COUNTS_ELEMENTS
    acc.a1 = sum.count;
#endif
#if IS_WINDOW
    const bool is_below = sum.word[2] >> 31;
    const uint64 low = sum.word[0] | (uint64)sum.word[1] << 32;
    const uint64 magnitude = is_below ? 0 - low : low;
    const uint32 high = is_below ? ~sum.word[2] + (low == 0) : sum.word[2];
    const double scale = __longlong_as_double((int64)(p.window->highest + (1023 - 127) - HIGHEST_BIT) << 52);
    const double size = ((double)high * 0x1p64 + (double)magnitude) * scale;
    acc.a0 = is_below ? -size : size;
#else
    acc.a0 = (decltype(acc.a0))(sum.word[0] | (uint64)sum.word[1] << 32);
#endif
    return lower(acc, sum.count, 0);
}
#endif

/* Whether one block adds all elements of the group's bucket. It then gives the results. */
inline bool is_one_task(const label_sums_args &p, uint64 g) {
    return p.tasks[(g >> p.shift) + 1] - p.tasks[g >> p.shift] == 1;
}

/* Whose words are 'apart'. */
inline word_sum sum_at(const uint32 *from, uint64 apart) {
    word_sum sum;
#pragma unroll
    for (int w = 0; w < SUM_WORDS; w++)
        sum.word[w] = from[w * apart];
    sum.count = LOWERS_BY_COUNT ? from[SUM_WORDS * apart] : 0;
    return sum;
}

/* Some lanes of a warp for each group. */
extern "C" __global__ void __launch_bounds__(BLOCK) fold_sums(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
    if (p.told->refused)
        return;
#if IS_WINDOW
    if (p.window->failed)
        return;
#endif
    const uint64 each = gridDim.x * (uint64)(BLOCK / p.lanes), turns = (p.groups + each - 1) / each;
    for (uint64 turn = 0; turn < turns; turn++) {
        const uint64 g = (turn * gridDim.x + blockIdx.x) * (BLOCK / p.lanes) + threadIdx.x / p.lanes;
        word_sum sum = {};
        const bool is_due = g < p.groups && !(p.buckets && is_one_task(p, g));
        for (uint64 k = threadIdx.x % p.lanes; k < p.chunks && is_due; k += p.lanes) {
            const uint32 *const from = p.partials + k * (SUM_WORDS + LOWERS_BY_COUNT) * p.groups + g;
            sum.add(sum_at(from, p.groups));
        }
        for (uint32 d = 1; d < p.lanes; d *= 2)
            sum.add(from_across(sum, d));
        if (is_due && threadIdx.x % p.lanes == 0)
            store(p.out + g, result_of(p, sum));
    }
}
