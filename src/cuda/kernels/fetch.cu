/* Tiles on their way from memory, at any address. */
/* Copies elements [from, from + count) of memory to shared memory: whole vectors from aligned addresses, and single
 * bytes at both ends, since nothing outside of an array may be read. Where bulk copies exist they move the vectors,
 * which are only counted here. Bytes are read past the first-level cache, where a kernel that starts early may find old
 * contents. */
template <class T> inline void fetch(uint8 *to, const T *from, int count, int thread, int threads, uint32 *in_bulk) {
    uint64 begin = (uint64)from, end = (uint64)(from + count), first = begin + 15 & ~15ull, last = end & ~15ull;
    uint8 *memory = to - (begin & ~15ull); /* the position of address 0 */
    if (first > last)
        first = last = end;
    for (uint64 a = begin + thread; a < first; a += threads)
        memory[a] = __ldcg((const uint8 *)a);
    for (uint64 a = last + thread; a < end; a += threads)
        memory[a] = __ldcg((const uint8 *)a);
#if COPIES_IN_BULK
    *in_bulk += (uint32)(last - first);
#else
#pragma unroll 8
    for (uint64 a = first + 16 * thread; a < last; a += 16 * threads)
        *(uint4 *)&memory[a] = __ldcs((const uint4 *)a);
#endif
}
/* Starts the copy of the whole vectors that fetch has counted. One thread calls it when the gate expects their bytes.
 */
template <class T> inline void fetch_in_bulk(uint8 *to, const T *from, int count, gate *g) {
#if COPIES_IN_BULK
    uint64 begin = (uint64)from, end = (uint64)(from + count), first = begin + 15 & ~15ull, last = end & ~15ull;
    if (first < last)
        copy_in(to + (first - (begin & ~15ull)), (const void *)first, (uint32)(last - first), &g->word);
#endif
}
