/* Where the results of a reduction go, and its second kernel: what the chunks of a row or a column gave, folded in a fixed
 * order, so that a result is the same bits every run. */
struct destination {
    result_t *out;
    const slot *carry; /* a result: what earlier pieces gave, or NULL */
    slot *total;       /* instead of 'out': receives the accumulators themselves, or NULL */
    uint64 count;      /* elements a result, those of earlier pieces included */
};

struct partials_args {
    const slot *partials; /* chunks x results */
    destination to;
    uint64 results, chunks;
};

enum {
    WIDE_BLOCK = sizeof(acc_t) <= 16 ? 1024 : 256, /* threads a block of which there are few */
    ENDS = 16384 / sizeof(slot) < WIDE_BLOCK ? 16384 / sizeof(slot) : WIDE_BLOCK /* of them that share columns */
};

inline void give(const destination &to, uint64 number, acc_t acc) {
    if (to.carry)
        acc = combine(to.carry[number].read(), acc);
    if (to.total)
        to.total[number].write(acc);
    else
        store(to.out + number, lower(acc, to.count, 0));
}

/* Folds 'groups' accumulators of each column, which lie a panel apart, into the first; a thread takes eight of them
 * between two barriers. */
template <int Threads> inline void fold_groups(acc_t *spots, uint32 panel, uint32 groups) {
    constexpr uint32 AT_ONCE = 8;
    __syncthreads();
    for (uint32 d = 1; d < groups; d *= AT_ONCE) {
        const uint32 wholes = (groups + AT_ONCE * d - 1) / (AT_ONCE * d);
        for (uint32 i = threadIdx.x; i < wholes * panel; i += Threads) {
            const uint32 group = i / panel * AT_ONCE * d, at = group * panel + i % panel;
            acc_t acc = spots[at];
#pragma unroll
            for (uint32 k = 1; k < AT_ONCE; k++)
                if (group + k * d < groups)
                    acc = combine(acc, spots[at + k * d * panel]);
            spots[at] = acc;
        }
        __syncthreads();
    }
}

/* What the chunks of one result gave, of those that this share has. */
inline acc_t fold_share(const partials_args &p, uint64 number, uint64 share, uint64 shares) {
    constexpr int AHEAD = sizeof(acc_t) > 32 ? 1 : sizeof(acc_t) > 16 ? 4 : 8;
    const uint64 each = (p.chunks + shares - 1) / shares;
    const uint64 first = COMMUTES ? share : share * each, step = COMMUTES ? shares : 1;
    acc_t acc = identity_as<acc_t>();
    for (uint64 k = 0; k < each; k += AHEAD) {
        acc_t next[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            const uint64 c = first + (k + u) * step;
            next[u] = k + u < each && c < p.chunks ? p.partials[c * p.results + number].read() : identity_as<acc_t>();
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            acc = combine(acc, next[u]);
    }
    return acc;
}

/* A result has as many threads as leave each of them a few chunks, and a block as many results, but no fewer than make
 * a sector of memory. */
inline void fold_many(const partials_args &p) {
    __shared__ alignas(16) uint8 memory[ENDS * sizeof(acc_t)];
    acc_t *spots = (acc_t *)memory;
    constexpr uint64 A_SHARE = 8, SECTOR = 4;
    const uint64 wanted = (p.chunks + A_SHARE - 1) / A_SHARE, most = ENDS / (p.results < SECTOR ? p.results : SECTOR);
    const uint32 shares = (uint32)(wanted < most ? wanted : most), at_once = ENDS / shares;
    for (uint64 first = (uint64)blockIdx.x * at_once; first < p.results; first += (uint64)gridDim.x * at_once) {
        const uint32 here = p.results - first < at_once ? (uint32)(p.results - first) : at_once;
        const uint32 share = threadIdx.x / here;
        if (share < shares)
            spots[threadIdx.x] = fold_share(p, first + threadIdx.x % here, share, shares);
        fold_groups<WIDE_BLOCK>(spots, here, shares);
        if (threadIdx.x < here)
            give(p.to, first + threadIdx.x, spots[threadIdx.x]);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(WIDE_BLOCK) fold_partials(partials_args p) {
    wait_for_last();
    if (p.results > 1) {
        fold_many(p);
    } else {
        const acc_t acc = fold_block<WIDE_BLOCK>(fold_share(p, 0, threadIdx.x, WIDE_BLOCK));
        if (threadIdx.x == 0)
            give(p.to, 0, acc);
    }
}
