/* Takes the place of src/cuda/kernels/ptx.cu, whose guard this sets: the same functions, in C++ over the scheduler. */
#define TALLY_PTX

namespace emulate {
/* A nonnegative number that a double holds as its bits in f16, rounded to nearest, ties to even. */
inline unsigned short f16_bits(double x) {
    if (x >= 65520)
        return 0x7c00;
    int exponent = -14;
    if (x >= 0x1p-14)
        exponent = __builtin_ilogb(x);
    const unsigned units = (unsigned)__builtin_rint(__builtin_ldexp(x, 10 - exponent));
    return exponent == -14 ? units : (exponent + 14) * 1024 + units;
}
inline void check_alignment(const void *address, unsigned bytes) {
    if ((size_t)address % bytes)
        scheduler->fault("a misaligned access");
}
} // namespace emulate

inline float float_of_f16(unsigned short bits) {
    const int exponent = bits >> 10 & 31, significand = bits & 1023;
    float x = exponent == 31 ? __uint_as_float(0x7f800000 | significand << 13)
              : exponent     ? __builtin_ldexpf(significand + 1024, exponent - 25)
                             : __builtin_ldexpf(significand, -24);
    return bits >> 15 ? -x : x;
}
inline double double_of_f16(unsigned short bits) {
    return float_of_f16(bits);
}
inline unsigned short f16_of(double x) {
    if (x != x)
        return 0x7fff;
    return emulate::f16_bits(__builtin_fabs(x)) | (__builtin_signbit(x) ? 0x8000 : 0);
}
inline unsigned short f16_of(float x) {
    return f16_of((double)x);
}
inline unsigned f16_pair_of(float low, float high) {
    return f16_of(low) | (unsigned)f16_of(high) << 16;
}
/* Integers that a double rounds are infinite in f16. */
inline unsigned short f16_of(long long x) {
    return f16_of((double)x);
}
inline unsigned short f16_of(unsigned long long x) {
    return f16_of((double)x);
}

#if EMULATE_ARCHITECTURE >= 80
inline unsigned short bf16_of(float x) {
    const unsigned bits = __float_as_uint(x);
    return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline unsigned bf16_pair_of(float low, float high) {
    return bf16_of(low) | (unsigned)bf16_of(high) << 16;
}
#if EMULATE_ARCHITECTURE >= 90
inline double double_of_bf16(unsigned short bits) {
    return __uint_as_float(bits << 16);
}
inline unsigned short bf16_of(double x) {
    const float nearest = (float)x;
    const bool is_too_large = __builtin_fabs((double)nearest) > __builtin_fabs(x);
    const bool is_inexact = x == x && (double)nearest != x; /* rounding to odd, and then to bf16, is rounding once */
    return bf16_of(__uint_as_float(__float_as_uint(nearest) - is_too_large | is_inexact));
}
#endif
inline float min_or_nan(float a, float b) {
    if (a != a || b != b)
        return __uint_as_float(0x7fffffff);
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
inline float max_or_nan(float a, float b) {
    return -min_or_nan(-a, -b);
}
#endif
inline float min_of_numbers(float a, float b) {
    return b != b || a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
inline float max_of_numbers(float a, float b) {
    return -min_of_numbers(-a, -b);
}

inline void add_words(unsigned (&to)[3], unsigned low, unsigned middle, unsigned high) {
    const unsigned long long first = (unsigned long long)to[0] + low;
    const unsigned long long second = (unsigned long long)to[1] + middle + (first >> 32);
    to[0] = (unsigned)first;
    to[1] = (unsigned)second;
    to[2] += high + (unsigned)(second >> 32);
}

template <int Words> inline void add_words(unsigned (&to)[Words], const unsigned (&words)[Words], unsigned minus) {
    unsigned long long carry = minus & 1;
    for (int w = 0; w < Words; w++) {
        carry += (unsigned long long)to[w] + (words[w] ^ minus);
        to[w] = (unsigned)carry;
        carry >>= 32;
    }
}

/* As inexact as a GPU's may be. */
inline float power_of_2(float x) {
    const float r = __builtin_exp2f(x);
    return r < 0x1p-126f ? 0 : r - r == 0 ? __uint_as_float(__float_as_uint(r) ^ 1) : r;
}
inline float log2_nearby(float x) {
    const float r = x < 0x1p-126f ? -__builtin_inff() : __builtin_log2f(x);
    return r - r == 0 && r != 0 ? __uint_as_float(__float_as_uint(r) ^ 1) : r;
}
inline double reciprocal_nearby(double x) {
    return __longlong_as_double(__double_as_longlong(1 / x) & ~0xffffffffll);
}

inline double inverse_root_nearby(double x) {
    return __longlong_as_double(__double_as_longlong(1 / __builtin_sqrt(x)) & ~0xffffffffll);
}

inline float inverse_root_nearby(float x) {
    const float r = (float)(1 / __builtin_sqrt((double)x));
    return r - r == 0 ? __uint_as_float(__float_as_uint(r) ^ 1) : r;
}

inline float reciprocal_nearby(float x) {
    const float r = 1 / x;
    return r - r == 0 && r != 0 ? __uint_as_float(__float_as_uint(r) ^ 1) : r;
}
inline float root_nearby(float x) {
    const float r = __builtin_sqrtf(x);
    return r - r == 0 && r != 0 ? __uint_as_float(__float_as_uint(r) ^ 1) : r;
}

template <unsigned Digits> inline unsigned spread_signs(unsigned word) {
    unsigned r = 0;
    for (int b = 0; b < 4; b++)
        r |= (word >> (8 * (Digits >> 4 * b & 7) + 7) & 1) * 255u << 8 * b;
    return r;
}

template <class T> inline unsigned add_bytes(unsigned word, unsigned sum, unsigned of = 0x01010101) {
    for (int b = 0; b < 4; b++)
        sum += (unsigned)(T)(word >> 8 * b) * (of >> 8 * b & 255);
    return sum;
}
template <class T> inline unsigned add_squares_of_bytes(unsigned word, unsigned sum) {
    for (int b = 0; b < 4; b++)
        sum += (unsigned)((T)(word >> 8 * b) * (T)(word >> 8 * b));
    return sum;
}
template <class T> inline unsigned smaller_pair(unsigned a, unsigned b) {
    const T low = (T)a < (T)b ? a : b, high = (T)(a >> 16) < (T)(b >> 16) ? a >> 16 : b >> 16;
    return (unsigned)(unsigned short)high << 16 | (unsigned short)low;
}
template <class T> inline unsigned larger_pair(unsigned a, unsigned b) {
    const T low = (T)a > (T)b ? a : b, high = (T)(a >> 16) > (T)(b >> 16) ? a >> 16 : b >> 16;
    return (unsigned)(unsigned short)high << 16 | (unsigned short)low;
}

inline void hide(unsigned &) {}
template <class T> inline T *stays_in_shared(T *p) {
    return p;
}

EMULATE_UNTRACKED inline void flag_shared(unsigned char *to) {
    *to = 1;
}
template <class T> EMULATE_UNTRACKED inline T peek_shared(const T *from) {
    return *from;
}
inline unsigned add_shared(unsigned *to, unsigned value) {
    return atomicAdd(to, value);
}
inline void add_shared_only(unsigned *to, unsigned value) {
    atomicAdd(to, value);
}

inline unsigned ordinal_of_block() {
    return emulate::scheduler->ordinal_of_block();
}

/* A launch is done before the next begins, but with EMULATE_EARLY=1 that may not see it (early.h). */
inline void let_next_start() {
#if EMULATE_ARCHITECTURE >= 90
    emulate::scheduler->let_next_start();
#endif
}
inline void wait_for_last() {
    emulate::scheduler->wait_for_last();
}

/* ---- global memory that other blocks read and write meanwhile; who reads it may be polling ---- */

inline void prefetch(const void *) {}
inline void store_relaxed(void *to, unsigned a, unsigned b) {
    emulate::check_alignment(to, 8);
    const unsigned words[] = {a, b};
    memcpy(to, words, 8);
}
inline void store_relaxed(void *to, unsigned a, unsigned b, unsigned c, unsigned d) {
    emulate::check_alignment(to, 16);
    const unsigned words[] = {a, b, c, d};
    memcpy(to, words, 16);
}
inline void load_relaxed(const void *from, unsigned &a, unsigned &b) {
    emulate::check_alignment(from, 8);
    emulate::scheduler->give_way();
    const unsigned *words = (const unsigned *)from;
    a = words[0];
    b = words[1];
}
inline void load_relaxed(const void *from, unsigned &a, unsigned &b, unsigned &c, unsigned &d) {
    emulate::check_alignment(from, 16);
    emulate::scheduler->give_way();
    const unsigned *words = (const unsigned *)from;
    a = words[0];
    b = words[1];
    c = words[2];
    d = words[3];
}
inline void store_release(unsigned *to, unsigned value) {
    *to = value;
}
inline unsigned load_acquire(const unsigned *from) {
    emulate::scheduler->give_way();
    return *from;
}

inline unsigned load_ahead(const unsigned *from) {
    return *from;
}
inline unsigned long long load_ahead(const unsigned long long *from) {
    return *from;
}

/* ---- barriers ---- */

template <int Threads> inline void sync_some(int barrier) {
    emulate::scheduler->sync(barrier, Threads);
}
template <int Barrier, int Threads> inline void sync_some() {
    emulate::scheduler->sync(Barrier, Threads);
}

#if EMULATE_ARCHITECTURE >= 80
namespace emulate {
struct mbarrier {
    unsigned short needed, pending; /* arrivals: of a phase, of this one */
    int bytes : 31;                 /* that are still to come */
    unsigned phase : 1;
};
static_assert(sizeof(mbarrier) == sizeof(emulate_word));

EMULATE_UNTRACKED inline void change(emulate_word *word, int arrivals, int bytes) {
    mbarrier *barrier = (mbarrier *)word;
    if (barrier->pending < arrivals)
        scheduler->fault("more arrivals at an mbarrier than it is for");
    barrier->pending -= arrivals;
    barrier->bytes += bytes;
    if (!barrier->pending && !barrier->bytes) {
        barrier->phase ^= 1;
        barrier->pending = barrier->needed;
        scheduler->at_gate(word, PHASE_ENDS);
    }
}
inline void change_by_copy(emulate_word *word, int arrivals, int bytes) {
    scheduler->at_gate(word, COPY_ARRIVES);
    change(word, arrivals, bytes);
}
} // namespace emulate

EMULATE_UNTRACKED inline void init_mbarrier(unsigned long long *word, unsigned count) {
    emulate::scheduler->at_gate(word, GATE_BEGINS);
    *(emulate::mbarrier *)word = {(unsigned short)count, (unsigned short)count, 0, 0};
}
inline void arrive_at_mbarrier(unsigned long long *word) {
    emulate::scheduler->at_gate(word, THREAD_ARRIVES);
    emulate::change(word, 1, 0);
}
EMULATE_UNTRACKED inline bool has_passed(unsigned long long *word, unsigned parity) {
    emulate::mbarrier *barrier = (emulate::mbarrier *)word;
    if (barrier->phase == parity)
        emulate::scheduler->give_way();
    if (barrier->phase != parity)
        emulate::scheduler->at_gate(word, PHASE_SEEN);
    return barrier->phase != parity;
}

template <int Bytes> inline void copy_ahead(void *to, const void *from) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    emulate::check_alignment(to, Bytes);
    emulate::check_alignment(from, Bytes);
    const emulate_copy copy = {to, from, Bytes, nullptr, nullptr};
    emulate::scheduler->copy_in_group(&copy);
}
inline void end_copies_ahead() {
    const emulate_copy end = {};
    emulate::scheduler->copy_in_group(&end);
}
template <int Groups> inline void wait_for_copies_ahead() {
    emulate::scheduler->wait_for_groups(Groups);
}
inline void arrive_after_copies(unsigned long long *word) {
    const emulate_copy arrival = {nullptr, nullptr, 0,
                                  [](emulate_word *gate, unsigned) { emulate::change_by_copy(gate, 1, 0); }, word};
    emulate::scheduler->let_groups_go();
    emulate::scheduler->copy(&arrival);
}
#endif

#if EMULATE_ARCHITECTURE >= 90
inline void arrive_and_expect(unsigned long long *word, unsigned bytes) {
    emulate::change(word, 0, (int)bytes);
    arrive_at_mbarrier(word);
}
inline void copy_in(void *to, const void *from, unsigned bytes, unsigned long long *word) {
    emulate::check_alignment(to, 16);
    emulate::check_alignment(from, 16);
    emulate::check_alignment((void *)(size_t)bytes, 16);
    const emulate_copy copy = {
        to, from, bytes, [](emulate_word *gate, unsigned come) { emulate::change_by_copy(gate, 0, -(int)come); }, word};
    emulate::scheduler->copy(&copy);
}
inline void copy_out(void *to, const void *from, unsigned bytes) {
    emulate::check_alignment(to, 16);
    emulate::check_alignment(from, 16);
    emulate::check_alignment((void *)(size_t)bytes, 16);
    const emulate_copy copy = {to, from, bytes, nullptr, nullptr};
    emulate::scheduler->copy_in_group(&copy);
}
inline void end_copies_out() {
    const emulate_copy end = {};
    emulate::scheduler->copy_in_group(&end);
}
template <int Groups> inline void wait_for_copies_out() {
    emulate::scheduler->wait_for_groups(Groups);
}
inline void show_to_copies() {}
inline void show_mbarriers() {}

inline void arrive_in_cluster() {
    emulate::scheduler->arrive_in_cluster();
}
inline void wait_for_cluster() {
    emulate::scheduler->wait_for_cluster();
}
inline void store_at_block(unsigned *word, unsigned block, unsigned value) {
    *(unsigned *)emulate::scheduler->at_block(word, block) = value;
}
inline unsigned load_at_block(const unsigned *word, unsigned block) {
    return *(const unsigned *)emulate::scheduler->at_block((unsigned *)word, block);
}
#endif
