/* stream.c: see stream.h. Regular files are read with pread, so that the position of a standard input that is shared
 * with other commands does not matter.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"
#include "progress.h"

static int failed(const stream *s, int error, fault *f) {
    return fault_data(f, "%s: cannot read at byte %llu: %s", s->name, (unsigned long long)s->offset, strerror(error));
}

/* Reads only as much of an npy file in a pipe as recognises it, since the bytes after its array are the next command's.
 */
static int read_pipe_head(stream *s) {
    size_t more = 0;
    int error = read_fully(s->fd, s->head, NPY_MAGIC_BYTES, &s->head_length);
    if (error != 0 || s->head_length < NPY_MAGIC_BYTES || memcmp(s->head, NPY_MAGIC, NPY_MAGIC_BYTES) == 0)
        return error;
    error = read_fully(s->fd, s->head + NPY_MAGIC_BYTES, sizeof s->head - NPY_MAGIC_BYTES, &more);
    s->head_length += more;
    return error;
}

static int read_head(stream *s, fault *f) {
    const int error =
        s->regular ? read_fully_at(s->fd, s->start, s->head, sizeof s->head, &s->head_length) : read_pipe_head(s);
    return error != 0 ? failed(s, error, f) : 0;
}

int stream_open(stream *s, const char *path, fault *f) {
    struct stat status;
    memset(s, 0, offsetof(stream, head));
    const bool standard = !path || strcmp(path, "-") == 0;
    if (!standard && path[0] == 0)
        return fault_usage(f, "the name of a file is empty; - is standard input");
    s->name = standard ? "standard input" : path;
    s->owned = !standard;
    s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        s->owned = false;
        return fault_data(f, "%s: %s", path, strerror(errno));
    }
    if (fstat(s->fd, &status) != 0)
        return fault_data(f, "%s: %s", s->name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return fault_data(f, "%s: is a folder; give a file", s->name);
    s->device = status.st_dev;
    s->inode = status.st_ino;
    const off_t at = S_ISREG(status.st_mode) && standard ? lseek(s->fd, 0, SEEK_CUR) : 0;
    /* Regular files without a size are either empty or made up as they are read (/proc): both read like pipes. */
    if (S_ISREG(status.st_mode) && status.st_size > at) {
        s->regular = s->seekable = true;
        s->start = at > 0 ? (uint64_t)at : 0;
        s->size = (uint64_t)status.st_size - s->start;
        posix_fadvise(s->fd, (off_t)s->start, 0, POSIX_FADV_SEQUENTIAL);
    }
    return read_head(s, f);
}

void stream_close(stream *s) {
    if (s->owned)
        close(s->fd);
    s->owned = false;
    spool_free(&s->aside);
}

int stream_read(stream *s, void *bytes, size_t n, size_t *got, fault *f) {
    int error = 0;
    *got = 0;
    if (s->spooled) {
        const int code = spool_read(&s->aside, s->offset, bytes, n, got, f);
        if (code != 0)
            return code;
    } else if (s->regular) {
        error = read_fully_at(s->fd, s->start + s->offset, bytes, n, got);
    } else {
        size_t ahead = s->offset < s->head_length ? s->head_length - (size_t)s->offset : 0;
        size_t more = 0;
        if (ahead > n)
            ahead = n;
        memcpy(bytes, s->head + s->offset * (ahead > 0), ahead);
        if (n > ahead)
            error = read_fully(s->fd, (unsigned char *)bytes + ahead, n - ahead, &more);
        *got = ahead + more;
    }
    if (error != 0)
        return failed(s, error, f);
    const int code = s->keeping ? spool_write(&s->aside, s->offset, bytes, *got, f) : 0;
    s->offset += *got;
    progress_add(*got);
    return code;
}

void stream_seek(stream *s, uint64_t offset) {
    s->offset = offset;
}

void stream_keep(stream *s) {
    s->keeping = true;
}

void stream_kept(stream *s) {
    s->keeping = false;
    s->size = s->offset;
    s->offset = 0;
    s->spooled = s->seekable = true;
}

int stream_spool(stream *s, uint64_t most, fault *f) {
    enum { PIECE = 1 << 20 };
    unsigned char *const piece = malloc(PIECE);
    size_t asked, got;
    int code = 0;
    if (!piece)
        return fault_data(f, "%s: no memory for reading", s->name);
    stream_keep(s);
    do {
        asked = most < PIECE ? (size_t)most : PIECE;
        code = stream_read(s, piece, asked, &got, f);
        most -= got;
    } while (code == 0 && got == asked && most > 0);
    stream_kept(s);
    free(piece);
    return code;
}
