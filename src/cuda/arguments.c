#include "cuda/arguments.h"

#include <stddef.h>
#include <stdlib.h>

#include "cuda/texts.h"

/* A struct that is being written, and the check of its layout, which follows it. */
typedef struct layout {
    tally_text *text, check;
    const char *name;
} layout;

__attribute__((noinline)) static layout begin(tally_text *text, const char *name, size_t bytes) {
    layout l = {.text = text, .name = name};
    tally_text_print(text, "struct %s {\n", name);
    tally_text_print(&l.check, "};\nstatic_assert(sizeof(%s) == %zu", name, bytes);
    return l;
}

/* 'offset' is that on the host; 'other' the name that the member has for keys, or NULL: the same. */
__attribute__((noinline)) static void add_member(layout *l, const char *type, const char *name, size_t offset,
                                                 const char *other) {
    if (other)
        tally_text_print(l->text, "    union { %s %s; %s %s; };\n", type, name, type, other);
    else
        tally_text_print(l->text, "    %s %s;\n", type, name);
    tally_text_print(&l->check, "\n              && offsetof(%s, %s) == %zu", l->name, name, offset);
}

__attribute__((noinline)) static void end(layout *l) {
    tally_text_print(&l->check, ",\n              \"the host lays %s out in another way\");\n", l->name);
    if (l->check.failed)
        l->text->failed = true;
    else
        tally_text_add(l->text, l->check.bytes);
    free(l->check.bytes);
}

/* A function for each struct: tables of the members' names would be relocated whenever the library is loaded. */
/* clang-format off */
#define TALLY_CUDA_STRUCT(name)                                                                                        \
    static void add_##name(tally_text *text) {                                                                         \
        typedef tally_cuda_##name this_struct;                                                                         \
        layout l = begin(text, #name, sizeof(this_struct));
#define TALLY_CUDA_POINTER(type, member)  add_member(&l, #type, #member, offsetof(this_struct, member), NULL);
#define TALLY_CUDA_EITHER(type, of_segments, of_keys)                                                                  \
    add_member(&l, #type, #of_segments, offsetof(this_struct, of_segments), #of_keys);
#define TALLY_CUDA_UINT64(member)         add_member(&l, "uint64", #member, offsetof(this_struct, member), NULL);
#define TALLY_CUDA_UINT32(member)         add_member(&l, "uint32", #member, offsetof(this_struct, member), NULL);
#define TALLY_CUDA_MEMBER(struct, member) add_member(&l, #struct, #member, offsetof(this_struct, member), NULL);
#define TALLY_CUDA_STRUCT_END(name)                                                                                    \
        end(&l);                                                                                                       \
    }
#include "cuda/arguments.def"
/* clang-format on */

void tally_cuda_arguments_add(tally_text *text, const char *before) {
#define TALLY_CUDA_STANDS_BEFORE(kernel, name)                                                                         \
    if (before == tally_cuda_kernels_##kernel)                                                                         \
        add_##name(text);
#include "cuda/arguments.def"
}
