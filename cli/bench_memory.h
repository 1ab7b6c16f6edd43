/* Memory for benchmarks: in large pages on request, as NumPy asks for them too, and written once, so that it is there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_CLI_BENCH_MEMORY_H
#define TALLY_CLI_BENCH_MEMORY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* NULL if there is not enough; munmap gives it back. */
static inline void *bench_map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    memset(memory, 1, bytes);
    return memory;
}

#endif
