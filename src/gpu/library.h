/* Shared libraries that are opened at run time. */
#ifndef TALLY_GPU_LIBRARY_H
#define TALLY_GPU_LIBRARY_H

#include <stdbool.h>

#include "tally/tally.h"

/* The path in an environment variable. NULL if it is not set or empty, or if the program runs with another user's
 * rights, so that it must not be trusted. */
const char *tally_library_path(const char *variable);

/* Opens a library by its path, or by a name that the system looks up. On failure NULL, with the system's message in
 * *reason, which is valid until the next call. */
void *tally_library_open(const char *path, const char **reason);
void tally_library_close(void *library);

/* The outcome of opening a library, which a process opens once. Opening it again would cost time and change nothing. So
 * the first outcome is kept with its message, which each call that needs the library repeats. */
typedef struct tally_opening {
    tally_status status;
    char message[1024];
} tally_opening;

/* Keeps a status and, for a failure, the thread's last message. */
void tally_opening_keep(tally_opening *opening, tally_status status);

/* Returns the kept status; for a failure, also restores its message. */
tally_status tally_opening_repeat(const tally_opening *opening);

/* Stores a function's address at 'function', a pointer to a function pointer: NULL and false if there is none. */
bool tally_library_find(void *library, const char *symbol, void *function);

#endif
