#include "cpu/nans.h"

#include <string.h>

#include "core/arithmetic.h"

enum { BLOCK = 8 * 1024 /* elements that are marked at a time */ };

static bool counts_nan(const void *acc, size_t bytes) {
    bool found = false;
    for (size_t i = 0; i < bytes / sizeof(tally_exact_state); i++) {
        const tally_exact_state *const state = (const tally_exact_state *)acc + i;
        found |= state->holds == TALLY_HOLDS_LIMBS && state->limbs.nans;
    }
    return found;
}

bool tally_cpu_shows_nan(const tally_cpu_context *context, const void *acc, size_t count, size_t acc_bytes) {
    bool found = false;
    if (context->shows_count)
        return counts_nan(acc, count * acc_bytes);
    for (size_t i = 0; i < count; i++) {
        const char *const at = (const char *)acc + i * acc_bytes;
        double wide;
        float narrow;
        memcpy(&narrow, at, sizeof narrow);
        if (context->shown == TALLY_F64)
            memcpy(&wide, at, sizeof wide);
        else
            wide = (double)narrow;
        found |= wide != wide;
    }
    return found;
}

bool tally_cpu_mark_nans(const tally_cpu_context *context, const void *x, const void *y, size_t n, uint8_t *marks) {
    if (!context->nans->any(x, n) && !(y && context->nans->any(y, n)))
        return false;
    memset(marks, 0, n);
    context->nans->mark(x, n, marks);
    if (y)
        context->nans->mark(y, n, marks);
    return true;
}

void tally_cpu_replace_nans(const tally_cpu_context *context, const void *x, const void *y, uint64_t n, void *to_x,
                            void *to_y) {
    const size_t bytes = context->in_bytes;
    if (!y) {
        context->nans->replace(x, n, context->neutral, to_x);
        return;
    }
    static const uint64_t zero = 0; /* -0 times 0 is -0 */
    for (uint64_t done = 0, count; done < n; done += count) {
        uint8_t marks[BLOCK];
        count = least(n - done, BLOCK);
        const void *const x_at = tally_at(x, done, bytes), *const y_at = tally_at(y, done, bytes);
        void *const x_to = tally_at_mutable(to_x, done, bytes), *const y_to = tally_at_mutable(to_y, done, bytes);
        if (tally_cpu_mark_nans(context, x_at, y_at, count, marks)) {
            context->nans->replace_marked(x_at, marks, count, context->neutral, x_to);
            context->nans->replace_marked(y_at, marks, count, &zero, y_to);
        } else {
            memcpy(x_to, x_at, count * bytes);
            memcpy(y_to, y_at, count * bytes);
        }
    }
}
