/* The source texts of one computation's kernels. Each has the vocabulary, the types and functions that the operator
 * table gives, and a part of the kernels for its grouping and form. */
#ifndef TALLY_CUDA_SPECIALIZE_H
#define TALLY_CUDA_SPECIALIZE_H

#include "cuda/parts.h"

/* Compiler options for every text from here. */
extern const char *const tally_cuda_options[];
extern const size_t tally_cuda_option_count;

typedef struct tally_cuda_texts {
    char *text[TALLY_CUDA_MOST_PARTS];
    const char *const *part[TALLY_CUDA_MOST_PARTS]; /* that the text was made of */
    size_t count;
} tally_cuda_texts;

/* The texts of those parts that have a bit, in the parts' order; the caller frees them. None if it fails:
 * TALLY_OUT_OF_MEMORY. 'architecture' is 90 for compute capability 9.0. Any thread may call. */
enum { TALLY_CUDA_ALL_PARTS = (1 << TALLY_CUDA_MOST_PARTS) - 1 };
tally_status tally_cuda_specialize(const tally_computation *computation, int architecture, uint32_t parts,
                                   tally_cuda_texts *texts);

/* The same for the kernel that makes accumulators of this computation from states of that form. */
tally_status tally_cuda_specialize_carry(const tally_computation *computation, const tally_words_form *form,
                                         int architecture, tally_cuda_texts *texts);

/* The same for the kernel of offsets of parts. */
tally_status tally_cuda_specialize_rebase(const tally_computation *computation, int architecture,
                                          tally_cuda_texts *texts);

/* Afterwards there are none. */
void tally_cuda_texts_free(tally_cuda_texts *texts);

#endif
