/* Shared libraries by the POSIX calls; no other file uses these. */
#define _GNU_SOURCE
#include "gpu/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

const char *tally_library_path(const char *variable) {
    const char *path = secure_getenv(variable);
    return path && path[0] ? path : NULL;
}

void *tally_library_open(const char *path, const char **reason) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *error = library ? NULL : dlerror();
    *reason = error ? error : path;
    return library;
}

void tally_library_close(void *library) {
    if (library)
        dlclose(library);
}

bool tally_library_find(void *library, const char *symbol, void *function) {
    /* C has no conversion from void * to a function pointer; POSIX promises that the bits are the same. */
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

void tally_opening_keep(tally_opening *opening, tally_status status) {
    opening->status = status;
    if (status != TALLY_OK)
        snprintf(opening->message, sizeof opening->message, "%s", tally_last_error());
}

tally_status tally_opening_repeat(const tally_opening *opening) {
    return opening->status == TALLY_OK ? TALLY_OK : tally_fail(opening->status, "%s", opening->message);
}
