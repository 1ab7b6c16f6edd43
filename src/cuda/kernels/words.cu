/* What a state in words has from every kind of kernel: the check. */

/* What word i counts in the check: SplitMix64, as in src/core/words.c. */
[[maybe_unused]] inline uint64 weight_of(int i) {
    uint64 z = WORDS_TAG + (uint64)i * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (z ^ z >> 31) | 1;
}
