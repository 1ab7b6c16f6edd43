/* A sum of one element is the element, so a reduction of columns of one converts each to the output's type. Results in
 * narrower floats are the CPU's, bit for bit: random bits, numbers between two neighbours of the narrow type and next
 * to those, subnormal and infinite ones.
 * usage: narrow_results [flush]: with 'flush' lavapipe takes subnormals for zeros. */
#include <math.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../api/support.h"

enum { COUNT = 60000 };

static tally_device *cpu, *gpu;
static uint64_t state = 88172645463325252U;
static struct {
    union {
        float f32[COUNT];
        double f64[COUNT];
        uint64_t bits[COUNT];
    } x;
    uint32_t out[COUNT];
} here, found, *there;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double of_f32_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* Of a type's neighbours near the top and the bottom of its range or in it, the first one or what lies half way to the
 * next, and as many units of the wider type from there as 'off' says. */
static double between(tally_dtype out, bool in_f64, int off) {
    const uint32_t r = (uint32_t)random_bits();
    const uint32_t half = (r & 0x0400) != 0, bits = r >> 16 & (r & 1 ? 0x7fff : r & 2 ? 0x03ff : 0x7fff ^ 0x03ff);
    double x;
    if (out == TALLY_F16) {
        const int exponent = (int)(bits >> 10 & 31), leading = exponent ? 1024 : 0;
        x = ldexp((double)(leading + (int)(bits & 1023)) + (half ? 0.5 : 0), (exponent ? exponent : 1) - 25);
    } else {
        const uint32_t shift = out == TALLY_BF16 ? 16 : 0;
        const double low = of_f32_bits(bits << 16 | (shift ? 0 : r >> 4 & 0xffff));
        x = half ? (low + of_f32_bits((bits << 16 | (shift ? 0 : r >> 4 & 0xffff)) + (1U << shift))) / 2 : low;
    }
    if (in_f64)
        return off ? nextafter(x, off < 0 ? -INFINITY : INFINITY) : x;
    return off ? (double)nextafterf((float)x, off < 0 ? -INFINITY : INFINITY) : x;
}

static void fill(tally_dtype in, tally_dtype out) {
    for (size_t k = 0; k < COUNT; k++) {
        const uint64_t bits = random_bits();
        const double near = between(out, in == TALLY_F64, (int)(bits % 3) - 1) * (bits & 8 ? 1 : -1);
        const double x = near == 0 ? 1 : near; /* a fast sum of -0 may be either zero */
        if (in == TALLY_F64 && k % 3 == 0)
            here.x.bits[k] = bits;
        else if (in == TALLY_F64)
            here.x.f64[k] = x;
        else if (k % 3 == 0)
            memcpy(&here.x.f32[k], &bits, sizeof here.x.f32[k]);
        else
            here.x.f32[k] = (float)x;
    }
}

static bool is_nan(tally_dtype type, uint32_t bits) {
    return type == TALLY_F16    ? (bits & 0x7fff) > 0x7c00
           : type == TALLY_BF16 ? (bits & 0x7fff) > 0x7f80
                                : (bits & 0x7fffffff) > 0x7f800000;
}
static uint32_t result(const uint32_t *out, tally_dtype type, size_t k) {
    uint16_t narrow;
    if (type == TALLY_F32)
        return out[k];
    memcpy(&narrow, (const unsigned char *)out + k * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Where DenormPreserve is not asked for, as for fast sums, Vulkan lets a device take subnormal operands for zeros, and
 * a sum of zeros may be either zero. The conversion comes after it and is of integers: narrow subnormals must be there.
 */
static bool is_subnormal(tally_dtype in, size_t k) {
    return in == TALLY_F64 ? fpclassify(here.x.f64[k]) == FP_SUBNORMAL : fpclassify(here.x.f32[k]) == FP_SUBNORMAL;
}
static bool is_zero(tally_dtype type, uint32_t bits) {
    return (bits & (type == TALLY_F32 ? 0x7fffffff : 0x7fff)) == 0;
}

static void check(tally_dtype in, tally_dtype out) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, in);
    tally_args args = arguments(here.x.bits, 1, here.out, sizeof here.out);
    desc.grouping = TALLY_AXIS;
    desc.out = out;
    args.shape.outer = COUNT;
    fill(in, out);
    assert_ok(run_desc(cpu, &desc, &args));
    assert_ok(tally_copy(gpu, there, &here, sizeof here));
    args.x = there->x.bits;
    args.out = there->out;
    assert_ok(run_desc(gpu, &desc, &args));
    assert_ok(tally_copy(gpu, &found, there, sizeof found));
    for (size_t k = 0; k < COUNT; k++) {
        const uint32_t expected = result(here.out, out, k), is = result(found.out, out, k);
        if (expected != is && !(is_nan(out, expected) && is_nan(out, is)) && !(is_subnormal(in, k) && is_zero(out, is)))
            fail_msg("element %zu, %s %a as %s: 0x%x, and not 0x%x", k, tally_dtype_name(in),
                     in == TALLY_F64 ? here.x.f64[k] : (double)here.x.f32[k], tally_dtype_name(out), is, expected);
    }
}

static void results_are_rounded_once(void **unused) {
    (void)unused;
    check(TALLY_F32, TALLY_F16);
    check(TALLY_F32, TALLY_BF16);
    check(TALLY_F64, TALLY_F16);
    check(TALLY_F64, TALLY_BF16);
    check(TALLY_F64, TALLY_F32);
}

/* Threads that are started have their starter's mode; the CPU back end computes in its own. */
static bool set_flushing(bool flushes) {
#if defined(__SSE2__)
    enum { FLUSH = 0x8040 }; /* results and operands */
    _mm_setcsr(flushes ? _mm_getcsr() | FLUSH : _mm_getcsr() & ~(unsigned)FLUSH);
    return true;
#else
    return !flushes;
#endif
}

int main(int argc, char **argv) {
    const bool flushes = argc > 1 && strcmp(argv[1], "flush") == 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_rounded_once)};
    void *memory;
    if (!set_flushing(flushes)) {
        printf("this processor's mode is not known here\n");
        return 77;
    }
    const tally_status opened = tally_open("vulkan:0", &gpu); /* starts the device's threads */
    set_flushing(false);
    if (opened != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK ||
        tally_alloc(gpu, sizeof here, &memory) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    there = memory;
    const int failed = cmocka_run_group_tests_name("narrow results on Vulkan devices", tests, NULL, NULL);
    tally_free(gpu, memory);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
