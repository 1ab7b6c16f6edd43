/* Scans down the columns of a few tall slabs, outer x extent x inner, in one pass. A tile is some rows of a panel,
 * which is neighbouring columns of a slab. A block has one tile in shared memory, and each of its threads a strand:
 * some rows of a column, or of TALL_WIDTH of them. Several blocks share a processor: while one waits for memory or for
 * what comes before its tile, others compute.
 *
 * A block publishes its tile's sums of columns at once. The last one of a group of tiles also tells what its group adds
 * up to, and the last one of a chain of groups what all tiles up to it do. So a block adds up that of the chain before
 * its own, the groups since then and the tiles since then, in their order, and a result has the same bits every run.
 * Only chains wait for each other. Tiles are numbered across the panels, so those under way at a time are of many.
 *
 * A block waits for blocks with lower numbers only, which have begun before it: see look_back.cu. */

/* ---- look-back ---- */

/* Sums of a block in shared memory: rows of strands, each with the first columns of all threads, then the second. */
template <int Width> struct tall_sums {
    acc_t *of;

    acc_t &at(int k, uint32 strand, uint32 lane, const tall_args &p) const {
        return of[(strand * Width + k) * p.across + lane];
    }
};

template <int Width>
inline void publish_sums(const tall_args &p, const tall_place &t, entry *entries, uint64 number,
                         const acc_t (&sum)[Width]) {
#pragma unroll
    for (int k = 0; k < Width; k++)
        publish(entries + number * t.entries + t.entry + k, record::of(sum[k], false, 0), 1);
}

/* Makes 'before' the sums of a column's strands before this one. The last strand's threads get the tile's in 'all'. */
template <class Join, int Width>
inline void add_up_strands(const tall_args &p, const tall_place &t, const tall_sums<Width> &sums,
                           const tall_sums<Width> &totals, const acc_t (&mine)[Width], acc_t (&before)[Width],
                           acc_t (&all)[Width]) {
    if (t.works)
#pragma unroll
        for (int k = 0; k < Width; k++)
            sums.at(k, t.strand, t.lane, p) = mine[k];
#pragma unroll
    for (int k = 0; k < Width; k++)
        before[k] = all[k] = Join::identity();
    __syncthreads();
    if (p.strands > FEW_STRANDS) {
        const int columns = p.across * Width;
        int lanes = WARP;
        while (lanes * columns > TALL_BLOCK)
            lanes /= 2;
        scan_spots<Join>(sums.of, columns, p.strands, lanes, threadIdx.x, &totals.at(0, p.strands - 1, 0, p));
        __syncthreads();
        if (t.works)
#pragma unroll
            for (int k = 0; k < Width; k++) {
                before[k] = sums.at(k, t.strand, t.lane, p);
                all[k] = totals.at(k, p.strands - 1, t.lane, p);
            }
        return;
    }
    if (t.works)
#pragma unroll 4
        for (uint32 s = 0; s < t.strand; s++)
#pragma unroll
            for (int k = 0; k < Width; k++)
                before[k] = Join::join(before[k], sums.at(k, s, t.lane, p));
#pragma unroll
    for (int k = 0; k < Width; k++) {
        all[k] = Join::join(before[k], mine[k]);
        if (t.works && t.strand + 1 == p.strands)
            totals.at(k, t.strand, t.lane, p) = all[k];
    }
}

/* The sums that a block adds up: those of chains, of groups since then, and of tiles since then. */
struct tall_levels {
    uint32 of_chains, to_groups, count; /* the first sum of a group, of a tile, and their number */
    uint32 of_tiles;
    uint32 chain_row, group_row, tile_row; /* of entries, of the first sum if it were one of a chain, a group, a tile */

    static tall_levels of(const tall_args &p, const tall_place &t) {
        tall_levels l;
        const uint32 group = t.tile >> p.group_bits, chain = group >> p.chain_bits;
        const uint32 of_groups = group - (chain << p.chain_bits);
        l.of_chains = chain > 0;
        l.to_groups = l.of_chains + of_groups;
        l.of_tiles = t.tile - (group << p.group_bits);
        l.count = l.to_groups + l.of_tiles;
        l.chain_row = (uint32)p.tiles + p.groups + chain - 1;
        l.group_row = (uint32)p.tiles + (chain << p.chain_bits) - l.of_chains;
        l.tile_row = (group << p.group_bits) - l.to_groups;
        return l;
    }
    uint32 row(uint32 number) const {
        return number + (number < of_chains ? chain_row : number < to_groups ? group_row : tile_row);
    }
    bool ends_group(const tall_args &p) const {
        return of_tiles == (1u << p.group_bits) - 1;
    }
    bool ends_chain(const tall_args &p) const {
        return ends_group(p) && to_groups - of_chains == (1u << p.chain_bits) - 1;
    }
};

/* Makes 'above' the sums from number 'from' on. Strands but the last read some each, which go into 'parts'. */
template <class Join, int Width>
inline void add_up_levels(const tall_args &p, const tall_place &t, const tall_sums<Width> &parts, const tall_levels &l,
                          uint32 from, acc_t (&above)[Width]) {
    enum { FEW_PARTS = IS_LOGSUMEXP || MOMENTS ? 2 : 8 }; /* which each thread adds up by itself */
    constexpr uint32 AHEAD = TALL_ENTRIES > Width ? TALL_ENTRIES / Width : 1;
    const entry *entries = p.entries + t.entry;
    uint32 each = AHEAD;
    while (each * (p.strands - 1) < l.count - from)
        each += AHEAD;
    const uint32 begin = from + t.strand * each, end = begin + each < l.count ? begin + each : l.count;
    if (t.works && t.strand + 1 < p.strands && begin < end) {
#pragma unroll 1
        for (uint32 at = begin; at < end; at += AHEAD) {
            batch_of<AHEAD * Width> few;
            const entry *of_row[AHEAD]; /* behind the last one that again */
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                of_row[u] = entries + l.row(at + u < end ? at + u : end - 1) * t.entries;
            while (!few.try_read([&](int k) { return of_row[k / Width] + k % Width; }, [](int) { return true; }, 1))
                ;
#pragma unroll
            for (uint32 u = 0; u < AHEAD; u++)
                if (at + u < end)
#pragma unroll
                    for (int k = 0; k < Width; k++) {
                        const acc_t next = few.get(u * Width + k).acc;
                        above[k] = at + u == begin ? next : Join::join(above[k], next);
                    }
        }
#pragma unroll
        for (int k = 0; k < Width; k++)
            parts.at(k, t.strand, t.lane, p) = above[k];
    }
    __syncthreads();
    uint32 apart = 1;
    for (; from + FEW_PARTS * apart * each < l.count; apart *= 2) {
        if (t.works && (t.strand & (2 * apart - 1)) == 0 && from + (t.strand + apart) * each < l.count)
#pragma unroll
            for (int k = 0; k < Width; k++)
                parts.at(k, t.strand, t.lane, p) =
                    Join::join(parts.at(k, t.strand, t.lane, p), parts.at(k, t.strand + apart, t.lane, p));
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < Width; k++)
        above[k] = Join::identity();
    if (t.works)
        for (uint32 part = 0; from + part * each < l.count; part += apart)
#pragma unroll
            for (int k = 0; k < Width; k++)
                above[k] = Join::join(above[k], parts.at(k, part, t.lane, p));
}

/* Makes 'above' the sums of all tiles above this one. The last strand's row of 'parts' has the tile's own. */
template <class Join, int Width>
inline void look_back(const tall_args &p, const tall_place &t, const tall_sums<Width> &parts, acc_t (&above)[Width]) {
    const tall_levels l = tall_levels::of(p, t);
    const bool tells = t.works && t.strand == 0;
    /* the sum of 'above' and the tile */
    auto tell = [&](uint64 number) {
        acc_t all[Width];
#pragma unroll
        for (int k = 0; k < Width; k++)
            all[k] = Join::join(above[k], parts.at(k, p.strands - 1, t.lane, p));
        publish_sums(p, t, p.entries, number, all);
    };
    if (l.ends_group(p) && p.chain_bits) {
        add_up_levels<Join>(p, t, parts, l, l.to_groups, above);
        if (tells)
            tell(p.tiles + (t.tile >> p.group_bits));
        __syncthreads(); /* use of the parts */
    }
    add_up_levels<Join>(p, t, parts, l, 0, above);
    if (l.ends_chain(p) && tells)
        tell(p.tiles + p.groups + (t.tile >> (p.group_bits + p.chain_bits)));
}

/* ---- a tile ---- */

template <int Width> inline void scan_tile(const tall_args &p) {
    extern __shared__ __align__(128) uint8 tall_memory[];
    const tall_sums<Width> sums = {(acc_t *)tall_memory};
    const tall_sums<Width> parts = {sums.of + TALL_SPOTS};
    uint8 *x = tall_memory + 2 * TALL_SPOTS * sizeof(acc_t), *y = x + p.tile_bytes;
    const tall_place t = tall_place::of(p, Width);
    const tall_strand<Width> strand = {p, t, x, y};
    acc_t mine[Width], before[Width];
    fetch_tile(p, t, p.x, x);
    if (HAS_SECOND)
        fetch_tile(p, t, p.y, y);
#if HAS_MBARRIER
    end_copies_ahead();
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();
    {
        typename strand_sum<(MOMENTS > 0)>::type sum[Width];
        strand.begin(sum);
        strand.for_rows([&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
#pragma unroll
            for (int j = 0; j < Width; j++) {
                strand.add_to(sum[j], k, a.element[j], b.element[j]);
                if (settles)
                    sum[j].settle();
            }
        });
#pragma unroll
        for (int j = 0; j < Width; j++) {
            if constexpr (MOMENTS > 0)
                mine[j] = sum[j].sum();
            else
                mine[j] = widen(sum[j].sum());
        }
    }
    acc_t all[Width];
    add_up_strands<plain_join>(p, t, sums, parts, mine, before, all);
    if (p.tiles > 1 && t.works && t.strand + 1 == p.strands)
        publish_sums(p, t, p.entries, t.tile, all);
    if (t.tile) {
        acc_t above[Width];
        look_back<plain_join>(p, t, parts, above);
#pragma unroll
        for (int j = 0; j < Width; j++)
            before[j] = combine(above[j], before[j]);
    }
    typename strand_sum<(MOMENTS > 0)>::carried run[Width];
#pragma unroll
    for (int j = 0; j < Width; j++) {
        if ((p.carry || p.initial) && t.works)
            before[j] = combine(p.carry ? p.carry[t.column + j].read() : raise(load(p.initial)), before[j]);
        run[j] = before[j];
    }
    strand.begin(run);
    const int64 step = REVERSE ? -(int64)p.inner : (int64)p.inner;
    const auto give_all = [&](auto give) {
        strand.for_rows([&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
            give(strand.result_of(run, k, settles, a, b));
        });
    };
    if (p.results != ~0u) {
        const tall_results staged = tall_results::of(p, t, x);
        result_t *to = (result_t *)staged.first + (uint32)(t.at - t.from);
        const bool is_aligned = ((uint64)to & (Width * sizeof(result_t) - 1)) == 0;
        give_all([&](const few<result_t, Width> &results) {
            if (is_aligned)
                store_part((few<result_t, Width> *)to, results);
            else
#pragma unroll
                for (int j = 0; j < Width; j++)
                    to[j] = results.element[j];
            to += (int)step;
        });
        __syncthreads();
        staged.send(p, t);
    } else {
        result_t *to = p.out + t.at;
        if (((uint64)to & (Width * sizeof(result_t) - 1)) == 0)
            give_all([&](const few<result_t, Width> &results) {
                store_part((few<result_t, Width> *)to, results);
                to += step;
            });
        else
            strand.template for_rows<false>(
                [&](int k, bool settles, const few<in_t, Width> &a, const few<in_t, Width> &b) {
                    store_slowly<Width>(to, strand.result_of(run, k, settles, a, b));
                    to += step;
                });
    }
    if (p.total && t.there && t.first + t.there == p.extent)
#pragma unroll
        for (int j = 0; j < Width; j++)
            p.total[t.column + j].write(combine(before[j], mine[j]));
}

#if COLUMN_PACKS
/* A thread's words of its strand's rows, one after the other. AreRows: the tile is whole rows that lie as in memory.
 * AreAligned: words lie so. Calls use(word). */
template <bool AreRows, bool AreAligned, class Use>
inline void for_words(const tall_args &p, const tall_place &t, const uint8 *tile, Use use) {
    enum { AT_ONCE = 4 };
    const uint32 mask = mask_of(p.x), base = (uint32)(uint64)(p.x + t.from) & mask;
    const int pitch = REVERSE ? -(int)p.pitch : (int)p.pitch;
    const uint32 step = (REVERSE ? 0 - (uint32)p.inner : (uint32)p.inner) * sizeof(in_t);
    const uint8 *at = tile + (AreRows ? base : 0) + t.row * (int)p.pitch + t.lane * 4;
    uint32 low = (uint32)(uint64)(p.x + t.from) + t.row * (uint32)(p.inner * sizeof(in_t));
    const auto next = [&] {
        const uint8 *const from = at + (AreRows ? 0 : low & mask);
        at += pitch;
        low += step;
        uint32 shift;
        const uint32 *const words = word_before<uint32>(from, &shift);
        return form_of(AreAligned ? *(const uint32 *)from : straddling_words(words, shift));
    };
    int k = 0;
#pragma unroll 1
    for (; k + AT_ONCE <= t.there; k += AT_ONCE) {
        uint32 word[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            word[u] = next();
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
            use(word[u]);
    }
#pragma unroll 1
    for (; k < t.there; k++)
        use(next());
}

/* The same as scan_tile(), where a thread has a word of neighbouring columns, or what is left of one at the end of a
 * row. */
inline void scan_packed_tile(const tall_args &p) {
    extern __shared__ __align__(128) uint8 tall_memory[];
    const tall_sums<1> sums = {(acc_t *)tall_memory}, parts = {sums.of + TALL_SPOTS};
    uint8 *const x = tall_memory + 2 * TALL_SPOTS * sizeof(acc_t);
    const tall_place t = tall_place::of<true>(p, IN_WORD);
    const int left = t.columns - (int)(t.lane * IN_WORD), count = !t.works ? 0 : left < IN_WORD ? left : (int)IN_WORD;
    const bool are_rows = is_one_row(p); /* results pass through shared memory then */
    const tall_results staged = are_rows ? tall_results::of(p, t, x) : tall_results{x};
    result_t *in_tile = (result_t *)staged.first + (uint32)(t.at - t.from), *to = p.out + t.at;
    const int64 step = REVERSE ? -(int64)p.inner : (int64)p.inner;
    const uint64 begin = are_rows ? (uint64)staged.first : (uint64)(p.out + t.from);
    const bool gives_words = ((begin | (uint64)p.inner * sizeof(result_t)) & 3) == 0;
    const bool are_aligned = are_rows && gives_words && ((uint64)(p.x + t.from) & mask_of(p.x) & 3) == 0;
    fetch_tile(p, t, p.x, x);
#if HAS_MBARRIER
    end_copies_ahead();
    wait_for_copies_ahead<0>();
#endif
    __syncthreads();
    acc_t mine[1], before[1], all[1];
    packed_run sum(word_in(word_join::identity()));
    const auto add = [&](uint32 word) { sum.add(word); };
    if (are_aligned)
        for_words<true, true>(p, t, x, add);
    else if (are_rows)
        for_words<true, false>(p, t, x, add);
    else
        for_words<false, false>(p, t, x, add);
    mine[0] = acc_of_word(sum.word());
    add_up_strands<word_join>(p, t, sums, parts, mine, before, all);
    if (p.tiles > 1 && t.works && t.strand + 1 == p.strands)
        publish_sums(p, t, p.entries, t.tile, all);
    if (t.tile) {
        acc_t above[1];
        look_back<word_join>(p, t, parts, above);
        before[0] = word_join::join(above[0], before[0]);
    }
    if (p.carry || p.initial) {
        uint32 word = p.carry ? 0 : in_all_places(raise(load(p.initial)));
        for (int k = 0; p.carry && k < count; k++)
            word |= in_all_places(p.carry[t.column + k].read()) & ELEMENT << k * ELEMENT_BITS;
        before[0] = word_join::join(acc_of_word(word), before[0]);
    }
    packed_run run(word_in(before[0]));
    const auto scan = [&](auto give) {
        return [&run, give](uint32 word) {
            const uint32 up_to = INCLUSIVE ? 0 : run.word();
            run.add(word);
            give(INCLUSIVE ? run.word() : up_to);
        };
    };
    const auto give_word = [&](result_t *&to, int64 step) {
        return scan([&to, step](uint32 word) {
            *(uint32 *)to = word;
            to += step;
        });
    };
    const auto give_elements = [&](result_t *&to, int64 step) {
        return scan([&to, step, count](uint32 word) {
#pragma unroll
            for (int k = 0; k < IN_WORD; k++)
                if (k < count)
                    store(to + k, (result_t)(word >> k * ELEMENT_BITS));
            to += step;
        });
    };
    if (are_aligned)
        for_words<true, true>(p, t, x, give_word(in_tile, (int)step));
    else if (are_rows)
        for_words<true, false>(p, t, x, give_elements(in_tile, (int)step));
    else if (gives_words)
        for_words<false, false>(p, t, x, give_word(to, step));
    else
        for_words<false, false>(p, t, x, give_elements(to, step));
    if (are_rows) {
        __syncthreads();
        staged.send(p, t);
    }
    if (p.total && t.there && t.first + t.there == p.extent)
        for (int k = 0; k < count; k++)
            p.total[t.column + k].write(acc_of_element(word_in(word_join::join(before[0], mine[0])), k));
}
#endif

extern "C" __global__ void __launch_bounds__(TALL_BLOCK, TALL_BLOCKS) scan_tall(tall_args p) {
#if COLUMN_PACKS
    if (p.width > 1) {
        scan_packed_tile(p);
        return;
    }
#else
    if (TALL_WIDTH > 1 && p.width > 1) {
        scan_tile<TALL_WIDTH>(p);
        return;
    }
#endif
    scan_tile<1>(p);
}
