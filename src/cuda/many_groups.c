#include "cuda/many_groups.h"

#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/run.h"
#include "cuda/dispatch.h"
#include "cuda/many_memory.h"
#include "cuda/memory.h"
#include "cuda/specialize.h"
#include "tally/cuda.h"

typedef tally_cuda_shared run;
typedef tally_cuda_share part;

enum {
    NEAR = 64,           /* a part's end is near enough if it is off by a 64th of a part */
    MOST_PROBES = 40,    /* of offsets, each a copy to the host */
    FIRST_WINDOW = 4096, /* keys that are first looked at for the end of a run of equal ones */
    MOST_WINDOW = 1 << 22,
    BLOCKS = 64,     /* for each multiprocessor at most; their threads take turns */
    ALIGNMENT = 1024 /* elements: where the input of a reduction of a part of the segments begins */
};

static const tally_computation *computation_of(const run *r) {
    return &r->plan->base.computation;
}

static tally_device *device_of(const run *r, const part *p) {
    return &r->plan->many->gpu[p->gpu]->base;
}

/* ---- scratch memory ---- */

static tally_status reserve(const run *r, size_t k, size_t bytes, char **memory) {
    tally_cuda_scratch *s = &r->plan->scratch[k];
    const int gpu = r->part[k].gpu;
    if (s->bytes < bytes || s->gpu != gpu) {
        if (s->memory)
            tally_cuda_memory_free(&r->plan->many->gpu[s->gpu]->base, s->memory);
        *s = (tally_cuda_scratch){.gpu = gpu};
        const tally_status status = tally_cuda_memory_alloc(device_of(r, &r->part[k]), bytes, &s->memory);
        if (status != TALLY_OK)
            return status;
        s->bytes = bytes;
    }
    *memory = s->memory;
    return TALLY_OK;
}

void tally_cuda_many_free_scratch(tally_cuda_many_plan *plan) {
    for (int k = 0; k < TALLY_CUDA_MOST_GPUS; k++)
        if (plan->scratch[k].memory)
            tally_cuda_memory_free(&plan->many->gpu[plan->scratch[k].gpu]->base, plan->scratch[k].memory);
    tally_cuda_free_host(&plan->many->gpu[0]->base, plan->notes);
}

/* ---- where parts end: segments ---- */

/* Offsets of some segments. False if one is not in 0 .. extent. */
static bool read_offsets(const run *r, const uint64_t *segments, size_t count, uint64_t *offsets) {
    const tally_computation *c = computation_of(r);
    const tally_cuda_device *gpu = r->plan->many->gpu[0];
    uint64_t *const noted = r->plan->notes->offsets;
    if (tally_cuda_enter(gpu) != TALLY_OK)
        return false;
    CUresult result = CUDA_SUCCESS;
    for (size_t k = 0; k < count && result == CUDA_SUCCESS; k++) {
        noted[k] = 0;
        result = gpu->api->cuMemcpyAsync(tally_cuda_address(&noted[k]),
                                         tally_cuda_address(r->args->offsets) + segments[k] * c->index_bytes,
                                         c->index_bytes, gpu->stream);
    }
    if (gpu->api->cuStreamSynchronize(gpu->stream) != CUDA_SUCCESS)
        result = CUDA_ERROR_UNKNOWN;
    tally_cuda_leave(gpu);
    bool are_there = result == CUDA_SUCCESS;
    for (size_t k = 0; k < count && are_there; k++) {
        offsets[k] = (uint64_t)tally_label_value(c, &noted[k]);
        are_there = offsets[k] <= r->args->shape.extent;
    }
    return are_there;
}

/* A segment that begins near an element, between two others; by interpolation, and each third time by halves. */
static bool find_segment(const run *r, uint64_t element, uint64_t near, part *low, part high) {
    for (int k = 0; k < MOST_PROBES && high.group - low->group > 1; k++) {
        const uint64_t span = high.first - low->first, groups = high.group - low->group;
        uint64_t step = k % 3 == 2 || !span
                            ? groups / 2
                            : (uint64_t)((double)(element - low->first) / (double)span * (double)groups);
        part middle = {.group = low->group + least(most(step, 1), groups - 1)};
        if (!read_offsets(r, &middle.group, 1, &middle.first) || middle.first < low->first || middle.first > high.first)
            return false;
        *(middle.first <= element ? low : &high) = middle;
        if (low->first + near >= element)
            return true;
    }
    return true;
}

static bool share_segments(run *r, uint64_t count) {
    const uint64_t n = r->args->shape.extent;
    const uint64_t ends[2] = {0, r->args->shape.groups};
    uint64_t at[2];
    if (!read_offsets(r, ends, 2, at))
        return false;
    const part last = {.first = at[1], .group = ends[1]};
    r->part[0].first = at[0];
    for (uint64_t k = 1; k < count; k++) {
        r->part[k] = r->part[k - 1];
        const uint64_t element = n / count * k;
        if (element <= r->part[k].first || element >= last.first)
            return false;
        if (!find_segment(r, element, n / count / NEAR, &r->part[k], last))
            return false;
    }
    for (uint64_t k = 0; k < count; k++) {
        const part *next = k + 1 < count ? &r->part[k + 1] : &last;
        r->part[k].count = next->first - r->part[k].first;
        r->part[k].groups = next->group - r->part[k].group;
    }
    return true;
}

/* ---- where parts end: keys ---- */

/* The first element from 'element' on whose key is another than that before it. */
static bool find_head(const run *r, uint64_t element, uint64_t *head) {
    const size_t bytes = computation_of(r)->index_bytes;
    const uint64_t n = r->args->shape.extent;
    bool is_found = false;
    for (uint64_t window = FIRST_WINDOW; window <= MOST_WINDOW && !is_found && element < n; window *= 32) {
        const uint64_t there = least(window, n - element) + 1; /* and the one before */
        char *keys = malloc(there * bytes);
        if (!keys || tally_copy(&r->plan->many->base, keys, (const char *)r->args->keys + (element - 1) * bytes,
                                there * bytes) != TALLY_OK) {
            free(keys);
            return false;
        }
        for (uint64_t i = 1; i < there && !is_found; i++)
            if (memcmp(keys + i * bytes, keys + (i - 1) * bytes, bytes) != 0) {
                is_found = true;
                *head = element + i - 1;
            }
        free(keys);
    }
    return is_found;
}

static bool share_keys(run *r, uint64_t count) {
    const uint64_t n = r->args->shape.extent;
    for (uint64_t k = 1; k < count; k++)
        if (!find_head(r, n / count * k, &r->part[k].first) || r->part[k].first <= r->part[k - 1].first)
            return false;
    for (uint64_t k = 0; k < count; k++)
        r->part[k].count = (k + 1 < count ? r->part[k + 1].first : n) - r->part[k].first;
    return true;
}

/* ---- the offsets of parts ---- */

static unsigned block_of(const tally_computation *c) {
    return tally_is_scan(c) || c->exact ? TALLY_CUDA_BLOCK : TALLY_CUDA_FOLD_BLOCK;
}

tally_status tally_cuda_many_load_rebase(tally_cuda_device *gpu, const tally_computation *c, tally_cuda_on_gpu *own) {
    const tally_cuda_module *module;
    tally_cuda_texts texts;
    tally_status status = tally_cuda_specialize_rebase(c, gpu->architecture, &texts);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_modules_get(gpu, (const char *const *)texts.text, 1, tally_cuda_options,
                                    tally_cuda_option_count, &module);
    tally_cuda_texts_free(&texts);
    if (status == TALLY_OK)
        status = tally_cuda_function(module, "rebase_offsets", &own->rebase);
    return status == TALLY_OK ? tally_cuda_function(module, "spread_refusal", &own->spread) : status;
}

/* The element from which a part's offsets count. A scan writes an output for each, so its part begins with its own. */
static uint64_t base_of(const run *r, const part *p) {
    return tally_is_scan(computation_of(r)) ? p->first : p->first / ALIGNMENT * ALIGNMENT;
}

static tally_status start(const run *r, const part *p, CUfunction kernel, tally_cuda_grid grid, void *rebased) {
    const tally_computation *c = computation_of(r);
    const tally_cuda_device *gpu = r->plan->many->gpu[p->gpu];
    tally_cuda_rebase_args args = {.offsets = tally_cuda_address(r->args->offsets) + p->group * c->index_bytes,
                                   .rebased = tally_cuda_address(rebased),
                                   .refused = tally_cuda_address((const void *)&r->plan->notes->refused),
                                   .segments = p->groups,
                                   .base = base_of(r, p),
                                   .end = p->first + p->count,
                                   .refuses_empty = tally_empty_is_error(c)};
    void *parameters[] = {&args};
    tally_status status = tally_cuda_enter(gpu);
    if (status != TALLY_OK)
        return status;
    status = tally_cuda_start(gpu, kernel, grid, tally_cuda_many_stream(r, p->gpu), parameters,
                              "launching the check of offsets");
    tally_cuda_leave(gpu);
    return status;
}

/* Every GPU waits until all have checked their offsets, since no part may write a result if another's are wrong. */
static tally_status rebase_all(const run *r, char *rebased[]) {
    const unsigned threads = block_of(computation_of(r));
    tally_status status = TALLY_OK;
    r->plan->notes->refused = 0;
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        const tally_cuda_device *gpu = r->plan->many->gpu[p->gpu];
        const tally_cuda_grid grid = {.x = tally_cuda_blocks_for(gpu, p->groups + 1, threads, BLOCKS),
                                      .threads = threads};
        status = reserve(r, k, (p->groups + 1) * computation_of(r)->index_bytes, &rebased[k]);
        if (status == TALLY_OK)
            status = start(r, p, r->plan->own[p->gpu].rebase, grid, rebased[k]);
    }
    for (int gpu = 0; gpu < TALLY_CUDA_MOST_GPUS && status == TALLY_OK; gpu++)
        if (r->is_used[gpu])
            status = tally_cuda_many_note(r, gpu);
    for (int gpu = 0; gpu < TALLY_CUDA_MOST_GPUS; gpu++)
        for (int other = 0; other < TALLY_CUDA_MOST_GPUS && status == TALLY_OK; other++)
            if (r->is_used[gpu] && r->is_used[other])
                status = tally_cuda_many_follow(r, gpu, other);
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++)
        status = start(r, &r->part[k], r->plan->own[r->part[k].gpu].spread, (tally_cuda_grid){.x = 1, .threads = 1},
                       rebased[k]);
    return status;
}

/* ---- runs ---- */

static tally_args arguments_of(const run *r, const part *p) {
    const tally_computation *c = computation_of(r);
    tally_args args = *r->args;
    const uint64_t results = tally_is_scan(c) ? p->first : p->group;
    args.workspace = NULL;
    args.workspace_bytes = 0;
    args.shape.extent = p->count;
    args.shape.groups = p->groups;
    args.x = (const char *)args.x + p->first * c->in_bytes;
    if (args.y)
        args.y = (const char *)args.y + p->first * c->in_bytes;
    args.out = (char *)args.out + results * c->out_bytes * c->per_result;
    args.out_bytes = (tally_is_scan(c) ? p->count : p->groups) * c->out_bytes * c->per_result;
    return args;
}

static tally_status run_part(const run *r, const part *p, const tally_args *args) {
    tally_plan *whole = r->plan->own[p->gpu].whole;
    return whole->device->interface->run(whole, args, 0, tally_cuda_many_stream(r, p->gpu));
}

static tally_status wait(const run *r) {
    tally_status status = TALLY_OK;
    for (int gpu = 0; gpu < TALLY_CUDA_MOST_GPUS && status == TALLY_OK; gpu++) {
        const tally_cuda_device *device = r->is_used[gpu] ? r->plan->many->gpu[gpu] : NULL;
        if (!device || (status = tally_cuda_enter(device)) != TALLY_OK)
            continue;
        status = tally_cuda_check(device->api->cuStreamSynchronize(tally_cuda_many_stream(r, gpu)), "running a plan");
        tally_cuda_leave(device);
    }
    return status;
}

/* *is_done: false if offsets are wrong; then nothing has been written. */
static tally_status run_segments(const run *r, bool *is_done) {
    char *rebased[TALLY_CUDA_MOST_GPUS];
    const tally_computation *c = computation_of(r);
    tally_status status = rebase_all(r, rebased);
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        const uint64_t before = p->first - base_of(r, p);
        tally_args args = arguments_of(r, p);
        args.offsets = rebased[k];
        args.shape.extent += before;
        args.x = (const char *)args.x - before * c->in_bytes;
        args.y = args.y ? (const char *)args.y - before * c->in_bytes : NULL;
        status = run_part(r, p, &args);
    }
    if (status == TALLY_OK)
        status = wait(r);
    *is_done = !r->plan->notes->refused;
    return status;
}

static tally_status scan_keys(const run *r) {
    tally_status status = TALLY_OK;
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        tally_args args = arguments_of(r, &r->part[k]);
        args.keys = (const char *)args.keys + r->part[k].first * computation_of(r)->index_bytes;
        status = run_part(r, &r->part[k], &args);
    }
    return status;
}

/* ---- reductions by keys: results go to their place when the numbers of runs are known ---- */

static uint64_t room_of(const run *r) {
    const tally_computation *c = computation_of(r);
    const uint64_t of_out = r->args->out_bytes / (c->out_bytes * c->per_result);
    return r->args->keys_out ? least(of_out, r->args->keys_out_bytes / c->index_bytes) : of_out;
}

static tally_status reduce_part(const run *r, size_t k, char **scratch) {
    const tally_computation *c = computation_of(r);
    const part *p = &r->part[k];
    const uint64_t room = least(room_of(r), p->count);
    const size_t out_bytes = room * c->out_bytes * c->per_result, at_keys = round_up(out_bytes, 16);
    tally_args args = arguments_of(r, p);
    tally_status status = reserve(r, k, at_keys + room * c->index_bytes + 16, scratch);
    if (status != TALLY_OK)
        return status;
    args.keys = (const char *)args.keys + p->first * c->index_bytes;
    args.out = *scratch;
    args.out_bytes = out_bytes;
    if (args.keys_out) {
        args.keys_out = *scratch + at_keys;
        args.keys_out_bytes = room * c->index_bytes;
    }
    args.count = &r->plan->notes->counts[k];
    return run_part(r, p, &args);
}

static tally_status move(const run *r, const part *p, char *to, const char *from, size_t bytes) {
    const tally_cuda_device *gpu = r->plan->many->gpu[p->gpu];
    tally_status status = tally_cuda_enter(gpu);
    if (status != TALLY_OK)
        return status;
    for (size_t done = 0, some; done < bytes && status == TALLY_OK; done += some) {
        const CUdeviceptr target = tally_cuda_address(to + done);
        some = least(bytes - done, tally_cuda_many_rest(r->plan->many, target));
        status = tally_cuda_check(
            gpu->api->cuMemcpyAsync(target, tally_cuda_address(from + done), some, tally_cuda_many_stream(r, p->gpu)),
            "moving results to their place");
    }
    tally_cuda_leave(gpu);
    return status;
}

static tally_status place_results(const run *r, char *scratch[]) {
    const tally_computation *c = computation_of(r);
    const size_t each = c->out_bytes * c->per_result;
    uint64_t done = 0;
    tally_status status = TALLY_OK;
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++) {
        const part *p = &r->part[k];
        const uint64_t runs = r->plan->notes->counts[k], room = least(room_of(r), p->count);
        status = move(r, p, (char *)r->args->out + done * each, scratch[k], runs * each);
        if (status == TALLY_OK && r->args->keys_out)
            status = move(r, p, (char *)r->args->keys_out + done * c->index_bytes,
                          scratch[k] + round_up(room * each, 16), runs * c->index_bytes);
        done += runs;
    }
    return status;
}

static tally_status reduce_keys(const run *r) {
    char *scratch[TALLY_CUDA_MOST_GPUS];
    tally_status status = TALLY_OK;
    uint64_t total = 0;
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++)
        status = reduce_part(r, k, &scratch[k]);
    if (status == TALLY_OK)
        status = wait(r);
    for (size_t k = 0; k < r->count && status == TALLY_OK; k++)
        total += r->plan->notes->counts[k];
    if (status != TALLY_OK)
        return status;
    if (r->args->count)
        *r->args->count = total;
    const tally_outcome outcome = {.lacks_room = total > room_of(r), .runs = total};
    status = tally_run_outcome(computation_of(r), r->args, &outcome);
    return status == TALLY_OK ? place_results(r, scratch) : status;
}

static tally_status need_notes(const run *r) {
    void *notes;
    if (r->plan->notes)
        return TALLY_OK;
    const tally_status status = tally_cuda_alloc_host(&r->plan->many->base, sizeof *r->plan->notes, &notes);
    if (status == TALLY_OK)
        r->plan->notes = notes;
    return status;
}

bool tally_cuda_many_shares_groups(const tally_computation *c) {
    return !c->takes_words &&
           (c->desc.grouping == TALLY_KEYS || (c->desc.grouping == TALLY_SEGMENTS && !c->gives_words));
}

tally_status tally_cuda_many_run_groups(tally_cuda_shared *r, bool *is_done) {
    const tally_computation *c = computation_of(r);
    if (!tally_cuda_many_shares_groups(c))
        return TALLY_OK;
    const uint64_t n = r->args->shape.extent;
    const bool by_keys = c->desc.grouping == TALLY_KEYS;
    uint64_t count = tally_cuda_many_most_parts(r->plan->many, n * c->in_bytes);
    if (!by_keys)
        count = least(count, r->args->shape.groups);
    tally_status status = count < 2 ? TALLY_OK : need_notes(r);
    if (status != TALLY_OK || count < 2 || !(by_keys ? share_keys(r, count) : share_segments(r, count)))
        return status;
    r->count = count;
    for (size_t k = 0; k < r->count; k++) {
        part *p = &r->part[k];
        const uint64_t middle = p->first + p->count / 2;
        p->gpu = tally_cuda_many_gpu_at(r, (const char *)r->args->x + middle * c->in_bytes, (int)k);
        r->is_used[p->gpu] = true;
    }
    *is_done = true;
    status = tally_cuda_many_fork(r);
    if (status == TALLY_OK)
        status = !by_keys ? run_segments(r, is_done) : tally_is_scan(c) ? scan_keys(r) : reduce_keys(r);
    return status == TALLY_OK && by_keys ? wait(r) : status;
}
