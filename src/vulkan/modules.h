/* The kernels that were compiled when the library was built: modules of SPIR-V without names, packed.
 *
 * The modules consist of the same functions over and over: of some 15,000 in 76 modules about 1,100 differ in more than
 * the numbers of their ids. So a function is packed as a body, which modules share. An instruction is the number of its
 * first word, which has its opcode and its length, and its operands. In a body an operand is one of
 *
 *   LITERAL v   the value v, which is no id of the module
 *   NEXT        an id that the function has not named yet: the largest of all functions so far, plus 1
 *   LISTED      another such id: the body has a name for it
 *   AGAIN + d   the id that the function named first d + 1 ids ago
 *
 * Names are numbers that all bodies share. A module mostly has one id for a name, which it tells when the name first
 * comes; another one it tells each time.
 *
 * Ids are numbered by where they first stand (spirv-opt --compact-ids), so most new ones are NEXT. Which operands are
 * ids nobody needs to know: small literals are packed like ids and come out the same.
 *
 * All numbers are written seven bits a byte, the lowest first; the top bit says that more follow. A byte is then
 * written in the canonical Huffman code of its kind, the code's first bit first: shorter codes come before longer ones,
 * and those of a length are in the order of the bytes. */
#ifndef TALLY_VULKAN_MODULES_H
#define TALLY_VULKAN_MODULES_H

#include <stdbool.h>

#include "vulkan/arithmetic.h"

enum { TALLY_VULKAN_LITERAL, TALLY_VULKAN_NEXT, TALLY_VULKAN_LISTED, TALLY_VULKAN_AGAIN };
enum { TALLY_VULKAN_HEAD_ENDS = 1 << 16 /* OpNop */ };

/* What a number is. */
typedef enum tally_vulkan_kind {
    TALLY_VULKAN_HEAD,         /* a word of the header, or a first word before the functions */
    TALLY_VULKAN_HEAD_OPERAND, /* an operand there, by its place as in a body; */
    TALLY_VULKAN_ENTRY_OPERAND = TALLY_VULKAN_HEAD_OPERAND + 3, /* of an entry point */
    TALLY_VULKAN_BODY = TALLY_VULKAN_ENTRY_OPERAND + 3,         /* a function's: its distance from the one before */
    TALLY_VULKAN_COUNT,        /* of listed ids that are not those of their names before */
    TALLY_VULKAN_DISTANCE,     /* of such an id from the one before, */
    TALLY_VULKAN_OTHER_ID,     /* and how it differs from the name's id before */
    TALLY_VULKAN_NEW_ID,       /* how a new name's id differs from the one before */
    TALLY_VULKAN_NAME,         /* a body's name, or how many there are */
    TALLY_VULKAN_LITERAL_WORD, /* a LITERAL's value */
    TALLY_VULKAN_FIRST,        /* a first word in a body, */
    TALLY_VULKAN_OPERAND,      /* its first operand, second, or any later one */
    TALLY_VULKAN_KINDS = TALLY_VULKAN_OPERAND + 3
} tally_vulkan_kind;

enum {
    TALLY_VULKAN_CODE_BITS = 10, /* of the longest code */
    TALLY_VULKAN_PEEK_BYTES = 4, /* that may be read behind the last bit */
    TALLY_VULKAN_TABLE_WORDS = TALLY_VULKAN_KINDS << (TALLY_VULKAN_CODE_BITS - 1) /* of scratch */
};

static inline tally_vulkan_kind tally_vulkan_operand_kind(tally_vulkan_kind kind, uint32_t k) {
    return kind + (k < 3 ? k - 1 : 2);
}

/* A difference as a number that is small if the difference is, and back. */
static inline uint32_t tally_vulkan_folded(uint32_t difference) {
    return difference << 1 ^ (0 - (difference >> 31));
}
static inline uint32_t tally_vulkan_unfolded(uint32_t number) {
    return number >> 1 ^ (0 - (number & 1));
}

/* Operands before the functions: ids are numbered in their order, so most new ones are the largest so far, plus 1. */
typedef struct tally_vulkan_head {
    uint32_t largest, before; /* and the id before, of an entry point's */
} tally_vulkan_head;

/* An operand's number, or the operand of a number: 0 is NEXT, and those up to the largest move up by 1. */
static inline uint32_t tally_vulkan_head_number(tally_vulkan_head *h, bool of_entry, uint32_t word) {
    const uint32_t ids = h->largest + 1;
    if (word > ids)
        return word;
    const uint32_t number = word == ids ? 0 : 1 + (of_entry ? (word + ids - 1 - h->before) % ids : word);
    h->largest += word == ids;
    h->before = word;
    return number;
}
static inline uint32_t tally_vulkan_head_word(tally_vulkan_head *h, bool of_entry, uint32_t number) {
    const uint32_t ids = h->largest + 1;
    if (number > ids)
        return number;
    const uint32_t word = number == 0 ? ids : of_entry ? (number + h->before) % ids : number - 1;
    h->largest += word == ids;
    h->before = word;
    return word;
}

typedef struct tally_vulkan_bodies {
    const unsigned char *bytes;          /* each: how many names it has, those, and operands up to OpFunctionEnd */
    const uint32_t *at;                  /* the first bit of each body, by its number */
    const uint32_t *firsts;              /* the first words of instructions, by their numbers */
    const unsigned char (*lengths)[256]; /* the bits of each byte's code, by its kind; 0: it does not come */
    size_t most_ids, names;              /* ids that one of them has; different names */
} tally_vulkan_bodies;

/* The words of the header; the instructions before the first function, with operands by tally_vulkan_head_number();
 * OpNop; and the functions. Each is its body, as the number by which it differs from the one after the body of the
 * function before, because modules have mostly the same functions in the same order; how many listed ids are not those
 * of their names before, and each of these as its distance from the one before and the id's difference; and the ids of
 * new names, as differences. */
typedef struct tally_vulkan_packed_module {
    tally_monoid monoid;
    tally_vulkan_arithmetic arithmetic;
    const unsigned char *bytes;
    size_t count; /* words that it unpacks to */
} tally_vulkan_packed_module;

extern const tally_vulkan_bodies tally_vulkan_module_bodies;
extern const tally_vulkan_packed_module tally_vulkan_modules[];
extern const size_t tally_vulkan_module_count;

/* Writes the module's words. 'scratch' has tally_vulkan_scratch_words(bodies). */
void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *scratch,
                         uint32_t *words);

static inline size_t tally_vulkan_scratch_words(const tally_vulkan_bodies *bodies) {
    return TALLY_VULKAN_TABLE_WORDS + bodies->most_ids + bodies->names;
}

#endif
