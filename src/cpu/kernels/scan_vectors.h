/* Whole vectors of a scan: one by one, through a buffer whose output is streamed, or many of 4-byte lanes in blocks. A
 * part of scan.h, which includes it for each class and output type. */
#include "cpu/kernels/scan_blocks.h"

#if defined(__AVX512BW__)
ALWAYS_INLINE void NAME(scan_blocks_)(tally_monoid m, const E_T *x, size_t blocks, bool reverse, bool exclusive,
                                      L_V *before, O_T *out) {
    enum { STEP = NAME(BLOCK_) * LANES };
    const bool numbers = false;
    const L_V identity = SPLAT(NAME(scan_identity_)(m));
    const NAME(later_lanes_) later = NAME(later_lanes_of_)(reverse);
    const ptrdiff_t step = reverse ? -(ptrdiff_t)STEP : STEP;
    const E_T *from = x + (reverse ? (blocks - 1) * STEP : 0);
    O_T unused[STEP], *to = out + (from - x);
    NAME(block_) first, second = {{identity, identity, identity, identity}, identity, identity}, third = second;
    L_V running = *before, results[NAME(BLOCK_)];
    for (size_t turn = 0; turn < blocks + 2; turn++) {
        NOT_IN_VECTORS(reverse); /* nor a loop for each form */
        NOT_IN_VECTORS(exclusive);
        UNROLL_8 for (size_t k = 0; k < NAME(BLOCK_); k++) first.r[k] = LOAD(from + k * LANES);
        from += turn + 1 < blocks ? step : 0;
        NAME(begin_block_)(m, reverse, &first);
        NAME(swap_totals_)(m, 32, later.of_32, &second);
        NAME(swap_totals_)(m, 4, later.of_4, &third);
        NAME(swap_totals_)(m, 8, later.of_8, &third);
        const L_V start = COMBINE(running, third.before);
        running = COMBINE(running, third.total);
        NAME(end_block_)(m, reverse, exclusive, start, &third, results);
        O_T *const place = turn < 2 ? unused : to;
        UNROLL_8 for (size_t k = 0; k < NAME(BLOCK_); k++) memcpy(place + k * LANES, &results[k], sizeof results[k]);
        to += turn < 2 ? 0 : step;
        NAME(open_totals_)(m, identity, later.of_16, &first);
        third = second;
        second = first;
    }
    *before = running;
}

/* Scans of fewer vectors go one by one, as two turns do half of their work for nothing. */
enum { NAME(LEAST_VECTORS_) = 32 };
#define DEFINE_BLOCKS(name)                                                                                            \
    static __attribute__((noinline)) void PASTE4(scan_blocks_, name, _, WIDTH)(                                        \
        const E_T *x, size_t blocks, bool reverse, bool exclusive, L_V *before, O_T *out) {                            \
        NAME(scan_blocks_)(TALLY_MONOID_##name, x, blocks, reverse, exclusive, before, out);                           \
    }
#define BLOCKS_OF(name) (sizeof(L_T) > 4 || SETTLES(TALLY_MONOID_##name) ? NULL : PASTE4(scan_blocks_, name, _, WIDTH))
#else
enum { NAME(BLOCK_) = 4, NAME(LEAST_VECTORS_) = 32 };
#define DEFINE_BLOCKS(name)
#define BLOCKS_OF(name) NULL
#endif
typedef void NAME(blocks_function_)(const E_T *x, size_t blocks, bool reverse, bool exclusive, L_V *before, O_T *out);

ALWAYS_INLINE void NAME(scan_vectors_)(tally_monoid m, NAME(blocks_function_) * by_blocks, const E_T *x, size_t vectors,
                                       tally_cpu_scan_options how, L_V *before, O_T *out) {
    const size_t blocks = by_blocks ? vectors / NAME(BLOCK_) : 0, in_blocks = blocks * NAME(BLOCK_);
    if (blocks) {
        const size_t at = (how.reverse ? vectors - in_blocks : 0) * LANES;
        L_V running = *before; /* else *before would not stay in a register where there are no blocks either */
        by_blocks(x + at, blocks, how.reverse, how.exclusive, &running, out + at);
        *before = running;
    }
    for (size_t k = in_blocks; k < vectors; k++) {
        size_t i = (how.reverse ? vectors - 1 - k : k) * LANES;
        L_V v = LOAD(x + i);
        bool exclusive = how.exclusive;
        if (SETTLES(m)) { /* what follows is rare, and need not be there for either form */
            if (NAME(is_settled_)(m, v, *before)) {
                memcpy(out + i, before, sizeof v);
                continue;
            }
            NOT_IN_VECTORS(exclusive);
        }
        v = NAME(scan_vector_)(m, how.reverse ? REVERSED(v) : v, exclusive, before);
        if (how.reverse)
            v = REVERSED(v);
        memcpy(out + i, &v, sizeof v);
    }
}

/* The same through a buffer in the first-level cache, from which the output is streamed. The output may begin at any
 * address; only an element's position in the group decides its lane, so the bits do not depend on addresses. */
enum { NAME(BUFFER_) = 4096 / sizeof(L_T) };
typedef void NAME(scan_function_)(const void *x, size_t n, tally_cpu_scan_options how, const void *acc, void *out);

ALWAYS_INLINE void NAME(stream_vectors_)(tally_monoid m, NAME(blocks_function_) * by_blocks, const E_T *x,
                                         size_t vectors, tally_cpu_scan_options how, L_V *before, O_T *out) {
    const size_t most = NAME(BUFFER_) / LANES;
    L_V buffer[NAME(BUFFER_) / LANES];
    for (size_t done = 0; done < vectors; done += most) {
        size_t block = vectors - done < most ? vectors - done : most;
        size_t at = (how.reverse ? vectors - done - block : done) * LANES;
        if (how.ahead)
            fetch_bytes((const char *)(x + at) + how.ahead, block * LANES * sizeof(E_T));
        NAME(scan_vectors_)(m, by_blocks, x + at, block, how, before, (O_T *)buffer);
        stream_bytes(out + at, buffer, block * sizeof *buffer);
    }
    end_stream();
}
