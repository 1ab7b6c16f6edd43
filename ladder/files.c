/* files.c: see files.h.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(const ladder_file *file, int why, fault *f) {
    return fault_data(f, "%s: %s", file->named, strerror(why));
}

/* Finds out what stands at the path, and how to write there. */
static int choose_paths(ladder_file *file, fault *f) {
    struct stat status;
    const bool exists = stat(file->named, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return cannot(file, EISDIR, f);
    if (exists && !S_ISREG(status.st_mode))
        return 0;
    if (exists && access(file->named, W_OK) != 0) /* rename would not ask */
        return cannot(file, errno, f);
    if (exists ? !realpath(file->named, file->path) : strlen(file->named) >= sizeof file->path)
        return cannot(file, exists ? errno : ENAMETOOLONG, f);
    if (!exists)
        memcpy(file->path, file->named, strlen(file->named) + 1);
    const int length = snprintf(file->temporary, sizeof file->temporary, "%s.%ld", file->path, (long)getpid());
    return length < (int)sizeof file->temporary ? 0 : cannot(file, ENAMETOOLONG, f);
}

int ladder_file_begin(ladder_file *file, const char *path, fault *f) {
    *file = (ladder_file){.named = path};
    if (strcmp(path, "-") == 0) {
        file->stream = stdout;
        return 0;
    }
    const int code = choose_paths(file, f);
    if (code != 0)
        return code;
    file->stream = fopen(file->temporary[0] ? file->temporary : file->named, "w");
    return file->stream ? 0 : cannot(file, errno, f);
}

int ladder_file_end(ladder_file *file, fault *f) {
    bool ok = !ferror(file->stream) && fflush(file->stream) == 0;
    if (file->stream == stdout)
        return ok ? 0 : fault_data(f, "standard output: %s", strerror(errno));
    ok = fclose(file->stream) == 0 && ok;
    if (!file->temporary[0])
        return ok ? 0 : cannot(file, errno, f);
    ok = ok && rename(file->temporary, file->path) == 0;
    if (ok)
        return 0;
    const int why = errno;
    remove(file->temporary);
    return cannot(file, why, f);
}

int ladder_file_try(const char *path, fault *f) {
    ladder_file file;
    if (strcmp(path, "-") == 0)
        return 0;
    file = (ladder_file){.named = path};
    const int code = choose_paths(&file, f);
    if (code != 0 || !file.temporary[0])
        return code;
    FILE *stream = fopen(file.temporary, "w");
    if (!stream)
        return cannot(&file, errno, f);
    fclose(stream);
    remove(file.temporary);
    return 0;
}
