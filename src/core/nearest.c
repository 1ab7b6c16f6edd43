/* Edit distance over short names, with neighbours that have changed places as one edit (optimal string alignment:
 * Damerau 1964, by the table of Wagner and Fischer, 1974). */
#include "core/nearest.h"

#include <string.h>

enum { LONGEST = 63 };

static size_t least_of(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t length_a, const char *b, size_t length_b) {
    size_t rows[3][LONGEST + 1]; /* row i % 3: from the first i letters of a */
    for (size_t i = 0; i <= length_a; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        for (size_t j = 0; j <= length_b; j++) {
            if (i == 0 || j == 0) {
                row[j] = i + j;
                continue;
            }
            row[j] = least_of(above[j - 1] + (a[i - 1] != b[j - 1]), least_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least_of(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[length_a % 3][length_b];
}

const char *tally_nearest(const char *name, const tally_known_name *known, size_t count) {
    const char *best = NULL;
    size_t best_distance = (size_t)-1, length = strnlen(name, LONGEST);
    for (size_t i = 0; i < count; i++) {
        const size_t other = strnlen(known[i].name, LONGEST), longer = length > other ? length : other;
        const size_t distance = edit_distance(name, length, known[i].name, other);
        if (distance < best_distance && distance <= (longer + 1) / 4) {
            best = known[i].means;
            best_distance = distance;
        }
    }
    return best;
}
