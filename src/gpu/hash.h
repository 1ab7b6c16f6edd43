/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), under a fixed key. It names kernels in the caches
 * and is their checksum. It does not protect against deliberate collisions; the cache trusts only its owner's files. */
#ifndef TALLY_GPU_HASH_H
#define TALLY_GPU_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tally_key {
    uint64_t low, high;
} tally_key;

typedef struct tally_hash {
    uint64_t v[4];
    uint64_t pending; /* bytes that do not yet make a word of eight */
    uint64_t length;  /* bytes so far */
} tally_hash;

void tally_hash_begin(tally_hash *hash);
/* Under another key, for comparison with published values. */
void tally_hash_begin_keyed(tally_hash *hash, uint64_t key_low, uint64_t key_high);
void tally_hash_add(tally_hash *hash, const void *bytes, size_t count);
/* The text with the zero that ends it, so that "ab" "c" and "a" "bc" differ. */
void tally_hash_add_text(tally_hash *hash, const char *text);
tally_key tally_hash_end(tally_hash *hash);

static inline bool tally_key_equal(tally_key a, tally_key b) {
    return a.low == b.low && a.high == b.high;
}

#endif
