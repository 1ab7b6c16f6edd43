/* Memory that ends, or begins, at a page that may not be touched: a read past it crashes with any compiler. */
#ifndef TALLY_TEST_FENCE_H
#define TALLY_TEST_FENCE_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct fenced {
    unsigned char *mapping;
    size_t pages, page;
} fenced;

/* A copy of 'bytes' of data with a fence directly after it (or, before: directly before it). */
static inline void *fence(fenced *f, const void *data, size_t bytes, int before) {
    f->page = (size_t)sysconf(_SC_PAGESIZE);
    f->pages = (bytes + f->page - 1) / f->page + 1;
    f->mapping = mmap(NULL, f->pages * f->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->mapping == MAP_FAILED)
        abort();
    unsigned char *fence_page = before ? f->mapping : f->mapping + (f->pages - 1) * f->page;
    unsigned char *memory = before ? f->mapping + f->page : fence_page - bytes;
    if (bytes)
        memcpy(memory, data, bytes);
    if (mprotect(fence_page, f->page, PROT_NONE) != 0)
        abort();
    return memory;
}

static inline void unfence(fenced *f) {
    munmap(f->mapping, f->pages * f->page);
}

#endif
