/* Exact mode by runs of keys: their heads are counted in chunks of KEY_CHUNK, which gives each chunk the number of its
 * first; then a workgroup adds up the runs that begin in a chunk, to their ends, each by a team of threads. */
const uint KEY_CHUNK = 4096;
#define RANKS    p.before
#define ROOM     p.columns
#define KEYS_OUT p.carry

uvec2 key_at(uint64_t i) {
    const uint log = log_bytes(INDEX);
    return load_bits(p.index + (i << log), log);
}
bool begins_run(uint64_t i) {
    return i == 0 || key_at(i) != key_at(i - 1);
}
uint64_t rank_of_chunk(uint64_t chunk) {
    return u64_of(load_bits(RANKS + 8 * chunk, 3));
}

/* Bits for heads of a chunk, and for each word, how many are in those before it. */
shared uint head_bits[KEY_CHUNK / 32], heads_before[KEY_CHUNK / 32];
shared uint nearest;

/* How many. All threads. */
uint find_heads(uint64_t chunk) {
    const uint64_t first = chunk * KEY_CHUNK;
    for (uint w = THREAD; w < KEY_CHUNK / 32; w += BLOCK)
        head_bits[w] = 0;
    barrier();
    for (uint i = THREAD; i < KEY_CHUNK && first + i < p.extent; i += BLOCK)
        if (begins_run(first + i))
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

/* Where in the chunk a head is, told by how many come before it. */
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
    const uint64_t chunk = group_number();
    if (chunk >= p.chunks)
        return;
    const uint heads = find_heads(chunk);
    if (THREAD == 0)
        store_bits(RANKS + 8 * chunk, 3, uvec2(heads, 0));
}

/* One workgroup: from the chunks' heads to those before each. */
const uint RANKS_AHEAD = 8;
shared uint64_t thread_heads[BLOCK];
void rank_heads() {
    begin_kernel();
    const uint64_t each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint64_t first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    uint64_t mine = 0, before = 0;
    for (uint64_t c = first; c < end; c += RANKS_AHEAD) {
        uint64_t some[RANKS_AHEAD];
        UNROLLED for (uint k = 0; k < RANKS_AHEAD; k++)
            some[k] = c + k < end ? rank_of_chunk(c + k) : uint64_t(0);
        UNROLLED for (uint k = 0; k < RANKS_AHEAD; k++)
            mine += some[k];
    }
    thread_heads[THREAD] = mine;
    barrier();
    for (uint t = 0; t < THREAD; t++)
        before += thread_heads[t];
    if (THREAD == BLOCK - 1) {
        CONTROL.runs = before + mine;
        if (before + mine > ROOM)
            atomicOr(CONTROL.refused, REFUSED_RUNS);
    }
    for (uint64_t c = first; c < end; c++) {
        const uint64_t heads = rank_of_chunk(c);
        store_bits(RANKS + 8 * c, 3, words_of(before));
        before += heads;
    }
}

/* The first position from 'at' on where a run begins, or the end. All threads. */
uint64_t next_run(uint64_t at) {
    for (;; at += BLOCK) {
        barrier();
        if (THREAD == 0)
            nearest = BLOCK;
        barrier();
        const uint64_t i = at + THREAD;
        if (i >= p.extent || begins_run(i))
            atomicMin(nearest, THREAD);
        barrier();
        const uint found = nearest;
        if (found < BLOCK)
            return at + found;
    }
}

/* Of the team, if it is there. All teams. */
void add_run(bool is_there, uint64_t rank, uint64_t begin, uint64_t end) {
    clear_words();
    add_elements(p.x, p.y, begin, is_there ? end : begin, 1);
    if (!is_there)
        return;
    give(rank, end - begin);
    if (part == 0 && KEYS_OUT != 0)
        store_bits(KEYS_OUT + (rank << log_bytes(INDEX)), log_bytes(INDEX), key_at(begin));
}

/* The last run may be longer than the chunk; then it is all threads'. */
void exact_runs() {
    begin_kernel();
    const uint64_t chunk = group_number();
    if (chunk >= p.chunks || CONTROL.refused != 0)
        return;
    const uint heads = find_heads(chunk);
    if (heads == 0)
        return;
    const uint64_t first = chunk * KEY_CHUNK, rank = rank_of_chunk(chunk);
    const uint64_t last = first + place_of_head(heads - 1), end = next_run(min(first + KEY_CHUNK, p.extent));
    const bool is_long = end - last > KEY_CHUNK;
    form_teams(clamp(1u << findMSB(BLOCK / min(heads, BLOCK)), LEAST_TEAM, BLOCK));
    const uint short_runs = is_long ? heads - 1 : heads;
    for (uint before = 0; before < short_runs; before += BLOCK / team_size) {
        const uint run = min(before + team, heads - 1);
        const uint64_t until = run + 1 < heads ? first + place_of_head(run + 1) : end;
        add_run(before + team < short_runs, rank + run, first + place_of_head(run), until);
    }
    if (is_long) {
        form_teams(BLOCK);
        add_run(team == 0, rank + heads - 1, last, end);
    }
}
