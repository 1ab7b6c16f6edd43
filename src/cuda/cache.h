/* Compiled kernels on disk, one file each, named by the key. The folder is TALLY_CACHE_DIR, else
 * $XDG_CACHE_HOME/tally, else ~/.cache/tally; TALLY_CACHE=0 turns the cache off. The folder is
 * kept below TALLY_CACHE_MIB (cache_limit.h). Nothing here fails: what cannot be
 * read is not there, and what cannot be written is not kept. Any thread and any number of processes may call. */
#ifndef TALLY_CUDA_CACHE_H
#define TALLY_CUDA_CACHE_H

#include <stdbool.h>

#include "core/hash.h"
#include "cuda/nvrtc.h"

/* True with an image, which the caller frees, if there is a whole and undamaged entry of this user. */
bool tally_cuda_cache_load(tally_key key, tally_cuda_image *image);

/* Writes the entry or replaces it; a reader sees the old one or the new one, whole. */
void tally_cuda_cache_store(tally_key key, const tally_cuda_image *image);

#endif
