/* Exact mode by runs of keys: their heads are counted in chunks of KEY_CHUNK, which gives each chunk the number of its
 * first. */
const uint KEY_CHUNK = 32;
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

void count_heads() {
    begin_kernel();
    const uint64_t chunk = group_number() * BLOCK + THREAD;
    if (chunk >= p.chunks)
        return;
    uint64_t heads = 0;
    for (uint64_t i = chunk * KEY_CHUNK; i < min((chunk + 1) * KEY_CHUNK, p.extent); i++)
        heads += begins_run(i) ? 1 : 0;
    store_bits(RANKS + 8 * chunk, 3, words_of(heads));
}

/* One workgroup: from the chunks' heads to those before each. */
shared uint64_t thread_heads[BLOCK];
void rank_heads() {
    begin_kernel();
    const uint64_t each = (p.chunks + BLOCK - 1) / BLOCK;
    const uint64_t first = min(THREAD * each, p.chunks), end = min(first + each, p.chunks);
    uint64_t mine = 0, before = 0;
    for (uint64_t c = first; c < end; c++)
        mine += rank_of_chunk(c);
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

/* The first position after 'from' where a run begins, or the end. All threads. */
shared uint nearest;
uint64_t end_of_run(uint64_t from) {
    for (uint64_t at = from + 1;; at += BLOCK) {
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

/* The runs that begin in a workgroup's chunk, to their ends. */
void exact_runs() {
    begin_kernel();
    const uint64_t chunk = group_number();
    if (chunk >= p.chunks || CONTROL.refused != 0)
        return;
    const uint64_t end = min((chunk + 1) * KEY_CHUNK, p.extent);
    uint64_t rank = rank_of_chunk(chunk);
    form_teams(BLOCK);
    for (uint64_t i = chunk * KEY_CHUNK; i < end; i++) {
        if (!begins_run(i))
            continue;
        const uint64_t until = end_of_run(i);
        clear_words();
        add_elements(p.x, p.y, i, until, 1);
        give(rank, until - i);
        if (THREAD == 0 && KEYS_OUT != 0)
            store_bits(KEYS_OUT + (rank << log_bytes(INDEX)), log_bytes(INDEX), key_at(i));
        rank++;
    }
}
