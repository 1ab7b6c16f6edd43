#include "cuda/loading.h"

#include <stddef.h>
#include <string.h>

#include "cuda/specialize.h"

/* Where the numbers of kernels stand in tally_cuda_kernels, by their places in kernels.def. */
static const size_t members[TALLY_CUDA_KERNELS] = {
#define TALLY_CUDA_KERNEL(name, text)                   offsetof(tally_cuda_kernels, name),
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) offsetof(tally_cuda_kernels, name),
#include "cuda/kernels.def"
};

static bool is_loaded(const tally_cuda_plan *plan, size_t kernel) {
    return atomic_load_explicit(&plan->loading.is_loaded[kernel], memory_order_acquire);
}

static tally_cuda_kernel_number number_of(const tally_cuda_plan *plan, size_t kernel) {
    tally_cuda_kernel_number number;
    memcpy(&number, (const char *)&plan->kernels + members[kernel], sizeof number);
    return number;
}

static void number_kernels(tally_cuda_plan *plan) {
    const char *const *parts[TALLY_CUDA_MOST_PARTS];
    const size_t count = tally_cuda_parts_of(&plan->gpu.base.computation, &plan->sizes, parts);
    for (size_t part = 0; part < count; part++)
        for (unsigned k = 0; k < TALLY_CUDA_KERNELS; k++)
            if (!number_of(plan, k) && tally_cuda_part_has(parts[part], k)) {
                const tally_cuda_kernel_number number = k + 1;
                memcpy((char *)&plan->kernels + members[k], &number, sizeof number);
                plan->loading.lacking++;
            }
}

tally_status tally_cuda_loading_begin(tally_cuda_plan *plan) {
    if (pthread_mutex_init(&plan->loading.mutex, NULL) != 0)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the kernels of a plan");
    plan->loading.has_mutex = true;
    number_kernels(plan);
    CUfunction function;
    return plan->kernels.try_operator ? tally_cuda_kernel_get(plan, plan->kernels.try_operator, 0, &function)
                                      : TALLY_OK;
}

void tally_cuda_loading_end(tally_cuda_plan *plan) {
    if (plan->loading.has_mutex)
        pthread_mutex_destroy(&plan->loading.mutex);
}

bool tally_cuda_lacks_kernels(const tally_cuda_plan *plan) {
    return atomic_load_explicit(&plan->loading.lacking, memory_order_acquire) != 0;
}

void tally_cuda_want(tally_cuda_wanted *wanted, tally_cuda_plan *plan, tally_cuda_kernel_number kernel) {
    size_t k = 0;
    if (!kernel || is_loaded(plan, kernel - 1))
        return;
    while (k < wanted->count && wanted->of[k].plan != plan)
        k++;
    if (k == sizeof wanted->of / sizeof *wanted->of || wanted->kernels == TALLY_CUDA_MOST_SOURCES)
        return; /* the launch itself will load it */
    wanted->of[k].plan = plan;
    wanted->kernels += !wanted->of[k].kernels[kernel - 1];
    wanted->of[k].kernels[kernel - 1] = true;
    wanted->count += k == wanted->count;
}

/* ---- loading ---- */

static tally_status find_kernel(tally_cuda_plan *plan, unsigned kernel, const tally_cuda_module *module) {
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&plan->loading.mutex);
    if (!is_loaded(plan, kernel)) {
        status = tally_cuda_function(module, tally_cuda_kernel_names[kernel], &plan->loading.function[kernel]);
        if (status == TALLY_OK) {
            atomic_store_explicit(&plan->loading.is_loaded[kernel], true, memory_order_release);
            atomic_fetch_sub_explicit(&plan->loading.lacking, 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&plan->loading.mutex);
    return status;
}

enum { PLANS = sizeof((tally_cuda_wanted *)0)->of / sizeof *((tally_cuda_wanted *)0)->of };
_Static_assert((int)TALLY_CUDA_MOST_TEXTS <= (int)TALLY_CUDA_MOST_SOURCES,
               "a plan asks for all of its modules in one call");

static tally_status load(const tally_cuda_wanted *wanted) {
    const char *sources[TALLY_CUDA_MOST_SOURCES];
    const tally_cuda_module *modules[TALLY_CUDA_MOST_SOURCES];
    tally_cuda_texts texts[PLANS] = {{.count = 0}};
    tally_status status = TALLY_OK;
    size_t count = 0, found = 0;
    for (size_t k = 0; k < wanted->count && status == TALLY_OK; k++) {
        const tally_cuda_plan *plan = wanted->of[k].plan;
        status = tally_cuda_specialize(&plan->gpu.base.computation, plan->device->architecture, wanted->of[k].kernels,
                                       &texts[k]);
        for (size_t text = 0; text < texts[k].count; text++)
            sources[count++] = texts[k].text[text];
    }
    if (status == TALLY_OK)
        status = tally_cuda_modules_get(wanted->of[0].plan->device, sources, count, tally_cuda_options,
                                        tally_cuda_option_count, modules);
    for (size_t k = 0; k < wanted->count; k++)
        for (size_t text = 0; text < texts[k].count && status == TALLY_OK; text++)
            status = find_kernel(wanted->of[k].plan, texts[k].kernel[text], modules[found++]);
    for (size_t k = 0; k < wanted->count; k++)
        tally_cuda_texts_free(&texts[k]);
    return status;
}

/* Loading code may allocate memory, which a thread that captures a stream may not, unless it says that it knows. No
 * captured work waits for the code. */
tally_status tally_cuda_load_wanted(const tally_cuda_wanted *wanted) {
    if (!wanted->count)
        return TALLY_OK;
    const tally_cuda_api *api = wanted->of[0].plan->device->api;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool exchanges =
        api->cuThreadExchangeStreamCaptureMode && api->cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
    const tally_status status = load(wanted);
    if (exchanges)
        api->cuThreadExchangeStreamCaptureMode(&mode);
    return status;
}

/* ---- kernels ---- */

/* A kernel takes up to 48 KB without being asked. Plans of the same text share it, so it is allowed all that there is.
 */
static tally_status allow_shared(tally_cuda_plan *plan, unsigned k) {
    const tally_cuda_api *api = plan->device->api;
    const CUfunction function = plan->loading.function[k];
    int fixed = 0;
    CUresult result = api->cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    if (result == CUDA_SUCCESS)
        result = api->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         (int)plan->device->shared_bytes_per_block - fixed);
    if (result == CUDA_SUCCESS)
        atomic_store_explicit(&plan->loading.is_allowed[k], true, memory_order_release);
    return tally_cuda_check(result, "asking for shared memory");
}

tally_status tally_cuda_kernel_get(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, unsigned shared,
                                   CUfunction *function) {
    enum { UNASKED = 48 << 10 };
    tally_cuda_wanted wanted = {.count = 0};
    if (!kernel)
        return tally_fail(TALLY_UNSUPPORTED, "the plan has no such kernel");
    tally_cuda_want(&wanted, plan, kernel);
    tally_status status = tally_cuda_load_wanted(&wanted);
    if (status == TALLY_OK && shared > UNASKED &&
        !atomic_load_explicit(&plan->loading.is_allowed[kernel - 1], memory_order_acquire))
        status = allow_shared(plan, kernel - 1);
    if (status == TALLY_OK)
        *function = plan->loading.function[kernel - 1];
    return status;
}

/* The most blocks of a kernel's cluster. No device guarantees more than TALLY_CUDA_CLUSTER, and the layout of its
 * processors may allow fewer. */
static unsigned most_of_cluster(const tally_cuda_plan *plan, CUfunction kernel) {
    enum { WIDE = TALLY_CUDA_WIDE_CLUSTER, THREADS = 1024 };
    const tally_cuda_api *api = plan->device->api;
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {WIDE, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = WIDE,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = &cluster,
                                   .numAttrs = 1};
    int clusters = 0;
    const bool are_told =
        api->cuOccupancyMaxActiveClusters &&
        api->cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) == CUDA_SUCCESS &&
        api->cuOccupancyMaxActiveClusters(&clusters, kernel, &config) == CUDA_SUCCESS;
    return are_told && clusters > 0 ? WIDE : TALLY_CUDA_CLUSTER;
}

uint64_t tally_cuda_resident(tally_cuda_plan *plan, tally_cuda_kernel_number kernel, unsigned threads,
                             unsigned *widest) {
    int blocks = 0;
    CUfunction function;
    uint64_t resident = atomic_load_explicit(&plan->loading.resident, memory_order_acquire);
    if (!resident && tally_cuda_enter(plan->device) == TALLY_OK) {
        if (tally_cuda_kernel_get(plan, kernel, 0, &function) == TALLY_OK &&
            plan->device->api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)threads, 0) ==
                CUDA_SUCCESS) {
            resident = (uint64_t)plan->device->multiprocessors * (uint64_t)blocks;
            plan->loading.widest_cluster = widest ? most_of_cluster(plan, function) : 0;
            atomic_store_explicit(&plan->loading.resident, resident, memory_order_release);
        }
        tally_cuda_leave(plan->device);
    }
    if (widest)
        *widest = resident ? plan->loading.widest_cluster : 0;
    return resident;
}
