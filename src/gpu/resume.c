/* tally_resume with exact states of floats. Kernels keep those between pieces as limbs or words of their own, and no
 * kernel reads the public words into them: a caller resumes once, so the host does it for all columns. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "core/words_check.h"
#include "exact/words.h"
#include "gpu/pieces.h"

static tally_status read_words(const tally_words_form *form, const int64_t *words, uint64_t state,
                               tally_superaccumulator sums[2]) {
    const tally_status status = tally_words_check(form, words, state);
    if (status != TALLY_OK)
        return status;
    const char *reason = tally_superaccumulator_of_words(form, words, &sums[0]);
    if (!reason && form->squares)
        reason = tally_squares_of_words(form, words, &sums[1]);
    return reason ? tally_fail(TALLY_BAD_STATE, "words of state %" PRIu64 ": %s", state, reason) : TALLY_OK;
}

static uint32_t saw_of(const tally_superaccumulator *sum) {
    return (sum->nans ? TALLY_GPU_SAW_NAN : 0u) | (sum->positive_infinities ? TALLY_GPU_SAW_PLUS : 0u) |
           (sum->negative_infinities ? TALLY_GPU_SAW_MINUS : 0u) | (sum->others ? TALLY_GPU_SAW_OTHER : 0u);
}

/* Makes the states of the words; *rows becomes the number of elements that each stands for. */
static tally_status make_states(const tally_gpu_plan *plan, const tally_words_form *form, const int64_t *words,
                                uint64_t columns, char *states, uint64_t *rows) {
    tally_superaccumulator sums[2];
    tally_status status = TALLY_OK;
    for (uint64_t j = 0; j < columns && status == TALLY_OK; j++) {
        if ((status = read_words(form, words + j * form->count, j, sums)) != TALLY_OK)
            return status;
        if (j && sums[0].count != *rows)
            return tally_fail(TALLY_BAD_STATE,
                              "words of state %" PRIu64 ": they stand for %" PRIu64
                              " elements, those before for %" PRIu64,
                              j, sums[0].count, *rows);
        *rows = sums[0].count;
        status = plan->calls->put_exact(&plan->base.computation, sums, form->squares ? 2 : 1, saw_of(&sums[0]),
                                        states + j * plan->total_bytes);
    }
    return status;
}

/* 'words' and 'states' have room for all columns. */
static tally_status resume(tally_gpu_plan *plan, const tally_words_form *form, const int64_t *given, uint64_t columns,
                           int64_t *words, char *states) {
    tally_device *const device = plan->base.device;
    uint64_t rows = 0;
    tally_status status = device->interface->copy(device, words, given, columns * form->count * sizeof *words);
    if (status == TALLY_OK)
        status = make_states(plan, form, words, columns, states, &rows);
    if (status == TALLY_OK)
        status = tally_gpu_begin_pieces(plan, columns, NULL);
    if (status == TALLY_OK)
        status = plan->calls->fill(device, &plan->totals[0], states, columns * plan->total_bytes);
    if (status != TALLY_OK)
        return status;
    plan->input.rows = rows;
    plan->resumed = true;
    return TALLY_OK;
}

tally_status tally_gpu_resume_exact(tally_gpu_plan *plan, const tally_words_form *form, const int64_t *words,
                                    uint64_t columns) {
    if (!columns)
        return tally_gpu_begin_pieces(plan, 0, NULL);
    tally_status status = plan->calls->check_pointer(plan->base.device, "words", words);
    if (status != TALLY_OK)
        return status;
    int64_t *const copy = calloc(columns, form->count * sizeof *copy);
    char *const states = calloc(columns, plan->total_bytes);
    status = copy && states ? resume(plan, form, words, columns, copy, states)
                            : tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " states", columns);
    free(copy);
    free(states);
    return status;
}
