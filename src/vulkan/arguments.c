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
    size_t offset, bytes; /* on the host */
} member;

#define MEMBER(type, of, a)                                                                                            \
    { GLSL_##type, #a, offsetof(of, a), sizeof((of){0}.a) }

static const member arguments[] = {
#define TALLY_VULKAN_PLACE1(type, a)             MEMBER(type, tally_vulkan_arguments, a),
#define TALLY_VULKAN_PLACE2(type, a, b)          TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE3(type, a, b, c)       TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE4(type, a, b, c, d)    TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE5(type, a, b, c, d, e) TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PAIR(a, low, high)          TALLY_VULKAN_PLACE1(WIDE, a)
#include "vulkan/arguments.def"
};

/* The other members of a place, by the first one's name. */
static const char others[] = ""
#define OTHER(a, b) "#define p_" #b " p." #a "\n"
#define TALLY_VULKAN_PLACE1(type, a)
#define TALLY_VULKAN_PLACE2(type, a, b)          OTHER(a, b)
#define TALLY_VULKAN_PLACE3(type, a, b, c)       OTHER(a, b) OTHER(a, c)
#define TALLY_VULKAN_PLACE4(type, a, b, c, d)    OTHER(a, b) OTHER(a, c) OTHER(a, d)
#define TALLY_VULKAN_PLACE5(type, a, b, c, d, e) TALLY_VULKAN_PLACE4(type, a, b, c, d) OTHER(a, e)
#define TALLY_VULKAN_PAIR(a, low, high)          "#define p_" #low " p." #a ".x\n#define p_" #high " p." #a ".y\n"
#include "vulkan/arguments.def"
    ;

static const member found[] = {
#define TALLY_VULKAN_FOUND(type, member) MEMBER(type, tally_vulkan_control, member),
#include "vulkan/arguments.def"
};

static void add_members(tally_text *text, const member *members, size_t count) {
    for (size_t k = 0; k < count; k++)
        tally_text_print(text, "    layout(offset = %zu) %s %s;\n", members[k].offset, members[k].type,
                         members[k].name);
}

/* A function that nobody calls. It compiles if the members have as many bytes as on the host: GLSL's compilers let
 * members overlap. */
static void add_check(tally_text *text, const char *head, const char *of, const member *members, size_t count) {
    tally_text_print(text, "void %s {\n", head);
    for (size_t k = 0; k < count; k++)
        tally_text_print(text, "    has_%zu_bytes(%s.%s);\n", members[k].bytes, of, members[k].name);
    tally_text_add(text, "}\n");
}

void tally_vulkan_arguments_add(tally_text *text) {
    tally_text_add(text, "void has_4_bytes(uint member) {}\nvoid has_4_bytes(int member) {}\n"
                         "void has_8_bytes(uvec2 member) {}\n");
    tally_text_add(text, "layout(push_constant) uniform arguments {\n");
    add_members(text, arguments, sizeof arguments / sizeof *arguments);
    tally_text_add(text, "} p;\n");
    add_check(text, "layout_of_arguments()", "p", arguments, sizeof arguments / sizeof *arguments);
    tally_text_add(text, others);
    tally_text_add(text, "layout(buffer_reference, std430, buffer_reference_align = 8) buffer control_block {\n");
    add_members(text, found, sizeof found / sizeof *found);
    tally_text_add(text, "};\n");
    add_check(text, "layout_of_control_block(control_block c)", "c", found, sizeof found / sizeof *found);
    tally_text_print(text, "const uint MOVES_INDICES = %d, SKIPS_BAD = %d;\n", TALLY_VULKAN_MOVES_INDICES,
                     TALLY_VULKAN_SKIPS_BAD);
    tally_text_print(text, "const uint REFUSED_BAD = %d, REFUSED_EMPTY = %d, REFUSED_RUNS = %d;\n",
                     TALLY_GPU_REFUSED_BAD, TALLY_GPU_REFUSED_EMPTY, TALLY_GPU_REFUSED_RUNS);
}
