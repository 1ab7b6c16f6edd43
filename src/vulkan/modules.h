/* The kernels that were compiled when the library was built: modules of SPIR-V without names, packed.
 *
 * The modules consist of the same functions over and over: of some 21,600 in 84 modules about 1,600 differ in more than
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
 * All numbers are written seven bits a byte, the lowest first; the top bit says that more follow. Bodies and modules
 * are packed together (gpu/unpack_bytes.h), since functions for different types are much alike, and so is what precedes
 * them in a module. The first use unpacks all of them, which takes 5 ms. */
#ifndef TALLY_VULKAN_MODULES_H
#define TALLY_VULKAN_MODULES_H

#include <stdbool.h>

#include "vulkan/arithmetic.h"

enum { TALLY_VULKAN_LITERAL, TALLY_VULKAN_NEXT, TALLY_VULKAN_LISTED, TALLY_VULKAN_AGAIN };
enum { TALLY_VULKAN_HEAD_ENDS = 1 << 16 /* OpNop */ };

/* A difference as a number that is small if the difference is, and back. */
static inline uint32_t tally_vulkan_folded(uint32_t difference) {
    return difference << 1 ^ (0 - (difference >> 31));
}
static inline uint32_t tally_vulkan_unfolded(uint32_t number) {
    return number >> 1 ^ (0 - (number & 1));
}

/* An operand before the functions as its number, and back. Ids are numbered in their order, so most new ones are the
 * largest so far, plus 1. That is 0, and numbers up to the largest move up by 1. */
static inline uint32_t tally_vulkan_head_number(uint32_t *largest, uint32_t word) {
    const uint32_t new_id = *largest + 1;
    *largest += word == new_id;
    return word > new_id ? word : word == new_id ? 0 : word + 1;
}
static inline uint32_t tally_vulkan_head_word(uint32_t *largest, uint32_t number) {
    const uint32_t new_id = *largest + 1;
    *largest += number == 0;
    return number > new_id ? number : number == 0 ? new_id : number - 1;
}

typedef struct tally_vulkan_bodies {
    const unsigned char *bytes; /* each: how many names it has, those, and its instructions up to OpFunctionEnd */
    const uint32_t *at;         /* the first byte of each body, by its number */
    const uint32_t *firsts;     /* the first words of instructions, by their numbers */
    size_t most_ids, names;     /* ids that one of them has; different names */
} tally_vulkan_bodies;

/* The words of the header; the instructions before the first function, with operands by tally_vulkan_head_number();
 * OpNop; and the functions. Each is its body, as the number by which it differs from the one after the body of the
 * function before, because modules have mostly the same functions in the same order; how many listed ids are not those
 * of their names before, and each of these as its distance from the one before and the id's difference; and the ids of
 * new names, as differences. */
typedef struct tally_vulkan_packed_module {
    tally_monoid monoid;
    tally_vulkan_arithmetic arithmetic;
    uint32_t at;  /* its first byte behind the bodies */
    size_t count; /* words that it unpacks to */
} tally_vulkan_packed_module;

extern const tally_vulkan_bodies tally_vulkan_module_bodies;
extern const tally_vulkan_packed_module tally_vulkan_modules[];
extern const size_t tally_vulkan_module_count;

/* Unpacks tally_vulkan_module_bodies.bytes, at its first call. */
void tally_vulkan_unpack_bytes(void);

/* Writes the module's words. 'scratch' has tally_vulkan_scratch_words(bodies). */
void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *scratch,
                         uint32_t *words);

static inline size_t tally_vulkan_scratch_words(const tally_vulkan_bodies *bodies) {
    return bodies->most_ids + bodies->names;
}

#endif
