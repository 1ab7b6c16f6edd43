/* Exact mode by runs of keys. Heads are counted in chunks of KEY_CHUNK, which gives each chunk the number of its first
 * head. Then a workgroup adds up the runs that begin in a chunk, to their ends, each by a team of threads. Sums of f64
 * have some hundred words, and a team goes over them several times per run. With chunks of 4096 runs that was more loop
 * steps than a shader may take on Mesa's software device (65535), which then stops. Variances have long divisions. */
#if HAS_MOMENTS
const uint KEY_CHUNK = WIDE != 0 ? 128 : 1024;
#else
const uint KEY_CHUNK = WIDE != 0 ? 1024 : 4096;
#endif

/* Bits for the heads of a chunk and, for each word, the number of heads in the words before it. */
shared uint head_bits[KEY_CHUNK / 32], heads_before[KEY_CHUNK / 32];
shared uint nearest;

/* How many. All threads. */
uint find_heads(uint chunk) {
    const wide first = times(chunk, KEY_CHUNK);
    const uint length = at_most(minus(p.extent, first), KEY_CHUNK);
    for (uint w = THREAD; w < KEY_CHUNK / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    for (uint i = THREAD; i < length; i += BLOCK)
        if (begins_run(plus(first, i)))
            atomicOr(head_bits[i >> 5], 1u << (i & 31u));
    barrier();
    for (uint w = THREAD; w < KEY_CHUNK / 32; w += BLOCK) {
        uint before = 0;
        for (uint k = 0; k < w; k++)
            before += bitCount(head_bits[k]);
        heads_before[w] = before;
    }
    barrier();
    return heads_before[KEY_CHUNK / 32 - 1] + bitCount(head_bits[KEY_CHUNK / 32 - 1]);
}

/* The position in the chunk of the head that has this many heads before it. */
uint place_of_head(uint number) {
    uint word = 0;
    for (uint step = KEY_CHUNK / 64; step > 0; step /= 2)
        if (heads_before[word + step] <= number)
            word += step;
    uint bits = head_bits[word];
    for (uint k = heads_before[word]; k < number; k++)
        bits &= bits - 1;
    return 32 * word + findLSB(bits);
}

void count_heads() {
    begin_kernel();
    const uint chunk = group_number();
    if (chunk >= p.chunks)
        return;
    const uint heads = find_heads(chunk);
    if (THREAD == 0)
        store_wide(p_ranks, chunk, wide_of(heads));
}

/* One workgroup: turns the chunks' numbers of heads into the numbers before each chunk. */
const uint RANKS_AHEAD = 8;
shared wide thread_heads[BLOCK];
void rank_heads() {
    begin_kernel();
    const uint each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    wide mine = wide(0), before = wide(0);
    for (uint c = first; c < end; c += RANKS_AHEAD) {
        wide some[RANKS_AHEAD];
        UNROLLED for (uint k = 0; k < RANKS_AHEAD; k++)
            some[k] = c + k < end ? load_wide(p_ranks, c + k) : wide(0);
        UNROLLED for (uint k = 0; k < RANKS_AHEAD; k++)
            mine = plus(mine, some[k]);
    }
    thread_heads[THREAD] = mine;
    barrier();
    for (uint t = 0; t < THREAD; t++)
        before = plus(before, thread_heads[t]);
    if (THREAD == BLOCK - 1) {
        CONTROL.runs = plus(before, mine);
        if (less(p_room, CONTROL.runs))
            atomicOr(CONTROL.refused, REFUSED_RUNS);
    }
    for (uint c = first; c < end; c++) {
        const wide heads = load_wide(p_ranks, c);
        store_wide(p_ranks, c, before);
        before = plus(before, heads);
    }
}

/* The first position from 'at' on where a run begins, or the end. All threads call this. */
wide next_run(wide at) {
    for (;; at = plus(at, BLOCK)) {
        barrier();
        if (THREAD == 0)
            nearest = BLOCK;
        barrier();
        const wide i = plus(at, THREAD);
        if (!less(i, p.extent) || begins_run(i))
            atomicMin(nearest, THREAD);
        barrier();
        const uint found = nearest;
        if (found < BLOCK)
            return plus(at, found);
    }
}

/* The team's run, if it has one. All teams call this. */
void add_run(bool is_there, wide rank, wide begin, wide end) {
    const wide count = minus(end, begin);
    clear_words();
    add_group(begin, is_there ? count : wide(0));
    if (!is_there)
        return;
    give(rank, count);
    if (part == 0 && given(p_keys_out))
        store_bits(plus(p_keys_out, shifted_up(rank, log_bytes(INDEX))), log_bytes(INDEX), key_at(begin));
}

/* The last run may be longer than the chunk; then all threads add it. */
void exact_runs() {
    begin_kernel();
    const uint chunk = group_number();
    if (chunk >= p.chunks || CONTROL.refused != 0)
        return;
    const uint heads = find_heads(chunk);
    if (heads == 0)
        return;
    const wide first = times(chunk, KEY_CHUNK), rank = load_wide(p_ranks, chunk);
    const wide last = plus(first, place_of_head(heads - 1)), end = next_run(least(plus(first, KEY_CHUNK), p.extent));
    const bool is_long = !is_below(minus(end, last), KEY_CHUNK + 1);
    form_teams(clamp(1u << findMSB(BLOCK / min(heads, BLOCK)), LEAST_TEAM, BLOCK));
    const uint short_runs = is_long ? heads - 1 : heads;
    for (uint before = 0; before < short_runs; before += BLOCK / team_size) {
        const uint run = min(before + team, heads - 1);
        const wide until = run + 1 < heads ? plus(first, place_of_head(run + 1)) : end;
        add_run(before + team < short_runs, plus(rank, run), plus(first, place_of_head(run)), until);
    }
    if (is_long) {
        form_teams(BLOCK);
        add_run(team == 0, plus(rank, heads - 1), last, end);
    }
}
