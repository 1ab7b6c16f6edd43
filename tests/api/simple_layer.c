/* The simple layer: every typed call gives the result of the plain loop, for no, few and many elements. */
#include "support.h"

#include <math.h>

enum { N = 100003 };
static int32_t i32[N];
static int64_t i64[N], i64_out[N];
static float f32[N], f32_out[N];
static double f64[N], f64_out[N];

static int setup(void **state) {
    (void)state;
    for (int k = 0; k < N; k++) {
        i32[k] = k * 7919 % 101 - 50;
        i64[k] = i32[k];
        f32[k] = (float)i32[k];
        f64[k] = (double)i32[k];
    }
    return 0;
}

static void reductions(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 100, N};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        size_t n = sizes[s];
        int64_t sum = 0, squares = 0;
        int32_t least = i32[0], most = i32[0];
        for (size_t k = 0; k < n; k++) {
            sum += i32[k];
            squares += (int64_t)i32[k] * i32[k];
            least = i32[k] < least ? i32[k] : least;
            most = i32[k] > most ? i32[k] : most;
        }
        int64_t got64;
        int32_t got32;
        float gotf;
        double gotd;
        assert_ok(tally_sum_i32(i32, n, &got64));
        assert_true(got64 == sum);
        assert_ok(tally_sum_i64(i64, n, &got64));
        assert_true(got64 == sum);
        assert_ok(tally_sum_f32(f32, n, &gotf));
        assert_true(gotf == (float)sum);
        assert_ok(tally_sum_f64(f64, n, &gotd));
        assert_true(gotd == (double)sum);
        assert_ok(tally_sum_exact_f32(f32, n, &gotf));
        assert_true(gotf == (float)sum);
        assert_ok(tally_sum_exact_f64(f64, n, &gotd));
        assert_true(gotd == (double)sum);
        assert_ok(tally_min_i32(i32, n, &got32));
        assert_true(got32 == least);
        assert_ok(tally_min_i64(i64, n, &got64));
        assert_true(got64 == least);
        assert_ok(tally_min_f32(f32, n, &gotf));
        assert_true(gotf == (float)least);
        assert_ok(tally_min_f64(f64, n, &gotd));
        assert_true(gotd == (double)least);
        assert_ok(tally_max_i32(i32, n, &got32));
        assert_true(got32 == most);
        assert_ok(tally_max_i64(i64, n, &got64));
        assert_true(got64 == most);
        assert_ok(tally_max_f32(f32, n, &gotf));
        assert_true(gotf == (float)most);
        assert_ok(tally_max_f64(f64, n, &gotd));
        assert_true(gotd == (double)most);
        assert_ok(tally_mean_f32(f32, n, &gotf));
        assert_true(fabs((double)gotf - (double)sum / (double)n) <= 1e-6 * fabs((double)sum / (double)n));
        assert_ok(tally_mean_f64(f64, n, &gotd));
        assert_true(fabs(gotd - (double)sum / (double)n) <= 1e-15 * fabs((double)sum / (double)n));
        assert_ok(tally_dot_f32(f32, f32, n, &gotf));
        assert_true(fabs((double)gotf - (double)squares) <= 1e-6 * (double)squares);
        assert_ok(tally_dot_f64(f64, f64, n, &gotd));
        assert_true(gotd == (double)squares);
    }
}

static void running_totals(void **state) {
    (void)state;
    assert_ok(tally_cumsum_i64(i64, N, i64_out));
    assert_ok(tally_cumsum_f32(f32, N, f32_out));
    assert_ok(tally_cumsum_f64(f64, N, f64_out));
    int64_t sum = 0;
    for (int k = 0; k < N; k++) {
        sum += i64[k];
        assert_true(i64_out[k] == sum && f32_out[k] == (float)sum && f64_out[k] == (double)sum);
    }
    memcpy(f64_out, f64, sizeof f64);
    assert_ok(tally_cumsum_f64(f64_out, N, f64_out)); /* in place */
    assert_true(f64_out[N - 1] == (double)sum);
}

static void the_generic_calls(void **state) {
    (void)state;
    int64_t at = -1;
    uint8_t any = 7;
    double pair[2];
    assert_ok(tally_reduce(TALLY_ARGMAX, TALLY_F32, f32, N, &at));
    assert_true(f32[at] == 50);
    for (int64_t k = 0; k < at; k++)
        assert_true(f32[k] < 50);
    assert_ok(tally_reduce(TALLY_ANY, TALLY_I64, i64, N, &any));
    assert_int_equal(any, 1);
    assert_ok(tally_reduce(TALLY_MINMAX, TALLY_F64, f64, N, pair));
    assert_true(pair[0] == -50 && pair[1] == 50);
    double exact;
    assert_ok(tally_reduce_exact(TALLY_MEAN, TALLY_F64, f64, 3, &exact));
    assert_true(exact == (f64[0] + f64[1] + f64[2]) / 3);
    assert_ok(tally_scan(TALLY_MAX, TALLY_F64, f64, N, f64_out));
    assert_true(f64_out[N - 1] == 50 && f64_out[0] == f64[0]);
}

static void nothing_and_bad_calls(void **state) {
    (void)state;
    int64_t sum = 5;
    float least = 5;
    assert_ok(tally_sum_i32(NULL, 0, &sum));
    assert_true(sum == 0);
    assert_fails(tally_min_f32(NULL, 0, &least), TALLY_EMPTY);
    assert_true(least == 5);
    assert_ok(tally_cumsum_f32(NULL, 0, NULL));
    sum = 5;
    assert_fails(tally_sum_i32(NULL, 3, &sum), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_sum_i32(i32, 3, NULL), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_sum_i32(i32, SIZE_MAX, &sum), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_reduce((tally_op)99, TALLY_F32, f32, 3, &sum), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_reduce(TALLY_SUM, (tally_dtype)99, f32, 3, &sum), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_reduce(TALLY_USER, TALLY_F32, f32, 3, &sum), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "tally_plan_create"));
    assert_fails(tally_reduce(TALLY_DOT, TALLY_F32, f32, 3, &sum), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "tally_dot_f32"));
    float dot = 5;
    assert_fails(tally_dot_f32(f32, NULL, 3, &dot), TALLY_INVALID_ARGUMENT);
    assert_true(sum == 5 && dot == 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(running_totals),
        cmocka_unit_test(the_generic_calls),
        cmocka_unit_test(nothing_and_bad_calls),
    };
    return cmocka_run_group_tests_name("simple layer", tests, setup, NULL);
}
