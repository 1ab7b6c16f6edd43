#include "races.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024, PARTIES = MOST_THREADS + 1, READERS = 3, MOST_GATES = 256 };

/* The time when a party did something: its clock, and above it its number. 0: never. */
typedef uint64_t epoch;
enum { CLOCK_BITS = 48 };

typedef struct cell {
    epoch written, read[READERS];
} cell;

typedef uint32_t clocks[PARTIES]; /* what a party knows of all others */

typedef struct gate {
    const void *at;
    clocks arrived, ended; /* in this phase; when the last one ended */
} gate;

struct races {
    unsigned threads; /* and the number of the party for copies */
    clocks known[PARTIES];
    gate gates[MOST_GATES];
    unsigned gate_count;
    races_region region[2];
    cell *cells[2];
    size_t room[2];
};

static epoch epoch_of(const races *b, unsigned party) {
    return (epoch)party << CLOCK_BITS | b->known[party][party];
}
static unsigned party_of(epoch e) {
    return (unsigned)(e >> CLOCK_BITS);
}

/* Whether 'party' knows that it is done. */
static bool is_known(const races *b, unsigned party, epoch e) {
    return (e & (((epoch)1 << CLOCK_BITS) - 1)) <= b->known[party][party_of(e)];
}

static void join(const races *b, clocks to, const clocks from) {
    for (unsigned k = 0; k <= b->threads; k++)
        to[k] = to[k] > from[k] ? to[k] : from[k];
}

void races_begin(races **made, unsigned threads, races_region dynamic, races_region statics) {
    if (!*made)
        *made = calloc(1, sizeof **made);
    races *b = *made;
    b->threads = threads;
    b->gate_count = 0;
    memset(b->known, 0, sizeof b->known);
    for (unsigned k = 0; k <= threads; k++)
        b->known[k][k] = 1;
    b->region[0] = dynamic;
    b->region[1] = statics;
    for (int k = 0; k < 2; k++) {
        if (b->region[k].bytes > b->room[k]) {
            free(b->cells[k]);
            b->room[k] = b->region[k].bytes;
            b->cells[k] = malloc(b->room[k] * sizeof(cell));
        }
        memset(b->cells[k], 0, b->region[k].bytes * sizeof(cell));
    }
}

/* A reader takes its own place, or that of a reader whose access it knows is done, or else any. */
static void note_read(const races *b, unsigned observer, cell *c, epoch now) {
    unsigned place = (unsigned)now % READERS;
    for (unsigned k = 0; k < READERS; k++)
        if (party_of(c->read[k]) == party_of(now) || is_known(b, observer, c->read[k]))
            place = k;
    c->read[place] = now;
}

/* 'observer' is whose knowledge counts. A thread's own accesses are in order, a copy's are not. */
static int access_cell(const races *b, unsigned observer, bool is_copy, cell *c, epoch now, bool writes) {
    const unsigned own = is_copy ? PARTIES : observer;
    if (c->written && party_of(c->written) != own && !is_known(b, observer, c->written))
        return (int)party_of(c->written);
    if (!writes) {
        note_read(b, observer, c, now);
        return -1;
    }
    for (int k = 0; k < READERS; k++)
        if (c->read[k] && party_of(c->read[k]) != own && !is_known(b, observer, c->read[k]))
            return (int)party_of(c->read[k]);
    memset(c->read, 0, sizeof c->read);
    c->written = now;
    return -1;
}

int races_access(races *b, unsigned thread, const void *at, size_t bytes, bool writes, bool is_copy) {
    for (int k = 0; k < 2; k++) {
        const size_t first = (size_t)((const char *)at - b->region[k].begin);
        if (first >= b->region[k].bytes)
            continue;
        if (is_copy)
            b->known[b->threads][b->threads]++;
        const epoch now = epoch_of(b, is_copy ? b->threads : thread);
        for (size_t byte = first; byte < first + bytes && byte < b->region[k].bytes; byte++) {
            const int other = access_cell(b, thread, is_copy, &b->cells[k][byte], now, writes);
            if (other >= 0)
                return other;
        }
    }
    return -1;
}

void races_meet(races *b, const bool *marks) {
    clocks all;
    memset(all, 0, sizeof all);
    for (unsigned t = 0; t < b->threads; t++)
        if (marks[t])
            join(b, all, b->known[t]);
    for (unsigned t = 0; t < b->threads; t++)
        if (marks[t]) {
            memcpy(b->known[t], all, sizeof all);
            b->known[t][t]++;
        }
}

static gate *gate_at(races *b, const void *at) {
    for (unsigned k = 0; k < b->gate_count; k++)
        if (b->gates[k].at == at)
            return &b->gates[k];
    if (b->gate_count == MOST_GATES)
        abort();
    gate *g = &b->gates[b->gate_count++];
    g->at = at;
    return g;
}

void races_at_gate(races *b, unsigned thread, const void *at, races_event event) {
    gate *g = gate_at(b, at);
    switch (event) {
    case GATE_BEGINS:
        memset(g->arrived, 0, sizeof g->arrived);
        memset(g->ended, 0, sizeof g->ended);
        break;
    case THREAD_ARRIVES:
        join(b, g->arrived, b->known[thread]);
        b->known[thread][thread]++;
        break;
    case COPY_ARRIVES:
        join(b, g->arrived, b->known[b->threads]);
        break;
    case PHASE_ENDS:
        memcpy(g->ended, g->arrived, sizeof g->ended);
        memset(g->arrived, 0, sizeof g->arrived);
        break;
    case PHASE_SEEN:
        join(b, b->known[thread], g->ended);
        break;
    }
}

void races_await_copies(races *b, unsigned thread) {
    join(b, b->known[thread], b->known[b->threads]);
}
