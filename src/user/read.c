#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"
#include "user/reader.h"

static const structure *find_accumulator(reader *r) {
    for (int k = 0; k < r->tree->structure_count; k++)
        if (strcmp(r->tree->structures[k].name, "acc_t") == 0)
            return &r->tree->structures[k];
    tally_user_fail(r, TALLY_INVALID_ARGUMENT, "no struct acc_t is declared");
    return NULL;
}

typedef struct parameter {
    const char *name;
    type type;
} parameter;

static void read_text(reader *r, const char *source, const char *text, type result, const parameter *parameters,
                      int count, function *made) {
    tally_user_begin(r, source, text);
    *made = (function){.result = result, .count = count};
    for (int k = 0; k < count; k++)
        made->parameters[k] = tally_user_declare(r, parameters[k].name, parameters[k].type, true);
    r->result = result;
    made->body = tally_user_body(r);
}

static void read_all(reader *r, const tally_computation *c) {
    const tally_user_op *const user = &c->user;
    const type size = {KIND_U64, NULL, 0}, element = {tally_user_kind(c->desc.in), NULL, 0};
    const type result = {tally_dtype_is_float(c->desc.out) ? KIND_AUTO : tally_user_kind(c->desc.out), NULL, 0};
    tally_user_begin(r, "acc_source", user->acc_source);
    tally_user_declarations(r);
    r->tree->accumulator = find_accumulator(r);
    if (!r->tree->accumulator)
        return;
    const type acc = {KIND_STRUCT, r->tree->accumulator, 0};
    if (acc.structure->bytes > r->limits->most_accumulator)
        tally_user_fail(r, TALLY_UNSUPPORTED,
                        "the accumulator takes %u bytes, small members 4 each, and %u at most are kept in registers",
                        acc.structure->bytes, r->limits->most_accumulator);
    const parameter lift[] = {{"x", element}, {"index", size}}, combine[] = {{"left", acc}, {"right", acc}},
                    lower[] = {{"acc", acc}, {"count", size}};
    read_text(r, "identity_source", user->identity_source, acc, NULL, 0, &r->tree->identity);
    read_text(r, "lift_source", user->lift_source, acc, lift, 2, &r->tree->lift);
    read_text(r, "combine_source", user->combine_source, acc, combine, 2, &r->tree->combine);
    read_text(r, "lower_source", user->lower_source, result, lower, 2, &r->tree->lower);
}

tally_status tally_user_read(const tally_computation *c, const tally_user_limits *limits, tally_user_tree **tree) {
    reader r = {.limits = limits, .tree = calloc(1, sizeof *r.tree)};
    if (!r.tree || !(r.tree->room = malloc(READER_ROOM))) {
        free(r.tree);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a user operator's text");
    }
    read_all(&r, c);
    if (r.status == TALLY_OK) {
        r.tree->uses_double |= tally_user_kind(c->desc.in) == KIND_F64;
        *tree = r.tree;
        return TALLY_OK;
    }
    tally_user_free(r.tree);
    return tally_fail(r.status, "user operator%s%.60s%s on %s: %s", c->user.name ? " '" : "",
                      c->user.name ? c->user.name : "", c->user.name ? "'" : "", limits->where, r.message);
}

void tally_user_free(tally_user_tree *tree) {
    if (tree)
        free(tree->room);
    free(tree);
}
