/* Loops over offsets. They are compiled for each level, because the baseline's instructions were slower than memory:
 * segments of one element take 100 ms with one thread instead of 131. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd_types.h"

bool PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, )(const void *offsets, size_t bytes, size_t n);

/* The top bit is set if the next offset is smaller, or if one of them is too large for any array. A vector of
 * differences is faster to compute than one of unsigned comparisons. */
static bool decreases_64(const e_u64 *offsets, size_t n) {
    uint64_t decreases = 0;
    for (size_t k = 0; k < n; k++)
        decreases |= (offsets[k + 1] - offsets[k]) | offsets[k] | offsets[k + 1];
    return decreases >> 63;
}
static bool decreases_32(const e_u32 *offsets, size_t n) {
    uint32_t decreases = 0;
    for (size_t k = 0; k < n; k++)
        decreases |= offsets[k + 1] < offsets[k];
    return decreases;
}
bool PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, )(const void *offsets, size_t bytes, size_t n) {
    return bytes == sizeof(uint32_t) ? decreases_32(offsets, n) : decreases_64(offsets, n);
}

bool PASTE4(tally_cpu_repeats, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n);
bool PASTE4(tally_cpu_repeats, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n) {
    uint64_t repeats = 0;
    for (size_t k = 0; k < n; k++)
        repeats |= offsets[k + 1] == offsets[k];
    return repeats;
}

bool PASTE4(tally_cpu_is_even, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n);
bool PASTE4(tally_cpu_is_even, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n) {
    const uint64_t length = offsets[1] - offsets[0];
    uint64_t differs = 0;
    for (size_t k = 0; k < n; k++)
        differs |= (offsets[k + 1] - offsets[k]) ^ length;
    return !differs;
}

void PASTE4(tally_cpu_ends, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t count, uint32_t *ends);
void PASTE4(tally_cpu_ends, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t count, uint32_t *ends) {
    for (size_t i = 0; i < count; i++)
        ends[i] = offsets[i + 1] == offsets[i] ? 0 : (uint32_t)(offsets[i + 1] - offsets[0]);
}
