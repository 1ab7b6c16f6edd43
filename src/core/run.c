#include "core/run.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "core/status.h"

void tally_run_pointers(const tally_computation *c, const tally_args *a, uint64_t elements, bool is_push,
                        tally_pointer pointers[TALLY_POINTERS]) {
    const tally_grouping grouping = c->desc.grouping;
    const bool gives = elements && (!is_push || tally_is_scan(c)), keys = elements && grouping == TALLY_KEYS;
    const tally_pointer all[TALLY_POINTERS] = {{"args.x", elements ? a->x : NULL},
                                               {"args.y", elements ? a->y : NULL},
                                               {"args.offsets", grouping == TALLY_SEGMENTS ? a->offsets : NULL},
                                               {"args.keys", keys ? a->keys : NULL},
                                               {"args.labels", elements && grouping == TALLY_LABELS ? a->labels : NULL},
                                               {"args.initial", a->initial},
                                               {"args.out", gives ? a->out : NULL},
                                               {"args.keys_out", keys ? a->keys_out : NULL}};
    memcpy(pointers, all, sizeof all);
}

tally_status tally_run_check_workspace(const tally_args *args, size_t bytes, size_t alignment) {
    if (args->workspace_bytes < bytes)
        return tally_fail(TALLY_INVALID_ARGUMENT, "args.workspace_bytes is %zu; this shape needs %zu",
                          args->workspace_bytes, bytes);
    if ((uintptr_t)args->workspace % alignment)
        return tally_fail(TALLY_INVALID_ARGUMENT, "args.workspace must be aligned to %zu bytes", alignment);
    return TALLY_OK;
}

tally_status tally_run_check_empty(const tally_computation *c, const tally_args *args) {
    const tally_grouping grouping = c->desc.grouping;
    const bool columns = grouping == TALLY_AXIS ? args->shape.outer && args->shape.inner : grouping == TALLY_ALL_VALUES;
    if (args->shape.extent || !columns || !tally_empty_is_error(c))
        return TALLY_OK;
    return tally_fail(TALLY_EMPTY, "%s of nothing has no value (extent is 0)", c->entry->name);
}

const uint64_t *tally_size_of(const tally_computation *c, const tally_sizes *sizes) {
    return c->desc.grouping == TALLY_SEGMENTS ? sizes->groups : sizes->extent;
}

uint64_t tally_largest_size(const tally_computation *c, const tally_shape *shape) {
    return c->desc.grouping == TALLY_SEGMENTS ? shape->groups : shape->extent;
}

tally_status tally_run_check_size(const tally_computation *c, const tally_args *args, uint64_t size) {
    const uint64_t most = tally_largest_size(c, &args->shape);
    if (size > most)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "the size on the device is %" PRIu64 ", but args.shape.%s allows %" PRIu64, size,
                          c->desc.grouping == TALLY_SEGMENTS ? "groups" : "extent", most);
    if (!size && tally_nothing_is_error(c))
        return tally_fail(TALLY_EMPTY, "%s of nothing has no value (the size on the device is 0)", c->entry->name);
    return TALLY_OK;
}

/* Names the first of the two outputs that is too small for this many runs of keys. */
static tally_status lacks_room(const tally_computation *c, const tally_args *args, uint64_t runs) {
    const uint64_t of_out = runs * c->out_bytes * c->per_result, of_keys = runs * c->index_bytes;
    const bool is_out = args->out_bytes < of_out;
    const char *const name = is_out ? "out" : "keys_out";
    return tally_fail(TALLY_OUTPUT_TOO_SMALL,
                      "there are %" PRIu64 " runs of keys, which need %" PRIu64 " bytes of %s; args.%s_bytes is %zu",
                      runs, is_out ? of_out : of_keys, name, name, is_out ? args->out_bytes : args->keys_out_bytes);
}

int64_t tally_label_value(const tally_computation *c, const void *label) {
    union {
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
    } value = {0};
    memcpy(&value, label, c->index_bytes);
    return c->desc.index == TALLY_U8    ? value.u8
           : c->desc.index == TALLY_U16 ? value.u16
           : c->desc.index == TALLY_U32 ? value.u32
           : c->desc.index == TALLY_I32 ? value.i32
                                        : value.i64;
}

static tally_status labels_outcome(const tally_computation *c, const tally_args *args, const tally_outcome *o) {
    if (o->is_bad)
        return tally_fail(TALLY_BAD_LABELS,
                          "labels[%" PRIu64 "] is %" PRId64 "; there are %" PRIu64
                          " groups, numbered from 0 (TALLY_SKIP_BAD_LABELS leaves such elements out)",
                          o->segment, o->label, args->shape.groups);
    if (o->is_empty)
        return tally_fail(TALLY_EMPTY, "no element has the label %" PRIu64 ", and %s of nothing has no value",
                          o->segment, c->entry->name);
    return TALLY_OK;
}

tally_status tally_run_outcome(const tally_computation *c, const tally_args *args, const tally_outcome *o) {
    if (c->desc.grouping == TALLY_LABELS)
        return labels_outcome(c, args, o);
    if (o->is_bad)
        return tally_fail(TALLY_BAD_OFFSETS,
                          "segment %" PRIu64 ": offsets may not decrease or pass the end of the values, %" PRIu64,
                          o->segment, args->shape.extent);
    if (o->is_empty)
        return tally_fail(TALLY_EMPTY, "segment %" PRIu64 " is empty, and %s of nothing has no value", o->segment,
                          c->entry->name);
    if (o->lacks_room)
        return lacks_room(c, args, o->runs);
    return TALLY_OK;
}

tally_status tally_pieces_next(const tally_pieces *p, const tally_computation *c, const tally_shape *shape,
                               uint64_t *columns) {
    *columns = c->desc.grouping == TALLY_AXIS ? shape->inner : 1;
    if (p->begun && *columns != p->columns)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_push: inner is %" PRIu64 ", but was %" PRIu64 " in the pieces before", *columns,
                          p->columns);
    return TALLY_OK;
}

tally_status tally_pieces_finish(const tally_pieces *p, const tally_computation *c, size_t out_bytes,
                                 uint64_t *columns) {
    *columns = p->begun ? p->columns : 1;
    const uint64_t needed = *columns * c->out_bytes * c->per_result;
    if (p->rows == 0 && *columns && tally_empty_is_error(c))
        return tally_fail(TALLY_EMPTY, "%s of nothing has no value", c->entry->name);
    if (out_bytes < needed)
        return tally_fail(TALLY_OUTPUT_TOO_SMALL, "tally_finish: out_bytes is %zu; the output needs %" PRIu64,
                          out_bytes, needed);
    return TALLY_OK;
}
