/* Neighbouring results of a warp's lanes, at any address, written in aligned words: what lies across two lanes' is made
 * of both. */

/* How a lane's results lie among the others'. */
struct lane_results {
    int count;    /* this lane's */
    int next;     /* those of the next lane, if they follow; else 0 */
    bool is_next; /* whether this lane's follow those of the lane before */
    bool stores;

    /* are_shared: a warp's last lane has the same results as the next one's first, which stores them. So only the ends of
     * what follows each other are stored one by one. */
    static lane_results of(int count, bool follows, bool are_shared = false) {
        lane_results l;
        l.count = count;
        l.stores = !are_shared || threadIdx.x % WARP != WARP - 1;
        l.is_next = follows && (are_shared || threadIdx.x % WARP);
        l.next = __shfl_down_sync(ALL_LANES, l.is_next ? count : 0, 1);
        if (threadIdx.x % WARP == WARP - 1)
            l.next = 0;
        return l;
    }
};

/* Writes aligned words, the last of which may have its end from the next lane, and what no such word holds one by one.
 * All lanes call this. */
template <class T, int Width>
inline void store_of_lanes(T *to, const few<T, Width> &results, const lane_results &lanes) {
    constexpr int SIZE = (int)sizeof(T), BYTES = (int)sizeof results < 16 ? (int)sizeof results : 16,
                  WORDS = (int)sizeof results / BYTES;
    typedef typename word_of<BYTES>::type word;
    static_assert(sizeof results % BYTES == 0, "words");
    const int shift = (int)((uint64)to & (BYTES - 1)), back = BYTES - shift;
    word words[WORDS + 1];
    memcpy(words, &results, sizeof results);
    if (__all_sync(ALL_LANES, shift == 0 && lanes.count == Width)) {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            if (lanes.stores)
                __stcs((word *)to + w, words[w]);
        return;
    }
    words[WORDS] = from_above(words[0], 1);
    if (!lanes.stores)
        return;
    const int first = shift ? back : 0; /* the byte of the results at which an aligned word begins */
    const bool is_full = lanes.count == Width, has_first = shift && lanes.is_next && lanes.count * SIZE >= back;
    const bool has_last = is_full && (shift == 0 || lanes.next * SIZE >= back); /* the word before has the first bytes */
#pragma unroll
    for (int w = 0; w < WORDS; w++)
        if (w < WORDS - 1 ? is_full : has_last)
            __stcs((word *)((uint64)to + first) + w, shift ? straddling_words(words + w, back) : words[w]);
    /* The rest one by one: results with bytes before 'begin', or from 'end' on. A pair may lie across two words. */
    const int begin = has_first ? 0 : first, whole = first + (WORDS - 1) * BYTES;
    const int end = has_last ? (int)sizeof results : is_full ? whole : first;
    if (begin == 0 && lanes.count * SIZE <= end)
        return;
#pragma unroll
    for (int k = 0; k < Width; k++)
        if (k < lanes.count && (k * SIZE < begin || (k + 1) * SIZE > end))
            store(to + k, results.element[k]);
}
