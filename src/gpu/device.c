#include "gpu/device.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "core/status.h"

tally_status tally_gpu_parse_ordinal(const char *backend, const char *options, int *ordinal) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(options, &end, 10);
    if (*options && (*options < '0' || *options > '9' || *end))
        return tally_fail(TALLY_INVALID_ARGUMENT, "device spec: '%s:%.32s'; give '%s' or '%s:N' with N from 0", backend,
                          options, backend, backend);
    *ordinal = errno || value > INT_MAX ? INT_MAX : (int)value;
    return TALLY_OK;
}

tally_status tally_gpu_no_device(const char *backend, const char *title, const char *options, unsigned count) {
    return tally_fail(TALLY_NO_DEVICE, "no device '%s:%.32s': this machine shows %u %s device%s%s", backend, options,
                      count, title, count == 1 ? "" : "s", count ? ", counted from 0" : "; open \"cpu\"");
}
