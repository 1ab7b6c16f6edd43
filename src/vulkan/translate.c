#include "vulkan/translate.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"
#include "vulkan/translate/translator.h"

enum { MOST_ACCUMULATOR = 64 /* bytes, which registers and shared memory must hold */ };

static kind kind_of(tally_dtype dtype) {
    static const kind kinds[] = {
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, precision, value, ...) [TALLY_##ENUMERATOR] = KIND_##value,
#include "core/dtypes.def"
    };
    return kinds[dtype];
}

/* "acc_t NAME(...) {" and what stands before the text, the text, "}" */
static void add_function(translator *t, const char *head, const char *source, const char *text) {
    tally_text_print(t->out, "%s\n", head);
    tally_translate_begin(t, source, text);
    tally_translate_body(t);
    tally_text_add(t->out, "}\n");
    t->name_count = 0;
}

static const structure *find_accumulator(translator *t) {
    for (int k = 0; k < t->structure_count; k++)
        if (strcmp(t->structures[k].name, "acc_t") == 0)
            return &t->structures[k];
    tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "no struct acc_t is declared");
    return NULL;
}

static void add_all(translator *t, const tally_computation *c) {
    const tally_user_op *const user = &c->user;
    const type size = {KIND_U64, NULL, 0}, element = {kind_of(c->desc.in), NULL, 0};
    tally_translate_begin(t, "acc_source", user->acc_source);
    tally_translate_declarations(t);
    const structure *const accumulator = find_accumulator(t);
    const type acc = {KIND_STRUCT, accumulator, 0};
    if (accumulator && accumulator->bytes > MOST_ACCUMULATOR)
        tally_translate_fail(t, TALLY_UNSUPPORTED,
                             "the accumulator takes %u bytes, small members 4 each, and %d at most "
                             "are kept in registers",
                             accumulator->bytes, MOST_ACCUMULATOR);
    if (!accumulator || t->status != TALLY_OK)
        return;
    t->result = acc;
    t->result_begin = t->result_end = "";
    add_function(t, "acc_t identity() {", "identity_source", user->identity_source);
    tally_translate_declare(t, "x", element, true);
    tally_translate_declare(t, "index", size, true);
    t->result = acc;
    add_function(t, "acc_t lift(VALUE x0, VALUE y, wide i) {\n    const uint64_t index0 = u64_of(i);", "lift_source",
                 user->lift_source);
    tally_translate_declare(t, "left", acc, true);
    tally_translate_declare(t, "right", acc, true);
    add_function(t, "acc_t combine(acc_t left0, acc_t right0) {", "combine_source", user->combine_source);
    tally_translate_declare(t, "acc", acc, true);
    tally_translate_declare(t, "count", size, true);
    t->result = (type){tally_dtype_is_float(c->desc.out) ? KIND_AUTO : kind_of(c->desc.out), NULL, 0};
    t->result_begin = "single(output_of(";
    t->result_end = "))";
    add_function(t, "result_t lower(acc_t acc0, wide count, wide start) {\n    const uint64_t count0 = u64_of(count);",
                 "lower_source", user->lower_source);
}

tally_status tally_vulkan_translate(const tally_computation *c, tally_vulkan_operator *made) {
    translator *t = calloc(1, sizeof *t);
    *made = (tally_vulkan_operator){.slot = {4, 4}};
    if (!t || !(t->room = malloc(TRANSLATOR_ROOM))) {
        free(t);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a user operator's text");
    }
    t->out = &made->text;
    add_all(t, c);
    tally_status status = t->status;
    if (status != TALLY_OK)
        (void)tally_fail(status, "user operator%s%.60s%s on Vulkan: %s", c->user.name ? " '" : "",
                         c->user.name ? c->user.name : "", c->user.name ? "'" : "", t->message);
    else if (made->text.failed)
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a user operator's text");
    if (status == TALLY_OK) {
        const structure *const accumulator = find_accumulator(t);
        made->slot = (tally_vulkan_slot){accumulator->bytes, accumulator->alignment};
        made->has_double = t->uses_double || kind_of(c->desc.in) == KIND_F64;
    } else {
        free(made->text.bytes);
        made->text = (tally_text){0};
    }
    free(t->room);
    free(t);
    return status;
}
