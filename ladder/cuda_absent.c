/* cuda_absent.c: stands in for cuda.c in a library that is built without CUDA. Families of CUDA are known and refused.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

static int refuse(fault *f) {
    return fault_data(f, "this library is built without CUDA (TALLY_CUDA=OFF)");
}

static int absent_open(ladder_work *w, const char *device, fault *f) {
    (void)w, (void)device;
    return refuse(f);
}

static void absent_close(ladder_work *w) {
    (void)w;
}

int ladder_cuda_code(const ladder_family *family, const ladder_step *step, tally_dtype dtype, tally_op op,
                     int architecture, void **code, size_t *bytes, char **log, fault *f) {
    (void)family, (void)step, (void)dtype, (void)op, (void)architecture, (void)code, (void)bytes, (void)log;
    return refuse(f);
}

int ladder_cuda_architecture(const ladder_work *w) {
    (void)w;
    return 0;
}

static const char *const rule_names[] = {LADDER_CUDA_RULES, NULL};

const ladder_backend ladder_cuda = {.name = "cuda",
                                    .device = "cuda:0",
                                    .rules = rule_names,
                                    .suffix = ".cu",
                                    .open = absent_open,
                                    .close = absent_close};
