/* Shared libraries that are opened at run time. */
#ifndef TALLY_GPU_LIBRARY_H
#define TALLY_GPU_LIBRARY_H

#include <stdbool.h>

#include "tally/tally.h"

/* The path that an environment variable gives, or NULL if it is not set, empty, or not to be trusted because the
 * program runs with another user's rights. */
const char *tally_library_path(const char *variable);

/* Opens a library by its path, or by a name that the system looks up. NULL with the system's words in *reason, which
 * are valid until the next call, if that fails. */
void *tally_library_open(const char *path, const char **reason);
void tally_library_close(void *library);

/* What came of opening a library that a process opens once. Opening it again would cost time and change nothing, so the
 * first outcome is kept, and with it the message of a failure, which each call that needs the library repeats. */
typedef struct tally_opening {
    tally_status status;
    char message[1024];
} tally_opening;

/* Keeps a status and, of a failure, the thread's last message. */
void tally_opening_keep(tally_opening *opening, tally_status status);

/* Gives the status that was kept, as a failure with its message. */
tally_status tally_opening_repeat(const tally_opening *opening);

/* Stores a function's address at 'function', a pointer to a function pointer: NULL and false if there is none. */
bool tally_library_find(void *library, const char *symbol, void *function);

#endif
