/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012), under a fixed key: names kernels in the caches,
 * and is their checksum. Not a defence against someone who seeks collisions; the cache trusts only its owner's files.
 */
#ifndef TALLY_CUDA_HASH_H
#define TALLY_CUDA_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tally_cuda_key {
    uint64_t low, high;
} tally_cuda_key;

typedef struct tally_cuda_hash {
    uint64_t v[4];
    uint64_t pending; /* bytes that do not yet make a word of eight */
    uint64_t length;  /* bytes so far */
} tally_cuda_hash;

void tally_cuda_hash_begin(tally_cuda_hash *hash);
/* Under another key, for comparison with published values. */
void tally_cuda_hash_begin_keyed(tally_cuda_hash *hash, uint64_t key_low, uint64_t key_high);
void tally_cuda_hash_add(tally_cuda_hash *hash, const void *bytes, size_t count);
/* The text with the zero that ends it, so that "ab" "c" and "a" "bc" differ. */
void tally_cuda_hash_add_text(tally_cuda_hash *hash, const char *text);
tally_cuda_key tally_cuda_hash_end(tally_cuda_hash *hash);

static inline bool tally_cuda_key_equal(tally_cuda_key a, tally_cuda_key b) {
    return a.low == b.low && a.high == b.high;
}

#endif
