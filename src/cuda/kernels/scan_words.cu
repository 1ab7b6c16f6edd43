/* How a scan's summers and finishers handle bytes and halves whose results are as wide: four or two in a word. An
 * element by itself took some 13 instructions by segments, and a processor of an H200 does some 60 a cycle while 9
 * bytes arrive.
 *
 * Elements are brought into a form in which 0 changes nothing: for a smallest value all bits are turned over, and
 * signed ones are moved to the numbers from 0 on. So a mask leaves elements out. Sums and largest values of bytes go by
 * halves of 16 bits, the bytes at even places of a word and those at odd places. */

enum {
    ELEMENT_BITS = 8 * sizeof(in_t),
    IN_WORD = 4 / sizeof(in_t), /* elements of a word */
    WORDS_OF_STRETCH = ITEMS / IN_WORD,
    IN_HALVES = sizeof(in_t) == 1 && WORD_KIND >= WORD_LARGEST,
    IS_SIGNED = in_t(-1) < in_t(0)
};
constexpr uint32 EACH = sizeof(in_t) == 1 ? 0x01010101 : 0x00010001, ELEMENT = (1u << ELEMENT_BITS) - 1,
                 FLIP = WORD_KIND == WORD_SUM || TAKES_ABSOLUTES
                            ? 0
                            : (WORD_TURNS ? ~0u : 0) ^
                                  (IS_SIGNED && WORD_KIND == WORD_LARGEST ? EACH << (ELEMENT_BITS - 1) : 0);
static_assert(WORD_KIND != WORD_SUM || ITEMS * 255 + 255 < 1 << 16);

/* Joins the elements of two words, place by place: IN_HALVES two, else all. */
inline uint32 join_words(uint32 a, uint32 b) {
    return WORD_KIND == WORD_OR    ? a | b
           : WORD_KIND == WORD_XOR ? a ^ b
           : WORD_KIND == WORD_SUM ? a + b
                                   : __vmaxu2(a, b);
}
/* A word of elements in the form in which they are joined, and back. */
inline uint32 form_of(uint32 word) {
    if (TAKES_ABSOLUTES && IS_SIGNED) {
        const uint32 negative = word >> (ELEMENT_BITS - 1) & EACH;
        return (word ^ negative * ELEMENT) + negative;
    }
    return word ^ FLIP;
}
/* The same of a sum, as one element, and in all places of a word. */
template <class A> inline uint32 in_all_places(const A &sum) {
    const uint32 element = ((uint32)sum.a0 ^ FLIP) & ELEMENT;
    return element * (IN_HALVES ? 0x00010001 : EACH);
}
inline lane_t sum_of_form(uint32 element) {
    const uint32 bits = (element ^ FLIP) & ELEMENT;
    lane_t sum;
    sum.a0 = IS_SIGNED && !TAKES_ABSOLUTES ? (decltype(sum.a0))(in_t)bits : (decltype(sum.a0))bits;
    return sum;
}

/* A mask of a word's elements from number 'from' on. */
inline uint32 places_from(int from) {
    return from <= 0 ? ~0u : from >= IN_WORD ? 0 : ~0u << from * ELEMENT_BITS;
}

/* The sum of words in that form, in any order. */
struct words_sum {
    enum : uint32 { OUTSIDE = FLIP }; /* whose form is 0 */
    uint32 sum = 0;

    void add_vector(const uint32 (&word)[4]) {
#pragma unroll
        for (int w = 0; w < 4; w++)
            add(form_of(word[w]));
    }
    void add(uint32 word) {
        if (WORD_KIND == WORD_SUM)
            sum = IS_SIGNED && !TAKES_ABSOLUTES ? add_bytes<int8>(word, sum) : add_bytes<uint8>(word, sum);
        else if (IN_HALVES)
            sum = join_words(sum, join_words(word & 0x00ff00ff, __byte_perm(word, 0, 0x4341)));
        else
            sum = join_words(sum, word);
    }
    lane_t get() const {
        if (WORD_KIND == WORD_SUM) {
            lane_t all;
            all.a0 = (decltype(all.a0))sum;
            return all;
        }
        uint32 all = join_words(sum, sum >> 16);
        if (sizeof(in_t) == 1 && !IN_HALVES)
            all = join_words(all, all >> 8);
        return sum_of_form(all);
    }
};

/* Scans words in that form. 'before' has the sum before the next word in all places, 'base' what a group begins with.
 */
struct words_scan {
    uint32 before, base;

    /* Without heads. */
    uint32 next(uint32 word) {
        if (IN_HALVES) {
            const uint32 even = word & 0x00ff00ff, odd = __byte_perm(word, 0, 0x4341), pairs = join_words(even, odd);
            const uint32 through = join_words(join_words(pairs, pairs << 16), before); /* up to the end of each pair */
            const uint32 up_to = __byte_perm(before, through, 0x5410), middle = join_words(up_to, even);
            before = __byte_perm(through, 0, 0x3232);
            return __byte_perm(INCLUSIVE ? middle : up_to, INCLUSIVE ? through : middle, 0x6240);
        }
        if (IN_WORD == 4)
            word = join_words(word, word << 8);
        word = join_words(join_words(word, word << 16), before);
        return give(word, up_to(word));
    }
    /* With a bit for each element that is a head. */
    uint32 next(uint32 word, uint32 heads) {
        if (IN_HALVES) {
            const uint32 bits = heads * 0x10204080; /* each in the highest of a byte */
            const uint32 evens = spread_signs<0xaa88>(bits), odds = spread_signs<0xbb99>(bits);
            const uint32 even = word & 0x00ff00ff, odd = __byte_perm(word, 0, 0x4341);
            const uint32 pairs = join_words(even & ~odds, odd), open = ~(evens | odds), /* pairs without a head */
                all_open = open & (open << 16 | 0xffff);
            const uint32 through = join_words(join_words(pairs, pairs << 16 & open), chosen(all_open));
            const uint32 up_to = behind(evens, __byte_perm(before, through, 0x5410)), middle = join_words(up_to, even);
            before = __byte_perm(through, 0, 0x3232);
            return __byte_perm(INCLUSIVE ? middle : up_to, INCLUSIVE ? through : behind(odds, middle), 0x6240);
        }
        const uint32 begins =
            IN_WORD == 4 ? spread_signs<0xba98>(heads * 0x10204080) : spread_signs<0x9988>(heads * 0x4080);
        uint32 open = ~begins;
        word = join_words(word, word << ELEMENT_BITS & open);
        open &= open << ELEMENT_BITS | ELEMENT;
        if (IN_WORD == 4) {
            word = join_words(word, word << 16 & open);
            open &= open << 16 | 0xffff;
        }
        word = join_words(word, chosen(open));
        return give(word, behind(begins, up_to(word)));
    }

  private:
    uint32 up_to(uint32 through) const { return __byte_perm(before, through, IN_WORD == 4 ? 0x6540 : 0x5410); }
    uint32 give(uint32 through, uint32 up_to) {
        before = __byte_perm(through, 0, IN_WORD == 4 ? 0x3333 : 0x3232);
        return INCLUSIVE ? through : up_to;
    }
    uint32 chosen(uint32 open) const { return (before & open) | (base & ~open); }
    uint32 behind(uint32 begins, uint32 sum) const { return (sum & ~begins) | (base & begins); }
};

/* A thread's stretch. */
struct packed_stretch {
    uint32 word[WORDS_OF_STRETCH];

    void take(const stretch_of<in_t, ITEMS> &items, const span &mine) {
#pragma unroll
        for (int w = 0; w < WORDS_OF_STRETCH; w++)
            word[w] = form_of(in_logical_order<sizeof(in_t)>(items.word[REVERSE ? WORDS_OF_STRETCH - 1 - w : w]));
        if (mine.there < ITEMS)
#pragma unroll
            for (int w = 0; w < WORDS_OF_STRETCH; w++)
                word[w] &=
                    places_from(mine.absent - w * IN_WORD) & ~places_from(mine.absent + mine.there - w * IN_WORD);
    }
    lane_t sum(const span &mine) const {
        words_sum all;
        if (mine.heads) {
#pragma unroll
            for (int w = 0; w < WORDS_OF_STRETCH; w++)
                all.add(word[w] & places_from(mine.last() - w * IN_WORD));
        } else {
#pragma unroll
            for (int w = 0; w < WORDS_OF_STRETCH; w++)
                all.add(word[w]);
        }
        return all.get();
    }
    void scan(uint8 *memory, words_writer &results, const acc_t &left, const acc_t &base, const span &mine) {
        words_scan scan = {in_all_places(left), in_all_places(base)};
        if (GROUPS != ALL && __ballot_sync(ALL_LANES, mine.heads != 0)) {
#pragma unroll
            for (int w = 0; w < WORDS_OF_STRETCH; w++)
                word[w] = scan.next(word[w], (uint32)(mine.heads >> w * IN_WORD) & ((1 << IN_WORD) - 1));
        } else {
#pragma unroll
            for (int w = 0; w < WORDS_OF_STRETCH; w++)
                word[w] = scan.next(word[w]);
        }
#pragma unroll
        for (int w = 0; w < WORDS_OF_STRETCH; w++)
            results.put(memory, mine.stretch, w, word[w] ^ FLIP);
    }
};
