#define _GNU_SOURCE
#include "core/signals.h"

#include <pthread.h>
#include <stddef.h>

void tally_block_signals(sigset_t *before) {
    static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigdelset(&blocked, taken[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

void tally_unblock_signals(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
