/* Scans of a user's texts. A block of elements is cut into stretches of neighbours, one a lane:
 *
 *     lane 0  x0 x1 x2     1. each lane combines its stretch
 *     lane 1  x3 x4 x5     2. the lanes' values are scanned: log2(lanes) steps (Hillis and Steele, 1986)
 *     lane 2  x6 x7 x8     3. each lane starts from the value before it and goes through its stretch again
 *
 * The block is transposed before and its results after, so that steps 1 and 3 go by rows. A lane in which a group
 * begins forgets what came before, and hands on only what follows the group's begin. */
#include "cpu/text/scan.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/packing.h"
#include "cpu/text/lanes.h"

/* Scanning lanes takes longer with marks (segments of 10, f32: 1.19 ns an element with 8 rows, 0.95 with 16). */
enum { LEAST_MARKED_ROWS = 16 };

/* A block of a scan. */
typedef struct block {
    tally_lanes *lanes;
    const tally_cpu_plan *plan;
    size_t rows, width;
    uint64_t index, count;            /* of the first element: its index, and the elements of its result */
    const char *x;                    /* by rows, as all below */
    const int8_t *heads;              /* NULL: no group begins */
    const uint64_t *counts, *indices; /* NULL: as above */
    char *out;
    int32_t began[TALLY_TEXT_MOST_WIDTH]; /* whether a group begins in a lane */
} block;

static char *left_of(const block *b) {
    return b->lanes->bases[TALLY_TEXT_LEFT];
}
static char *right_of(const block *b) {
    return b->lanes->bases[TALLY_TEXT_RIGHT];
}

static bool is_reverse(const block *b) {
    return b->plan->base.computation.reverse;
}

static size_t row_of(const block *b, size_t k) {
    return is_reverse(b) ? b->rows - 1 - k : k;
}

/* Lanes where a group begins start from the identity, which the right block holds. */
static void begin_groups(block *b, size_t row) {
    int32_t masks[TALLY_TEXT_MOST_WIDTH];
    int32_t any = 0;
    if (!b->heads)
        return;
    for (size_t j = 0; j < b->width; j++) {
        masks[j] = b->heads[row * b->width + j] ? -1 : 0;
        b->began[j] |= masks[j];
        any |= masks[j];
    }
    if (any)
        tally_lanes_choose(b->lanes, masks, right_of(b), b->width, left_of(b));
}

static void take_row(block *b, size_t row, bool fresh) {
    const size_t bytes = b->plan->context.in_bytes, first = row * b->width;
    tally_lanes_take(b->lanes, b->x + first * bytes, b->width, b->index + row, b->rows,
                     b->indices ? b->indices + first : NULL, fresh);
}

static void fill_right(block *b) {
    if (b->heads)
        tally_lanes_fill(b->lanes, b->lanes->text->neutral, right_of(b), 0, b->width);
}

static void fold_lanes(block *b) {
    memset(b->began, 0, sizeof b->began);
    fill_right(b);
    for (size_t k = 0; k < b->rows; k++) {
        begin_groups(b, row_of(b, k));
        take_row(b, row_of(b, k), k == 0);
    }
}

/* left = left combined with right. A lane in which a group begins takes the right block's value alone, since nothing
 * before the group counts. 'first' is the lane whose result left lane 0 holds. */
static void join_lanes(block *b, size_t first, size_t n) {
    tally_lanes_join(b->lanes, n);
    if (b->heads)
        tally_lanes_choose(b->lanes, b->began + first, right_of(b), n, left_of(b));
}

/* Lane j becomes lanes 0 .. j, combined; lanes j .. width - 1 in a reverse scan. */
static void scan_lanes(block *b) {
    tally_lanes *const l = b->lanes;
    char *const left = left_of(b), *const right = right_of(b);
    for (size_t step = 1; step < b->width; step *= 2) {
        const size_t n = b->width - step;
        if (is_reverse(b)) {
            tally_lanes_copy(l, right, 0, left, 0, n);
            tally_lanes_copy(l, l->saved, 0, left, n, step);
            tally_lanes_copy(l, left, 0, left, step, n);
            join_lanes(b, 0, n);
            tally_lanes_copy(l, left, n, l->saved, 0, step);
            for (size_t j = 0; b->heads && j < n; j++)
                b->began[j] |= b->began[j + step];
        } else {
            tally_lanes_copy(l, right, 0, left, step, n);
            tally_lanes_copy(l, l->saved, 0, left, 0, step);
            join_lanes(b, step, n);
            tally_lanes_copy(l, left, step, left, 0, n);
            tally_lanes_copy(l, left, 0, l->saved, 0, step);
            for (size_t j = b->width; b->heads && j > step; j--)
                b->began[j - 1] |= b->began[j - 1 - step];
        }
    }
}

/* Each lane becomes the value before it; *acc goes from the value before the block to the one after it. */
static void start_lanes(block *b, void *acc) {
    tally_lanes *const l = b->lanes;
    char *const left = left_of(b);
    tally_lanes_copy(l, right_of(b), 0, left, 0, b->width);
    tally_lanes_fill(l, acc, left, 0, b->width);
    tally_lanes_fill(l, acc, l->saved, 0, 1);
    join_lanes(b, 0, b->width);
    const size_t last = is_reverse(b) ? 0 : b->width - 1, n = b->width - 1;
    tally_lanes_copy(l, right_of(b), 0, left, last, 1);
    tally_lanes_store(l, right_of(b), 1, acc);
    tally_lanes_copy(l, left, !is_reverse(b), left, is_reverse(b), n);
    tally_lanes_copy(l, left, is_reverse(b) ? n : 0, l->saved, 0, 1);
}

static void lower_row(block *b, size_t row) {
    const size_t first = row * b->width;
    const bool reverse = is_reverse(b);
    const int64_t step = reverse ? -(int64_t)b->rows : (int64_t)b->rows;
    const tally_counts counts = {b->counts ? b->counts + first : NULL, reverse ? b->count - row : b->count + row, step};
    tally_lanes_lower(b->lanes, b->plan, counts, b->width, b->out + first * b->plan->context.out_bytes);
}

static void scan_rows(block *b) {
    const bool exclusive = b->plan->base.computation.desc.form == TALLY_EXCLUSIVE_SCAN;
    fill_right(b);
    for (size_t k = 0; k < b->rows; k++) {
        const size_t row = row_of(b, k);
        begin_groups(b, row);
        if (exclusive)
            lower_row(b, row);
        if (!exclusive || k + 1 < b->rows)
            take_row(b, row, false);
        if (!exclusive)
            lower_row(b, row);
    }
}

/* The lanes of a block. Few elements take few lanes, down to one element in each. */
static size_t lanes_of(const tally_cpu_text *text, size_t n, size_t least_rows) {
    const size_t few = least(n, TALLY_INSTRUCTION_LANES);
    return least(most(n / least_rows, few), text->width);
}

/* What a block needs beside its lanes. */
typedef struct turned {
    _Alignas(64) char x[TALLY_TEXT_TRANSPOSED + TALLY_CPU_PACKED_SLACK];
    _Alignas(64) char out[TALLY_TEXT_TRANSPOSED + TALLY_CPU_PACKED_SLACK];
} turned;

static void turn(const void *from, size_t bytes, const block *b, void *to) {
    tally_lanes_transpose(b->lanes, from, bytes, b->width, b->rows, to);
}

void tally_cpu_text_scan(const tally_cpu_plan *plan, const void *x, size_t n, uint64_t index, uint64_t length,
                         void *acc, void *out) {
    const size_t in_bytes = plan->context.in_bytes, out_bytes = plan->context.out_bytes;
    const bool reverse = plan->base.computation.reverse,
               exclusive = plan->base.computation.desc.form == TALLY_EXCLUSIVE_SCAN;
    tally_lanes lanes;
    turned t;
    block b = {.lanes = &lanes, .plan = plan, .x = t.x, .out = t.out};
    tally_lanes_open(&lanes, &plan->context);
    for (size_t done = 0, count; done < n; done += count) {
        b.width = lanes_of(plan->context.text, n - done, TALLY_TEXT_LEAST_ROWS);
        b.rows = least((n - done) / b.width, TALLY_TEXT_TRANSPOSED / (b.width * most(in_bytes, out_bytes)));
        count = b.width * b.rows;
        const size_t first = reverse ? n - done - count : done;
        b.index = index + first;
        b.count = reverse ? length - b.index - exclusive : b.index + !exclusive;
        turn(tally_at(x, first, in_bytes), in_bytes, &b, t.x);
        fold_lanes(&b);
        scan_lanes(&b);
        start_lanes(&b, acc);
        scan_rows(&b);
        tally_lanes_transpose(&lanes, t.out, out_bytes, b.rows, b.width, tally_at_mutable(out, first, out_bytes));
    }
}

void tally_cpu_text_scan_groups(const tally_cpu_plan *plan, const void *x, size_t n, tally_text_groups *g, void *acc,
                                void *out) {
    const size_t in_bytes = plan->context.in_bytes, out_bytes = plan->context.out_bytes;
    tally_lanes lanes;
    turned t;
    block b = {.lanes = &lanes, .plan = plan, .x = t.x, .out = t.out, .heads = g->turned_heads};
    tally_lanes_open(&lanes, &plan->context);
    for (size_t done = 0, count; done < n; done += count) {
        b.width = lanes_of(plan->context.text, n - done, LEAST_MARKED_ROWS);
        b.rows = (n - done) / b.width;
        count = b.width * b.rows;
        const size_t first = plan->base.computation.reverse ? n - done - count : done;
        turn(tally_at(x, first, in_bytes), in_bytes, &b, t.x);
        turn(g->heads + first, 1, &b, g->turned_heads);
        if (plan->context.text->lower.uses_count) {
            turn(g->counts + first, sizeof *g->counts, &b, g->turned_counts);
            b.counts = g->turned_counts;
        }
        if (plan->context.text->take.uses_index) {
            turn(g->indices + first, sizeof *g->indices, &b, g->turned_indices);
            b.indices = g->turned_indices;
        }
        fold_lanes(&b);
        scan_lanes(&b);
        start_lanes(&b, acc);
        scan_rows(&b);
        tally_lanes_transpose(&lanes, t.out, out_bytes, b.rows, b.width, tally_at_mutable(out, first, out_bytes));
    }
}

void tally_cpu_text_scan_columns(const tally_cpu_plan *plan, const void *x, uint64_t rows, uint64_t width,
                                 uint64_t stride, uint64_t index, uint64_t length, void *acc, void *out) {
    const tally_computation *const c = &plan->base.computation;
    const bool exclusive = c->desc.form == TALLY_EXCLUSIVE_SCAN;
    const size_t in_bytes = c->in_bytes;
    _Alignas(64) char row[TALLY_TEXT_MOST_WIDTH * sizeof(uint64_t)];
    tally_lanes lanes;
    tally_lanes_open(&lanes, &plan->context);
    for (uint64_t first = 0, n; first < width; first += n) {
        n = least(width - first, lanes.text->width);
        void *const stored = tally_at_mutable(acc, first, plan->acc_bytes);
        tally_lanes_load(&lanes, stored, n, lanes.bases[TALLY_TEXT_LEFT]);
        for (uint64_t k = 0; k < rows; k++) {
            const uint64_t r = c->reverse ? rows - 1 - k : k, at = r * stride + first, number = index + r;
            const tally_counts counts = {NULL, c->reverse ? length - number - exclusive : number + !exclusive, 0};
            const void *from = tally_at(x, at, in_bytes);
            if (exclusive) { /* the result may overwrite the elements */
                from = memcpy(row, from, n * in_bytes);
                tally_lanes_lower(&lanes, plan, counts, n, tally_at_mutable(out, at, c->out_bytes));
            }
            tally_lanes_take(&lanes, from, n, number, 0, NULL, false);
            if (!exclusive)
                tally_lanes_lower(&lanes, plan, counts, n, tally_at_mutable(out, at, c->out_bytes));
        }
        tally_lanes_store(&lanes, lanes.bases[TALLY_TEXT_LEFT], n, stored);
    }
}
