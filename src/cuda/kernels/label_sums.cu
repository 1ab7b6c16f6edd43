/* Reductions by labels whose accumulators are integers: each block has a table of them in shared memory, to which its
 * threads add by atomic operations. The order of integer additions cannot show. If there are more groups than one table
 * holds, blocks that read the same elements share the groups out. Reading them again and again is the limit then, so two
 * groups share the highest word of their integers where that saves a part (H200, 65536 labels: 786 us instead of 929).
 *
 * Sums of floats are such integers too: of 96 bits, for f64 of 128, scaled by an exponent that a sample of the elements
 * shows. Nearly all data fit without a rounding. If an element does not, the tables are given up and the launches that
 * follow sort the elements (sort_labels.cu). A table has 32 bits less. Small elements, which do not fit there, are added
 * to integers in global memory, which are as wide as the window. */
enum {
    WIDEST_WORD = sizeof(in_t) > sizeof(index_t) ? sizeof(in_t) : sizeof(index_t),
    WORD_WIDTH = 16 / WIDEST_WORD > 4 ? 4 : 16 / WIDEST_WORD, /* neighbouring elements of a thread */
    IS_WIDE = IS_WINDOW && sizeof(in_t) == 8,
    WORD_AHEAD = 2, /* by 65536 labels 0.99 ms on an H200; with 1 1.11, with 4 1.09 */
    TABLE_WORDS = IS_WIDE ? 3 : 2,         /* of an integer in a table */
    SUM_WORDS = TABLE_WORDS + IS_WINDOW,   /* of one in global memory */
    ROW_WORDS = TABLE_WORDS + LOWERS_BY_COUNT,
    ALL_WORDS = SUM_WORDS + LOWERS_BY_COUNT,
    FRACTION_BITS = IS_WIDE ? 52 : 23, /* as an element is stored; f16 and bf16 are made f32 */
    ELEMENT_BIAS = IS_WIDE ? 1023 : 127,
    NO_NUMBER = 2 * ELEMENT_BIAS + 1,         /* the exponent of infinities and NaNs */
    HIGHEST_BIT = 32 * SUM_WORDS - 34, /* of the largest element. 2^32 of them leave the sign */
    MARGIN = 4,                       /* powers of two that elements may be larger than the sample's */
    /* A table has elements of so many exponents, which take 39 or 68 bits. A block adds fewer than 2^23 of them, so no sum
     * passes 62 or 91 bits. */
    TABLE_EXPONENTS = 16,
    TABLE_MARGIN = 1, /* as above, of elements in a table */
    TABLE_BIT = IS_WINDOW ? HIGHEST_BIT - FRACTION_BITS - MARGIN + TABLE_MARGIN - (TABLE_EXPONENTS - 1)
                          : 0, /* of the integer's bits */
    LEAST_HIGHEST = 20,        /* the lowest exponent of a table is at least 1 */
    MOST_HIGHEST = NO_NUMBER - 1 + MARGIN - TABLE_MARGIN, /* and the highest that of a number */
    EXPONENT_BIT = IS_WIDE ? 21 : 24, /* of the upper word of an element without its sign, shifted by one bit */
    TABLE_SPAN = TABLE_EXPONENTS << EXPONENT_BIT,
    SPARE_WORDS = 4 * WARP /* of a table: two for each lane whose element goes nowhere, and two for the hot group's */
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

/* A table's integer. */
struct table_number {
    uint32 word[TABLE_WORDS];

    void add(const table_number &other) {
        uint64 carry = 0;
#pragma unroll
        for (int w = 0; w < TABLE_WORDS; w++) {
            carry += (uint64)word[w] + other.word[w];
            word[w] = (uint32)carry;
            carry >>= 32;
        }
    }
};

inline word_sum sum_of_number(const table_number &number, uint64 count) {
    word_sum sum;
    int64 rest = 0; /* what is left of the words before */
#pragma unroll
    for (int w = 0; w < TABLE_WORDS; w++) {
        const int64 word = w + 1 < TABLE_WORDS ? (int64)number.word[w] : (int64)(int)number.word[w];
        rest += word * (1ll << TABLE_BIT);
        sum.word[w] = (uint32)rest;
        rest >>= 32;
    }
#if IS_WINDOW
    sum.word[TABLE_WORDS] = (uint32)rest;
#endif
    sum.count = count;
    return sum;
}

/* Adds to an integer in global memory to which others add; 'apart' are its words. */
inline void add_to_all(uint32 *to, uint64 apart, const word_sum &sum) {
    uint64 carry = 0;
#pragma unroll
    for (int w = 0; w < ALL_WORDS; w++) {
        carry = w < SUM_WORDS ? carry + sum.word[w] : sum.count;
        const uint32 low = (uint32)carry, before = low ? atomicAdd(to + w * apart, low) : 0;
        carry = (carry >> 32) + (before + low < before);
    }
}

/* ---- floats ---- */

#if IS_WINDOW
/* The bits of an element, and the upper ones, which have its sign and its exponent. */
inline uint64 bits_of_element(double x) {
    return (uint64)__double_as_longlong(x);
}
inline uint32 bits_of_element(float x) {
    return __float_as_uint(x);
}
inline uint32 upper_word(double x) {
    return (uint32)__double2hiint(x);
}
inline uint32 upper_word(float x) {
    return __float_as_uint(x);
}
inline uint32 exponent_of(value_t x) {
    return upper_word(x) << 1 >> EXPONENT_BIT;
}
inline uint64 fraction_of(value_t x) {
    return (bits_of_element(x) & ((1ull << FRACTION_BITS) - 1)) | 1ull << FRACTION_BITS;
}
/* The number's bits, shifted by at most 42, and those above; negative if the element is. */
inline void shifted(uint64 fraction, uint32 by, bool is_below, uint64 *low, uint64 *high) {
    *low = fraction << by;
    *high = by ? fraction >> (64 - by) : 0;
    if (is_below) {
        *high = ~*high + (*low == 0);
        *low = 0 - *low;
    }
}
#endif

/* ---- a block's table ---- */

/* An element that a table does not take is added to its group's integer in global memory. Returns whether it is outside
 * the window. */
__noinline__ bool add_outside(uint32 *total, uint64 groups, uint32 highest, value_t x) {
#if IS_WINDOW
    enum { SPAN = HIGHEST_BIT - FRACTION_BITS };
    const uint32 exponent = exponent_of(x), least = highest > SPAN ? highest - SPAN : 1;
    if (exponent < least || exponent > highest || exponent == NO_NUMBER)
        return true;
    uint64 number[2];
    shifted(fraction_of(x), exponent + SPAN - highest, !IS_SUM_OF_ABSOLUTES && (int)upper_word(x) < 0, &number[0],
            &number[1]);
    word_sum sum;
#pragma unroll
    for (int w = 0; w < SUM_WORDS; w++)
        sum.word[w] = (uint32)(number[w / 2] >> 32 * (w % 2));
    sum.count = 0;
    add_to_all(total, groups, sum);
#endif
    return false;
}

/* The groups of a table that begins with this one. */
inline uint32 groups_of(const label_sums_args &p, uint32 begin) {
    return begin >= p.groups ? 0 : p.groups - begin < p.width ? (uint32)p.groups - begin : p.width;
}

/* The half of a word that is group g's: a number with a sign, as the lower half may have borrowed from the upper. */
inline uint32 half_of(uint32 word, uint32 g) {
    const int lower = (int16)word;
    return (uint32)(g & 1 ? (int)(word - lower) >> 16 : lower);
}

/* Adds to all bits what the halves of a word miss of an addition to place 'at' of the table, for group 'group' of all.
 * The table begins with group 'begin' and has 'width' groups. */
__noinline__ void add_missing(uint32 *totals, uint64 groups, uint32 begin, uint32 width, uint32 at, uint32 group,
                              uint32 before, uint32 added, uint32 wanted) {
    for (uint32 half = 0; half < 2; half++) {
        const bool is_own = half == (at & 1);
        const uint32 missing = (is_own ? wanted : 0) - (half_of(before + added, half) - half_of(before, half));
        if (missing == 0 || (!is_own && (at ^ 1) >= width))
            continue;
        table_number number = {};
        number.word[TABLE_WORDS - 1] = missing;
        add_to_all(totals + (is_own ? group : begin + (at ^ 1)), groups, sum_of_number(number, 0));
    }
}

/* The table of 'width' groups: the lowest words of the integers, the next ones, then numbers of elements. Its group g is
 * group 'begin' + g of all. */
template <bool Halves> struct word_table {
    const label_sums_args &p;
    uint32 *words;
    uint32 pitch; /* from a word of an integer to the next */
    uint32 counts; /* where numbers of elements begin */
    uint32 begin, spare;
    bool failed = false; /* by an element outside the window */
    bool has_spilled = false;
    uint64 first_bad = ~0ull;
#if IS_WINDOW
    uint32 highest, lowest; /* elements, shifted by one bit, from the lowest to TABLE_SPAN above it fit the table */
    double scale;
#endif

    word_table(const label_sums_args &args, uint32 *memory, uint32 first_group)
        : p(args), words(stays_in_shared(memory)), pitch(args.width + SPARE_WORDS), begin(first_group),
          spare(args.width + 2 * WARP + slot()) {
        counts = (TABLE_WORDS - 1) * pitch + (Halves ? pitch / 2 : pitch);
#if IS_WINDOW
        highest = p.window->highest;
        const uint32 least = highest - (MARGIN - TABLE_MARGIN) - (TABLE_EXPONENTS - 1);
        lowest = least << EXPONENT_BIT;
        uint32 upper = (1023 + ELEMENT_BIAS + (IS_WIDE ? 0 : FRACTION_BITS) - least) << 20;
        hide(upper); /* the compiler would make it once more for each element */
        scale = __hiloint2double((int)upper, 0);
#endif
    }

    /* A lane's place among others: each has a bank, and a word of halves. */
    static uint32 slot() {
        const uint32 lane = threadIdx.x % WARP;
        return 2 * lane + lane / (WARP / 2);
    }

    void clear() {
        for (uint32 k = threadIdx.x; k < counts + LOWERS_BY_COUNT * pitch; k += WORD_THREADS)
            words[k] = 0;
    }
    /* A word of an integer; w is below ROW_WORDS. */
    uint32 word_at(uint32 w, uint32 g) const {
        if (w == TABLE_WORDS)
            return words[counts + g];
        if (!Halves || w + 1 < TABLE_WORDS)
            return words[w * pitch + g];
        return half_of(words[w * pitch + g / 2], g);
    }
    word_sum sum_at(uint32 g) const {
        table_number number;
#pragma unroll
        for (int w = 0; w < TABLE_WORDS; w++)
            number.word[w] = word_at(w, g);
        return sum_of_number(number, LOWERS_BY_COUNT ? word_at(TABLE_WORDS, g) : 0);
    }

    uint32 place_of_half(uint32 g) const {
        return (TABLE_WORDS - 1) * pitch + g / 2;
    }

    /* The integer of an element that the table takes. */
    table_number number_of(value_t x) const {
        table_number number;
#if IS_WINDOW
        const value_t size = IS_SUM_OF_ABSOLUTES ? absolute(x) : x;
        if constexpr (HAS_FAST_DOUBLES && IS_WIDE) {
            const double unit = (double)size * scale, high = __fma_rd(unit, 0x1p20, 0x1.8p52), /* the upper words */
                low = __fma_rn(__fma_rn(high - 0x1.8p52, -0x1p-20, unit), 0x1p52, 0x1p52); /* the rest, not below 0 */
            number.word[0] = (uint32)__double2loint(low);
            number.word[1] = (uint32)__double2loint(high);
            number.word[TABLE_WORDS - 1] = (uint32)__double2hiint(high) - 0x43380000;
        } else if constexpr (HAS_FAST_DOUBLES) {
            const double whole = __fma_rn((double)size, scale, 0x1.8p52); /* whose lower bits are the integer */
            number.word[0] = (uint32)__double2loint(whole);
            number.word[1] = (uint32)__double2hiint(whole) - 0x43380000;
        } else {
            uint64 low, high;
            shifted(fraction_of(size), above_lowest(x) >> EXPONENT_BIT & 31, (int)upper_word(size) < 0, &low, &high);
#pragma unroll
            for (int w = 0; w < TABLE_WORDS; w++)
                number.word[w] = (uint32)(w < 2 ? low >> 32 * w : high);
        }
#else
        const uint64 integer = (uint64)lift_as<acc_t>(x, value_t(0), 0).a0;
        number.word[0] = (uint32)integer;
        number.word[1] = (uint32)(integer >> 32);
#endif
        return number;
    }
#if IS_WINDOW
    uint32 above_lowest(value_t x) const {
        const uint32 upper = upper_word(x);
        return upper + upper - lowest;
    }
    static bool is_nothing(value_t x) {
        return IS_EXACT ? bits_of_element(x) == 0 : x == 0; /* a sum of only -0 is -0 */
    }
#endif

    /* Adds numbers to groups; the atomic operations on a word are under way together. */
    template <int Count> void add_numbers(const table_number number[Count], const uint32 at[Count], uint32 hot) {
        uint64 word[Count];
#pragma unroll
        for (int j = 0; j < Count; j++)
            word[j] = number[j].word[0];
#pragma unroll
        for (int w = 0; w < TABLE_WORDS - 1; w++) {
            uint32 before[Count];
#pragma unroll
            for (int j = 0; j < Count; j++)
                before[j] = add_shared(words + w * pitch + at[j], (uint32)word[j]);
#pragma unroll
            for (int j = 0; j < Count; j++)
                word[j] = number[j].word[w + 1] + (word[j] >> 32) + (((uint64)before[j] + (uint32)word[j]) >> 32);
        }
        if constexpr (Halves) {
            add_halves<Count>(word, at, hot);
        } else {
#pragma unroll
            for (int j = 0; j < Count; j++)
                if (IS_WINDOW || (uint32)word[j])
                    add_shared_only(words + (TABLE_WORDS - 1) * pitch + at[j], (uint32)word[j]);
        }
    }

    /* The highest words, in halves. An addition may pass what a half holds. It sees so by what stood there: so nothing
     * is lost if it adds to all bits by what the halves are wrong. A number's word has 8 bits. */
    template <int Count> void add_halves(const uint64 word[Count], const uint32 at[Count], uint32 hot) {
        enum { NEAR = 1 << 9 };
        uint32 before[Count], added[Count];
        bool are_near = false;
#pragma unroll
        for (int j = 0; j < Count; j++) {
            added[j] = __funnelshift_l(0, (uint32)word[j], at[j] * 16); /* by the lower five bits */
            before[j] = add_shared(words + place_of_half(at[j]), added[j]);
        }
#pragma unroll
        for (int j = 0; j < Count; j++)
            are_near |= at[j] < spare - slot() &&
                        __funnelshift_l(0, before[j], at[j] * 16 + 16) - (0x80000000 - (NEAR << 16)) < 2u * NEAR << 16;
        if (are_near)
#pragma unroll
            for (int j = 0; j < Count; j++)
                if (at[j] < spare - slot())
                    add_missing(p.totals, p.groups, begin, groups_of(p, begin), at[j],
                                begin + (at[j] < p.width ? at[j] : hot), before[j], added[j], (uint32)word[j]);
    }

#if IS_WINDOW
    /* Elements that do not fit the table are added to all bits. Those that are 0 need not be added. */
    template <int Count> void add_rare(const value_t x[Count], uint32 at[Count], uint32 hot) {
        bool is_rare = !HAS_FAST_DOUBLES; /* there 0 has an integer that is none */
#pragma unroll
        for (int j = 0; j < Count; j++)
            is_rare |= above_lowest(x[j]) >= TABLE_SPAN && !is_nothing(x[j]);
        if (!is_rare)
            return;
#pragma unroll
        for (int j = 0; j < Count; j++)
            if (above_lowest(x[j]) >= TABLE_SPAN) {
                if (at[j] != spare && !is_nothing(x[j])) {
                    const uint32 group = begin + (at[j] < p.width ? at[j] : hot);
                    failed |= add_outside(p.totals + group, p.groups, highest, x[j]);
                    has_spilled = true;
                }
                at[j] = spare;
            }
    }
#endif

    /* Adds elements to their places in the table, some at a time. */
    template <int Count> void add(const value_t x[Count], uint32 at[Count], uint32 hot) {
        table_number number[Count];
#pragma unroll
        for (int j = 0; j < Count; j++)
            number[j] = number_of(x[j]);
        if (LOWERS_BY_COUNT)
#pragma unroll
            for (int j = 0; j < Count; j++)
                add_shared_only(words + counts + at[j], 1);
#if IS_WINDOW
        uint32 bits = 0; /* one test for all elements, of which nearly all fit */
#pragma unroll
        for (int j = 0; j < Count; j++)
            bits |= above_lowest(x[j]);
        if (bits >= TABLE_SPAN)
            add_rare<Count>(x, at, hot);
#endif
        add_numbers<Count>(number, at, hot);
    }

    /* Where a lane adds elements of the hot group, in a word of its own, so that lanes need not wait for each other. */
    uint32 place_of_hot() const {
        return spare - 2 * WARP;
    }
    /* The place of a group's element in the table. */
    template <bool HasHot> uint32 place_of(bool is_there, uint32 g, uint32 hot) const {
        return !is_there ? spare : HasHot && g == hot ? place_of_hot() : g;
    }

    /* What this block's threads have added of the hot group. */
    void give_hot(uint32 hot) {
        if (threadIdx.x >= WARP)
            return;
        word_sum sum = sum_at(place_of_hot());
        for (int d = 1; d < WARP; d *= 2)
            sum.add(from_across(sum, d));
        if (threadIdx.x == 0)
            add_to_all(p.totals + (begin + hot), p.groups, sum);
    }

    /* Some neighbouring elements of the input, from i. Those of the hot group go to 'place_of_those'. That group counts
     * from this part's first, as in 32 bits, and may be another part's. */
    template <bool HasHot, int Count>
    void add_labelled(const few<in_t, Count> &x, const few<index_t, Count> &label, uint64 i, uint32 groups,
                      uint32 hot, uint32 place_of_those) {
        value_t value[Count];
        uint32 at[Count];
        bool is_bad = false;
#pragma unroll
        for (int j = 0; j < Count; j++) {
            const index_t of = label.element[j];
            const uint32 g = (uint32)of - begin;
            value[j] = value_of(x.element[j]);
            const bool is_good = sizeof(index_t) <= 4 ? (uint32)of < (uint32)p.groups : (uint64)of < p.groups;
            const bool is_mine = (sizeof(index_t) <= 4 || is_good) && g < groups,
                       is_out = SKIPS_NAN && is_nan(value[j]);
            const bool is_hot = HasHot && (sizeof(index_t) <= 4 || is_good) && g == hot;
            at[j] = is_out ? spare : is_hot ? place_of_those : is_mine ? g : spare;
            is_bad |= !is_good;
        }
        add<Count>(value, at, hot);
        if (is_bad)
#pragma unroll
            for (int j = 0; j < Count; j++)
                first_bad = (uint64)label.element[j] >= p.groups && i + j < first_bad ? i + j : first_bad;
    }
};

/* Adds all elements of the block's share. */
template <bool HasHot, bool Halves>
inline void add_all(word_table<Halves> &table, const label_sums_args &p, uint64 me, uint64 stride, uint32 groups,
                    uint32 hot, uint32 place_of_those) {
    take_labelled<WORD_WIDTH, WORD_AHEAD, false, IS_WINDOW>(p, me, stride, [&](const auto &x, const auto &label, uint64 i) {
        table.template add_labelled<HasHot>(x, label, i, groups, hot, place_of_those);
    });
    __syncthreads();
    if (HasHot)
        table.give_hot(hot);
}

template <bool Halves> inline void add_part(const label_sums_args &p) {
    extern __shared__ __align__(16) uint8 word_memory[];
    const uint32 part = blockIdx.x % p.parts, chunk = blockIdx.x / p.parts, begin = part * p.width;
    const uint32 groups = groups_of(p, begin);
    word_table<Halves> table(p, (uint32 *)word_memory, begin);
    table.clear();
    __syncthreads();
    const uint64 me = chunk * (uint64)WORD_THREADS + threadIdx.x, stride = p.chunks * WORD_THREADS;
    /* Parts share the hot group's elements, as its own part would have more to add than the others: each adds those that
     * some of its warps find. */
    const bool takes_hot = threadIdx.x / WARP % p.parts == part;
    if (p.window->hot)
        add_all<true>(table, p, me, stride, groups, p.window->hot - 1 - begin,
                      takes_hot ? table.place_of_hot() : table.spare);
    else
        add_all<false>(table, p, me, stride, groups, 0, 0);
#pragma unroll
    for (int w = 0; w < ROW_WORDS; w++)
        for (uint32 g = threadIdx.x; g < groups; g += WORD_THREADS)
            p.partials[(chunk * (uint64)ROW_WORDS + w) * p.groups + begin + g] = table.word_at(w, g);
#if IS_WINDOW
    if (table.failed)
        atomicOr(&p.window->failed, 1u);
#endif
    if (part == 0 && !p.skips && table.first_bad != ~0ull) {
        atomicOr(&p.told->refused, 1u);
        atomicMax(&p.told->not_bad, ~table.first_bad);
    }
}

extern "C" __global__ void __launch_bounds__(WORD_THREADS, 1) add_sums(label_sums_args p SIZED) {
    TAKE_SIZE(p.n)
#if IS_WINDOW
    if (p.halves) {
        add_part<true>(p);
        return;
    }
#endif
    add_part<false>(p);
}

/* ---- all tables ---- */

#if IS_EXACT
inline out_t result_of(const label_sums_args &p, const word_sum &sum) {
    uint32 digits[SUM_WORDS];
    const bool is_below = sum.word[SUM_WORDS - 1] >> 31;
    uint64 carry = is_below;
    int low = 0, count = 0; /* neither end of the digits is zero, as a tie needs to be known */
#pragma unroll
    for (int w = 0; w < SUM_WORDS; w++) {
        carry += is_below ? ~sum.word[w] : sum.word[w];
        digits[w] = (uint32)carry;
        carry >>= 32;
        low = count ? low : w;
        count = digits[w] ? w + 1 : count;
    }
    const int lowest = (int)p.window->highest - ELEMENT_BIAS - HIGHEST_BIT + 32 * low;
    const magnitude size = {digits + low, count ? count - low : 0, lowest, is_below};
    return element_of_bits<out_t>(result_bits(size, SAW_OTHER, sum.count));
}
#else
inline result_t result_of(const label_sums_args &p, const word_sum &sum) {
    acc_t acc;
#if COUNTS_ELEMENTS
    acc.a1 = sum.count;
#endif
#if IS_WINDOW
    enum { SPARE = 8 }; /* powers of two, so that no scale is beyond the doubles */
    const bool is_below = sum.word[SUM_WORDS - 1] >> 31;
    const uint64 low = sum.word[0] | (uint64)sum.word[1] << 32,
                 high = sum.word[2] | (IS_WIDE ? (uint64)sum.word[SUM_WORDS - 1] << 32 : (uint64)(int64)(int)sum.word[2]);
    const double above = (double)(is_below ? ~high + (low == 0) : high), below = (double)(is_below ? 0 - low : low);
    const double scale = __longlong_as_double((int64)(p.window->highest + (1023 - ELEMENT_BIAS) - SPARE) << 52);
    const double size = (above * 0x1p64 + below) * (1 / (double)(1ull << (HIGHEST_BIT / 2 - SPARE / 2))) *
                        (1 / (double)(1ull << (HIGHEST_BIT - HIGHEST_BIT / 2 - SPARE + SPARE / 2))) * scale;
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
inline word_sum total_at(const uint32 *from, uint64 apart) {
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
        const bool is_due = g < p.groups && !(p.buckets && is_one_task(p, g));
        word_sum sum = {};
#pragma unroll 4
        for (uint64 k = threadIdx.x % p.lanes; k < p.chunks && is_due; k += p.lanes) {
            const uint32 *const row = p.partials + k * ROW_WORDS * p.groups + g;
            table_number number;
#pragma unroll
            for (int w = 0; w < TABLE_WORDS; w++)
                number.word[w] = row[w * p.groups];
            sum.add(sum_of_number(number, LOWERS_BY_COUNT ? row[TABLE_WORDS * p.groups] : 0));
        }
        for (uint32 d = 1; d < p.lanes; d *= 2)
            sum.add(from_across(sum, d));
        if (is_due && threadIdx.x % p.lanes == 0) {
            sum.add(total_at(p.totals + g, p.groups));
            store(p.out + g, result_of(p, sum));
        }
    }
}
