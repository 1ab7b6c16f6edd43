/* Part of the build, not of the library: makes a module of SPIR-V whose entry points are the kernels from one that
 * glslc made (entries.h). usage: make_entries FROM.spv TO.spv */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "vulkan/entries.h"

enum { MOST_WORDS = 1 << 20 };
static uint32_t words[MOST_WORDS], entries[MOST_WORDS];

static void fail(const char *path, const char *why) {
    fprintf(stderr, "make_entries: %s: %s\n", path, why);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 3)
        fail("usage", "make_entries FROM.spv TO.spv");
    FILE *file = fopen(argv[1], "rb");
    if (!file)
        fail(argv[1], "cannot be read");
    const size_t count = fread(words, sizeof *words, MOST_WORDS, file);
    fclose(file);
    const size_t all = tally_vulkan_add_entries(words, count, entries, MOST_WORDS);
    if (all == 0)
        fail(argv[1], "is no SPIR-V, or too long");
    file = fopen(argv[2], "wb");
    if (!file || fwrite(entries, sizeof *entries, all, file) != all || fclose(file) != 0)
        fail(argv[2], "cannot be written");
    return 0;
}
