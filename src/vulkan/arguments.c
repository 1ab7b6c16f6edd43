#include "vulkan/arguments.h"

#include <stddef.h>

#include "gpu/plan.h"

/* Types of arguments.def in GLSL. */
#define GLSL_ADDRESS "address"
#define GLSL_WIDE    "wide"
#define GLSL_UINT    "uint"
#define GLSL_INT     "int"

typedef struct member {
    const char *type, *name;
    size_t offset;
} member;

static const member arguments[] = {
#define TALLY_VULKAN_PLACE1(type, a)          {GLSL_##type, #a, offsetof(tally_vulkan_arguments, a)},
#define TALLY_VULKAN_PLACE2(type, a, b)       TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE3(type, a, b, c)    TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE4(type, a, b, c, d) TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PAIR(a, low, high)       TALLY_VULKAN_PLACE1(WIDE, a)
#include "vulkan/arguments.def"
};

/* The other members of a place, by the first one's name. */
static const char others[] = ""
#define OTHER(a, b) "#define p_" #b " p." #a "\n"
#define TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE2(type, a, b)       OTHER(a, b)
#define TALLY_VULKAN_PLACE3(type, a, b, c)    OTHER(a, b) OTHER(a, c)
#define TALLY_VULKAN_PLACE4(type, a, b, c, d) OTHER(a, b) OTHER(a, c) OTHER(a, d)
#define TALLY_VULKAN_PAIR(a, low, high)       "#define p_" #low " p." #a ".x\n#define p_" #high " p." #a ".y\n"
#include "vulkan/arguments.def"
    ;

static const member found[] = {
#define TALLY_VULKAN_FOUND(type, member) {GLSL_##type, #member, offsetof(tally_vulkan_control, member)},
#include "vulkan/arguments.def"
};

static void add_members(tally_text *text, const member *members, size_t count) {
    for (size_t k = 0; k < count; k++)
        tally_text_print(text, "    layout(offset = %zu) %s %s;\n", members[k].offset, members[k].type,
                         members[k].name);
}

void tally_vulkan_arguments_add(tally_text *text) {
    tally_text_add(text, "layout(push_constant) uniform arguments {\n");
    add_members(text, arguments, sizeof arguments / sizeof *arguments);
    tally_text_add(text, "} p;\n");
    tally_text_add(text, others);
    tally_text_add(text, "layout(buffer_reference, std430, buffer_reference_align = 8) buffer control_block {\n");
    add_members(text, found, sizeof found / sizeof *found);
    tally_text_print(text, "};\nconst uint REFUSED_BAD = %d, REFUSED_EMPTY = %d, REFUSED_RUNS = %d;\n",
                     TALLY_GPU_REFUSED_BAD, TALLY_GPU_REFUSED_EMPTY, TALLY_GPU_REFUSED_RUNS);
}
