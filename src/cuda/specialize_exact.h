/* Exact mode's part of a computation's source text. */
#ifndef TALLY_CUDA_SPECIALIZE_EXACT_H
#define TALLY_CUDA_SPECIALIZE_EXACT_H

#include "core/computation.h"
#include "core/text.h"
#include "cuda/sizes.h"

/* Preprocessor symbols of one computation, and its kernels. */
void tally_cuda_exact_choices(tally_text *text, const tally_computation *computation, const tally_cuda_sizes *sizes);
void tally_cuda_exact_kernels(tally_text *text, const tally_computation *computation);

#endif
