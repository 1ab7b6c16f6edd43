/* More than 2^32 values, and pointers at any byte. The values are made on the device, and results that are as large are
 * looked at by sums and by samples. */
#include "gpu.h"

static const uint64_t n = (UINT64_C(1) << 32) + 3;

/* A test that needs more memory than the device has is skipped. */
static void need_gigabytes(uint64_t bytes) {
    tally_device_info info = {.struct_size = sizeof info};
    assert_ok(tally_device_describe(gpu, &info));
    if (info.memory_bytes < bytes + (UINT64_C(2) << 30)) {
        print_message("          skipped: it takes %.0f GiB\n", (double)bytes / (1 << 30));
        skip();
    }
}

/* count times the same 32 bits, at an address that is a multiple of 4. */
static void fill(void *to, unsigned word, uint64_t count) {
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)to;
    assert_ok(tally_cuda_enter(cuda()));
    CUresult result = api()->cuMemsetD32Async(address, word, (size_t)count, cuda()->stream);
    if (result == CUDA_SUCCESS)
        result = api()->cuStreamSynchronize(cuda()->stream);
    tally_cuda_leave(cuda());
    assert_ok(tally_cuda_check(result, "filling"));
}

static void put(void *to, uint64_t index, const void *value, size_t size) {
    assert_ok(tally_copy(gpu, (char *)to + index * size, value, size));
}

static void run_on_gpu(const tally_desc *desc, const void *x, uint64_t count, void *out, size_t out_bytes) {
    const tally_args args = arguments(x, count, out, out_bytes);
    assert_ok(run_desc(gpu, desc, &args));
}

static int64_t sum_of_i64(const void *x, uint64_t count) {
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I64);
    int64_t sum;
    void *out = room(8);
    run_on_gpu(&desc, x, count, out, 8);
    assert_ok(tally_copy(gpu, &sum, out, 8));
    tally_free(gpu, out);
    return sum;
}

/* Ones but for a few: out[i] is i + 1 plus what of them lies before. */
static void sum_and_scan_of_i8(void **state) {
    (void)state;
    const struct {
        uint64_t at;
        signed char value;
    } odd[] = {{5, -100}, {(UINT64_C(1) << 31) - 1, 100}, {(UINT64_C(1) << 32) - 1, 7}, {n - 1, -3}};
    enum { SAMPLE = 1 << 16 };
    static int64_t sample[SAMPLE];
    need_gigabytes(9 * n);
    signed char *memory = room(n + 8), *x = memory + 1; /* misaligned */
    int64_t *out = room(8 * n), expected = (int64_t)n, found, all = 0;
    fill(memory, 0x01010101, (n + 8) / 4);
    for (size_t k = 0; k < COUNT_OF(odd); k++) {
        put(x, odd[k].at, &odd[k].value, 1);
        expected += odd[k].value - 1;
        all += (odd[k].value - 1) * (int64_t)(n - odd[k].at);
    }
    const tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I8);
    run_on_gpu(&sum, x, n, out, 8);
    assert_ok(tally_copy(gpu, &found, out, 8));
    assert_int_equal(found, expected);

    const tally_desc scan = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_I8);
    run_on_gpu(&scan, x, n, out, 8 * n);
    const uint64_t from[] = {0, (UINT64_C(1) << 31) - SAMPLE / 2, n - SAMPLE};
    for (size_t s = 0; s < COUNT_OF(from); s++) {
        assert_ok(tally_copy(gpu, sample, out + from[s], sizeof sample));
        for (uint64_t i = 0; i < SAMPLE; i++) {
            int64_t prefix = (int64_t)(from[s] + i) + 1;
            for (size_t k = 0; k < COUNT_OF(odd); k++)
                prefix += odd[k].at <= from[s] + i ? odd[k].value - 1 : 0;
            assert_int_equal(sample[i], prefix);
        }
    }
    /* The sum of all of them is n (n + 1) / 2, and each odd value as often as it counts. */
    assert_int_equal(sum_of_i64(out, n), (int64_t)(n * ((n + 1) / 2)) + all);
    tally_free(gpu, memory);
    tally_free(gpu, out);
}

static void sums_of_f32_and_the_place_of_the_largest(void **state) {
    (void)state;
    need_gigabytes(4 * n);
    float *x = room(4 * n);
    const float small = 0.25F, large = 3;
    double sum;
    int64_t place;
    void *out = room(16);
    fill(x, 0x3f800000, n); /* ones */
    put(x, n - 2, &large, sizeof large);
    put(x, n - 1, &small, sizeof small);
    const double expected = (double)n + 2 - 0.75;
    for (int mode = TALLY_FAST; mode <= TALLY_EXACT; mode++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.mode = (tally_mode)mode;
        desc.out = TALLY_F64;
        run_on_gpu(&desc, x, n, out, 8);
        assert_ok(tally_copy(gpu, &sum, out, 8));
        assert_true(sum == expected);
    }
    const tally_desc argmax = describe(TALLY_ARGMAX, TALLY_REDUCE, TALLY_F32);
    run_on_gpu(&argmax, x, n, out, 8);
    assert_ok(tally_copy(gpu, &place, out, 8));
    assert_int_equal(place, n - 2);

    /* The same by segments, one of them longer than 2^32, and by columns. */
    const int64_t bounds[] = {0, 3, (int64_t)n - 2, (int64_t)n};
    float sums[3];
    tally_desc segments = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    segments.grouping = TALLY_SEGMENTS;
    tally_args args = arguments(x, n, out, 12);
    args.shape.groups = 3;
    args.offsets = upload(bounds, sizeof bounds);
    assert_ok(run_desc(gpu, &segments, &args));
    assert_ok(tally_copy(gpu, sums, out, sizeof sums));
    assert_true(sums[0] == 3 && sums[1] == (float)(n - 5) && sums[2] == 3.25F);
    tally_free(gpu, (void *)args.offsets);
    tally_desc columns = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    columns.grouping = TALLY_AXIS;
    args = arguments(x, (UINT64_C(1) << 31) + 1, out, 8);
    args.shape.inner = 2;
    assert_ok(run_desc(gpu, &columns, &args));
    assert_ok(tally_copy(gpu, sums, out, 8));
    assert_true(sums[0] == (float)((UINT64_C(1) << 31) + 1) && sums[1] == (float)((UINT64_C(1) << 31) + 3));
    tally_free(gpu, x);
    tally_free(gpu, out);
}

static void runs_of_keys_past_two_to_the_32(void **state) {
    (void)state;
    need_gigabytes(3 * n);
    unsigned char *keys = room(n + 8), *x = room(n + 8);
    const unsigned char one = 1;
    uint64_t count = 0, sums[2];
    void *out = room(16);
    fill(keys, 0, (n + 8) / 4);
    fill(x, 0x01010101, (n + 8) / 4);
    put(keys, n - 1, &one, 1);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_U8);
    desc.grouping = TALLY_KEYS;
    desc.index = TALLY_U8;
    tally_args args = arguments(x, n, out, sizeof sums);
    args.keys = keys;
    args.count = &count;
    assert_ok(run_desc(gpu, &desc, &args));
    assert_ok(tally_copy(gpu, sums, out, sizeof sums));
    assert_int_equal(count, 2);
    assert_int_equal(sums[0], n - 1);
    assert_int_equal(sums[1], 1);
    tally_free(gpu, keys);
    tally_free(gpu, x);
    tally_free(gpu, out);
}

/* Inputs and outputs at every byte of a vector of 16. */
static void pointers_at_any_byte(void **state) {
    (void)state;
    enum { N = 300007 };
    static const tally_dtype types[] = {TALLY_I8, TALLY_I16, TALLY_F32, TALLY_F64};
    static char host[8 * N], expected[8 * N], found[8 * N];
    uint64_t random = 7;
    char *x = room(8 * N + 16), *out = room(8 * N + 16);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        for (size_t i = 0; i < N; i++) {
            const int value = (int)random_below(&random, 21) - 10;
            const float f = (float)value;
            const double d = value;
            if (types[t] == TALLY_I8)
                host[i] = (char)value;
            else if (types[t] == TALLY_I16)
                memcpy(host + 2 * i, &(short){(short)value}, 2);
            else if (types[t] == TALLY_F32)
                memcpy(host + 4 * i, &f, 4);
            else
                memcpy(host + 8 * i, &d, 8);
        }
        const size_t bytes = N * tally_dtype_size(types[t]);
        for (int form = TALLY_REDUCE; form <= TALLY_INCLUSIVE_SCAN; form++) {
            tally_desc desc = describe(TALLY_SUM, (tally_form)form, types[t]);
            tally_plan *plan;
            desc.out = types[t];
            const size_t out_bytes = form == TALLY_REDUCE ? tally_dtype_size(types[t]) : bytes;
            tally_args args = arguments(host, N, expected, out_bytes);
            assert_ok(run_desc(cpu, &desc, &args));
            assert_ok(tally_plan_create(gpu, &desc, &plan));
            for (size_t at = 0; at < 16; at++) {
                args.x = x + at;
                args.out = out + (at * 5 + 3) % 16;
                assert_ok(tally_copy(gpu, x + at, host, bytes));
                assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
                assert_ok(tally_copy(gpu, found, args.out, out_bytes));
                assert_memory_equal(found, expected, out_bytes);
            }
            tally_plan_destroy(plan);
        }
    }
    tally_free(gpu, x);
    tally_free(gpu, out);
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_at_any_byte),
        cmocka_unit_test(sum_and_scan_of_i8),
        cmocka_unit_test(sums_of_f32_and_the_place_of_the_largest),
        cmocka_unit_test(runs_of_keys_past_two_to_the_32),
    };
    return close_devices(cmocka_run_group_tests_name("large inputs on a GPU", tests, NULL, NULL));
}
