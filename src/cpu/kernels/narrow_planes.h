/* Scans of planes of elements of 1 and 2 bytes by masks: rows side by side in vectors, as in scan_planes.h. Words of 16
 * bits are moved by one instruction, and so are bytes by an even number of places, rows of an odd number of bytes thus
 * in all steps but the first. A part of narrow_scan.c. */
#include "cpu/kernels/narrow_operations.h"
#include "cpu/kernels/row_steps.h"

/* Functions of an operation that are not inlined, since planes and columns share them. */
typedef struct masked_scan masked_scan;
typedef struct shared {
    void (*rows)(const narrow_scan *s, const masked_scan *steps, bool goes_on, const char *x, size_t n, size_t plane,
                 v_u8 *value, char *out);
    void (*columns)(const narrow_scan *s, const char *x, size_t rows, size_t width, size_t stride, bool stream,
                    char *carried, size_t out_stride, char *out);
} shared;

#if defined(__AVX512BW__)
enum { STEPS = ROW_STEPS + 1 };

/* What a loop over vectors keeps in registers. If rows have an odd number of 'bytes', the first step and the last row
 * are moves of bytes. */
struct masked_scan {
    const narrow_scan *scan;
    __m512i from[STEPS], last;
    byte_move first, to_last;
    uint64_t takes[STEPS]; /* of bytes, or of words */
    size_t count, filled, rest;
    bool by_bytes, goes_on, settles;
};

ALWAYS_INLINE v_u8 moved_bytes(v_u8 x, byte_move by) {
    const __m512i low = _mm512_permutexvar_epi16(by.low, (__m512i)x),
                  high = _mm512_permutexvar_epi16(by.high, (__m512i)x);
    return (v_u8)_mm512_or_si512(_mm512_shuffle_epi8(low, by.pick_low), _mm512_shuffle_epi8(high, by.pick_high));
}

/* Where nothing is taken from is 0. */
ALWAYS_INLINE v_u8 step_of(const masked_scan *s, v_u8 x, size_t step) {
    if (!s->by_bytes)
        return (v_u8)_mm512_maskz_permutexvar_epi16((__mmask32)s->takes[step], s->from[step], (__m512i)x);
    const v_u8 moved = step == 0 ? moved_bytes(x, s->first) : (v_u8)_mm512_permutexvar_epi16(s->from[step], (__m512i)x);
    return (v_u8)_mm512_maskz_mov_epi8(s->takes[step], (__m512i)moved);
}

ALWAYS_INLINE v_u8 scan_masked(const masked_scan *s, v_u8 x, v_u8 *before) {
    size_t count = s->count;
    bool exclusive = s->scan->exclusive, goes_on = s->goes_on;
    NOT_IN_VECTORS(count); /* nor a loop for each */
    NOT_IN_VECTORS(exclusive);
    NOT_IN_VECTORS(goes_on);
    UNROLL_8 for (size_t step = 0; step < STEPS; step++) {
        if (step == count)
            break;
        x = combined(s->scan, step_of(s, x, step), x);
    }
    const v_u8 was = *before;
    if (goes_on)
        *before =
            combined(s->scan, was,
                     s->by_bytes ? moved_bytes(x, s->to_last) : (v_u8)_mm512_permutexvar_epi16(s->last, (__m512i)x));
    return combined(s->scan, was, exclusive ? step_of(s, x, 0) : x);
}

/* The bytes 'own' of one vector. */
ALWAYS_INLINE void scan_own_bytes(const masked_scan *s, const char *from, __mmask64 own, v_u8 *before, char *to) {
    v_u8 v = (v_u8)_mm512_maskz_loadu_epi8(own, from) ^ s->scan->flip;
    if (s->settles && changes_nothing(s->scan, (v_u8)_mm512_maskz_mov_epi8(own, (__m512i)v), *before))
        v = *before;
    else
        v = scan_masked(s, v, before);
    _mm512_mask_storeu_epi8(to, own, (__m512i)(v ^ s->scan->flip));
}

/* n bytes, planes of 'plane' each, which start from *value; it becomes the value after them if that goes on from one
 * vector to the next. One loop, since a plane may have two vectors. */
ALWAYS_INLINE void scan_masked_rows(const masked_scan *s, const char *x, size_t n, size_t plane, v_u8 *value,
                                    char *out) {
    const bool reverse = s->scan->reverse;
    const size_t filled = s->filled, in_plane = (plane + filled - 1) / filled, rest = plane - (in_plane - 1) * filled;
    const uint64_t own = _bzhi_u64(UINT64_MAX, (unsigned)filled) << (reverse ? VECTOR_BYTES - filled : 0);
    const uint64_t last_own = _bzhi_u64(UINT64_MAX, (unsigned)rest) << (reverse ? VECTOR_BYTES - rest : 0);
    const ptrdiff_t next = reverse ? -(ptrdiff_t)filled : (ptrdiff_t)filled;
    const ptrdiff_t next_plane = reverse ? -(ptrdiff_t)rest : (ptrdiff_t)rest;
    const v_u8 start = *value;
    v_u8 before = start;
    const char *from = x + (reverse ? (ptrdiff_t)n - VECTOR_BYTES : 0);
    char *to = out + (from - x);
    for (size_t vectors = n / plane * in_plane, left = in_plane; vectors > 0; vectors--) {
        const bool is_last = --left == 0;
        scan_own_bytes(s, from, is_last ? last_own : own, &before, to);
        const ptrdiff_t by = is_last ? next_plane : next;
        from += by, to += by;
        if (is_last && vectors > 1) {
            before = start;
            left = in_plane;
        }
    }
    *value = before;
}

/* Planes of 'rows' rows of 'width' bytes. */
static void find_steps(const narrow_scan *scan, size_t rows, size_t width, masked_scan *s) {
    s->by_bytes = scan->bytes == 1 && width % 2 == 1;
    if (s->by_bytes) {
        byte_steps steps;
        FIND_BYTE_STEPS(rows, width, scan->reverse, &steps);
        memcpy(s->from + 1, steps.from, sizeof steps.from);
        memcpy(s->takes, steps.takes, sizeof steps.takes);
        s->first = steps.first;
        s->to_last = steps.last;
        s->count = steps.count;
        s->filled = steps.filled;
        return;
    }
    row_steps steps;
    FIND_STEPS(VECTOR_BYTES / 2, rows, width / 2, scan->reverse, &steps);
    memcpy(s->from, steps.from, sizeof steps.from);
    for (size_t step = 0; step < ROW_STEPS; step++)
        s->takes[step] = steps.takes[step];
    s->last = steps.last;
    s->count = steps.count;
    s->filled = 2 * steps.filled;
}

/* A text for each way; as scan_masked_rows. */
ALWAYS_INLINE void scan_rows_side_by_side(const narrow_scan *scan, const masked_scan *found, bool goes_on,
                                          const char *x, size_t n, size_t plane, v_u8 *value, char *out) {
    enum { SETTLING = 8 /* vectors of a plane */ };
    masked_scan s = *found;
    s.scan = scan;
    s.goes_on = goes_on;
    s.settles = (scan->op == OR || scan->op == LARGER) && goes_on && plane > SETTLING * VECTOR_BYTES;
    if (scan->bytes == 1 && found->by_bytes) {
        s.by_bytes = true;
        scan_masked_rows(&s, x, n, plane, value, out);
    } else {
        s.by_bytes = false;
        scan_masked_rows(&s, x, n, plane, value, out);
    }
}

/* Planes whose rows would fill more than half a vector. */
ALWAYS_INLINE void scan_wide_planes(const narrow_scan *s, const char *x, size_t n, size_t rows, size_t width,
                                    v_u8 start, char *out) {
    bool exclusive = s->exclusive;
    const ptrdiff_t step = s->reverse ? -(ptrdiff_t)width : (ptrdiff_t)width;
    for (size_t plane = 0; plane < n; plane += rows * width)
        for (size_t j = 0; j < width; j += VECTOR_BYTES) {
            const __mmask64 own =
                _bzhi_u64(UINT64_MAX, (unsigned)(width - j < VECTOR_BYTES ? width - j : VECTOR_BYTES));
            ptrdiff_t at = (ptrdiff_t)(plane + j + (s->reverse ? (rows - 1) * width : 0));
            v_u8 before = start;
            for (size_t row = 0; row < rows; row++, at += step) {
                NOT_IN_VECTORS(exclusive);
                const v_u8 v = (v_u8)_mm512_maskz_loadu_epi8(own, x + at) ^ s->flip, after = combined(s, before, v);
                _mm512_mask_storeu_epi8(out + at, own, (__m512i)((exclusive ? before : after) ^ s->flip));
                before = after;
            }
        }
}

/* Less than a vector of columns, beside others or not. */
ALWAYS_INLINE void scan_strip(const narrow_scan *s, const char *x, size_t rows, size_t width, size_t stride,
                              char *carried, size_t out_stride, char *out) {
    const __mmask64 own = _bzhi_u64(UINT64_MAX, (unsigned)width);
    v_u8 before = {0};
    bool exclusive = s->exclusive;
    if (carried)
        before = (v_u8)_mm512_maskz_loadu_epi8(own, carried) ^ s->flip;
    for (size_t k = 0; k < rows; k++) {
        const size_t row = s->reverse ? rows - 1 - k : k;
        NOT_IN_VECTORS(exclusive);
        const v_u8 v = (v_u8)_mm512_maskz_loadu_epi8(own, x + row * stride) ^ s->flip, after = combined(s, before, v);
        _mm512_mask_storeu_epi8(out + row * out_stride, own, (__m512i)((exclusive ? before : after) ^ s->flip));
        before = after;
    }
    if (carried)
        _mm512_mask_storeu_epi8(carried, own, (__m512i)(before ^ s->flip));
}

/* A few columns with running values, whose bits are flipped, or NULL. */
ALWAYS_INLINE void scan_masked_columns(const narrow_scan *s, shared by, const char *x, size_t rows, size_t width,
                                       bool stream, char *carried, char *out) {
    _Alignas(64) char buffer[BUFFER];
    char lane[VECTOR_BYTES] = {0};
    const size_t at_once = VECTOR_BYTES / width, most = stream ? BUFFER / (at_once * width) * at_once : rows;
    v_u8 value = {0};
    masked_scan steps;
    if (carried) {
        for (size_t b = 0; b < VECTOR_BYTES; b++)
            lane[b] = carried[s->reverse ? width - 1 - (VECTOR_BYTES - 1 - b) % width : b % width];
        memcpy(&value, lane, sizeof value);
        value ^= s->flip;
    }
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < most ? rows - done : most;
        block = block > at_once ? block / at_once * at_once : block;
        const size_t at = (s->reverse ? rows - done - block : done) * width;
        if (done == 0 || block < at_once)
            find_steps(s, block < at_once ? block : SIZE_MAX / width, width, &steps);
        by.rows(s, &steps, true, x + at, block * width, block * width, &value, stream ? buffer : out + at);
        if (stream)
            stream_bytes(out + at, buffer, block * width);
    }
    if (carried) {
        value ^= s->flip;
        memcpy(lane, &value, sizeof value);
        memcpy(carried, lane + (s->reverse ? VECTOR_BYTES - width : 0), width);
    }
}

enum { MOST_WIDE_ROWS = 12 };
ALWAYS_INLINE void scan_few_planes(const narrow_scan *s, shared by, const char *x, size_t planes, size_t rows,
                                   size_t width, tally_cpu_scan_options how, v_u8 start, char *out) {
    _Alignas(64) char buffer[BUFFER];
    const size_t plane = rows * width, n = planes * plane;
    const size_t most = how.stream && plane < BUFFER ? BUFFER / plane * plane : n;
    masked_scan steps;
    if (2 * width <= VECTOR_BYTES)
        find_steps(s, rows, width, &steps);
    for (size_t done = 0, block; done < n; done += block) {
        block = n - done < most ? n - done : most;
        char *const to = most < n ? buffer : out + done;
        v_u8 value = start;
        if (most < n)
            fetch_bytes(x + done + block, block);
        if (2 * width > VECTOR_BYTES)
            scan_wide_planes(s, x + done, block, rows, width, start, to);
        else if (plane > VECTOR_BYTES)
            by.rows(s, &steps, true, x + done, block, plane, &value, to);
        else
            by.rows(s, &steps, false, x + done, block, block, &value, to);
        if (most < n)
            stream_bytes(out + done, buffer, block);
    }
    if (how.stream)
        end_stream();
}
#endif
