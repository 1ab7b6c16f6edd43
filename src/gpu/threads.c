#include "gpu/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/arithmetic.h"
#include "core/cores.h"
#include "core/signals.h"

enum { MOST_THREADS = 16 };

/* One thread per task, unless there is only one core: with fewer cores than tasks, the system shares them more evenly
 * than whole tasks would. A number that the CPU back end refuses is not an error here, because nobody has asked for
 * threads. */
static size_t threads_for(size_t tasks) {
    const char *text = getenv("TALLY_THREADS");
    char *end = NULL;
    const unsigned long number = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    const size_t wanted = number && !*end ? number : tally_cores() > 1 ? MOST_THREADS : 1;
    return least(tasks, least(wanted, MOST_THREADS));
}

typedef struct crew {
    void (*task)(void *, size_t);
    void *job;
    size_t tasks;
    atomic_size_t next;
} crew;

static void *take_tasks(void *argument) {
    crew *c = argument;
    for (size_t number; (number = atomic_fetch_add(&c->next, 1)) < c->tasks;)
        c->task(c->job, number);
    return NULL;
}

void tally_side_by_side(size_t tasks, void (*task)(void *job, size_t number), void *job) {
    crew c = {.task = task, .job = job, .tasks = tasks};
    pthread_t others[MOST_THREADS - 1];
    const size_t wanted = tasks > 1 ? threads_for(tasks) : 1;
    size_t started = 0;
    sigset_t signals;
    tally_block_signals(&signals);
    while (started + 1 < wanted && pthread_create(&others[started], NULL, take_tasks, &c) == 0)
        started++;
    tally_unblock_signals(&signals);
    take_tasks(&c);
    while (started > 0)
        pthread_join(others[--started], NULL);
}
