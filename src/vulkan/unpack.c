/* Unpacks the modules of SPIR-V that the build packed: modules.h has the format, pack.c the other way. */
#include <string.h>

#include "vulkan/modules.h"
#include "vulkan/spirv.h"

static uint32_t next(const unsigned char **at) {
    uint32_t word = 0;
    unsigned shift = 0;
    do {
        word |= (uint32_t)(**at & 127) << shift;
        shift += 7;
    } while (*(*at)++ & 128);
    return word;
}

static uint32_t *unpack_head(const uint32_t *firsts, const unsigned char **at, uint32_t *to) {
    for (int k = 0; k < TALLY_SPIRV_HEADER_WORDS; k++)
        *to++ = next(at);
    for (uint32_t first; (first = firsts[next(at)]) != TALLY_VULKAN_HEAD_ENDS;) {
        *to++ = first;
        for (uint32_t k = 1; k < tally_spirv_length(first); k++)
            *to++ = next(at);
    }
    return to;
}

/* A function's listed ids. */
typedef struct list {
    const unsigned char *names, *others, *news;
    uint32_t left, until_other; /* ids that are not those of their names, and how many come before the next */
} list;

static list list_of(const unsigned char **body, const unsigned char **at) {
    const uint32_t name_bytes = next(body), count = next(at);
    list l = {.names = *body, .others = *at, .left = count};
    *body += name_bytes;
    for (uint32_t k = 0; k < 2 * count; k++)
        next(at);
    l.news = *at;
    if (count)
        l.until_other = next(&l.others);
    return l;
}

/* 'id_of' has the ids of names, plus 1; 0: none yet. */
static uint32_t next_listed(list *l, uint32_t *id_of) {
    uint32_t *const known = &id_of[next(&l->names)];
    if (l->left && l->until_other-- == 0) {
        *known = next(&l->others) + 1;
        if (--l->left)
            l->until_other = next(&l->others) - 1;
    } else if (!*known) {
        *known = next(&l->news) + 1;
    }
    return *known - 1;
}

/* 'largest' is that of the ids of the functions so far. */
static uint32_t *unpack_function(const uint32_t *firsts, const unsigned char *body, const unsigned char **at,
                                 uint32_t *largest, uint32_t *ids, uint32_t *id_of, uint32_t *to) {
    uint32_t first, seen = 0;
    list l = list_of(&body, at);
    do {
        first = *to++ = firsts[next(&body)];
        for (uint32_t k = 1; k < tally_spirv_length(first); k++) {
            const uint32_t code = next(&body);
            if (code == TALLY_VULKAN_LITERAL) {
                *to++ = next(&body);
                continue;
            }
            const uint32_t id = code == TALLY_VULKAN_NEXT     ? *largest + 1
                                : code == TALLY_VULKAN_LISTED ? next_listed(&l, id_of)
                                                              : ids[seen - 1 - (code - TALLY_VULKAN_AGAIN)];
            if (code < TALLY_VULKAN_AGAIN)
                ids[seen++] = id;
            if (id > *largest)
                *largest = id;
            *to++ = id;
        }
    } while (tally_spirv_opcode(first) != SpvOpFunctionEnd);
    *at = l.news;
    return to;
}

void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *ids,
                         uint32_t *words) {
    const unsigned char *at = packed->bytes;
    const uint32_t *end = words + packed->count;
    uint32_t *const id_of = ids + bodies->most_ids;
    uint32_t largest = 0, *to = unpack_head(bodies->firsts, &at, words);
    memset(id_of, 0, bodies->names * sizeof *id_of);
    while (to < end) {
        const unsigned char *body = bodies->bytes + bodies->at[next(&at)];
        to = unpack_function(bodies->firsts, body, &at, &largest, ids, id_of, to);
    }
}
