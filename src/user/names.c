#include <string.h>

#include "user/reader.h"

void *tally_user_allocate(reader *r, size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > READER_ROOM - r->used) {
        tally_user_fail(r, TALLY_UNSUPPORTED, "the text is too long");
        r->used = 0;
    }
    void *const made = r->tree->room + r->used;
    r->used += bytes;
    memset(made, 0, bytes);
    return made;
}

/* Back ends walk the tree by recursion, so its depth is limited. */
node *tally_user_node(reader *r, node of) {
    const node *const operands[] = {of.a, of.b, of.c};
    node *const made = tally_user_allocate(r, sizeof *made);
    for (int k = 0; k < 3 && r->status == TALLY_OK; k++)
        for (const node *n = operands[k]; n; n = n->next) {
            of.depth = n->depth >= of.depth ? n->depth + 1 : of.depth;
            of.calls |= n->calls;
        }
    if (of.depth > MOST_NODE_DEPTH)
        tally_user_fail(r, TALLY_UNSUPPORTED, "the text is nested too deeply");
    *made = of;
    return made;
}

node *tally_user_integer(reader *r, uint64_t bits, kind k) {
    return tally_user_node(r, (node){.what = NODE_NUMBER, .type = {k, NULL, 0}, .bits = bits});
}

void tally_user_append(reader *r, list *all, const node *n) {
    if (!n)
        return;
    node *const made = tally_user_node(r, *n);
    made->next = NULL;
    if (all->last)
        all->last->next = made;
    else
        all->first = made;
    all->last = made;
}

const variable *tally_user_declare(reader *r, const char *name, type of, bool constant) {
    variable *const made = tally_user_allocate(r, sizeof *made);
    if (r->name_count == MOST_NAMES || r->tree->variables == MOST_VARIABLES) {
        tally_user_fail(r, TALLY_UNSUPPORTED, "there are too many names");
        return made;
    }
    memmove(made->name, name, strlen(name) + 1);
    made->type = of;
    made->constant = constant;
    made->number = r->tree->variables++;
    r->names[r->name_count++] = made;
    return made;
}

const variable *tally_user_find(const reader *r, const char *name) {
    for (int k = r->name_count; k > 0; k--)
        if (strcmp(r->names[k - 1]->name, name) == 0)
            return r->names[k - 1];
    return NULL;
}
