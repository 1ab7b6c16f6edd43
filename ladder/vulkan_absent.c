/* vulkan_absent.c: stands in for vulkan.c in a library that is built without Vulkan. Families of Vulkan are known and
 * refused.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

static int absent_open(ladder_work *w, const char *device, fault *f) {
    (void)w, (void)device;
    return fault_data(f, "this library is built without Vulkan (TALLY_VULKAN=OFF)");
}

static void absent_close(ladder_work *w) {
    (void)w;
}

static const char *const rule_names[] = {"grid", "recursive", NULL};

const ladder_backend ladder_vulkan = {.name = "vulkan",
                                      .device = "vulkan:0",
                                      .rules = rule_names,
                                      .suffix = ".comp",
                                      .open = absent_open,
                                      .close = absent_close};
