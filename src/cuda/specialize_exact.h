/* The preprocessor symbols of an exact computation's source texts. */
#ifndef TALLY_CUDA_SPECIALIZE_EXACT_H
#define TALLY_CUDA_SPECIALIZE_EXACT_H

#include "core/computation.h"
#include "cuda/sizes.h"
#include "gpu/text.h"

/* What the kernels of an exact reduction are compiled with. */
void tally_cuda_exact_choices(tally_text *text, const tally_computation *computation, const tally_cuda_sizes *sizes);

void tally_cuda_exact_scan_choices(tally_text *text, const tally_computation *computation);

/* What rounding needs to know of the type of the outputs. */
void tally_cuda_exact_output(tally_text *text, tally_dtype dtype);

#endif
