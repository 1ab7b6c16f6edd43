/* Kernels that make states of accumulators and combine states. A thread has a state, or a group of them. */

inline void load_state(const states_args &p, uint64 g, uint64 part, int64 *words) {
    load_words(p.x + ((g / p.inner * p.extent + part) * p.inner + g % p.inner) * WORDS_COUNT, words);
}

/* The accumulators that a run has left for its groups, as states. */
extern "C" __global__ void __launch_bounds__(BLOCK) words_of_totals(states_args p) {
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.rows; g += gridDim.x * (uint64)BLOCK)
        write_total(p.totals[g].read(), p.extent, p.words + g * WORDS_COUNT);
}

/* Refuses states that are wrong, and groups without elements that have no value. */
extern "C" __global__ void __launch_bounds__(BLOCK) check_states(states_args p) {
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.rows; g += gridDim.x * (uint64)BLOCK) {
        uint64 elements = 0;
        for (uint64 part = 0; part < p.extent; part++) {
            int64 words[WORDS_COUNT];
            load_state(p, g, part, words);
            elements |= elements_of(words);
            if (!is_whole(words)) {
                atomicOr(p.refused, (uint32)REFUSED_WORDS);
                atomicMax(p.not_bad, ~((g / p.inner * p.extent + part) * p.inner + g % p.inner));
            }
        }
        if (REFUSES_EMPTY && !elements) {
            atomicOr(p.refused, (uint32)REFUSED_EMPTY);
            atomicMax(p.not_empty, ~g);
        }
    }
}

/* Combines the states of each group in their order. */
extern "C" __global__ void __launch_bounds__(BLOCK) join_states(states_args p) {
    if (*p.refused)
        return;
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.rows; g += gridDim.x * (uint64)BLOCK) {
        acc_t acc = identity_as<acc_t>();
        uint64 elements = 0;
        for (uint64 part = 0; part < p.extent; part++) {
            int64 words[WORDS_COUNT];
            load_state(p, g, part, words);
            append_state(words, acc, elements);
        }
        if (p.words)
            write_state(acc, elements, p.words + g * WORDS_COUNT);
        else
            store(p.out + g, lower(acc, elements, 0));
    }
}
