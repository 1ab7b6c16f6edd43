/* Unpacks the modules of SPIR-V that the build packed: modules.h has the format, pack.c the other way. */
#include <string.h>

#include "vulkan/modules.h"
#include "vulkan/spirv.h"

/* What a module is unpacked with. */
typedef struct unpacker {
    const tally_vulkan_bodies *bodies;
    uint32_t *ids;         /* those that the function has named, in that order */
    uint32_t *id_of;       /* a name's id, plus 1; 0: none yet */
    uint32_t largest;      /* of the ids of the functions so far */
    uint32_t body, new_id; /* of the function before; of the last new name */
} unpacker;

static inline uint32_t next(const unsigned char **at) {
    uint32_t word = 0;
    unsigned shift = 0;
    do {
        word |= (uint32_t)(**at & 127) << shift;
        shift += 7;
    } while (*(*at)++ & 128);
    return word;
}

static uint32_t *unpack_head(const unpacker *u, const unsigned char **at, uint32_t *to) {
    uint32_t largest = 0;
    for (int k = 0; k < TALLY_SPIRV_HEADER_WORDS; k++)
        *to++ = next(at);
    for (uint32_t first; (first = u->bodies->firsts[next(at)]) != TALLY_VULKAN_HEAD_ENDS;) {
        *to++ = first;
        for (uint32_t k = 1; k < tally_spirv_length(first); k++)
            *to++ = tally_vulkan_head_word(&largest, next(at));
    }
    return to;
}

/* A function's listed ids. */
typedef struct list {
    const unsigned char *names, *others, *news;
    uint32_t left, until_other; /* ids that are not those of their names, and how many come before the next */
} list;

static list list_of(const unsigned char **body, const unsigned char **at) {
    const uint32_t names = next(body), count = next(at);
    list l = {.names = *body, .others = *at, .left = count};
    for (uint32_t k = 0; k < names; k++)
        next(body);
    for (uint32_t k = 0; k < count; k++) {
        next(at);
        next(at);
    }
    l.news = *at;
    if (count)
        l.until_other = next(&l.others);
    return l;
}

static uint32_t next_listed(unpacker *u, list *l) {
    uint32_t *const known = &u->id_of[next(&l->names)];
    if (l->left && l->until_other-- == 0) {
        *known += tally_vulkan_unfolded(next(&l->others));
        if (--l->left)
            l->until_other = next(&l->others) - 1;
    } else if (!*known) {
        u->new_id += tally_vulkan_unfolded(next(&l->news));
        *known = u->new_id + 1;
    }
    return *known - 1;
}

static uint32_t *unpack_function(unpacker *u, const unsigned char *body, const unsigned char **at, uint32_t *to) {
    uint32_t first, seen = 0;
    list l = list_of(&body, at);
    do {
        first = *to++ = u->bodies->firsts[next(&body)];
        for (uint32_t k = 1; k < tally_spirv_length(first); k++) {
            const uint32_t code = next(&body);
            if (code == TALLY_VULKAN_LITERAL) {
                *to++ = next(&body);
                continue;
            }
            const uint32_t id = code == TALLY_VULKAN_NEXT     ? u->largest + 1
                                : code == TALLY_VULKAN_LISTED ? next_listed(u, &l)
                                                              : u->ids[seen - 1 - (code - TALLY_VULKAN_AGAIN)];
            if (code < TALLY_VULKAN_AGAIN)
                u->ids[seen++] = id;
            if (id > u->largest)
                u->largest = id;
            *to++ = id;
        }
    } while (tally_spirv_opcode(first) != SpvOpFunctionEnd);
    *at = l.news;
    return to;
}

void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *scratch,
                         uint32_t *words) {
    unpacker u = {.bodies = bodies, .ids = scratch, .id_of = scratch + bodies->most_ids};
    const unsigned char *at = bodies->bytes + packed->at;
    const uint32_t *const end = words + packed->count;
    memset(u.id_of, 0, bodies->names * sizeof *u.id_of);
    uint32_t *to = unpack_head(&u, &at, words);
    while (to < end) {
        u.body += 1 + tally_vulkan_unfolded(next(&at));
        to = unpack_function(&u, bodies->bytes + bodies->at[u.body], &at, to);
    }
}
