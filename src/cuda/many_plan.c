/* Plans of several GPUs. A run over much data has a part for each entry of the list, in the order of the elements.
 * Parts follow from the shape alone, so results have the same bits every run; where a part's memory is decides only
 * which GPU takes it. Reductions: each part leaves a state in words on the first GPU, which combines them. Scans: each
 * part also needs the states of the parts before it, from which it goes on. What has no parts runs on the GPU that has
 * the data.
 *
 * The caller's stream is of the first GPU. Events order the other GPUs' streams behind it and it behind them. */
#include "cuda/many_plan.h"

#include <stdlib.h>

#include "core/arithmetic.h"
#include "core/run.h"
#include "cuda/carry.h"
#include "cuda/many_groups.h"
#include "cuda/many_memory.h"
#include "cuda/memory.h"
#include "cuda/plan.h"
#include "gpu/pieces.h"

enum {
    MOST = TALLY_CUDA_MOST_GPUS,
    STATES_PER_PART = 16, /* a part has at least so many times the bytes of its states */
    ALIGNMENT = 1024      /* elements; parts of an array begin where vectors do */
};

typedef tally_cuda_many_plan many_plan;
typedef tally_cuda_on_gpu on_gpu;
typedef tally_cuda_shared run;
typedef tally_cuda_share part;

/* ---- creation ---- */

/* States do not show whether what is empty consists of NaNs, for which there is a value. */
static bool has_parts(const tally_computation *c) {
    const tally_grouping grouping = c->desc.grouping;
    return (grouping == TALLY_ALL_VALUES || grouping == TALLY_AXIS) && c->entry && !c->takes_words && !c->reverse &&
           !c->is_sized && !(tally_is_scan(c) && (c->exact || c->skips_nan)) &&
           !(c->skips_nan && tally_has_trait(c, TALLY_OPERATOR_EMPTY_IS_ERROR));
}

static bool is_grouped(const tally_computation *c) {
    return c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
}

/* A reduction of the same elements, from or to states. */
static tally_desc of_states(const tally_computation *c, unsigned flags) {
    tally_desc desc = c->desc;
    desc.form = TALLY_REDUCE;
    desc.flags = flags | (flags & TALLY_WORDS_IN ? 0 : c->desc.flags & TALLY_SKIP_NAN);
    if (desc.mode == TALLY_EXACT)
        desc.acc = TALLY_DEFAULT; /* which decides it again */
    if (flags & TALLY_WORDS_IN)
        desc.grouping = TALLY_AXIS;
    if (flags & TALLY_WORDS_OUT)
        desc.out = TALLY_DEFAULT;
    return desc;
}

/* NULL, and no error, if the device does not have it. */
static tally_status create_if_there(tally_cuda_device *gpu, const tally_desc *desc, tally_plan **plan) {
    if (tally_supports(&gpu->base, desc) == TALLY_UNSUPPORTED)
        return TALLY_OK;
    return tally_plan_create(&gpu->base, desc, plan);
}

static tally_status create_own(many_plan *plan, int k) {
    const tally_computation *c = &plan->base.computation;
    tally_cuda_device *gpu = plan->many->gpu[k];
    on_gpu *own = &plan->own[k];
    const tally_desc states = of_states(c, TALLY_WORDS_OUT);
    tally_status status = tally_cuda_plan_create(&gpu->base, c, &own->whole);
    if (status == TALLY_OK && has_parts(c))
        status = create_if_there(gpu, &states, &own->states);
    if (status == TALLY_OK && own->states && tally_is_scan(c))
        status = tally_cuda_carry_load(own->whole);
    if (status == TALLY_OK && c->desc.grouping == TALLY_SEGMENTS && tally_cuda_many_shares_groups(c))
        status = tally_cuda_many_load_rebase(gpu, c, own);
    if (status == TALLY_OK)
        status = tally_cuda_enter(gpu);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_check(gpu->api->cuEventCreate(&own->event, CU_EVENT_DISABLE_TIMING), "creating an event");
    if (status == TALLY_OK && k)
        status = tally_cuda_check(gpu->api->cuStreamCreate(&own->stream, CU_STREAM_NON_BLOCKING), "creating a stream");
    tally_cuda_leave(gpu);
    return status;
}

static tally_status create_join(many_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const tally_desc desc = of_states(c, TALLY_WORDS_IN | (c->gives_words ? TALLY_WORDS_OUT : 0));
    if (!plan->own[0].states || tally_is_scan(c))
        return TALLY_OK;
    return create_if_there(plan->many->gpu[0], &desc, &plan->join);
}

tally_status tally_cuda_many_supports(const tally_device *device, const tally_computation *c) {
    return tally_cuda_supports(&((const tally_cuda_many *)device)->gpu[0]->base, c);
}

tally_status tally_cuda_many_plan_create(tally_device *device, const tally_computation *c, tally_plan **out) {
    tally_cuda_many *many = (tally_cuda_many *)device;
    many_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a plan");
    plan->base.device = device;
    plan->many = many;
    tally_computation_copy(c, &plan->base.computation);
    tally_status status = TALLY_OK;
    for (int k = 0; k < many->count && status == TALLY_OK; k++)
        if (many->first[k] == k)
            status = create_own(plan, k);
    if (status == TALLY_OK)
        status = create_join(plan);
    if (status != TALLY_OK) {
        tally_cuda_many_plan_destroy(&plan->base);
        return status;
    }
    *out = &plan->base;
    return TALLY_OK;
}

static void destroy_own(const tally_cuda_device *gpu, on_gpu *own) {
    tally_plan_destroy(own->whole);
    tally_plan_destroy(own->states);
    if (tally_cuda_enter(gpu) != TALLY_OK)
        return;
    if (own->event)
        gpu->api->cuEventDestroy(own->event);
    if (own->stream)
        gpu->api->cuStreamDestroy(own->stream);
    tally_cuda_leave(gpu);
}

void tally_cuda_many_plan_destroy(tally_plan *base) {
    many_plan *plan = (many_plan *)base;
    tally_cuda_many *many = plan->many;
    tally_plan_destroy(plan->join);
    for (int k = 0; k < many->count; k++)
        if (many->first[k] == k)
            destroy_own(many->gpu[k], &plan->own[k]);
    if (plan->words)
        tally_cuda_memory_free(&many->gpu[0]->base, tally_cuda_pointer(plan->words));
    tally_cuda_many_free_scratch(plan);
    free(plan);
}

tally_status tally_cuda_many_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes) {
    (void)plan, (void)shape;
    *bytes = 0; /* each GPU has its own */
    return TALLY_OK;
}

/* ---- the parts of a run ---- */

static size_t bytes_of_state(const many_plan *plan) {
    return plan->own[0].states->computation.per_result * sizeof(int64_t);
}

static const char *input_of(const run *r, const part *p) {
    return (const char *)r->args->x + p->first * r->unit_bytes;
}

/* No parts if the data are too few. */
static void share_out(run *r) {
    const tally_computation *c = &r->plan->base.computation;
    const tally_cuda_many *many = r->plan->many;
    const tally_shape *s = &r->args->shape;
    const bool is_axis = c->desc.grouping == TALLY_AXIS;
    r->columns = is_axis ? s->inner : 1;
    r->shares_outer = is_axis && s->outer > 1;
    r->unit_bytes = r->columns * (r->shares_outer ? s->extent : 1) * c->in_bytes;
    const uint64_t units = r->shares_outer ? s->outer : s->extent;
    if (!r->plan->own[0].states || (!r->plan->join && !tally_is_scan(c)) || !r->unit_bytes)
        return;
    uint64_t count = tally_cuda_many_most_parts(many, units * r->unit_bytes);
    if (!r->shares_outer)
        count = least(count, units * c->in_bytes / (STATES_PER_PART * bytes_of_state(r->plan)));
    const uint64_t step = !is_axis && units / ALIGNMENT > ALIGNMENT ? ALIGNMENT : 1;
    r->count = count > 1 ? (size_t)count : 0;
    for (size_t k = 0; k < r->count; k++) {
        part *p = &r->part[k];
        p->first = units / step * k / count * step;
        p->count = (k + 1 == count ? units : units / step * (k + 1) / count * step) - p->first;
        p->gpu = tally_cuda_many_gpu_at(r, input_of(r, p) + p->count / 2 * r->unit_bytes, (int)k);
        r->is_used[p->gpu] = true;
    }
}

/* The arguments of a part, but for its output. */
static tally_args arguments_of(const run *r, const part *p) {
    tally_args args = *r->args;
    args.workspace = NULL;
    args.workspace_bytes = 0;
    args.x = input_of(r, p);
    if (args.y)
        args.y = (const char *)args.y + p->first * r->unit_bytes;
    *(r->shares_outer ? &args.shape.outer : &args.shape.extent) = p->count;
    return args;
}

/* The output of a part, for forms that give each part its own. */
static void place_output(const run *r, const part *p, tally_args *args) {
    const tally_computation *c = &r->plan->base.computation;
    const uint64_t results = r->columns * (r->shares_outer && tally_is_scan(c) ? args->shape.extent : 1);
    const size_t bytes = results * c->out_bytes * c->per_result;
    args->out = (char *)args->out + p->first * bytes;
    args->out_bytes = p->count * bytes;
}

static tally_status wait_for_end(const run *r) {
    const tally_cuda_device *first = r->plan->many->gpu[0];
    if (r->stream)
        return TALLY_OK;
    tally_status status = tally_cuda_enter(first);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_check(first->api->cuStreamSynchronize(first->stream), "running a plan");
    tally_cuda_leave(first);
    return status;
}

/* ---- runs ---- */

/* On the GPU that has the middle of the data. */
static tally_status run_whole(run *r, uint64_t results) {
    const tally_computation *c = &r->plan->base.computation;
    tally_args args = *r->args;
    const uint64_t rows = c->desc.grouping == TALLY_AXIS ? args.shape.outer * args.shape.inner : 1;
    const int gpu =
        args.x ? tally_cuda_many_gpu_at(r, (const char *)args.x + rows * args.shape.extent * c->in_bytes / 2, 0) : 0;
    args.workspace = NULL;
    args.workspace_bytes = 0;
    tally_plan *whole = r->plan->own[gpu].whole;
    r->is_used[gpu] = true;
    tally_status status = gpu ? tally_cuda_many_fork(r) : TALLY_OK;
    if (status == TALLY_OK && !r->stream)
        return whole->device->interface->run(whole, &args, results, NULL);
    if (status == TALLY_OK)
        status = whole->device->interface->run(whole, &args, results, tally_cuda_many_stream(r, gpu));
    return status == TALLY_OK ? tally_cuda_many_join(r) : status;
}

static tally_status need_words(many_plan *plan, size_t bytes) {
    tally_device *first = &plan->many->gpu[0]->base;
    void *memory;
    if (bytes <= plan->words_bytes)
        return TALLY_OK;
    tally_status status = tally_cuda_memory_alloc(first, bytes, &memory);
    if (status != TALLY_OK)
        return status;
    if (plan->words)
        tally_cuda_memory_free(first, tally_cuda_pointer(plan->words));
    plan->words = tally_cuda_address(memory);
    plan->words_bytes = bytes;
    return TALLY_OK;
}

static size_t state_bytes(const run *r) {
    return r->columns * bytes_of_state(r->plan);
}

/* The states of the first parts. */
static tally_status run_states(const run *r, size_t parts) {
    const size_t bytes = state_bytes(r);
    tally_status status = need_words(r->plan, r->count * bytes);
    for (size_t k = 0; k < parts && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        tally_plan *states = r->plan->own[p->gpu].states;
        tally_args args = arguments_of(r, p);
        args.initial = NULL;
        args.out = tally_cuda_pointer(r->plan->words + k * bytes);
        args.out_bytes = bytes;
        status = states->device->interface->run(states, &args, r->columns, tally_cuda_many_stream(r, p->gpu));
    }
    return status;
}

static tally_status join_parts(const run *r) {
    tally_args args = *r->args;
    args.shape = (tally_shape){1, r->count, r->columns, 0};
    args.x = tally_cuda_pointer(r->plan->words);
    args.y = NULL;
    args.workspace = NULL;
    args.workspace_bytes = 0;
    return r->plan->join->device->interface->run(r->plan->join, &args, r->columns, tally_cuda_many_stream(r, 0));
}

static tally_status reduce_parts(const run *r) {
    tally_status status = run_states(r, r->count);
    if (status == TALLY_OK)
        status = tally_cuda_many_join(r);
    return status == TALLY_OK ? join_parts(r) : status;
}

/* Each part behind the states of those before it. */
static tally_status scan_parts(const run *r) {
    tally_status status = run_states(r, r->count - 1);
    for (int gpu = 0; gpu < MOST && status == TALLY_OK; gpu++)
        if (r->is_used[gpu])
            status = tally_cuda_many_note(r, gpu);
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        tally_plan *whole = r->plan->own[p->gpu].whole;
        tally_args args = arguments_of(r, p);
        place_output(r, p, &args);
        for (size_t j = 0; j < k && status == TALLY_OK; j++)
            status = tally_cuda_many_follow(r, p->gpu, r->part[j].gpu);
        if (status == TALLY_OK)
            status = tally_cuda_run_after(whole, &args, tally_cuda_pointer(r->plan->words), k, p->first,
                                          tally_cuda_many_stream(r, p->gpu));
    }
    return status == TALLY_OK ? tally_cuda_many_join(r) : status;
}

static tally_status run_outer_parts(const run *r) {
    tally_status status = TALLY_OK;
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        tally_plan *whole = r->plan->own[p->gpu].whole;
        tally_args args = arguments_of(r, p);
        place_output(r, p, &args);
        status = whole->device->interface->run(whole, &args, 0, tally_cuda_many_stream(r, p->gpu));
    }
    return status == TALLY_OK ? tally_cuda_many_join(r) : status;
}

tally_status tally_cuda_many_run(tally_plan *base, const tally_args *args, uint64_t results, tally_stream stream) {
    run r = {.plan = (many_plan *)base, .args = args, .stream = stream};
    tally_status status = tally_run_check_empty(&base->computation, args);
    if (status != TALLY_OK)
        return status;
    if (is_grouped(&base->computation)) {
        bool is_done = false;
        if (!stream)
            status = tally_cuda_many_run_groups(&r, &is_done);
        return status != TALLY_OK || is_done ? status : run_whole(&r, results);
    }
    share_out(&r);
    if (!r.count)
        return run_whole(&r, results);
    status = tally_cuda_many_fork(&r);
    if (status == TALLY_OK)
        status = r.shares_outer                      ? run_outer_parts(&r)
                 : tally_is_scan(&base->computation) ? scan_parts(&r)
                                                     : reduce_parts(&r);
    return status == TALLY_OK ? wait_for_end(&r) : status;
}

/* ---- sizes on the device, and input in pieces: on the first GPU ---- */

static tally_plan *first_plan(const tally_plan *base) {
    return ((const many_plan *)base)->own[0].whole;
}

static tally_args with_own_workspace(const tally_args *args) {
    tally_args own = *args;
    own.workspace = NULL;
    own.workspace_bytes = 0;
    return own;
}

tally_status tally_cuda_many_run_sized(tally_plan *base, const tally_args *args, const tally_sizes *sizes,
                                       tally_stream stream) {
    const tally_args own = with_own_workspace(args);
    return tally_gpu_plan_run_sized(first_plan(base), &own, sizes, stream);
}

tally_status tally_cuda_many_push(tally_plan *base, const tally_args *args) {
    const tally_args own = with_own_workspace(args);
    return tally_gpu_plan_push(first_plan(base), &own);
}

tally_status tally_cuda_many_finish(tally_plan *base, void *out, size_t out_bytes) {
    return tally_gpu_plan_finish(first_plan(base), out, out_bytes);
}

void tally_cuda_many_reset(tally_plan *base) {
    tally_gpu_plan_reset(first_plan(base));
}

tally_status tally_cuda_many_resume(tally_plan *base, const tally_words_form *form, const int64_t *words,
                                    uint64_t columns) {
    return tally_cuda_resume(first_plan(base), form, words, columns);
}
