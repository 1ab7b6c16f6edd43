/* tally on ranks: computations over an input that lies in parts, for programs that carry data between processes,
 * machines or devices by their own means.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Programs with MPI need only tally/mpi.h, which is made of these calls. This header is for other engines. The input
 * lies in parts on ranks 0, 1, ... The order of the ranks is the order of the elements. Parts may have any length, and
 * may be empty. A rank plan is one rank's side of a computation. It computes what a rank can compute alone, and says
 * which exchange of int64s it needs next. It never sends anything itself:
 *
 *   tally_rank_begin(plan, &args, 0, TALLY_SYNCHRONOUS);
 *   while ((status = tally_rank_next(plan, &exchange)) == TALLY_OK && exchange.kind != TALLY_EXCHANGE_DONE)
 *       ... let all ranks do this exchange ...
 *
 * All ranks get the same kinds and sizes in the same order, and the same status at the end. So one thread may also
 * drive the plans of many ranks in turn.
 *
 *   ALL_VALUES  x is this rank's part. A reduction's result comes to every rank. A scan's output has the elements of
 *               the part.
 *   AXIS        With TALLY_SPLIT_EXTENT the axis itself is cut, and 'extent' is this rank's share: outer and inner are
 *               the same on all ranks, and all of them receive the outer x inner results. With TALLY_SPLIT_OTHER
 *               another dimension is cut: each rank has the results of its part, and no data travel.
 *   SEGMENTS    Offsets, groups and results are this rank's, and offsets count from its x[0]. With
 *               TALLY_RANK_CONTINUES, the rank's first segment is the rest of the last segment of the ranks before.
 *               Every rank that has a part of a segment receives the result of the whole segment.
 *   KEYS        A run goes on in the next rank if that rank's first key equals this rank's last key. The rank where a
 *               run begins reports it. So all ranks' results, one after another, are what one rank would give.
 *   LABELS      Groups are the same on all ranks, and so are the results. Labels and x are the rank's own.
 *
 * Exact results have the same bits for any number of ranks and any parts. Fast results have the same bits every time
 * for the same parts. Rank plans take every operator that has words (docs/words.md). They do not take USER, argmin and
 * argmax by LABELS or in reverse scans, nor sizes on the device. They take TALLY_SKIP_NAN only for reductions that have
 * a value of nothing. A scan goes on from the ranks before on the device in these cases: on the CPU always; on CUDA if
 * it is forward, except exact sums of floats in a stream; for reverse scans on CUDA, and on Vulkan, if it is of
 * ALL_VALUES, of an operator with an initial value, and not an exact sum of floats. In all other cases the host scans
 * the rank's part; by SEGMENTS and KEYS only the part of its first (reverse: last) group. */
#ifndef TALLY_RANKS_H
#define TALLY_RANKS_H

#include "tally/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tally_split {
    TALLY_SPLIT_EXTENT = 0, /* the reduced or scanned dimension is cut */
    TALLY_SPLIT_OTHER       /* AXIS: outer or inner is */
} tally_split;

enum {
    /* tally_rank_options.flags: the engine can do SUM_BEFORE and MAX_BEFORE. */
    TALLY_RANK_HAS_EXSCAN = 1u << 0,
    /* The words that are exchanged lie in the device's memory. Otherwise they are copied to and from host memory. */
    TALLY_RANK_DEVICE_WORDS = 1u << 1,
    /* Ranks exchange data only, without agreeing first. An error then returns on its own rank alone, and the caller
     * must see to equal shapes. This is for runs that are enqueued into streams. */
    TALLY_RANK_TRUSTED = 1u << 2
};

enum {
    /* tally_rank_begin, SEGMENTS: the first segment goes on from the ranks before. */
    TALLY_RANK_CONTINUES = 1u << 0
};

typedef struct tally_rank_options {
    size_t struct_size; /* set by the caller to sizeof(tally_rank_options) */
    uint64_t rank, ranks;
    tally_split split;
    unsigned flags;
} tally_rank_options;

typedef enum tally_exchange_kind {
    TALLY_EXCHANGE_DONE = 0,   /* none: the outputs are written (or enqueued) */
    TALLY_EXCHANGE_SUM,        /* word by word, the sum of all ranks' words modulo 2^64, to every rank */
    TALLY_EXCHANGE_MAX,        /* the largest */
    TALLY_EXCHANGE_SUM_BEFORE, /* the sum over the ranks before this one; rank 0 may receive anything */
    TALLY_EXCHANGE_MAX_BEFORE, /* likewise the largest */
    TALLY_EXCHANGE_GATHER      /* all ranks' words one after another, to every rank */
} tally_exchange_kind;

/* 'send' has 'words' words, at most 2^28. 'receive' has room for as many, or for GATHER for ranks x words. Except for
 * GATHER both are the same memory. The memory is the plan's, and valid until the next call with the plan. */
typedef struct tally_exchange {
    tally_exchange_kind kind;
    const int64_t *send;
    int64_t *receive;
    size_t words;
} tally_exchange;

typedef struct tally_rank_plan tally_rank_plan;

/* Makes this rank's plan. If the device does not take the descriptor, the first tally_rank_next returns the error, so
 * that all ranks receive it. The device must outlive the plan. TALLY_INVALID_ARGUMENT for NULL, a wrong struct_size, an
 * unknown split or flag, and a rank that is not below ranks; TALLY_OUT_OF_MEMORY. */
TALLY_API tally_status tally_rank_plan_create(tally_device *device, const tally_desc *desc,
                                              const tally_rank_options *options, tally_rank_plan **plan);
TALLY_API void tally_rank_plan_destroy(tally_rank_plan *plan);

/* Begins a run over the ranks' parts, also after a run that did not reach its end. args must stay valid until the run
 * ends. With args NULL on all ranks they only compare their descriptors; if only some have NULL, all get
 * TALLY_INVALID_ARGUMENT. The stream is as for tally_run with
 * TALLY_RANK_DEVICE_WORDS and TALLY_RANK_TRUSTED, for runs of ALL_VALUES, AXIS and LABELS; else it is
 * TALLY_SYNCHRONOUS. */
TALLY_API void tally_rank_begin(tally_rank_plan *plan, const tally_args *args, unsigned flags, tally_stream stream);

/* Computes up to the next exchange, which the engine then does. Errors are those of tally_run on any rank, with the
 * rank's number in the message, and TALLY_INVALID_ARGUMENT if ranks differ in operator, types, mode, shape or version.
 * All ranks get the same error, before any of them goes on. Outputs may then have been written. Only if a device fails
 * after the last exchange, its own rank alone gets the error. */
TALLY_API tally_status tally_rank_next(tally_rank_plan *plan, tally_exchange *exchange);

/* For a rank that has begun a run and has no arguments for it. Instead of hanging, all ranks get this status and text,
 * with the rank's number. Call it once, between tally_rank_begin, whose args may then be NULL, and the first
 * tally_rank_next. The rank's descriptor may differ from the others' as well. TALLY_INVALID_ARGUMENT for NULL, and for
 * a 'reason' that is TALLY_OK or not a status. */
TALLY_API tally_status tally_rank_refuse(tally_rank_plan *plan, tally_status reason, const char *text);

/* The engine failed: ends the run and returns TALLY_DEVICE_FAILED with this text. */
TALLY_API tally_status tally_rank_fail(tally_rank_plan *plan, const char *text);

#ifdef __cplusplus
}
#endif
#endif
