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
 * these are taken. 'me' is this thread's number of 'stride'. */
template <int Width, int Ahead> struct labelled {
    few<in_t, Width> x[Ahead];
    few<index_t, Width> label[Ahead];

    template <class Args> void load_from(const Args &p, uint64 step, uint64 stride, uint64 steps) {
#pragma unroll
        for (int k = 0; k < Ahead; k++) {
            const uint64 at = (step + k * stride < steps ? step + k * stride : steps - 1) * Width;
            label[k] = load_few<Width>(p.labels + at);
            x[k] = load_few<Width>(p.x + at);
        }
    }
};
template <int Width, int Ahead, bool IsAhead, class Args, class Take>
inline void take_labelled(const Args &p, uint64 me, uint64 stride, Take take) {
    const bool are_aligned =
        ((uint64)p.x & (Width * sizeof(in_t) - 1)) == 0 && ((uint64)p.labels & (Width * sizeof(index_t) - 1)) == 0;
    const uint64 steps = are_aligned ? p.n / Width : 0;
    labelled<Width, Ahead> next;
    if (IsAhead && me < steps)
        next.load_from(p, me, stride, steps);
    for (uint64 step = me; step < steps; step += Ahead * stride) {
        if (!IsAhead)
            next.load_from(p, step, stride, steps);
        const labelled<Width, Ahead> here = next;
        if (IsAhead && step + Ahead * stride < steps)
            next.load_from(p, step + Ahead * stride, stride, steps);
#pragma unroll
        for (int k = 0; k < Ahead; k++)
            if (step + k * stride < steps)
                take(here.x[k], here.label[k], (step + k * stride) * Width);
    }
    for (uint64 i = steps * Width + me; i < p.n; i += stride) {
        few<in_t, 1> x;
        few<index_t, 1> label;
        x.element[0] = load(p.x + i);
        label.element[0] = load(p.labels + i);
        take(x, label, i);
    }
}
