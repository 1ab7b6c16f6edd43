/* tally over MPI: reductions and scans of an input that lies in parts on the ranks of a communicator.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * The functions of this header are inline, so libtally does not depend on MPI and works with any implementation. They
 * need MPI 3, and use predefined types and operations only. tally/ranks.h says how each grouping lies on the ranks and
 * what every rank receives.
 *
 *   tally_mpi_plan plan;
 *   tally_mpi_plan_create(device, &desc, TALLY_SPLIT_EXTENT, MPI_COMM_WORLD, &plan);   on all ranks
 *   tally_mpi_run(&plan, &args, 0);                                                    on all ranks
 *   tally_mpi_plan_destroy(&plan);                                                     on all ranks
 *
 * Data are in the device's memory, as for tally_run; the words that ranks exchange go through host memory. Each rank
 * may have another device. Every call returns the same status on all ranks. If one rank differs in operator, type,
 * mode, shape or version, or has an error in its part, all ranks get the error, and none waits for ever. MPI's own
 * errors go to the communicator's error handler, which ends the program by default; if the handler returns, the status
 * is TALLY_DEVICE_FAILED. A rank that dies ends the others as MPI does. One thread at a time may use a plan. */
#ifndef TALLY_MPI_H
#define TALLY_MPI_H

#include <mpi.h>

#include "tally/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_mpi_plan {
    tally_rank_plan *ranks;
    MPI_Comm comm;
    MPI_Request request;
} tally_mpi_plan;

/* ---- one exchange ---- */

static inline tally_status tally_mpi_check(tally_mpi_plan *plan, int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "MPI failed";
    int length = 0;
    if (code == MPI_SUCCESS)
        return TALLY_OK;
    (void)MPI_Error_string(code, text, &length);
    return tally_rank_fail(plan->ranks, text);
}

static inline int tally_mpi_exchange(MPI_Comm comm, const tally_exchange *e) {
    const int words = (int)e->words;
    switch (e->kind) {
    case TALLY_EXCHANGE_SUM:
        return MPI_Allreduce(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_SUM, comm);
    case TALLY_EXCHANGE_MAX:
        return MPI_Allreduce(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_MAX, comm);
    case TALLY_EXCHANGE_SUM_BEFORE:
        return MPI_Exscan(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_SUM, comm);
    case TALLY_EXCHANGE_MAX_BEFORE:
        return MPI_Exscan(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_MAX, comm);
    case TALLY_EXCHANGE_GATHER:
        return MPI_Allgather(e->send, words, MPI_INT64_T, e->receive, words, MPI_INT64_T, comm);
    default:
        return MPI_SUCCESS;
    }
}

static inline int tally_mpi_exchange_start(MPI_Comm comm, const tally_exchange *e, MPI_Request *request) {
    const int words = (int)e->words;
    switch (e->kind) {
    case TALLY_EXCHANGE_SUM:
        return MPI_Iallreduce(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_SUM, comm, request);
    case TALLY_EXCHANGE_MAX:
        return MPI_Iallreduce(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_MAX, comm, request);
    case TALLY_EXCHANGE_SUM_BEFORE:
        return MPI_Iexscan(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_SUM, comm, request);
    case TALLY_EXCHANGE_MAX_BEFORE:
        return MPI_Iexscan(MPI_IN_PLACE, e->receive, words, MPI_INT64_T, MPI_MAX, comm, request);
    case TALLY_EXCHANGE_GATHER:
        return MPI_Iallgather(e->send, words, MPI_INT64_T, e->receive, words, MPI_INT64_T, comm, request);
    default:
        return MPI_SUCCESS;
    }
}

/* ---- runs ---- */

/* Runs the plan: every rank gives its part, and receives its result (see tally/ranks.h). flags: TALLY_RANK_CONTINUES.
 * Errors are those of tally_rank_next. */
static inline tally_status tally_mpi_run(tally_mpi_plan *plan, const tally_args *args, unsigned flags) {
    tally_exchange e;
    tally_rank_begin(plan->ranks, args, flags, TALLY_SYNCHRONOUS);
    for (;;) {
        tally_status status = tally_rank_next(plan->ranks, &e);
        if (status != TALLY_OK || e.kind == TALLY_EXCHANGE_DONE)
            return status;
        status = tally_mpi_check(plan, tally_mpi_exchange(plan->comm, &e));
        if (status != TALLY_OK)
            return status;
    }
}

/* The same with a request. tally_mpi_start computes up to the first exchange, and starts this exchange. Then
 * tally_mpi_test goes on as far as it can without waiting, and sets *done to 1 at the end; tally_mpi_wait waits for the
 * end. args, and the memory that they point to, must stay until then. A plan has one run at a time. Several plans may
 * run at once, in the same order on all ranks. */
static inline tally_status tally_mpi_go_on(tally_mpi_plan *plan, int *done) {
    tally_exchange e;
    const tally_status status = tally_rank_next(plan->ranks, &e);
    *done = status != TALLY_OK || e.kind == TALLY_EXCHANGE_DONE;
    if (*done)
        return status;
    return tally_mpi_check(plan, tally_mpi_exchange_start(plan->comm, &e, &plan->request));
}

static inline tally_status tally_mpi_start(tally_mpi_plan *plan, const tally_args *args, unsigned flags) {
    int done;
    tally_rank_begin(plan->ranks, args, flags, TALLY_SYNCHRONOUS);
    return tally_mpi_go_on(plan, &done);
}

static inline tally_status tally_mpi_test(tally_mpi_plan *plan, int *done) {
    *done = 0;
    for (;;) {
        int arrived = 0;
        tally_status status = tally_mpi_check(plan, MPI_Test(&plan->request, &arrived, MPI_STATUS_IGNORE));
        if (status != TALLY_OK || !arrived)
            return status;
        status = tally_mpi_go_on(plan, done);
        if (status != TALLY_OK || *done)
            return status;
    }
}

static inline tally_status tally_mpi_wait(tally_mpi_plan *plan) {
    for (;;) {
        int done = 0;
        tally_status status = tally_mpi_check(plan, MPI_Wait(&plan->request, MPI_STATUS_IGNORE));
        if (status == TALLY_OK)
            status = tally_mpi_go_on(plan, &done);
        if (status != TALLY_OK || done)
            return status;
    }
}

/* ---- plans ---- */

/* Collective. Accepts a plan whose creation failed. */
static inline void tally_mpi_plan_destroy(tally_mpi_plan *plan) {
    tally_rank_plan_destroy(plan->ranks);
    if (plan->comm != MPI_COMM_NULL)
        (void)MPI_Comm_free(&plan->comm);
    plan->ranks = NULL;
    plan->comm = MPI_COMM_NULL;
}

/* Collective: makes the plans of all ranks, on a communicator of their own. If one rank has an error, all ranks get an
 * error. The device must outlive the plan. After an error there is nothing to destroy. */
static inline tally_status tally_mpi_plan_create(tally_device *device, const tally_desc *desc, tally_split split,
                                                 MPI_Comm comm, tally_mpi_plan *plan) {
    tally_rank_options options = {sizeof options, 0, 1, split, TALLY_RANK_HAS_EXSCAN};
    tally_status status = TALLY_OK;
    int rank = 0, ranks = 1, worst = 0, code;
    plan->ranks = NULL;
    plan->comm = MPI_COMM_NULL;
    plan->request = MPI_REQUEST_NULL;
    code = MPI_Comm_dup(comm, &plan->comm);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(plan->comm, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(plan->comm, &ranks);
    options.rank = (uint64_t)rank;
    options.ranks = (uint64_t)ranks;
    status = tally_rank_plan_create(device, desc, &options, &plan->ranks);
    worst = (int)status;
    if (code == MPI_SUCCESS)
        code = MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, plan->comm);
    if (status == TALLY_OK)
        status = tally_mpi_check(plan, code);
    if (status == TALLY_OK && worst != TALLY_OK)
        status = tally_rank_fail(plan->ranks, "another rank could not make its plan; it has the reason");
    if (status == TALLY_OK)
        status = tally_mpi_run(plan, NULL, 0);
    if (status != TALLY_OK)
        tally_mpi_plan_destroy(plan);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
