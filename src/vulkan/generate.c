/* Part of the build, not of the library: writes the GLSL text of one variant to standard output.
 * usage: generate MONOID ARITHMETIC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/specialize.h"

static int find(const char *const *names, int count, const char *name) {
    for (int k = 0; k < count; k++)
        if (strcmp(names[k], name) == 0)
            return k;
    fprintf(stderr, "generate: no '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv) {
    const char *monoids[TALLY_MONOID_user];
    tally_text text = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: generate MONOID ARITHMETIC\n");
        return 2;
    }
    for (int k = 0; k < TALLY_MONOID_user; k++)
        monoids[k] = tally_monoid_texts[k].name;
    tally_vulkan_specialize(
        &text, (tally_monoid)find(monoids, TALLY_MONOID_user, argv[1]),
        (tally_vulkan_arithmetic)find(tally_vulkan_arithmetic_names, TALLY_VULKAN_ARITHMETIC_COUNT, argv[2]));
    const int failed = text.failed || fputs(text.bytes, stdout) < 0 || fflush(stdout) != 0;
    free(text.bytes);
    return failed;
}
