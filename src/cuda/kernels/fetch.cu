/* Tiles on their way from memory, at any address. */

/* Elements [low, low + count) of an array of n: their bytes, and the vectors that are copied whole. Those that a tile
 * shares with its neighbours are copied, too, as far as they lie in the array; nothing outside of it may be read. */
struct bytes_of_tile {
    uint64 begin, end, first, last;
};
template <class T> inline bytes_of_tile bytes_of(const T *array, uint64 n, uint64 low, int count) {
    bytes_of_tile b;
    b.begin = (uint64)(array + low);
    b.end = (uint64)(array + low + count);
    b.first = (low ? b.begin : b.begin + 15) & ~15ull;
    b.last = (low + count < n ? b.end + 15 : b.end) & ~15ull;
    if (b.first > b.last)
        b.first = b.last = b.end;
    return b;
}

/* Copies a tile to shared memory: whole vectors, and single bytes at the array's ends. Where bulk copies exist they move
 * the vectors, which are only counted here. When each tile had its ends in single bytes, the loader waited twice for
 * memory. Bytes are read past the first-level cache, where a kernel that starts early may find old contents. */
template <class T>
inline void fetch(uint8 *to, const T *array, uint64 n, uint64 low, int count, int thread, int threads, uint32 *in_bulk) {
    const bytes_of_tile b = bytes_of(array, n, low, count);
    uint8 *memory = to - (b.begin & ~15ull); /* the position of address 0 */
    for (uint64 a = b.begin + thread; a < b.first; a += threads)
        memory[a] = __ldcg((const uint8 *)a);
    for (uint64 a = b.last + thread; a < b.end; a += threads)
        memory[a] = __ldcg((const uint8 *)a);
#if COPIES_IN_BULK
    *in_bulk += (uint32)(b.last - b.first);
#else
#pragma unroll 8
    for (uint64 a = b.first + 16 * thread; a < b.last; a += 16 * threads)
        *(uint4 *)&memory[a] = __ldcs((const uint4 *)a);
#endif
}
/* Starts the copy of the whole vectors that fetch has counted. One thread calls it when the gate expects their bytes.
 */
template <class T>
inline void fetch_in_bulk(uint8 *to, const T *array, uint64 n, uint64 low, int count, gate *g) {
#if COPIES_IN_BULK
    const bytes_of_tile b = bytes_of(array, n, low, count);
    if (b.first < b.last)
        copy_in(to + (b.first - (b.begin & ~15ull)), (const void *)b.first, (uint32)(b.last - b.first), &g->word);
#endif
}
