/* files.c: a file that appears when it is whole.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int ladder_file_begin(ladder_file *file, const char *path, fault *f) {
    *file = (ladder_file){.path = path};
    if (strcmp(path, "-") == 0) {
        file->stream = stdout;
        return 0;
    }
    if (snprintf(file->temporary, sizeof file->temporary, "%s.%ld", path, (long)getpid()) >=
        (int)sizeof file->temporary)
        return fault_usage(f, "the path of the file is too long");
    file->stream = fopen(file->temporary, "w");
    return file->stream ? 0 : fault_data(f, "%s: %s", path, strerror(errno));
}

int ladder_file_end(ladder_file *file, fault *f) {
    bool ok = !ferror(file->stream) && fflush(file->stream) == 0;
    if (file->stream == stdout)
        return ok ? 0 : fault_data(f, "standard output: %s", strerror(errno));
    ok = fclose(file->stream) == 0 && ok;
    ok = ok && rename(file->temporary, file->path) == 0;
    if (ok)
        return 0;
    const int why = errno;
    remove(file->temporary);
    return fault_data(f, "%s: %s", file->path, strerror(why));
}
