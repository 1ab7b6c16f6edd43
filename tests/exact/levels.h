/* The instruction-set levels that were built and that this processor can run, for tests that go through all of them.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_TESTS_EXACT_LEVELS_H
#define TALLY_TESTS_EXACT_LEVELS_H

#include "cpu/kernels/exact.h"

int levels_count(void);
const tally_exact_kernels *levels_at(int index);

#endif
