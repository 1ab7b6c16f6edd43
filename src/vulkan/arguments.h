/* The structs of arguments.def, for the host, and as text for the kernels. */
#ifndef TALLY_VULKAN_ARGUMENTS_H
#define TALLY_VULKAN_ARGUMENTS_H

#include <stdint.h>

#include "gpu/text.h"

/* Types of arguments.def. */
#define TALLY_VULKAN_HOST_ADDRESS uint64_t
#define TALLY_VULKAN_HOST_WIDE    uint64_t
#define TALLY_VULKAN_HOST_UINT    uint32_t
#define TALLY_VULKAN_HOST_INT     int32_t

/* clang-format off */
typedef struct tally_vulkan_arguments {
#define TALLY_VULKAN_PLACE1(type, a) TALLY_VULKAN_HOST_##type a;
#define TALLY_VULKAN_PLACE2(type, a, b) union { TALLY_VULKAN_HOST_##type a, b; };
#define TALLY_VULKAN_PLACE3(type, a, b, c) union { TALLY_VULKAN_HOST_##type a, b, c; };
#define TALLY_VULKAN_PLACE4(type, a, b, c, d) union { TALLY_VULKAN_HOST_##type a, b, c, d; };
#define TALLY_VULKAN_PLACE5(type, a, b, c, d, e) union { TALLY_VULKAN_HOST_##type a, b, c, d, e; };
#define TALLY_VULKAN_PAIR(a, low, high) union { uint64_t a; struct { uint32_t low, high; }; };
#include "vulkan/arguments.def"
} tally_vulkan_arguments;

typedef struct tally_vulkan_control {
#define TALLY_VULKAN_FOUND(type, member) TALLY_VULKAN_HOST_##type member;
#include "vulkan/arguments.def"
} tally_vulkan_control;
/* clang-format on */

/* Bits of 'moves'. */
enum { TALLY_VULKAN_MOVES_INDICES = 1, TALLY_VULKAN_SKIPS_BAD = 2 /* labels out of range are left out */ };

enum { TALLY_VULKAN_ARGUMENT_BYTES = 128 };
_Static_assert(sizeof(tally_vulkan_arguments) == TALLY_VULKAN_ARGUMENT_BYTES, "every device takes so many bytes");

/* Adds the blocks of the kernels, with the same members at the same offsets. The text does not compile if a member has
 * another size than on the host. */
void tally_vulkan_arguments_add(tally_text *text);

#endif
