/* Keeps the folder of kernels within a size: what was used longest ago goes first. */
#ifndef TALLY_GPU_CACHE_LIMIT_H
#define TALLY_GPU_CACHE_LIMIT_H

#include <stdint.h>

/* TALLY_CACHE_MIB in bytes; 256 MiB where it is not set or not a number. */
uint64_t tally_cache_limit(void);

/* Removes this user's entries, those with the oldest times first, until what is left takes no more than seven eighths
 * of the limit, if it takes more than the limit now; the youngest one stays in any case. Removes unfinished files that
 * are a day old, too. Nothing else in the folder is touched. Any number of processes may do this at a time. */
void tally_cache_trim(const char *folder, uint64_t limit);

#endif
