#include "early.h"

#include <stdlib.h>
#include <string.h>

/* Memory before the last kernel, and before those that no block of it waited for when it let the next one start; and
 * after it. Bytes that are hidden have their old values now. */
typedef struct allocation {
    unsigned char *memory, *before, *after, *is_hidden;
    size_t bytes;
    size_t from, to; /* where 'before' and 'after' differ */
} allocation;

static allocation *allocations;
static size_t count, room;
static const void *last_stream;
static bool is_on, has_last;                   /* a kernel that lets the next one start */
static bool is_early, is_hidden, waited, lets; /* of this launch */
static bool lets_after_waiting;

static bool wanted(void) {
    const char *value = getenv("EMULATE_EARLY");
    return value && value[0] && value[0] != '0';
}

void early_allocated(void *memory, size_t bytes) {
    if (!wanted())
        return;
    early_forget();
    if (count == room) {
        room = room ? 2 * room : 64;
        allocations = realloc(allocations, room * sizeof *allocations);
    }
    allocations[count++] = (allocation){.memory = memory,
                                        .before = malloc(bytes),
                                        .after = malloc(bytes),
                                        .is_hidden = calloc(1, bytes),
                                        .bytes = bytes};
}

void early_freed(void *memory) {
    early_forget();
    for (size_t k = 0; k < count; k++)
        if (allocations[k].memory == memory) {
            free(allocations[k].before);
            free(allocations[k].after);
            free(allocations[k].is_hidden);
            allocations[k] = allocations[--count];
            return;
        }
}

void early_forget(void) {
    has_last = false;
}

void early_begin(bool starts_early, const void *stream) {
    is_on = wanted();
    is_early = starts_early && has_last && stream == last_stream;
    last_stream = stream;
    waited = lets = lets_after_waiting = is_hidden = false;
    if (!is_on || is_early)
        return;
    for (size_t k = 0; k < count; k++)
        memcpy(allocations[k].before, allocations[k].memory, allocations[k].bytes);
}

static void find_difference(allocation *a) {
    a->from = 0;
    a->to = a->bytes;
    while (a->from < a->to && a->before[a->from] == a->after[a->from])
        a->from++;
    while (a->from < a->to && a->before[a->to - 1] == a->after[a->to - 1])
        a->to--;
}

void early_end(void) {
    has_last = is_on && lets;
    if (!has_last)
        return;
    for (size_t k = 0; k < count; k++) {
        allocation *const a = &allocations[k];
        if (is_early && lets_after_waiting) /* what this one waited for is done when the next one starts */
            memcpy(a->before, a->after, a->bytes);
        memcpy(a->after, a->memory, a->bytes);
        find_difference(a);
    }
}

void early_hide(void) {
    if (!is_early)
        return;
    for (size_t k = 0; k < count; k++) {
        const allocation *const a = &allocations[k];
        for (size_t i = a->from; i < a->to; i++)
            if (a->before[i] != a->after[i] && a->memory[i] == a->after[i]) {
                a->memory[i] = a->before[i];
                a->is_hidden[i] = 1;
            }
    }
    is_hidden = true;
}

bool early_reveal(void) {
    bool is_right = true;
    for (size_t k = 0; is_hidden && k < count; k++) {
        const allocation *const a = &allocations[k];
        for (size_t i = a->from; i < a->to; i++)
            if (a->is_hidden[i]) {
                is_right = is_right && a->memory[i] == a->before[i];
                a->memory[i] = a->after[i];
                a->is_hidden[i] = 0;
            }
    }
    is_hidden = false;
    return is_right;
}

bool early_is_hidden(void) {
    return is_hidden;
}

void early_let_next(void) {
    lets = true;
    lets_after_waiting = lets_after_waiting || (is_early && !is_hidden);
}

void early_waited(void) {
    waited = true;
}

bool early_may_end(void) {
    return !is_early || waited;
}
