/* A thread's stretch of a tile. Narrow elements stay packed, because unpacked they would take a register each. */
template <class T, int Items> struct stretch_of {
    enum { BYTES = sizeof(T), A_VECTOR = 16 / BYTES, VECTORS = Items / A_VECTOR };
    uint32 word[Items * BYTES / 4];

    /* Loads the thread's stretch of a tile whose first element lies 'shift' bytes behind the beginning of the memory,
     * as far as it lay behind a multiple of 16 bytes before. A stretch has an odd number of vectors. So the lanes of a
     * warp, which load the same vector of their stretches at a time, use different banks. */
    void read(const uint8 *memory, int shift, int stretch) {
        if (shift == 0) {
#pragma unroll
            for (int v = 0; v < VECTORS; v++) {
                uint4 bits = ((const uint4 *)memory)[stretch * VECTORS + v];
                memcpy(&word[4 * v], &bits, 16);
            }
        } else {
            uint32 across[4 * VECTORS + 4];
#pragma unroll
            for (int v = 0; v <= VECTORS; v++) {
                uint4 bits = ((const uint4 *)memory)[stretch * VECTORS + v];
                memcpy(&across[4 * v], &bits, 16);
            }
            switch (shift / 4) {
            case 0: return take<0>(across, shift);
            case 1: return take<1>(across, shift);
            case 2: return take<2>(across, shift);
            default: return take<3>(across, shift);
            }
        }
    }
    /* Takes the words from the vectors that the stretch lies across, the first of which begins in word First. Single
     * words from shared memory would make four lanes meet in a bank. */
    template <int First> void take(const uint32 (&across)[4 * VECTORS + 4], int shift) {
#pragma unroll
        for (int w = 0; w < 4 * VECTORS; w++)
            word[w] = __funnelshift_r(across[w + First], across[w + First + 1], shift % 4 * 8);
    }
    /* Item k in logical order. */
    T operator[](int k) const {
        int at = (REVERSE ? Items - 1 - k : k) * BYTES;
        T item;
        if (BYTES < 4) {
            uint32 bits = word[at / 4] >> 8 * (at % 4);
            memcpy(&item, &bits, BYTES);
        } else {
            memcpy(&item, &word[at / 4], BYTES);
        }
        return item;
    }
    /* Makes the compiler unpack narrow items again; it would keep the earlier ones, in a register each. */
    void forget() {
        if (BYTES < 4)
#pragma unroll
            for (int w = 0; w < (int)(sizeof word / 4); w++)
                hide(word[w]);
    }
};
