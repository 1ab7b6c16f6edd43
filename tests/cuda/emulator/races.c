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

typedef struct gate {
    const void *at;
    uint32_t arrived[PARTIES], ended[PARTIES]; /* what is known in this phase; and when the last one ended */
} gate;

struct races {
    unsigned threads; /* and the number of the party for copies */
    uint32_t *known;  /* a row for each party: the clocks of all others as it knows them */
    races_region region[2];
    cell *cells[2];
    size_t known_room, room[2];
    unsigned gate_count;
    gate gates[MOST_GATES];
};

static uint32_t *row(const races *b, unsigned party) {
    return b->known + (size_t)party * (b->threads + 1);
}

static epoch epoch_of(const races *b, unsigned party) {
    return (epoch)party << CLOCK_BITS | row(b, party)[party];
}
static unsigned party_of(epoch e) {
    return (unsigned)(e >> CLOCK_BITS);
}

/* Whether 'party' knows that it is done. */
static bool is_known(const races *b, unsigned party, epoch e) {
    return (e & (((epoch)1 << CLOCK_BITS) - 1)) <= row(b, party)[party_of(e)];
}

static void join(const races *b, uint32_t *to, const uint32_t *from) {
    for (unsigned k = 0; k <= b->threads; k++)
        to[k] = to[k] > from[k] ? to[k] : from[k];
}

/* The clocks go on from those of the block before. Everything that it did is known to be done then, so its cells need
 * not be cleared, which would take longer than most blocks do. */
static void begin_clocks(races *b, unsigned threads) {
    uint32_t latest = 0;
    for (unsigned k = 0; b->known && k <= b->threads; k++)
        latest = row(b, k)[k] > latest ? row(b, k)[k] : latest;
    const size_t parties = threads + 1;
    if (parties * parties > b->known_room) {
        free(b->known);
        b->known_room = parties * parties;
        b->known = malloc(b->known_room * sizeof *b->known);
    }
    b->threads = threads;
    for (size_t k = 0; k < parties * parties; k++)
        b->known[k] = latest;
    for (unsigned k = 0; k <= threads; k++)
        row(b, k)[k]++;
}

void races_begin(races **made, unsigned threads, races_region dynamic, races_region statics) {
    if (!*made)
        *made = calloc(1, sizeof **made);
    races *b = *made;
    const bool other_parties = threads != b->threads;
    begin_clocks(b, threads);
    b->gate_count = 0;
    b->region[0] = dynamic;
    b->region[1] = statics;
    for (int k = 0; k < 2; k++)
        if (b->region[k].bytes > b->room[k]) {
            free(b->cells[k]);
            b->room[k] = b->region[k].bytes;
            b->cells[k] = calloc(b->room[k], sizeof(cell));
        } else if (other_parties && b->room[k]) {
            memset(b->cells[k], 0, b->room[k] * sizeof(cell));
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

static bool is_same(const cell *a, const cell *b) {
    epoch differs = a->written ^ b->written;
    for (int k = 0; k < READERS; k++)
        differs |= a->read[k] ^ b->read[k];
    return !differs;
}

/* Bytes of a region, from the first on. */
static int access_region(races *b, int k, unsigned thread, size_t first, size_t bytes, bool writes, bool is_copy) {
    if (is_copy)
        row(b, b->threads)[b->threads]++;
    const epoch now = epoch_of(b, is_copy ? b->threads : thread);
    const size_t end = bytes < b->region[k].bytes - first ? first + bytes : b->region[k].bytes;
    /* Most accesses meet bytes that have one history, and one answer. */
    cell *const cells = b->cells[k], before = cells[first];
    for (size_t byte = first; byte < end; byte++) {
        if (byte > first && is_same(&cells[byte], &before)) {
            cells[byte] = cells[first];
            continue;
        }
        const int other = access_cell(b, thread, is_copy, &cells[byte], now, writes);
        if (other >= 0)
            return other;
    }
    return -1;
}

/* Most accesses are to other memory, so the way there is short. */
int races_access(races *b, unsigned thread, const void *at, size_t bytes, bool writes, bool is_copy) {
    for (int k = 0; k < 2; k++) {
        const size_t first = (size_t)((const char *)at - b->region[k].begin);
        if (first < b->region[k].bytes)
            return access_region(b, k, thread, first, bytes, writes, is_copy);
    }
    return -1;
}

void races_meet(races *b, const bool *marks) {
    uint32_t all[PARTIES] = {0};
    for (unsigned t = 0; t < b->threads; t++)
        if (marks[t])
            join(b, all, row(b, t));
    for (unsigned t = 0; t < b->threads; t++)
        if (marks[t]) {
            memcpy(row(b, t), all, (b->threads + 1) * sizeof *all);
            row(b, t)[t]++;
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
        join(b, g->arrived, row(b, thread));
        row(b, thread)[thread]++;
        break;
    case COPY_ARRIVES:
        join(b, g->arrived, row(b, b->threads));
        break;
    case PHASE_ENDS:
        memcpy(g->ended, g->arrived, sizeof g->ended);
        memset(g->arrived, 0, sizeof g->arrived);
        break;
    case PHASE_SEEN:
        join(b, row(b, thread), g->ended);
        break;
    }
}

void races_await_copies(races *b, unsigned thread) {
    join(b, row(b, thread), row(b, b->threads));
}
