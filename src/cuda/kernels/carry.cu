/* The accumulators that a run goes on from: the states of the elements before its own, combined in their order. A thread
 * has a column. */
extern "C" __global__ void __launch_bounds__(BLOCK) carry_of_states(carry_args p) {
    for (uint64 g = blockIdx.x * (uint64)BLOCK + threadIdx.x; g < p.rows; g += gridDim.x * (uint64)BLOCK) {
        acc_t acc = p.initial ? raise(load(p.initial)) : identity_as<acc_t>();
        uint64 elements = 0;
        for (uint64 part = 0; part < p.extent; part++) {
            int64 words[WORDS_COUNT];
            load_words(p.x + (part * p.rows + g) * WORDS_COUNT, words);
            if (p.refused && !is_whole(words)) {
                atomicOr(p.refused, (uint32)REFUSED_WORDS);
                atomicMax(p.not_bad, ~(part * p.rows + g));
            }
            append_state(words, acc, elements);
        }
        if (!p.x)
            acc = combine(acc, p.totals[g].read());
        p.totals[g].write(acc);
        if (p.elements)
            p.elements[g] = elements;
    }
}
