/* spool.c: see spool.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY_BYTES = 1 << 23 };

/* ---- whole reads and writes ---- */

static int write_some(int fd, bool at_offset, uint64_t offset, const unsigned char *p, size_t n) {
    while (n > 0) {
        const ssize_t done = at_offset ? pwrite(fd, p, n, (off_t)offset) : write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        p += done;
        offset += (uint64_t)done;
        n -= (size_t)done;
    }
    return 0;
}

static int read_some(int fd, bool at_offset, uint64_t offset, unsigned char *p, size_t n, size_t *got) {
    *got = 0;
    while (*got < n) {
        const ssize_t done =
            at_offset ? pread(fd, p + *got, n - *got, (off_t)(offset + *got)) : read(fd, p + *got, n - *got);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        if (done == 0)
            break;
        *got += (size_t)done;
    }
    return 0;
}

int write_fully(int fd, const void *bytes, size_t n) {
    return write_some(fd, false, 0, bytes, n);
}

int write_fully_at(int fd, uint64_t offset, const void *bytes, size_t n) {
    return write_some(fd, true, offset, bytes, n);
}

int read_fully(int fd, void *bytes, size_t n, size_t *got) {
    return read_some(fd, false, 0, bytes, n, got);
}

int read_fully_at(int fd, uint64_t offset, void *bytes, size_t n, size_t *got) {
    return read_some(fd, true, offset, bytes, n, got);
}

/* ---- the spool ---- */

static const char *folder(void) {
    const char *const tmpdir = getenv("TMPDIR");
    return tmpdir && tmpdir[0] ? tmpdir : "/tmp";
}

static int no_temporary(int error, fault *f) {
    return fault_data(f, "%s: cannot keep temporary data there: %s; set TMPDIR to a folder with room", folder(),
                      strerror(error));
}

static int to_file(spool *s, fault *f) {
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/tally-XXXXXX", folder()) >= sizeof path)
        return no_temporary(ENAMETOOLONG, f);
    const int fd = mkstemp(path);
    if (fd < 0)
        return no_temporary(errno, f);
    unlink(path);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    s->file_plus_1 = fd + 1;
    const int error = write_fully(fd, s->memory, (size_t)s->length);
    free(s->memory);
    s->memory = NULL;
    s->capacity = 0;
    return error != 0 ? no_temporary(error, f) : 0;
}

static int grow(spool *s, size_t needed, fault *f) {
    size_t capacity = s->capacity == 0 ? 4096 : s->capacity;
    while (capacity < needed)
        capacity *= 2;
    if (capacity == s->capacity)
        return 0;
    unsigned char *const memory = realloc(s->memory, capacity);
    if (!memory)
        return fault_data(f, "no memory for %zu bytes of temporary data", capacity);
    memset(memory + s->capacity, 0, capacity - s->capacity);
    s->memory = memory;
    s->capacity = capacity;
    return 0;
}

static void close_view(spool *s) {
    if (s->view)
        munmap(s->view, s->view_bytes);
    s->view = NULL;
}

int spool_write(spool *s, uint64_t offset, const void *bytes, size_t n, fault *f) {
    int code;
    close_view(s);
    if (n == 0)
        return 0;
    if (s->file_plus_1 == 0 && offset + n > MEMORY_BYTES && (code = to_file(s, f)) != 0)
        return code;
    if (s->file_plus_1 == 0) {
        if ((code = grow(s, (size_t)offset + n, f)) != 0)
            return code;
        memcpy(s->memory + offset, bytes, n);
    } else {
        const int error = write_fully_at(s->file_plus_1 - 1, offset, bytes, n);
        if (error != 0)
            return no_temporary(error, f);
    }
    if (offset + n > s->length)
        s->length = offset + n;
    return 0;
}

int spool_read(spool *s, uint64_t offset, void *bytes, size_t n, size_t *got, fault *f) {
    *got = 0;
    if (offset >= s->length)
        return 0;
    if (n > s->length - offset)
        n = (size_t)(s->length - offset);
    if (s->file_plus_1 == 0) {
        memcpy(bytes, s->memory + offset, n);
        *got = n;
        return 0;
    }
    const int error = read_fully_at(s->file_plus_1 - 1, offset, bytes, n, got);
    return error != 0 ? no_temporary(error, f) : 0;
}

const void *spool_view(spool *s, fault *f) {
    if (s->file_plus_1 == 0)
        return s->memory;
    if (!s->view) {
        void *const view = mmap(NULL, (size_t)s->length, PROT_READ, MAP_SHARED, s->file_plus_1 - 1, 0);
        if (view == MAP_FAILED) {
            no_temporary(errno, f);
            return NULL;
        }
        s->view = view;
        s->view_bytes = (size_t)s->length;
    }
    return s->view;
}

void spool_free(spool *s) {
    close_view(s);
    free(s->memory);
    if (s->file_plus_1 != 0)
        close(s->file_plus_1 - 1);
    memset(s, 0, sizeof *s);
}
