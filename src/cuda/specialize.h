/* The source text of one computation's kernels: the vocabulary, the types and functions that the operator table gives,
 * and the kernels that its grouping and form need. */
#ifndef TALLY_CUDA_SPECIALIZE_H
#define TALLY_CUDA_SPECIALIZE_H

#include "core/computation.h"

/* Compiler options for every text from here. */
extern const char *const tally_cuda_options[];
extern const size_t tally_cuda_option_count;

/* *source is to be freed. TALLY_OUT_OF_MEMORY, or TALLY_UNSUPPORTED with the reason. 'architecture' as 90 for compute
 * capability 9.0. Any thread may call. */
tally_status tally_cuda_specialize(const tally_computation *computation, int architecture, char **source);

#endif
