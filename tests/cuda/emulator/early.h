/* Kernels that start early (griddepcontrol), as early as a GPU may let them: with EMULATE_EARLY=1 a kernel sees memory
 * as it was before the kernel in front of it in the stream, up to where it waits for that. A kernel starts when all
 * blocks of the one in front have let it. If all of those did so before they had waited themselves, it sees memory also
 * as it was before the kernels in front of that. A write before the wait to what
 * those have written is a fault, and so is a kernel that ends without waiting, since the next one would wait for it
 * alone.
 *
 * Memory is what the driver has allocated. Calls come from the thread that launches, or from the scheduler's. */
#ifndef TALLY_TEST_EMULATOR_EARLY_H
#define TALLY_TEST_EMULATOR_EARLY_H

#include <stdbool.h>
#include <stddef.h>

void early_allocated(void *memory, size_t bytes);
void early_freed(void *memory);
/* All before this is done when what follows starts. */
void early_forget(void);

/* Around a launch. */
void early_begin(bool starts_early, const void *stream);
void early_end(void);

/* Around blocks that are alive together: from here on, until early_reveal(), they see what was. */
void early_hide(void);
/* False if something was written before the wait that was not the launch's to write. */
bool early_reveal(void);
bool early_is_hidden(void);

/* A thread lets the next kernel start, or has waited for the last one. */
void early_let_next(void);
void early_waited(void);
/* Whether the launch may end: it has waited, or there was nothing to wait for. */
bool early_may_end(void);

#endif
