/* The specs of GPUs: "cuda:1", "vulkan". */
#ifndef TALLY_GPU_DEVICE_H
#define TALLY_GPU_DEVICE_H

#include "tally/tally.h"

/* Reads the text after the back end's name and a colon: "", which is 0, or a number. TALLY_INVALID_ARGUMENT for
 * anything else. A number that is too large for an int becomes INT_MAX, which no machine has. */
tally_status tally_gpu_parse_ordinal(const char *backend, const char *options, int *ordinal);

/* TALLY_NO_DEVICE for a number that is not below the count of devices. 'title': the back end's name in a sentence. */
tally_status tally_gpu_no_device(const char *backend, const char *title, const char *options, unsigned count);

#endif
