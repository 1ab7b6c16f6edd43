/* Runs of equal keys that begin anywhere, a few or many of them in one input: none is missed, and none is found twice,
 * whichever way heads are looked for. */
#include "support.h"

#include "../oracle/random.h"

enum { N = 70000 };

static const tally_dtype key_types[] = {TALLY_I8, TALLY_I16, TALLY_U32, TALLY_I64};
static unsigned char keys[N * sizeof(int64_t)], keys_out[N * sizeof(int64_t)];
static int32_t x[N];
static int64_t expected[N], out[N];
static bool begins[N];

/* Every run has another key than the one before; the keys are 3 and 5 in turns. */
static void put_keys(size_t bytes) {
    int key = 3;
    memset(keys, 0, sizeof keys);
    for (size_t i = 0; i < N; i++) {
        key = i && begins[i] ? 8 - key : key;
        memset(keys + i * bytes, key, bytes);
    }
}

static void check(tally_device *device, tally_op op, tally_dtype type, bool has_room) {
    tally_desc desc = describe(op, TALLY_REDUCE, TALLY_I32);
    desc.grouping = TALLY_KEYS;
    desc.index = type;
    size_t runs = 1, first = 0, best = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < N; i++) {
        if (i && begins[i]) {
            expected[runs - 1] = op == TALLY_SUM ? sum : (int64_t)(best - first);
            runs++, first = best = i, sum = 0;
        }
        sum += x[i];
        best = x[i] > x[best] ? i : best;
    }
    expected[runs - 1] = op == TALLY_SUM ? sum : (int64_t)(best - first);
    put_keys(tally_dtype_size(type));
    uint64_t count = 0;
    tally_args args = arguments(x, N, out, (has_room ? N : runs) * sizeof *out);
    args.keys = keys;
    args.keys_out = keys_out;
    args.keys_out_bytes = (has_room ? N : runs) * tally_dtype_size(type);
    args.count = &count;
    assert_ok(run_desc(device, &desc, &args));
    assert_int_equal(count, runs);
    for (size_t k = 0; k < runs; k++) {
        const int key = k % 2 ? 5 : 3;
        if (out[k] != expected[k] || keys_out[k * tally_dtype_size(type)] != key)
            fail_msg("%s by %s, run %zu of %zu: %lld instead of %lld", tally_op_name(op), tally_dtype_name(type), k,
                     runs, (long long)out[k], (long long)expected[k]);
    }
}

static void heads_are_found_wherever_they_lie(void **state) {
    static const size_t heads[] = {0, 1, 5, 40, 400, 1100, 5000};
    uint64_t random = 3;
    for (size_t i = 0; i < N; i++)
        x[i] = (int32_t)random_below(&random, 1000);
    for (size_t k = 0; k < 4 * COUNT_OF(heads); k++) {
        memset(begins, 0, sizeof begins);
        for (size_t h = 0; h < heads[k / 4]; h++)
            begins[random_below(&random, k % 4 == 1 ? N / 50 : N)] = true;
        if (k % 4 == 2) /* where chunks and blocks begin or end */
            for (size_t at = 8192; at < N; at += 8192)
                begins[at] = begins[at - 1] = begins[at + 255] = true;
        for (size_t t = 0; t < COUNT_OF(key_types); t++)
            for (int how = 0; how < 4; how++)
                check(*state, how & 1 ? TALLY_ARGMAX : TALLY_SUM, key_types[t], how & 2);
    }
}

/* Runs of one length are rows; a head that is missing, added or moved anywhere among them is found. */
static void one_head_among_even_ones_is_found(void **state) {
    static const size_t lengths[] = {1, 2, 7, 32, 60, 200};
    uint64_t random = 7;
    for (size_t k = 0; k < COUNT_OF(lengths); k++)
        for (int round = 0; round < 6; round++) {
            const size_t odd = 1 + (size_t)random_below(&random, N - 2);
            for (size_t i = 0; i < N; i++)
                begins[i] = i % lengths[k] == 0;
            if (round > 0)
                begins[odd] = !begins[odd];
            if (round > 3)
                begins[odd + 1] = !begins[odd + 1];
            check(*state, round % 2 ? TALLY_ARGMAX : TALLY_SUM, key_types[round % COUNT_OF(key_types)], round % 3);
        }
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_found_wherever_they_lie),
        cmocka_unit_test(one_head_among_even_ones_is_found),
    };
    return cmocka_run_group_tests_name("rare heads", tests, open_test_device, close_test_device);
}
