/* Lanes are independent of each other. So elements are combined in lanes, and the lanes at the end:
 *
 *   all values   lane j takes elements j, j + w, j + 2w, ... if the operator commutes; else neighbours, for which a
 *                block is transposed. Then lanes are combined in pairs until one is left
 *   rows         a lane takes a row: short rows are transposed
 *   columns      a lane takes a column
 *   segments     a lane takes a segment, as far as neighbouring segments are about as long
 */
#include "cpu/text/kernels.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/fpenv.h"
#include "cpu/packing.h"
#include "cpu/text/lanes.h"

/* ---- all lanes into the first ---- */

/* 'width' is a power of two, and at least TALLY_INSTRUCTION_LANES. Lanes are in any order. */
static void halve(tally_lanes *l, size_t width) {
    while (width > 1) {
        width /= 2;
        tally_lanes_copy(l, l->bases[TALLY_TEXT_RIGHT], 0, l->bases[TALLY_TEXT_LEFT], width, width);
        tally_lanes_join(l, width);
    }
}

/* even[j] = component 2 * j, odd[j] = component 2 * j + 1 */
static void unzip(const char *from, size_t bytes, size_t n, char *even, char *odd) {
    const uint32_t *const words = (const void *)from;
    const uint64_t *const wide = (const void *)from;
    for (size_t j = 0; j < n && bytes == 4; j++) {
        ((uint32_t *)(void *)even)[j] = words[2 * j];
        ((uint32_t *)(void *)odd)[j] = words[2 * j + 1];
    }
    for (size_t j = 0; j < n && bytes == 8; j++) {
        ((uint64_t *)(void *)even)[j] = wide[2 * j];
        ((uint64_t *)(void *)odd)[j] = wide[2 * j + 1];
    }
}

/* The same in the order of the lanes, or in the reverse order. */
static void halve_in_order(tally_lanes *l, size_t width, bool reverse) {
    char *const left = l->bases[TALLY_TEXT_LEFT], *const right = l->bases[TALLY_TEXT_RIGHT];
    while (width > 1) {
        width /= 2;
        for (size_t k = 0; k < l->text->component_count; k++) {
            const size_t bytes = l->text->components[k].bytes;
            memcpy(l->saved, tally_lanes_component(l, left, k, 0), 2 * width * bytes);
            unzip(l->saved, bytes, width, tally_lanes_component(l, reverse ? right : left, k, 0),
                  tally_lanes_component(l, reverse ? left : right, k, 0));
        }
        tally_lanes_join(l, width);
    }
}

/* ---- folds ---- */

static size_t power_of_two(size_t most_lanes, size_t least_lanes) {
    size_t width = least_lanes;
    while (2 * width <= most_lanes)
        width *= 2;
    return width;
}

static void join_stored(tally_lanes *l, void *acc) {
    tally_lanes_copy(l, l->bases[TALLY_TEXT_RIGHT], 0, l->bases[TALLY_TEXT_LEFT], 0, 1);
    tally_lanes_load(l, acc, 1, l->bases[TALLY_TEXT_LEFT]);
    tally_lanes_join(l, 1);
    tally_lanes_store(l, l->bases[TALLY_TEXT_LEFT], 1, acc);
}

/* At most TALLY_INSTRUCTION_LANES elements, or a row of an operator that commutes. Lanes without an element get the
 * identity. */
static void begin_row(tally_lanes *l, const void *x, size_t n, size_t width, uint64_t index) {
    tally_lanes_take(l, x, n, index, 1, NULL, true);
    tally_lanes_fill(l, l->text->neutral, l->bases[TALLY_TEXT_LEFT], n, width);
}

static void fold_in_any_order(tally_lanes *l, const void *x, size_t n, uint64_t index, void *acc) {
    const size_t bytes = l->context->in_bytes, enough = n < l->text->width ? 2 * n - 1 : n;
    const size_t width = power_of_two(least(enough, l->text->width), TALLY_INSTRUCTION_LANES);
    size_t done = n % width ? n % width : width;
    begin_row(l, x, done, width, index);
    for (; done < n; done += width)
        tally_lanes_take(l, tally_at(x, done, bytes), width, index + done, 1, NULL, false);
    halve(l, width);
    join_stored(l, acc);
}

/* Lane j takes the neighbours j * rows .. (j + 1) * rows - 1 of a block, which is transposed for it. */
static void fold_in_order(tally_lanes *l, const void *x, size_t n, uint64_t index, bool reverse, void *acc) {
    _Alignas(64) char turned[TALLY_TEXT_TRANSPOSED + TALLY_CPU_PACKED_SLACK];
    const size_t bytes = l->context->in_bytes;
    for (size_t done = 0, count; done < n; done += count) {
        const size_t left = n - done;
        const size_t width = power_of_two(least(left / TALLY_TEXT_LEAST_ROWS, l->text->width), TALLY_INSTRUCTION_LANES);
        const size_t rows = least(left / width, TALLY_TEXT_TRANSPOSED / (width * bytes));
        count = rows ? rows * width : left;
        const size_t first = reverse ? left - count : done;
        const void *const from = tally_at(x, first, bytes);
        if (!rows) {
            begin_row(l, from, count, TALLY_INSTRUCTION_LANES, index + first);
        } else {
            tally_lanes_transpose(l, from, bytes, width, rows, turned);
            for (size_t k = 0; k < rows; k++) {
                const size_t row = reverse ? rows - 1 - k : k;
                tally_lanes_take(l, turned + row * width * bytes, width, index + first + row, rows, NULL, k == 0);
            }
        }
        halve_in_order(l, rows ? width : TALLY_INSTRUCTION_LANES, reverse);
        join_stored(l, acc);
    }
}

static void text_fold(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                      void *acc) {
    tally_lanes l;
    (void)y;
    if (!n)
        return;
    tally_lanes_open(&l, context);
    if (l.text->commutes)
        fold_in_any_order(&l, x, n, index, acc);
    else
        fold_in_order(&l, x, n, index, false, acc);
}

void tally_cpu_text_fold_reverse(const tally_cpu_plan *plan, const void *x, size_t n, uint64_t index, void *acc) {
    tally_lanes l;
    tally_lanes_open(&l, &plan->context);
    if (n)
        fold_in_order(&l, x, n, index, true, acc);
}

static void text_identity(const tally_cpu_context *context, size_t count, void *acc) {
    const size_t bytes = context->text->acc_bytes;
    for (size_t i = 0; i < count; i++)
        memcpy(tally_at_mutable(acc, i, bytes), context->text->neutral, bytes);
}

static void text_fold_rows(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                           void *acc) {
    _Alignas(64) char turned[TALLY_TEXT_TRANSPOSED + TALLY_CPU_PACKED_SLACK];
    tally_lanes l;
    const size_t bytes = context->in_bytes, acc_bytes = context->text->acc_bytes;
    const size_t most_rows = least(context->text->width, TALLY_TEXT_TRANSPOSED / (extent * bytes));
    tally_lanes_open(&l, context);
    if (most_rows < TALLY_INSTRUCTION_LANES) {
        text_identity(context, rows, acc);
        for (size_t r = 0; r < rows; r++)
            text_fold(context, tally_at(x, r * extent, bytes), y, extent, 0, tally_at_mutable(acc, r, acc_bytes));
        return;
    }
    for (size_t r = 0, n; r < rows; r += n) {
        n = least(rows - r, most_rows);
        const void *from = tally_at(x, r * extent, bytes);
        if (extent > 1) {
            tally_lanes_transpose(&l, from, bytes, n, extent, turned);
            from = turned;
        }
        for (size_t k = 0; k < extent; k++)
            tally_lanes_take(&l, tally_at(from, k * n, bytes), n, k, 0, NULL, k == 0);
        tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], n, tally_at_mutable(acc, r, acc_bytes));
    }
}

static void text_fold_columns(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                              size_t stride, uint64_t index, void *acc) {
    tally_lanes l;
    (void)y;
    tally_lanes_open(&l, context);
    for (size_t first = 0, n; first < width; first += n) {
        n = least(width - first, l.text->width);
        void *const stored = tally_at_mutable(acc, first, l.text->acc_bytes);
        tally_lanes_load(&l, stored, n, l.bases[TALLY_TEXT_LEFT]);
        for (size_t r = 0; r < rows; r++) {
            l.readable = least((rows - 1 - r) * stride, TALLY_INSTRUCTION_LANES);
            tally_lanes_take(&l, tally_at(x, r * stride + first, context->in_bytes), n, index + r, 0, NULL, false);
        }
        tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], n, stored);
    }
}

/* ---- segments ---- */

enum { LONG_SEGMENT = 64 /* elements on average, from which on each is folded alone */ };

/* Element 'k' of each segment. Segments that have none give any element that can be read. */
#define DEFINE_GATHER(bits)                                                                                            \
    static void gather_##bits(const char *x, const uint64_t *offsets, size_t n, size_t k, char *to) {                  \
        for (size_t j = 0; j < n; j++) {                                                                               \
            const uint64_t at = offsets[j] + k, last = offsets[n] - 1;                                                 \
            memcpy(to + j * (bits / 8), x + (at < last ? at : last) * (bits / 8), bits / 8);                           \
        }                                                                                                              \
    }
DEFINE_GATHER(8)
DEFINE_GATHER(16)
DEFINE_GATHER(32)
DEFINE_GATHER(64)

static void gather_elements(const tally_lanes *l, const void *x, const uint64_t *offsets, size_t n, size_t k,
                            char *to) {
    switch (l->context->in_bytes) {
    case 1:
        gather_8(x, offsets, n, k, to);
        break;
    case 2:
        gather_16(x, offsets, n, k, to);
        break;
    case 4:
        gather_32(x, offsets, n, k, to);
        break;
    default:
        gather_64(x, offsets, n, k, to);
        break;
    }
}

/* Lanes whose segment has ended keep what they have. */
static void take_where(tally_lanes *l, const void *x, const uint64_t *offsets, size_t n, size_t k) {
    int32_t *const masks = (int32_t *)(void *)l->bases[TALLY_TEXT_LANES];
    char *const left = l->bases[TALLY_TEXT_LEFT];
    tally_lanes_copy(l, l->saved, 0, left, 0, n);
    tally_lanes_take(l, x, n, k, 0, NULL, false);
    for (size_t j = 0; j < n; j++)
        masks[j] = k < offsets[j + 1] - offsets[j] ? 0 : -1;
    tally_lanes_choose(l, masks, l->saved, n, left);
}

static void fold_neighbours(tally_lanes *l, const void *x, const uint64_t *offsets, size_t n, void *acc) {
    _Alignas(64) char row[TALLY_TEXT_MOST_WIDTH * sizeof(uint64_t)];
    const size_t most_length = 2 * (size_t)((offsets[n] - offsets[0]) / n) + 8, bytes = l->context->in_bytes;
    size_t longest = 0;
    tally_lanes_fill(l, l->text->neutral, l->bases[TALLY_TEXT_LEFT], 0, n);
    for (size_t j = 0; j < n; j++)
        longest = most(longest, offsets[j + 1] - offsets[j]);
    for (size_t k = 0; k < least(longest, most_length); k++) {
        gather_elements(l, x, offsets, n, k, row);
        take_where(l, row, offsets, n, k);
    }
    tally_lanes_store(l, l->bases[TALLY_TEXT_LEFT], n, acc);
    for (size_t j = 0; longest > most_length && j < n; j++)
        if (offsets[j + 1] - offsets[j] > most_length)
            text_fold(l->context, tally_at(x, offsets[j] + most_length, bytes), NULL,
                      (size_t)(offsets[j + 1] - offsets[j]) - most_length, most_length,
                      tally_at_mutable(acc, j, l->text->acc_bytes));
}

static void text_fold_segments(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                               size_t count, void *acc) {
    tally_lanes l;
    const size_t bytes = context->in_bytes, acc_bytes = context->text->acc_bytes;
    if (count && (offsets[count] - offsets[0]) / count >= LONG_SEGMENT) {
        text_identity(context, count, acc);
        for (size_t i = 0; i < count; i++)
            text_fold(context, tally_at(x, offsets[i], bytes), y, (size_t)(offsets[i + 1] - offsets[i]), 0,
                      tally_at_mutable(acc, i, acc_bytes));
        return;
    }
    tally_lanes_open(&l, context);
    for (size_t i = 0, n; i < count; i += n) {
        n = least(count - i, l.text->width);
        fold_neighbours(&l, x, offsets + i, n, tally_at_mutable(acc, i, acc_bytes));
    }
}

/* ---- labels, prefixes ---- */

/* to[j] = element first + places[j] */
static void gather_places(const void *x, size_t bytes, size_t first, const uint32_t *places, size_t n, char *to) {
    const char *const from = tally_at(x, first, bytes);
    for (size_t j = 0; j < n && bytes >= 4; j++)
        tally_lanes_copy_number(to + j * bytes, from + places[j] * bytes, bytes);
    for (size_t j = 0; j < n && bytes == 2; j++)
        memcpy(to + 2 * j, from + 2 * places[j], 2);
    for (size_t j = 0; j < n && bytes == 1; j++)
        to[j] = from[places[j]];
}

/* Elements whose labels differ go side by side. An element waits for the next turn if its label's slot is taken, and so
 * do the later elements of that slot. */
static void text_fold_labels(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                             const uint64_t *places, size_t n, uint64_t index, void *acc) {
    enum { SLOTS = 1024 };
    tally_lanes l;
    uint32_t waiting[TALLY_TEXT_MOST_WIDTH], taken[TALLY_TEXT_MOST_WIDTH], turns[SLOTS] = {0}, turn = 0;
    _Alignas(64) char row[TALLY_TEXT_MOST_WIDTH * sizeof(uint64_t)];
    uint64_t indices[TALLY_TEXT_MOST_WIDTH];
    const size_t bytes = context->in_bytes, acc_bytes = context->text->acc_bytes;
    (void)y;
    tally_lanes_open(&l, context);
    for (size_t first = 0, count; first < n; first += count) {
        count = least(n - first, l.text->width);
        size_t left = count;
        for (size_t j = 0; j < count; j++)
            waiting[j] = (uint32_t)j;
        while (left) {
            size_t going = 0, staying = 0;
            turn++;
            for (size_t j = 0; j < left; j++) {
                uint32_t *const slot = &turns[labels[first + waiting[j]] % SLOTS];
                if (*slot == turn)
                    waiting[staying++] = waiting[j];
                else
                    taken[going++] = waiting[j];
                *slot = turn;
            }
            gather_places(x, bytes, first, taken, going, row);
            for (size_t j = 0; j < going; j++) {
                const size_t element = first + taken[j];
                const char *const stored = (const char *)acc + labels[element] * acc_bytes;
                indices[j] = places ? places[element] : index + element;
                for (size_t k = 0; k < l.text->component_count; k++)
                    tally_lanes_copy_number(tally_lanes_component(&l, l.bases[TALLY_TEXT_LEFT], k, j),
                                            stored + l.text->components[k].stored, l.text->components[k].bytes);
            }
            tally_lanes_take(&l, row, going, 0, 0, indices, false);
            for (size_t j = 0; j < going; j++) {
                char *const stored = (char *)acc + labels[first + taken[j]] * acc_bytes;
                for (size_t k = 0; k < l.text->component_count; k++)
                    tally_lanes_copy_number(stored + l.text->components[k].stored,
                                            tally_lanes_component(&l, l.bases[TALLY_TEXT_LEFT], k, j),
                                            l.text->components[k].bytes);
            }
            left = staying;
        }
    }
}

static void text_prefixes(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                          bool reverse, bool exclusive, void *acc, void *prefixes) {
    tally_lanes l;
    const size_t bytes = context->in_bytes, acc_bytes = context->text->acc_bytes;
    (void)y;
    tally_lanes_open(&l, context);
    tally_lanes_load(&l, acc, 1, l.bases[TALLY_TEXT_LEFT]);
    for (size_t k = 0; k < n; k++) {
        const size_t i = reverse ? n - 1 - k : k;
        if (exclusive)
            tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], 1, tally_at_mutable(prefixes, i, acc_bytes));
        tally_lanes_take(&l, tally_at(x, i, bytes), 1, index + i, 0, NULL, false);
        if (!exclusive)
            tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], 1, tally_at_mutable(prefixes, i, acc_bytes));
    }
    tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], 1, acc);
}

static void text_combine(const tally_cpu_context *context, size_t count, const void *other, void *acc) {
    tally_lanes l;
    const size_t acc_bytes = context->text->acc_bytes;
    tally_lanes_open(&l, context);
    for (size_t i = 0, n; i < count; i += n) {
        n = least(count - i, l.text->width);
        tally_lanes_load(&l, tally_at(acc, i, acc_bytes), n, l.bases[TALLY_TEXT_LEFT]);
        tally_lanes_load(&l, tally_at(other, i, acc_bytes), n, l.bases[TALLY_TEXT_RIGHT]);
        tally_lanes_join(&l, n);
        tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], n, tally_at_mutable(acc, i, acc_bytes));
    }
}

void tally_cpu_text_lower(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out) {
    tally_lanes l;
    tally_lanes_open(&l, &plan->context);
    for (size_t i = 0, n; i < count; i += n) {
        n = least(count - i, l.text->width);
        tally_lanes_load(&l, tally_at(acc, i, l.text->acc_bytes), n, l.bases[TALLY_TEXT_LEFT]);
        const tally_counts some = {counts.each ? counts.each + i : NULL, counts.first + i * (uint64_t)counts.step,
                                   counts.step};
        tally_lanes_lower(&l, plan, some, n, tally_at_mutable(out, i, plan->context.out_bytes));
    }
}

/* ---- plans ---- */

#define TEXT_KERNELS                                                                                                   \
    .acc_type = TALLY_DEFAULT, .identity = text_identity, .fold = text_fold, .fold_rows = text_fold_rows,              \
    .fold_segments = text_fold_segments, .fold_columns = text_fold_columns, .prefixes = text_prefixes,                 \
    .combine = text_combine

/* Without fold_labels, elements are sorted by label, which loses their indices. */
static const tally_cpu_kernels kernels = {TEXT_KERNELS},
                               kernels_by_index = {TEXT_KERNELS, .fold_labels = text_fold_labels};

tally_status tally_cpu_text_choose(tally_cpu_plan *plan) {
    const tally_computation *const c = &plan->base.computation;
    tally_cpu_text *text;
    tally_status status = tally_cpu_text_compile(c, plan->device->level->instructions, &text);
    if (status != TALLY_OK)
        return status;
    plan->context.text = text;
    plan->acc_bytes = plan->context.acc_stride = text->acc_bytes;
    plan->kernels = text->take.uses_index ? &kernels_by_index : &kernels;
    if (text->element != c->desc.in)
        plan->context.convert = plan->device->level->types[c->desc.in]->convert[text->element];
    tally_lanes l;
    const tally_fpenv saved = tally_fpenv_enter();
    tally_lanes_open(&l, &plan->context);
    tally_lanes_run(&l, &text->identity, 1);
    tally_lanes_store(&l, l.bases[TALLY_TEXT_LEFT], 1, text->neutral);
    tally_fpenv_leave(&saved);
    return TALLY_OK;
}
