/* The instructions that CUDA C cannot express, one function each; no other text has inline assembly. The guard lets
 * another text with the same functions take the place of this one: tests/cuda/emulator uses that to run kernels without
 * a GPU. This text comes before prelude.cu, so the types are C's own; 'long long' and 'unsigned long long' have 64
 * bits, and addresses in shared memory are ordinary pointers. */
#ifndef TALLY_PTX
#define TALLY_PTX

/* ---- conversions, rounded to nearest, ties to even; an f16 as its bits ---- */

inline float float_of_f16(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
inline double double_of_f16(unsigned short bits) {
    double value;
    asm("cvt.f64.f16 %0, %1;" : "=d"(value) : "h"(bits));
    return value;
}
inline unsigned short f16_of(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
inline unsigned short f16_of(double x) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
inline unsigned short f16_of(long long x) {
    unsigned short bits;
    asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(x));
    return bits;
}
inline unsigned short f16_of(unsigned long long x) {
    unsigned short bits;
    asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(x));
    return bits;
}

/* Two of them in a word. */
inline unsigned f16_pair_of(float low, float high) {
#if TALLY_ARCHITECTURE >= 80
    unsigned bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
#else
    return f16_of(low) | (unsigned)f16_of(high) << 16;
#endif
}

#if TALLY_ARCHITECTURE >= 80
inline unsigned short bf16_of(float x) {
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
inline unsigned bf16_pair_of(float low, float high) {
    unsigned bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}
#endif
#if TALLY_ARCHITECTURE >= 90
inline double double_of_bf16(unsigned short bits) {
    double value;
    asm("cvt.f64.bf16 %0, %1;" : "=d"(value) : "h"(bits));
    return value;
}
inline unsigned short bf16_of(double x) {
    unsigned short bits;
    asm("cvt.rn.bf16.f64 %0, %1;" : "=h"(bits) : "d"(x));
    return bits;
}
#endif

/* ---- the smaller and the larger, NaN if one of them is ---- */

#if TALLY_ARCHITECTURE >= 80
inline float min_or_nan(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
inline float max_or_nan(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
#endif

/* ---- the same, but of a number and NaN the number; -0 is below +0 ---- */

inline float min_of_numbers(float a, float b) {
    float r;
    asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
inline float max_of_numbers(float a, float b) {
    float r;
    asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

/* ---- approximations by the hardware; results and arguments below the smallest normal number are 0 ---- */

inline float power_of_2(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
inline float log2_nearby(float x) {
    float r;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
/* 1 / x to 20 bits. */
inline double reciprocal_nearby(double x) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}
/* 1 / sqrt(x), likewise. */
inline double inverse_root_nearby(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    return r;
}

inline float inverse_root_nearby(float x) {
    float r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* 1 / x and the root of x, to 23 bits. */
inline float reciprocal_nearby(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
inline float root_nearby(float x) {
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* A word of bytes that are 0 or 255, as the highest bit of each byte that a digit from 8 on names says: 8 the lowest. */
template <unsigned Digits> inline unsigned spread_signs(unsigned word) {
    unsigned r;
    asm("prmt.b32 %0, %1, %1, %2;" : "=r"(r) : "r"(word), "n"(Digits));
    return r;
}

/* Adds the four bytes of a word to a sum, each times a byte of 'of'. */
template <class T> inline unsigned add_bytes(unsigned word, unsigned sum, unsigned of = 0x01010101);
template <> inline unsigned add_bytes<unsigned char>(unsigned word, unsigned sum, unsigned of) {
    unsigned r;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(of), "r"(sum));
    return r;
}
template <> inline unsigned add_bytes<signed char>(unsigned word, unsigned sum, unsigned of) {
    unsigned r;
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(word), "r"(of), "r"(sum));
    return r;
}
/* Adds the squares of a word's four bytes to a sum. */
template <class T> inline unsigned add_squares_of_bytes(unsigned word, unsigned sum);
template <> inline unsigned add_squares_of_bytes<unsigned char>(unsigned word, unsigned sum) {
    return add_bytes<unsigned char>(word, sum, word);
}
template <> inline unsigned add_squares_of_bytes<signed char>(unsigned word, unsigned sum) {
    unsigned r;
    asm("dp4a.s32.s32 %0, %1, %1, %2;" : "=r"(r) : "r"(word), "r"(sum));
    return r;
}

#if TALLY_ARCHITECTURE >= 90
/* The smaller and the larger of each of two pairs of integers. */
template <class T> inline unsigned smaller_pair(unsigned a, unsigned b);
template <class T> inline unsigned larger_pair(unsigned a, unsigned b);
template <> inline unsigned smaller_pair<short>(unsigned a, unsigned b) {
    unsigned r;
    asm("min.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
template <> inline unsigned smaller_pair<unsigned short>(unsigned a, unsigned b) {
    unsigned r;
    asm("min.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
template <> inline unsigned larger_pair<short>(unsigned a, unsigned b) {
    unsigned r;
    asm("max.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
template <> inline unsigned larger_pair<unsigned short>(unsigned a, unsigned b) {
    unsigned r;
    asm("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
#endif

/* Adds an integer of three words, the lowest first, to another. */
inline void add_words(unsigned (&to)[3], unsigned low, unsigned middle, unsigned high) {
    asm("add.cc.u32 %0, %0, %3;\n\taddc.cc.u32 %1, %1, %4;\n\taddc.u32 %2, %2, %5;"
        : "+r"(to[0]), "+r"(to[1]), "+r"(to[2])
        : "r"(low), "r"(middle), "r"(high));
}

/* The same; 'minus' is 0, or ~0 to subtract. */
inline void add_words(unsigned (&to)[3], const unsigned (&words)[3], unsigned minus) {
    asm("{ .reg .u32 carry;\n\tadd.cc.u32 carry, %6, %6;\n\taddc.cc.u32 %0, %0, %3;\n\taddc.cc.u32 %1, %1, %4;\n\t"
        "addc.u32 %2, %2, %5; }"
        : "+r"(to[0]), "+r"(to[1]), "+r"(to[2])
        : "r"(words[0] ^ minus), "r"(words[1] ^ minus), "r"(words[2] ^ minus), "r"(minus));
}
/* The same of four words. */
inline void add_words(unsigned (&to)[4], const unsigned (&words)[4], unsigned minus) {
    asm("{ .reg .u32 carry;\n\tadd.cc.u32 carry, %8, %8;\n\taddc.cc.u32 %0, %0, %4;\n\taddc.cc.u32 %1, %1, %5;\n\t"
        "addc.cc.u32 %2, %2, %6;\n\taddc.u32 %3, %3, %7; }"
        : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3])
        : "r"(words[0] ^ minus), "r"(words[1] ^ minus), "r"(words[2] ^ minus), "r"(words[3] ^ minus), "r"(minus));
}

/* Keeps the word, but makes the compiler forget what it knows of its value. */
inline void hide(unsigned &word) {
    asm volatile("" : "+r"(word));
}

/* ---- global memory that other blocks read and write meanwhile; several words in one access, aligned to all ---- */

inline void store_relaxed(void *to, unsigned a, unsigned b) {
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(a), "r"(b) : "memory");
}
inline void store_relaxed(void *to, unsigned a, unsigned b, unsigned c, unsigned d) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}
inline void load_relaxed(const void *from, unsigned &a, unsigned &b) {
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(from) : "memory");
}
inline void load_relaxed(const void *from, unsigned &a, unsigned &b, unsigned &c, unsigned &d) {
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(from)
                 : "memory");
}
inline void store_release(unsigned *to, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
inline unsigned load_acquire(const unsigned *from) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

/* Has the second-level cache fetch what is wanted soon, and the address translated. */
inline void prefetch(const void *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/* ---- loads of what is wanted a while later. What is the same for all threads the compiler would move to a uniform
 * register, and wait for it at once ---- */

inline unsigned load_ahead(const unsigned *from) {
    unsigned value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(from));
    return value;
}
inline unsigned long long load_ahead(const unsigned long long *from) {
    unsigned long long value;
    asm volatile("ld.global.u64 %0, [%1];" : "=l"(value) : "l"(from));
    return value;
}

/* ---- barriers ---- */

/* A barrier of 'Threads' threads of a block, whole warps, which all give the same number from 1 to 15. */
template <int Threads> inline void sync_some(int barrier) {
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}
/* The same for a barrier that is known at compile time: for a number known only at run time the compiler reserves all
 * 16 barriers. */
template <int Barrier, int Threads> inline void sync_some() {
    asm volatile("barrier.sync %0, %1;" ::"n"(Barrier), "n"(Threads) : "memory");
}

inline unsigned shared_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
/* The same address, which then stays in a register. The compiler would make the address of an array from constants once
 * more for each access that has a condition, with four instructions. */
template <class T> inline T *stays_in_shared(T *p) {
    unsigned address = shared_address(p);
    hide(address);
    return (T *)__cvta_shared_to_generic(address);
}

/* Adds to a word of shared memory; gives what stood there. atomicAdd() computes the base of shared memory each time. */
inline unsigned add_shared(unsigned *to, unsigned value) {
    unsigned before;
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(shared_address(to)), "r"(value) : "memory");
    return before;
}

/* The same without what stood there, which is faster. */
inline void add_shared_only(unsigned *to, unsigned value) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(to)), "r"(value) : "memory");
}

/* Sets a byte of shared memory to 1, as other threads may do at the same time. */
inline void flag_shared(unsigned char *to) {
    asm volatile("st.relaxed.cta.shared.u8 [%0], %1;" ::"r"(shared_address(to)), "r"(1u) : "memory");
}

/* A word of shared memory that other threads change by atomic operations. */
template <class T> inline T peek_shared(const T *from) {
    return *(const volatile T *)from;
}

#if TALLY_ARCHITECTURE >= 80
/* A word of shared memory as a barrier at which threads arrive without waiting. 'count' arrivals end a phase. */
inline void init_mbarrier(unsigned long long *word, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(word)), "r"(count) : "memory");
}
inline void arrive_at_mbarrier(unsigned long long *word) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared::cta.b64 state, [%0];\n\t}" ::"r"(
                     shared_address(word))
                 : "memory");
}
/* Whether the phase of this parity has ended. */
inline bool has_passed(unsigned long long *word, unsigned parity) {
    unsigned passed;
#if TALLY_ARCHITECTURE >= 90
    asm volatile("{\n\t.reg .pred open;\n\tmbarrier.try_wait.parity.shared::cta.b64 open, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, open;\n\t}"
                 : "=r"(passed)
                 : "r"(shared_address(word)), "r"(parity)
                 : "memory");
#else
    /* without .parity before PTX 7.1; sm_80 knows it */
    asm volatile("{\n\t.reg .pred open;\n\tmbarrier.test_wait.parity.shared::cta.b64 open, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, open;\n\t}"
                 : "=r"(passed)
                 : "r"(shared_address(word)), "r"(parity)
                 : "memory");
#endif
    return passed;
}

/* ---- copies that run by themselves: 16, 8 or 4 bytes of this thread, from global to shared memory ---- */

template <int Bytes> inline void copy_ahead(void *to, const void *from) {
    if (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
                     "n"(Bytes < 16 ? Bytes : 4)
                     : "memory");
}
/* Makes a group of this thread's copies since the last. */
inline void end_copies_ahead() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Waits until all groups but the last 'Groups' have arrived. */
template <int Groups> inline void wait_for_copies_ahead() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}
/* Arrives at the barrier as soon as this thread's copies so far are done, without waiting for them. */
inline void arrive_after_copies(unsigned long long *word) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(word)) : "memory");
}
#endif

/* ---- blocks that wait for those that began before them ---- */

/* How many blocks of a launch in one dimension began before this one. CUDA promises no order, but devices begin blocks
 * in the order of their numbers. CUB's scans rely on this, too. */
inline unsigned ordinal_of_block() {
    return blockIdx.x;
}

/* ---- kernels that start while the one before them in the stream still runs; elsewhere they start after it ---- */

/* Lets the next kernel start once all blocks have called this or ended. */
inline void let_next_start() {
#if TALLY_ARCHITECTURE >= 90
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
/* Waits until the previous kernel is done and its writes can be read. */
inline void wait_for_last() {
#if TALLY_ARCHITECTURE >= 90
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#if TALLY_ARCHITECTURE >= 90
/* ---- copies in bulk: addresses and sizes are multiples of 16 ---- */

/* Arrives, and lets the phase end only when this many more bytes have been copied. */
inline void arrive_and_expect(unsigned long long *word, unsigned bytes) {
    asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n\t}" ::"r"(
                     shared_address(word)),
                 "r"(bytes)
                 : "memory");
}
inline void copy_in(void *to, const void *from, unsigned bytes, unsigned long long *word) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(word))
                 : "memory");
}
inline void copy_out(void *to, const void *from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes)
                 : "memory");
}
/* Makes a group of this thread's copies out since the last. */
inline void end_copies_out() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/* Waits until all groups but the last 'Groups' have read what they copy. */
template <int Groups> inline void wait_for_copies_out() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Groups) : "memory");
}
/* Makes this thread's stores to shared memory visible to copies that are started from now on. */
inline void show_to_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* The same for barriers that it has initialized. */
inline void show_mbarriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/* ---- clusters of blocks ---- */

inline void arrive_in_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
inline void wait_for_cluster() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* Stores to the variable of this name in one of the cluster's blocks. */
inline void store_at_block(unsigned *word, unsigned block, unsigned value) {
    asm volatile("{\n\t.reg .u32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "st.shared::cluster.u32 [there], %2;\n\t}" ::"r"(shared_address(word)),
                 "r"(block), "r"(value)
                 : "memory");
}
/* Loads from it. */
inline unsigned load_at_block(const unsigned *word, unsigned block) {
    unsigned value;
    asm volatile("{\n\t.reg .u32 there;\n\tmapa.shared::cluster.u32 there, %1, %2;\n\t"
                 "ld.shared::cluster.u32 %0, [there];\n\t}"
                 : "=r"(value)
                 : "r"(shared_address(word)), "r"(block)
                 : "memory");
    return value;
}
#endif
#endif
