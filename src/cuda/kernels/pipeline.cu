/* What the warps of a block that do different work on the same tiles need: gates between them, barriers of some of them,
 * and copies that run by themselves where the device has them (sm_90 and later). */
#define COPIES_IN_BULK (TALLY_ARCHITECTURE >= 90)
#define HAS_MBARRIER   (TALLY_ARCHITECTURE >= 80)

/* Opens when 'count' have arrived, then closes for its next phase. Those who wait name the phase's parity: it starts at
 * 0, and wait(1) passes at once before anybody has arrived. */
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

/* 16, 8 or 4 bytes on their way to shared memory, past the registers where the device can; both addresses are aligned to
 * them. After the last a thread arrives at a gate that way. */
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

/* A place in a ring of 'Length', and the parity of the gates there. */
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
