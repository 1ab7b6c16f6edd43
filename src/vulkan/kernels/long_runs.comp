/* Reductions by keys where runs are long: the chunks of runs.comp in which few runs end. Their heads are found and put
 * in order, and then the elements between two heads are folded as a segment is: by a team of threads, or, if they are
 * many, by the whole workgroup. What comes before the first head continues a run of earlier chunks. What comes after the
 * last head has been folded already (groups.comp). */
#if COMMUTES
const uint LONG_VECTORS = 128; /* that a thread of a team takes, at most */

shared uint found_count;
shared uint run_ends[BLOCK + 1]; /* places in the chunk: in any order, then in theirs */

void note_heads(uint at, uint bits) {
    while (bits != 0) {
        run_ends[atomicAdd(found_count, 1u)] = at + findLSB(bits);
        bits &= bits - 1;
    }
}

/* The heads of a chunk, at most BLOCK. All threads call this. */
void find_heads(wide first, uint length) {
    barrier(); /* earlier use of the memory */
    if (THREAD == 0)
        found_count = 0;
    barrier();
    for (uint at = 32 * THREAD; at < length; at += 32 * BLOCK)
        note_heads(at, head_word(plus(first, at)));
    barrier();
    const uint count = found_count, own = run_ends[THREAD];
    uint place = 0;
    for (uint k = 0; k < count; k++)
        place += run_ends[k] < own ? 1 : 0;
    barrier();
    if (THREAD < count)
        run_ends[place] = own;
    if (THREAD == 0) /* the end of the input */
        run_ends[count] = length;
    barrier();
}

/* The k-th run that ends in a chunk, of which 'acc' has the elements [begin, end) of the chunk. */
void give_long_run(wide first, record_t before, uint k, uint begin, uint end, acc_t acc) {
    const uint log = log_bytes(INDEX);
    const wide heads = plus(before.runs, k), rank = minus(heads, 1u), after = plus(first, end);
    const wide start = k == 0 ? minus(before.head, 1u) : plus(first, begin);
    if (heads == wide(0))
        return; /* no run ends before the first element */
    if (k == 0)
        acc = combine(before.acc, acc);
    store_result(p.out_at, rank, lower(acc, minus(after, start), start));
    if (given(p_keys_out))
        store_bits(plus(p_keys_out, shifted_up(rank, log)), log, key_at(minus(after, 1u)));
}

void give_runs_of_chunk(uint chunk, record_t before, uint ends) {
    uint length;
    const wide first = begin_of_chunk(chunk, p.extent, length);
    find_heads(first, length);
    const uint vectors = (length << IN_LOG) / ends >> 4;
    const uint team_log = uint(findMSB(min(max(vectors / UNROLL, 1), BLOCK))), team = 1u << team_log;
    const uint most_short = LONG_VECTORS * team * (16u >> IN_LOG), teams = BLOCK >> team_log;
    for (uint at = 0; at < ends; at += teams) {
        const uint k = at + (THREAD >> team_log), part = THREAD & team - 1;
        const uint end = k < ends ? run_ends[k] : 0, begin = k < ends && k > 0 ? run_ends[k - 1] : 0;
        const bool is_short = k < ends && end - begin <= most_short;
        const wide from = plus(first, begin);
        acc_t acc = identity();
        if (is_short)
            acc = fold_vectors(stretch_of(from, end - begin, from), part, team);
        acc = fold_block(acc, 1, team);
        if (is_short && part == 0)
            give_long_run(first, before, k, begin, end, acc);
    }
    for (uint k = 0; k < ends; k++) {
        const uint end = run_ends[k], begin = k > 0 ? run_ends[k - 1] : 0;
        if (end - begin > most_short) {
            const acc_t acc = fold_together(plus(first, begin), end - begin);
            if (THREAD == 0)
                give_long_run(first, before, k, begin, end, acc);
        }
    }
}

void give_long_runs() {
    begin_kernel();
    if (CONTROL.refused != 0)
        return;
    for (uint chunk = group_number(); chunk < p.chunks; chunk += group_count()) {
        const record_t before = read_record(chunk);
        const uint ends = ends_of_chunk(chunk, before.runs);
        if (ends != 0 && takes_long_runs(ends, p.chunk))
            give_runs_of_chunk(chunk, before, ends);
    }
}
#else
void give_long_runs() {}
#endif
