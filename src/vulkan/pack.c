/* Part of the build, not of the library: packs MONOID-ARITHMETIC.spv files in the format of modules.h, unpacks each
 * again and compares, and writes them as a C source. usage: pack FILE.spv... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/modules.h"
#include "vulkan/spirv.h"

enum { MOST_WORDS = 1 << 20, MOST_BYTES = 1 << 24, MOST_BODIES = 1 << 16, MOST_MODULES = 256, MOST_IDS = 1 << 20 };

typedef struct bytes {
    unsigned char *data;
    size_t count;
} bytes;

static uint32_t words[MOST_WORDS], unpacked[MOST_WORDS], ids[MOST_IDS];
static uint32_t place_of[MOST_IDS]; /* an id's place among those that the function named, plus 1; 0: not yet */
static uint32_t body_at[MOST_BODIES];
static bytes bodies, function, list;
static size_t body_count, most_ids;
static size_t word_count[MOST_MODULES];

static void fail(const char *path, const char *why) {
    fprintf(stderr, "pack: %s: %s\n", path, why);
    exit(1);
}

static bytes allocate(void) {
    const bytes made = {malloc(MOST_BYTES), 0};
    if (!made.data)
        fail("memory", "there is not enough");
    return made;
}

static void put(bytes *to, uint32_t word) {
    if (to->count + 5 > MOST_BYTES)
        fail("the modules", "are too long");
    do {
        to->data[to->count++] = (unsigned char)((word & 127) | (word > 127 ? 128 : 0));
        word >>= 7;
    } while (word);
}

/* The number of the body in 'function', which joins the others if none is the same. */
static uint32_t number_of_body(void) {
    for (size_t k = 0; k < body_count; k++) {
        const size_t end = k + 1 < body_count ? body_at[k + 1] : bodies.count;
        if (end - body_at[k] == function.count && !memcmp(bodies.data + body_at[k], function.data, function.count))
            return (uint32_t)k;
    }
    if (body_count == MOST_BODIES || bodies.count + function.count > MOST_BYTES)
        fail("the modules", "have too many functions");
    body_at[body_count] = (uint32_t)bodies.count;
    memcpy(bodies.data + bodies.count, function.data, function.count);
    bodies.count += function.count;
    return (uint32_t)body_count++;
}

/* Fills 'function' and 'list'; returns where the next function begins. */
static size_t pack_function(size_t at, uint32_t *largest) {
    const uint32_t bound = words[TALLY_SPIRV_BOUND];
    uint32_t seen = 0, opcode;
    function.count = list.count = 0;
    do {
        const uint32_t length = tally_spirv_length(words[at]);
        opcode = tally_spirv_opcode(words[at]);
        put(&function, opcode);
        put(&function, length);
        for (uint32_t k = 1; k < length; k++) {
            const uint32_t id = words[at + k];
            if (id >= bound) {
                put(&function, TALLY_VULKAN_LITERAL);
                put(&function, id);
            } else if (place_of[id]) {
                put(&function, TALLY_VULKAN_AGAIN + seen - place_of[id]);
            } else {
                put(&function, id == *largest + 1 ? TALLY_VULKAN_NEXT : TALLY_VULKAN_LISTED);
                if (id != *largest + 1)
                    put(&list, id);
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
    for (size_t k = 0; k < TALLY_SPIRV_HEADER_WORDS; k++)
        put(to, words[k]);
    for (; tally_spirv_opcode(words[at]) != SpvOpFunction; at += tally_spirv_length(words[at])) {
        put(to, tally_spirv_opcode(words[at]));
        put(to, tally_spirv_length(words[at]));
        for (size_t k = 1; k < tally_spirv_length(words[at]); k++)
            put(to, words[at + k]);
    }
    put(to, SpvOpNop);
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

static bytes pack(const char *path, size_t count) {
    bytes made = allocate();
    uint32_t largest = 0;
    for (size_t at = pack_head(&made); at < count;) {
        at = pack_function(at, &largest);
        put(&made, number_of_body());
        memcpy(made.data + made.count, list.data, list.count);
        made.count += list.count;
    }
    const tally_vulkan_bodies all = {bodies.data, body_at, most_ids};
    const tally_vulkan_packed_module packed = {.bytes = made.data, .count = count};
    tally_vulkan_unpack(&all, &packed, ids, unpacked);
    if (memcmp(words, unpacked, count * sizeof *words) != 0)
        fail(path, "comes out of its packing changed");
    return made;
}

static void print_bytes(const char *name, const unsigned char *data, size_t count) {
    enum { LINE = 24 };
    printf("static const unsigned char %s[] = {\n", name);
    for (size_t k = 0; k < count; k++)
        printf("%u,%s", data[k], (k + 1) % LINE ? "" : "\n");
    printf("};\n");
}

/* "folder/MONOID-ARITHMETIC.spv" */
static void split(const char *path, char monoid[32], char arithmetic[32]) {
    const char *slash = strrchr(path, '/');
    if (sscanf(slash ? slash + 1 : path, "%31[^-]-%31[^.].spv", monoid, arithmetic) != 2)
        fail(path, "is not named MONOID-ARITHMETIC.spv");
}

int main(int argc, char **argv) {
    char monoid[32], arithmetic[32], name[80];
    if (argc > MOST_MODULES)
        fail(argv[0], "too many modules");
    bodies = allocate(), function = allocate(), list = allocate();
    printf("/* Made by src/vulkan/pack.c. */\n#include \"vulkan/modules.h\"\n\n");
    for (int k = 1; k < argc; k++) {
        split(argv[k], monoid, arithmetic);
        word_count[k] = read_words(argv[k]);
        const bytes packed = pack(argv[k], word_count[k]);
        snprintf(name, sizeof name, "%s_%s", monoid, arithmetic);
        print_bytes(name, packed.data, packed.count);
        free(packed.data);
    }
    print_bytes("body_bytes", bodies.data, bodies.count);
    printf("static const uint32_t body_at[] = {\n");
    for (size_t k = 0; k < body_count; k++)
        printf("%u,\n", body_at[k]);
    printf("};\n\nconst tally_vulkan_bodies tally_vulkan_module_bodies = {body_bytes, body_at, %zu};\n"
           "const tally_vulkan_packed_module tally_vulkan_modules[] = {\n",
           most_ids);
    for (int k = 1; k < argc; k++) {
        split(argv[k], monoid, arithmetic);
        printf("    {TALLY_MONOID_%s, TALLY_VULKAN_%s, %s_%s, %zu},\n", monoid, arithmetic, monoid, arithmetic,
               word_count[k]);
    }
    printf("};\nconst size_t tally_vulkan_module_count = %d;\n", argc - 1);
    return fflush(stdout) != 0;
}
