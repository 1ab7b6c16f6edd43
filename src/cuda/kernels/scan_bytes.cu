/* How a scan's finishers handle sums of bytes whose results are bytes, too. Sums that wrap in 8 bits can be added four
 * at a time: the bytes at even places of a word and those at odd places, each in 16 bits, which no stretch fills. A
 * byte by itself took 7 integer instructions; a processor of an H200 does 64 a cycle while 9 bytes arrive. 2^29 bytes
 * were scanned at 0.67 of a copy's speed that way, and are at 0.93 now. */
static_assert(ITEMS * 255 + 255 < 1 << 16);

/* Scans the four bytes of a word. *before has the sum before them in the stretch, in both halves of 16 bits, and
 * becomes the sum before the next word. */
inline uint32 scan_word(uint32 word, uint32 *before) {
    const uint32 even = word & 0x00ff00ff, odd = __byte_perm(word, 0, 0x4341), pairs = even + odd;
    const uint32 through = pairs * 0x00010001 + *before; /* the sums up to the end of each pair of bytes */
    *before = __byte_perm(through, 0, 0x3232);
    if (INCLUSIVE)
        return __byte_perm(through - odd, through, 0x6240);
    const uint32 up_to = through - pairs;
    return __byte_perm(up_to, up_to + even, 0x6240);
}

inline void finish_bytes(scratch &s, const scan_args &p, const tile &t, const place &here, int team, int thread,
                         int in_turn, const acc_t &base) {
    constexpr int words = ITEMS / 4;
    const int stretch = REVERSE ? FINISHERS - 1 - thread : thread, there = t.count - stretch * ITEMS;
    s.full[here.at].wait(here.parity);
    stretch_of<in_t, ITEMS> items;
    items.read(s.tile[here.at], shift_of(p.x + t.low), stretch);
    if (there < ITEMS)
#pragma unroll
        for (int w = 0; w < words; w++)
            items.word[w] &= there >= 4 * w + 4 ? ~0u : there <= 4 * w ? 0u : (1u << 8 * (there - 4 * w)) - 1;
    lane_t sum = identity_as<lane_t>();
#pragma unroll
    for (int w = 0; w < words; w++)
        sum.a0 = add_bytes<in_t>(items.word[w], sum.a0);
    const state mine = state::of(sum, false, 0);
    acc_t left = combine(base, widen(scan_team(s.of_finishers[team][in_turn], team, thread, mine).acc));
    s.ready[here.at].wait(here.parity);
    left = combine(((const record *)s.prefix[here.at])->acc, left);
    uint32 before = (left.a0 & 255) * 0x00010001;
#pragma unroll
    for (int w = 0; w < words; w++) { /* in logical order; in reverse the bytes of each word, too, and back again */
        uint32 &word = items.word[REVERSE ? words - 1 - w : w];
        if (REVERSE)
            word = __byte_perm(word, 0, 0x0123);
        word = scan_word(word, &before);
        if (REVERSE)
            word = __byte_perm(word, 0, 0x0123);
    }
    uint4 *vectors = (uint4 *)s.tile[here.at] + stretch * (ITEMS / 16);
#pragma unroll
    for (int v = 0; v < ITEMS / 16; v++)
        memcpy(&vectors[v], &items.word[4 * v], 16);
    if (p.total && there > 0 && t.first + t.count == p.n && (REVERSE ? stretch == 0 : there <= ITEMS))
        p.total->write(combine(left, widen(sum)));
    hand_over(s, p, t, here, team, thread);
}
