/* Reductions along axes of extent 1: each element makes a result by itself. A thread writes aligned words of results,
 * and takes their elements from any address. So what is wide moves in vectors, whatever the widths and the alignment of
 * both. */

constexpr int ONES_WIDTH = 16 / (int)(sizeof(in_t) > sizeof(result_t) ? sizeof(in_t) : sizeof(result_t));
/* Words that a thread has under way. */
enum { ONES_AHEAD = HAS_SECOND || sizeof(in_t) >= sizeof(result_t) ? 2 : 4 };
typedef few<in_t, ONES_WIDTH> ones_elements;
typedef few<result_t, ONES_WIDTH> ones_results;

inline acc_t one_sum(const ones_args &p, value_t x, value_t y) {
    running<lane_t> sum;
    sum.append(x, y, p.before);
    return widen(sum.sum());
}

/* A word of elements, of which all are there, and those around them if the address is not aligned. */
inline ones_elements load_ones(const in_t *from) {
    return (uint64)from % sizeof(ones_elements) == 0 ? load_few<ONES_WIDTH>(from)
                                                     : load_few_straddling<ONES_WIDTH>(from);
}
inline void store_ones(const ones_args &p, uint64 at, const ones_elements &x, const ones_elements &y) {
    ones_results results;
#pragma unroll
    for (int k = 0; k < ONES_WIDTH; k++) {
        const value_t second = HAS_SECOND ? value_of(y.element[k]) : value_t(0);
        results.element[k] = lower(one_sum(p, value_of(x.element[k]), second), 1, 0);
    }
    store_aligned_once((ones_results *)(p.out + at), results);
}
inline void map_one(const ones_args &p, uint64 at) {
    const value_t x = value_of(load(p.x + at)), y = HAS_SECOND ? value_of(load(p.y + at)) : value_t(0);
    give({p.out, p.carry, p.total, p.before + 1}, at, one_sum(p, x, y));
}

extern "C" __global__ void __launch_bounds__(BLOCK, 4) map_ones(ones_args p) {
    constexpr uint64 PART = BLOCK * ONES_AHEAD * ONES_WIDTH;
    const uint32 shift = (uint32)((uint64)p.out % sizeof(ones_results)) / (uint32)sizeof(result_t);
    const bool has_words = !p.carry && !p.total && (uint64)p.out % sizeof(result_t) == 0;
    const uint64 part = blockIdx.x * PART - shift; /* its first element; below 0 in the first block */
    if (has_words && blockIdx.x && part + PART + ONES_WIDTH <= p.n) {
        ones_elements x[ONES_AHEAD], y[ONES_AHEAD] = {};
#pragma unroll
        for (int u = 0; u < ONES_AHEAD; u++) {
            const uint64 at = part + (u * BLOCK + threadIdx.x) * ONES_WIDTH;
            x[u] = load_ones(p.x + at);
            if (HAS_SECOND)
                y[u] = load_ones(p.y + at);
        }
#pragma unroll
        for (int u = 0; u < ONES_AHEAD; u++)
            store_ones(p, part + (u * BLOCK + threadIdx.x) * ONES_WIDTH, x[u], y[u]);
        return;
    }
    /* at the ends of the array */
#pragma unroll 1
    for (int u = 0; u < ONES_AHEAD; u++) {
        const int64 at = (int64)(part + (u * BLOCK + threadIdx.x) * ONES_WIDTH);
        if (has_words && at >= ONES_WIDTH && at + 2 * ONES_WIDTH <= p.n)
            store_ones(p, at, load_ones(p.x + at), HAS_SECOND ? load_ones(p.y + at) : ones_elements());
        else
#pragma unroll
            for (int k = 0; k < ONES_WIDTH; k++)
                if (at + k >= 0 && at + k < (int64)p.n)
                    map_one(p, at + k);
    }
}
