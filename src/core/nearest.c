/* Edit distance over short names (Wagner and Fischer, 1974). */
#include "core/nearest.h"

#include <string.h>

enum { LONGEST = 63 };

static size_t edit_distance(const char *a, const char *b) {
    size_t row[LONGEST + 1];
    size_t length_a = strnlen(a, LONGEST), length_b = strnlen(b, LONGEST);
    for (size_t j = 0; j <= length_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[length_b];
}

const char *tally_nearest(const char *name, const char *const *names, size_t count) {
    size_t best = 0, best_distance = (size_t)-1;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(name, names[i]);
        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return names[best];
}
