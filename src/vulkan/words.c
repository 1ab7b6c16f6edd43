#include "vulkan/words.h"

#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/arithmetic.h"
#include "core/status.h"
#include "exact/words.h"
#include "vulkan/exact.h"

tally_status tally_vulkan_words_load(tally_gpu_plan *gpu) {
    tally_vulkan_words_plan *plan = (tally_vulkan_words_plan *)gpu;
    tally_status status = tally_cpu_backend.open("", &plan->host);
    if (status == TALLY_OK)
        status = plan->host->interface->plan_create(plan->host, &gpu->base.computation, &plan->plan);
    if (status != TALLY_OK)
        tally_close(plan->host);
    return status;
}

void tally_vulkan_words_unload(tally_gpu_plan *gpu) {
    tally_vulkan_words_plan *plan = (tally_vulkan_words_plan *)gpu;
    tally_plan_destroy(plan->plan);
    tally_close(plan->host);
}

size_t tally_vulkan_words_workspace(const tally_gpu_plan *gpu, const tally_shape *shape) {
    (void)gpu, (void)shape;
    return 0;
}

/* What a run works on: all groups at once, or one outer group, as pieces are. */
typedef struct groups {
    uint64_t outer, columns;
} groups;

static groups groups_of(const tally_computation *c, const tally_shape *shape) {
    const bool is_axis = c->desc.grouping == TALLY_AXIS;
    return (groups){is_axis ? shape->outer : 1, is_axis ? shape->inner : 1};
}

static tally_status no_memory(uint64_t bytes) {
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %llu bytes of words", (unsigned long long)bytes);
}

/* ---- by the host ---- */

/* The arrays of a run, side by side in the host's memory. */
typedef struct copies {
    uint64_t x, y, index, out, keys_out; /* bytes of each */
} copies;

static copies copies_of(const tally_computation *c, const tally_args *a, uint64_t results) {
    const bool axis = c->desc.grouping == TALLY_AXIS, segments = c->desc.grouping == TALLY_SEGMENTS;
    const uint64_t elements = (axis ? results : 1) * a->shape.extent, each = c->out_bytes * c->per_result;
    copies b = {.x = elements * c->in_bytes,
                .y = a->y ? elements * c->in_bytes : 0,
                .index = (segments ? a->shape.groups + 1 : elements) * c->index_bytes,
                .out = results * each};
    if (!tally_counts_runs(c))
        return b;
    b.out = least(elements * each, a->out_bytes);
    b.keys_out = a->keys_out ? least(elements * c->index_bytes, a->keys_out_bytes) : 0;
    return b;
}

static char *align(char *at) {
    return (char *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
}

/* Reserves memory of the host's and copies to it what is there. */
static const void *fetch(tally_device *device, char **at, const void *from, uint64_t bytes, tally_status *status) {
    char *const to = align(*at);
    *at = to + bytes;
    if (from && bytes && *status == TALLY_OK)
        *status = device->interface->copy(device, to, from, bytes);
    return from ? to : NULL;
}

static tally_status run_on_host(tally_vulkan_words_plan *plan, const tally_args *args, uint64_t results) {
    enum { ARRAYS = 5, ALIGNMENT = 64 };
    const tally_computation *c = &plan->gpu.base.computation;
    tally_device *const device = plan->gpu.base.device;
    const copies bytes = copies_of(c, args, results);
    const uint64_t all = bytes.x + bytes.y + bytes.index + bytes.out + bytes.keys_out + ARRAYS * ALIGNMENT;
    const bool keys = c->desc.grouping == TALLY_KEYS, labels = c->desc.grouping == TALLY_LABELS;
    char *const memory = malloc(all), *at = memory;
    if (!memory)
        return no_memory(all);
    tally_status status = TALLY_OK;
    uint64_t runs = 0;
    tally_args own = *args;
    const void *const index = keys ? args->keys : labels ? args->labels : args->offsets;
    own.x = fetch(device, &at, args->x, bytes.x, &status);
    own.y = fetch(device, &at, args->y, bytes.y, &status);
    own.offsets = own.keys = own.labels = fetch(device, &at, index, bytes.index, &status);
    own.out = align(at);
    own.keys_out = args->keys_out ? align((char *)own.out + bytes.out) : NULL;
    own.out_bytes = bytes.out;
    own.keys_out_bytes = bytes.keys_out;
    own.count = &runs;
    own.workspace = NULL;
    own.workspace_bytes = 0;
    if (status == TALLY_OK)
        status = plan->host->interface->run(plan->plan, &own, results, TALLY_SYNCHRONOUS);
    if (keys && args->count)
        *args->count = runs;
    const uint64_t given = keys ? runs * c->out_bytes * c->per_result : bytes.out;
    if (status == TALLY_OK && given)
        status = device->interface->copy(device, args->out, own.out, given);
    if (status == TALLY_OK && bytes.keys_out && runs)
        status = device->interface->copy(device, args->keys_out, own.keys_out, runs * c->index_bytes);
    free(memory);
    return status;
}

/* ---- elements to states ---- */

/* *a = the number in the words of 16 bits that the kernels leave (exact_words.comp). Returns what follows them. */
static const uint32_t *read_number(tally_exact_layout layout, const uint32_t *from, tally_superaccumulator *a) {
    tally_superaccumulator_init(a, layout);
    for (int32_t i = 0; i < a->limb_count; i++)
        a->limbs[i] = (int64_t)(int32_t)from[2 * i] + (int64_t)(int32_t)from[2 * i + 1] * 65536;
    a->first = 0;
    a->end = a->limb_count;
    a->pending = 1;
    return from + 2 * a->limb_count;
}

/* The numbers of a state, and the kinds of elements that the kernels saw. */
static void write_words(const tally_computation *c, const uint32_t *state, uint64_t elements, int64_t *words) {
    enum { SAW_NAN = 1, SAW_PLUS = 2, SAW_MINUS = 4 };
    tally_superaccumulator a, squares;
    const uint32_t *end = read_number(c->words.layout, state, &a);
    if (c->words.squares)
        end = read_number(tally_exact_layout_with(c->words.layout, true), end, &squares);
    const uint32_t saw = *end;
    elements -= end[2] | (uint64_t)end[3] << 32; /* NaNs that were left out */
    a.count = elements;
    a.nans = saw & SAW_NAN;
    a.positive_infinities = saw & SAW_PLUS;
    a.negative_infinities = saw & SAW_MINUS;
    a.others = saw;
    tally_words_clear(&c->words, words);
    if (elements)
        tally_words_of_superaccumulator(&c->words, &a, words);
    if (elements && c->words.squares)
        tally_words_of_digits(&squares, words + TALLY_WORDS_AT_DIGITS + c->words.numbers, c->words.squares);
    tally_words_seal(&c->words, words);
}

/* The sums of an outer group's columns, which the device leaves as for the next piece. */
static tally_status add(tally_vulkan_words_plan *plan, const tally_args *args, groups g, uint64_t group,
                        void *on_device, uint32_t *sums, uint64_t bytes) {
    tally_device *const device = plan->gpu.base.device;
    tally_gpu_plan *const of = (tally_gpu_plan *)plan->plan;
    const uint64_t skipped = group * args->shape.extent * g.columns * plan->gpu.base.computation.in_bytes;
    tally_args one = *args;
    one.shape = (tally_shape){1, args->shape.extent, g.columns, 0};
    one.x = (const char *)args->x + skipped;
    one.y = args->y ? (const char *)args->y + skipped : NULL;
    one.workspace = NULL;
    one.workspace_bytes = 0;
    const tally_gpu_run run = {.args = &one, .pieces = {.total = (uint64_t)(uintptr_t)on_device}};
    const tally_status status = of->calls->run(of, &run);
    return status == TALLY_OK ? device->interface->copy(device, sums, on_device, bytes) : status;
}

static tally_status give(tally_vulkan_words_plan *plan, const tally_args *args, groups g) {
    const tally_computation *c = &plan->gpu.base.computation;
    tally_device *const device = plan->gpu.base.device;
    const uint64_t state = tally_vulkan_exact_state_bytes(c), bytes = g.columns * state;
    const uint64_t words_bytes = g.columns * c->words.count * sizeof(int64_t);
    int64_t *const words = malloc(words_bytes + bytes);
    uint32_t *const sums = (uint32_t *)(words + g.columns * c->words.count);
    void *on_device = NULL;
    if (!words)
        return no_memory(words_bytes + bytes);
    memset(sums, 0, bytes);
    tally_status status = device->interface->alloc(device, bytes, &on_device);
    for (uint64_t group = 0; group < g.outer && status == TALLY_OK; group++) {
        if (args->shape.extent)
            status = add(plan, args, g, group, on_device, sums, bytes);
        for (uint64_t j = 0; j < g.columns && status == TALLY_OK; j++)
            write_words(c, sums + j * (state / sizeof *sums), args->shape.extent, words + j * c->words.count);
        if (status == TALLY_OK)
            status = device->interface->copy(device, (char *)args->out + group * words_bytes, words, words_bytes);
    }
    if (on_device)
        device->interface->free(device, on_device);
    free(words);
    return status;
}

tally_status tally_vulkan_words_run(tally_gpu_plan *gpu, const tally_gpu_run *run) {
    tally_vulkan_words_plan *plan = (tally_vulkan_words_plan *)gpu;
    const groups g = groups_of(&gpu->base.computation, &run->args->shape);
    uint64_t none;
    if (run->stream)
        return tally_fail(TALLY_UNSUPPORTED,
                          "words on Vulkan pass through the host; run the plan without a command buffer");
    uint64_t results;
    tally_status status = tally_args_check(&gpu->base.computation, run->args, false, &results);
    if (status == TALLY_OK)
        status = tally_gpu_prepare(gpu, run, g.outer * g.columns * run->args->shape.extent, 0, &none);
    if (status != TALLY_OK || !g.outer || !g.columns)
        return status;
    return plan->host ? run_on_host(plan, run->args, results) : give(plan, run->args, g);
}
