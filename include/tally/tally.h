/* tally: reductions and prefix scans on any processor.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * This header is the manual. It is plain C11 (and C++17). Programs that use CUDA or Vulkan themselves also need
 * tally/cuda.h or tally/vulkan.h. Programs whose input lies on many ranks also need tally/mpi.h, tally/nccl.h or
 * tally/ranks.h.
 *
 *   1. Names           status, data types, operators, forms, groupings, modes
 *   2. Simple layer    host memory, the CPU, one call
 *   3. Devices         open, describe, allocate, copy
 *   4. Plans           describe a computation once, run it many times
 *   5. Pieces          inputs that arrive in parts or do not fit in memory
 *   6. Accumulators    partial results that travel between processes and machines
 *   7. Words           partial results as int64s, which MPI, NCCL and others combine
 *   8. Errors          what went wrong, where, and what to do
 *
 * Rules that hold everywhere
 *   - A call that can fail returns a tally_status. If it is not TALLY_OK, tally_last_error() says why and the outputs
 *     are untouched. There are three exceptions: TALLY_CHECK_WHILE_RUNNING, tally_push, and runs over ranks.
 *   - Outputs come last. Every destroy, close and free accepts NULL.
 *   - Any number of threads may use a device at once. Only one thread at a time may use a plan or an accumulator.
 *   - The library prints nothing, starts no thread before the first call that needs one, and leaves the caller's
 *     floating-point environment as it found it. Its threads block signals.
 *   - After fork, a child may use the simple layer and the CPU's devices and plans, which start new threads there. Only
 *     the parent may use a GPU's devices.
 *   - Pointers to data may be misaligned. Sizes are in elements unless the name says bytes.
 *   - A call on the CPU takes at most 256 KiB of the calling thread's stack.
 *   - Exact min, max and minmax are the minimum and maximum of IEEE 754-2019, with -0 below +0. In fast mode the sign
 *     of a zero that is a minimum or maximum may depend on the device.
 *   - A NaN of exact mode has no sign and no payload; nor has a NaN that is a mean, norm2, var, std, skewness, kurtosis
 *     or logsumexp. Its bits are 0x7e00 (f16), 0x7fc0 (bf16), 0x7fc00000 (f32), 0x7ff8000000000000 (f64).
 *   - Where this manual is silent, results are NumPy's: NaN propagates through min and max, argmin takes the first of
 *     equals, the sum of no elements is 0, and the minimum of no elements is an error. 'Nothing' below means no
 *     elements. */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0

#if defined(TALLY_STATIC) || !defined(__GNUC__)
#define TALLY_API
#else
#define TALLY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- 1. Names ----- */

typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_INVALID_ARGUMENT = 1, /* a NULL, a name, a size or a combination that no device could accept */
    TALLY_UNSUPPORTED = 2,      /* this device or operator does not do it; the message says why */
    TALLY_OUT_OF_MEMORY = 3,    /* the device stays usable */
    TALLY_OUTPUT_TOO_SMALL = 4, /* the message gives the size that is needed */
    TALLY_EMPTY = 5,            /* a minimum, maximum, argmin, argmax or minmax of nothing */
    TALLY_BAD_OFFSETS = 6,      /* offsets that decrease or pass the end of the values */
    TALLY_BAD_STATE = 7,        /* a saved accumulator, or words, damaged or of another kind or version */
    TALLY_NO_DEVICE = 8,        /* no such back end, device or instruction set on this machine */
    TALLY_DEVICE_FAILED = 9,    /* the device or its driver reported a fault */
    TALLY_BAD_LABELS = 10,      /* a label outside of 0 .. groups - 1 */
    TALLY_STATUS_COUNT
} tally_status;

/* Element types. f16 is IEEE 754 binary16 and bf16 the upper half of binary32, both passed as uint16_t. */
typedef enum tally_dtype {
    TALLY_DEFAULT = 0, /* in a descriptor: the type that the tables in docs/guide.md give */
    TALLY_I8,
    TALLY_I16,
    TALLY_I32,
    TALLY_I64,
    TALLY_U8,
    TALLY_U16,
    TALLY_U32,
    TALLY_U64,
    TALLY_F16,
    TALLY_BF16,
    TALLY_F32,
    TALLY_F64,
    TALLY_DTYPE_COUNT
} tally_dtype;

/* Operators. 'out' is the default output type; integers accumulate in 64 bits and wrap. */
typedef enum tally_op {
    TALLY_SUM = 0,       /* out: i64 or u64 for integers, else the input's type; of nothing 0 */
    TALLY_PROD,          /* likewise; of nothing 1 */
    TALLY_MIN,           /* out: the input's type; of nothing TALLY_EMPTY */
    TALLY_MAX,           /* likewise */
    TALLY_ARGMIN,        /* out: i64, the index of the first minimum (the first NaN, if there is one) */
    TALLY_ARGMAX,        /* likewise for the maximum */
    TALLY_MINMAX,        /* out: the input's type, two elements per result: minimum, maximum */
    TALLY_ANY,           /* out: u8, 1 if any element is not zero (NaN is not zero); of nothing 0 */
    TALLY_ALL,           /* out: u8, 1 if no element is zero; of nothing 1 */
    TALLY_COUNT_NONZERO, /* out: i64 */
    TALLY_BAND,          /* bitwise and, integers only; out: the input's type; of nothing all ones */
    TALLY_BOR,           /* bitwise or, likewise; of nothing 0 */
    TALLY_BXOR,          /* bitwise exclusive or, likewise; of nothing 0 */
    TALLY_SUMSQ,         /* sum of squares; out as TALLY_SUM */
    TALLY_NORM1,         /* sum of absolute values; out as TALLY_SUM, u64 for integers */
    TALLY_NORM2,         /* square root of the sum of squares; out: f64 for integers, else the input's type */
    TALLY_NORM_INF,      /* largest absolute value; out: the input's type, unsigned for integers; of nothing 0 */
    TALLY_MEAN,          /* out: f64 for integers, else the input's type; of nothing NaN */
    TALLY_VAR,           /* variance with ddof of the descriptor; out as TALLY_MEAN; NaN when n <= ddof */
    TALLY_STD,           /* square root of TALLY_VAR */
    TALLY_DOT,           /* sum of x * y, two inputs; out as TALLY_SUM */
    TALLY_LOGSUMEXP,     /* log of the sum of exp(x), without overflow; out as TALLY_MEAN; of nothing -inf */
    TALLY_SKEWNESS,      /* third moment over std^3; ddof 0: biased, else unbiased; NaN if all are equal; out as MEAN */
    TALLY_KURTOSIS,      /* fourth moment over std^4, less 3 (Fisher), as SciPy's kurtosis; otherwise likewise */
    TALLY_USER,          /* the descriptor's own monoid */
    TALLY_OP_COUNT
} tally_op;

typedef enum tally_form {
    TALLY_REDUCE = 0,     /* one result per group */
    TALLY_INCLUSIVE_SCAN, /* out[i] combines the group's elements up to and including i */
    TALLY_EXCLUSIVE_SCAN, /* out[i] combines those before i; a group's first result is the identity (or 'initial') */
    TALLY_FORM_COUNT
} tally_form;

/* What is combined with what. */
typedef enum tally_grouping {
    TALLY_ALL_VALUES = 0, /* everything: one group */
    TALLY_AXIS,           /* an array of outer x extent x inner elements, in C order, along its middle axis */
    TALLY_SEGMENTS,       /* group i is elements offsets[i] .. offsets[i + 1] - 1; may be empty, and of any length */
    TALLY_KEYS,           /* a group is a run of equal neighbouring keys */
    TALLY_LABELS,         /* group g is the elements whose label is g, in any places; may be empty; REDUCE only */
    TALLY_GROUPING_COUNT
} tally_grouping;

typedef enum tally_mode {
    TALLY_FAST = 0, /* the same bits every run on the same device, for any number of threads */
    TALLY_EXACT,    /* rounded once from the infinitely precise result: the same bits on every device. Each result of a
                       scan is rounded once from its own exact prefix. Integer sums wrap as in TALLY_FAST, but the sums
                       inside a mean, norm2, var or std of integers do not */
    TALLY_MODE_COUNT
} tally_mode;

/* A name is the enumerator in lower case without its prefix: "sum", "count_nonzero", "bf16", "axis", "inclusive_scan".
 * The result is NULL for a value that is not an enumerator. The strings are static. */
TALLY_API const char *tally_op_name(tally_op op);
TALLY_API const char *tally_dtype_name(tally_dtype dtype);
TALLY_API const char *tally_form_name(tally_form form);
TALLY_API const char *tally_grouping_name(tally_grouping grouping);
TALLY_API const char *tally_mode_name(tally_mode mode);
TALLY_API const char *tally_op_summary(tally_op op); /* one line for people */

/* The value of a name. For an unknown name the status is TALLY_INVALID_ARGUMENT, and the message gives the nearest
 * known name, if there is a near one. NumPy's names ("float32") work for types. */
TALLY_API tally_status tally_op_from_name(const char *name, tally_op *op);
TALLY_API tally_status tally_dtype_from_name(const char *name, tally_dtype *dtype);

/* The default output type of an operator. */
typedef enum tally_result_rule {
    TALLY_RESULT_SAME = 0,      /* the input's type */
    TALLY_RESULT_WIDE,          /* i64 or u64 for integers, f64 if desc.acc is f64; for floats the input's type */
    TALLY_RESULT_WIDE_UNSIGNED, /* likewise, but u64 for all integers */
    TALLY_RESULT_UNSIGNED,      /* the input's type, unsigned for integers */
    TALLY_RESULT_FLOAT,         /* f64 for integers, else the input's type */
    TALLY_RESULT_INDEX,         /* i64 */
    TALLY_RESULT_FLAG           /* u8 */
} tally_result_rule;

/* What TALLY_EXACT does for an operator. */
typedef enum tally_exactness {
    TALLY_EXACT_ALWAYS = 0, /* nothing: the operator never rounds */
    TALLY_EXACT_ROUNDED,    /* rounds the infinitely precise result once. Scans of floats are TALLY_UNSUPPORTED, except
                               those of SUM */
    TALLY_EXACT_INTEGERS,   /* nothing for integers, which never round; floats are TALLY_UNSUPPORTED */
    TALLY_EXACT_NEVER       /* exact mode is TALLY_UNSUPPORTED */
} tally_exactness;

/* What an operator is like, the same on every device. The ints that answer a question are 0 or 1. */
typedef struct tally_traits {
    size_t struct_size; /* set by the caller to sizeof(tally_traits) before the call */
    tally_result_rule result;
    tally_exactness exact;
    int inputs;              /* 2 for DOT */
    int components;          /* numbers in an accumulator */
    int elements_per_result; /* 2 for MINMAX */
    int integers_only;
    int empty_is_error;     /* a reduction of nothing gives TALLY_EMPTY */
    int takes_initial;      /* scans take args.initial */
    int takes_ddof;         /* the result depends on desc.ddof */
    int has_exclusive_scan; /* 0: the operator has no value for the elements before the first */
    int has_index;          /* the result is an element's index in its group */
} tally_traits;

/* TALLY_UNSUPPORTED for USER; TALLY_INVALID_ARGUMENT for an unknown operator, NULL and a wrong struct_size. */
TALLY_API tally_status tally_op_traits(tally_op op, tally_traits *traits);

/* What an element type is like. */
typedef struct tally_type_traits {
    size_t struct_size; /* set by the caller to sizeof(tally_type_traits) before the call */
    size_t bytes;
    int is_float;  /* 0 or 1 */
    int is_signed; /* 1 for floats */
    int precision; /* floats: bits of the significand, with the leading one; the rest are sign and exponent, as in IEEE
                      754. Integers: 0 */
    const char *numpy_name; /* "float32" */
    const char *npy_code;   /* in the header of NumPy's files, "f4"; "V2" for bf16, which NumPy does not have */
} tally_type_traits;

/* TALLY_INVALID_ARGUMENT for TALLY_DEFAULT, values that are not a type, NULL and a wrong struct_size. The strings are
 * static. */
TALLY_API tally_status tally_dtype_traits(tally_dtype dtype, tally_type_traits *traits);

TALLY_API size_t tally_dtype_size(tally_dtype dtype); /* bytes; 0 for TALLY_DEFAULT and other values */

/* "0.1.0": the version of the library that runs. */
TALLY_API const char *tally_version(void);

/* ------------------------------------------------------------------------------------ 2. Simple layer ----- */

/* These calls work on host memory, with all threads of the CPU. Any thread may call them. n may be 0 where the operator
 * has a value for it; x may then be NULL. The typed calls are the generic ones with the types filled in. The generic
 * calls take every operator except DOT, which has typed calls, and USER, which needs a plan.
 *
 * tally_reduce: out receives one result of the operator's default output type (minmax: two).
 * tally_scan:   inclusive; out has n results of the operator's default output type (minmax: 2 n elements) and may be x
 *               itself when the two types have the same size.
 *
 * Errors: TALLY_EMPTY for a minimum and the like of nothing; TALLY_UNSUPPORTED if the operator does not take the type
 * or mode; TALLY_INVALID_ARGUMENT for NULL, an unknown operator or type, DOT and USER in the generic calls, and any
 * other overlap of out with x; TALLY_OUT_OF_MEMORY; the errors of tally_open("cpu"). */
TALLY_API tally_status tally_reduce(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out);
TALLY_API tally_status tally_reduce_exact(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out);
TALLY_API tally_status tally_scan(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out);

TALLY_API tally_status tally_sum_i32(const int32_t *x, size_t n, int64_t *sum);
TALLY_API tally_status tally_sum_i64(const int64_t *x, size_t n, int64_t *sum);
TALLY_API tally_status tally_sum_f32(const float *x, size_t n, float *sum);
TALLY_API tally_status tally_sum_f64(const double *x, size_t n, double *sum);

/* Correctly rounded: the same bits for any order of the elements, on any machine. */
TALLY_API tally_status tally_sum_exact_f32(const float *x, size_t n, float *sum);
TALLY_API tally_status tally_sum_exact_f64(const double *x, size_t n, double *sum);

TALLY_API tally_status tally_min_i32(const int32_t *x, size_t n, int32_t *min);
TALLY_API tally_status tally_min_i64(const int64_t *x, size_t n, int64_t *min);
TALLY_API tally_status tally_min_f32(const float *x, size_t n, float *min);
TALLY_API tally_status tally_min_f64(const double *x, size_t n, double *min);
TALLY_API tally_status tally_max_i32(const int32_t *x, size_t n, int32_t *max);
TALLY_API tally_status tally_max_i64(const int64_t *x, size_t n, int64_t *max);
TALLY_API tally_status tally_max_f32(const float *x, size_t n, float *max);
TALLY_API tally_status tally_max_f64(const double *x, size_t n, double *max);

TALLY_API tally_status tally_mean_f32(const float *x, size_t n, float *mean);
TALLY_API tally_status tally_mean_f64(const double *x, size_t n, double *mean);

TALLY_API tally_status tally_dot_f32(const float *x, const float *y, size_t n, float *dot);
TALLY_API tally_status tally_dot_f64(const double *x, const double *y, size_t n, double *dot);

/* Running totals: out[i] = x[0] + ... + x[i]; out has n elements and may be x. */
TALLY_API tally_status tally_cumsum_i64(const int64_t *x, size_t n, int64_t *out);
TALLY_API tally_status tally_cumsum_f32(const float *x, size_t n, float *out);
TALLY_API tally_status tally_cumsum_f64(const double *x, size_t n, double *out);

/* ----------------------------------------------------------------------------------------- 3. Devices ----- */

typedef struct tally_device tally_device;

/* Opens a device by its spec:
 *
 *   auto              the first of these that opens: cuda:0; vulkan:0, if it is a GPU; cpu
 *   cuda, cuda:1      an NVIDIA GPU by its number; cuda is cuda:0 (more in tally/cuda.h)
 *   cuda:0,1  cuda:*  several NVIDIA GPUs, or all, as one device
 *   vulkan, vulkan:1  a Vulkan device by its number, GPUs first; vulkan is vulkan:0 (more in tally/vulkan.h)
 *   cpu               every core that this process may run on, with the processor's best instruction set
 *   cpu:avx2          this instruction set or an error; also baseline, avx512
 *   cpu:threads=4     this number of threads; may follow an instruction set: cpu:avx2:threads=4
 *
 * The environment fills in what a spec leaves open: TALLY_CPU (an instruction set), TALLY_THREADS. Errors:
 * TALLY_NO_DEVICE if the machine has no such device or lacks a library that the device needs; TALLY_INVALID_ARGUMENT
 * for a malformed spec; TALLY_OUT_OF_MEMORY. Destroy a device's plans before you close it. */
TALLY_API tally_status tally_open(const char *spec, tally_device **device);
TALLY_API void tally_close(tally_device *device);

typedef struct tally_device_info {
    size_t struct_size;    /* set by the caller to sizeof(tally_device_info) before the call */
    char spec[64];         /* what to give to tally_open */
    char name[128];        /* for people */
    char detail[128];      /* instruction set, threads; of a GPU its compute capability and driver */
    uint64_t memory_bytes; /* physical memory of the host or the GPU; 0 if unknown */
} tally_device_info;

/* tally_device_describe describes an open device. tally_device_at describes device number 'index' of this machine
 * without opening it, counted over all back ends from 0 (TALLY_NO_DEVICE past the last). */
TALLY_API tally_status tally_device_describe(const tally_device *device, tally_device_info *info);
TALLY_API tally_status tally_device_at(size_t index, tally_device_info *info);

/* Allocates memory of the device. On the CPU this is host memory aligned to 64 bytes. On a GPU it is the GPU's own
 * memory, which the program cannot read directly; a program for any device allocates here and copies. Do not free
 * memory that a run still uses. tally_copy is synchronous; each side may be device memory or host memory. 0 bytes are
 * allowed. TALLY_OUT_OF_MEMORY if there is too little. */
TALLY_API tally_status tally_alloc(tally_device *device, size_t bytes, void **memory);
TALLY_API void tally_free(tally_device *device, void *memory);
TALLY_API tally_status tally_copy(tally_device *device, void *to, const void *from, size_t bytes);

/* ------------------------------------------------------------------------------------------- 4. Plans ----- */

/* A user's own operator: a monoid over accumulators of acc_bytes bytes, with a way in and a way out. combine must be
 * associative and identity neutral for it. combine need not commute, because tally never reorders elements (a reverse
 * scan combines them in the order in which it meets them). If it commutes, set 'commutes': tally is then faster.
 * 'index' counts elements from the group's first (LABELS: from x's).
 *
 * The operator is given as five texts, which every device takes, or as four functions, which the CPU calls for each
 * element. If both are given, the CPU calls the functions and GPUs compile the texts. The texts are in a subset of C
 * that tally_plan(3) describes. The functions may be called from several threads at once and see accumulators aligned
 * to 16 bytes. What is not given is NULL. */
typedef struct tally_user_op {
    size_t struct_size;                                                             /* sizeof(tally_user_op) */
    const char *name;                                                               /* for messages; may be NULL */
    size_t acc_bytes;                                                               /* 1 to 256 */
    void (*identity)(void *context, void *acc);                                     /* *acc = identity */
    void (*lift)(void *context, const void *x, uint64_t index, void *acc);          /* *acc = lift(*x) */
    void (*combine)(void *context, const void *left, const void *right, void *acc); /* acc may be left or right */
    void (*lower)(void *context, const void *acc, uint64_t count, void *out);       /* count: elements in acc */
    void *context;
    int commutes;
    const char *acc_source;      /* "struct acc_t { ... };", and functions that the others call */
    const char *identity_source; /* expressions over x, index, left, right, acc, count */
    const char *lift_source;
    const char *combine_source;
    const char *lower_source;
} tally_user_op;

enum {
    /* SEGMENTS: check offsets while running instead of in a pass before, where this is possible and faster. Nothing is
     * read or written out of bounds, but when TALLY_BAD_OFFSETS is returned, outputs may already have been written. */
    TALLY_CHECK_WHILE_RUNNING = 1u << 0,
    /* Scans: from the last element of each group to the first. */
    TALLY_REVERSE = 1u << 1,
    /* LABELS: leave out the elements whose label is outside of 0 .. groups - 1, such as -1. Without it they are
     * TALLY_BAD_LABELS. */
    TALLY_SKIP_BAD_LABELS = 1u << 2,
    /* Floats: leave out NaNs, as NumPy's nansum and nanvar do; DOT leaves out pairs with a NaN. NaNs do not count: a
     * mean divides by the number of the other elements, and var by that number less ddof. Indices still count all
     * elements. No result is TALLY_EMPTY. A group without other elements gives the operator's value of nothing or,
     * where that is an error, NaN (MIN, MAX, MINMAX) or the index -1 (ARGMIN, ARGMAX). In a scan, a NaN's result is the
     * value of the other elements so far, which starts from the identity, as NumPy's nancumsum does; exact scans treat
     * NaN as +0. COUNT_NONZERO without the flag, less COUNT_NONZERO with it, is the number of NaNs. The flag does
     * nothing for integers. TALLY_UNSUPPORTED for USER, whose lift sees NaNs, for the words of ARGMIN and ARGMAX, and
     * over ranks for scans; TALLY_INVALID_ARGUMENT with TALLY_WORDS_IN. tally_resume refuses plans with the flag. */
    TALLY_SKIP_NAN = 1u << 3,
    /* REDUCE: the elements of x, or the results, are states in words (see 7). */
    TALLY_WORDS_IN = 1u << 4,
    TALLY_WORDS_OUT = 1u << 5,
    /* A number is read from the device's memory when a run executes (tally_run_sized): the number of elements
     * (ALL_VALUES, KEYS, LABELS), the extent (AXIS) or the number of segments (SEGMENTS). */
    TALLY_SIZE_ON_DEVICE = 1u << 6
};

/* What to compute. Start from TALLY_DESC_INIT and set what differs. */
typedef struct tally_desc {
    size_t struct_size;
    tally_op op;
    tally_form form;
    tally_grouping grouping;
    tally_mode mode;
    tally_dtype in;    /* required */
    tally_dtype acc;   /* TALLY_DEFAULT; or, in fast mode, TALLY_F64 for operators that round (docs/guide.md) */
    tally_dtype out;   /* TALLY_DEFAULT, or a type that the result converts to (docs/guide.md) */
    tally_dtype index; /* the type of offsets (i32 i64 u32 u64), of keys (any) or of labels (i32 i64 u8 u16 u32).
                          TALLY_DEFAULT is i64 */
    unsigned flags;    /* of the enumeration above */
    int ddof;          /* at least 0. var, std: divide by n - ddof; skewness, kurtosis: unbiased if > 0; others: 0 */
    const tally_user_op *user; /* TALLY_USER: copied by tally_plan_create */
} tally_desc;

#define TALLY_DESC_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(tally_desc), TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, TALLY_DEFAULT, TALLY_DEFAULT,       \
            TALLY_DEFAULT, TALLY_DEFAULT, 0u, 0, NULL                                                                  \
    }

/* The size of the input. For ALL_VALUES only 'extent' counts. */
typedef struct tally_shape {
    uint64_t outer;  /* AXIS: the product of the dimensions before the axis */
    uint64_t extent; /* the axis' own length; all other groupings: the number of elements */
    uint64_t inner;  /* AXIS: the product of the dimensions after the axis */
    uint64_t groups; /* SEGMENTS: the number of segments; LABELS: the number of groups, at most 2^31 - 1 */
} tally_shape;

/* Where the data are. All pointers are to the device's memory, except count (host memory on every device). Results:
 *
 *   REDUCE ALL_VALUES    1
 *   REDUCE AXIS          outer x inner, in C order
 *   REDUCE SEGMENTS      groups
 *   REDUCE KEYS          one per run, in order; keys_out (may be NULL) receives the keys, count the number of runs
 *   REDUCE LABELS        groups; argmin and argmax give an element's index in x
 *   scans                one per element; elements in no segment keep what was in 'out'
 *
 * minmax writes two elements per result. out_bytes and keys_out_bytes are the sizes of the buffers. If a buffer is too
 * small for the runs of KEYS, the call returns TALLY_OUTPUT_TOO_SMALL, writes the number of runs to *count, and writes
 * nothing else. A scan may run in place (out == x) when input and output elements have the same size; other overlaps of
 * outputs with inputs are errors or undefined. */
typedef struct tally_args {
    size_t struct_size;
    tally_shape shape;
    const void *x;
    const void *y;       /* DOT: the second input, of the same type and shape */
    const void *offsets; /* SEGMENTS: groups + 1 offsets into x */
    const void *keys;    /* KEYS: one key per element; keys are equal when their bits are */
    const void *initial; /* scans: one output element that every group starts from, or NULL; for sum, prod, min, max,
                            band, bor, bxor. TALLY_UNSUPPORTED where the accumulator's type (desc.acc) does not hold
                            every value of the output's type: the maximum of u8 with an i64 to start from. An exact sum
                            of floats holds every value */
    void *out;
    size_t out_bytes;
    void *keys_out;
    size_t keys_out_bytes;
    uint64_t *count; /* REDUCE KEYS: the number of runs; may be NULL */
    void *workspace; /* of tally_plan_workspace bytes, or NULL: the plan has its own */
    size_t workspace_bytes;
    const void *labels; /* LABELS: one label per element */
} tally_args;

#define TALLY_ARGS_INIT                                                                                                \
    { sizeof(tally_args), {1, 0, 1, 0}, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, 0, NULL }

typedef struct tally_plan tally_plan;

/* A stream of the back end (a CUstream, a VkCommandBuffer); TALLY_SYNCHRONOUS returns when the result is there. The
 * CPU has no streams. */
typedef void *tally_stream;
#define TALLY_SYNCHRONOUS ((tally_stream)0)

/* Checks a descriptor and makes it ready for a device. A GPU may compile kernels here, and in a run. The plan copies
 * the descriptor and the user operator. The device must outlive the plan. TALLY_INVALID_ARGUMENT for a field with an
 * unknown value, and for a user operator's text that does not compile, with the compiler's message; TALLY_UNSUPPORTED
 * for a combination that the device does not have, with the reason; TALLY_OUT_OF_MEMORY; TALLY_DEVICE_FAILED. */
TALLY_API tally_status tally_plan_create(tally_device *device, const tally_desc *desc, tally_plan **plan);
TALLY_API void tally_plan_destroy(tally_plan *plan);

/* Asks whether tally_plan_create would accept a descriptor, or with device NULL whether any device could. Returns
 * TALLY_OK if so, else the status that tally_plan_create would return, with the reason in tally_last_error. No kernel
 * is compiled, so errors in a user operator's texts are not found. */
TALLY_API tally_status tally_supports(tally_device *device, const tally_desc *desc);

/* The descriptor with every default filled in (desc->user points into the plan), and the number of output elements per
 * result (2 for minmax). Either may be NULL. desc->struct_size is set by the caller before the call, as in
 * TALLY_DESC_INIT; TALLY_INVALID_ARGUMENT if it is wrong, and for a plan that is NULL. */
TALLY_API tally_status tally_plan_describe(const tally_plan *plan, tally_desc *desc, size_t *elements_per_result);

/* Bytes of workspace for runs of this shape; 0 when none is needed (always so on the CPU). A shape that no input can
 * have is TALLY_INVALID_ARGUMENT. */
TALLY_API tally_status tally_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes);

/* Runs a plan on its whole input.
 *
 * Errors: TALLY_INVALID_ARGUMENT for args that do not fit the plan; TALLY_OUTPUT_TOO_SMALL; TALLY_EMPTY for an empty
 * group where the operator has no value; TALLY_BAD_OFFSETS; TALLY_BAD_LABELS; TALLY_OUT_OF_MEMORY where the plan lacks
 * scratch memory; TALLY_DEVICE_FAILED. */
TALLY_API tally_status tally_run(tally_plan *plan, const tally_args *args, tally_stream stream);

/* What is read from, or written to, the device's memory when a run executes. */
typedef struct tally_sizes {
    size_t struct_size;     /* set by the caller to sizeof(tally_sizes) */
    const uint64_t *extent; /* the number of elements, or of rows of an AXIS, at most args.shape.extent; else NULL */
    uint32_t *status;       /* receives the run's tally_status, aligned to 4 bytes; or NULL */
    const uint64_t *groups; /* SEGMENTS: the number of segments, at most args.shape.groups; else NULL */
} tally_sizes;

/* Runs a plan with TALLY_SIZE_ON_DEVICE. An earlier kernel of the stream may still have to write the size. The host
 * does not wait for it, so a captured CUDA graph serves inputs of any size up to args.shape. Elements past the size are
 * neither read nor written; with SEGMENTS the elements end at the last segment's last offset. The work is cut for
 * args.shape, so fast results may differ in their last bits from those of tally_run, but they have the same bits every
 * run. An AXIS of the smaller extent lies in memory as for tally_run: its slabs are side by side. extent and groups are
 * aligned to 8 bytes.
 *
 * The outputs are untouched and *status is an error if the size is larger than args.shape's (TALLY_INVALID_ARGUMENT) or
 * is 0 where the operator has no value of nothing (TALLY_EMPTY). The same holds for TALLY_BAD_OFFSETS,
 * TALLY_BAD_LABELS, TALLY_EMPTY of a group and TALLY_OUTPUT_TOO_SMALL. Without a stream the call returns the error,
 * too. Other errors are those of tally_run. TALLY_INVALID_ARGUMENT for a plan without the flag; tally_run returns it
 * for a plan with the flag. Such plans take neither pieces nor words. LABELS have as many groups as args.shape says.
 * The CPU reads the size from its own memory. On CUDA a list of several GPUs runs such a plan on the first. On Vulkan
 * the host reads the size, so there is no stream. (tally_vulkan_record reads the number of ALL_VALUES from the device,
 * with a plan without the flag.) */
TALLY_API tally_status tally_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes,
                                       tally_stream stream);

/* ------------------------------------------------------------------------------------------ 5. Pieces ----- */

/* tally_push takes the next 'extent' elements (AXIS: rows of inner elements) of an input that comes in pieces, for
 * ALL_VALUES and for AXIS with outer = 1. A reduction's push uses x and y only, and tally_finish writes the result. A
 * scan's push also writes the piece's part of the output, and tally_finish only resets. Indices count from the
 * first piece. inner may not change between the pieces. 'initial' counts in the first piece only, also after
 * tally_resume. Pieces of a reverse scan come from the last to the first; on GPUs they pass through the host. Float
 * results of TALLY_FAST depend on where the pieces end; TALLY_EXACT results do not. If a push fails, the earlier pieces
 * still count. tally_finish leaves the plan ready for a new input; so does tally_reset, without a result. Errors are
 * those of tally_run, and TALLY_UNSUPPORTED for segments, keys and labels, which need their whole input at once, and
 * for reverse scans of argmin, argmax and USER. */
TALLY_API tally_status tally_push(tally_plan *plan, const tally_args *args);
TALLY_API tally_status tally_finish(tally_plan *plan, void *out, size_t out_bytes);
TALLY_API void tally_reset(tally_plan *plan);

/* Begins an input in pieces whose first part is already known as states in words (see 7): a state for each column of
 * the elements that came before (for a reverse scan, after). The states are of the same operator, mode, input and
 * accumulator type. A scan goes on where they end. So ranks can scan their parts of an array: each rank takes the state
 * of the parts before its own. words is in the device's memory and has 'columns' states: 1 for ALL_VALUES, inner for
 * AXIS. Pieces that were pushed before are dropped. On Vulkan the host takes the pieces that follow, except reductions
 * to exact sums of floats. TALLY_BAD_STATE for words that are refused, that stand for different numbers of elements, or
 * that stand for more than 2^54 f16 in an exact scan on CUDA. The plan is then as after tally_reset. */
TALLY_API tally_status tally_resume(tally_plan *plan, const int64_t *words, uint64_t columns);

/* ------------------------------------------------------------------------------------ 6. Accumulators ----- */

/* A partial result: add arrays on any thread or machine, send the saved bytes or the words (see 7) by any means, merge,
 * and ask for the value. tally_accumulator_create makes an accumulator of TALLY_EXACT. Its value is rounded once and
 * has the same bits however the input was split and merged. It takes every operator and type of exact mode.
 * tally_accumulator_create_for makes an accumulator of a descriptor's op, mode, in, acc, out and ddof. The other fields
 * must be as in TALLY_DESC_INIT, except that flags may be TALLY_SKIP_NAN (not for ARGMIN and ARGMAX): NaNs then do not
 * count as added, and a MIN of NaNs alone is TALLY_EMPTY. TALLY_FAST has every operator but USER. Fast sums of floats
 * and the like round on the way: merge them in the order of the parts for the same bits every time. Errors: those of
 * tally_plan_create. */
typedef struct tally_accumulator tally_accumulator;

TALLY_API tally_status tally_accumulator_create(tally_op op, tally_dtype in, tally_accumulator **accumulator);
TALLY_API tally_status tally_accumulator_create_for(const tally_desc *desc, tally_accumulator **accumulator);
TALLY_API void tally_accumulator_destroy(tally_accumulator *accumulator);

/* Adds n elements of host memory (y: the second input of DOT, else NULL). Runs on the calling thread. */
TALLY_API tally_status tally_accumulator_add(tally_accumulator *accumulator, const void *x, const void *y, size_t n);

/* Adds the elements of 'from' to 'into', as if they came after those of 'into'; argmin's index counts through both.
 * Both keep their operator. They must agree in the kind of state and in input type, else TALLY_INVALID_ARGUMENT. For
 * floats exact SUM and MEAN merge with each other, and so do exact SUMSQ, NORM2 and DOT. For every type VAR and STD of
 * one mode merge with each other, and so do ANY, ALL and COUNT_NONZERO. */
TALLY_API tally_status tally_accumulator_merge(tally_accumulator *into, const tally_accumulator *from);

/* The value of the accumulator's operator, converted once to the type 'out'. TALLY_DEFAULT is the output type of the
 * accumulator's descriptor, or else the operator's own. minmax gives two elements. TALLY_UNSUPPORTED for a float result
 * as an integer; TALLY_EMPTY for a minimum and the like of nothing. The accumulator does not change. */
TALLY_API tally_status tally_accumulator_value(const tally_accumulator *accumulator, tally_dtype out, void *value);

/* How many elements were added. */
TALLY_API uint64_t tally_accumulator_count(const tally_accumulator *accumulator);

/* The saved form has a version and a checksum. The same elements give the same bytes on every machine, in any order and
 * split. 'bytes' receives its size, at most TALLY_ACCUMULATOR_MAX_BYTES; a buffer that is too small gives
 * TALLY_OUTPUT_TOO_SMALL. Loading checks everything and makes a new accumulator, or returns TALLY_BAD_STATE. Format:
 * docs/accumulator-format.md. The exact SUM, MEAN, SUMSQ, NORM2 and DOT of floats and the exact MEAN and NORM2 of
 * integers have a saved form. Others travel as words: saving is TALLY_UNSUPPORTED, and tally_accumulator_saved_bytes
 * gives 0. */
#define TALLY_ACCUMULATOR_MAX_BYTES 2048
TALLY_API size_t tally_accumulator_saved_bytes(const tally_accumulator *accumulator);
TALLY_API tally_status tally_accumulator_save(const tally_accumulator *accumulator, void *buffer, size_t buffer_bytes,
                                              size_t *bytes);
TALLY_API tally_status tally_accumulator_load(const void *buffer, size_t bytes, tally_accumulator **accumulator);

/* ------------------------------------------------------------------------------------------- 7. Words ----- */

/* A state is what a reduction knows of the elements so far: a sum's digits, a minimum, a mean and the squares of the
 * deviations. In words it is an array of int64s that any engine can carry and, for most operators, combine: MPI, NCCL,
 * a database. The words of every back end are the same for the same state. docs/words.md describes each word.
 *
 *   desc.flags = TALLY_WORDS_OUT   a reduction whose results are states. tally_plan_describe gives the words of one as
 *                                  elements_per_result; desc.out is i64. Empty groups are no error: the state of no
 *                                  elements is a result like any other
 *   desc.flags = TALLY_WORDS_IN    a reduction whose elements are states of desc.op and desc.in: x has 'count' words
 *                                  for each, in the order of the elements that they stand for
 *   both                           states are combined to states
 *
 * So ranks that have parts of an array run a plan with WORDS_OUT. If the rule is ADD or MAX, an all-reduce of the words
 * as int64s gives the states of the whole array, and a plan with WORDS_IN gives the results. Otherwise gather the words
 * of 'ranks' parts of 'results' states and run, with WORDS_IN, an AXIS of 1 x ranks x results. TALLY_KEYS over gathered
 * states and keys joins runs that reach over several ranks.
 *
 * Combined states count as one sequence: with ORDERED, argmin's index counts from the first part's first element. Exact
 * results have the same bits for any parts, order and device. Words have room for 2^31 states and 2^64 elements.
 *
 * Both flags are for REDUCE, of every operator but USER, in every grouping. Three things are TALLY_UNSUPPORTED: argmin
 * and argmax by LABELS; on CUDA WORDS_IN by LABELS with a stream; on Vulkan runs with a command buffer. States that are
 * damaged, or of another operator, type or version, give TALLY_BAD_STATE, and the outputs are untouched. */
typedef enum tally_words_rule {
    TALLY_WORDS_ADD = 0, /* word by word, sums that may wrap, in any order */
    TALLY_WORDS_MAX,     /* word by word, the larger one, in any order */
    TALLY_WORDS_ORDERED, /* by a plan with WORDS_IN or tally_accumulator_add_words, neighbours first */
    TALLY_WORDS_RULE_COUNT
} tally_words_rule;

typedef struct tally_words_info {
    size_t struct_size; /* set by the caller to sizeof(tally_words_info) before the call */
    size_t count;       /* int64s of a state: exact sums of f32 17, of f64 74; exact dot of f64 140; min 4 */
    tally_words_rule rule;
    int64_t nothing; /* with ADD and MAX, words that are all this are a state of no elements */
} tally_words_info;

/* Describes the words of a descriptor's states; needs no device. Errors are those of tally_plan_create. */
TALLY_API tally_status tally_words_describe(const tally_desc *desc, tally_words_info *info);

/* tally_accumulator_words writes an accumulator's state in words. tally_accumulator_add_words adds the elements that
 * words stand for, as if they came next. words_bytes is the size of the caller's array. The state takes 8 x count
 * bytes, as tally_words_describe says for the accumulator's descriptor. Writing needs at least so many (else
 * TALLY_OUTPUT_TOO_SMALL), adding exactly so many (else TALLY_BAD_STATE). If adding fails, the accumulator does not
 * change. Words whose rule is MAX do not say how many elements they stand for; they count as one element. */
TALLY_API tally_status tally_accumulator_words(const tally_accumulator *accumulator, int64_t *words,
                                               size_t words_bytes);
TALLY_API tally_status tally_accumulator_add_words(tally_accumulator *accumulator, const int64_t *words,
                                                   size_t words_bytes);

/* ------------------------------------------------------------------------------------------ 8. Errors ----- */

/* The message of this thread's last failed call: what went wrong, where, and what to do. It is never NULL, and valid
 * until the next call of the library on this thread. */
TALLY_API const char *tally_last_error(void);

/* "TALLY_OUT_OF_MEMORY"; static. */
TALLY_API const char *tally_status_name(tally_status status);

#ifdef __cplusplus
}
#endif
#endif
