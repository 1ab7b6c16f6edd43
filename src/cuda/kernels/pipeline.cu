/* Tools for the warps of a block that do different work on the same tiles: gates between them, barriers of some of
 * them, and asynchronous copies where the device has them (sm_90 and later). */
#define COPIES_IN_BULK (TALLY_ARCHITECTURE >= 90)
#define HAS_MBARRIER   (TALLY_ARCHITECTURE >= 80)

/* Opens when 'count' threads have arrived, which ends a phase, and is closed again for the next phase. A thread that
 * waits for the end of a phase gives its parity: the first phase has 0, the second 1, and so on. Before any thread has
 * arrived wait(1) returns at once, as if a phase before the first had ended; so the first round through a ring is not a
 * special case. */
struct gate {
#if HAS_MBARRIER
    uint64 word;

    void init(uint32 count) {
        init_mbarrier(&word, count);
    }
    void arrive() {
        arrive_at_mbarrier(&word);
    }
    bool is_open(uint32 parity) {
        return has_passed(&word, parity);
    }
#else
    uint32 arrived, needed, phase;

    void init(uint32 count) {
        arrived = phase = 0;
        needed = count;
    }
    void arrive() {
        __threadfence_block();
        if (atomicAdd(&arrived, 1) + 1 == needed) {
            arrived = 0;
            __threadfence_block();
            atomicAdd(&phase, 1);
        }
    }
    bool is_open(uint32 parity) {
        bool open = (*(volatile uint32 *)&phase & 1) != parity;
        __threadfence_block();
        return open;
    }
#endif
    void wait(uint32 parity) {
        while (!is_open(parity))
            ;
    }
};

/* Copies 16, 8 or 4 bytes to shared memory, past the registers and without waiting if the device can; both addresses
 * are aligned to that size. A thread that has started its last copy arrives at a gate with arrive_after_vectors. */
template <int Bytes> inline void copy_vector(void *to, const void *from) {
#if HAS_MBARRIER
    copy_ahead<Bytes>(to, from);
#else
    typedef typename word_of<Bytes>::type word;
    *(word *)to = __ldcs((const word *)from);
#endif
}
inline void arrive_after_vectors(gate *g) {
#if HAS_MBARRIER
    arrive_after_copies(&g->word);
#else
    g->arrive();
#endif
}

/* A place in a ring of 'Length' places, and the parity of the phase that the gates there are in. */
template <int Length> struct place_in_ring {
    int at;
    uint32 parity;

    void advance(int by = 1) {
        for (at += by; at >= Length;) {
            at -= Length;
            parity ^= 1;
        }
    }
};

inline void show_gates() {
#if COPIES_IN_BULK
    show_mbarriers();
#endif
}
