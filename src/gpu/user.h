/* What back ends that compile a user's operator ask of its texts. */
#ifndef TALLY_GPU_USER_H
#define TALLY_GPU_USER_H

#include "core/computation.h"

/* TALLY_UNSUPPORTED, with the back end's name in the message, for a user's operator that lacks one of its five texts,
 * for one whose accumulator is too large for registers, and, by segments or keys, for one whose lift looks at the
 * index: kernels lift elements before they know where the elements' group starts. TALLY_OK for the library's own
 * operators. */
tally_status tally_user_check(const tally_computation *computation, const char *backend);

#endif
