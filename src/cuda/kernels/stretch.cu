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
        } else { /* each word from the two that it crosses; the last of them is behind the stretch */
            const int at = shift + stretch * (int)sizeof word;
            const uint32 *from = (const uint32 *)(memory + (at & ~3));
            uint32 lower = from[0];
#pragma unroll
            for (int w = 0; w < (int)(sizeof word / 4); w++) {
                const uint32 upper = from[w + 1];
                word[w] = __funnelshift_r(lower, upper, at % 4 * 8);
                lower = upper;
            }
        }
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
