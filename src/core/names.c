/* The public names of types, forms, groupings and modes, the sizes of types, and the version. */
#include <string.h>

#include "core/dtype.h"
#include "core/nearest.h"
#include "core/status.h"

/* The layouts follow from the width and the precision. */
#define EXPONENT_BITS(bytes, precision) (8 * (bytes) - (precision))
#define BIAS(bytes, precision)          ((1 << (EXPONENT_BITS(bytes, precision) - 1)) - 1)
#define INFINITE(bytes, precision)      (((UINT64_C(1) << EXPONENT_BITS(bytes, precision)) - 1) << ((precision)-1))
#define FORMAT_FLOAT(bytes, precision)                                                                                 \
    {                                                                                                                  \
        precision, 2 - BIAS(bytes, precision) - (precision), 8 * (bytes), INFINITE(bytes, precision),                  \
            (uint64_t)BIAS(bytes, precision) << ((precision)-1),                                                       \
            INFINITE(bytes, precision) | UINT64_C(1) << ((precision)-2)                                                \
    }
#define FORMAT_SIGNED(bytes, precision)                                                                                \
    { 0 }
#define FORMAT_UNSIGNED FORMAT_SIGNED

const tally_dtype_entry tally_dtypes[TALLY_DTYPE_COUNT] = {
    [TALLY_DEFAULT] = {.name = "default"},
#define TALLY_DTYPE(ENUMERATOR, tag, kind, bytes, precision, value, numpy, npy, device, saved, levels, product_levels) \
    [TALLY_##ENUMERATOR] = {#tag,                                                                                      \
                            #numpy,                                                                                    \
                            #npy,                                                                                      \
                            #device,                                                                                   \
                            TALLY_KIND_##kind,                                                                         \
                            bytes,                                                                                     \
                            TALLY_##value,                                                                             \
                            saved,                                                                                     \
                            levels,                                                                                    \
                            product_levels,                                                                            \
                            FORMAT_##kind(bytes, precision)},
#include "core/dtypes.def"
};

#define TALLY_DTYPE(ENUMERATOR, ...) +1
_Static_assert(1
#include "core/dtypes.def"
                   == TALLY_DTYPE_COUNT,
               "a type of the header has no row in dtypes.def");

tally_dtype tally_dtype_to_unsigned(tally_dtype t) {
    for (int u = 1; tally_dtype_is_signed(t) && u < TALLY_DTYPE_COUNT; u++)
        if (tally_dtype_is_unsigned((tally_dtype)u) && tally_dtypes[u].bytes == tally_dtypes[t].bytes)
            return (tally_dtype)u;
    return t;
}

const char *tally_dtype_name(tally_dtype dtype) {
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tally_dtypes[dtype].name : NULL;
}

size_t tally_dtype_size(tally_dtype dtype) {
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? tally_dtypes[dtype].bytes : 0;
}

tally_status tally_dtype_traits(tally_dtype dtype, tally_type_traits *traits) {
    if (!traits || traits->struct_size != sizeof *traits)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_dtype_traits: set traits->struct_size to sizeof(tally_type_traits), %zu",
                          sizeof *traits);
    if (!tally_dtype_is_valid(dtype))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_dtype_traits: %d is not a type", (int)dtype);
    const tally_dtype_entry *entry = &tally_dtypes[dtype];
    *traits = (tally_type_traits){.struct_size = sizeof *traits,
                                  .bytes = entry->bytes,
                                  .is_float = entry->kind == TALLY_KIND_FLOAT,
                                  .is_signed = entry->kind != TALLY_KIND_UNSIGNED,
                                  .precision = entry->format.precision,
                                  .numpy_name = entry->numpy_name,
                                  .npy_code = entry->npy_code};
    return TALLY_OK;
}

tally_status tally_dtype_from_name(const char *name, tally_dtype *dtype) {
    if (!name || !dtype)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_dtype_from_name: NULL where a name and a place for it are expected");
    enum { TYPES = TALLY_DTYPE_COUNT - 1 };
    tally_known_name known[2 * TYPES];
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        known[i - 1] = (tally_known_name){tally_dtypes[i].name, tally_dtypes[i].name};
        known[TYPES + i - 1] = (tally_known_name){tally_dtypes[i].numpy_name, tally_dtypes[i].name};
        if (strcmp(name, tally_dtypes[i].name) == 0 || strcmp(name, tally_dtypes[i].numpy_name) == 0) {
            *dtype = (tally_dtype)i;
            return TALLY_OK;
        }
    }
    const char *nearest = tally_nearest(name, known, sizeof known / sizeof *known);
    if (!nearest)
        return tally_fail(TALLY_INVALID_ARGUMENT, "unknown type '%.64s'", name);
    return tally_fail(TALLY_INVALID_ARGUMENT, "unknown type '%.64s'; the nearest known one is '%s'", name, nearest);
}

const char *tally_form_name(tally_form form) {
    static const char *const names[] = {"reduce", "inclusive_scan", "exclusive_scan"};
    return (unsigned)form < TALLY_FORM_COUNT ? names[form] : NULL;
}

const char *tally_grouping_name(tally_grouping grouping) {
    static const char *const names[] = {"all_values", "axis", "segments", "keys", "labels"};
    return (unsigned)grouping < TALLY_GROUPING_COUNT ? names[grouping] : NULL;
}

const char *tally_mode_name(tally_mode mode) {
    static const char *const names[] = {"fast", "exact"};
    return (unsigned)mode < TALLY_MODE_COUNT ? names[mode] : NULL;
}

#define TEXT_OF(x)                        #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *tally_version(void) {
    return VERSION_TEXT(TALLY_VERSION_MAJOR, TALLY_VERSION_MINOR, TALLY_VERSION_PATCH);
}
