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

#ifdef FLUSH_BITS
/* The words and the saved form of elements that such modes would take for 0, made with or without these modes. */
static void write_state(bool flushes, tally_op op, tally_mode mode, tally_dtype in, int64_t words[80],
                        unsigned char saved[1024], double *value) {
    static const float singles[] = {0x1p-140F, 1};
    static const double doubles[] = {1, 0x1p-1074};
    static const double minus_one = -1;
    tally_desc desc = describe(op, TALLY_REDUCE, in);
    tally_accumulator *a, *b, *c = NULL;
    size_t bytes = 0;
    desc.mode = mode;
    assert_ok(tally_accumulator_create_for(&desc, &a));
    assert_ok(tally_accumulator_create_for(&desc, &b));
    assert_ok(tally_accumulator_add(a, in == TALLY_F32 ? (const void *)singles : doubles, NULL, 2));
    tally_words_info form = {.struct_size = sizeof form};
    assert_ok(tally_words_describe(&desc, &form));
    const unsigned before = _mm_getcsr();
    if (flushes)
        _mm_setcsr(before | FLUSH_BITS);
    const tally_status given = tally_accumulator_words(a, words, 80 * sizeof *words),
                       taken = tally_accumulator_add_words(b, words, form.count * sizeof *words),
                       kept = mode == TALLY_EXACT ? tally_accumulator_save(a, saved, 1024, &bytes) : TALLY_OK;
    _mm_setcsr(before);
    assert_ok(given);
    assert_ok(taken);
    assert_ok(kept);
    if (mode == TALLY_EXACT) {
        assert_ok(tally_accumulator_load(saved, bytes, &c));
        assert_ok(tally_accumulator_add(c, &minus_one, NULL, 1));
    }
    assert_ok(tally_accumulator_value(c ? c : b, TALLY_F64, value));
    tally_accumulator_destroy(a);
    tally_accumulator_destroy(b);
    tally_accumulator_destroy(c);
}

static void states_are_written_and_read_in_any_mode(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_mode mode;
        tally_dtype in;
        double value;
    } cases[] = {{TALLY_MIN, TALLY_FAST, TALLY_F32, 0x1p-140}, {TALLY_SUM, TALLY_EXACT, TALLY_F64, 0x1p-1074}};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        int64_t words[2][80] = {{0}};
        unsigned char saved[2][1024] = {{0}};
        for (int flushes = 0; flushes < 2; flushes++) {
            double value;
            write_state(flushes, cases[k].op, cases[k].mode, cases[k].in, words[flushes], saved[flushes], &value);
            assert_true(value == cases[k].value);
        }
        assert_memory_equal(words[0], words[1], sizeof words[0]);
        assert_memory_equal(saved[0], saved[1], sizeof saved[0]);
    }
}
#endif

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
#ifdef FLUSH_BITS
        cmocka_unit_test(states_are_written_and_read_in_any_mode),
#endif
        cmocka_unit_test(it_prints_nothing),
    };
    return cmocka_run_group_tests_name("caller's environment", tests, setup, close_test_device);
}
