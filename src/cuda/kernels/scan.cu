/* The kernel of scans along consecutive elements: its warps and their work. scan_tiles.cu tells how they go together;
 * scan_move.cu, scan_sum.cu and scan_finish.cu what each does. */

extern "C" __global__ void __launch_bounds__(THREADS, 1) scan(scan_args p) {
    extern __shared__ __align__(128) uint8 ring_memory[];
    scratch &s = *(scratch *)ring_memory;
    if (p.refused && *p.refused)
        return;
    uint64 turns = turns_of_block(p);
#if GROUPS == SEGMENTS
    if (threadIdx.x == 0) {
        s.written_from = load(p.offsets);
        s.written_to = load(p.offsets + p.segments);
    }
#endif
    init_gates(s, arriving_summers(p), 1);
    if (threadIdx.x >= FIRST_FINISHER)
        finish_tiles(s, p, turns);
    else if (threadIdx.x >= FIRST_SUMMER)
        sum_tiles(s, p, turns);
    else if (threadIdx.x >= MESSENGER)
        carry_messages(s, p, turns);
#if COPIES_IN_BULK
    else if (threadIdx.x >= FIRST_STORER)
        store_tiles<false>(s, p, turns);
#endif
    else
        load_tiles(s, p, turns);
}
