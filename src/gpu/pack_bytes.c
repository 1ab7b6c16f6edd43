/* Finds the cheapest path through the bytes: the fewest bits that lead to each place, by a literal or by a repetition.
 * A symbol costs the length of its code in the round before. */
#include "gpu/pack_bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/unpack_bytes.h"

enum {
    ROUNDS = 3,
    HASHES = 1 << 16,
    MOST_TRIES = 50, /* places of the same hash */
    LONG = 512,      /* a repetition that is taken as it is, without a look at shorter ones */
    UNUSED_BITS = 13 /* that a symbol without a code costs */
};

/* The cheapest path to a place, and its last step: a literal if nothing is repeated. */
typedef struct step {
    uint32_t bits, repeated, distance, recent[TALLY_UNPACK_RECENT];
} step;

typedef struct code {
    uint32_t counts[TALLY_UNPACK_SYMBOLS];
    unsigned char lengths[TALLY_UNPACK_SYMBOLS];
    uint32_t words[TALLY_UNPACK_SYMBOLS];
} code;

static code codes[TALLY_UNPACK_CODES];
static const unsigned char *bytes;
static uint32_t count, bit_count;            /* of what is packed, and of what it becomes */
static step *steps;                          /* to each place */
static uint32_t last_with[HASHES], *earlier; /* places of the same hash; plus 1, and 0: none */
static unsigned char *packed;

static void fail(const char *why) {
    fprintf(stderr, "pack: %s\n", why);
    exit(1);
}

static void *allocate(size_t size) {
    void *made = calloc(size, 1);
    if (!made)
        fail("there is not enough memory");
    return made;
}

/* ---- Huffman's codes ---- */

/* The two rarest nodes become one until one is left. Returns the longest code's length. */
static unsigned make_lengths(code *c) {
    uint32_t weight[2 * TALLY_UNPACK_SYMBOLS] = {0};
    int parent[2 * TALLY_UNPACK_SYMBOLS], nodes = TALLY_UNPACK_SYMBOLS;
    bool is_root[2 * TALLY_UNPACK_SYMBOLS] = {false};
    unsigned longest = 0;
    for (int k = 0; k < TALLY_UNPACK_SYMBOLS; k++) {
        weight[k] = c->counts[k];
        is_root[k] = c->counts[k] > 0;
        parent[k] = -1;
    }
    for (;; nodes++) {
        int pair[2] = {-1, -1};
        for (int k = 0; k < nodes; k++)
            if (is_root[k] && (pair[0] < 0 || weight[k] < weight[pair[0]])) {
                pair[1] = pair[0];
                pair[0] = k;
            } else if (is_root[k] && (pair[1] < 0 || weight[k] < weight[pair[1]])) {
                pair[1] = k;
            }
        if (pair[1] < 0)
            break;
        weight[nodes] = weight[pair[0]] + weight[pair[1]];
        parent[nodes] = -1;
        parent[pair[0]] = parent[pair[1]] = nodes;
        is_root[pair[0]] = is_root[pair[1]] = false;
        is_root[nodes] = true;
    }
    for (int k = 0; k < TALLY_UNPACK_SYMBOLS; k++) {
        unsigned length = c->counts[k] && parent[k] < 0; /* a symbol that is alone has one bit */
        for (int node = k; parent[node] >= 0; node = parent[node])
            length++;
        c->lengths[k] = (unsigned char)length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Codes that are too long get shorter when rare symbols count as less rare. */
static void make_code(code *c) {
    while (make_lengths(c) > TALLY_UNPACK_CODE_BITS)
        for (int k = 0; k < TALLY_UNPACK_SYMBOLS; k++)
            c->counts[k] = (c->counts[k] + 1) / 2;
    uint32_t word = 0;
    for (unsigned length = 1; length <= TALLY_UNPACK_CODE_BITS; length++, word <<= 1)
        for (int k = 0; k < TALLY_UNPACK_SYMBOLS; k++)
            if (c->lengths[k] == length)
                c->words[k] = word++;
}

/* ---- the cheapest path ---- */

/* A number's class, and the number of its low bits. */
static unsigned class_of(uint32_t number, unsigned *bits) {
    *bits = 0;
    if (number < 4)
        return (unsigned)number;
    while (number >> *bits >= 4)
        ++*bits;
    return 2 * (*bits + 1) + (unsigned)(number >> *bits & 1);
}

static uint32_t cost_of(tally_unpack_code which, uint32_t symbol) {
    const unsigned char length = codes[which].lengths[symbol];
    return length ? length : UNUSED_BITS;
}

static tally_unpack_code code_after(const step *s) {
    return s->repeated ? TALLY_UNPACK_AFTER_REPETITION : TALLY_UNPACK_AFTER_LITERAL;
}

static unsigned which_recent(const step *s, uint32_t distance) {
    unsigned which = 0;
    while (which < TALLY_UNPACK_RECENT && s->recent[which] != distance)
        which++;
    return which;
}

/* Paths from 'at' that repeat more than 'least' bytes, and up to 'most'. */
static void try_repetition(uint32_t at, uint32_t distance, uint32_t least, uint32_t most) {
    const step *const from = &steps[at];
    const unsigned which = which_recent(from, distance);
    unsigned low_bits = 0;
    const unsigned symbol =
        which < TALLY_UNPACK_RECENT ? which : TALLY_UNPACK_RECENT + class_of(distance - 1, &low_bits);
    const uint32_t begun = from->bits + cost_of(TALLY_UNPACK_DISTANCE, symbol) + low_bits;
    for (uint32_t repeated = most > LONG ? most : least + 1; repeated <= most; repeated++) {
        const unsigned class = class_of(repeated - TALLY_UNPACK_LEAST, &low_bits);
        const uint32_t bits = begun + cost_of(code_after(from), TALLY_UNPACK_LITERALS + class) + low_bits;
        step *const to = &steps[at + repeated];
        if (bits >= to->bits)
            continue;
        *to = (step){bits, repeated, distance, {from->recent[0], from->recent[1], from->recent[2]}};
        tally_unpack_renew(to->recent, which, distance);
    }
}

static void try_literal(uint32_t at) {
    const step *const from = &steps[at];
    step *const to = &steps[at + 1];
    const uint32_t bits = from->bits + cost_of(code_after(from), bytes[at]);
    if (bits < to->bits) {
        *to = *from;
        to->bits = bits;
        to->repeated = to->distance = 0;
    }
}

static uint32_t repeated_at(uint32_t at, uint32_t from) {
    uint32_t length = 0;
    while (at + length < count && bytes[from + length] == bytes[at + length])
        length++;
    return length;
}

static uint32_t hash_at(uint32_t at) {
    return ((uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16) * 2654435761u >> 16;
}

static void enter(uint32_t at) {
    if (at + 3 > count)
        return;
    earlier[at] = last_with[hash_at(at)];
    last_with[hash_at(at)] = at + 1;
}

/* The nearest place of each length. Returns the longest. */
static uint32_t try_repetitions(uint32_t at) {
    uint32_t longest = TALLY_UNPACK_LEAST - 1;
    for (unsigned k = 0; k < TALLY_UNPACK_RECENT; k++) {
        const uint32_t distance = steps[at].recent[k];
        const uint32_t length = distance && distance <= at ? repeated_at(at, at - distance) : 0;
        try_repetition(at, distance, TALLY_UNPACK_LEAST - 1, length);
        longest = length > longest ? length : longest;
    }
    if (at + 3 > count)
        return longest;
    uint32_t least = TALLY_UNPACK_LEAST;
    uint32_t place = last_with[hash_at(at)];
    for (int tries = 0; place && tries < MOST_TRIES && longest <= LONG; place = earlier[place - 1], tries++) {
        const uint32_t length = repeated_at(at, place - 1);
        if (length <= least)
            continue;
        try_repetition(at, at - (place - 1), least, length);
        least = length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void find_path(void) {
    memset(last_with, 0, sizeof last_with);
    for (uint32_t k = 0; k <= count; k++)
        steps[k].bits = UINT32_MAX;
    steps[0] = (step){0};
    for (uint32_t at = 0; at < count;) {
        try_literal(at);
        const uint32_t longest = try_repetitions(at), until = longest > LONG ? at + longest : at + 1;
        while (at < until)
            enter(at++);
    }
}

/* Leaves in each step's 'bits' the place that follows on the path. */
static void turn_around(void) {
    for (uint32_t at = count, after = 0; at > 0;) {
        const uint32_t before = at - (steps[at].repeated ? steps[at].repeated : 1);
        steps[at].bits = after;
        after = at;
        at = before;
        steps[at].bits = after;
    }
}

/* ---- symbols ---- */

static void put_bits(uint32_t word, unsigned bits) {
    while (bits-- > 0) {
        packed[bit_count / 8] |= (unsigned char)((word >> bits & 1) << (7 - bit_count % 8));
        bit_count++;
    }
}

/* Counts the symbol, or writes it. */
static void put_symbol(tally_unpack_code which, unsigned symbol, bool writes) {
    if (writes)
        put_bits(codes[which].words[symbol], codes[which].lengths[symbol]);
    else
        codes[which].counts[symbol]++;
}

static void put_number(tally_unpack_code which, unsigned first, uint32_t number, bool writes) {
    unsigned bits;
    put_symbol(which, first + class_of(number, &bits), writes);
    if (writes)
        put_bits(number & ((1u << bits) - 1), bits);
}

static void put_path(bool writes) {
    for (uint32_t at = 0; at < count; at = steps[at].bits) {
        const step *const from = &steps[at], *const to = &steps[from->bits];
        if (!to->repeated) {
            put_symbol(code_after(from), bytes[at], writes);
            continue;
        }
        const unsigned which = which_recent(from, to->distance);
        put_number(code_after(from), TALLY_UNPACK_LITERALS, to->repeated - TALLY_UNPACK_LEAST, writes);
        if (which < TALLY_UNPACK_RECENT)
            put_symbol(TALLY_UNPACK_DISTANCE, which, writes);
        else
            put_number(TALLY_UNPACK_DISTANCE, TALLY_UNPACK_RECENT, to->distance - 1, writes);
    }
}

/* Chooses the path by the codes so far, and makes the codes for it. */
static void improve(void) {
    find_path();
    turn_around();
    for (int k = 0; k < TALLY_UNPACK_CODES; k++)
        memset(codes[k].counts, 0, sizeof codes[k].counts);
    put_path(false);
    for (int k = 0; k < TALLY_UNPACK_CODES; k++)
        make_code(&codes[k]);
}

size_t tally_pack(const unsigned char *from, size_t from_count, unsigned char *to) {
    bytes = from;
    count = (uint32_t)from_count;
    packed = to;
    bit_count = 0;
    memset(codes, 0, sizeof codes);
    memset(packed, 0, tally_pack_room(count));
    steps = allocate((count + 1) * sizeof *steps);
    earlier = allocate((count + 1) * sizeof *earlier);
    for (int k = 0; k < ROUNDS; k++)
        improve();
    for (int k = 0; k < TALLY_UNPACK_CODES; k++)
        for (int symbol = 0; symbol < TALLY_UNPACK_SYMBOLS; symbol++)
            put_bits(codes[k].lengths[symbol], 4);
    put_path(true);
    free(earlier);
    free(steps);
    return bit_count / 8 + 1 + TALLY_UNPACK_PEEK_BYTES;
}

void tally_print_packed(const unsigned char *from, size_t from_count, const char *array, const char *function,
                        FILE *source) {
    enum { LINE = 24 };
    unsigned char *const made = allocate(tally_pack_room(from_count)), *const again = allocate(from_count);
    const size_t made_count = tally_pack(from, from_count, made);
    tally_unpack(made, from_count, again);
    if (memcmp(from, again, from_count) != 0)
        fail("bytes come out of their packing changed");
    fprintf(source,
            "#include <pthread.h>\n\n#include \"gpu/unpack_bytes.h\"\n\nstatic const unsigned char packed[] = {\n");
    for (size_t k = 0; k < made_count; k++)
        fprintf(source, "%u,%s", made[k], (k + 1) % LINE ? "" : "\n");
    fprintf(
        source,
        "};\n\nstatic void unpack(void) {\n    tally_unpack(packed, sizeof %s, %s);\n}\n\n"
        "void %s(void) {\n    static pthread_once_t once = PTHREAD_ONCE_INIT;\n    pthread_once(&once, unpack);\n}\n",
        array, array, function);
    free(again);
    free(made);
}
