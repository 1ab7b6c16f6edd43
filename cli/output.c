/* output.c: see output.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"

enum { UNKNOWN_SHAPE_HEADER_BYTES = 128 }; /* room to write a count into the header afterwards */

/* ---- temporary names and signals ---- */

/* Names that exist on disk and must not outlive the command. A command has at most two outputs. */
static char *volatile doomed[2];

static void remove_doomed(int number) {
    for (int i = 0; i < 2; i++)
        if (doomed[i] != NULL)
            unlink(doomed[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void doom(char *path) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            signal(numbers[i], remove_doomed);
    }
    doomed[doomed[0] == NULL ? 0 : 1] = path;
}

static void pardon(const char *path) {
    for (int i = 0; i < 2; i++)
        if (doomed[i] == path)
            doomed[i] = NULL;
}

/* ---- files ---- */

static int cannot(const output *out, const char *what, int error, fault *f) {
    return fault_data(f, "%s: cannot %s: %s", out->name, what, strerror(error));
}

static int no_memory(const output *out, fault *f) {
    return cannot(out, "write", ENOMEM, f);
}

/* "FOLDER/" of a path, or "./", with room for a temporary name. */
static char *temporary_in_folder(const char *path) {
    const char *const slash = strrchr(path, '/');
    const size_t folder = slash == NULL ? 2 : (size_t)(slash - path) + 1;
    char *const name = malloc(folder + 32);
    if (name == NULL)
        return NULL;
    memcpy(name, slash == NULL ? "./" : path, folder);
    name[folder] = 0;
    return name;
}

/* A file without a name in the folder; it can be given one through /proc. */
static int open_unnamed(const char *folder) {
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0)
        return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    (void)folder;
    return -1;
}

static int open_temporary(output *out, fault *f) {
    char *const name = temporary_in_folder(out->path);
    if (name == NULL)
        return no_memory(out, f);
    out->fd = open_unnamed(name);
    if (out->fd >= 0) {
        free(name);
        return 0;
    }
    strcat(name, ".tally-XXXXXX");
    out->fd = mkstemp(name);
    if (out->fd < 0) {
        const int error = errno;
        free(name);
        return cannot(out, "write in its folder", error, f);
    }
    out->temporary = name;
    doom(name);
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(out->fd, 0666 & ~mask);
    return 0;
}

/* Gives the unnamed file a temporary name first, as only rename replaces a file in one step. A name that is there
 * belongs to somebody else, in another container with the same process number, say. */
static int name_file(output *out, fault *f) {
    enum { ATTEMPTS = 100 };
    if (out->temporary != NULL)
        return 0;
    char from[64];
    char *const name = temporary_in_folder(out->path);
    if (name == NULL)
        return no_memory(out, f);
    char *const end = name + strlen(name);
    snprintf(from, sizeof from, "/proc/self/fd/%d", out->fd);
    int error = EEXIST;
    for (int i = 0; error == EEXIST && i < ATTEMPTS; i++) {
        snprintf(end, 32, ".tally-%ld-%d", (long)getpid(), i);
        error = linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
    }
    if (error != 0) {
        free(name);
        return cannot(out, "write", error, f);
    }
    out->temporary = name;
    doom(name);
    return 0;
}

static int commit(output *out, fault *f) {
    int code;
    if (out->mode != 0)
        fchmod(out->fd, out->mode);
    if ((code = name_file(out, f)) != 0)
        return code;
    if (close(out->fd) != 0) {
        out->fd = -1;
        return cannot(out, "write", errno, f);
    }
    out->fd = -1;
    if (rename(out->temporary, out->path) != 0)
        return cannot(out, "replace", errno, f);
    pardon(out->temporary);
    free(out->temporary);
    out->temporary = NULL;
    return 0;
}

static int is_an_input(const struct stat *status, const input *const *inputs, size_t count, const input **which) {
    for (size_t i = 0; i < count; i++) {
        *which = inputs[i];
        if (inputs[i]->bytes.device == status->st_dev && inputs[i]->bytes.inode == status->st_ino)
            return 1;
    }
    return 0;
}

/* Decides between a file to be replaced and a device or pipe to be written to. */
static int open_path(output *out, const char *path, const input *const *inputs, size_t count, fault *f) {
    struct stat status;
    const input *which;
    out->name = path;
    if (stat(path, &status) != 0) {
        if (errno != ENOENT)
            return cannot(out, "write", errno, f);
        if (lstat(path, &status) == 0) /* rename would replace the link, not what it points to */
            return fault_data(f, "%s: is a link to a file that does not exist; make that or remove the link", path);
        out->path = strdup(path);
        out->kind = OUTPUT_FILE;
        return out->path == NULL ? no_memory(out, f) : open_temporary(out, f);
    }
    if (S_ISDIR(status.st_mode))
        return fault_usage(f, "%s: is a folder; give the name of a file to write", path);
    if (is_an_input(&status, inputs, count, &which))
        return fault_usage(f, "%s: is also the input %s; write to another file", path, which->name);
    if (!S_ISREG(status.st_mode)) {
        out->kind = OUTPUT_PLAIN;
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? cannot(out, "write", errno, f) : 0;
    }
    if (access(path, W_OK) != 0) /* rename would not ask */
        return cannot(out, "replace", errno, f);
    out->kind = OUTPUT_FILE;
    out->mode = status.st_mode & 07777;
    out->path = realpath(path, NULL); /* a link stays, what it points to is replaced */
    return out->path == NULL ? cannot(out, "write", errno, f) : open_temporary(out, f);
}

/* ---- the npy header ---- */

static int write_bytes(output *out, uint64_t offset, const void *bytes, size_t n, fault *f) {
    const int error =
        out->kind == OUTPUT_FILE ? write_fully_at(out->fd, offset, bytes, n) : write_fully(out->fd, bytes, n);
    return error != 0 ? cannot(out, "write", error, f) : 0;
}

static int write_header(output *out, fault *f) {
    char bytes[NPY_HEADER_CAPACITY];
    const output_array *const a = &out->array;
    const size_t n = npy_format_header(bytes, sizeof bytes, UNKNOWN_SHAPE_HEADER_BYTES, a->dtype, a->fortran_order,
                                       a->rank, a->shape);
    if (n == 0)
        return fault_data(f, "%s: the result has more than %d dimensions, which npy files cannot hold", out->name,
                          NPY_MAX_RANK);
    out->header_bytes = n;
    return write_bytes(out, 0, bytes, n, f);
}

/* ---- the public calls ---- */

int output_open(output *out, const char *path, int json, const output_array *array, const input *const *inputs,
                size_t input_count, fault *f) {
    int code = 0;
    memset(out, 0, sizeof *out);
    out->array = *array;
    out->json = json;
    out->fd = -1;
    out->open = 1;
    out->name = "standard output";
    const int unknown = array->rank > 0 && array->shape[0] == INPUT_UNKNOWN;
    if (path == NULL) {
        out->kind =
            json || array->any_order || (array->fortran_order && array->rank > 1) ? OUTPUT_KEPT : OUTPUT_PRINTED;
        return 0;
    }
    out->to_npy = 1;
    if (strcmp(path, "-") == 0) {
        if (isatty(STDOUT_FILENO))
            return fault_usage(f, "standard output is a terminal, where an npy file makes no sense; send it elsewhere");
        out->kind = OUTPUT_PLAIN;
        out->fd = STDOUT_FILENO;
    } else if ((code = open_path(out, path, inputs, input_count, f)) != 0) {
        return code;
    }
    if (out->kind == OUTPUT_PLAIN && (unknown || array->any_order)) {
        out->kind = OUTPUT_KEPT;
        return 0;
    }
    return write_header(out, f);
}

int output_write(output *out, uint64_t first, const void *elements, size_t n, fault *f) {
    const size_t size = tally_dtype_size(out->array.dtype);
    if (first + n > out->written)
        out->written = first + n;
    switch (out->kind) {
    case OUTPUT_PRINTED:
        print_elements(&out->array, first, elements, n);
        return ferror(stdout) ? output_flush_standard(f) : 0;
    case OUTPUT_KEPT:
        return spool_write(&out->kept, first * size, elements, n * size, f);
    default:
        return write_bytes(out, out->header_bytes + first * size, elements, n * size, f);
    }
}

const void *output_view(output *out, fault *f) {
    return out->written == 0 ? "" : spool_view(&out->kept, f);
}

/* Sends what was kept as an npy file in sequence. */
static int send_kept(output *out, fault *f) {
    const size_t bytes = (size_t)out->written * tally_dtype_size(out->array.dtype);
    const void *const view = output_view(out, f);
    if (view == NULL)
        return FAULT_DATA;
    const int code = write_header(out, f);
    return code != 0 ? code : write_bytes(out, 0, view, bytes, f);
}

static int print_kept(output *out, fault *f) {
    const void *const view = output_view(out, f);
    if (view == NULL)
        return FAULT_DATA;
    print_array(&out->array, view);
    return output_flush_standard(f);
}

int output_finish(output *out, fault *f) {
    output_array *const a = &out->array;
    int code = 0;
    const int unknown = a->rank > 0 && a->shape[0] == INPUT_UNKNOWN;
    if (unknown)
        a->shape[0] = a->pairs ? out->written / 2 : out->written;
    if (out->kind == OUTPUT_PRINTED)
        return output_flush_standard(f);
    if (out->kind == OUTPUT_KEPT && !out->to_npy)
        return out->json ? 0 : print_kept(out, f);
    if (out->kind == OUTPUT_KEPT)
        code = send_kept(out, f);
    else if (out->kind == OUTPUT_FILE && (!unknown || (code = write_header(out, f)) == 0))
        code = commit(out, f);
    if (code == 0 && out->fd > STDERR_FILENO && close(out->fd) != 0)
        code = cannot(out, "write", errno, f);
    if (code == 0)
        out->fd = -1;
    return code;
}

void output_close(output *out) {
    if (!out->open)
        return;
    if (out->fd > STDERR_FILENO)
        close(out->fd);
    if (out->temporary != NULL) {
        unlink(out->temporary);
        pardon(out->temporary);
    }
    free(out->temporary);
    free(out->path);
    spool_free(&out->kept);
    memset(out, 0, sizeof *out);
}

int output_flush_standard(fault *f) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    /* An earlier write that failed has left no reason behind. */
    return fault_data(f, "standard output: cannot write%s%s", errno != 0 ? ": " : "",
                      errno != 0 ? strerror(errno) : "");
}
