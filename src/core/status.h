/* How a failed call tells the caller why: one message per thread, kept until the next failure on that thread. */
#ifndef TALLY_CORE_STATUS_H
#define TALLY_CORE_STATUS_H

#include "tally/tally.h"

/* Records a message for tally_last_error and returns the status, so that a check reads: return tally_fail(...). */
tally_status tally_fail(tally_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
