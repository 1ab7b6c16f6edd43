/* Kernels that convert a block of elements to another type and leave the rest to that type's kernels. Most monoids of
 * f16 and bf16 are computed so, in f32, and rare ones of all types in f64: a kernel of each would be a third of the
 * library. The block stays in the first-level cache, so memory is read as fast as without. */
#ifndef TALLY_CPU_CONVERTED_H
#define TALLY_CPU_CONVERTED_H

#include "cpu/cpu.h"

/* Sets plan->kernels to those of elements of type 'to', behind a conversion; 'to' may be the input's own type, where
 * blocks are copied to leave NaNs out (skipping.h). */
void tally_cpu_convert_first(tally_cpu_plan *plan, tally_dtype to, const tally_cpu_kernels *kernels);

#endif
