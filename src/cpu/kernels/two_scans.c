/* What turns two scans of numbers into a scan of pairs: minmax is a minimum and a maximum side by side, and argmin is a
 * minimum and the place where it last changed. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"
#include "cpu/kernels/simd.h"

/* interleave and equals of kernels.h by the elements' type: integers are only compared for equality, so their
 * sign does not count. */
#define IS_NAN(v)    ((v) != (v))
#define IS_NO_NAN(v) 0
#define DEFINE_INTERLEAVE(tag)                                                                                         \
    static void interleave_##tag(const void *first, const void *second, size_t n, void *target) {                      \
        const e_##tag *restrict a = first, *restrict b = second;                                                       \
        e_##tag *restrict to = target;                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            to[2 * i] = a[i];                                                                                          \
            to[2 * i + 1] = b[i];                                                                                      \
        }                                                                                                              \
    }
#define DEFINE_EQUALS(tag, IS_NAN)                                                                                     \
    static void equals_##tag(const void *x, const void *after, const uint64_t *restrict numbers, size_t n,             \
                             int64_t *restrict places) {                                                               \
        const e_##tag *restrict a = x, *restrict b = after;                                                            \
        for (size_t i = 0; i < n; i++)                                                                                 \
            places[i] = ((a[i] == b[i]) | (IS_NAN(a[i]) & IS_NAN(b[i]))) ? (int64_t)numbers[i] : INT64_MAX;            \
    }
DEFINE_INTERLEAVE(i8)
DEFINE_INTERLEAVE(i16)
DEFINE_INTERLEAVE(i32)
DEFINE_INTERLEAVE(i64)
DEFINE_EQUALS(i32, IS_NO_NAN)
DEFINE_EQUALS(i64, IS_NO_NAN)
DEFINE_EQUALS(f32, IS_NAN)
DEFINE_EQUALS(f64, IS_NAN)

extern const tally_cpu_pairs PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
#define ENTRY(bits, tag)                                                                                               \
    { interleave_i##bits, equals_##tag }
#define NARROW_ENTRY(bits)                                                                                             \
    { interleave_i##bits, NULL }
const tally_cpu_pairs PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I8] = NARROW_ENTRY(8),   [TALLY_U8] = NARROW_ENTRY(8), [TALLY_I16] = NARROW_ENTRY(16),
    [TALLY_U16] = NARROW_ENTRY(16), [TALLY_I32] = ENTRY(32, i32), [TALLY_U32] = ENTRY(32, i32),
    [TALLY_I64] = ENTRY(64, i64),   [TALLY_U64] = ENTRY(64, i64), [TALLY_F32] = ENTRY(32, f32),
    [TALLY_F64] = ENTRY(64, f64),
};

/* Extremes hardly ever change, so most blocks are filled. Bits that are the same are values that are. */
#if !defined(__AVX512CD__)
enum { BLOCK = 16 };
#define DEFINE_FOLLOW(tag, bits, IS_NAN)                                                                               \
    ALWAYS_INLINE int64_t follow_some_##tag(const e_##tag *restrict a, const e_##tag *restrict b, size_t n,            \
                                            uint64_t first, int64_t place, e_i64 *restrict places) {                   \
        for (size_t i = 0; i < n; i++)                                                                                 \
            places[i] = place = ((a[i] != b[i]) & !IS_NAN(a[i])) ? (int64_t)(first + i) : place;                       \
        return place;                                                                                                  \
    }                                                                                                                  \
    static int64_t follow_##tag(const void *before, const void *after, size_t n, uint64_t first, int64_t place,        \
                                void *to) {                                                                            \
        const e_##tag *restrict a = before, *restrict b = after;                                                       \
        e_i64 *restrict places = to;                                                                                   \
        size_t i = 0;                                                                                                  \
        place = place < 0 ? (int64_t)first : place;                                                                    \
        for (; i + BLOCK <= n; i += BLOCK) {                                                                           \
            const e_u##bits *p = (const e_u##bits *)(a + i), *q = (const e_u##bits *)(b + i);                          \
            s_u##bits changed = 0;                                                                                     \
            for (size_t l = 0; l < BLOCK; l++)                                                                         \
                changed |= p[l] ^ q[l];                                                                                \
            if (changed)                                                                                               \
                place = follow_some_##tag(a + i, b + i, BLOCK, first + i, place, places + i);                          \
            else                                                                                                       \
                for (size_t l = 0; l < BLOCK; l++)                                                                     \
                    places[i + l] = place;                                                                             \
        }                                                                                                              \
        return follow_some_##tag(a + i, b + i, n - i, first + i, place, places + i);                                   \
    }
DEFINE_FOLLOW(i32, 32, IS_NO_NAN)
DEFINE_FOLLOW(i64, 64, IS_NO_NAN)
DEFINE_FOLLOW(f32, 32, IS_NAN)
DEFINE_FOLLOW(f64, 64, IS_NAN)
#endif

/* ---- the same in groups ---- */

#if defined(__AVX512CD__)
/* Bit k: of the elements of these lanes, number k of a is a number, and that of b another value. */
ALWAYS_INLINE __mmask16 changed_i32(const e_i32 *a, const e_i32 *b, __mmask16 lanes) {
    return _mm512_cmpneq_epi32_mask(_mm512_maskz_loadu_epi32(lanes, a), _mm512_maskz_loadu_epi32(lanes, b));
}
ALWAYS_INLINE __mmask16 changed_f32(const e_f32 *a, const e_f32 *b, __mmask16 lanes) {
    const __m512 x = _mm512_maskz_loadu_ps(lanes, a), y = _mm512_maskz_loadu_ps(lanes, b);
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x, y, _CMP_NEQ_UQ);
}
ALWAYS_INLINE __mmask8 half_changed_i64(const e_i64 *a, const e_i64 *b, __mmask8 lanes) {
    return _mm512_cmpneq_epi64_mask(_mm512_maskz_loadu_epi64(lanes, a), _mm512_maskz_loadu_epi64(lanes, b));
}
ALWAYS_INLINE __mmask8 half_changed_f64(const e_f64 *a, const e_f64 *b, __mmask8 lanes) {
    const __m512d x = _mm512_maskz_loadu_pd(lanes, a), y = _mm512_maskz_loadu_pd(lanes, b);
    return _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(x, x, _CMP_ORD_Q), x, y, _CMP_NEQ_UQ);
}
#define DEFINE_CHANGED_64(tag)                                                                                         \
    ALWAYS_INLINE __mmask16 changed_##tag(const e_##tag *a, const e_##tag *b, __mmask16 lanes) {                       \
        const uint32_t high = half_changed_##tag(a + 8, b + 8, (__mmask8)(lanes >> 8));                                \
        return (__mmask16)(half_changed_##tag(a, b, (__mmask8)lanes) | high << 8);                                     \
    }
DEFINE_CHANGED_64(i64)
DEFINE_CHANGED_64(f64)

/* Every lane takes x of the last lane at or below it that has its bit; without one, the last of 'before'. */
ALWAYS_INLINE v_i32 from_last_of(__mmask16 bits, v_i32 x, v_i32 before) {
    const v_u32 up_to =
        (v_u32){2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16} - 1;
    const v_u32 last = (v_u32)_mm512_lzcnt_epi32((__m512i)(up_to & bits)) ^ 31; /* without one 63 */
    return (v_i32)_mm512_permutex2var_epi32((__m512i)x, (__m512i)last, (__m512i)before);
}

/* Places of a run, which hardly ever change: the last one's in each lane, and the next ones from 'at' on. */
ALWAYS_INLINE __m512i follow_changes(__mmask16 changed, int64_t at, __mmask16 lanes, __m512i open, int64_t *places) {
    const uint32_t since = 0u - (changed & (0u - changed)); /* lanes from the first change on */
    const __m512i last = (__m512i)from_last_of(changed, (v_i32)unit_numbers(), (v_i32){0}),
                  from = _mm512_set1_epi64(at);
    const __m512i low =
        _mm512_mask_add_epi64(open, (__mmask8)since, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(last)), from);
    const __m512i high = _mm512_mask_add_epi64(open, (__mmask8)(since >> 8),
                                               _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(last, 1)), from);
    _mm512_mask_storeu_epi64(places, (__mmask8)lanes, low);
    _mm512_mask_storeu_epi64(places + 8, (__mmask8)(lanes >> 8), high);
    return changed ? _mm512_set1_epi64(at + 31 - __builtin_clz(changed)) : open;
}
#define DEFINE_FOLLOW_RUN(tag)                                                                                         \
    static int64_t follow_##tag(const void *before, const void *after, size_t n, uint64_t first, int64_t place,        \
                                void *to) {                                                                            \
        enum { LANES = LANES_OF(s_i32), ALL = 0xffff };                                                                \
        const e_##tag *const a = before, *const b = after;                                                             \
        int64_t *const places = to;                                                                                    \
        __m512i open = _mm512_set1_epi64(place < 0 ? (int64_t)first : place);                                          \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES) {                                                                           \
            const __mmask16 changed = changed_##tag(a + i, b + i, ALL);                                                \
            if (changed) {                                                                                             \
                open = follow_changes(changed, (int64_t)(first + i), ALL, open, places + i);                           \
            } else {                                                                                                   \
                _mm512_storeu_si512(places + i, open);                                                                 \
                _mm512_storeu_si512(places + i + 8, open);                                                             \
            }                                                                                                          \
        }                                                                                                              \
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);                                                       \
        if (rest)                                                                                                      \
            open = follow_changes(changed_##tag(a + i, b + i, rest), (int64_t)(first + i), rest, open, places + i);    \
        return open[0];                                                                                                \
    }

/* The lanes of the last head and of the last change, from the block's beginning on; a place is their distance. */
typedef struct followed {
    v_i32 head, change;
} followed;
ALWAYS_INLINE void follow_lanes(__mmask16 changed, const int8_t *heads, size_t i, __mmask16 lanes, followed *f,
                                int64_t *places) {
    const v_i32 own = (v_i32)unit_numbers() + (s_i32)i;
    const __mmask16 begin = _mm_movepi8_mask(_mm_maskz_loadu_epi8(lanes, heads + i));
    f->head = from_last_of(begin, own, f->head);
    f->change = from_last_of(begin | changed, own, f->change);
    const __m512i distance = (__m512i)(f->change - f->head);
    _mm512_mask_storeu_epi64(places + i, (__mmask8)lanes, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(distance)));
    _mm512_mask_storeu_epi64(places + i + 8, (__mmask8)(lanes >> 8),
                             _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(distance, 1)));
}
#define DEFINE_FOLLOW_GROUPS(tag)                                                                                      \
    static int64_t follow_groups_##tag(const void *before, const void *after, const int8_t *heads, size_t n,           \
                                       uint64_t *number, int64_t place, void *places) {                                \
        enum { LANES = LANES_OF(s_i32), ALL = 0xffff };                                                                \
        const e_##tag *const a = before, *const b = after;                                                             \
        followed f = {.head = (v_i32){0} - (s_i32)*number};                                                            \
        f.change = f.head + (*number ? (s_i32)place : 0);                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES)                                                                             \
            follow_lanes(changed_##tag(a + i, b + i, ALL), heads, i, ALL, &f, places);                                 \
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);                                                       \
        if (rest)                                                                                                      \
            follow_lanes(changed_##tag(a + i, b + i, rest), heads, i, rest, &f, places);                               \
        *number = (uint64_t)((int64_t)n - f.head[LANES - 1]);                                                          \
        return f.change[LANES - 1] - f.head[LANES - 1];                                                                \
    }
#else
tally_cpu_number_groups PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, );

ALWAYS_INLINE void put_places(v_i32 places, e_i64 *to) {
    e_i32 each[LANES_OF(s_i32)];
    memcpy(each, &places, sizeof each);
    for (size_t l = 0; l < LANES_OF(s_i32); l += LANES_OF(s_i64)) {
        const v_i64 wide = load_i64_from_i32(each + l);
        memcpy(to + l, &wide, sizeof wide);
    }
}

/* The lane of the last change at or below each, from 1 on, by a running maximum; its number is the place. */
ALWAYS_INLINE v_i32 places_of(v_i32 changed, v_i32 number, v_i32 before) {
    v_u32 last = (v_u32)changed & (unit_numbers() + 1);
    UNROLL_8 for (size_t by = 1; by < LANES_OF(s_u32); by *= 2) last =
        max_u32(last, shift_up_u32(last, (v_u32){0}, by));
    return SELECT_LANES(i32, (last == 0), before, permute_units((v_u32)number, last - 1));
}

/* changed[i] is all ones or 0. */
static int64_t follow_numbers(const e_i32 *changed, const uint32_t *numbers, size_t n, int64_t place, e_i64 *places) {
    enum { LANES = LANES_OF(s_i32) };
    size_t i = 0;
    for (v_i32 open = (s_i32)place - (v_i32){0}; MOVES_ANY_LANE && i + LANES <= n; i += LANES) {
        v_i32 number, marks;
        memcpy(&number, numbers + i, sizeof number);
        memcpy(&marks, changed + i, sizeof marks);
        marks |= number == 0;
        open = any_bit((v_u64)marks) ? places_of(marks, number, open) : open;
        put_places(open, places + i);
        open = last_i32(open);
        place = open[0];
    }
    for (; i < n; i++)
        places[i] = place = changed[i] || numbers[i] == 0 ? (int64_t)numbers[i] : place;
    return place;
}

#define DEFINE_FOLLOW_GROUPS(tag)                                                                                      \
    static int64_t follow_groups_##tag(const void *before, const void *after, const int8_t *heads, size_t n,           \
                                       uint64_t *number, int64_t place, void *places) {                                \
        e_i32 changed[TALLY_CPU_FOLLOWED];                                                                             \
        uint32_t numbers[TALLY_CPU_FOLLOWED];                                                                          \
        *number = PASTE4(tally_cpu_number_groups, _, TALLY_LEVEL, )(heads, n, 0, (uint32_t)*number, numbers);          \
        mark_changed_##tag(before, after, n, changed);                                                                 \
        return follow_numbers(changed, numbers, n, place, places);                                                     \
    }
#endif

/* ---- and in columns ---- */

/* Fewer columns are followed in registers: a row would wait for the places that the row before has stored. changed[i]
 * is all ones or 0, and behind the last one is room for a row. What a row writes behind its end the next one
 * overwrites. Places only grow. */
enum { FEW_COLUMNS = 16, STRIPS = FEW_COLUMNS / LANES_OF(s_i64) };
/* 'strips' vectors hold a row; it is a constant where this is inlined. */
ALWAYS_INLINE void follow_strips(size_t strips, const e_i32 *changed, size_t rows, size_t width, uint64_t row,
                                 int64_t *places, e_i64 *to) {
    v_i64 open[STRIPS];
    int64_t room[FEW_COLUMNS] = {0};
    const size_t most = strips * LANES_OF(s_i64);
    memcpy(room, places, width * sizeof *room);
    memcpy(open, room, sizeof open);
    for (size_t r = 0; r < rows; r++, row++, changed += width, to += width) {
        UNROLL_8 for (size_t s = 0; s < strips; s++) {
            const v_i64 now = load_i64_from_i32(changed + s * LANES_OF(s_i64)) & (int64_t)row;
            open[s] = max_i64(now, open[s]);
        }
        if (r + most / width < rows)
            memcpy(to, open, most * sizeof *to);
        else
            memcpy(to, open, width * sizeof *to);
    }
    memcpy(room, open, sizeof open);
    memcpy(places, room, width * sizeof *room);
}
static void follow_few_columns(const e_i32 *changed, size_t rows, size_t width, uint64_t row, int64_t *places,
                               e_i64 *to) {
    if (width <= LANES_OF(s_i64))
        follow_strips(1, changed, rows, width, row, places, to);
    else
        follow_strips(STRIPS, changed, rows, width, row, places, to);
}

static void follow_columns(const e_i32 *changed, size_t rows, size_t width, uint64_t row, int64_t *restrict open,
                           e_i64 *restrict places) {
    for (size_t j = 0; j < width; j++)
        open[j] = open[j] < 0 ? (int64_t)row : open[j];
    if (width < FEW_COLUMNS) {
        follow_few_columns(changed, rows, width, row, open, places);
        return;
    }
    for (size_t r = 0; r < rows; r++, row++, changed += width, places += width)
        for (size_t j = 0; j < width; j++)
            places[j] = open[j] = changed[j] ? (int64_t)row : open[j];
}

#if defined(__AVX512CD__)
DEFINE_FOLLOW_RUN(i32)
DEFINE_FOLLOW_RUN(i64)
DEFINE_FOLLOW_RUN(f32)
DEFINE_FOLLOW_RUN(f64)
#endif

#define DEFINE_FOLLOW_MARKED(tag, IS_NAN)                                                                              \
    static __attribute__((noinline)) void mark_changed_##tag(const e_##tag *restrict a, const e_##tag *restrict b,     \
                                                             size_t n, e_i32 *restrict changed) {                      \
        for (size_t i = 0; i < n; i++)                                                                                 \
            changed[i] = -((a[i] != b[i]) & !IS_NAN(a[i]));                                                            \
    }                                                                                                                  \
    DEFINE_FOLLOW_GROUPS(tag)                                                                                          \
    static void follow_columns_##tag(const void *before, const void *after, size_t rows, size_t width, uint64_t row,   \
                                     int64_t *open, void *places) {                                                    \
        e_i32 changed[TALLY_CPU_FOLLOWED + FEW_COLUMNS];                                                               \
        mark_changed_##tag(before, after, rows *width, changed);                                                       \
        follow_columns(changed, rows, width, row, open, places);                                                       \
    }
DEFINE_FOLLOW_MARKED(i32, IS_NO_NAN)
DEFINE_FOLLOW_MARKED(i64, IS_NO_NAN)
DEFINE_FOLLOW_MARKED(f32, IS_NAN)
DEFINE_FOLLOW_MARKED(f64, IS_NAN)

extern const tally_cpu_follow PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];
#define FOLLOW(tag)                                                                                                    \
    { follow_##tag, follow_groups_##tag, follow_columns_##tag }
const tally_cpu_follow PASTE4(tally_cpu_follow, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT] = {
    [TALLY_I32] = FOLLOW(i32), [TALLY_U32] = FOLLOW(i32), [TALLY_I64] = FOLLOW(i64),
    [TALLY_U64] = FOLLOW(i64), [TALLY_F32] = FOLLOW(f32), [TALLY_F64] = FOLLOW(f64),
};
