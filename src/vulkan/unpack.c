/* Unpacks the modules of SPIR-V that the build packed: modules.h has the format, pack.c the other way. */
#include <stdbool.h>
#include <string.h>

#include "vulkan/modules.h"
#include "vulkan/spirv.h"

/* A place among packed bits: the next ones, from the top down, how many these are, and the bytes that follow. */
typedef struct place {
    const unsigned char *bytes;
    uint64_t bits;
    unsigned count;
} place;

/* What a module is unpacked with. */
typedef struct unpacker {
    const tally_vulkan_bodies *bodies;
    uint16_t *tables;      /* by kind and the next CODE_BITS bits: byte + 256 * the bits of its code */
    uint32_t *ids;         /* those that the function has named, in that order */
    uint32_t *id_of;       /* a name's id, plus 1; 0: none yet */
    uint32_t largest;      /* of the ids of the functions so far */
    uint32_t body, new_id; /* of the function before; of the last new name */
} unpacker;

static void make_tables(const unsigned char (*lengths)[256], uint16_t *to) {
    for (uint32_t kind = 0; kind < TALLY_VULKAN_KINDS; kind++) {
        uint16_t *entry = to + (kind << TALLY_VULKAN_CODE_BITS);
        for (uint32_t length = 1; length <= TALLY_VULKAN_CODE_BITS; length++)
            for (uint32_t byte = 0; byte < 256; byte++)
                if (lengths[kind][byte] == length)
                    for (uint32_t k = 0; k < 1u << (TALLY_VULKAN_CODE_BITS - length); k++)
                        *entry++ = (uint16_t)(byte | length << 8);
    }
}

static inline void take(place *at, unsigned bits) {
    at->bits <<= bits;
    at->count -= bits;
}
static inline void have_bits(place *at) {
    if (at->count < TALLY_VULKAN_CODE_BITS) {
        const unsigned char *const b = at->bytes;
        const uint32_t more = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        at->bits |= (uint64_t)more << (32 - at->count);
        at->count += 32;
        at->bytes += sizeof more;
    }
}
static place place_of(const unsigned char *bytes, uint32_t bit) {
    place at = {bytes + bit / 8, 0, 0};
    have_bits(&at);
    take(&at, bit % 8);
    return at;
}

static inline uint32_t next(const unpacker *u, place *at, tally_vulkan_kind kind) {
    const uint16_t *const table = u->tables + ((uint32_t)kind << TALLY_VULKAN_CODE_BITS);
    uint32_t word = 0, entry;
    unsigned shift = 0;
    do {
        have_bits(at);
        entry = table[at->bits >> (64 - TALLY_VULKAN_CODE_BITS)];
        take(at, entry >> 8);
        word |= (entry & 127) << shift;
        shift += 7;
    } while (entry & 128);
    return word;
}

static uint32_t *unpack_head(const unpacker *u, place *at, uint32_t *to) {
    tally_vulkan_head head = {0, 0};
    for (int k = 0; k < TALLY_SPIRV_HEADER_WORDS; k++)
        *to++ = next(u, at, TALLY_VULKAN_HEAD);
    for (uint32_t first; (first = u->bodies->firsts[next(u, at, TALLY_VULKAN_HEAD)]) != TALLY_VULKAN_HEAD_ENDS;) {
        const bool of_entry = tally_spirv_opcode(first) == SpvOpEntryPoint;
        const tally_vulkan_kind kind = of_entry ? TALLY_VULKAN_ENTRY_OPERAND : TALLY_VULKAN_HEAD_OPERAND;
        *to++ = first;
        for (uint32_t k = 1; k < tally_spirv_length(first); k++)
            *to++ = tally_vulkan_head_word(&head, of_entry, next(u, at, tally_vulkan_operand_kind(kind, k)));
    }
    return to;
}

/* A function's listed ids. */
typedef struct list {
    place names, others, news;
    uint32_t left, until_other; /* ids that are not those of their names, and how many come before the next */
} list;

static void skip(const unpacker *u, place *at, tally_vulkan_kind kind, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        next(u, at, kind);
}

static list list_of(const unpacker *u, place *body, place *at) {
    const uint32_t names = next(u, body, TALLY_VULKAN_NAME), count = next(u, at, TALLY_VULKAN_COUNT);
    list l = {.names = *body, .others = *at, .left = count};
    skip(u, body, TALLY_VULKAN_NAME, names);
    for (uint32_t k = 0; k < count; k++) {
        next(u, at, TALLY_VULKAN_DISTANCE);
        next(u, at, TALLY_VULKAN_OTHER_ID);
    }
    l.news = *at;
    if (count)
        l.until_other = next(u, &l.others, TALLY_VULKAN_DISTANCE);
    return l;
}

static uint32_t next_listed(unpacker *u, list *l) {
    uint32_t *const known = &u->id_of[next(u, &l->names, TALLY_VULKAN_NAME)];
    if (l->left && l->until_other-- == 0) {
        *known += tally_vulkan_unfolded(next(u, &l->others, TALLY_VULKAN_OTHER_ID));
        if (--l->left)
            l->until_other = next(u, &l->others, TALLY_VULKAN_DISTANCE) - 1;
    } else if (!*known) {
        u->new_id += tally_vulkan_unfolded(next(u, &l->news, TALLY_VULKAN_NEW_ID));
        *known = u->new_id + 1;
    }
    return *known - 1;
}

static uint32_t *unpack_function(unpacker *u, place body, place *at, uint32_t *to) {
    uint32_t first, seen = 0;
    list l = list_of(u, &body, at);
    do {
        first = *to++ = u->bodies->firsts[next(u, &body, TALLY_VULKAN_FIRST)];
        for (uint32_t k = 1; k < tally_spirv_length(first); k++) {
            const uint32_t code = next(u, &body, tally_vulkan_operand_kind(TALLY_VULKAN_OPERAND, k));
            if (code == TALLY_VULKAN_LITERAL) {
                *to++ = next(u, &body, TALLY_VULKAN_LITERAL_WORD);
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
    unpacker u = {.bodies = bodies, .tables = (uint16_t *)scratch, .ids = scratch + TALLY_VULKAN_TABLE_WORDS};
    place at = place_of(packed->bytes, 0);
    const uint32_t *const end = words + packed->count;
    u.id_of = u.ids + bodies->most_ids;
    memset(u.id_of, 0, bodies->names * sizeof *u.id_of);
    make_tables(bodies->lengths, u.tables);
    uint32_t *to = unpack_head(&u, &at, words);
    while (to < end) {
        u.body += 1 + tally_vulkan_unfolded(next(&u, &at, TALLY_VULKAN_BODY));
        to = unpack_function(&u, place_of(bodies->bytes, bodies->at[u.body]), &at, to);
    }
}
