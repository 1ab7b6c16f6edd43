/* The library prints nothing and leaves the caller's floating-point environment as it found it; hostile rounding and
 * flush-to-zero modes of the caller change no exact result. */
#include "support.h"

#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FLUSH_BITS ((unsigned)0x8040) /* flush to zero, denormals are zero */
#endif

enum { N = 200000 };
static double x[N];
static float tiny[N];

static int setup(void **state) {
    for (int k = 0; k < N; k++) {
        x[k] = (k % 2 ? 1e300 : -1e-300) * (1.0 / (k + 3));
        tiny[k] = (float)ldexp(1 + k % 5, -149);
    }
    return open_test_device(state);
}

static void rounding_modes_survive_and_do_no_harm(void **state) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    double first = 0;
    for (size_t k = 0; k < COUNT_OF(modes); k++) {
        double sum = 0;
        float small = 0;
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
        desc.mode = TALLY_EXACT;
        tally_args args = arguments(x, N, &sum, sizeof sum);
        fesetround(modes[k]);
#ifdef FLUSH_BITS
        unsigned before = _mm_getcsr();
        _mm_setcsr(before | FLUSH_BITS);
#endif
        tally_status status = run_desc(*state, &desc, &args);
        desc.in = TALLY_F32;
        args = arguments(tiny, N, &small, sizeof small);
        tally_status status_small = run_desc(*state, &desc, &args);
        int mode_after = fegetround();
#ifdef FLUSH_BITS
        unsigned after = _mm_getcsr() & 0xffc0u; /* the sticky flags aside */
        _mm_setcsr(before);
#endif
        fesetround(FE_TONEAREST);
        assert_int_equal(status, TALLY_OK);
        assert_int_equal(status_small, TALLY_OK);
        assert_int_equal(mode_after, modes[k]);
#ifdef FLUSH_BITS
        assert_int_equal(after, (before & 0xffc0u) | FLUSH_BITS);
#endif
        if (k == 0)
            first = sum;
        assert_memory_equal(&first, &sum, sizeof sum);
        assert_true(small == ldexpf((float)(N / 5 * (1 + 2 + 3 + 4 + 5)), -149));
    }
}

/* Everything that goes to the two standard streams while the library succeeds and fails. */
static void it_prints_nothing(void **state) {
    char path[] = "/tmp/tally-prints-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    fflush(stdout);
    fflush(stderr);
    int out = dup(1), err = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    double result[2];
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    tally_args args = arguments(x, N, result, sizeof result);
    tally_status good = run_desc(*state, &desc, &args);
    args.out_bytes = 1;
    tally_status bad = run_desc(*state, &desc, &args);
    tally_device *none;
    tally_status no_device = tally_open("cpu:nonsense", &none);
    tally_op op;
    tally_op_from_name("nonsense", &op);
    fflush(stdout);
    fflush(stderr);
    off_t printed = lseek(file, 0, SEEK_END);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    close(file);
    assert_int_equal(good, TALLY_OK);
    assert_int_equal(bad, TALLY_OUTPUT_TOO_SMALL);
    assert_int_not_equal(no_device, TALLY_OK);
    assert_int_equal(printed, 0);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_modes_survive_and_do_no_harm),
        cmocka_unit_test(it_prints_nothing),
    };
    return cmocka_run_group_tests_name("caller's environment", tests, setup, close_test_device);
}
