/* What back ends that compile a user's operator ask of its texts. */
#ifndef TALLY_CORE_USER_H
#define TALLY_CORE_USER_H

#include "core/computation.h"

/* TALLY_UNSUPPORTED, naming the back end: without the five texts, for an accumulator that registers do not hold, and
 * by segments or keys for a lift that looks at the index, since kernels do not know in time where a group starts.
 * TALLY_OK for any operator of the library's. */
tally_status tally_user_check(const tally_computation *computation, const char *backend);

#endif
