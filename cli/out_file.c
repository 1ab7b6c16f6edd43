/* out_file.c: see out_file.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spool.h"

/* ---- temporary names and signals ---- */

/* Names that exist on disk and must not outlive the command: one for each file that it writes at a time. */
enum { DOOMED = 4 };
static char *volatile doomed[DOOMED];

static void remove_doomed(int number) {
    for (int i = 0; i < DOOMED; i++)
        if (doomed[i])
            unlink(doomed[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void doom(char *path) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            signal(numbers[i], remove_doomed);
    }
    for (int i = 0; i < DOOMED; i++)
        if (!doomed[i]) {
            doomed[i] = path;
            return;
        }
}

static void pardon(const char *path) {
    for (int i = 0; i < DOOMED; i++)
        if (doomed[i] == path)
            doomed[i] = NULL;
}

/* ---- the new file ---- */

static int cannot(const out_file *file, const char *what, int error, fault *f) {
    return fault_data(f, "%s: cannot %s: %s", file->name, what, strerror(error));
}

/* The folder of a path, "./" or up to its last slash, with room for a name in it. */
static char *folder_of(const char *path, size_t room) {
    const char *const slash = strrchr(path, '/');
    const size_t length = slash ? (size_t)(slash - path) + 1 : 2;
    char *const folder = malloc(length + room + 1);
    if (!folder)
        return NULL;
    memcpy(folder, slash ? path : "./", length);
    folder[length] = 0;
    return folder;
}

enum { NAME_ROOM = 32 };

/* A file without a name in the folder; it can be given one through /proc. */
static int open_unnamed(const char *folder) {
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0)
        return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    (void)folder;
    return -1;
}

static int open_temporary(out_file *file, fault *f) {
    char *const name = folder_of(file->path, NAME_ROOM);
    if (!name)
        return cannot(file, "write", ENOMEM, f);
    file->any_place = true;
    file->fd = open_unnamed(name);
    if (file->fd >= 0) {
        free(name);
        return 0;
    }
    strcat(name, ".tally-XXXXXX");
    file->fd = mkstemp(name);
    if (file->fd < 0) {
        const int error = errno;
        free(name);
        return cannot(file, "write in its folder", error, f);
    }
    fcntl(file->fd, F_SETFD, FD_CLOEXEC);
    file->temporary = name;
    doom(name);
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(file->fd, 0666 & ~mask);
    return 0;
}

/* Gives the unnamed file a temporary name first, as only rename replaces a file in one step. A name that is there
 * belongs to somebody else, in another container with the same process number, say. */
int out_file_name(out_file *file, fault *f) {
    enum { ATTEMPTS = 100 };
    if (file->temporary)
        return 0;
    char from[64];
    char *const name = folder_of(file->path, NAME_ROOM);
    if (!name)
        return cannot(file, "write", ENOMEM, f);
    char *const end = name + strlen(name);
    snprintf(from, sizeof from, "/proc/self/fd/%d", file->fd);
    int error = EEXIST;
    for (int i = 0; error == EEXIST && i < ATTEMPTS; i++) {
        snprintf(end, NAME_ROOM, ".tally-%ld-%d", (long)getpid(), i);
        error = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    if (error != 0) {
        free(name);
        return cannot(file, "write", error, f);
    }
    file->temporary = name;
    doom(name);
    return 0;
}

/* Decides between a file to be replaced and a device or pipe to be written to. */
static int open_path(out_file *file, const char *path, fault *f) {
    struct stat status;
    if (stat(path, &status) != 0) {
        if (errno != ENOENT)
            return cannot(file, "write", errno, f);
        if (lstat(path, &status) == 0) /* rename would replace the link, not what it points to */
            return fault_data(f, "%s: is a link to a file that does not exist; make that or remove the link", path);
        file->path = strdup(path);
        return file->path ? open_temporary(file, f) : cannot(file, "write", ENOMEM, f);
    }
    if (S_ISDIR(status.st_mode))
        return fault_usage(f, "%s: is a folder; give the name of a file to write", path);
    if (!S_ISREG(status.st_mode)) {
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
        return file->fd < 0 ? cannot(file, "write", errno, f) : 0;
    }
    if (access(path, W_OK) != 0) /* rename would not ask */
        return cannot(file, "replace", errno, f);
    file->mode = status.st_mode & 07777;
    file->path = realpath(path, NULL); /* a link stays, what it points to is replaced */
    return file->path ? open_temporary(file, f) : cannot(file, "write", errno, f);
}

/* ---- the public calls ---- */

int out_file_open(out_file *file, const char *path, fault *f) {
    const bool standard = strcmp(path, "-") == 0;
    *file = (out_file){.name = standard ? "standard output" : path, .fd = standard ? STDOUT_FILENO : -1, .open = true};
    if (!*path)
        return fault_usage(f, "the name of an output is empty; - is standard output");
    return standard ? 0 : open_path(file, path, f);
}

int out_file_write(out_file *file, uint64_t offset, const void *bytes, size_t n, fault *f) {
    const int error = file->any_place ? write_fully_at(file->fd, offset, bytes, n) : write_fully(file->fd, bytes, n);
    return error != 0 ? cannot(file, "write", error, f) : 0;
}

int out_file_stream(out_file *file, FILE **stream, fault *f) {
    if (file->fd == STDOUT_FILENO) {
        *stream = stdout;
        return 0;
    }
    const int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    *stream = file->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (file->stream)
        return 0;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return cannot(file, "write", error, f);
}

static int close_stream(out_file *file, fault *f) {
    FILE *const stream = file->stream;
    file->stream = NULL;
    if (!stream)
        return 0;
    errno = 0;
    const bool failed = ferror(stream) != 0;
    if (fclose(stream) == 0 && !failed)
        return 0;
    return cannot(file, "write", errno != 0 ? errno : EIO, f);
}

int out_file_settle(out_file *file, fault *f) {
    if (file->fd < 0)
        return 0;
    int code = close_stream(file, f);
    if (code != 0 || file->fd == STDOUT_FILENO)
        return code != 0 ? code : out_file_flush_standard(f);
    if (file->path && file->mode != 0)
        fchmod(file->fd, file->mode);
    if (file->path && (code = out_file_name(file, f)) != 0)
        return code;
    const int closed = close(file->fd);
    file->fd = -1;
    return closed != 0 ? cannot(file, "write", errno, f) : 0;
}

int out_file_finish(out_file *file, fault *f) {
    const int code = out_file_settle(file, f);
    if (code != 0 || !file->temporary)
        return code;
    if (rename(file->temporary, file->path) != 0)
        return cannot(file, "replace", errno, f);
    pardon(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

void out_file_close(out_file *file) {
    if (!file->open)
        return;
    if (file->stream)
        fclose(file->stream);
    if (file->fd > STDERR_FILENO)
        close(file->fd);
    if (file->temporary) {
        unlink(file->temporary);
        pardon(file->temporary);
    }
    free(file->temporary);
    free(file->path);
    *file = (out_file){.fd = -1};
}

static bool is_standard(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

bool out_file_status(const char *path, struct stat *status) {
    return (is_standard(path) ? fstat(STDOUT_FILENO, status) : stat(path, status)) == 0;
}

/* Is it the same file? */
static bool same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_folder(const char *path, const char *other) {
    char *const a = folder_of(path, 0), *const b = folder_of(other, 0);
    struct stat status_a, status_b;
    const bool is = a && b && stat(a, &status_a) == 0 && stat(b, &status_b) == 0 && same(&status_a, &status_b);
    free(a);
    free(b);
    return is;
}

static const char *last_part(const char *path) {
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool out_file_same(const char *path, const char *other) {
    struct stat a, b;
    if (is_standard(path) && is_standard(other))
        return true;
    const bool there = out_file_status(path, &a), other_there = out_file_status(other, &b);
    if (there && other_there) /* what goes to /dev/null is lost in any case */
        return same(&a, &b) && !S_ISCHR(a.st_mode);
    return !there && !other_there && strcmp(last_part(path), last_part(other)) == 0 && same_folder(path, other);
}

int out_file_flush_standard(fault *f) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    /* An earlier write that failed has left no reason behind. */
    return fault_data(f, "standard output: cannot write%s%s", errno != 0 ? ": " : "",
                      errno != 0 ? strerror(errno) : "");
}
