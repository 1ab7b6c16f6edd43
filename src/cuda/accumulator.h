/* The types of a computation in CUDA C, and the properties of its accumulators that decide the choice of kernels. */
#ifndef TALLY_CUDA_ACCUMULATOR_H
#define TALLY_CUDA_ACCUMULATOR_H

#include "core/computation.h"
#include "gpu/expressions.h"

/* The types of an element in memory, of one as it is computed with, and of an offset or a key. */
const char *tally_cuda_element_type(tally_dtype dtype);
const char *tally_cuda_value_type(tally_dtype dtype);
const char *tally_cuda_index_type(const tally_computation *computation);

/* An accumulator of the operator table, and the lane that takes a bounded number of elements before it is emptied into
 * the accumulator. */
typedef struct tally_cuda_accumulator {
    const char *acc[TALLY_MOST_COMPONENTS], *lane[TALLY_MOST_COMPONENTS]; /* the components' types */
    const char *domain;                                                   /* the type that HIGHEST and LOWEST are of */
    const char *lifted; /* the type of x where an accumulator is lifted into; NULL: the component's */
    const char *lifted_lane;
    unsigned bytes; /* of the accumulator */
    int lane_limit; /* elements that a lane takes at most */
} tally_cuda_accumulator;

enum { TALLY_CUDA_LANE_UNLIMITED = 1 << 20 };

/* How NaNs are left out: they are given the value of an element that changes nothing, an expression over T, the domain;
 * or they are the identity of the monoid, which keeps anything else; or they are lifted to the identity. */
typedef enum tally_cuda_skipping {
    TALLY_CUDA_KEEPS_NANS,
    TALLY_CUDA_REPLACES_NANS,
    TALLY_CUDA_NAN_IS_IDENTITY,
    TALLY_CUDA_LIFTS_NANS,
    TALLY_CUDA_DROPS_NANS /* by the kernels of exact sums */
} tally_cuda_skipping;

tally_cuda_skipping tally_cuda_skipping_of(const tally_computation *computation, const char **neutral);

/* Whether the accumulator has one more component, the number of elements that are not left out. */
bool tally_cuda_counts_elements(const tally_computation *computation);

/* The operator must not be a user's, which has one accumulator of its own. */
void tally_cuda_accumulator_of(const tally_computation *computation, tally_cuda_accumulator *accumulator);

/* Whether an accumulator says whether any element, or all, are not zero: 0 or 1 in 32 bits, where monoids.def has a
 * count of 64, to be compared with the group's length. */
bool tally_cuda_is_flag(const tally_computation *computation);
/* The monoid's expressions, and the way out, of an operator of the table, which may have better ones here. */
const tally_monoid_text *tally_cuda_monoid(const tally_computation *computation);
const char *tally_cuda_lower(const tally_computation *computation);
/* Whether that depends on the number of elements. */
bool tally_cuda_lowers_by_count(const tally_computation *computation);

/* The bytes of an accumulator in registers, of any operator. */
unsigned tally_cuda_accumulator_bytes(const tally_computation *computation);

/* An exact scan's accumulator: an integer of so many words of 32 bits, in units of 2^lowest. */
typedef struct tally_cuda_scan_integer {
    unsigned words;
    int lowest;
} tally_cuda_scan_integer;

tally_cuda_scan_integer tally_cuda_scan_integer_of(const tally_computation *computation);

/* Whether this is an exact scan in all words, which exact_chunks.cu does where there are many elements; or whatever the
 * shape, if its integers have so many words that other kernels would not keep them in registers. */
bool tally_cuda_scans_by_chunks(const tally_computation *computation);
bool tally_cuda_scans_by_chunks_alone(const tally_computation *computation);

/* Whether an exact reduction's sum is of products of two elements, and its limbs. */
bool tally_cuda_exact_has_products(const tally_computation *computation);
int tally_cuda_exact_limbs(const tally_computation *computation);

/* Those of another sum, which an exact variance has before that of the squares: the elements'. Else 0. */
int tally_cuda_exact_sum_limbs(const tally_computation *computation);

/* Whether it is an exact variance of floats. */
static inline bool tally_cuda_exact_has_moments(const tally_computation *c) {
    return c->exact && c->monoid == TALLY_MONOID_moments;
}

/* Whether a result depends on where its group starts: on the group's length, or on an index in it. */
bool tally_cuda_needs_start(const tally_computation *computation);

/* Whether a result is a component of the accumulator, except for a conversion. */
bool tally_cuda_lowers_directly(const tally_computation *computation);

/* Whether what a lane keeps follows from its result: integers lose only bits that no result shows. */
bool tally_cuda_result_keeps_lane(const tally_computation *computation);

/* Whether lowering takes no more than a few instructions, without a branch. */
bool tally_cuda_lowers_cheaply(const tally_computation *c);

/* Whether this is a scan that goes by scan_flags.cu. */
bool tally_cuda_scans_flags(const tally_computation *computation);

/* How scan_words.cu joins elements, if this is a scan of bytes or halves that go that way; else 0. */
int tally_cuda_word_kind(const tally_computation *computation);
/* Whether an accumulator has powers above the second. */
bool tally_cuda_has_higher_moments(const tally_computation *computation);
/* How columns of bytes are combined four at a time (packed_columns.cu), and scanned, like those of halves two at a time
 * (packed_scans.cu); 0: they are not. */
int tally_cuda_column_packs(const tally_computation *computation, int architecture);
/* Whether this is a logsumexp of bytes whose exponentials are looked up in a block's shared memory (append.cu). */
bool tally_cuda_looks_up_exponentials(const tally_computation *computation);
/* Elements whose product 32 bits hold, if this is a reduction to a product of narrow integers; else 1. */
int tally_cuda_factors(const tally_computation *computation);
/* Whether this is another logsumexp of integers, whose exponentials are looked up (exponentials.cu). */
bool tally_cuda_looks_up_powers(const tally_computation *computation);
/* Whether the order in which elements are reduced can show in the results' bits. */
bool tally_cuda_order_shows(const tally_computation *computation);
/* In what threads of a reduction add up second moments of some elements (running.cu); 0: they do not. */
int tally_cuda_brief_moments(const tally_computation *computation);
/* Whether threads of a reduction down long columns add up second moments of halves in floats (fold_columns.cu). */
bool tally_cuda_has_half_columns(const tally_computation *computation);
/* Whether a scan down a short column adds up second moments in floats. See running.cu. */
bool tally_cuda_has_half_moments(const tally_computation *computation);
/* How tile_sums.cu adds up a tile of a reduction by segments, if a segment's result is a difference of two sums,
 * exactly; else 0. */
int tally_cuda_differences(const tally_computation *computation);
/* Whether a reduction by groups keeps an element and its place in a tile as one word (groups.cu). */
bool tally_cuda_has_place_keys(const tally_computation *computation);
/* Whether this is a scan whose results are places of extremes, by scan_places.cu. */
bool tally_cuda_finds_places(const tally_computation *computation);
/* Whether this is a scan whose results are made of sums of terms, by scan_terms.cu. */
bool tally_cuda_has_terms(const tally_computation *computation);
/* Whether these are sums of narrow integers, by scan_integers.cu. */
bool tally_cuda_has_integer_terms(const tally_computation *computation);
/* Whether this is one whose results take the elements' place, so that a thread goes through its stretch a vector at a
 * time. */
bool tally_cuda_takes_vectors(const tally_computation *computation);

/* Whether its threads add up floats: running variances of narrow floats by groups. */
bool tally_cuda_varies_in_floats(const tally_computation *computation);

/* Whether this is a reverse scan of argmin or argmax by groups, whose indices are counted at the end (places.h). */
bool tally_cuda_counts_places(const tally_computation *computation);

#endif
