/* Labels of any type as numbers of 32 bits, checked on the way. The comparison is unsigned, so that a negative label is
 * too large. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"

#define DEFINE_READ(tag, wide)                                                                                         \
    static bool read_##tag(const void *labels, size_t n, tally_cpu_places places, uint32_t *restrict to) {             \
        const e_##tag *label = labels;                                                                                 \
        const uint32_t groups = places.groups;                                                                         \
        wide bad = 0;                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const wide value = (wide)label[i];                                                                         \
            const uint32_t place = value < groups ? (uint32_t)value : groups;                                          \
            bad |= value >= groups;                                                                                    \
            to[i] = place == places.hot ? places.spare + ((uint32_t)i & (TALLY_CPU_HOT_COPIES - 1))                    \
                                        : place + ((uint32_t)i & (places.copies - 1)) * (groups + 1);                  \
        }                                                                                                              \
        return bad != 0;                                                                                               \
    }
DEFINE_READ(u8, uint32_t)
DEFINE_READ(u16, uint32_t)
DEFINE_READ(u32, uint32_t)
DEFINE_READ(i32, uint32_t)
DEFINE_READ(i64, uint64_t)

extern tally_cpu_read_labels *const PASTE4(tally_cpu_labels, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
tally_cpu_read_labels *const PASTE4(tally_cpu_labels, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {[TALLY_U8] = read_u8,
                                                                                              [TALLY_U16] = read_u16,
                                                                                              [TALLY_U32] = read_u32,
                                                                                              [TALLY_I32] = read_i32,
                                                                                              [TALLY_I64] = read_i64};
