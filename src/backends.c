/* The back ends of the library, the one place that names them all. A new one is a line here and its declaration in
 * core/backend.h. */
#include "core/backend.h"

const tally_backend *const tally_backends[] = {
    &tally_cuda_backend,
    &tally_vulkan_backend,
    &tally_cpu_backend,
    NULL,
};
