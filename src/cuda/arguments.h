/* The structs of arguments.def, for the host, and as text for the kernels. */
#ifndef TALLY_CUDA_ARGUMENTS_H
#define TALLY_CUDA_ARGUMENTS_H

#include <stdint.h>

#include "cuda/driver.h"
#include "gpu/text.h"

/* clang-format off */
#define TALLY_CUDA_STRUCT(name) typedef struct tally_cuda_##name {
#define TALLY_CUDA_POINTER(type, member) CUdeviceptr member;
#define TALLY_CUDA_EITHER(type, of_segments, of_keys) union { CUdeviceptr of_segments, of_keys; };
#define TALLY_CUDA_UINT64(member) uint64_t member;
#define TALLY_CUDA_UINT32(member) uint32_t member;
#define TALLY_CUDA_MEMBER(name, member) tally_cuda_##name member;
#define TALLY_CUDA_STRUCT_END(name) } tally_cuda_##name;
#include "cuda/arguments.def"
/* clang-format on */

/* Adds the structs that stand before one of the texts in kernels/, which its address identifies. The resulting text
 * does not compile if the kernels' compiler and the host's lay a struct out differently. */
void tally_cuda_arguments_add(tally_text *text, const char *before);

#endif
