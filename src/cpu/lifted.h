/* Scans of accumulators that are a number: elements are lifted to accumulators, these are scanned by the kernel of
 * their own type, and the prefixes are lowered. The three loops take a block at a time, which stays in the first-level
 * cache. So every operator is scanned in vectors, into every type. minmax, argmin and argmax are two such scans. */
#ifndef TALLY_CPU_LIFTED_H
#define TALLY_CPU_LIFTED_H

#include "core/dtype.h"
#include "cpu/cpu.h"

/* The worker scratch of the functions below, from its start. All arrays are of TALLY_CPU_LIFTED_BLOCK elements. */
typedef struct tally_cpu_lifted_block {
    _Alignas(64) int8_t heads[TALLY_CPU_LIFTED_BLOCK + 1]; /* and one for an empty group at the end */
    _Alignas(64) uint64_t narrow[TALLY_CPU_LIFTED_BLOCK];
    _Alignas(64) uint64_t lifted[TALLY_CPU_LIFTED_BLOCK];
    _Alignas(64) uint64_t scanned[TALLY_CPU_LIFTED_BLOCK + TALLY_CPU_LIFTED_COLUMNS];
    _Alignas(64) uint64_t second[TALLY_CPU_LIFTED_BLOCK + TALLY_CPU_LIFTED_COLUMNS];
    _Alignas(64) uint64_t counts[TALLY_CPU_LIFTED_BLOCK];
} tally_cpu_lifted_block;

/* The values that the scans of a group start from, of plan->lifted.carry and of the second scan's type. */
typedef struct tally_cpu_carry {
    uint64_t first, second;
} tally_cpu_carry;

/* The scan of numbers of one type, or NULL. */
const tally_cpu_direct_scan *tally_cpu_same_scan(const tally_cpu_device *device, tally_dtype type, tally_monoid monoid);

/* The monoid that scans elements of a type as this one does: the sum for absolute values of unsigned integers. */
tally_monoid tally_cpu_scanned_as(tally_monoid monoid, tally_dtype type);

/* Whether the plan's extremes tell -0 from +0. */
bool tally_cpu_is_strict(const tally_cpu_plan *plan);

/* Floats of 16 bits. */
static inline bool tally_cpu_is_half(tally_dtype type) {
    return tally_dtype_is_float(type) && tally_dtype_size(type) < sizeof(float);
}

static inline bool tally_cpu_has_masks(const tally_cpu_plan *plan) {
    return plan->device->level->has_masks;
}

/* The kernel for places of columns of a type, or NULL; and the bits that it turns over for argmin or argmax. */
static inline tally_cpu_places_of_columns *tally_cpu_places_kernel(const tally_cpu_plan *plan, tally_dtype type) {
    return plan->device->scans->places[type];
}
static inline uint64_t tally_cpu_places_turn(const tally_cpu_plan *plan, tally_dtype type) {
    const bool largest = plan->base.computation.monoid == TALLY_MONOID_argmax;
    if (tally_dtype_is_float(type))
        return largest ? (uint64_t)INT64_MIN : 0;
    const uint64_t turn = type == TALLY_U64 ? (uint64_t)INT64_MIN : type == TALLY_U32 ? (uint64_t)INT32_MIN : 0;
    return largest ? ~turn : turn;
}

/* Chooses plan->lifted for a plan whose kernels are chosen. */
void tally_cpu_lifted_choose(tally_cpu_plan *plan);

/* Whether elements are the numbers that are scanned. */
static inline bool tally_cpu_lifts_nothing(const tally_cpu_plan *plan) {
    return plan->lifted.as_they_are ||
           (plan->base.computation.desc.in == plan->lifted.type && plan->lifted.by_conversion);
}

/* n neighbouring elements, at most a block, lifted: themselves where there is nothing to lift. */
const void *tally_cpu_lift(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                           tally_cpu_lifted_block *block);

/* block->lifted[place ..] = n elements, lifted. */
void tally_cpu_lift_to(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n,
                       tally_cpu_lifted_block *block, uint64_t place);

/* Elements of a block: more of those that are narrow. */
static inline uint64_t tally_cpu_lifted_elements(const tally_cpu_plan *plan) {
    const bool are_narrow = plan->lifted.parts == TALLY_CPU_NUMBER && plan->lifted.bytes < sizeof(uint32_t);
    return plan->lifted.truths ? 8 * TALLY_CPU_LIFTED_BLOCK : (are_narrow ? 4 : 1) * TALLY_CPU_LIFTED_BLOCK;
}

/* The first element of a forward scan is its smallest, whatever it is, so its place is followed; from the back an equal
 * one is a new place. */
static inline bool tally_cpu_follows_place(const tally_cpu_plan *plan) {
    return plan->lifted.parts == TALLY_CPU_PLACE && !plan->base.computation.reverse;
}

/* From the back: block->narrow = the number, in block->counts, of each element that is the smallest; of others, one
 * that changes nothing. 'after' are the smallest ones after each. */
void tally_cpu_find_places(const tally_cpu_plan *plan, const void *lifted, const void *after, uint64_t n,
                           tally_cpu_lifted_block *block);

/* As tally_cpu_scan_run. */
void tally_cpu_lifted_scan(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t index,
                           uint64_t length, bool stream, unsigned worker, const void *acc, void *out);

/* Whether a kernel keeps the extremes of so many columns in registers. */
bool tally_cpu_keeps_columns(const tally_cpu_plan *plan, uint64_t width);

/* Whether the next one is the faster way for so many rows and columns. */
bool tally_cpu_lifts_columns(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner);

/* Whether it is without accumulators, for columns that start from nothing and leave nothing. */
bool tally_cpu_lifts_whole_columns(const tally_cpu_plan *plan, uint64_t rows, uint64_t inner);

/* 'rows' rows of 'width' columns that begin 'stride' elements apart; the first is number 'index' of 'length'.
 * acc[width] is the value before them and becomes the value after them; NULL: there is nothing before them, and what is
 * after them does not count. */
void tally_cpu_lifted_columns(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t width,
                              uint64_t stride, uint64_t index, uint64_t length, unsigned worker, void *acc, void *out);

/* Whether nothing is the same for the operator and for the scan of its numbers. Exclusive scans give it: the largest
 * magnitude of nothing is 0, and whether all of it is not 0 is 1. */
bool tally_cpu_starts_as_its_scan(const tally_cpu_plan *plan, bool exclusive);

/* Whether prefixes are written where the results are to be: they have their width, and integers are no wider. */
bool tally_cpu_writes_results(const tally_cpu_plan *plan);

/* Whether the next one is the way for rows of so many elements. */
bool tally_cpu_lifts_rows(const tally_cpu_plan *plan, uint64_t extent);

/* Scans 'rows' packed rows of 'extent' elements. Each starts from the accumulator *start. */
void tally_cpu_lifted_rows(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t rows, uint64_t extent,
                           unsigned worker, const void *start, void *out);

/* Scans n elements, at most a block, as numbers of plan->lifted.type. 'groups' of them begin, at block->heads. The
 * prefixes go to 'to', which has room for one number in front, and a second scan's, or the places, to 'second'. For
 * argmin and argmax *number elements of the open group came before, which becomes the number of them after all. */
void tally_cpu_lifted_groups(const tally_cpu_plan *plan, const void *x, const void *y, uint64_t n, uint64_t groups,
                             tally_cpu_lifted_block *block, const tally_cpu_carry *start, tally_cpu_carry *acc,
                             uint64_t *number, void *to, void *second);

#endif
