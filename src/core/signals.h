/* What signals the library's own threads take. */
#ifndef TALLY_CORE_SIGNALS_H
#define TALLY_CORE_SIGNALS_H

#include <signal.h>

/* Around pthread_create(), whose thread has the caller's mask: the program's own threads handle signals. A thread of
 * the library takes only those that its own faults raise, and the ticks of a profiler. */
void tally_block_signals(sigset_t *before);
void tally_unblock_signals(const sigset_t *before);

#endif
