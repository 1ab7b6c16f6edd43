#include "gpu/user.h"

#include <string.h>

#include "core/status.h"

enum { LARGEST_ACCUMULATOR = 64 /* bytes */ };

tally_status tally_user_check(const tally_computation *c, const char *backend) {
    const tally_user_op *user = &c->user;
    const tally_grouping grouping = c->desc.grouping;
    if (c->entry)
        return TALLY_OK;
    if (!user->acc_source || !user->identity_source || !user->lift_source || !user->combine_source ||
        !user->lower_source)
        return tally_fail(TALLY_UNSUPPORTED,
                          "a user operator on %s needs its five source texts (acc_source, identity_source, "
                          "lift_source, combine_source, lower_source)",
                          backend);
    if (user->acc_bytes > LARGEST_ACCUMULATOR)
        return tally_fail(TALLY_UNSUPPORTED,
                          "a user operator on %s: its accumulator has %zu bytes, and %d at most are kept in registers",
                          backend, user->acc_bytes, LARGEST_ACCUMULATOR);
    if ((grouping == TALLY_SEGMENTS || grouping == TALLY_KEYS || grouping == TALLY_LABELS) &&
        strstr(user->lift_source, "index"))
        return tally_fail(TALLY_UNSUPPORTED, "a user operator by %s on %s: its lift may not depend on the index",
                          tally_grouping_name(grouping), backend);
    return TALLY_OK;
}
