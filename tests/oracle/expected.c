#include "expected.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static long double real_of(const expected *e) {
    return e->kind == KIND_FLOAT    ? e->value
           : e->kind == KIND_SIGNED ? (long double)(int64_t)e->bits
                                    : (long double)e->bits;
}

static bool agrees_as_float(const expected *e, tally_dtype out, long double got) {
    long double want = real_of(e);
    if (got == want && got != 0) /* most of them; spares the rounding */
        return true;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (e->bound == 0 || e->kind != KIND_FLOAT || isinf(want)) {
        long double rounded = round_to(out, want);
        if (rounded == 0 && got == 0)
            return e->any_zero || e->kind != KIND_FLOAT || signbit(rounded) == signbit(got);
        return rounded == got;
    }
    if (isinf(got))
        return (got > 0 ? want : -want) + e->bound >= largest_of(out);
    return fabsl(got - want) <= e->bound ||
           fabsl(got - want) <= e->bound + ulp_at(out, fmaxl(fabsl(got), fabsl(want))) / 2;
}

static bool is_plain_nan(tally_dtype type, const void *element) {
    unsigned char plain[8];
    encode(type, (cell){.d = (double)NAN}, plain);
    return memcmp(plain, element, size_of(type)) == 0;
}

bool expected_agrees(const expected *e, tally_dtype out, const void *element, char *text, size_t text_bytes) {
    cell got;
    decode(out, element, 1, &got);
    bool agrees;
    if (is_float(out)) {
        agrees = agrees_as_float(e, out, got.d);
        if (agrees && isnan(got.d) && e->plain_nan && !is_plain_nan(out, element)) {
            snprintf(text, text_bytes, "a NaN of %s with a sign or a payload", tally_dtype_name(out));
            return false;
        }
        if (!agrees)
            snprintf(text, text_bytes, "expected %.21Lg (error up to %.3Lg) as %s, got %.17g", real_of(e), e->bound,
                     tally_dtype_name(out), got.d);
        return agrees;
    }
    unsigned char want[8];
    cell whole = {.u = e->bits};
    encode(out, whole, want);
    agrees = e->kind != KIND_FLOAT && memcmp(want, element, size_of(out)) == 0;
    if (!agrees)
        snprintf(text, text_bytes, "expected %" PRId64 " (0x%" PRIx64 ") as %s, got %" PRId64 " (0x%" PRIx64 ")",
                 (int64_t)e->bits, e->bits, tally_dtype_name(out), got.i, got.u);
    return agrees;
}
