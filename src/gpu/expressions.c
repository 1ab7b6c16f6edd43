#include "gpu/expressions.h"

#include <string.h>

const tally_monoid_text tally_monoid_texts[TALLY_MONOID_user] = {
#define TALLY_MONOID(name, class, identity, lift, combine)                                                             \
    [TALLY_MONOID_##name] = {#name, TALLY_CLASS_##class, 1, {#identity}, {#lift}, {#combine}},
#define TALLY_MONOID2(name, class, i0, i1, l0, l1, c0, c1)                                                             \
    [TALLY_MONOID_##name] = {#name, TALLY_CLASS_##class, 2, {#i0, #i1}, {#l0, #l1}, {#c0, #c1}},
#define TALLY_MONOID3(name, class, i0, i1, i2, l0, l1, l2, c0, c1, c2)                                                 \
    [TALLY_MONOID_##name] = {#name, TALLY_CLASS_##class, 3, {#i0, #i1, #i2}, {#l0, #l1, #l2}, {#c0, #c1, #c2}},
#include "core/monoids.def"
};

const char *const tally_lower_texts[TALLY_USER] = {
#define TALLY_OPERATOR(enumerator, name, monoid, lower, result, flags, summary) [TALLY_##enumerator] = #lower,
#include "core/operators.def"
};

int tally_lower_component(const char *lower) {
    if (strcmp(lower, "a") == 0 || strcmp(lower, "a0") == 0)
        return 0;
    return strcmp(lower, "a1") == 0 ? 1 : strcmp(lower, "a2") == 0 ? 2 : -1;
}
