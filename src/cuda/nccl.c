/* Rank plans over NCCL: the exchanges of tally/ranks.h as collectives of int64s. */
#include "tally/nccl.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/cuda.h"
#include "cuda/memory.h"
#include "gpu/library.h"
#include "tally/cuda.h"

/* NCCL's, with the values of its documentation. */
typedef enum ncclResult_t { ncclSuccess = 0, ncclInProgress = 7 } ncclResult_t;
typedef enum ncclDataType_t { ncclInt64 = 4 } ncclDataType_t;
typedef enum ncclRedOp_t { ncclSum = 0, ncclMax = 2 } ncclRedOp_t;

typedef struct nccl_api {
    ncclResult_t (*ncclCommCount)(void *comm, int *count);
    ncclResult_t (*ncclCommUserRank)(void *comm, int *rank);
    ncclResult_t (*ncclCommGetAsyncError)(void *comm, ncclResult_t *result);
    ncclResult_t (*ncclAllReduce)(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                  void *comm, CUstream stream);
    ncclResult_t (*ncclAllGather)(const void *send, void *receive, size_t count, ncclDataType_t type, void *comm,
                                  CUstream stream);
    const char *(*ncclGetErrorString)(ncclResult_t result);
} nccl_api;

struct tally_nccl_plan {
    tally_rank_plan *ranks;
    const tally_cuda_device *device;
    void *comm;
};

/* ---- the library ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nccl_api api;
static tally_opening opening;

static tally_status open_library(void) {
    static const struct {
        const char *symbol;
        void *function;
    } functions[] = {{"ncclCommCount", &api.ncclCommCount},
                     {"ncclCommUserRank", &api.ncclCommUserRank},
                     {"ncclCommGetAsyncError", &api.ncclCommGetAsyncError},
                     {"ncclAllReduce", &api.ncclAllReduce},
                     {"ncclAllGather", &api.ncclAllGather},
                     {"ncclGetErrorString", &api.ncclGetErrorString}};
    const char *const named = tally_library_path("TALLY_NCCL"), *reason;
    const char *const path = named ? named : "libnccl.so.2";
    void *const library = tally_library_open(path, &reason);
    if (!library)
        return tally_fail(TALLY_NO_DEVICE, "NCCL is not there: %s; install it, or name libnccl.so.2 in TALLY_NCCL",
                          reason);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (!tally_library_find(library, functions[k].symbol, functions[k].function))
            return tally_fail(TALLY_NO_DEVICE, "%s is no NCCL, or too old a one: it lacks %s", path,
                              functions[k].symbol);
    return TALLY_OK;
}

static void open_once(void) {
    tally_opening_keep(&opening, open_library());
}

/* ---- collectives ---- */

/* A communicator that does not block is asked until it has an answer. */
static ncclResult_t settle(const tally_nccl_plan *plan, ncclResult_t result) {
    while (result == ncclInProgress) {
        const ncclResult_t asking = api.ncclCommGetAsyncError(plan->comm, &result);
        if (asking != ncclSuccess)
            return asking;
    }
    return result;
}

static ncclResult_t start(const tally_nccl_plan *plan, const tally_exchange *e, CUstream stream) {
    if (e->kind == TALLY_EXCHANGE_GATHER)
        return api.ncclAllGather(e->send, e->receive, e->words, ncclInt64, plan->comm, stream);
    return api.ncclAllReduce(e->send, e->receive, e->words, ncclInt64,
                             e->kind == TALLY_EXCHANGE_SUM ? ncclSum : ncclMax, plan->comm, stream);
}

/* Local work of a synchronous run is done when the exchange begins, and the next waits for the default stream. */
static tally_status exchange(const tally_nccl_plan *plan, const tally_exchange *e, tally_stream stream) {
    tally_status status = tally_cuda_enter(plan->device);
    if (status != TALLY_OK)
        return status;
    const ncclResult_t result = settle(plan, start(plan, e, (CUstream)(stream ? stream : TALLY_CUDA_STREAM_LEGACY)));
    tally_cuda_leave(plan->device);
    return result == ncclSuccess ? TALLY_OK : tally_rank_fail(plan->ranks, api.ncclGetErrorString(result));
}

/* ---- plans ---- */

static tally_status check(tally_device *device, const void *desc, const void *comm, unsigned flags, const void *plan) {
    if (!device || !desc || !comm || !plan)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_nccl_plan_create: NULL where a device, a descriptor, a "
                                                  "communicator and a place for the plan are expected");
    if (flags & ~(unsigned)TALLY_RANK_TRUSTED)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_nccl_plan_create: flags are TALLY_RANK_TRUSTED or 0");
    if (device->interface->alloc != tally_cuda_memory_alloc)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_nccl_plan_create: a rank has one CUDA GPU; open \"cuda:N\"");
    pthread_once(&once, open_once);
    return tally_opening_repeat(&opening);
}

static tally_status find_rank(void *comm, int *rank, int *ranks) {
    ncclResult_t result = api.ncclCommUserRank(comm, rank);
    if (result == ncclSuccess)
        result = api.ncclCommCount(comm, ranks);
    return result == ncclSuccess ? TALLY_OK
                                 : tally_fail(TALLY_DEVICE_FAILED, "asking the communicator for its ranks: %s",
                                              api.ncclGetErrorString(result));
}

tally_status tally_nccl_plan_create(tally_device *device, const tally_desc *desc, tally_split split, unsigned flags,
                                    void *comm, tally_nccl_plan **out) {
    int rank, ranks;
    tally_status status = check(device, desc, comm, flags, out);
    if (status == TALLY_OK)
        status = find_rank(comm, &rank, &ranks);
    if (status != TALLY_OK)
        return status;
    tally_nccl_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a plan");
    plan->device = (const tally_cuda_device *)device;
    plan->comm = comm;
    const tally_rank_options options = {.struct_size = sizeof options,
                                        .rank = (uint64_t)rank,
                                        .ranks = (uint64_t)ranks,
                                        .split = split,
                                        .flags = flags | TALLY_RANK_DEVICE_WORDS};
    status = tally_rank_plan_create(device, desc, &options, &plan->ranks);
    if (status != TALLY_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return TALLY_OK;
}

void tally_nccl_plan_destroy(tally_nccl_plan *plan) {
    if (!plan)
        return;
    tally_rank_plan_destroy(plan->ranks);
    free(plan);
}

tally_status tally_nccl_run(tally_nccl_plan *plan, const tally_args *args, unsigned flags, tally_stream stream) {
    tally_exchange e;
    if (!plan || !args)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_nccl_run: NULL where a plan and its arguments are expected");
    tally_rank_begin(plan->ranks, args, flags, stream);
    tally_status status = tally_rank_next(plan->ranks, &e);
    while (status == TALLY_OK && e.kind != TALLY_EXCHANGE_DONE) {
        status = exchange(plan, &e, stream);
        if (status == TALLY_OK)
            status = tally_rank_next(plan->ranks, &e);
    }
    return status;
}
