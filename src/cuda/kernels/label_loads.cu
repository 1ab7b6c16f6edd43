/* Loads that the ways to reduce by labels share. */
template <class T> inline bool is_aligned(const T *from) {
    return ((uint64)from & (sizeof(T) - 1)) == 0;
}
/* Elements that are 'apart' from each other, before 'room'; all loads are under way together. */
template <int Count, class T> inline void load_some(const T *from, uint32 apart, uint32 room, T to[Count]) {
    if (is_aligned(from))
#pragma unroll
        for (int j = 0; j < Count; j++)
            to[j] = j * apart < room ? from[j * apart] : T();
    else
#pragma unroll
        for (int j = 0; j < Count; j++)
            to[j] = j * apart < room ? load_slowly(from + j * apart) : T();
}
