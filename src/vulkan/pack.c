/* Part of the build, not of the library: packs MONOID-ARITHMETIC.spv files in the format of modules.h, unpacks each
 * again and compares, and writes them as a C source. usage: pack FILE.spv... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/pack_bytes.h"
#include "vulkan/modules.h"
#include "vulkan/spirv.h"

enum {
    MOST_WORDS = 1 << 20,
    MOST_BYTES = 1 << 24,
    MOST_BODIES = 1 << 16,
    MOST_MODULES = 256,
    MOST_IDS = 1 << 20,
    MOST_NAMES = 1 << 20,
    MOST_FIRSTS = 1 << 10
};

/* Numbers in bytes. */
typedef struct bytes {
    unsigned char *data;
    size_t count;
} bytes;

static uint32_t words[MOST_WORDS], unpacked[MOST_WORDS], ids[MOST_IDS];
static uint32_t place_of[MOST_IDS]; /* an id's place among those that the function named, plus 1; 0: not yet */
static uint32_t body_at[MOST_BODIES], code_at[MOST_BODIES], code_end[MOST_BODIES];
static uint32_t names[MOST_NAMES], names_at[MOST_BODIES]; /* of the bodies' listed ids */
static uint32_t name_of[MOST_IDS], id_of[MOST_NAMES];     /* in a module; plus 1, and 0: none */
static uint32_t listed[MOST_IDS], listed_count;           /* the function's listed ids */
static uint32_t firsts[MOST_FIRSTS], first_count;         /* first words of instructions, by their numbers */
static uint32_t last_body, last_new;     /* of the module's functions before, and their new names' ids */
static uint32_t name_count, names_count; /* different ones, and in all bodies */
static bytes bodies, function, others, news, modules[MOST_MODULES];
static size_t body_count, most_ids;

static void fail(const char *path, const char *why) {
    fprintf(stderr, "pack: %s: %s\n", path, why);
    exit(1);
}

static void *allocate_bytes(size_t count) {
    void *made = calloc(count, 1);
    if (!made)
        fail("memory", "there is not enough");
    return made;
}

static bytes allocate(void) {
    return (bytes){allocate_bytes(MOST_BYTES), 0};
}

static void put(bytes *to, uint32_t word) {
    if (to->count + 5 > MOST_BYTES)
        fail("the modules", "are too long");
    do {
        to->data[to->count++] = (unsigned char)((word & 127) | (word > 127 ? 128 : 0));
        word >>= 7;
    } while (word);
}

static void append(bytes *to, const bytes *from) {
    if (to->count + from->count > MOST_BYTES)
        fail("the modules", "are too long");
    memcpy(to->data + to->count, from->data, from->count);
    to->count += from->count;
}

/* The first word as its number. The commonest come early, so nearly all take one byte. */
static void put_first(bytes *to, uint32_t word) {
    uint32_t number = 0;
    while (number < first_count && firsts[number] != word)
        number++;
    if (number == MOST_FIRSTS)
        fail("the modules", "have too many kinds of instructions");
    if (number == first_count)
        firsts[first_count++] = word;
    put(to, number);
}

/* The function's listed ids get their names in this module, or new ones. */
static void add_names(void) {
    names_at[body_count] = names_count;
    put(&bodies, listed_count);
    for (uint32_t k = 0; k < listed_count; k++) {
        uint32_t *const name = &name_of[listed[k]];
        if (!*name)
            *name = ++name_count;
        if (names_count == MOST_NAMES)
            fail("the modules", "list too many ids");
        put(&bodies, names[names_count++] = *name - 1);
    }
}

/* The number of the body in 'function', which joins the others if none is the same. */
static uint32_t number_of_body(void) {
    for (size_t k = 0; k < body_count; k++)
        if (code_end[k] - code_at[k] == function.count &&
            !memcmp(bodies.data + code_at[k], function.data, function.count))
            return (uint32_t)k;
    if (body_count == MOST_BODIES)
        fail("the modules", "have too many functions");
    body_at[body_count] = (uint32_t)bodies.count;
    add_names();
    code_at[body_count] = (uint32_t)bodies.count;
    append(&bodies, &function);
    code_end[body_count] = (uint32_t)bodies.count;
    return (uint32_t)body_count++;
}

/* The function as its body's number and what the names of its listed ids do not tell. */
static void put_function(bytes *to) {
    const uint32_t number = number_of_body(), *const name = names + names_at[number];
    uint32_t count = 0, last = 0;
    others.count = news.count = 0;
    for (uint32_t k = 0; k < listed_count; k++) {
        const uint32_t id = listed[k], known = id_of[name[k]];
        if (!known) {
            put(&news, tally_vulkan_folded(id - last_new));
            last_new = id;
        } else if (known - 1 != id) {
            put(&others, k - last);
            put(&others, tally_vulkan_folded(id - (known - 1)));
            last = k;
            count++;
        }
        id_of[name[k]] = id + 1;
        if (!name_of[id])
            name_of[id] = name[k] + 1;
    }
    put(to, tally_vulkan_folded(number - last_body - 1));
    put(to, count);
    last_body = number;
    append(to, &others);
    append(to, &news);
}

/* Fills 'function' and 'listed'; returns where the next function begins. */
static size_t pack_function(size_t at, uint32_t *largest) {
    const uint32_t bound = words[TALLY_SPIRV_BOUND];
    uint32_t seen = 0, opcode;
    function.count = listed_count = 0;
    do {
        const size_t length = tally_spirv_length(words[at]);
        opcode = tally_spirv_opcode(words[at]);
        put_first(&function, words[at]);
        for (size_t k = 1; k < length; k++) {
            const uint32_t id = words[at + k];
            if (id >= bound) {
                put(&function, TALLY_VULKAN_LITERAL);
                put(&function, id);
            } else if (place_of[id]) {
                put(&function, TALLY_VULKAN_AGAIN + seen - place_of[id]);
            } else {
                put(&function, id == *largest + 1 ? TALLY_VULKAN_NEXT : TALLY_VULKAN_LISTED);
                if (id != *largest + 1)
                    listed[listed_count++] = id;
                if (id > *largest)
                    *largest = id;
                ids[seen++] = id;
                place_of[id] = seen;
            }
        }
        at += length;
    } while (opcode != SpvOpFunctionEnd);
    for (uint32_t k = 0; k < seen; k++)
        place_of[ids[k]] = 0;
    most_ids = seen > most_ids ? seen : most_ids;
    return at;
}

static size_t pack_head(bytes *to) {
    size_t at = TALLY_SPIRV_HEADER_WORDS;
    uint32_t largest = 0;
    for (size_t k = 0; k < TALLY_SPIRV_HEADER_WORDS; k++)
        put(to, words[k]);
    for (; tally_spirv_opcode(words[at]) != SpvOpFunction; at += tally_spirv_length(words[at])) {
        put_first(to, words[at]);
        for (uint32_t k = 1; k < tally_spirv_length(words[at]); k++)
            put(to, tally_vulkan_head_number(&largest, words[at + k]));
    }
    put_first(to, TALLY_VULKAN_HEAD_ENDS);
    return at;
}

static size_t read_words(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, "cannot be read");
    const size_t count = fread(words, sizeof *words, MOST_WORDS, file);
    fclose(file);
    if (count <= TALLY_SPIRV_HEADER_WORDS || count == MOST_WORDS || words[TALLY_SPIRV_BOUND] > MOST_IDS)
        fail(path, "is empty, or too long");
    return count;
}

static bytes pack(const char *path) {
    const size_t count = read_words(path);
    bytes made = allocate();
    uint32_t largest = 0;
    memset(name_of, 0, sizeof name_of);
    memset(id_of, 0, sizeof id_of);
    last_body = last_new = 0;
    for (size_t at = pack_head(&made); at < count;) {
        at = pack_function(at, &largest);
        put_function(&made);
    }
    made.data = realloc(made.data, made.count);
    if (!made.data)
        fail("memory", "there is not enough");
    return made;
}

/* ---- what is written ---- */

static void print_words(const char *name, const uint32_t *data, size_t count) {
    printf("static const uint32_t %s[] = {\n", name);
    for (size_t k = 0; k < count; k++)
        printf("%u,\n", data[k]);
    printf("};\n");
}

/* Unpacks a module again, and returns its number of words. */
static size_t check(const char *path, const tally_vulkan_bodies *all, size_t at) {
    const size_t count = read_words(path);
    const tally_vulkan_packed_module module = {.at = (uint32_t)at, .count = count};
    uint32_t *const scratch = allocate_bytes(tally_vulkan_scratch_words(all) * sizeof *scratch);
    tally_vulkan_unpack(all, &module, scratch, unpacked);
    free(scratch);
    if (memcmp(words, unpacked, count * sizeof *words) != 0)
        fail(path, "comes out of its packing changed");
    return count;
}

/* "folder/MONOID-ARITHMETIC.spv" */
static void split(const char *path, char monoid[32], char arithmetic[32]) {
    const char *slash = strrchr(path, '/');
    if (sscanf(slash ? slash + 1 : path, "%31[^-]-%31[^.].spv", monoid, arithmetic) != 2)
        fail(path, "is not named MONOID-ARITHMETIC.spv");
}

int main(int argc, char **argv) {
    static size_t module_at[MOST_MODULES];
    char monoid[32], arithmetic[32];
    if (argc > MOST_MODULES)
        fail(argv[0], "too many modules");
    bodies = allocate(), function = allocate(), others = allocate(), news = allocate();
    for (int k = 1; k < argc; k++)
        modules[k] = pack(argv[k]);
    for (int k = 1; k < argc; k++) {
        module_at[k] = bodies.count;
        append(&bodies, &modules[k]);
    }
    const tally_vulkan_bodies all = {bodies.data, body_at, firsts, most_ids, name_count};
    printf("/* Made by src/vulkan/pack.c. */\n#include \"vulkan/modules.h\"\n\nstatic unsigned char bytes[%zu];\n\n",
           bodies.count);
    tally_print_packed(bodies.data, bodies.count, "bytes", "tally_vulkan_unpack_bytes", stdout);
    print_words("body_at", body_at, body_count);
    print_words("firsts", firsts, first_count);
    printf("\nconst tally_vulkan_bodies tally_vulkan_module_bodies = {bytes, body_at, firsts, %zu, %u};\n"
           "const tally_vulkan_packed_module tally_vulkan_modules[] = {\n",
           most_ids, name_count);
    for (int k = 1; k < argc; k++) {
        split(argv[k], monoid, arithmetic);
        printf("    {TALLY_MONOID_%s, TALLY_VULKAN_%s, %zu, %zu},\n", monoid, arithmetic, module_at[k],
               check(argv[k], &all, module_at[k]));
    }
    printf("};\nconst size_t tally_vulkan_module_count = %d;\n", argc - 1);
    return fflush(stdout) != 0;
}
