/* Part of the build, not of the library: makes the C source of modules.h's table from MONOID-ARITHMETIC.spv files.
 * Their words are written seven bits a byte, the lowest first, the top bit saying that more follow, because most of
 * them are small. usage: pack FILE.spv... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 1 << 20, LINE = 24 };
static uint32_t words[MOST_WORDS];
static size_t written;

static void fail(const char *path, const char *why) {
    fprintf(stderr, "pack: %s: %s\n", path, why);
    exit(1);
}

static void put(uint32_t word) {
    do {
        const uint32_t byte = (word & 127) | (word > 127 ? 128 : 0);
        printf("%u,%s", byte, ++written % LINE ? "" : "\n");
        word >>= 7;
    } while (word);
}

static void pack(const char *path, const char *monoid, const char *arithmetic) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, "cannot be read");
    const size_t count = fread(words, sizeof *words, MOST_WORDS, file);
    fclose(file);
    if (count == 0 || count == MOST_WORDS)
        fail(path, "is empty, or too long");
    written = 0;
    printf("static const unsigned char %s_%s[] = {\n", monoid, arithmetic);
    for (size_t k = 0; k < count; k++)
        put(words[k]);
    printf("};\n");
}

/* "folder/MONOID-ARITHMETIC.spv" */
static void split(const char *path, char monoid[32], char arithmetic[32]) {
    const char *slash = strrchr(path, '/');
    if (sscanf(slash ? slash + 1 : path, "%31[^-]-%31[^.].spv", monoid, arithmetic) != 2)
        fail(path, "is not named MONOID-ARITHMETIC.spv");
}

int main(int argc, char **argv) {
    char monoid[32], arithmetic[32];
    printf("/* Made by src/vulkan/pack.c. */\n#include \"vulkan/modules.h\"\n\n");
    for (int k = 1; k < argc; k++) {
        split(argv[k], monoid, arithmetic);
        pack(argv[k], monoid, arithmetic);
    }
    printf("\nconst tally_vulkan_packed_module tally_vulkan_modules[] = {\n");
    for (int k = 1; k < argc; k++) {
        split(argv[k], monoid, arithmetic);
        printf("    {TALLY_MONOID_%s, TALLY_VULKAN_%s, %s_%s, sizeof %s_%s},\n", monoid, arithmetic, monoid, arithmetic,
               monoid, arithmetic);
    }
    printf("};\nconst size_t tally_vulkan_module_count = %d;\n", argc - 1);
    return fflush(stdout) != 0;
}
