/* Kernels of scans that depend on no element type, or on few: results that are all the same, running moments. */
#ifndef TALLY_CPU_KERNELS_SCANS_H
#define TALLY_CPU_KERNELS_SCANS_H

#include "cpu/kernels/kernels.h"

/* The accumulator of the monoid 'moments': the number of elements, their mean in two parts, and the sum of the squares
 * of their distances from it. */
typedef struct tally_cpu_moments {
    double count, mean, low, squares;
} tally_cpu_moments;

/* Running variances, or deviations if 'root'. 'ddof' is subtracted from the number of elements. 'narrow': elements and
 * results are f32 or less, and results have no more bits than that and some. 'means': these instead, in groups only,
 * and only with AVX-512. 'floats': of columns that are read and written as f32. */
typedef struct tally_cpu_spread {
    double ddof;
    bool root, reverse, narrow, means, floats;
} tally_cpu_spread;

enum { TALLY_CPU_GROUPS_BLOCK = 16384 }; /* elements of groups that are scanned side by side */

/* The accumulators of neighbouring columns, which have as many elements each. */
enum { TALLY_CPU_MOMENTS_STRIP = 64, TALLY_CPU_SCANNED_ROWS = 8 };
typedef struct tally_cpu_moments_strip {
    _Alignas(64) double mean[TALLY_CPU_MOMENTS_STRIP];
    double low[TALLY_CPU_MOMENTS_STRIP], squares[TALLY_CPU_MOMENTS_STRIP];
    double count;
} tally_cpu_moments_strip;

/* to[i] = x[i] lifted: the lowest 32 bits of integers, f32 of floats. There is room for a vector behind 'to' */
typedef void tally_cpu_lift_32(const void *x, const void *y, size_t n, void *to);

/* Running sums, from elements to results; y: of products with its elements. before[0], an f64 or an integer of 64 bits,
 * is the sum before them, and before[1] what its rounding has left; they become those after the elements that are done,
 * which are returned: whole blocks from where the scan begins, up to one whose sum f32 may not have. out may be x.
 * Means are of forward scans, 'index' is the first element's number. */
typedef enum tally_cpu_sums_result { TALLY_CPU_SUMS, TALLY_CPU_MEANS, TALLY_CPU_ROOTS } tally_cpu_sums_result;
typedef struct tally_cpu_sums_options {
    bool reverse, exclusive, magnitudes, squares;
    tally_cpu_sums_result result;
    uint32_t index;
} tally_cpu_sums_options;
typedef size_t tally_cpu_running_sums(const void *x, const void *y, size_t n, tally_cpu_sums_options how, void *before,
                                      void *out);

/* Where a running extreme came from: places[i] is an element's number where after[i], the extreme behind it, is not
 * before[i], else the place before it. 'place' is that of before[0]; the last one is returned. 'places' are i64 at any
 * address. */
enum { TALLY_CPU_FOLLOWED = 1024 };
typedef struct tally_cpu_follow {
    /* Element 0 is number 'first'; if 'place' is negative, it is the first of all. */
    int64_t (*run)(const void *before, const void *after, size_t n, uint64_t first, int64_t place, void *places);
    /* Places in groups, of TALLY_CPU_FOLLOWED elements at most; heads[k] is -1 where a group begins, else 0. *number
     * elements of the open group came before, which becomes the number of them after all. */
    int64_t (*groups)(const void *before, const void *after, const int8_t *heads, size_t n, uint64_t *number,
                      int64_t place, void *places);
    /* Packed rows, of TALLY_CPU_FOLLOWED elements at most; the first is number 'row', and if place[j] is negative, it
     * is the first of all. */
    void (*columns)(const void *before, const void *after, size_t rows, size_t width, uint64_t row, int64_t *place,
                    void *places);
} tally_cpu_follow;

/* Places of the smallest elements of columns, at least TALLY_CPU_LEAST_PLACES, of which the first of 'rows' rows is
 * number 'row'. Elements are widened to 64 bits (integers with their sign) and compared, as signed numbers or floats,
 * with the bits 'turn' turned over. extremes[j] and places[j] are those before the rows and become those after them; if
 * places[0] is negative, no row came before. 'to' receives the places behind each row, in i64, 'to_stride' apart; NULL:
 * none. It does not overlap x. */
enum { TALLY_CPU_LEAST_PLACES = 8 };
typedef void tally_cpu_places_of_columns(const void *x, size_t rows, size_t width, size_t stride, uint64_t turn,
                                         uint64_t row, void *extremes, int64_t *places, void *to, size_t to_stride);

/* Running smallest and largest elements of columns, as pairs of their type, 'to_stride' pairs a row apart; strides may
 * be negative. smallest[j] and largest[j] are those before the rows and become those after them; NULL: none came
 * before, and none will follow. 'to' does not overlap x. */
typedef void tally_cpu_minmax_columns(const void *x, size_t rows, size_t width, ptrdiff_t stride, void *smallest,
                                      void *largest, void *to, ptrdiff_t to_stride);

/* to[i] = 1 if x[i], of 'bytes' bytes, has one of 'bits', else 0 */
typedef void tally_cpu_truths(const void *x, size_t n, size_t bytes, uint64_t bits, uint8_t *to);

/* counts[i] = how many of elements offsets[i] .. offsets[i + 1] - 1 have one of 'bits', for i < count */
typedef void tally_cpu_count_groups(const void *x, const uint64_t *offsets, size_t count, size_t bytes, uint64_t bits,
                                    int64_t *counts);

/* to[i] = x[i] without its highest bit, elements of 4 or 8 bytes */
typedef void tally_cpu_magnitudes(const void *x, size_t n, size_t bytes, void *to);
/* Floats of 16 bits, of which 'bits' count, to unsigned integers in the same order, of which 'least' is to become 0; or
 * 'back'. 'to' may be x. */
typedef void tally_cpu_order(const void *x, size_t n, uint16_t bits, uint16_t least, bool back, void *to);

typedef const tally_cpu_direct_scan *tally_cpu_narrow_scan_for(tally_dtype type, tally_monoid monoid);

/* Reductions of groups of numbers (trees.c): out[i] = *start combined with numbers offsets[i] .. offsets[i + 1] - 1 of
 * x, for i < count. 'fold' is NULL where there is none for a type and a monoid; what 'flip' and 'fill' are only it
 * knows. */
typedef struct tally_cpu_tree {
    void (*fold)(const void *x, const uint64_t *offsets, size_t count, const struct tally_cpu_tree *tree,
                 const void *start, void *out);
    uint64_t flip, fill;
} tally_cpu_tree;
typedef tally_cpu_tree tally_cpu_trees_for(tally_dtype type, tally_monoid monoid);

/* places[i] = the place in its group of the first number that equals values[i], or is NaN if that is NaN. Each group
 * has one. */
typedef void tally_cpu_first_equal(const void *x, const uint64_t *offsets, size_t count, const void *values,
                                   int64_t *places);
typedef tally_cpu_first_equal *tally_cpu_first_equal_for(tally_dtype type);

/* numbers[k] = that of element k in its group, from 'first' on. heads[k] is -1 where a
 * group begins, else 0. 'before' elements of the open group came before; returned is the number of them after all. */
typedef uint32_t tally_cpu_number_groups(const int8_t *heads, size_t n, uint32_t first, uint32_t before,
                                         uint32_t *numbers);

/* counts[k], of 64 bits, = how many of its group are true up to element k, or before it, from 'start' on. heads is as
 * above, in the direction of the scan, or NULL. 'before' is the count before all; returned is the one after. */
typedef uint64_t tally_cpu_count(const uint8_t *truths, const int8_t *heads, size_t n, bool reverse, bool exclusive,
                                 uint64_t start, uint64_t before, void *counts);

/* Running logsumexps of a block, TALLY_CPU_EXPS_BLOCK elements at most, forward. An accumulator is the largest element
 * and the sum of e^(x - largest); it is the value before the block and becomes the one after it. */
enum { TALLY_CPU_EXPS_BLOCK = 1024, TALLY_CPU_EXPS_ROWS = 32 };
typedef struct tally_cpu_running_exps {
    /* A run of elements to 'out', or whole groups (numbers as above, for whole vectors). False, and nothing is done,
     * where elements are not finite or too far apart: f32 by some 40, f64 by more than 300 in groups. Results of f32
     * have an error of some 2^-23 besides their own rounding. Whole numbers, in f64, take exponentials by look-ups;
     * their distances in groups are 60 at most. */
    bool (*run_f32)(const void *x, size_t n, bool exclusive, bool are_whole, double acc[2], void *out);
    bool (*run_f64)(const void *x, size_t n, bool exclusive, bool are_whole, double acc[2], void *out);
    bool (*groups_f32)(const void *x, const uint32_t *numbers, size_t n, bool exclusive, bool are_whole, void *out);
    bool (*groups_f64)(const void *x, const uint32_t *numbers, size_t n, bool exclusive, bool are_whole, void *out);
    /* The same in place, of any elements; 'numbers' is NULL for a run. There is room for a vector behind it. */
    void (*apart)(double *x, const uint32_t *numbers, size_t n, bool exclusive, double acc[2]);
    /* Columns of at most TALLY_CPU_EXPS_ROWS rows that begin 'stride' elements apart. Returns how many columns are
     * done: those before one whose elements are too far apart or not finite, rounded down to vectors. acc may be NULL.
     */
    size_t (*columns_f32)(const void *x, size_t rows, size_t width, size_t stride, bool reverse, bool exclusive,
                          bool are_whole, double *acc, void *out);
    size_t (*columns_f64)(const void *x, size_t rows, size_t width, size_t stride, bool reverse, bool exclusive,
                          bool are_whole, double *acc, void *out);
    /* The same of any elements, packed and in place. There is room for a vector behind them and behind acc. */
    void (*columns_apart)(double *x, size_t rows, size_t width, bool reverse, bool exclusive, double *acc);
    /* out[j] = logsumexp of column j of 'rows' rows that begin 'stride' elements apart, in f32 and in f64; only
     * with AVX-512, else NULL */
    void (*few_f32)(const void *x, size_t rows, size_t width, size_t stride, void *out);
    void (*few_i64)(const void *x, size_t rows, size_t width, size_t stride, void *out);
} tally_cpu_running_exps;

/* The sum of e^(x - m) over n integers of one width, at least one and at most TALLY_CPU_INTEGER_EXPS, up to their
 * largest, m, whose bits are in the lowest of 'largest'. */
enum { TALLY_CPU_INTEGER_EXPS = 4096 };
typedef double tally_cpu_integer_exps(const void *x, size_t n, uint64_t largest);
/* sums[j] = the same of column j of 'rows' rows that begin 'stride' elements apart, up to its largest. */
typedef void tally_cpu_integer_exps_of_columns(const void *x, size_t rows, size_t width, size_t stride,
                                               const void *largest, double *sums);

typedef struct tally_cpu_scans {
    /* to[0 .. n - 1] = the value, of a power of two of bytes, up to 16; 'stream' asks for stores that bypass the cache
     */
    void (*fill)(const void *value, size_t bytes, size_t n, bool stream, void *to);
    /* out[0 .. n - 1] = results of a run, forward; *acc is the value before them and becomes the one after them.
     * Elements and results are f32 if how.narrow, else f64, at any address; out may be x. The number of elements that
     * are done is returned: fewer than n if a square overflows or one is not finite. */
    size_t (*moments)(const void *x, size_t n, tally_cpu_spread how, tally_cpu_moments *acc, void *out);
    /* The same of whole groups, TALLY_CPU_GROUPS_BLOCK elements at most; heads[k] is -1 where a group begins, else 0. A
     * vector behind x is read, too: zeros, say. out is not x. False if a square overflows or an element is not finite.
     */
    bool (*moments_of_groups)(const void *x, const int8_t *heads, size_t n, tally_cpu_spread how, void *out);
    /* Running means of the first of n elements, forward; how many is returned, and fewer are left than fill a tile.
     * *sum is that of the 'count' elements before them and becomes that of all. Elements and results are f32 if
     * 'narrow', else f64; out may be x. NULL with AVX-512, where 'wide_sums' has them. */
    size_t (*means)(const void *x, size_t n, bool narrow, double count, double *sum, void *out);
    /* out[0 .. count - 1] = the result of each group, as doubles; those without elements have none. Group i ends at
     * offsets[i + 1] less offsets[0], which is n for the last one. False if one is not finite, if one is far longer
     * than others, and on levels without masks. */
    bool (*reduce_groups)(const void *x, const int8_t *heads, size_t n, const uint64_t *offsets, size_t count,
                          tally_cpu_spread how, double *out);
    const tally_cpu_running_exps *running_exps;
    tally_cpu_integer_exps *const *integer_exps; /* of 1, 2, 4 and 8 bytes; only with AVX-512, else NULL */
    tally_cpu_integer_exps_of_columns *const *integer_exps_of_columns; /* likewise, and NULL of 8 bytes */
    /* As 'moments', of doubles or floats, for 'rows' rows of 'width' columns, up to TALLY_CPU_MOMENTS_STRIP, which
     * begin 'stride' elements apart, and their results; the number of rows that are done. What was written to the
     * others means nothing. */
    size_t (*moments_of_columns)(const void *x, size_t rows, size_t width, size_t stride, tally_cpu_spread how,
                                 tally_cpu_moments_strip *acc, void *out, size_t out_stride);
    /* All results of whole columns of at most TALLY_CPU_SCANNED_ROWS rows; false if one is not finite. A vector behind
     * x is read, too: zeros, say. */
    bool (*scan_of_few_rows)(const double *x, size_t rows, size_t width, tally_cpu_spread how, double *out);
    /* out[j] = variance or deviation of column j of 'rows' packed rows; false if one is not finite. Results that are
     * narrow will be rounded to f32 or less. A vector behind x and out is read and written, too. */
    bool (*moments_of_few_rows)(const double *x, size_t rows, size_t width, tally_cpu_spread how, bool is_narrow,
                                double *out);
    /* counts[i] = first + the number of element i in its group, from the back if 'reverse'; heads[i] is -1 where a
     * group begins in that direction, else 0. 'before' is the number that an element of the open group has first;
     * returned is the one after all. */
    uint64_t (*number)(const int8_t *heads, size_t n, bool reverse, uint64_t first, uint64_t before, uint64_t *counts);
    tally_cpu_number_groups *number_groups;
    /* of types of up to 32 bits; NULL: there is none */
    tally_cpu_lift_32 *(*lift_32)(tally_monoid monoid, tally_dtype type);
    /* the same to as many bits as integers of 1 and 2 bytes have */
    tally_cpu_lift_32 *(*lift_narrow)(tally_monoid monoid, tally_dtype type);
    /* of integers of 1 and 2 bytes: results of the same width (narrow_scan.c); NULL: there is none */
    tally_cpu_narrow_scan_for *narrow;
    /* by type, with lanes of f32 and results of the same type, and with lanes of 64 bits and results of 64 bits, or f32
     * of f32; only with AVX-512, else NULL */
    tally_cpu_running_sums *const *sums, *const *wide_sums;
    tally_cpu_running_sums *const *real_sums; /* of integers of 32 and 64 bits in lanes of f64; likewise */
    /* copies past the caches, to any address; without bytes, ends such copies */
    void (*stream)(const void *from, size_t bytes, void *to);
    tally_cpu_trees_for *trees;             /* only with AVX-512 */
    tally_cpu_first_equal_for *first_equal; /* of all types but floats of 16 bits; only with AVX-512 */
    tally_cpu_truths *truths;
    tally_cpu_count_groups *count_groups; /* only with AVX-512, else NULL */
    tally_cpu_magnitudes *magnitudes;
    tally_cpu_count *count; /* NULL on the baseline */
    tally_cpu_order *order;
    const tally_cpu_follow *follow;             /* by type, of 32 and 64 bits */
    tally_cpu_minmax_columns *const *minmax;    /* by type; only with AVX-512, else NULL */
    tally_cpu_places_of_columns *const *places; /* likewise; only with AVX-512, else NULL */
} tally_cpu_scans;

extern const tally_cpu_scans tally_cpu_scans_baseline;
extern const tally_cpu_scans tally_cpu_scans_avx2;
extern const tally_cpu_scans tally_cpu_scans_avx512;

#endif
