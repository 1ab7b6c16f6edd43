/* A copy whose speed does not depend on where the two sides lie.
 *
 * The C library copies from some 2 KiB on by one 'rep movsb'. On AMD's Zen 4 that takes byte by byte where the target
 * lies 1 to 31 bytes behind the source within a page (3.5 GB/s instead of 50), as misaligned inputs often do. */
#ifndef TALLY_CPU_COPY_H
#define TALLY_CPU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TALLY_CPU_SHORT_COPY = 2048, TALLY_CPU_COPIED_BLOCK = 64, TALLY_CPU_CLOSE_BEHIND = 32, TALLY_CPU_PAGE = 4096 };

/* to[0 .. bytes - 1] = from[0 .. bytes - 1]; they do not overlap. */
static inline void tally_cpu_copy(void *to, const void *from, size_t bytes) {
    const char *source = (const char *)from;
    char *target = (char *)to;
    size_t done = 0;
    const size_t behind = ((uintptr_t)target - (uintptr_t)source) % TALLY_CPU_PAGE;
    if (bytes > TALLY_CPU_SHORT_COPY && behind > 0 && behind < TALLY_CPU_CLOSE_BEHIND)
        for (; done + TALLY_CPU_COPIED_BLOCK <= bytes; done += TALLY_CPU_COPIED_BLOCK) {
            __asm__("" : "+r"(source)); /* the compiler would make one call of memcpy of all blocks */
            memcpy(target + done, source + done, TALLY_CPU_COPIED_BLOCK);
        }
    memcpy(target + done, source + done, bytes - done);
}

/* A copy of 1, 2, 4 or 8 bytes without a call. */
static inline void tally_cpu_copy_one(void *to, const void *from, size_t bytes) {
    if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 2)
        memcpy(to, from, 2);
    else
        memcpy(to, from, 1);
}

#endif
