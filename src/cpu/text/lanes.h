/* Lanes that run the programs of a user's texts: their registers, and blocks of accumulators. */
#ifndef TALLY_CPU_TEXT_LANES_H
#define TALLY_CPU_TEXT_LANES_H

#include "cpu/cpu.h"
#include "cpu/text/program.h"

enum {
    TALLY_TEXT_TRANSPOSED = 32 * 1024, /* bytes of elements that are transposed at a time */
    /* Least elements of a lane. With fewer, combining the lanes would take longer than the elements. */
    TALLY_TEXT_LEAST_ROWS = 8
};

/* What programs are given and what they give. */
typedef struct tally_lanes {
    const tally_cpu_text *text;
    const tally_cpu_context *context;
    char *bases[TALLY_TEXT_BASES];
    char *saved;     /* one more block */
    size_t readable; /* elements behind those that are taken, which may be read and mean nothing */
    char *x;         /* for elements that have to be converted, or do not fill vectors */
    _Alignas(64) char room[TALLY_TEXT_ROOM];
} tally_lanes;

void tally_lanes_open(tally_lanes *lanes, const tally_cpu_context *context);

/* ---- blocks of accumulators ---- */

static inline char *tally_lanes_component(const tally_lanes *l, char *block, size_t k, size_t lane) {
    const tally_text_component *const c = &l->text->components[k];
    return block + c->offset + lane * c->bytes;
}

/* One number of a lane; a call of memcpy for each would take longer. */
static inline void tally_lanes_copy_number(void *to, const void *from, size_t bytes) {
    if (bytes == 4)
        __builtin_memcpy(to, from, 4);
    else
        __builtin_memcpy(to, from, 8);
}

/* Lanes 0 .. n - 1 from stored accumulators, and back. */
void tally_lanes_load(const tally_lanes *lanes, const void *acc, size_t n, char *block);
void tally_lanes_store(const tally_lanes *lanes, char *block, size_t n, void *acc);
/* Lanes to .. to + n - 1 = those of another block or of the same one. */
void tally_lanes_copy(const tally_lanes *lanes, char *block, size_t to, char *from_block, size_t from, size_t n);
/* Lanes first .. end - 1 = one stored accumulator. */
void tally_lanes_fill(const tally_lanes *lanes, const void *acc, char *block, size_t first, size_t end);
/* block = mask ? yes : block */
void tally_lanes_choose(const tally_lanes *lanes, const int32_t *masks, char *yes, size_t n, char *block);

/* to[b][a] = from[a][b] of 'rows' x 'columns' elements */
void tally_lanes_transpose(const tally_lanes *lanes, const void *from, size_t bytes, size_t rows, size_t columns,
                           void *to);

/* ---- programs: they take n lanes, and what is in the next ones, up to 16, is lost ---- */

void tally_lanes_run(tally_lanes *lanes, const tally_text_program *program, size_t n);

/* Combines n elements into the left block, or lifts them if there is nothing in it yet. Their indices are index + j *
 * step, or indices[j] if that is not NULL. */
void tally_lanes_take(tally_lanes *lanes, const void *x, size_t n, uint64_t index, uint64_t step,
                      const uint64_t *indices, bool fresh);

/* left = left combined with the right block */
void tally_lanes_join(tally_lanes *lanes, size_t n);

/* out[j] = lower(left[j]) */
void tally_lanes_lower(tally_lanes *lanes, const tally_cpu_plan *plan, tally_counts counts, size_t n, void *out);

#endif
