/* The requirements of back ends that compile a user's operator. */
#ifndef TALLY_GPU_USER_H
#define TALLY_GPU_USER_H

#include "core/computation.h"

/* Checks a user's operator. TALLY_UNSUPPORTED, with the back end's name in the message, if it lacks one of its five
 * texts, if its accumulator is too large for registers, or if, by segments or keys, its lift uses the index: kernels
 * lift elements before they know where the elements' group starts. TALLY_OK for the library's own operators. */
tally_status tally_user_check(const tally_computation *computation, const char *backend);

#endif
