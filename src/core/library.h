/* Shared libraries that are opened at run time. */
#ifndef TALLY_CORE_LIBRARY_H
#define TALLY_CORE_LIBRARY_H

#include <stdbool.h>

/* The path that an environment variable gives, or NULL if it is not set, empty, or not to be trusted because the
 * program runs with another user's rights. */
const char *tally_library_path(const char *variable);

/* Opens a library by its path, or by a name that the system looks up. NULL with the system's words in *reason, which
 * are valid until the next call, if that fails. */
void *tally_library_open(const char *path, const char **reason);
void tally_library_close(void *library);

/* Stores a function's address at 'function', a pointer to a function pointer: NULL and false if there is none. */
bool tally_library_find(void *library, const char *symbol, void *function);

#endif
