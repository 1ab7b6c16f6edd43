/* The destination of a reduction's results, and the input of its second kernel: the partial results of chunks of rows
 * or columns, folded in a fixed order so that a result has the same bits every run. The kernels are in fold_partials.cu
 * and column_partials.cu. */

inline void give(const destination &to, uint64 number, acc_t acc) {
    if (to.carry)
        acc = combine(to.carry[number].read(), acc);
    if (to.total)
        to.total[number].write(acc);
    else
        store(to.out + number, lower(acc, to.count, 0));
}

/* Folds the partial results of one result that fall to thread 'share' of 'shares'. If the operator commutes, the
 * threads take them in turn, so that neighbouring threads read neighbouring ones; else each takes consecutive ones.
 * AHEAD loads are under way at a time, as many as registers hold. */
inline acc_t fold_share(const partials_args &p, uint64 number, uint64 share, uint64 shares) {
    constexpr int AHEAD = sizeof(acc_t) > 32 ? 1 : sizeof(acc_t) > 16 ? 4 : 8;
    const uint64 each = quotient(p.chunks + shares - 1, shares);
    const uint64 first = COMMUTES ? share : share * each, step = COMMUTES ? shares : 1;
    acc_t acc = identity_as<acc_t>();
    for (uint64 k = 0; k < each; k += AHEAD) {
        acc_t next[AHEAD + 1];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const uint64 c = first + (k + u) * step;
            next[u] = k + u < each && c < p.chunks ? p.partials[c * p.results + number].read() : identity_as<acc_t>();
        }
#if COMBINES_TOGETHER
        next[AHEAD] = acc;
        acc = combine_all(next);
#else
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            acc = combine(acc, next[u]);
#endif
    }
    return acc;
}
