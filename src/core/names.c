/* The public names of types, forms, groupings and modes, the sizes of types, and the version. */
#include <string.h>

#include "core/dtype.h"
#include "core/nearest.h"
#include "core/status.h"

static const struct {
    const char *name;
    const char *numpy_name;
    unsigned char bytes;
} dtypes[TALLY_DTYPE_COUNT] = {
    [TALLY_DEFAULT] = {"default", NULL, 0}, [TALLY_I8] = {"i8", "int8", 1},         [TALLY_I16] = {"i16", "int16", 2},
    [TALLY_I32] = {"i32", "int32", 4},      [TALLY_I64] = {"i64", "int64", 8},      [TALLY_U8] = {"u8", "uint8", 1},
    [TALLY_U16] = {"u16", "uint16", 2},     [TALLY_U32] = {"u32", "uint32", 4},     [TALLY_U64] = {"u64", "uint64", 8},
    [TALLY_F16] = {"f16", "float16", 2},    [TALLY_BF16] = {"bf16", "bfloat16", 2}, [TALLY_F32] = {"f32", "float32", 4},
    [TALLY_F64] = {"f64", "float64", 8},
};

const char *tally_dtype_name(tally_dtype dtype) {
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

size_t tally_dtype_size(tally_dtype dtype) {
    return (unsigned)dtype < TALLY_DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

tally_status tally_dtype_from_name(const char *name, tally_dtype *dtype) {
    if (!name || !dtype)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_dtype_from_name: NULL where a name and a place for it are expected");
    enum { TYPES = TALLY_DTYPE_COUNT - 1 };
    tally_known_name known[2 * TYPES];
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        known[i - 1] = (tally_known_name){dtypes[i].name, dtypes[i].name};
        known[TYPES + i - 1] = (tally_known_name){dtypes[i].numpy_name, dtypes[i].name};
        if (strcmp(name, dtypes[i].name) == 0 || strcmp(name, dtypes[i].numpy_name) == 0) {
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
    static const char *const names[] = {"all_values", "axis", "segments", "keys"};
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
