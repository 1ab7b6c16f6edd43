/* emulate.h: what the ladder's kernels need of CUDA C, for a C++ compiler: a launch runs its blocks one after the other
 * and the threads of a block as coroutines that give way at barriers and shuffles. It is as strict as a GPU may be: a
 * thread runs on until it must wait, so that what relies on warps in step comes out wrong. EMULATE_ORDER=reverse
 * begins each turn with the last thread. A barrier that not all threads can reach ends the launch as a fault.
 *
 * It stands before a kernel's text (nvrtc.c); the kernels' arguments are words of 64 bits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __shared__ static

struct emulate_index {
    unsigned x;
};
struct uint4 {
    unsigned x, y, z, w;
};
static emulate_index threadIdx, blockIdx, blockDim, gridDim;

/* ---- coroutines: the registers that a function keeps, on a stack of its own (x86-64 as System V has it) ---- */

extern "C" void emulate_switch(void **from, void *to);
__asm__(".text\n"
        ".local emulate_switch\n"
        "emulate_switch:\n"
        "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
        "    ret\n");

namespace emulate {
enum { MOST = 1024, STACK = 1 << 14, LANES = 32, KEPT = 6 };
enum state { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, ENDED };
typedef void function(uint64_t, uint64_t, uint64_t, uint64_t);

struct thread {
    void *stack; /* where it goes on */
    state at;
    uint64_t slot; /* what a shuffle shows to the others of the warp */
};
static thread *threads;
static char *stacks;
static void *scheduler;
static unsigned current;
static function *kernel;
static uint64_t arguments[4];

static void wait_at(state barrier) {
    threads[current].at = barrier;
    emulate_switch(&threads[current].stack, scheduler);
}

static void body() {
    kernel(arguments[0], arguments[1], arguments[2], arguments[3]);
    wait_at(ENDED);
}

static void begin(unsigned t) {
    void **top = (void **)(stacks + (size_t)(t + 1) * STACK);
    *--top = nullptr; /* as if called: the stack is aligned so */
    *--top = (void *)body;
    for (int k = 0; k < KEPT; k++)
        *--top = nullptr;
    threads[t].stack = top;
    threads[t].at = READY;
}

/* Lets threads first .. end - 1 go on if all of them that have not ended wait at this barrier. */
static bool release(unsigned first, unsigned end, state barrier) {
    bool any = false;
    for (unsigned t = first; t < end; t++) {
        if (threads[t].at == ENDED)
            continue;
        if (threads[t].at != barrier)
            return false;
        any = true;
    }
    for (unsigned t = first; t < end; t++)
        if (threads[t].at == barrier)
            threads[t].at = READY;
    return any;
}

static bool run_block(unsigned block, bool reverse) {
    for (unsigned t = 0; t < block; t++)
        begin(t);
    for (;;) {
        bool moved = false, waiting = false;
        for (unsigned k = 0; k < block; k++) {
            const unsigned t = reverse ? block - 1 - k : k;
            if (threads[t].at == READY) {
                current = t;
                threadIdx.x = t;
                emulate_switch(&scheduler, threads[t].stack);
                moved = true;
            }
            waiting = waiting || threads[t].at != ENDED;
        }
        for (unsigned first = 0; first < block; first += LANES)
            moved = release(first, first + LANES, AT_WARP_BARRIER) || moved;
        moved = release(0, block, AT_BLOCK_BARRIER) || moved;
        if (!waiting)
            return true;
        if (!moved)
            return false;
    }
}

static uint64_t exchange(uint64_t mine, unsigned from) {
    threads[current].slot = mine;
    wait_at(AT_WARP_BARRIER);
    const uint64_t theirs = threads[current / LANES * LANES + from].slot;
    wait_at(AT_WARP_BARRIER); /* before any lane shows something else */
    return theirs;
}

template <typename T> static T shuffle(T value, unsigned from) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = exchange(bits, from);
    memcpy(&value, &bits, sizeof value);
    return value;
}
} // namespace emulate

/* Runs a grid; 0, or 1 for a barrier that cannot be passed. */
extern "C" int emulate_launch(void *function, int count, void **parameters, unsigned grid, unsigned block) {
    using namespace emulate;
    const char *order = getenv("EMULATE_ORDER");
    if (!threads) {
        threads = (thread *)calloc(MOST, sizeof *threads);
        stacks = (char *)aligned_alloc(16, (size_t)MOST * STACK);
    }
    kernel = (emulate::function *)function;
    for (int k = 0; k < count; k++)
        memcpy(&arguments[k], parameters[k], sizeof arguments[k]);
    blockDim.x = block;
    gridDim.x = grid;
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
        if (!run_block(block, order && order[0] == 'r'))
            return 1;
    return 0;
}

/* ---- the functions that the kernels call ---- */

inline void __syncthreads() {
    emulate::wait_at(emulate::AT_BLOCK_BARRIER);
}
inline void __syncwarp() {
    emulate::wait_at(emulate::AT_WARP_BARRIER);
}
template <typename T> T __shfl_sync(unsigned, T value, unsigned from) {
    return emulate::shuffle(value, from);
}
template <typename T> T __shfl_down_sync(unsigned, T value, unsigned distance) {
    const unsigned lane = threadIdx.x % 32;
    return emulate::shuffle(value, lane + distance < 32 ? lane + distance : lane);
}
template <typename T> T __shfl_up_sync(unsigned, T value, unsigned distance) {
    const unsigned lane = threadIdx.x % 32;
    return emulate::shuffle(value, lane >= distance ? lane - distance : lane);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
    unsigned votes = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        votes |= (unsigned)(emulate::shuffle((unsigned)vote, lane) & 1) << lane;
    return votes;
}
inline int __ffs(unsigned word) {
    return __builtin_ffs((int)word);
}
inline int __float_as_int(float value) {
    int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline unsigned __float_as_uint(float value) {
    return (unsigned)__float_as_int(value);
}
inline float __int_as_float(int bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> T atomicAdd(T *to, T value) {
    const T before = *to;
    *to = before + value;
    return before;
}
template <typename T> T atomicMax(T *to, T value) {
    const T before = *to;
    *to = before < value ? value : before;
    return before;
}
template <typename T> T atomicMin(T *to, T value) {
    const T before = *to;
    *to = value < before ? value : before;
    return before;
}
