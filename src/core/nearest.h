/* The known name nearest to a mistyped one, for messages. */
#ifndef TALLY_CORE_NEAREST_H
#define TALLY_CORE_NEAREST_H

#include <stddef.h>

/* The name with the smallest edit distance (the first of equals). count is at least 1. */
const char *tally_nearest(const char *name, const char *const *names, size_t count);

#endif
