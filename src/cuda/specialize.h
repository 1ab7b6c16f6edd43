/* The source texts of one computation's kernels, one for each: what the kernel needs of the vocabulary, of the types
 * and functions that the operator table gives, and of the texts for its grouping and form. */
#ifndef TALLY_CUDA_SPECIALIZE_H
#define TALLY_CUDA_SPECIALIZE_H

#include "cuda/parts.h"

/* Compiler options for every text from here. */
extern const char *const tally_cuda_options[];
extern const size_t tally_cuda_option_count;

enum { TALLY_CUDA_MOST_TEXTS = 20 /* of a computation */ };

typedef struct tally_cuda_texts {
    char *text[TALLY_CUDA_MOST_TEXTS];
    unsigned kernel[TALLY_CUDA_MOST_TEXTS]; /* its place in kernels.def */
    size_t count;
} tally_cuda_texts;

/* The texts of the kernels that are true in 'wanted', by their places in kernels.def, or of all, if that is NULL. They
 * come in the parts' order; the caller frees them. None if it fails: TALLY_OUT_OF_MEMORY. 'architecture' is 90 for
 * compute capability 9.0. Any thread may call. */
tally_status tally_cuda_specialize(const tally_computation *computation, int architecture, const bool *wanted,
                                   tally_cuda_texts *texts);

/* The same for the kernel that makes accumulators of this computation from states of that form. */
tally_status tally_cuda_specialize_carry(const tally_computation *computation, const tally_words_form *form,
                                         int architecture, tally_cuda_texts *texts);

/* The same for the kernels of offsets of parts, in one text. */
tally_status tally_cuda_specialize_rebase(const tally_computation *computation, int architecture,
                                          tally_cuda_texts *texts);

/* Afterwards there are none. */
void tally_cuda_texts_free(tally_cuda_texts *texts);

#endif
