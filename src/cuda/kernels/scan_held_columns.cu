/* Scans of columns that the threads of a cluster hold in registers: arrays of outer x extent x inner with some hundreds
 * or thousands of rows, too few columns for panels.cu, and inner > 1. A cluster has a panel, neighbouring columns of
 * one slab whose rows fill about a sector of memory, and each thread a strand, STRAND rows of a column. Every element
 * is read once, all loads are under way together, and one launch does all. Blocks of a cluster exchange their sums. */

enum { STRAND = SCAN_STRAND /* rows of a thread */ };

/* A thread's strand. */
struct strand {
    uint64 at;    /* element of its column in row 0 */
    uint64 first; /* row, in logical order */
    int count;    /* rows */
    in_t x[STRAND], y[HAS_SECOND ? STRAND : 1];

    static uint64 row(const scan_columns_args &p, uint64 logical) { return REVERSE ? p.extent - 1 - logical : logical; }
    void fetch(const scan_columns_args &p) {
        const bool is_aligned = (((uint64)p.x | (HAS_SECOND ? (uint64)p.y : 0)) & (sizeof(in_t) - 1)) == 0;
#pragma unroll
        for (int k = 0; k < STRAND; k++) {
            const uint64 e = at + row(p, first + k) * p.inner;
            if (k < count && is_aligned) {
                x[k] = p.x[e];
                if (HAS_SECOND)
                    y[k] = p.y[e];
            } else if (k < count) {
                x[k] = load(p.x + e);
                if (HAS_SECOND)
                    y[k] = load(p.y + e);
            }
        }
    }
    void add_to(running<acc_t> &sum, const scan_columns_args &p, int k) const {
        sum.add_next(value_of(x[k]), HAS_SECOND ? value_of(y[k]) : value_t(0), p.before + row(p, first + k));
    }
    acc_t sum(const scan_columns_args &p) const {
        running<acc_t> sum;
#pragma unroll
        for (int k = 0; k < STRAND; k++)
            if (k < count)
                add_to(sum, p, k);
        return sum.sum();
    }
    /* Writes the results; 'left' is the sum before. Returns the sum after. */
    acc_t finish(const scan_columns_args &p, const acc_t &left) const {
        const bool is_aligned = ((uint64)p.out & (sizeof(result_t) - 1)) == 0;
        running<acc_t> run = left;
#pragma unroll
        for (int k = 0; k < STRAND; k++) {
            if (k >= count)
                break;
            result_t result;
            if (!INCLUSIVE)
                result = run.result(p.before + first + k);
            add_to(run, p, k);
            if (INCLUSIVE)
                result = run.result(p.before + first + k + 1);
            result_t *to = p.out + at + row(p, first + k) * p.inner;
            if (is_aligned)
                store_aligned_once(to, result);
            else
                store_bytes(to, result);
        }
        return run.sum();
    }
};

extern "C" __global__ void __launch_bounds__(STRANDS_BLOCK) scan_held_columns(scan_columns_args p) {
    __shared__ alignas(16) uint8 memory[STRANDS_BLOCK * sizeof(acc_t)];
    acc_t *const of_warps = (acc_t *)memory; /* warps x columns */
    const uint32 width = (uint32)p.width, blocks = (uint32)p.chunks, warps = blockDim.x / WARP;
    const uint32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, in_panel = lane % width;
    const uint32 rank = blockIdx.x % blocks;
    const uint64 panel = blockIdx.x / blocks, panels = (p.inner + width - 1) / width, slab = panel / panels;
    const uint64 column = (panel - slab * panels) * width + in_panel;
    strand mine;
    mine.at = slab * p.extent * p.inner + column;
    mine.first = rank * p.chunk + (uint64)(threadIdx.x / width) * STRAND;
    mine.count = column >= p.inner || mine.first >= p.extent ? 0
                 : p.extent - mine.first < STRAND            ? (int)(p.extent - mine.first)
                                                             : (int)STRAND;
#if TALLY_ARCHITECTURE >= 90
    if (blocks > 1)
        arrive_in_cluster(); /* other blocks may write to a block's shared memory only while it runs */
#endif
    mine.fetch(p);

    /* the sum before the strand in the block */
    acc_t sum = mine.sum(p);
    for (uint32 d = width; d < WARP; d *= 2) {
        const acc_t left = from_below(sum, d);
        if (lane >= d)
            sum = combine(left, sum);
    }
    acc_t left = from_below(sum, width);
    if (lane < width)
        left = identity_as<acc_t>();
    if (lane >= WARP - width)
        of_warps[warp * width + in_panel] = sum;
    __syncthreads();
    acc_t before = identity_as<acc_t>();
    for (uint32 w = 0; w < warp; w++)
        before = combine(before, of_warps[w * width + in_panel]);
    left = combine(before, left);

#if TALLY_ARCHITECTURE >= 90
    if (blocks > 1) {
        __shared__ slot of_blocks[CLUSTER][WARP];
        acc_t total = before;
        for (uint32 w = warp; w < warps; w++)
            total = combine(total, of_warps[w * width + in_panel]);
        uint32 words[sizeof(slot) / 4] = {};
        memcpy(words, &total, sizeof total);
        wait_for_cluster();
        for (uint32 to = threadIdx.x / width; to < blocks; to += blockDim.x / width)
#pragma unroll
            for (int w = 0; w < (int)(sizeof(slot) / 4); w++)
                store_at_block(&of_blocks[rank][in_panel].word[w], to, words[w]);
        __syncwarp();
        arrive_in_cluster();
        wait_for_cluster();
        before = identity_as<acc_t>();
        for (uint32 b = 0; b < rank; b++) {
            acc_t next;
            memcpy(&next, of_blocks[b][in_panel].word, sizeof next);
            before = combine(before, next);
        }
        left = combine(before, left);
    }
#endif
    if (mine.count == 0)
        return;
    const uint64 group = slab * p.inner + column;
    if (p.carry || p.initial)
        left = combine(p.carry ? p.carry[group].read() : raise(load(p.initial)), left);
    const acc_t after = mine.finish(p, left);
    if (p.total && mine.first + mine.count == p.extent)
        p.total[group].write(after);
}
