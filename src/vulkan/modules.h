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
 * ids nobody needs to know: small literals are packed like ids and come out the same. All numbers are written seven
 * bits a byte, the lowest first; the top bit says that more follow. */
#ifndef TALLY_VULKAN_MODULES_H
#define TALLY_VULKAN_MODULES_H

#include "vulkan/specialize.h"

enum { TALLY_VULKAN_LITERAL, TALLY_VULKAN_NEXT, TALLY_VULKAN_LISTED, TALLY_VULKAN_AGAIN };
enum { TALLY_VULKAN_HEAD_ENDS = 1 << 16 /* OpNop */ };

typedef struct tally_vulkan_bodies {
    const unsigned char *bytes; /* each: how many bytes its names take, those, and operands up to OpFunctionEnd */
    const uint32_t *at;         /* the beginning of each body, by its number */
    const uint32_t *firsts;     /* the first words of instructions, by their numbers */
    size_t most_ids, names;     /* ids that one of them has; different names */
} tally_vulkan_bodies;

/* Bytes: the words of the header; the instructions before the first function, with operands as they are; OpNop; and the
 * functions. Each is the number of its body; how many listed ids are not those of their names before, and each of these
 * as its distance from the one before and the id; and the ids of new names. */
typedef struct tally_vulkan_packed_module {
    tally_monoid monoid;
    tally_vulkan_arithmetic arithmetic;
    const unsigned char *bytes;
    size_t count; /* words that it unpacks to */
} tally_vulkan_packed_module;

extern const tally_vulkan_bodies tally_vulkan_module_bodies;
extern const tally_vulkan_packed_module tally_vulkan_modules[];
extern const size_t tally_vulkan_module_count;

/* Writes the module's words. 'ids' is scratch for bodies->most_ids + bodies->names. */
void tally_vulkan_unpack(const tally_vulkan_bodies *bodies, const tally_vulkan_packed_module *packed, uint32_t *ids,
                         uint32_t *words);

#endif
