#include "gpu/expressions.h"

#include <string.h>

#define LENGTH(...) (sizeof(__VA_ARGS__) / sizeof *(__VA_ARGS__))

const tally_monoid_text tally_monoid_texts[TALLY_MONOID_user] = {
#define TEXT(...)                                #__VA_ARGS__
#define TALLY_COMPONENT(identity, lift, combine) {TEXT(identity), TEXT(lift), TEXT(combine)},
#define LIST(...)                                ((const tally_component_text[]){__VA_ARGS__})
#define TALLY_MONOID(name, class, components)                                                                          \
    [TALLY_MONOID_##name] = {#name, TALLY_CLASS_##class, LENGTH(LIST(components)), LIST(components)},
#include "core/monoids.def"
};

int tally_lower_component(const char *lower) {
    const bool is_component = lower[0] == 'a' && (lower[1] == 0 || (lower[1] >= '0' && lower[1] <= '9' && !lower[2]));
    return !is_component ? -1 : lower[1] ? lower[1] - '0' : 0;
}
