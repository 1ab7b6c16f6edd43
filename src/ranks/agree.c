/* Agreements. Each rank gives a digest of all that the ranks must have alike, and its status; the largest of the digest
 * and of its complement over the ranks belong together only if all digests are equal. If they are not, or a rank has
 * failed, all ranks gather what each has to say, and name the first that is to blame. The first three words and the
 * gathered record are the same in every version, so that ranks of different versions find out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "ranks/ranks.h"

enum { AT_DIGEST, AT_COMPLEMENT, AT_STATUS, WORDS };
enum { RECORD = TALLY_RANK_TEXT_WORDS + 2 }; /* digest, status, text */

static const char *or_unknown(const char *name) {
    return name ? name : "unknown";
}

/* What the ranks must have alike, for people. Without arguments a rank only compares descriptors. */
static void describe(const tally_rank_plan *plan, char text[TALLY_RANK_TEXT_WORDS * 8]) {
    const tally_desc *d = &plan->computation.desc;
    int n = snprintf(text, TALLY_RANK_TEXT_WORDS * 8,
                     "tally %s: %s of %s in %s to %s, %s, %s, %s, index %s, ddof %d, flags %u, split %d, %s",
                     tally_version(), or_unknown(tally_op_name(d->op)), or_unknown(tally_dtype_name(d->in)),
                     or_unknown(tally_dtype_name(d->acc)), or_unknown(tally_dtype_name(d->out)),
                     or_unknown(tally_form_name(d->form)), or_unknown(tally_grouping_name(d->grouping)),
                     or_unknown(tally_mode_name(d->mode)), or_unknown(tally_dtype_name(d->index)), d->ddof, d->flags,
                     (int)plan->options.split,
                     !plan->args           ? "no arguments"
                     : plan->args->initial ? "initial 1"
                                           : "initial 0");
    if (!plan->args)
        return;
    const tally_shape *const s = &plan->args->shape;
    if (d->grouping == TALLY_AXIS && plan->options.split == TALLY_SPLIT_EXTENT)
        snprintf(text + n, TALLY_RANK_TEXT_WORDS * 8 - (size_t)n, ", outer %" PRIu64 ", inner %" PRIu64, s->outer,
                 s->inner);
    else if (d->grouping == TALLY_LABELS)
        snprintf(text + n, TALLY_RANK_TEXT_WORDS * 8 - (size_t)n, ", %" PRIu64 " groups", s->groups);
}

/* FNV-1a of the text, and of the byte order that words have. */
static int64_t digest_of(const tally_rank_plan *plan) {
    char text[TALLY_RANK_TEXT_WORDS * 8];
    const int64_t one = 1;
    uint64_t h = UINT64_C(0xcbf29ce484222325) + *(const unsigned char *)&one;
    describe(plan, text);
    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
    return (int64_t)h;
}

static void post(tally_rank_plan *plan, tally_exchange_kind kind, tally_rank_words *to, size_t words) {
    tally_rank_keep(plan, tally_rank_from_host(plan, &plan->agreement, 0, words));
    plan->exchange =
        (tally_exchange){kind, tally_rank_at_engine(plan, &plan->agreement), tally_rank_at_engine(plan, to), words};
}

/* What every rank says of the first one that is to blame: who has failed, or else who differs from rank 0. */
static tally_status blame(const tally_rank_plan *plan) {
    const int64_t *const records = plan->gather.host;
    const uint64_t ranks = plan->options.ranks;
    for (uint64_t r = 0; r < ranks; r++) {
        const int64_t *const record = records + r * RECORD;
        const bool is_status = record[1] > TALLY_OK && record[1] < TALLY_STATUS_COUNT;
        if (record[1] != TALLY_OK)
            return tally_fail(is_status ? (tally_status)record[1] : TALLY_BAD_STATE, "rank %" PRIu64 ": %.*s", r,
                              TALLY_RANK_TEXT_WORDS * 8 - 1, (const char *)(record + 2));
    }
    for (uint64_t r = 1; r < ranks; r++) {
        const int64_t *const record = records + r * RECORD;
        if (record[0] != records[0])
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "the ranks do not compute the same thing: rank %" PRIu64 " has %.*s; rank 0 has %.*s", r,
                              TALLY_RANK_TEXT_WORDS * 8 - 1, (const char *)(record + 2), TALLY_RANK_TEXT_WORDS * 8 - 1,
                              (const char *)(records + 2));
    }
    return tally_fail(TALLY_BAD_STATE, "the ranks' agreement was damaged on its way");
}

static void end_with_blame(tally_rank_plan *plan) {
    tally_status status = tally_rank_to_host(plan, &plan->gather, 0, RECORD * plan->options.ranks);
    plan->status = TALLY_OK;
    tally_rank_keep(plan, status == TALLY_OK ? blame(plan) : status);
    tally_rank_end(plan);
}

void tally_rank_explain(tally_rank_plan *plan) {
    int64_t *const record = plan->agreement.host;
    record[0] = digest_of(plan);
    record[1] = (int64_t)plan->status;
    memset(record + 2, 0, TALLY_RANK_TEXT_WORDS * sizeof *record);
    if (tally_rank_is_well(plan))
        describe(plan, (char *)(record + 2));
    else
        memcpy(record + 2, plan->text, TALLY_RANK_TEXT_WORDS * sizeof *record);
    post(plan, TALLY_EXCHANGE_GATHER, &plan->gather, RECORD);
    plan->step = end_with_blame;
}

static void compare(tally_rank_plan *plan) {
    const int64_t *const words = plan->agreement.host;
    tally_rank_keep(plan, tally_rank_to_host(plan, &plan->agreement, 0, WORDS));
    const bool all_equal = words[AT_DIGEST] == -1 - words[AT_COMPLEMENT];
    plan->step = all_equal && words[AT_STATUS] == TALLY_OK ? plan->after_agreement : tally_rank_explain;
}

void tally_rank_agree(tally_rank_plan *plan, tally_rank_step *step) {
    if (plan->options.flags & TALLY_RANK_TRUSTED) {
        plan->step = tally_rank_is_well(plan) ? step : tally_rank_end;
        return;
    }
    int64_t *const words = plan->agreement.host;
    words[AT_DIGEST] = digest_of(plan);
    words[AT_COMPLEMENT] = -1 - words[AT_DIGEST];
    words[AT_STATUS] = (int64_t)plan->status;
    plan->after_agreement = step;
    post(plan, TALLY_EXCHANGE_MAX, &plan->agreement, WORDS);
    plan->step = compare;
}

/* ---- as part of other words ---- */

void tally_rank_sign(const tally_rank_plan *plan, int64_t *words) {
    words[0] = digest_of(plan);
    words[1] = (int64_t)plan->status;
}

bool tally_rank_signatures_agree(const tally_rank_plan *plan, const int64_t *words, size_t stride) {
    if (plan->options.flags & TALLY_RANK_TRUSTED)
        return true;
    for (uint64_t r = 0; r < plan->options.ranks; r++)
        if (words[r * stride] != words[0] || words[r * stride + 1] != TALLY_OK)
            return false;
    return true;
}
