/* What the files of the CPU back end share: the device, the plan, and the parts of a run. */
#ifndef TALLY_CPU_CPU_H
#define TALLY_CPU_CPU_H

#include "core/backend.h"
#include "core/run.h"
#include "cpu/kernels/exact.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/scans.h"
#include "cpu/pool.h"

/* ---- tuning: each with what chose it ---- */

enum {
    /* The least that a task reads: a task costs about 20 ns besides, and 32 KiB are read in 200. */
    TALLY_CPU_TASK_BYTES = 32 * 1024,
    /* A reduction of less input runs on the caller alone: two threads take 0.6 to 1 us to meet and part, in which one
     * thread reads 128 KiB. (64 KiB of f32: 0.42 us with one, 1.26 with two.) */
    TALLY_CPU_ALONE_BYTES = 128 * 1024,
    /* Most tasks of a reduction: enough to even out a disturbed core, few enough to combine in no time. */
    TALLY_CPU_MOST_TASKS = 256,
    /* A scan reads each chunk twice, the second time from the second-level cache: an eighth of 2 MiB leaves room for
     * the output. */
    TALLY_CPU_SCAN_BYTES = 256 * 1024,
    /* Scans with more output than this store past the caches. */
    TALLY_CPU_STREAM_BYTES = 8 * 1024 * 1024,
    /* Up to this many elements, one call scans many rows. */
    TALLY_CPU_SHORT_ROW = 256,
    /* Results that are lowered at a time; their accumulators stay in the first-level cache. */
    TALLY_CPU_BATCH = 256,
    /* Most bytes of accumulators of a tile of columns: half of a first-level cache. */
    TALLY_CPU_TILE_BYTES = 16 * 1024,
    /* Elements that are lifted, scanned and lowered at a time. Three arrays of 8 bytes fit in a first-level cache. */
    TALLY_CPU_LIFTED_BLOCK = 1024,
    /* And columns of such a block, if they are not all that there are. */
    TALLY_CPU_LIFTED_COLUMNS = 512,
    TALLY_CPU_LIFTED_TRUTHS = 4096, /* if they are bytes */
    /* Groups that are shorter than this on average are scanned together, with marks where they begin. */
    TALLY_CPU_SHORT_GROUP = 64,
    /* Elements of a chunk of keys; positions of heads in it take 64 KiB. */
    TALLY_CPU_KEYS_CHUNK = 16 * 1024,
    /* The largest accumulator, that of exact moments, and their number of elements. */
    TALLY_CPU_ACC_MOST = 2560
};

typedef struct tally_cpu_device {
    tally_device base;
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    const tally_cpu_scans *scans;
    tally_pool *pool;
    unsigned threads;
} tally_cpu_device;

/* What the scans of numbers make together. */
typedef enum tally_cpu_parts {
    TALLY_CPU_NUMBER,   /* one scan: the accumulator is a number */
    TALLY_CPU_EXTREMES, /* minmax: the second scan is of the same numbers */
    TALLY_CPU_PLACE     /* argmin: the second scan is of the places where the first one changes, of i64 */
} tally_cpu_parts;

/* How lifted elements are scanned (lifted.c). */
typedef struct tally_cpu_lifted {
    tally_cpu_parts parts;
    const tally_cpu_direct_scan *scan; /* of numbers of 'type'; NULL if there is none for the accumulator */
    const tally_cpu_direct_scan *second;
    tally_cpu_tree tree, second_tree;   /* reductions of short groups, where 'fold' is not NULL */
    tally_cpu_first_equal *first_equal; /* argmin, instead of a second one */
    tally_dtype type;                   /* the accumulator's, or that of 32 bits in which narrower ones are scanned */
    size_t bytes, second_bytes;         /* of a number of the first and the second scan */
    tally_dtype carry;                  /* of the values that the scan starts from: a sum of 32 bits has one of 64 */
    bool as_they_are;                   /* elements are scanned without being lifted, and prefixes are the results */
    bool by_conversion;                 /* elements are lifted by converting their type */
    bool truths; /* elements are lifted to whether they are not 0, and results are truth values; accumulators count */
    bool magnitudes;  /* of f32 and f64: their bits without the sign, which are in order as integers, NaNs last */
    bool counts;      /* what is not 0 is counted by bytes in runs and groups (number.c) */
    bool by_order;    /* floats of 16 bits are lifted to integers of the same order, which are scanned */
    bool folds_carry; /* what a block leaves to the next one is folded: it has more digits than the prefixes */
    tally_cpu_running_sums *sums; /* from elements to results at once (running_sums.c), or NULL; likewise: */
    tally_cpu_sums_options sums_options;
    uint64_t least_summed; /* elements */
} tally_cpu_lifted;

/* Logsumexps of integers that are long enough for look-ups (integer_exps.h). */
typedef struct tally_cpu_exps {
    const tally_cpu_kernels *others;  /* for all else */
    const tally_cpu_kernels *maximum; /* of the integers */
    tally_cpu_integer_exps *sum;
    tally_cpu_integer_exps_of_columns *sum_columns; /* or NULL */
    tally_cpu_convert *to_double;
    size_t least; /* elements */
    tally_cpu_kernels kernels;
} tally_cpu_exps;

typedef struct tally_cpu_plan tally_cpu_plan;

/* An accumulator with its number of elements. The operator's own follows. */
typedef struct tally_cpu_state {
    _Alignas(16) uint64_t elements;
} tally_cpu_state;

/* out[i] = lower(acc[i]) for i < count */
typedef void tally_cpu_lower(const tally_cpu_plan *plan, const void *acc, size_t count, tally_counts counts, void *out);

struct tally_cpu_plan {
    tally_plan base;
    tally_cpu_device *device;
    const tally_cpu_kernels *kernels;
    tally_cpu_kernels converted; /* 'kernels' where elements are converted first */
    tally_cpu_exps exps;
    tally_cpu_context context;
    const tally_cpu_direct_scan *direct; /* NULL where prefixes have to be lowered */
    tally_cpu_lifted lifted;             /* scans of accumulators that are a number */
    tally_cpu_lower *lower;
    tally_cpu_lower *lower_elements; /* of groups with elements, where 'lower' has a result for others (skipping.c) */
    size_t acc_bytes;

    /* Plans of words, and plans that count elements, have one: from all elements to values, for one thread. */
    tally_cpu_plan *states;
    bool has_empty; /* of 'states': a state without elements was lowered */

    /* Grown when a run needs more than any before. */
    void *scratch; /* shared by the threads of a run */
    size_t scratch_bytes;
    void *sparse; /* as 'scratch', for reductions of few elements by labels */
    size_t sparse_bytes;
    void *worker_scratch; /* worker_bytes for each thread */
    size_t worker_bytes;
    size_t staging_bytes; /* at the start of it, where input is copied without NaNs (skipping.h) */

    /* Input in pieces: how much has come so far, and its accumulator for each column. */
    tally_pieces input;
    void *pieces;
    bool resumed; /* from words; no piece has come since */
};

/* Whether a reduction takes less time than memory needs for its input, or not much more. */
static inline bool tally_cpu_reads_fast(const tally_computation *c) {
    return !c->exact && c->monoid != TALLY_MONOID_user && c->monoid != TALLY_MONOID_logsumexp;
}

/* Address arithmetic on packed elements of a size known at run time. */
static inline const void *tally_at(const void *base, uint64_t index, size_t bytes) {
    return base ? (const char *)base + index * bytes : NULL;
}
static inline void *tally_at_mutable(void *base, uint64_t index, size_t bytes) {
    return (char *)base + index * bytes;
}

/* State i of a plan whose accumulators have their number of elements; and the operator's own accumulator in it. */
static inline tally_cpu_state *tally_state_at(const tally_cpu_context *context, void *acc, size_t i) {
    return tally_at_mutable(acc, i, context->acc_stride);
}
static inline void *tally_state_acc(tally_cpu_state *state) {
    return state + 1;
}

#endif
