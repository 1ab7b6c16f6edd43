/* The kernels that were compiled when the library was built: modules of SPIR-V without names, packed.
 *
 * The modules consist of the same functions over and over: of some 12,000 in 70 modules fewer than 800 differ in more
 * than the numbers of their ids. So a function is packed as a body, which modules share, and a list of ids. In a body
 * an operand is one of
 *
 *   LITERAL v   the value v, which is no id of the module
 *   NEXT        an id that the function has not named yet: the largest of all functions so far, plus 1
 *   LISTED      another such id: the next of the function's list
 *   AGAIN + d   the id that the function named first d + 1 ids ago
 *
 * Ids are numbered by where they first stand (spirv-opt --compact-ids), so most new ones are NEXT. Which operands are
 * ids nobody needs to know: small literals are packed like ids and come out the same. All numbers are written seven
 * bits a byte, the lowest first; the top bit says that more follow. */
#ifndef TALLY_VULKAN_MODULES_H
#define TALLY_VULKAN_MODULES_H

#include "vulkan/specialize.h"

enum { TALLY_VULKAN_LITERAL, TALLY_VULKAN_NEXT, TALLY_VULKAN_LISTED, TALLY_VULKAN_AGAIN };

typedef struct tally_vulkan_bodies {
    const unsigned char *bytes; /* each ends with OpFunctionEnd */
    const uint32_t *at;         /* the beginning of each body, by its number */
    size_t most_ids;            /* that one of them names */
} tally_vulkan_bodies;

/* Bytes: the words of the header; the instructions before the first function, each as opcode, length and operands;
 * OpNop; and the functions, each as the number of its body and its list. */
typedef struct tally_vulkan_packed_module {
    tally_monoid monoid;
    tally_vulkan_arithmetic arithmetic;
    const unsigned char *bytes;
    size_t count; /* words that it unpacks to */
} tally_vulkan_packed_module;

extern const tally_vulkan_bodies tally_vulkan_module_bodies;
extern const tally_vulkan_packed_module tally_vulkan_modules[];
extern const size_t tally_vulkan_module_count;

/* Writes the module's words. 'ids' is scratch for bodies->most_ids. */
void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *ids,
                         uint32_t *words);

#endif
