/* The kernels of a computation in parts: kernels that are made of the same texts. */
#ifndef TALLY_CUDA_PARTS_H
#define TALLY_CUDA_PARTS_H

#include "core/computation.h"
#include "cuda/sizes.h"

enum { TALLY_CUDA_MOST_PARTS = 10 };

/* How many kernels kernels.def has. */
enum {
    TALLY_CUDA_KERNELS = 0
#define TALLY_CUDA_KERNEL(name, text)                   +1
#define TALLY_CUDA_ENTRY(name, bounds, arguments, call) +1
#include "cuda/kernels.def"
};

/* Each part is a list of texts that ends with NULL: kernels, and the texts that they need besides the vocabulary and
 * the computation's types and functions. Returns the number of parts; those that take longest come first. */
size_t tally_cuda_parts_of(const tally_computation *computation, const tally_cuda_sizes *sizes,
                           const char *const *parts[TALLY_CUDA_MOST_PARTS]);

/* The part with the kernel of carries, which a plan gets when it first needs it (carry.h). */
extern const char *const tally_cuda_part_of_carry[];

/* Likewise with that of offsets of parts (many_groups.c). */
extern const char *const tally_cuda_part_of_rebase[];

/* Whether a part has a kernel, which is known by its place in kernels.def. */
bool tally_cuda_part_has(const char *const *part, size_t kernel);

/* The names of the kernels, by their places there. */
extern const char *const tally_cuda_kernel_names[];

#endif
