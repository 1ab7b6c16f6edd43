/* Compiled kernels on disk, one file each, named by the key. The folder is TALLY_CACHE_DIR, else $XDG_CACHE_HOME/tally,
 * else ~/.cache/tally. TALLY_CACHE=0 turns the cache off. So does running with another user's rights, because such a
 * program must not write where that user's environment says. The folder is kept below TALLY_CACHE_MIB (cache_limit.h).
 * Nothing here fails: an unreadable entry counts as missing, and an entry that cannot be written is not kept. Any
 * thread and any number of processes may call.
 *
 * Prebuilt kernels are such files in a folder that is only read: TALLY_PREBUILT_DIR, else where the library was
 * installed, if it was built with any (TALLY_CUDA_PREBUILT of CMakeLists.txt). */
#ifndef TALLY_GPU_CACHE_H
#define TALLY_GPU_CACHE_H

#include <stdbool.h>

#include "gpu/hash.h"

/* A compiled kernel. */
typedef struct tally_image {
    void *bytes; /* from malloc */
    size_t size;
} tally_image;

/* Releases the bytes; the image is empty afterwards. */
void tally_image_free(tally_image *image);

/* True, with an image that the caller frees, if there is a complete and undamaged entry of this user. */
bool tally_cache_load(tally_key key, tally_image *image);

/* Writes the entry or replaces it; a reader sees the old or the new entry, complete. */
void tally_cache_store(tally_key key, const tally_image *image);

/* Whether there is such a folder. */
bool tally_prebuilt_exists(void);

/* As tally_cache_load, from the prebuilt ones, whose files may also be the superuser's. */
bool tally_prebuilt_load(tally_key key, tally_image *image);

/* Writes an entry into a folder, which exists: for the program that makes them. */
bool tally_prebuilt_store(const char *folder, tally_key key, const tally_image *image);

#endif
