/* The common part of plans of GPUs: scratch memory, the checks of a run, input in pieces, and the errors that kernels
 * find. A back end's own plan begins with a tally_gpu_plan and brings a table of calls: memory, kernels, and how a run
 * is put into a stream or a command buffer. */
#ifndef TALLY_GPU_PLAN_H
#define TALLY_GPU_PLAN_H

#include "core/backend.h"
#include "core/run.h"
#include "exact/superaccumulator.h"

/* Device memory of the library's own. */
typedef struct tally_gpu_memory {
    uint64_t address; /* 0: none */
    size_t bytes;
    void *handle; /* the back end's handle */
} tally_gpu_memory;

typedef struct tally_gpu_calls tally_gpu_calls;

/* The CPU's plan for what the back end has no kernels for (gpu/by_host.h). */
typedef struct tally_gpu_host {
    tally_device *device;
    tally_plan *plan; /* NULL: not made yet */
    uint64_t columns; /* of the input in pieces */
} tally_gpu_host;

typedef struct tally_gpu_plan {
    tally_plan base;
    const tally_gpu_calls *calls;
    size_t total_bytes; /* of an accumulator as it is kept between pieces */
    tally_gpu_memory scratch;

    /* Input in pieces: an accumulator for each column, in totals[current]. A run reads those and writes the others, so
     * that a failed run leaves them unchanged. */
    tally_pieces input;
    bool resumed; /* from words; no piece has come since */
    int current;
    tally_gpu_memory totals[2];

    tally_gpu_host host;
    bool by_host; /* the pieces of this input are the host's */
} tally_gpu_plan;

/* The addresses at which a run over a piece finds and leaves accumulators. */
typedef struct tally_gpu_pieces {
    uint64_t carry;  /* of earlier pieces; 0 where the input is whole */
    uint64_t total;  /* of all pieces up to this one; 0 likewise */
    uint64_t before; /* elements, or rows, in earlier pieces */
} tally_gpu_pieces;

typedef struct tally_gpu_run {
    const tally_args *args;
    tally_gpu_pieces pieces;
    void *stream;      /* the caller's stream or command buffer; NULL: the run ends before the call does */
    const void *extra; /* of a call of the back end's own; NULL: none */
} tally_gpu_run;

/* Bits that kernels of segments, keys and words set when they refuse to write anything. */
enum {
    TALLY_GPU_REFUSED_BAD = 1,
    TALLY_GPU_REFUSED_EMPTY = 2,
    TALLY_GPU_REFUSED_RUNS = 4,
    TALLY_GPU_REFUSED_WORDS = 8
};

/* Bits of an exact state: what elements there were. Kernels have them under names such as SAW_NAN. */
enum { TALLY_GPU_SAW_NAN = 1, TALLY_GPU_SAW_PLUS = 2, TALLY_GPU_SAW_MINUS = 4, TALLY_GPU_SAW_OTHER = 8 };

/* The findings of such kernels. */
typedef struct tally_gpu_findings {
    uint32_t refused; /* TALLY_GPU_REFUSED_ bits */
    /* The first segment of each kind, where the bit is set; for labels the first bad element, for words the first bad
     * state. */
    uint64_t bad, empty;
    int64_t label; /* of that element */
    uint64_t runs; /* of equal keys */
} tally_gpu_findings;

struct tally_gpu_calls {
    const char *name;  /* in messages: "CUDA" */
    size_t plan_bytes; /* of the back end's plan */
    size_t alignment;  /* of a workspace */

    /* What the back end's device interface has. Making a plan asks it once, before anything else. */
    tally_status (*supports)(const tally_device *device, const tally_computation *computation);

    /* Makes the device current on the calling thread until 'leave'; NULL if the back end has no such notion. Called
     * around all functions below it. */
    tally_status (*enter)(const tally_device *device);
    void (*leave)(const tally_device *device);

    /* 'what' begins the message of a failure. Releasing waits for what still uses the memory; none may be released. */
    tally_status (*allocate)(tally_device *device, size_t bytes, const char *what, tally_gpu_memory *memory);
    void (*release)(tally_device *device, tally_gpu_memory *memory);

    /* TALLY_INVALID_ARGUMENT if kernels cannot reach an address that is not NULL. 'name': for the message, "args.x". */
    tally_status (*check_pointer)(const tally_device *device, const char *name, const void *pointer);

    /* Fills in the rest of a plan, whose gpu part but for total_bytes is there; nothing is left behind on failure. */
    tally_status (*load)(tally_gpu_plan *plan);
    /* Releases what 'load' and runs have put into the back end's part, of a device that could not be entered, too; NULL
     * if the device keeps that. */
    void (*unload)(tally_gpu_plan *plan);

    size_t (*workspace)(const tally_gpu_plan *plan, const tally_shape *shape);

    /* All of a run: cuts the shape, calls tally_gpu_prepare, launches and, without a stream, waits and calls
     * tally_gpu_conclude. */
    tally_status (*run)(tally_gpu_plan *plan, const tally_gpu_run *run);

    /* NULL: pieces are the host's (gpu/by_host.h). Sets accumulators to the identity or the initial value; lowers
     * accumulators to results. Both wait until that is done. 'elements': of each, in all pieces. */
    tally_status (*clear_totals)(tally_gpu_plan *plan, uint64_t totals, const void *initial, uint64_t count);
    /* Puts an initial value before accumulators that tally_resume has made; NULL if the back end does not resume. */
    tally_status (*put_before)(tally_gpu_plan *plan, uint64_t totals, const void *initial, uint64_t count);
    tally_status (*lower_totals)(tally_gpu_plan *plan, uint64_t totals, uint64_t count, uint64_t elements, void *out);

    /* For tally_gpu_resume_exact. Copies from the host to the beginning of what 'allocate' gave, and waits. */
    tally_status (*fill)(tally_device *device, const tally_gpu_memory *memory, const void *from, size_t bytes);
    /* Writes an exact state as it is kept between pieces: one sum, or that of elements and that of their squares.
     * total_bytes of zeros are there. TALLY_BAD_STATE for a sum that does not fit. */
    tally_status (*put_exact)(const tally_computation *computation, const tally_superaccumulator *sums, int count,
                              uint32_t saw, char *to);
};

/* ---- for the back ends' run ---- */

/* Checks the pointers of a run over 'elements' elements and gives its workspace of 'bytes' bytes: the caller's, or the
 * plan's, which grows. */
tally_status tally_gpu_prepare(tally_gpu_plan *plan, const tally_gpu_run *run, uint64_t elements, size_t bytes,
                               uint64_t *workspace);

/* At least 'bytes' of the plan's own memory. Its contents are lost when it grows. */
tally_status tally_gpu_grow(tally_gpu_plan *plan, tally_gpu_memory *memory, size_t bytes);

/* Whether kernels of a computation report findings. */
bool tally_gpu_has_findings(const tally_computation *computation);

/* The status of a finished run's findings; gives the caller the number of runs of keys. */
tally_status tally_gpu_conclude(const tally_gpu_plan *plan, const tally_args *args, const tally_gpu_findings *findings);

/* Makes the plan's device current, and no longer. */
static inline tally_status tally_gpu_enter(const tally_gpu_plan *plan) {
    return plan->calls->enter ? plan->calls->enter(plan->base.device) : TALLY_OK;
}
static inline void tally_gpu_leave(const tally_gpu_plan *plan) {
    if (plan->calls->leave)
        plan->calls->leave(plan->base.device);
}

/* A run on a device that is current. */
tally_status tally_gpu_run_entered(tally_gpu_plan *plan, const tally_gpu_run *run);

/* A run with an extra of the back end's own. */
tally_status tally_gpu_run_with(tally_gpu_plan *plan, const tally_args *args, void *stream, const void *extra);

/* ---- the interface of devices, but for pieces (gpu/pieces.h) ---- */

tally_status tally_gpu_plan_create(tally_device *device, const tally_computation *computation,
                                   const tally_gpu_calls *calls, tally_plan **plan);
void tally_gpu_plan_destroy(tally_plan *plan);
tally_status tally_gpu_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes);
tally_status tally_gpu_plan_run(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream);
/* The sizes are the run's extra. */
tally_status tally_gpu_plan_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes,
                                      tally_stream stream);
#endif
