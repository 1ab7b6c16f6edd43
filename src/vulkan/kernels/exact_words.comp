/* Exact mode: sums and sums of products that are rounded once. A team of threads, some or all of a workgroup, keeps a
 * fixed-point number in shared memory, in words with 16 bits of payload, wide enough for any sum of the type's terms. A
 * thread adds terms to a narrower accumulator in registers (exact_window.comp or exact_levels.comp) and, now and then,
 * adds that to the number. Terms that do not fit there go to the number directly. All that is added is integers, whose
 * order does not matter: no cut and no race changes a bit of a result.
 *
 * Before this text stand the choices:
 *
 *   PRODUCTS        terms are products of two elements: of x and y, or x and x
 *   WIDE            elements are f64; else f16, bf16 or f32
 *   BY_LEVELS       threads add in floats of their elements' size, which the device rounds to nearest; else in integers
 *   LIMBS, BOTTOM   32 bits each of the number; bit 0 of it is 2^BOTTOM
 *   LEAST_TEAM      threads */
const uint WORDS = 2 * LIMBS;
/* For variances (HAS_MOMENTS) a team has two numbers: the sum of the elements, whose bit 0 is 2^SUM_BOTTOM, and then
 * that of their squares. Elements are added to one and then to the other. */
const uint SUM_WORDS = 2 * SUM_LIMBS, STATE_WORDS = SUM_WORDS + WORDS;
#if HAS_MOMENTS
bool adds_squares = false;
#define NUMBER_AT  (adds_squares ? SUM_WORDS : 0u)
#define NUMBER_END (adds_squares ? STATE_WORDS : SUM_WORDS)
#else
#define NUMBER_AT  0u
#define NUMBER_END STATE_WORDS
#endif
#if PRODUCTS
#define IS_DOT         TAKES_TWO_INPUTS
#define HAS_MAGNITUDES false
#else
#define IS_DOT         false
#define HAS_MAGNITUDES TAKES_MAGNITUDES
#endif

shared int words[BLOCK / LEAST_TEAM * STATE_WORDS];
shared uint all_saw[BLOCK / LEAST_TEAM];
/* SKIPS_NAN: NaNs that were left out, and 2^32 of them. */
shared uint all_skipped[BLOCK / LEAST_TEAM], all_skipped_above[BLOCK / LEAST_TEAM];

/* A thread's team, which is so many threads, and its place there. */
uint team, team_size, part;

/* The most threads that deposit in the same words: all threads of a large team would wait for each other. So such a
 * team has several numbers, and the first one becomes their sum at the end. */
const uint SHARING = LEAST_TEAM > 16 ? LEAST_TEAM : 16;
uint own_words, first_words; /* where the thread's begin, and the team's */

/* All teams pass the same barriers. */
void form_teams(uint threads) {
    const uint sharing = min(threads, SHARING);
    team_size = threads;
    part = THREAD & threads - 1;
    team = THREAD / threads;
    own_words = THREAD / sharing * STATE_WORDS;
    first_words = team * (threads / sharing) * STATE_WORDS;
}
uint numbers_of_team() {
    return team_size / min(team_size, SHARING);
}

void clear_words() {
    barrier(); /* earlier use of the memory */
    for (uint i = part; i < numbers_of_team() * STATE_WORDS; i += team_size)
        words[first_words + i] = 0;
    if (part == 0)
        all_saw[team] = HAS_MAGNITUDES ? SAW_OTHER : 0; /* absolute values are never -0 */
    if (SKIPS_NAN && part == 0)
        all_skipped[team] = all_skipped_above[team] = 0;
    barrier();
}

void skip(wide elements) {
    if (!SKIPS_NAN || elements == wide(0))
        return;
    const uint before = atomicAdd(all_skipped[team], elements.x);
    atomicAdd(all_skipped_above[team], elements.y + (before + elements.x < before ? 1u : 0u));
}
wide taken_of(wide elements) {
    return SKIPS_NAN ? minus(elements, wide(all_skipped[team], all_skipped_above[team])) : elements;
}

void sum_numbers_of_team() {
    barrier();
    for (uint i = part; i < STATE_WORDS; i += team_size) {
        int sum = 0;
        for (uint k = 0; k < numbers_of_team(); k++)
            sum += words[first_words + k * STATE_WORDS + i];
        words[first_words + i] = sum;
    }
    barrier();
}

/* Adds less than 2^16 to a word. From 2^24 on, the thread that adds to a word also takes away more than any thread adds
 * at once, and gives that to the next word. So no word reaches 2^26, however many deposits there are. */
const int FULL = 1 << 24, TAKEN = 16;
void add_to_word(uint to, int piece) {
    while (true) {
        const int after = atomicAdd(words[own_words + to], piece) + piece;
        if (abs(after) < FULL || to + 1 == NUMBER_END)
            break;
        piece = after < 0 ? -TAKEN : TAKEN;
        atomicAdd(words[own_words + to], -65536 * piece);
        to++;
    }
}

void deposit(wide magnitude, bool negative, int position) {
    uint to = NUMBER_AT + (uint(position) >> 4);
    const uint shift = uint(position) & 15u;
    uint piece = magnitude.x << shift & 65535u;
    magnitude = shifted_down(magnitude, 16 - shift);
    while (true) {
        if (piece != 0)
            add_to_word(to, negative ? -int(piece) : int(piece));
        if (magnitude == wide(0))
            break;
        to++;
        piece = magnitude.x & 65535u;
        magnitude = shifted_down(magnitude, 16);
    }
}

/* Word i after the part above each word's payload has moved one word up. */
int carried_word(uint i) {
    const int word = words[first_words + i];
    const bool is_lowest = i == 0 || i == SUM_WORDS, is_highest = i + 1 == SUM_WORDS || i + 1 == STATE_WORDS;
    return (is_highest ? word : word & 65535) + (is_lowest ? 0 : words[first_words + i - 1] >> 16);
}

/* ---- elements ---- */

/* -0 as a vector. */
uvec4 minus_zeros() {
    const uint word = IN_LOG == 0 ? 0x80808080u : IN_LOG == 1 ? 0x80008000u : 0x80000000u;
    return IN_LOG == 3 ? uvec4(0, word, 0, word) : uvec4(word);
}
/* The elements that are added: x, or |x|. */
uvec4 summands_of(uvec4 vector) {
    return HAS_MAGNITUDES ? vector & ~minus_zeros() : vector;
}

/* Element i of some that are 'apart' bytes from each other. */
uvec2 load_apart(address x, uint i, wide apart) {
    const uvec2 bits = load_bits(plus(x, times(apart, i)), IN_LOG);
    return HAS_MAGNITUDES ? bits & ~sign_bit(IN) : bits;
}

/* The bit of the number that stands for 2^exponent; for a factor, bit 0 is the least power of two that factors have. */
int position_of(int exponent) {
    return exponent - lowest_exponent(WIDE != 0 ? F64 : F32);
}

/* ---- sums in global memory: of a chunk, or of what earlier pieces came to ---- */

const uint SUM_BYTES = (STATE_WORDS + 4) * 4;

address sum_at(address sums, wide i) {
    return plus(sums, times(i, SUM_BYTES));
}
/* Words after a carry, so that sums of some thousand of them fit, the kinds of values seen and, from STATE_WORDS + 2 on,
 * the elements that were left out. */
void add_stored(address at) {
    for (uint i = part; i < STATE_WORDS; i += team_size)
        words[first_words + i] += int(words_at(at).word[i]);
    if (part == 0)
        all_saw[team] |= words_at(at).word[STATE_WORDS];
    if (SKIPS_NAN && part == 0)
        skip(load_bits(plus(at, 4 * (STATE_WORDS + 2)), 3));
}
void store_words(address at) {
    for (uint i = part; i < STATE_WORDS; i += team_size)
        words_at(at).word[i] = uint(carried_word(i));
    if (part == 0)
        words_at(at).word[STATE_WORDS] = all_saw[team];
    if (part == 0) {
        words_at(at).word[STATE_WORDS + 2] = SKIPS_NAN ? all_skipped[team] : 0;
        words_at(at).word[STATE_WORDS + 3] = SKIPS_NAN ? all_skipped_above[team] : 0;
    }
}
