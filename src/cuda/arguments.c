#include "cuda/arguments.h"

#include <stddef.h>

#include "cuda/texts.h"

typedef struct member {
    const char *type, *name;
    size_t offset;     /* on the host */
    const char *other; /* the name that it has for keys; NULL: the same */
} member;

static void add_struct(tally_text *text, const char *name, size_t bytes, const member *members, size_t count) {
    tally_text_print(text, "struct %s {\n", name);
    for (size_t k = 0; k < count; k++)
        if (members[k].other)
            tally_text_print(text, "    union { %s %s; %s %s; };\n", members[k].type, members[k].name, members[k].type,
                             members[k].other);
        else
            tally_text_print(text, "    %s %s;\n", members[k].type, members[k].name);
    tally_text_print(text, "};\nstatic_assert(sizeof(%s) == %zu", name, bytes);
    for (size_t k = 0; k < count; k++)
        tally_text_print(text, "\n              && offsetof(%s, %s) == %zu", name, members[k].name, members[k].offset);
    tally_text_print(text, ",\n              \"the host lays %s out in another way\");\n", name);
}

/* A function for each struct. */
/* clang-format off */
#define TALLY_CUDA_STRUCT(name)                                                                                        \
    static void add_##name(tally_text *text) {                                                                         \
        typedef tally_cuda_##name this_struct;                                                                         \
        static const char *const this_name = #name;                                                                    \
        static const member members[] = {
#define TALLY_CUDA_POINTER(type, member)  {#type, #member, offsetof(this_struct, member), NULL},
#define TALLY_CUDA_EITHER(type, of_segments, of_keys)                                                                  \
    {#type, #of_segments, offsetof(this_struct, of_segments), #of_keys},
#define TALLY_CUDA_UINT64(member)         {"uint64", #member, offsetof(this_struct, member), NULL},
#define TALLY_CUDA_UINT32(member)         {"uint32", #member, offsetof(this_struct, member), NULL},
#define TALLY_CUDA_MEMBER(struct, member) {#struct, #member, offsetof(this_struct, member), NULL},
#define TALLY_CUDA_STRUCT_END(name)                                                                                    \
        };                                                                                                             \
        add_struct(text, this_name, sizeof(this_struct), members, sizeof members / sizeof *members);                   \
    }
#include "cuda/arguments.def"
/* clang-format on */

static const struct {
    const char *text;
    void (*add)(tally_text *text);
} places[] = {
#define TALLY_CUDA_STANDS_BEFORE(text, name) {tally_cuda_kernels_##text, add_##name},
#include "cuda/arguments.def"
};

void tally_cuda_arguments_add(tally_text *text, const char *before) {
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        if (places[k].text == before)
            places[k].add(text);
}
