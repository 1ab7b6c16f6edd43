/* Reductions of rows of consecutive elements: an array of rows x extent, each row cut into 'blocks' chunks of one
 * thread block each. There are far more blocks than the device holds at a time. So the hardware shares the work evenly,
 * and memory is read nearly in address order. The blocks' results are folded in a fixed order, so that a result has the
 * same bits every run: by the row's last block, to which the others hand over; if there are more, by a second kernel
 * (cluster.cu), started while the first still runs; or, for little input, in a cluster of blocks that access each other's
 * shared memory. */

/* Blocks that a multiprocessor must have registers for; 1 asks for nothing. With accumulators of 17 to 32 bytes the
 * compiler would otherwise take too many registers for four, as it does where exponentials are looked up, or taken of
 * doubles. Because of a row's last step it would take 54 for sums of aligned f32, where 40 do as well, and 64 to 80 for
 * rows that are not aligned. Before sm_80 it has 1024 threads. */
enum {
    BLOCKS_A_PROCESSOR = LOOKS_UP_EXPONENTIALS || (sizeof(acc_t) > 16 && sizeof(acc_t) <= 32) ? 4 : 1,
    ARE_LIGHT = sizeof(acc_t) <= 16 && !COMBINES_SLOWLY && !LOOKS_UP_EXPONENTIALS,
    LIGHT_BLOCKS = HAS_SECOND || VECTOR > 8 || TALLY_ARCHITECTURE < 80 ? 4
                   : sizeof(acc_t) > 8 || sizeof(in_t) == 2            ? 5
                                                                       : 6,
    ALIGNED_BLOCKS = ARE_LIGHT ? (int)LIGHT_BLOCKS : COMBINES_SLOWLY ? 4 : (int)BLOCKS_A_PROCESSOR,
    ACROSS_BLOCKS = ARE_LIGHT                                    ? (ORDER_SHOWS || HAS_SECOND ? 4 : (int)LIGHT_BLOCKS)
                    : COMBINES_SLOWLY && BLOCKS_A_PROCESSOR == 1 ? 3
                                                                 : (int)BLOCKS_A_PROCESSOR
};

/* Aligned: all rows begin with a whole vector. Any rows take more registers, so they have a kernel of their own. */
template <bool Aligned> inline void reduce_rows(const reduce_args &p) {
    const uint32 block = ordinal_of_block();
    const bool hand_over_all = p.blocks <= MOST_HANDED, is_last = block + 1 == p.blocks;
    make_exponentials<BLOCK>();
    wait_for_last();
    let_next_start();
    for (uint64 number = blockIdx.y; number < p.rows; number += gridDim.y) {
        const row r = row_of(p.x, p.y, p.rows, p.extent, p.before, number);
        acc_t acc = fold_row<BLOCK, UNROLL, Aligned>(p, r, block);
        handed *of_blocks = (handed *)p.partials + number * p.blocks;
        if (p.blocks > 1 && hand_over_all && is_last)
            acc = combine(fold_handed<BLOCK, (sizeof(acc_t) > 8 ? 1 : 2)>(of_blocks, (uint32)p.blocks - 1), acc);
        if (threadIdx.x)
            continue;
        if (!hand_over_all)
            p.partials[block * p.rows + number].write(acc);
        else if (is_last)
            give(p.to, number, acc);
        else
            give_away(of_blocks + block, acc);
    }
}
