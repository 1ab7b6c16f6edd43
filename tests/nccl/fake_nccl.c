/* A stand-in for NCCL whose ranks are threads of one process with memory that the host can read: the emulated GPUs'.
 * Collectives are done when the call returns. FAKE_NCCL_FAILS=N lets the collective number N, from 1, fail on every
 * rank.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, UNHANDLED = 1, INVALID_ARGUMENT = 4, INT64 = 4, SUM = 0, MAX = 2, MOST_RANKS = 64 };

typedef struct group {
    pthread_barrier_t together;
    int ranks, alive;
    const int64_t *sent[MOST_RANKS];
    size_t counts[MOST_RANKS];
} group;

typedef struct ncclComm {
    group *group;
    int rank;
    unsigned collectives;
} ncclComm;

int ncclCommInitAll(ncclComm **comms, int count, const int *devices) {
    (void)devices;
    group *g = calloc(1, sizeof *g);
    if (!g || count < 1 || count > MOST_RANKS)
        return INVALID_ARGUMENT;
    g->ranks = g->alive = count;
    pthread_barrier_init(&g->together, NULL, (unsigned)count);
    for (int k = 0; k < count; k++) {
        comms[k] = calloc(1, sizeof **comms);
        comms[k]->group = g;
        comms[k]->rank = k;
    }
    return SUCCESS;
}

int ncclCommDestroy(ncclComm *comm) {
    group *g = comm->group;
    if (__atomic_sub_fetch(&g->alive, 1, __ATOMIC_ACQ_REL) == 0) {
        pthread_barrier_destroy(&g->together);
        free(g);
    }
    free(comm);
    return SUCCESS;
}

int ncclCommCount(const ncclComm *comm, int *count) {
    *count = comm->group->ranks;
    return SUCCESS;
}

int ncclCommUserRank(const ncclComm *comm, int *rank) {
    *rank = comm->rank;
    return SUCCESS;
}

int ncclCommGetAsyncError(const ncclComm *comm, int *result) {
    (void)comm;
    *result = SUCCESS;
    return SUCCESS;
}

const char *ncclGetErrorString(int result) {
    return result == SUCCESS ? "no error" : result == UNHANDLED ? "unhandled cuda error" : "invalid argument";
}

/* All ranks see what all have sent. False, on every rank, if their counts differ. */
static int meet(ncclComm *comm, const void *send, size_t count) {
    group *g = comm->group;
    g->sent[comm->rank] = send;
    g->counts[comm->rank] = count;
    pthread_barrier_wait(&g->together);
    for (int k = 0; k < g->ranks; k++)
        if (g->counts[k] != count)
            return 0;
    return 1;
}

static int finish(ncclComm *comm, int agree, int64_t *received, void *receive, size_t bytes) {
    const char *fails = getenv("FAKE_NCCL_FAILS");
    pthread_barrier_wait(&comm->group->together);
    comm->collectives++;
    const int fail = fails && (unsigned)atoi(fails) == comm->collectives;
    if (agree && !fail)
        memcpy(receive, received, bytes);
    free(received);
    return fail ? UNHANDLED : agree ? SUCCESS : INVALID_ARGUMENT;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, ncclComm *comm, void *stream) {
    if (type != INT64 || (op != SUM && op != MAX) || !stream || !count)
        return INVALID_ARGUMENT;
    int64_t *const all = malloc(count * sizeof *all);
    const int agree = meet(comm, send, count);
    for (size_t i = 0; i < count && agree; i++) {
        all[i] = comm->group->sent[0][i];
        for (int k = 1; k < comm->group->ranks; k++) {
            const int64_t own = comm->group->sent[k][i];
            all[i] = op == SUM ? (int64_t)((uint64_t)all[i] + (uint64_t)own) : all[i] > own ? all[i] : own;
        }
    }
    return finish(comm, agree, all, receive, count * sizeof *all);
}

int ncclAllGather(const void *send, void *receive, size_t count, int type, ncclComm *comm, void *stream) {
    const size_t ranks = (size_t)comm->group->ranks;
    if (type != INT64 || !stream || !count)
        return INVALID_ARGUMENT;
    int64_t *const all = malloc(ranks * count * sizeof *all);
    const int agree = meet(comm, send, count);
    for (size_t k = 0; k < ranks && agree; k++)
        memcpy(all + k * count, comm->group->sent[k], count * sizeof *all);
    return finish(comm, agree, all, receive, ranks * count * sizeof *all);
}
