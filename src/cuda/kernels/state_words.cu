/* Accumulators as states in words, and back: what src/cpu/words.c does on the host. WRITE_NUMBERS and READ_NUMBERS,
 * which specialize.c makes, go through an accumulator's components. */

enum { HEAD = 2 };
[[maybe_unused]] constexpr int64 NOT_A_NUMBER_WORD = 0x7ff8000000000000ll, LEAST_WORD = (int64)(1ull << 63);

/* ---- components as integers, or as the bits of doubles ---- */

inline int64 as_word(double x) {
    return x == x ? __double_as_longlong(x) : NOT_A_NUMBER_WORD;
}
inline int64 as_word(float x) {
    return as_word((double)x);
}
template <class T> inline int64 as_word(T x) {
    return (int64)widest(x);
}

template <class T> struct component {
    static constexpr bool IS_REAL = false;
    static T of(int64 word) {
        return (T)word;
    }
};
template <> struct component<double> {
    static constexpr bool IS_REAL = true;
    static double of(int64 word) {
        return __longlong_as_double(word);
    }
};
template <> struct component<float> {
    static constexpr bool IS_REAL = true;
    static float of(int64 word) {
        return (float)__longlong_as_double(word);
    }
};

/* ---- keys, in the order of the values ---- */

template <class T> inline int64 turn_over(int64 word) {
    if (component<T>::IS_REAL)
        return word < 0 ? word ^ ~LEAST_WORD : word;
    return ARE_SAME<T, uint64> ? word ^ LEAST_WORD : word;
}
template <class T> inline int64 key_of(T x, bool is_least) {
    int64 word = as_word(x);
    if (component<T>::IS_REAL && word == NOT_A_NUMBER_WORD)
        return word;
    return is_least ? ~turn_over<T>(word) : turn_over<T>(word);
}
template <class T> inline T of_key(int64 key, bool is_least) {
    if (component<T>::IS_REAL && key == NOT_A_NUMBER_WORD)
        return component<T>::of(key);
    return component<T>::of(turn_over<T>(is_least ? ~key : key));
}

/* ---- states ---- */

/* Two digits for each word of an integer; the highest has the sign. */
[[maybe_unused]] inline void write_digits(uint64 word, bool is_highest, int64 *digits) {
    digits[0] = (int64)(uint32)word;
    digits[1] = is_highest && IS_SIGNED ? (int64)(int32)(word >> 32) : (int64)(uint32)(word >> 32);
}
[[maybe_unused]] inline uint64 read_digits(const int64 *digits, int64 *carry) {
    uint64 low = (uint64)digits[0] + (uint64)*carry;
    uint64 high = (uint64)digits[1] + (uint64)((int64)low >> 32);
    *carry = (int64)high >> 32;
    return (uint64)(uint32)low | high << 32;
}

[[maybe_unused]] inline void write_state(const acc_t &acc, uint64 elements, int64 *to) {
    int64 words[WORDS_COUNT];
    for (int i = 0; i < WORDS_COUNT; i++)
        words[i] = WORDS_ARE_KEYS ? LEAST_WORD : 0;
    if (elements) {
        WRITE_NUMBERS(acc, (words + HEAD))
        words[1] = (int64)elements;
        uint64 check = 0;
        for (int i = 1; i < WORDS_COUNT; i++)
            check += weight_of(i) * (uint64)words[i];
        words[0] = (int64)check;
        if (WORDS_ARE_KEYS) {
            words[0] = (int64)WORDS_TAG;
            words[1] = (int64)~WORDS_TAG;
            for (int k = 0; k < WORDS_NUMBERS; k++)
                words[HEAD + WORDS_NUMBERS + k] = words[HEAD + k];
        }
    }
    for (int i = 0; i < WORDS_COUNT; i++)
        store(to + i, words[i]);
}

/* The state of 'elements' elements, less those that are left out. */
[[maybe_unused]] inline void write_total(const acc_t &acc, uint64 elements, int64 *to) {
#if SKIPS_NAN && MOMENTS
    elements = (uint64)acc.a0;
#elif COUNTS_ELEMENTS
    elements = ADDED_OF(acc);
#endif
    write_state(acc, elements, to);
}

inline uint64 elements_of(const int64 *words) {
    return WORDS_ARE_KEYS ? words[0] != LEAST_WORD : (uint64)words[1];
}

inline void load_words(const int64 *from, int64 *words) {
    for (int i = 0; i < WORDS_COUNT; i++)
        words[i] = load(from + i);
}

inline bool is_whole(const int64 *words) {
    uint64 check = 0;
    bool is_blank = true, are_same = true;
    for (int i = 0; i < WORDS_COUNT; i++) {
        check += i ? weight_of(i) * (uint64)words[i] : 0;
        is_blank &= words[i] == LEAST_WORD;
    }
    for (int k = 0; k < WORDS_NUMBERS && WORDS_ARE_KEYS; k++)
        are_same &= words[HEAD + k] == words[HEAD + WORDS_NUMBERS + k];
    if (WORDS_ARE_KEYS)
        return is_blank || (are_same && (uint64)words[0] == WORDS_TAG && (uint64)words[1] == ~WORDS_TAG);
    return check == (uint64)words[0] && (!IS_INDEXED || !words[1] || (uint64)words[HEAD + 1] < (uint64)words[1]);
}

/* Adds the state in words, of elements that come after those of 'acc'. */
inline void append_state(const int64 *words, acc_t &acc, uint64 &elements) {
    const uint64 count = elements_of(words);
    if (!count)
        return;
    acc_t next;
    READ_NUMBERS(next, (words + HEAD))
#if IS_INDEXED
    next.a1 += elements; /* indices count from the group's first element */
#endif
    acc = combine(acc, next);
    elements += count;
}
