/* Keeps the folder of kernels within a size by removing the least recently used ones. */
#ifndef TALLY_GPU_CACHE_LIMIT_H
#define TALLY_GPU_CACHE_LIMIT_H

#include <stdint.h>

/* TALLY_CACHE_MIB in bytes; 256 MiB if it is not set or not a number. */
uint64_t tally_cache_limit(void);

/* If this user's entries take more than the limit, removes the oldest until the rest takes at most seven eighths of it;
 * the youngest always stays. Also removes unfinished files that are a day old. Nothing else in the folder is touched.
 * Any number of processes may do this at a time. */
void tally_cache_trim(const char *folder, uint64_t limit);

#endif
