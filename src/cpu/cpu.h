/* What the files of the CPU back end share: the device, the plan, and the parts of a run. */
#ifndef TALLY_CPU_CPU_H
#define TALLY_CPU_CPU_H

#include "core/backend.h"
#include "core/run.h"
#include "cpu/kernels/exact.h"
#include "cpu/kernels/kernels.h"
#include "cpu/pool.h"

/* ---- tuning: each with what chose it ---- */

enum {
    /* What a task reads at least: a task costs about 20 ns besides, 32 KiB are read in 200. */
    TALLY_CPU_TASK_BYTES = 32 * 1024,
    /* A reduction of less input is left to the caller: two threads take 0.6 to 1 us to meet and part, in which one
     * reads 128 KiB. (64 KiB of f32: 0.42 us with one, 1.26 with two.) */
    TALLY_CPU_ALONE_BYTES = 128 * 1024,
    /* Most tasks of a reduction: enough to even out a disturbed core, few enough to combine in no time. */
    TALLY_CPU_MOST_TASKS = 256,
    /* A scan reads each chunk twice, the second time from the second cache: an eighth of 2 MiB leaves room for the
     * output. */
    TALLY_CPU_SCAN_BYTES = 256 * 1024,
    /* Scans with more output than this store past the caches. */
    TALLY_CPU_STREAM_BYTES = 8 * 1024 * 1024,
    /* Rows of so few elements are scanned many at a call. */
    TALLY_CPU_SHORT_ROW = 256,
    /* Results that are lowered at a time. */
    TALLY_CPU_BATCH = 256,
    /* Bytes of accumulators that a tile of columns may have: half of a first cache. */
    TALLY_CPU_TILE_BYTES = 16 * 1024,
    /* Elements of a chunk of keys; positions of heads in it take 64 KiB. */
    TALLY_CPU_KEYS_CHUNK = 16 * 1024,
    /* The largest accumulator, that of exact mode. */
    TALLY_CPU_ACC_MOST = 1344
};

typedef struct tally_cpu_device {
    tally_device base;
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    tally_pool *pool;
    unsigned threads;
} tally_cpu_device;

/* How many elements are in the accumulators that are lowered: 'each' if it is not NULL, else first + i * step. */
typedef struct tally_counts {
    const uint64_t *each;
    uint64_t first;
    int64_t step;
} tally_counts;

typedef struct tally_cpu_plan tally_cpu_plan;

/* out[i] = lower(acc[i]) for i < count */
typedef void tally_cpu_lower(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out);

struct tally_cpu_plan {
    tally_plan base;
    tally_cpu_device *device;
    const tally_cpu_kernels *kernels;
    tally_cpu_context context;
    const tally_cpu_direct_scan *direct; /* NULL where prefixes have to be lowered */
    tally_cpu_lower *lower;
    size_t acc_bytes;

    /* Grown when a run needs more than any before. */
    void *scratch; /* shared by the threads of a run */
    size_t scratch_bytes;
    void *worker_scratch; /* one piece of worker_bytes a thread */
    size_t worker_bytes;

    /* tally_push: what came so far. */
    tally_pieces input;
    void *pieces; /* an accumulator a column */
};

/* The level that spec and environment choose; TALLY_NO_DEVICE if the processor or the build lacks it. name NULL: the
 * best. */
tally_status tally_cpu_level_choose(const char *name, const tally_cpu_level **level, const tally_exact_kernels **exact);

/* Chooses plan->lower. */
void tally_cpu_lower_choose(tally_cpu_plan *plan);

/* acc = lift of an output element, for initial values. */
void tally_cpu_raise(const tally_cpu_plan *plan, const void *element, void *acc);

/* The kernels of a user's operator, and those of exact mode with their way out. */
extern const tally_cpu_kernels tally_cpu_user_kernels;
extern const tally_cpu_kernels tally_cpu_exact_mode_kernels;
tally_cpu_lower tally_cpu_exact_lower;
void tally_cpu_exact_context(tally_cpu_plan *plan);

/* Scratch of at least this many bytes, aligned to 64, with no particular content. */
tally_status tally_cpu_scratch(tally_cpu_plan *plan, size_t bytes, void **scratch);
/* The same for each thread; tally_cpu_worker gives a thread's. */
tally_status tally_cpu_worker_scratch(tally_cpu_plan *plan, size_t bytes);

static inline void *tally_cpu_worker(const tally_cpu_plan *plan, unsigned worker) {
    return (char *)plan->worker_scratch + worker * plan->worker_bytes;
}

/* Address arithmetic on packed elements of a size known at run time. */
static inline const void *tally_at(const void *base, uint64_t index, size_t bytes) {
    return base ? (const char *)base + index * bytes : NULL;
}
static inline void *tally_at_mutable(void *base, uint64_t index, size_t bytes) {
    return (char *)base + index * bytes;
}

/* ---- the drivers: each runs one grouping and form ---- */

/* Reductions over all values and along an axis. With 'into', results are combined into outer x inner accumulators
 * there, instead of lowered to args->out; 'index' is the first row's number. */
tally_status tally_cpu_reduce(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *into);
/* Scans of the same. With 'carry' (outer 1), inner accumulators there are what came before, and become what came. */
tally_status tally_cpu_scan_axis(tally_cpu_plan *plan, const tally_args *args, uint64_t index, void *carry);
tally_status tally_cpu_segments(tally_cpu_plan *plan, const tally_args *args);
tally_status tally_cpu_keys(tally_cpu_plan *plan, const tally_args *args);
/* ---- what the drivers share ---- */

/* Bytes of worker scratch that tally_cpu_scan_run and tally_cpu_fold_run use from the start of it. */
size_t tally_cpu_run_bytes(const tally_cpu_plan *plan);

/* Scans n neighbouring elements of a group of 'length' elements, of which they begin with number 'index'. *acc is the
 * value before them, and is clobbered. 'stream' asks for stores past the caches. */
void tally_cpu_scan_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        uint64_t length, bool stream, unsigned worker, void *acc, void *out);

/* *acc = *acc combined with those elements, in the direction of the scan. */
void tally_cpu_fold_run(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                        unsigned worker, void *acc);

/* *acc = the value before the first element of a group: the identity or the initial value. */
void tally_cpu_start(const tally_cpu_plan *plan, const void *initial, void *acc);

/* acc[0 .. inner - 1] = the columns of 'rows' packed rows; acc has room for tally_cpu_columns_room accumulators. */
uint64_t tally_cpu_columns_room(const tally_cpu_plan *plan, uint64_t inner);
void tally_cpu_fold_whole_rows(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t inner,
                               uint64_t index, void *acc);

/* Offsets of any index type as numbers. A negative one becomes a very large one. */
void tally_cpu_read_offsets(const void *offsets, tally_dtype type, uint64_t first, size_t count, uint64_t *numbers);
/* The same, where they lie if that is as numbers already, else in 'room'. */
static inline const uint64_t *tally_cpu_see_offsets(const void *offsets, tally_dtype type, uint64_t first, size_t count,
                                                    uint64_t *room) {
    const void *at = tally_at(offsets, first, sizeof *room);
    if ((type == TALLY_I64 || type == TALLY_U64) && (uintptr_t)at % sizeof *room == 0)
        return at;
    tally_cpu_read_offsets(offsets, type, first, count, room);
    return room;
}

#endif
