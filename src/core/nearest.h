/* The known name nearest to a mistyped one, for messages. */
#ifndef TALLY_CORE_NEAREST_H
#define TALLY_CORE_NEAREST_H

#include <stddef.h>

typedef struct tally_known_name {
    const char *name;
    const char *means; /* what to suggest for it: the name itself, or the one that it goes by here */
} tally_known_name;

/* The suggestion of the name at the smallest edit distance (the first of equals), or NULL if none is near: more than
 * one letter in four would have to change. */
const char *tally_nearest(const char *name, const tally_known_name *known, size_t count);

#endif
