/* The status names and the thread's last message. */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>

/* Long enough for a compiler's first errors. */
static _Thread_local char last_error[16384]; /* empty: no error yet. With a text it would be part of the file */

tally_status tally_fail(tally_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return status;
}

const char *tally_last_error(void) {
    return last_error[0] ? last_error : "no error";
}

const char *tally_status_name(tally_status status) {
    static const char *const names[TALLY_STATUS_COUNT] = {
        [TALLY_OK] = "TALLY_OK",
        [TALLY_INVALID_ARGUMENT] = "TALLY_INVALID_ARGUMENT",
        [TALLY_UNSUPPORTED] = "TALLY_UNSUPPORTED",
        [TALLY_OUT_OF_MEMORY] = "TALLY_OUT_OF_MEMORY",
        [TALLY_OUTPUT_TOO_SMALL] = "TALLY_OUTPUT_TOO_SMALL",
        [TALLY_EMPTY] = "TALLY_EMPTY",
        [TALLY_BAD_OFFSETS] = "TALLY_BAD_OFFSETS",
        [TALLY_BAD_STATE] = "TALLY_BAD_STATE",
        [TALLY_NO_DEVICE] = "TALLY_NO_DEVICE",
        [TALLY_DEVICE_FAILED] = "TALLY_DEVICE_FAILED",
        [TALLY_BAD_LABELS] = "TALLY_BAD_LABELS",
    };
    return (unsigned)status < TALLY_STATUS_COUNT ? names[status] : "unknown status";
}
