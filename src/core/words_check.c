/* What is asked of words by descriptors, which are decided here first. */
#include "core/words_check.h"

#include <inttypes.h>

#include "core/computation.h"
#include "core/status.h"

/* The name of the operation that these words do belong to, or NULL. */
static const char *find_name(const tally_words_form *form, const int64_t *words, char name[TALLY_WORDS_NAME_BYTES]) {
    for (int op = 0; op < TALLY_USER; op++)
        for (int in = TALLY_I8; in < TALLY_DTYPE_COUNT; in++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                tally_desc desc = TALLY_DESC_INIT;
                tally_computation c;
                tally_words_form other;
                desc.op = (tally_op)op;
                desc.in = (tally_dtype)in;
                desc.mode = (tally_mode)mode;
                if (tally_computation_decide(&desc, &c) == TALLY_OK && tally_words_form_of(&c, &other) == TALLY_OK &&
                    other.count == form->count && other.tag != form->tag && tally_words_are_whole(&other, words)) {
                    tally_words_name(&c.desc, c.monoid, &other, name);
                    return name;
                }
            }
    return NULL;
}

tally_status tally_words_check(const tally_words_form *form, const int64_t *words, uint64_t state) {
    char name[TALLY_WORDS_NAME_BYTES];
    if (tally_words_are_whole(form, words))
        return TALLY_OK;
    if (find_name(form, words, name))
        return tally_fail(TALLY_BAD_STATE, "words of state %" PRIu64 ": they are those of another operation, %s", state,
                          name);
    return tally_words_refuse(state);
}

/* ---- the public questions ---- */

tally_status tally_words_describe(const tally_desc *desc, tally_words_info *info) {
    if (!desc || !info)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_words_describe: NULL where a descriptor and a place for the "
                                                  "answer are expected");
    if (info->struct_size != sizeof *info)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_words_info.struct_size is %zu; set it to sizeof(tally_words_info), %zu",
                          info->struct_size, sizeof *info);
    tally_computation c;
    tally_words_form form;
    tally_status status = tally_computation_decide(desc, &c);
    if (status == TALLY_OK)
        status = tally_words_form_of(&c, &form);
    if (status != TALLY_OK)
        return status;
    info->count = form.count;
    info->rule = form.rule;
    info->nothing = form.kind == TALLY_WORDS_EXTREMES ? INT64_MIN : 0;
    return TALLY_OK;
}
