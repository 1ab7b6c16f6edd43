/* Places of the extremes of columns, argmin and argmax, for reductions of few rows and for scans: a strip of columns
 * keeps its extremes and their places in registers, and places go straight to results. Elements of 32 bits are widened,
 * so that they stand beside places of 64 bits. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

#if defined(__AVX512F__)

/* A row waits for the comparison with the one before, so four strips go along. */
enum { LANES = LANES_OF(s_i64), STRIPS = 4 };

/* Whether x comes before the extreme; NaN, where no NaN came before. */
ALWAYS_INLINE v_i64 is_before_i64(v_i64 x, v_i64 extreme) {
    return x < extreme;
}
ALWAYS_INLINE v_i64 is_before_f64(v_f64 x, v_f64 extreme) {
    return ~(x >= extreme) & (extreme == extreme);
}

/* The last columns fill a strip with some before them, for which 'back' keeps how they began. */
#define DEFINE_PLACES(tag, lane)                                                                                       \
    static void places_##tag(const void *elements, size_t rows, size_t width, size_t stride, uint64_t turned,          \
                             uint64_t row, void *values, int64_t *places, void *target, size_t target_stride) {        \
        const e_##tag *const x = elements;                                                                             \
        e_##tag *const extremes = values;                                                                              \
        const v_u64 turn = turned - (v_u64){0};                                                                        \
        const bool is_fresh = places[0] < 0;                                                                           \
        const size_t back = width - LANES;                                                                             \
        e_##tag back_extremes[LANES];                                                                                  \
        int64_t back_places[LANES];                                                                                    \
        memcpy(back_extremes, extremes + back, sizeof back_extremes);                                                  \
        memcpy(back_places, places + back, sizeof back_places);                                                        \
        for (size_t j = 0; j < width; j += STRIPS * LANES) {                                                           \
            v_##lane extreme[STRIPS];                                                                                  \
            v_i64 place[STRIPS];                                                                                       \
            size_t at[STRIPS];                                                                                         \
            UNROLL_8 for (size_t s = 0; s < STRIPS; s++) {                                                             \
                at[s] = j + s * LANES < back ? j + s * LANES : back;                                                   \
                const e_##tag *from = at[s] == back ? back_extremes : extremes + at[s];                                \
                extreme[s] = load_##lane##_from_##tag(is_fresh ? x + at[s] : from);                                    \
                extreme[s] = (v_##lane)((v_u64)extreme[s] ^ turn);                                                     \
                memcpy(&place[s], at[s] == back ? back_places : places + at[s], sizeof *place);                        \
                place[s] = is_fresh ? (int64_t)row - (v_i64){0} : place[s];                                            \
            }                                                                                                          \
            for (size_t r = 0; r < rows; r++) {                                                                        \
                UNROLL_8 for (size_t s = 0; s < STRIPS; s++) {                                                         \
                    const v_##lane v = (v_##lane)((v_u64)load_##lane##_from_##tag(x + r * stride + at[s]) ^ turn);     \
                    const v_i64 better = is_before_##lane(v, extreme[s]);                                              \
                    extreme[s] = SELECT_LANES(lane, better, v, extreme[s]);                                            \
                    place[s] = SELECT_LANES(i64, better, (int64_t)(row + r) - (v_i64){0}, place[s]);                   \
                    if (target)                                                                                        \
                        memcpy((e_i64 *)target + r * target_stride + at[s], &place[s], sizeof *place);                 \
                }                                                                                                      \
            }                                                                                                          \
            UNROLL_8 for (size_t s = 0; s < STRIPS; s++) {                                                             \
                s_##lane each[LANES];                                                                                  \
                extreme[s] = (v_##lane)((v_u64)extreme[s] ^ turn);                                                     \
                memcpy(each, &extreme[s], sizeof each);                                                                \
                for (size_t l = 0; l < LANES; l++)                                                                     \
                    extremes[at[s] + l] = (e_##tag)each[l];                                                            \
                memcpy(places + at[s], &place[s], sizeof *place);                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_PLACES(i32, i64)
DEFINE_PLACES(i64, i64)
DEFINE_PLACES(f32, f64)
DEFINE_PLACES(f64, f64)
#define PLACES(tag) places_##tag
#else
#define PLACES(tag) NULL
#endif

extern tally_cpu_places_of_columns *const PASTE4(tally_cpu_places, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
tally_cpu_places_of_columns *const PASTE4(tally_cpu_places, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I32] = PLACES(i32), [TALLY_U32] = PLACES(i32), [TALLY_I64] = PLACES(i64),
    [TALLY_U64] = PLACES(i64), [TALLY_F32] = PLACES(f32), [TALLY_F64] = PLACES(f64),
};
