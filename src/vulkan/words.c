#include "vulkan/words.h"

#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/arithmetic.h"
#include "core/status.h"
#include "exact/words.h"
#include "vulkan/exact.h"

void tally_vulkan_words_unload(tally_gpu_plan *gpu) {
    tally_plan_destroy(((tally_vulkan_words_plan *)gpu)->plan);
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
    tally_superaccumulator a, squares;
    const uint32_t *end = read_number(c->words.layout, state, &a);
    if (c->words.squares)
        end = read_number(tally_exact_layout_with(c->words.layout, true), end, &squares);
    const uint32_t saw = *end;
    elements -= end[2] | (uint64_t)end[3] << 32; /* NaNs that were left out */
    a.count = elements;
    a.nans = saw & TALLY_GPU_SAW_NAN;
    a.positive_infinities = saw & TALLY_GPU_SAW_PLUS;
    a.negative_infinities = saw & TALLY_GPU_SAW_MINUS;
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
                          "%s on Vulkan pass through the host; run the plan without a command buffer",
                          gpu->base.computation.words.count ? "words" : "these scans");
    const tally_status status = tally_gpu_prepare(gpu, run, g.outer * g.columns * run->args->shape.extent, 0, &none);
    if (status != TALLY_OK || !g.outer || !g.columns)
        return status;
    return plan->plan ? give(plan, run->args, g) : tally_gpu_host_run(gpu, run->args);
}
