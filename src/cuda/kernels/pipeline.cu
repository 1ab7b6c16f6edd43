/* What the warps of a block that do different work on the same tiles need: gates between them, barriers of some of them,
 * and copies that run by themselves where the device has them (sm_90 and later). */
#define COPIES_IN_BULK (TALLY_ARCHITECTURE >= 90)
#define HAS_MBARRIER   (TALLY_ARCHITECTURE >= 80)

extern __shared__ __align__(128) uint8 ring_memory[]; /* what a launch gives */

inline uint32 shared_address(const void *p) {
    return (uint32)__cvta_generic_to_shared(p);
}

/* Opens when 'count' have arrived, then closes for its next phase. Those who wait name the phase's parity: it starts at
 * 0, and wait(1) passes at once before anybody has arrived. */
struct gate {
#if HAS_MBARRIER
    uint64 word;

    void init(uint32 count) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(this)), "r"(count) : "memory");
    }
    void arrive() {
        asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(
                         shared_address(this))
                     : "memory");
    }
    bool is_open(uint32 parity) {
        uint32 open;
#if COPIES_IN_BULK
        asm volatile("{\n\t.reg .pred open;\n\tmbarrier.try_wait.parity.shared::cta.b64 open, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, open;\n\t}"
                     : "=r"(open)
                     : "r"(shared_address(this)), "r"(parity)
                     : "memory");
#else
        /* without .parity before PTX 7.1; sm_80 knows it */
        asm volatile("{\n\t.reg .pred open;\n\tmbarrier.test_wait.parity.shared::cta.b64 open, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, open;\n\t}"
                     : "=r"(open)
                     : "r"(shared_address(this)), "r"(parity)
                     : "memory");
#endif
        return open;
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
    if (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
                     "n"(Bytes < 16 ? Bytes : 4)
                     : "memory");
#else
    typedef typename word_of<Bytes>::type word;
    *(word *)to = __ldcs((const word *)from);
#endif
}
inline void arrive_after_vectors(gate *g) {
#if HAS_MBARRIER
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(g)) : "memory");
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

/* A barrier of 'Threads' threads, who all name the same number from 1 to 15. */
template <int Threads> inline void sync_some(int barrier) {
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}

#if COPIES_IN_BULK
/* Lets the gate open only when so many bytes more have come; counts as an arrival. */
inline void arrive_and_expect(gate *g, uint32 bytes) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n\t}" ::"r"(
                     shared_address(g)),
                 "r"(bytes)
                 : "memory");
}
/* Addresses and sizes are multiples of 16. */
inline void copy_in(void *to, const void *from, uint32 bytes, gate *g) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(g))
                 : "memory");
}
inline void copy_out(void *to, const void *from, uint32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes)
                 : "memory");
}
inline void end_copies_out() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* Until all ends of copies but the last so many have read what they copy. */
template <int Ends> inline void wait_for_copies_out() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Ends) : "memory");
}
/* What this thread wrote to shared memory is seen by the copies that are started from now on. */
inline void show_to_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
#endif
inline void show_gates() {
#if COPIES_IN_BULK
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
