/* agreed.def for the host. */
#ifndef TALLY_CUDA_AGREED_H
#define TALLY_CUDA_AGREED_H

enum {
#define TALLY_CUDA_SIZE(name, value) TALLY_CUDA_##name = value,
#define TALLY_CUDA_WAY(name, number) TALLY_CUDA_##name = number,
#include "cuda/agreed.def"
};

#endif
