/* Devices of several GPUs: "cuda:*", "cuda:0,1". */
#ifndef TALLY_CUDA_MANY_DEVICE_H
#define TALLY_CUDA_MANY_DEVICE_H

#include "cuda/many.h"

/* Whether the text after "cuda:" names several GPUs. */
bool tally_cuda_names_many(const char *options);

tally_status tally_cuda_many_open(const char *options, tally_device **device);

#endif
