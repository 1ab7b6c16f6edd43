/* Scans of integers of 1 and 2 bytes in their own width, from elements to output elements.
 *
 * Four operations do for all monoids: addition, or, exclusive or, and the larger of two unsigned numbers. They have 0
 * for their identity, which is what shifts bring in. The other monoids are one of these where some bits of each element
 * and of each result are flipped: the smaller of two unsigned numbers is the larger one of their complements, 'and' is
 * an 'or' of complements, and the sign bit makes unsigned numbers of signed ones.
 *
 * A vector is scanned in halves: first in 64 bits by shifts, then the last element of each lower half is combined into
 * the upper half. So shifts within 64 bits and shuffles within 128 do most of the work, which processors have for
 * bytes. Marks where groups begin are scanned along, as in scan.h. */
#include "cpu/kernels/paste.h"
#include "cpu/kernels/scans.h"

tally_cpu_narrow_scan_for PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, );
tally_cpu_order PASTE4(tally_cpu_order, _, TALLY_LEVEL, );

#if defined(__AVX2__)
#include "cpu/kernels/narrow_operations.h"

/* ---- vectors ---- */

/* One vector in the order of its lanes; *before is the value before it, everywhere, and becomes the one after. */
ALWAYS_INLINE v_u8 scan_vector(const narrow_scan *s, v_u8 x, v_u8 *before) {
    UNROLL_8 for (size_t by = s->bytes; by < 8; by *= 2) x = combined(s, up_in_64(x, by), x);
    UNROLL_8 for (size_t half = 8; half < VECTOR_BYTES; half *= 2) x = combined(s, last_below(x, half, s->bytes), x);
    const v_u8 was = *before;
    *before = combined(s, was, last_element(x, s->bytes));
    return combined(s, was, s->exclusive ? up_one(x, (v_u8){0}, s->bytes) : x);
}

/* The same where marks, -1, say that a group begins with 'start': a lane takes nothing from below the last mark. 'row':
 * all groups have as many bytes; 0: any. None reaches from 64 bits to the next if it is a power of two up to that. */
ALWAYS_INLINE v_u8 scan_marked(const narrow_scan *s, v_u8 x, v_u8 marks, size_t row, v_u8 start, v_u8 *before) {
    v_u8 begun = marks;
    x = combined(s, marks & start, x);
    if (row == 2 || row == 4 || row == 8) {
        UNROLL_8 for (size_t by = s->bytes; by < 8; by *= 2) if (by < row) {
            x = combined(s, up_in_64(x, by) & ~begun, x);
            begun |= up_in_64(begun, by);
        }
    } else {
        UNROLL_8 for (size_t by = s->bytes; by < 8; by *= 2) {
            x = combined(s, up_in_64(x, by) & ~begun, x);
            begun |= up_in_64(begun, by);
        }
        UNROLL_8 for (size_t half = 8; half < VECTOR_BYTES; half *= 2) {
            x = combined(s, last_below(x, half, s->bytes) & ~begun, x);
            begun |= last_below(begun, half, s->bytes);
        }
    }
    const v_u8 was = *before, result = combined(s, was & ~begun, x);
    *before = last_element(result, s->bytes);
    return s->exclusive ? (marks & start) | (up_one(result, was, s->bytes) & ~marks) : result;
}

/* ---- a run of elements ---- */

#if defined(__AVX512BW__)
#include "cpu/kernels/narrow_blocks.h"
#endif

/* Vectors that are asked at once whether they change anything, as a test of bits takes longer than a comparison. (Zen
 * 5, bor of 8410 i16: 0.037 ns an element one by one, 0.018 so; the largest of u8 0.010 and 0.012.) */
enum { SETTLED_AT_ONCE = 4 };

/* Whole vectors from where the scan begins, then the rest. n is in bytes. */
ALWAYS_INLINE void scan_bytes(const narrow_scan *s, const char *x, size_t n, v_u8 *before, char *out) {
    const size_t vectors = n / VECTOR_BYTES, rest = n % VECTOR_BYTES;
    const size_t vectors_at = s->reverse ? rest : 0, rest_at = s->reverse ? 0 : n - rest;
    size_t in_blocks = 0;
#if defined(__AVX512BW__)
    if ((s->op == ADD || s->op == XOR) && !s->reverse && n >= LEAST_BLOCKS * BLOCK_BYTES) {
        const narrow_scan found = *s; /* whose address is known elsewhere, so that it is not in registers */
        *before = scan_narrow_blocks(&found, x, n / BLOCK_BYTES, *before, out);
        in_blocks = n / BLOCK_BYTES * SIXTEEN;
    }
#endif
    for (size_t k = in_blocks; k < vectors; k++) {
        if (s->op == OR && vectors - k >= SETTLED_AT_ONCE) {
            const size_t at = vectors_at + (s->reverse ? vectors - k - SETTLED_AT_ONCE : k) * VECTOR_BYTES;
            v_u8 v = read_vector(s, x + at);
            UNROLL_8 for (size_t j = 1; j < SETTLED_AT_ONCE; j++) v |= read_vector(s, x + at + j * VECTOR_BYTES);
            if (changes_nothing(s, v, *before)) {
                v = *before ^ s->flip;
                UNROLL_8 for (size_t j = 0; j < SETTLED_AT_ONCE; j++) memcpy(out + at + j * VECTOR_BYTES, &v, sizeof v);
                k += SETTLED_AT_ONCE - 1;
                continue;
            }
        }
        const size_t i = vectors_at + (s->reverse ? vectors - 1 - k : k) * VECTOR_BYTES;
        v_u8 v = read_vector(s, x + i);
        if (changes_nothing(s, v, *before)) {
            v = *before ^ s->flip;
            memcpy(out + i, &v, sizeof v);
            continue;
        }
        v = scan_vector(s, s->reverse ? reversed_elements(v, s->bytes) : v, before);
        v = (s->reverse ? reversed_elements(v, s->bytes) : v) ^ s->flip;
        memcpy(out + i, &v, sizeof v);
    }
    if (rest) { /* from the back identities come first */
        v_u8 v = read_part(s, x + rest_at, rest);
        v = scan_vector(s, s->reverse ? reversed_elements(v, s->bytes) : v, before);
        store_bytes(out + rest_at, (s->reverse ? reversed_elements(v, s->bytes) : v) ^ s->flip, rest);
    }
}

/* Output that is streamed goes through a buffer in the first-level cache. */
ALWAYS_INLINE void scan_run(const narrow_scan *s, const char *x, size_t n, tally_cpu_scan_options how, v_u8 before,
                            char *out) {
    _Alignas(64) char buffer[BUFFER];
    for (size_t done = 0, block; done < n; done += block) {
        block = how.stream && n - done > BUFFER ? BUFFER : n - done;
        const size_t at = s->reverse ? n - done - block : done;
        if (how.stream && how.ahead)
            fetch_bytes(x + at + how.ahead, block);
        scan_bytes(s, x + at, block, &before, how.stream ? buffer : out + at);
        if (how.stream)
            stream_bytes(out + at, buffer, block);
    }
    if (how.stream)
        end_stream();
}

#include "cpu/kernels/narrow_rows.h"

/* ---- columns ---- */

/* One row of at least a vector. The last vector overlaps the one before it, so it has running values of its own. */
ALWAYS_INLINE void scan_wide_row(const narrow_scan *s, const char *x, size_t width, char *before, v_u8 *last_before,
                                 char *out) {
    const size_t last = width - VECTOR_BYTES;
    const v_u8 last_was = *last_before, last_after = combined(s, last_was, read_vector(s, x + last));
    for (size_t j = 0; j < last; j += VECTOR_BYTES) {
        v_u8 was;
        memcpy(&was, before + j, sizeof was);
        const v_u8 after = combined(s, was, read_vector(s, x + j)), v = (s->exclusive ? was : after) ^ s->flip;
        memcpy(before + j, &after, sizeof after);
        memcpy(out + j, &v, sizeof v);
    }
    const v_u8 v = (s->exclusive ? last_was : last_after) ^ s->flip;
    memcpy(out + last, &v, sizeof v);
    *last_before = last_after;
}

/* A few rows with nothing before them, as in scan.h. */
enum { FEW_ROWS = 4 };
ALWAYS_INLINE void scan_fresh_rows(const narrow_scan *s, const char *x, size_t rows, size_t width, size_t stride,
                                   size_t out_stride, char *out) {
    const size_t last = width - VECTOR_BYTES;
    v_u8 last_was = s->flip;
    bool has_values = false;
    for (size_t k = 0; k < rows; k++) {
        const size_t row = s->reverse ? rows - 1 - k : k, from = s->exclusive ? s->reverse ? row + 1 : row - 1 : row;
        char *const to = out + row * out_stride;
        const char *const values = s->reverse ? to + out_stride : to - out_stride;
        const bool is_first = s->exclusive && k == 0;
        if (!is_first)
            last_was = combined(s, last_was ^ s->flip, read_vector(s, x + from * stride + last)) ^ s->flip;
        for (size_t j = 0; j < last; j += VECTOR_BYTES) {
            v_u8 v = s->flip;
            if (has_values)
                memcpy(&v, values + j, sizeof v);
            if (!is_first)
                v = combined(s, v ^ s->flip, read_vector(s, x + from * stride + j)) ^ s->flip;
            memcpy(to + j, &v, sizeof v);
        }
        has_values = !is_first;
        memcpy(to + last, &last_was, sizeof last_was);
    }
}

static void copy_flipped(const narrow_scan *s, const char *from, size_t width, char *to) {
    for (size_t j = 0, part; j < width; j += part) {
        part = width - j < VECTOR_BYTES ? width - j : VECTOR_BYTES;
        store_bytes(to + j, read_part(s, from + j, part), part);
    }
}

ALWAYS_INLINE void scan_wide_columns(const narrow_scan *s, const char *x, size_t rows, size_t width, size_t stride,
                                     bool stream, char *before, size_t out_stride, char *out) {
    if (!before && rows <= FEW_ROWS && !stream && !(s->exclusive && x == out)) {
        scan_fresh_rows(s, x, rows, width, stride, out_stride, out);
        return;
    }
    _Alignas(64) char own[BUFFER], buffer[BUFFER]; /* of own[], the bits are flipped */
    const size_t last = width - VECTOR_BYTES, most = !stream ? rows : width == out_stride ? BUFFER / width : 1;
    if (before)
        copy_flipped(s, before, width, own);
    for (size_t j = 0; !before && j < width; j += VECTOR_BYTES)
        memset(own + j, 0, VECTOR_BYTES);
    v_u8 last_before;
    memcpy(&last_before, own + last, sizeof last_before);
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < most ? rows - done : most;
        const size_t first = s->reverse ? rows - done - block : done;
        char *const to = stream ? buffer : out + first * out_stride;
        for (size_t k = 0; k < block; k++) {
            const size_t row = s->reverse ? block - 1 - k : k;
            scan_wide_row(s, x + (first + row) * stride, width, own, &last_before, to + row * out_stride);
        }
        if (stream)
            stream_bytes(out + first * out_stride, buffer, block * width);
    }
    memcpy(own + last, &last_before, sizeof last_before);
    if (before)
        copy_flipped(s, own, width, before);
}

#if !defined(__AVX512BW__)
/* How a row of less than a vector is read. Whole vectors would mostly cross the ends of cache lines, so rows of up to
 * 16 bytes are read as those. What would reach beyond the last row is read as it is. */
typedef enum reach { BY_VECTOR, BY_16, BY_WIDTH } reach;

/* 'count' rows that begin 'stride' bytes apart; slots[0], slots[next] ... = results. */
ALWAYS_INLINE void scan_slots(const narrow_scan *s, const char *x, size_t count, size_t width, ptrdiff_t stride,
                              reach by, v_u8 *before, ptrdiff_t next, v_u8 *slots) {
    v_u8 was = *before;
    for (; count > 0; count--, x += stride, slots += next) {
        const v_u8 v = by == BY_16 ? read_16(x) ^ s->flip : by == BY_WIDTH ? read_part(s, x, width) : read_vector(s, x);
        const v_u8 after = combined(s, was, v);
        *slots = (s->exclusive ? was : after) ^ s->flip;
        was = after;
    }
    *before = was;
}

/* pattern[0 .. VECTOR_BYTES + width - 1] = a row again and again. */
enum { PATTERN = 4 * VECTOR_BYTES };
ALWAYS_INLINE void repeat_row(v_u8 row, size_t width, char *pattern) {
    memcpy(pattern, &row, sizeof row);
    for (size_t has = width; has < VECTOR_BYTES + width; has *= 2) {
        memcpy(&row, pattern, sizeof row);
        memcpy(pattern + has, &row, sizeof row);
        if (has >= VECTOR_BYTES) {
            memcpy(&row, pattern + VECTOR_BYTES, sizeof row);
            memcpy(pattern + has + VECTOR_BYTES, &row, sizeof row);
        }
    }
}

/* As many rows as a vector has bytes, which are whole vectors: false if one of them changes a running value, else their
 * results are written. (2 columns of i8 took 0.35 ns an element row by row.) */
ALWAYS_INLINE bool fill_settled(const narrow_scan *s, const char *x, size_t n, size_t width, const char *pattern,
                                char *out) {
    const size_t step = VECTOR_BYTES % width;
    v_u8 was;
    for (size_t i = 0, phase = 0; i < n; i += VECTOR_BYTES, phase += phase + step < width ? step : step - width) {
        memcpy(&was, pattern + phase, sizeof was);
        if (!changes_nothing(s, read_vector(s, x + i), was))
            return false;
    }
    for (size_t i = 0, phase = 0; i < n; i += VECTOR_BYTES, phase += phase + step < width ? step : step - width) {
        memcpy(&was, pattern + phase, sizeof was);
        was ^= s->flip;
        memcpy(out + i, &was, sizeof was);
    }
    return true;
}

/* Rows of less than a vector: a vector takes one, with bytes behind it that mean nothing. Results wait in slots of a
 * vector each until a block is done, since out may be x. */
ALWAYS_INLINE void scan_few_columns(const narrow_scan *s, const char *x, size_t rows, size_t width, size_t stride,
                                    char *carried, size_t out_stride, char *out) {
    v_u8 slots[SLOTS], before = {0};
    char pattern[PATTERN];
    bool is_settled = false, is_repeated = false; /* the last block changed nothing; pattern[] has the running values */
    if (carried)
        before = read_part(s, carried, width);
    const bool in_16 = width <= 16;
    /* Beside other columns every row is read as it is: what is next to it is another thread's. */
    const size_t past = ((in_16 ? 16 : VECTOR_BYTES) - 1) / width, ends = stride == width ? past : rows;
    const size_t out_ends = out_stride == width ? past : rows;
    const size_t safe = rows > ends ? rows - ends : 0;
    const ptrdiff_t next = s->reverse ? -1 : 1, step = next * (ptrdiff_t)stride;
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < SLOTS ? rows - done : SLOTS;
        const size_t first = s->reverse ? rows - done - block : done, end = first + block;
        if (is_settled && stride == width && out_stride == width && block == SLOTS) {
            if (!is_repeated)
                repeat_row(before, width, pattern);
            is_repeated = fill_settled(s, x + first * width, block * width, width, pattern, out + first * width);
            if (is_repeated)
                continue;
        }
        const v_u8 was = before;
        const size_t last = end <= safe ? 0 : end - safe < block ? end - safe : block;
        for (size_t k = 0, count; k < block; k += count) {
            const size_t row = s->reverse ? block - 1 - k : k;
            const char *const from = x + (first + row) * stride;
            if (row >= block - last) {
                count = s->reverse ? last : block - k;
                scan_slots(s, from, count, width, step, BY_WIDTH, &before, next, slots + row);
                continue;
            }
            count = block - last;
            if (in_16)
                scan_slots(s, from, count, width, step, BY_16, &before, next, slots + row);
            else
                scan_slots(s, from, count, width, step, BY_VECTOR, &before, next, slots + row);
        }
        const size_t whole = block > out_ends ? block - out_ends : 0;
        is_settled = (s->op == OR || s->op == LARGER) && !any_bit((v_u64)((was ^ before) & first_bytes(width)));
        char *const to = out + first * out_stride;
        if (in_16)
            for (size_t row = 0; row < whole; row++)
                memcpy(to + row * width, &slots[row], 16);
        else
            for (size_t row = 0; row < whole; row++)
                memcpy(to + row * width, &slots[row], sizeof *slots);
        for (size_t row = whole; row < block; row++)
            store_bytes(to + row * out_stride, slots[row], width);
    }
    if (carried)
        store_bytes(carried, before ^ s->flip, width);
}
#endif

#include "cpu/kernels/narrow_planes.h"

/* carried[width] are running values, or NULL. */
ALWAYS_INLINE void scan_columns(const narrow_scan *s, shared by, const char *x, size_t rows, size_t width,
                                size_t stride, bool stream, char *carried, size_t out_stride, char *out) {
    (void)by;
    for (size_t first = 0, tile; first < width; first += tile) {
        tile = width - first < BUFFER ? width - first : BUFFER;
        char *const before = carried ? carried + first : NULL;
#if defined(__AVX512BW__)
        if (2 * width <= VECTOR_BYTES && stride == width && out_stride == width) {
            scan_masked_columns(s, by, x, rows, width, stream, carried, out);
            break;
        }
        if (tile < VECTOR_BYTES)
            scan_strip(s, x + first, rows, tile, stride, before, out_stride, out + first);
#else
        if (tile < VECTOR_BYTES)
            scan_few_columns(s, x + first, rows, tile, stride, before, out_stride, out + first);
#endif
        else
            scan_wide_columns(s, x + first, rows, tile, stride, stream, before, out_stride, out + first);
    }
    if (stream)
        end_stream();
}

/* Planes of one column are rows. */
ALWAYS_INLINE void scan_planes(const narrow_scan *s, shared by, const char *x, size_t planes, size_t rows, size_t width,
                               tally_cpu_scan_options how, v_u8 start, char *out) {
#if defined(__AVX512BW__)
    const bool is_long = width == s->bytes && rows * width > VECTOR_BYTES;
    if (!is_long && (rows <= MOST_WIDE_ROWS || 2 * width <= VECTOR_BYTES)) {
        scan_few_planes(s, by, x, planes, rows, width, how, start, out);
        return;
    }
#endif
    const narrow_scan copied = *s; /* whose address is known elsewhere, so that it is not in registers */
    if (width == s->bytes)
        scan_rows(s, x, planes, rows * width, how, start, out);
    for (size_t plane = 0; width > s->bytes && plane < planes; plane++)
        by.columns(&copied, x + plane * rows * width, rows, width, width, how.stream, NULL, width,
                   out + plane * rows * width);
}

/* ---- groups ---- */

/* n elements; returns the value after them. */
ALWAYS_INLINE v_u8 scan_groups(const narrow_scan *s, const char *x, const int8_t *heads, size_t n, v_u8 start,
                               v_u8 before, char *out) {
    const size_t lanes = VECTOR_BYTES / s->bytes, vectors = n / lanes, rest = n % lanes;
    const size_t vectors_at = s->reverse ? rest : 0, rest_at = s->reverse ? 0 : n - rest;
    for (size_t k = 0; k < vectors; k++) {
        const size_t i = vectors_at + (s->reverse ? vectors - 1 - k : k) * lanes;
        v_u8 v = read_vector(s, x + i * s->bytes), marks = load_marks(heads + i, s->bytes);
        if (s->reverse)
            v = reversed_elements(v, s->bytes), marks = reversed_elements(marks, s->bytes);
        v = scan_marked(s, v, marks, 0, start, &before);
        v = (s->reverse ? reversed_elements(v, s->bytes) : v) ^ s->flip;
        memcpy(out + i * s->bytes, &v, sizeof v);
    }
    if (rest) {
        int8_t some[VECTOR_BYTES] = {0};
        memcpy(some, heads + rest_at, rest);
        v_u8 v = read_part(s, x + rest_at * s->bytes, rest * s->bytes), marks = load_marks(some, s->bytes);
        if (s->reverse)
            v = reversed_elements(v, s->bytes), marks = reversed_elements(marks, s->bytes);
        v = scan_marked(s, v, marks, 0, start, &before);
        v = (s->reverse ? reversed_elements(v, s->bytes) : v) ^ s->flip;
        store_bytes(out + rest_at * s->bytes, v, rest * s->bytes);
    }
    return before;
}

/* ---- the kernels ---- */

/* By operation and width; 'flip' is an element's. The form is looked at in the loops: a copy of each for every form
 * took 0.1 MB more and was no faster. */
ALWAYS_INLINE v_u8 flips_of(operation op, size_t bytes, s_u16 flip) {
    return op == ADD || op == XOR ? (v_u8){0} : splat_element(flip, bytes);
}
#if defined(__AVX512BW__)
#define DEFINE_ROWS(OPERATION, BYTES)                                                                                  \
    NOT_INLINED PASTE4(side_by_side_, OPERATION, _, BYTES)(const narrow_scan *found, const masked_scan *steps,         \
                                                           bool goes_on, const char *x, size_t n, size_t plane,        \
                                                           v_u8 *value, char *out) {                                   \
        const narrow_scan s = {OPERATION, BYTES, found->reverse, found->exclusive, found->flip};                       \
        scan_rows_side_by_side(&s, steps, goes_on, x, n, plane, value, out);                                           \
    }
#define ROWS(OPERATION, BYTES) PASTE4(side_by_side_, OPERATION, _, BYTES)
#else
#define DEFINE_ROWS(OPERATION, BYTES)
#define ROWS(OPERATION, BYTES) NULL
#endif
#define NOT_INLINED static __attribute__((noinline)) void
#define DEFINE_OPERATION(OPERATION, BYTES)                                                                             \
    DEFINE_ROWS(OPERATION, BYTES)                                                                                      \
    NOT_INLINED PASTE4(columns_of_, OPERATION, _, BYTES)(const narrow_scan *found, const char *x, size_t rows,         \
                                                         size_t width, size_t stride, bool stream, char *carried,      \
                                                         size_t out_stride, char *out) {                               \
        const narrow_scan s = {OPERATION, BYTES, found->reverse, found->exclusive, found->flip};                       \
        scan_columns(&s, (shared){ROWS(OPERATION, BYTES), NULL}, x, rows, width, stride, stream, carried, out_stride,  \
                     out);                                                                                             \
    }                                                                                                                  \
    static void PASTE4(run_, OPERATION, _, BYTES)(const void *x, size_t n, tally_cpu_scan_options how, s_u16 start,    \
                                                  s_u16 flip, void *out) {                                             \
        const operation op = OPERATION;                                                                                \
        const size_t bytes = BYTES;                                                                                    \
        const v_u8 flips = flips_of(op, bytes, flip), from = splat_element(start ^ flip, bytes);                       \
        const narrow_scan s = {op, bytes, how.reverse, how.exclusive, flips};                                          \
        scan_run(&s, x, n *bytes, how, from, out);                                                                     \
    }                                                                                                                  \
    static void PASTE4(planes_, OPERATION, _, BYTES)(const void *x, size_t planes, size_t rows, size_t width,          \
                                                     tally_cpu_scan_options how, s_u16 start, s_u16 flip, void *out) { \
        const operation op = OPERATION;                                                                                \
        const size_t bytes = BYTES;                                                                                    \
        const v_u8 flips = flips_of(op, bytes, flip), from = splat_element(start ^ flip, bytes);                       \
        const narrow_scan s = {op, bytes, how.reverse, how.exclusive, flips};                                          \
        scan_planes(&s, (shared){ROWS(OPERATION, BYTES), PASTE4(columns_of_, OPERATION, _, BYTES)}, x, planes, rows,   \
                    width *bytes, how, from, out);                                                                     \
    }                                                                                                                  \
    static void PASTE4(columns_, OPERATION, _, BYTES)(const void *x, size_t rows, size_t width, size_t stride,         \
                                                      tally_cpu_scan_options how, s_u16 flip, void *before,            \
                                                      size_t out_stride, void *out) {                                  \
        const operation op = OPERATION;                                                                                \
        const size_t bytes = BYTES;                                                                                    \
        const narrow_scan s = {op, bytes, how.reverse, how.exclusive, flips_of(op, bytes, flip)};                      \
        PASTE4(columns_of_, OPERATION, _, BYTES)                                                                       \
        (&s, x, rows, width * bytes, stride * bytes, how.stream, before, out_stride * bytes, out);                     \
    }                                                                                                                  \
    static s_u16 PASTE4(groups_, OPERATION, _, BYTES)(const void *x, const int8_t *heads, size_t n,                    \
                                                      tally_cpu_scan_options how, s_u16 start, s_u16 before,           \
                                                      s_u16 flip, void *out) {                                         \
        const operation op = OPERATION;                                                                                \
        const size_t bytes = BYTES;                                                                                    \
        const narrow_scan s = {op, bytes, how.reverse, how.exclusive, flips_of(op, bytes, flip)};                      \
        const v_u8 after = scan_groups(&s, x, heads, n, splat_element(start ^ flip, bytes),                            \
                                       splat_element(before ^ flip, bytes), out);                                      \
        return first_element(after, bytes) ^ flip;                                                                     \
    }
#define DEFINE_OPERATIONS(BYTES)                                                                                       \
    DEFINE_OPERATION(ADD, BYTES)                                                                                       \
    DEFINE_OPERATION(OR, BYTES)                                                                                        \
    DEFINE_OPERATION(XOR, BYTES)                                                                                       \
    DEFINE_OPERATION(LARGER, BYTES)
DEFINE_OPERATIONS(1)
DEFINE_OPERATIONS(2)

/* A monoid of a type, whose accumulators are of type 'acc'. */
#define DEFINE_SCAN(name, OPERATION, BYTES, FLIP, acc_tag)                                                             \
    static void run_##name(const void *x, size_t n, tally_cpu_scan_options how, const void *acc, void *out) {          \
        run_##OPERATION##_##BYTES(x, n, how, (s_u16)(*(const s_##acc_tag *)acc), FLIP, out);                           \
    }                                                                                                                  \
    static void planes_##name(const void *x, size_t planes, size_t rows, size_t width, tally_cpu_scan_options how,     \
                              const void *acc, void *out) {                                                            \
        const s_u16 start = acc ? (s_u16)(*(const s_##acc_tag *)acc) : FLIP;                                           \
        planes_##OPERATION##_##BYTES(x, planes, rows, width, how, start, FLIP, out);                                   \
    }                                                                                                                  \
    static void columns_##name(const void *x, size_t rows, size_t width, size_t stride, tally_cpu_scan_options how,    \
                               void *before, size_t out_stride, void *out) {                                           \
        columns_##OPERATION##_##BYTES(x, rows, width, stride, how, FLIP, before, out_stride, out);                     \
    }                                                                                                                  \
    static void groups_##name(const void *x, const int8_t *heads, size_t n, tally_cpu_scan_options how,                \
                              const void *start, void *acc, void *out) {                                               \
        s_##acc_tag *const value = acc;                                                                                \
        *value = (s_##acc_tag)groups_##OPERATION##_##BYTES(x, heads, n, how, (s_u16)(*(const s_##acc_tag *)start),     \
                                                           (s_u16)*value, FLIP, out);                                  \
    }                                                                                                                  \
    static const tally_cpu_direct_scan scan_##name = {run_##name, planes_##name, columns_##name, groups_##name};
#define DEFINE_SCANS(BYTES, bits, ONES, SIGN)                                                                          \
    DEFINE_SCAN(sum_##bits, ADD, BYTES, 0, u64)                                                                        \
    DEFINE_SCAN(band_##bits, OR, BYTES, ONES, u##bits)                                                                 \
    DEFINE_SCAN(bor_##bits, OR, BYTES, 0, u##bits)                                                                     \
    DEFINE_SCAN(bxor_##bits, XOR, BYTES, 0, u##bits)                                                                   \
    DEFINE_SCAN(min_i##bits, LARGER, BYTES, ONES ^ SIGN, u##bits)                                                      \
    DEFINE_SCAN(max_i##bits, LARGER, BYTES, SIGN, u##bits)                                                             \
    DEFINE_SCAN(min_u##bits, LARGER, BYTES, ONES, u##bits)                                                             \
    DEFINE_SCAN(max_u##bits, LARGER, BYTES, 0, u##bits)
DEFINE_SCANS(1, 8, 0xff, 0x80)
DEFINE_SCANS(2, 16, 0xffff, 0x8000)

#define CASE(bits, is_signed)                                                                                          \
    switch (monoid) {                                                                                                  \
    case TALLY_MONOID_sum:                                                                                             \
        return &scan_sum_##bits;                                                                                       \
    case TALLY_MONOID_band:                                                                                            \
        return &scan_band_##bits;                                                                                      \
    case TALLY_MONOID_bor:                                                                                             \
        return &scan_bor_##bits;                                                                                       \
    case TALLY_MONOID_bxor:                                                                                            \
        return &scan_bxor_##bits;                                                                                      \
    case TALLY_MONOID_min:                                                                                             \
        return (is_signed) ? &scan_min_i##bits : &scan_min_u##bits;                                                    \
    case TALLY_MONOID_max:                                                                                             \
        return (is_signed) ? &scan_max_i##bits : &scan_max_u##bits;                                                    \
    default:                                                                                                           \
        return NULL;                                                                                                   \
    }

const tally_cpu_direct_scan *PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, )(tally_dtype type, tally_monoid monoid) {
    if (type == TALLY_I8 || type == TALLY_U8)
        CASE(8, type == TALLY_I8)
    if (type == TALLY_I16 || type == TALLY_U16)
        CASE(16, type == TALLY_I16)
    return NULL;
}
/* ---- the order of floats ---- */

/* Negative floats of 16 bits have their bits below the sign flipped. In the circle of the integers that these make, the
 * NaNs of both signs are neighbours: 'least' is the first of them or the first behind them. */
ALWAYS_INLINE v_u16 with_flipped_bits(v_u16 v) {
    return v ^ ((v_u16)((v_i16)v >> 15) & 0x7fff);
}

ALWAYS_INLINE void order(const char *x, size_t n, uint16_t bits, uint16_t least, bool back, char *to) {
    v_u8 v;
    for (size_t i = 0; i < n; i += VECTOR_BYTES) {
        const size_t some = n - i;
        if (some >= VECTOR_BYTES)
            memcpy(&v, x + i, sizeof v);
        else
            load_bytes(x + i, some, &v);
        const v_u16 u = (v_u16)v;
        v = (v_u8)(back ? with_flipped_bits(u + least) : with_flipped_bits(u & bits) - least);
        if (some >= VECTOR_BYTES)
            memcpy(to + i, &v, sizeof v);
        else
            store_bytes(to + i, v, some);
    }
}

void PASTE4(tally_cpu_order, _, TALLY_LEVEL, )(const void *x, size_t n, uint16_t bits, uint16_t least, bool back,
                                               void *to) {
    if (back)
        order(x, n * sizeof(s_u16), bits, least, true, to);
    else
        order(x, n * sizeof(s_u16), bits, least, false, to);
}
#else
/* Without shuffles of bytes they are scanned in 32 bits. */
const tally_cpu_direct_scan *PASTE4(tally_cpu_narrow_scan, _, TALLY_LEVEL, )(tally_dtype type, tally_monoid monoid) {
    (void)type, (void)monoid;
    return NULL;
}
void PASTE4(tally_cpu_order, _, TALLY_LEVEL, )(const void *x, size_t n, uint16_t bits, uint16_t least, bool back,
                                               void *to) {
    (void)x, (void)n, (void)bits, (void)least, (void)back, (void)to;
}
#endif
