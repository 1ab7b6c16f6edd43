/* fuzz_operator.c: fuzz target of what reads users' operators. The input is the five texts, with a line feed and "--"
 * before each but the first. What is refused says why; what is not becomes a program of the CPU, and GLSL.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/level.h"
#include "cpu/text/program.h"
#ifdef TALLY_HAS_VULKAN
#include "vulkan/translate.h"
#endif

static void require(int condition) {
    if (!condition)
        abort();
}

/* Cuts the texts apart in place; what is missing is empty. */
static void split(char *all, char *texts[5]) {
    for (int k = 0; k < 5; k++) {
        char *end = strstr(all, "\n--\n");
        texts[k] = all;
        all = end ? end + 4 : all + strlen(all);
        if (end)
            *end = 0;
    }
}

static void read_for_the_cpu(const tally_computation *c) {
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    tally_cpu_text *text = NULL;
    const tally_cpu_scans *scans;
    require(tally_cpu_level_choose(NULL, &level, &exact, &scans) == TALLY_OK);
    const tally_status status = tally_cpu_text_compile(c, level->instructions, &text);
    require(status == TALLY_OK || strstr(tally_last_error(), " on the CPU: ") != NULL);
    require((status == TALLY_OK) == (text != NULL));
    require(status != TALLY_OK || (text->width >= 16 && text->acc_bytes <= 1024));
    tally_cpu_text_free(text);
}

static void read_for_vulkan(const tally_computation *c) {
#ifdef TALLY_HAS_VULKAN
    tally_vulkan_operator made;
    const tally_status status = tally_vulkan_translate(c, &made);
    require(status == TALLY_OK || strstr(tally_last_error(), " on Vulkan: ") != NULL);
    require((status == TALLY_OK) == (made.text.bytes != NULL));
    require(status != TALLY_OK || (made.slot.bytes >= 4 && made.slot.bytes <= 64));
    free(made.text.bytes);
#else
    (void)c;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *all = malloc(size + 1), *texts[5];
    require(all != NULL);
    if (size)
        memcpy(all, data, size);
    all[size] = 0;
    split(all, texts);
    tally_computation c = {.desc = {.in = TALLY_U8, .out = TALLY_F32}};
    c.user = (tally_user_op){.acc_source = texts[0],
                             .identity_source = texts[1],
                             .lift_source = texts[2],
                             .combine_source = texts[3],
                             .lower_source = texts[4]};
    read_for_the_cpu(&c);
    read_for_vulkan(&c);
    free(all);
    return 0;
}
