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

/* Calls take(x, labels, i) for all elements: some neighbouring ones from i on. Width are loaded at a time where both arrays
 * are aligned for it, and Ahead such loads are under way together; with IsAhead those of the next elements, too, while
 * these are taken. With IsReadAgain other blocks read the same elements at about this time. 'me' is this thread's number
 * of 'stride'. */
template <int Width, bool IsReadAgain, class T> inline few<T, Width> load_labelled(const T *from) {
    typedef typename word_of<Width * sizeof(T)>::type word;
    if (!IsReadAgain)
        return load_few<Width>(from);
    few<T, Width> f;
    const word bits = *(const word *)from;
    memcpy(&f, &bits, sizeof f);
    return f;
}
template <int Width, int Ahead, bool IsReadAgain> struct labelled {
    few<in_t, Width> x[Ahead];
    few<index_t, Width> label[Ahead];

    void load_from(const in_t *from, const index_t *labels, uint64 apart) {
#pragma unroll
        for (int k = 0; k < Ahead; k++) {
            label[k] = load_labelled<Width, IsReadAgain>(labels + k * apart);
            x[k] = load_labelled<Width, IsReadAgain>(from + k * apart);
        }
    }
};
template <int Width, int Ahead, bool IsAhead, bool IsReadAgain, class Args, class Take>
inline void take_labelled(const Args &p, uint64 me, uint64 stride, Take take) {
    const bool are_aligned =
        ((uint64)p.x & (Width * sizeof(in_t) - 1)) == 0 && ((uint64)p.labels & (Width * sizeof(index_t) - 1)) == 0;
    const uint64 steps = are_aligned ? p.n / Width : 0, mine = me < steps ? (steps - me - 1) / stride + 1 : 0;
    const uint64 apart = stride * Width;
    const in_t *from = p.x + me * Width;
    const index_t *labels = p.labels + me * Width;
    labelled<Width, Ahead, IsReadAgain> next;
    if (IsAhead && mine >= Ahead)
        next.load_from(from, labels, apart);
    for (uint64 rounds = mine / Ahead; rounds > 0; rounds--) {
        if (!IsAhead)
            next.load_from(from, labels, apart);
        const labelled<Width, Ahead, IsReadAgain> here = next;
        if (IsAhead && rounds > 1)
            next.load_from(from + Ahead * apart, labels + Ahead * apart, apart);
#pragma unroll
        for (int k = 0; k < Ahead; k++)
            take(here.x[k], here.label[k], (uint64)(from - p.x) + k * apart);
        from += Ahead * apart;
        labels += Ahead * apart;
    }
#pragma unroll 1
    for (uint64 rest = mine % Ahead; rest > 0; rest--) {
        take(load_few<Width>(from), load_few<Width>(labels), (uint64)(from - p.x));
        from += apart;
        labels += apart;
    }
    for (uint64 i = steps * Width + me; i < p.n; i += stride) {
        few<in_t, 1> x;
        few<index_t, 1> label;
        x.element[0] = load(p.x + i);
        label.element[0] = load(p.labels + i);
        take(x, label, i);
    }
}
