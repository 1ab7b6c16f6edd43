#include "cuda/workspace.h"

#include "core/arithmetic.h"

enum { ALIGNMENT = 256 };

size_t tally_cuda_place(tally_cuda_cut *cut, uint64_t bytes) {
    size_t at = cut->bytes;
    cut->bytes += (size_t)round_up(bytes, ALIGNMENT);
    return at;
}
