/* The kernels of one monoid over one input type, as the CPU back end's drivers use them: reductions and prefixes over
 * accumulators whose layout only the kernels know. All take plain pointers to packed elements; x and y may be
 * misaligned, accumulators are aligned. There is one set for each instruction-set level. */
#ifndef TALLY_CPU_KERNELS_H
#define TALLY_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/operator.h"

struct tally_exact_type_kernels;
struct tally_cpu_kernels;
struct tally_cpu_instructions;
struct tally_cpu_text;
struct tally_cpu_nans;

/* to[i] = from[i] for i < n, converted as C does (integers wrap); to may be misaligned. */
typedef void tally_cpu_convert(const void *from, size_t n, void *to);

/* What some kernels need from their plan; kernels that come from the operator table use none of it. */
typedef struct tally_cpu_context {
    tally_user_op op; /* a user's operator */
    size_t in_bytes, out_bytes;
    size_t acc_stride;                            /* accumulators stand this far apart, aligned to 16 */
    const struct tally_exact_type_kernels *exact; /* exact mode */
    int layout;                                   /* of its superaccumulators, a tally_exact_layout */
    bool products;                                /* it adds x * y */
    bool squares;                                 /* and y is x */
    bool magnitudes;                              /* it adds |x| */
    bool moments;                                 /* it adds x and, in a second state, x * x */
    const struct tally_cpu_kernels *inner;        /* of the type that elements are converted to first (converted.h) */
    tally_cpu_convert *convert;
    size_t converted_bytes;
    const struct tally_cpu_exps *exps;   /* logsumexp of integers (integer_exps.h) */
    const struct tally_cpu_plan *states; /* words: the plan of the accumulators that they stand for, and their form.
                                          * Counted elements: that of all elements */
    const struct tally_words_form *words;
    const struct tally_cpu_text *text; /* a user's operator whose texts are run */
    const struct tally_cpu_nans *nans; /* NaNs are left out (skipping.h) */
    char neutral[8];                   /* the element that replaces them */
    bool replaces;                     /* in blocks that the kernels copy */
    tally_dtype shown; /* f32 or f64: the first number of an accumulator is NaN if an element was; else TALLY_DEFAULT */
    bool shows_count;  /* superaccumulators have a number of NaNs */
} tally_cpu_context;

/* What accumulators hold before columns are folded into them. NEAR: as NOTHING, but what is stored is f32, to which the
 * accumulator, an f64, would be rounded without a loss. Only with AVX-512, for up to NEAR_ROWS rows of floats of up to
 * 4 bytes, of kernels of one input with a fold_block, whose accumulators are f64. */
typedef enum tally_cpu_before { TALLY_CPU_SOME, TALLY_CPU_NOTHING, TALLY_CPU_NEAR } tally_cpu_before;
enum { TALLY_CPU_NEAR_ROWS = 32 };

/* y is the second input of dot. 'index' is the first element's place in its group. */
typedef struct tally_cpu_kernels {
    uint32_t acc_bytes;   /* with 64 bits gcc would pad each of these structs, 96 bytes, to 128 */
    tally_dtype acc_type; /* of the accumulator, if it is a single number; else TALLY_DEFAULT */

    /* acc[0 .. count - 1] = identity */
    void (*identity)(const tally_cpu_context *context, size_t count, void *acc);
    /* *acc = *acc combined with n elements */
    void (*fold)(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index, void *acc);
    /* acc[r] = row r of 'extent' packed elements, at least one, for short rows */
    void (*fold_rows)(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t extent,
                      void *acc);
    /* acc[i] = elements offsets[i] .. offsets[i + 1] - 1, for i < count; no offset is below offsets[0] */
    void (*fold_segments)(const tally_cpu_context *context, const void *x, const void *y, const uint64_t *offsets,
                          size_t count, void *acc);
    /* acc[labels[i]] = itself combined with element i, for i from 0 to n - 1. The element's place is places[i], or
     * index + i if places is NULL. NULL: elements have to be sorted by label for fold */
    void (*fold_labels)(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                        const uint64_t *places, size_t n, uint64_t index, void *acc);
    /* Sums in f64 of as many digits: the same into pairs, of a sum and of what its additions have rounded away. Then
     * sum_pairs makes acc[i] of pair i. NULL for all others, which have digits to spare, or lose none */
    void (*fold_labels_to_pairs)(const tally_cpu_context *context, const void *x, const void *y, const uint32_t *labels,
                                 size_t n, void *pairs);
    void (*sum_pairs)(size_t count, void *acc);
    /* acc[j] = acc[j] combined with element j of 'rows' rows that begin 'stride' elements apart; the first row is
     * number 'index' of its group */
    void (*fold_columns)(const tally_cpu_context *context, const void *x, const void *y, size_t rows, size_t width,
                         size_t stride, uint64_t index, void *acc);
    /* The same without an index, for any number of rows. NULL: identity and fold_columns are as good */
    void (*fold_block)(const void *x, const void *y, size_t rows, size_t width, size_t stride, tally_cpu_before before,
                       void *acc);
    /* prefixes[i] = *acc combined with elements 0 .. i (exclusive: 0 .. i - 1), or from the last one down if reverse;
     * *acc ends as the whole */
    void (*prefixes)(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint64_t index,
                     bool reverse, bool exclusive, void *acc, void *prefixes);
    /* acc[i] = acc[i] combined with other[i] */
    void (*combine)(const tally_cpu_context *context, size_t count, const void *other, void *acc);
} tally_cpu_kernels;

/* Scans straight from input to output elements, for monoids whose accumulator is the result. 'stream' asks for stores
 * that bypass the cache. 'ahead' is the distance in bytes to the elements that the thread will probably scan next (0:
 * not known). They are prefetched, so that reading does not wait for writing. */
typedef struct tally_cpu_scan_options {
    bool reverse, exclusive, stream;
    ptrdiff_t ahead;
} tally_cpu_scan_options;

typedef struct tally_cpu_direct_scan {
    /* n elements; *acc (of the monoid's accumulator type) is the value before the first of them */
    void (*scan)(const void *x, size_t n, tally_cpu_scan_options how, const void *acc, void *out);
    /* The columns of packed planes, 'rows' rows of 'width' each: with one column, from *acc, else (and NULL) from
     * nothing. A plane has a few vectors. */
    void (*planes)(const void *x, size_t planes, size_t rows, size_t width, tally_cpu_scan_options how, const void *acc,
                   void *out);
    /* 'width' columns of 'rows' rows. Rows begin 'stride' elements apart, rows of results 'out_stride'. before[width]
     * are the running values, as output elements: before the rows, and then after them. NULL: nothing came before, and
     * nobody asks for what comes after */
    void (*columns)(const void *x, size_t rows, size_t width, size_t stride, tally_cpu_scan_options how, void *before,
                    size_t out_stride, void *out);
    /* n elements of neighbouring groups: heads[i] is -1 where a group begins in the direction of the scan, else 0. Each
     * group starts from *start. *acc is the value before the first element and becomes the one after the last. Only
     * reverse and exclusive count. NULL for output wider than the input */
    void (*groups)(const void *x, const int8_t *heads, size_t n, tally_cpu_scan_options how, const void *start,
                   void *acc, void *out);
} tally_cpu_direct_scan;

/* The kernels of one element type, by monoid; NULL where there is none: the element is converted to a wider type that
 * has one. These are functions, since tables of pointers are relocated page by page whenever the library is loaded, at
 * all levels (docs/log/2026-11-cpu.md). */
typedef const tally_cpu_kernels *tally_cpu_kernels_for(tally_monoid monoid);
typedef const tally_cpu_direct_scan *tally_cpu_direct_scan_for(tally_monoid monoid);
typedef struct tally_cpu_type {
    tally_cpu_kernels_for *kernels;
    tally_cpu_kernels_for *f64_kernels;    /* that accumulate in f64 where others do not */
    tally_cpu_kernels_for *strict_kernels; /* extremes of floats that tell -0 from +0 */
    /* Output elements of the input's width. Those of unsigned integers are only what differs from the signed ones:
     * sums, products and bits wrap alike. */
    tally_cpu_direct_scan_for *same_scan;
    tally_cpu_direct_scan_for *wide_scan; /* sums of integers: output elements of 64 bits */
    tally_cpu_convert *const *convert;    /* by the type converted to: from integers all, from floats floats */
} tally_cpu_type;

/* The number of elements in each accumulator that is lowered: first + each[i] if 'each' is not NULL, else
 * first + i * step. With 'each' first is 0 for users' texts. */
typedef struct tally_counts {
    const uint64_t *each;
    uint64_t first;
    int64_t step;
} tally_counts;

static inline uint64_t tally_count_of(tally_counts counts, size_t i) {
    return counts.first + (counts.each ? counts.each[i] : (uint64_t)((int64_t)i * counts.step));
}

/* Computes results from n accumulators, by the operator table's expression, as values of the type in tally_cpu_forms. A
 * conversion takes them to any other output type. 'values' may have any alignment. */
typedef void tally_cpu_form(const void *acc, size_t n, tally_counts counts, double ddof, void *values);

/* By the type of the accumulators' components; all NULL for an operator whose result is the accumulator. */
typedef struct tally_cpu_forms {
    tally_cpu_form *from_i64, *from_u64, *from_f64;
    tally_cpu_form *near; /* values of f32, where these, or narrower ones, are all that is asked for; or NULL */
    tally_dtype values;   /* of the others: u8 for truth values, else f64 */
} tally_cpu_forms;

/* The heads of runs of equal neighbouring keys, for keys of one width. Reads element -1. */
typedef struct tally_cpu_heads {
    /* heads[0 ..] = 'number' and the index of those of n elements whose key differs from the one before; room for
     * n + 16 */
    uint32_t (*find)(const void *keys, uint32_t n, uint32_t number, uint32_t *heads);
    uint32_t (*count)(const void *keys, uint32_t n);
    /* bit i of marks[n / 64 + 1] = whether element i is such a head, and 0 behind the last; returns how many are. NULL
     * where the level has no masks */
    uint32_t (*mark)(const void *keys, uint32_t n, uint64_t *marks);
    /* as 'find', from the marks of n elements */
    uint32_t (*list)(const uint64_t *marks, size_t n, uint32_t *heads);
    /* heads[i] = -1 where bit i of the marks is set, else 0, for whole words of n elements; returns how many are */
    uint64_t (*spread)(const uint64_t *marks, size_t n, int8_t *heads);
    /* to[i] = keys[heads[i]] */
    void (*pick)(const void *keys, const uint32_t *heads, size_t count, void *to);
} tally_cpu_heads;

/* How labels become places in a table: label l of element i stands at l + (i % copies) * (groups + 1). A label outside
 * of 0 .. groups - 1 counts as 'groups'. 'hot' is a label whose elements go to 'spare' + i % TALLY_CPU_HOT_COPIES
 * instead; UINT32_MAX: there is none. 'copies' is a power of two. */
enum { TALLY_CPU_HOT_COPIES = 8 };
typedef struct tally_cpu_places {
    uint32_t groups, copies, hot, spare;
} tally_cpu_places;

/* to[i] = the place of labels[i] for i < n. Returns whether a label was outside. */
typedef bool tally_cpu_read_labels(const void *labels, size_t n, tally_cpu_places places, uint32_t *to);

/* Pairs from two scans of numbers of one type (two_scans.c). */
typedef struct tally_cpu_pairs {
    /* to[2 i] = first[i], to[2 i + 1] = second[i] */
    void (*interleave)(const void *first, const void *second, size_t n, void *to);
    /* places[i] = numbers[i] where after[i] is x[i], else INT64_MAX */
    void (*equals)(const void *x, const void *after, const uint64_t *numbers, size_t n, int64_t *places);
} tally_cpu_pairs;

/* Short groups as columns. */
enum { TALLY_CPU_UPRIGHT_ROWS = 64, TALLY_CPU_UPRIGHT_BYTES = 256 };
typedef struct tally_cpu_lengths {
    uint32_t longest; /* of groups that are not long */
    bool some_empty, some_long;
} tally_cpu_lengths;

/* to[k][i] is x[offsets[i] + k] for k < lengths[i], for i < count and k < rows, in rows of TALLY_CPU_UPRIGHT_BYTES.
 * Where k >= lengths[i] stands *pad, or the group's first element if pad is NULL. Up to a vector's rows and columns
 * behind these are written, too. x has 'elements' elements, and offsets 'count' + 1. */
typedef void tally_cpu_stand(const void *x, uint64_t elements, const uint64_t *offsets, const uint32_t *lengths,
                             size_t count, size_t rows, const void *pad, void *to);

typedef struct tally_cpu_upright {
    /* lengths[i] = that of the group between offsets[i] and offsets[i + 1], for i < count; 0 for long groups, of more
     * than TALLY_CPU_UPRIGHT_ROWS elements */
    tally_cpu_lengths (*measure)(const uint64_t *offsets, size_t count, uint32_t *lengths);
    tally_cpu_stand *stand[4]; /* elements of 1, 2, 4 and 8 bytes */
} tally_cpu_upright;

/* Groups that stand so, of floats: accumulators of the monoids moments and logsumexp. */
typedef struct tally_cpu_upright_floats {
    /* acc[i] = group i, of lengths[i] elements, for i < count. The groups stand in columns that end in their first
     * element, with 'stride' elements a row. Columns and lengths up to the next multiple of 16 are read. False if a
     * group's moments overflow or are not finite. */
    bool (*moments)(const double *columns, size_t stride, const uint32_t *lengths, size_t count, void *acc);
    bool (*logsumexp_f32)(const float *columns, size_t stride, const uint32_t *lengths, size_t count, void *acc);
    bool (*logsumexp_f64)(const double *columns, size_t stride, const uint32_t *lengths, size_t count, void *acc);
} tally_cpu_upright_floats;

/* NaNs among the elements of a float type. x may be misaligned. */
typedef struct tally_cpu_nans {
    bool (*any)(const void *x, size_t n);
    /* marks[i] becomes 1 where x[i] is NaN, and stays as it is elsewhere */
    void (*mark)(const void *x, size_t n, uint8_t *marks);
    /* to[i] = x[i], or *by where that is NaN; to does not overlap x */
    void (*replace)(const void *x, size_t n, const void *by, void *to);
    /* The same; returns how many are NaN. A sum with this instead took 1.35 times as long */
    size_t (*replace_counting)(const void *x, size_t n, const void *by, void *to);
    /* The same by by[i], where 1 is added to counts[i] */
    void (*replace_columns)(const void *x, size_t n, const void *by, void *to, uint32_t *counts);
    /* to[i] = x[i], or *by where the mark is 1; to does not overlap x */
    void (*replace_marked)(const void *x, const uint8_t *marks, size_t n, const void *by, void *to);
    /* to[0 ..] = the elements that are not NaN. There is room for n. Returns how many they are */
    size_t (*keep_numbers)(const void *x, size_t n, void *to);
    /* to[0 ..] = the elements whose mark is 0; to may be x. There is room for n. Returns how many they are */
    size_t (*keep)(const void *x, const uint8_t *marks, size_t n, void *to);
} tally_cpu_nans;

/* The kernels of one instruction-set level, by input type. */
typedef struct tally_cpu_level {
    const char *name;
    bool has_masks; /* marks of groups become masks of lanes (group_masks.h), which take half the time */
    const tally_cpu_type *types[TALLY_DTYPE_COUNT];
    const tally_cpu_forms *forms; /* by operator */
    const tally_cpu_heads *heads; /* for keys of 1, 2, 4 and 8 bytes */
    const tally_cpu_pairs *pairs; /* by type, of 32 and 64 bits */
    const tally_cpu_upright *upright;
    const tally_cpu_upright_floats *upright_floats;
    const tally_cpu_nans *nans; /* by type, of floats */
    /* whether any of offsets[1 .. n], of 4 or 8 bytes and at any address, is smaller than the one before as an unsigned
     * number, or one of 8 bytes is 2^63 or more */
    bool (*decreases)(const void *offsets, size_t bytes, size_t n);
    /* whether any of offsets[1 .. n] is the one before */
    bool (*repeats)(const uint64_t *offsets, size_t n);
    /* whether all differences of neighbours among offsets[0 .. n] are the same */
    bool (*is_even)(const uint64_t *offsets, size_t n);
    /* ends[i] = how many elements are between offsets[0] and the end of group i; 0 if it is empty */
    void (*ends)(const uint64_t *offsets, size_t count, uint32_t *ends);
    tally_cpu_read_labels *const *read_labels;         /* by the labels' type */
    const struct tally_cpu_instructions *instructions; /* of users' texts */
} tally_cpu_level;

extern const tally_cpu_level tally_cpu_level_baseline;
extern const tally_cpu_level tally_cpu_level_avx2;
extern const tally_cpu_level tally_cpu_level_avx512;

#endif
