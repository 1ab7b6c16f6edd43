/* What the files of rank plans share: the plan as a sequence of steps, and buffers of words. */
#ifndef TALLY_RANKS_RANKS_H
#define TALLY_RANKS_RANKS_H

#include <stdbool.h>

#include "core/backend.h"
#include "tally/ranks.h"

/* Words that device plans read and write, and that engines carry: two copies where the engine wants another memory than
 * the device's. */
typedef struct tally_rank_words {
    int64_t *device, *host; /* the same where the device computes in host memory */
    size_t words;
} tally_rank_words;

/* Elements of this rank's part. */
typedef struct tally_rank_range {
    uint64_t first, n;
} tally_rank_range;

/* Does the rank's next work, and sets 'step', and 'exchange' if there is one. Its errors go to tally_rank_keep, and
 * later steps then only take part in the exchanges. */
typedef void tally_rank_step(tally_rank_plan *plan);

enum { TALLY_RANK_TEXT_WORDS = 62 }; /* of a message that travels */

struct tally_rank_plan {
    tally_device *device;
    tally_desc desc; /* as it was given */
    tally_computation computation;
    tally_rank_options options;
    bool in_host_memory;   /* the device computes there */
    tally_words_info info; /* of the states */
    uint64_t digest;       /* of the description */

    tally_plan *part;                /* x to states */
    tally_plan *join;                /* AXIS: states to results, or of scans to states */
    tally_plan *plain;               /* the computation itself, where one rank is enough */
    tally_plan *scan;                /* SEGMENTS, KEYS: scans of one group */
    tally_accumulator *joined;       /* SEGMENTS, KEYS: a group that reaches over ranks */
    tally_plan *pair, *carried;      /* scans that begin with an initial value instead */
    void *initial;                   /* there: what this rank's scan begins with */
    tally_rank_words states, gather; /* this rank's, and all ranks' */
    tally_rank_words agreement;

    /* the run */
    const tally_args *args; /* NULL: only an agreement */
    unsigned flags;
    tally_stream stream;
    tally_rank_step *step; /* NULL: no run */
    tally_rank_step *after_agreement;
    tally_exchange exchange;
    tally_status status;            /* this rank's own, and after an agreement that of all */
    bool is_over;                   /* the run is over */
    bool has_agreed;                /* SEGMENTS, KEYS: an earlier run has shown that all have the same description */
    uint64_t results, first, block; /* states of each rank; those on their way */
    tally_rank_range head, tail;    /* SEGMENTS, KEYS: the first and the last group */
    char text[1280];                /* of the error; its beginning travels */

    /* Why the description is refused, or TALLY_OK. Every run begins with it: what the ranks agree on replaces status
     * and text. */
    tally_status refusal;
    char refusal_text[1280];
};

/* ---- steps ---- */

/* Remembers the first error, and its message. */
void tally_rank_keep(tally_rank_plan *plan, tally_status status);

static inline bool tally_rank_is_well(const tally_rank_plan *plan) {
    return plan->status == TALLY_OK;
}

/* Compares what the ranks have and how they fare; goes on with 'step', or ends the run on all ranks. */
void tally_rank_agree(tally_rank_plan *plan, tally_rank_step *step);

/* An agreement by words that travel with others: signs them; sees whether those of all ranks, 'stride' words apart, are
 * alike and well; if not, the step that lets all ranks say why, and ends the run. */
enum { TALLY_RANK_SIGNATURE_WORDS = 2 };
void tally_rank_sign(const tally_rank_plan *plan, int64_t *words);
bool tally_rank_signatures_agree(const tally_rank_plan *plan, const int64_t *words, size_t stride);
tally_rank_step tally_rank_explain;

/* The run ends. */
void tally_rank_end(tally_rank_plan *plan);

/* First steps: reductions and scans of ALL_VALUES and AXIS, reductions of LABELS; SEGMENTS and KEYS. */
tally_rank_step tally_rank_whole, tally_rank_groups;

/* Their plans. */
tally_status tally_rank_whole_plans(tally_rank_plan *plan);
tally_status tally_rank_groups_plans(tally_rank_plan *plan);

/* A plan of the description with other grouping, form and flags. Words have no output type. */
tally_status tally_rank_sub_plan(tally_rank_plan *plan, tally_grouping grouping, tally_form form, unsigned flags,
                                 tally_plan **sub);

/* ---- buffers ---- */

/* Room for so many words; what was in it is lost if it grows. */
tally_status tally_rank_reserve(tally_rank_plan *plan, tally_rank_words *buffer, uint64_t words);
void tally_rank_release(tally_rank_plan *plan, tally_rank_words *buffer);

/* Where the engine reads and writes. */
int64_t *tally_rank_at_engine(const tally_rank_plan *plan, const tally_rank_words *buffer);

/* Before an exchange: brings words that the device, or the host, has written to where the engine reads them. After it:
 * brings what the engine has written to where the device, or the host, reads it. */
tally_status tally_rank_from_device(const tally_rank_plan *plan, tally_rank_words *buffer, uint64_t first, uint64_t n);
tally_status tally_rank_to_device(const tally_rank_plan *plan, tally_rank_words *buffer, uint64_t first, uint64_t n);
tally_status tally_rank_from_host(const tally_rank_plan *plan, tally_rank_words *buffer, uint64_t first, uint64_t n);
tally_status tally_rank_to_host(const tally_rank_plan *plan, tally_rank_words *buffer, uint64_t first, uint64_t n);

#endif
