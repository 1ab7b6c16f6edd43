/* The part of a text that one kernel needs. What all kernels of a part share is then parsed only for those that call
 * it, and texts of kernels that depend on less of a computation are the same for more of them. */
#ifndef TALLY_CUDA_PRUNE_H
#define TALLY_CUDA_PRUNE_H

/* Lines around the texts of a caller's operator, which may be anything, and which all kernels need. */
#define TALLY_CUDA_BEGINS_USER "#line 1 \"operator\"\n"
#define TALLY_CUDA_ENDS_USER   "#line 1 \"tally\"\n"

/* A copy of the text with the declarations and macros that the kernel needs, from malloc; NULL: there is too little
 * memory. The text is of specialize.c's making, without comments. */
char *tally_cuda_prune(const char *text, const char *kernel);

#endif
