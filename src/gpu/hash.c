/* SipHash-2-4-128, as its authors describe it: words of eight bytes, two rounds each; the rest and the length make the
 * last word; four rounds before each half of the result. */
#include "gpu/hash.h"

#include <string.h>

static uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t v[4], int count) {
    for (; count > 0; count--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void add_word(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    rounds(v, 2);
    v[0] ^= word;
}

/* Eight bytes as a number, the lowest first, on any machine. */
static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word = 0;
    for (int k = 0; k < 8; k++)
        word |= (uint64_t)bytes[k] << 8 * k;
    return word;
}

void tally_hash_begin_keyed(tally_hash *hash, uint64_t key_low, uint64_t key_high) {
    *hash = (tally_hash){.v = {key_low ^ 0x736f6d6570736575u, key_high ^ 0x646f72616e646f6du ^ 0xee,
                               key_low ^ 0x6c7967656e657261u, key_high ^ 0x7465646279746573u}};
}

void tally_hash_begin(tally_hash *hash) {
    tally_hash_begin_keyed(hash, 0x796c6c6174u, 0x6c656e72656bu);
}

static void add_byte(tally_hash *hash, unsigned char byte) {
    hash->pending |= (uint64_t)byte << 8 * (hash->length % 8);
    if (++hash->length % 8 == 0) {
        add_word(hash->v, hash->pending);
        hash->pending = 0;
    }
}

void tally_hash_add(tally_hash *hash, const void *bytes, size_t count) {
    const unsigned char *from = bytes, *const end = from + count;
    while (from < end && hash->length % 8)
        add_byte(hash, *from++);
    for (; end - from >= 8; from += 8, hash->length += 8)
        add_word(hash->v, word_at(from));
    while (from < end)
        add_byte(hash, *from++);
}

void tally_hash_add_text(tally_hash *hash, const char *text) {
    tally_hash_add(hash, text, strlen(text) + 1);
}

static uint64_t half(uint64_t v[4]) {
    rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

tally_key tally_hash_end(tally_hash *hash) {
    uint64_t *v = hash->v;
    add_word(v, hash->pending | hash->length << 56);
    tally_key key;
    v[2] ^= 0xee;
    key.low = half(v);
    v[1] ^= 0xdd;
    key.high = half(v);
    return key;
}
