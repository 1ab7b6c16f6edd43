/* Exact mode on the GPU holds the limbs that the golden file has, whatever the pieces and the order of the values, and
 * gives the CPU's bits. Between pieces the limbs lie in the plan, where this test looks them up. */
#include "gpu.h"

#include "../exact/oracle.h"
#include "cuda/plan.h"

enum { MOST_VALUES = 5000 + DATA_KINDS * 97 };

static unsigned char x[MOST_VALUES * 8], y[MOST_VALUES * 8], shuffled[MOST_VALUES * 8];

/* As tests/exact/test_properties.c hashes a state. */
static uint64_t hash_limbs(const tally_superaccumulator *state) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int32_t i = 0; i < state->limb_count; i++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ ((uint64_t)state->limbs[i] >> (8 * byte) & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

/* The hash of what a plan holds between pieces. */
static uint64_t hash_of_plan(const tally_plan *base, tally_exact_layout layout) {
    const tally_cuda_plan *plan = (const tally_cuda_plan *)base;
    tally_superaccumulator state;
    tally_superaccumulator_init(&state, layout);
    assert_ok(tally_copy(gpu, state.limbs, (const void *)(uintptr_t)plan->gpu.totals[plan->gpu.current].address,
                         (size_t)state.limb_count * sizeof *state.limbs));
    state.first = 0;
    state.end = state.limb_count;
    tally_superaccumulator_normalise(&state);
    return hash_limbs(&state);
}

static void push_pieces(tally_plan *plan, const char *data, const char *second, size_t size, size_t n,
                        uint64_t *random) {
    for (size_t at = 0; at < n;) {
        const size_t wanted = random ? random_below(random, n / 2 + 2) : n, count = wanted < n - at ? wanted : n - at;
        tally_args args = arguments(data + at * size, count, NULL, 0);
        args.y = second ? second + at * size : NULL;
        assert_ok(tally_push(plan, &args));
        at += count;
    }
}

static void shuffle(size_t size, size_t n, uint64_t *random) {
    memcpy(shuffled, x, n * size);
    for (size_t i = n - 1; i > 0; i--) {
        unsigned char kept[8], *a = shuffled + i * size, *b = shuffled + random_below(random, i + 1) * size;
        memcpy(kept, a, size);
        memcpy(a, b, size);
        memcpy(b, kept, size);
    }
}

static void the_golden_limbs(void **state) {
    (void)state;
    const char *path = getenv("TALLY_GOLDEN");
    FILE *file = fopen(path ? path : "tests/exact/golden.txt", "r");
    char op[8], name[8];
    int kind, lines = 0;
    size_t n;
    unsigned long long hash;
    uint64_t random = 3;
    void *memory = room(sizeof x + 16), *out = room(8);
    assert_non_null(file);
    while (fscanf(file, "%7s %7s kind=%d seed=2026 n=%zu limbs=%llx", op, name, &kind, &n, &hash) == 5) {
        const float_format *format = float_formats;
        while (strcmp(format->name, name) != 0)
            format++;
        const bool products = strcmp(op, "sumsq") == 0;
        const tally_exact_layout layout = tally_exact_layout_of(format->type, products);
        tally_desc desc = describe(products ? TALLY_SUMSQ : TALLY_SUM, TALLY_REDUCE, format->type);
        tally_plan *plan;
        desc.mode = TALLY_EXACT;
        assert_true(n <= MOST_VALUES);
        oracle_generate(format, kind, 2026, x, n);
        assert_ok(tally_plan_create(gpu, &desc, &plan));
        for (int turn = 0; turn < 4; turn++) { /* at once; in pieces; in another order; misaligned */
            char *data = (char *)memory + (turn == 3 ? 1 + random_below(&random, 15) : 0);
            shuffle(format->size, n, &random);
            assert_ok(tally_copy(gpu, data, turn < 2 ? x : shuffled, n * format->size));
            push_pieces(plan, data, NULL, format->size, n, turn ? &random : NULL);
            if (hash_of_plan(plan, layout) != hash)
                fail_msg("%s %s kind %d (%s), turn %d: other limbs", op, name, kind, oracle_kind_name(kind), turn);
            assert_ok(tally_finish(plan, out, 8));
        }
        tally_plan_destroy(plan);
        lines++;
    }
    fclose(file);
    assert_int_equal(lines, FORMATS * DATA_KINDS * 2);
    tally_free(gpu, memory);
    tally_free(gpu, out);
}

/* Sum, mean, norm and dot, at once and in pieces, of the mean in other output types too, against the CPU. */
static void the_cpus_bits(void **state) {
    (void)state;
    static const tally_op ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_SUMSQ, TALLY_NORM2, TALLY_DOT};
    static const tally_dtype outs[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
    uint64_t random = 11;
    char *memory = room(sizeof x), *second = room(sizeof y);
    void *out = room(8);
    for (int f = 0; f < FORMATS; f++)
        for (size_t o = 0; o < COUNT_OF(ops); o++)
            for (size_t to = 0; to < COUNT_OF(outs); to++) {
                const float_format *format = &float_formats[f];
                if (outs[to] != format->type && (ops[o] != TALLY_MEAN || outs[to] == TALLY_BF16))
                    continue; /* each kernel takes half a second to compile */
                tally_desc desc = describe(ops[o], TALLY_REDUCE, format->type);
                tally_plan *plan, *reference;
                desc.mode = TALLY_EXACT;
                desc.out = outs[to];
                assert_ok(tally_plan_create(gpu, &desc, &plan));
                assert_ok(tally_plan_create(cpu, &desc, &reference));
                for (int kind = 0; kind < DATA_KINDS; kind++) {
                    const size_t n = kind % 3 ? 1 + random_below(&random, MOST_VALUES - 1) : (size_t)kind,
                                 size = format->size;
                    uint64_t expected = 0, at_once = 0, in_pieces = 0;
                    oracle_generate(format, kind, random, x, n);
                    oracle_generate(format, (kind + (int)random_below(&random, 5)) % DATA_KINDS, random + 1, y, n);
                    tally_args args = arguments(x, n, &expected, sizeof expected);
                    args.y = desc.op == TALLY_DOT ? y : NULL;
                    assert_ok(tally_run(reference, &args, TALLY_SYNCHRONOUS));
                    assert_ok(tally_copy(gpu, memory, x, n * size));
                    assert_ok(tally_copy(gpu, second, y, n * size));
                    args.x = memory;
                    args.y = desc.op == TALLY_DOT ? second : NULL;
                    args.out = out;
                    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
                    assert_ok(tally_copy(gpu, &at_once, out, tally_dtype_size(outs[to])));
                    push_pieces(plan, memory, args.y, size, n, &random);
                    assert_ok(tally_finish(plan, out, 8));
                    assert_ok(tally_copy(gpu, &in_pieces, out, tally_dtype_size(outs[to])));
                    if (at_once != expected || in_pieces != expected)
                        fail_msg("%s %s to %s kind %d n %zu: %llx at once, %llx in pieces, %llx on the CPU",
                                 tally_op_name(ops[o]), format->name, tally_dtype_name(outs[to]), kind, n,
                                 (unsigned long long)at_once, (unsigned long long)in_pieces,
                                 (unsigned long long)expected);
                }
                tally_plan_destroy(plan);
                tally_plan_destroy(reference);
            }
    tally_free(gpu, memory);
    tally_free(gpu, second);
    tally_free(gpu, out);
}

static uint16_t bf16_of(int field, int fraction, bool is_negative) {
    return (uint16_t)(is_negative << 15 | field << 7 | fraction);
}

/* Ranges of exponents that a sum of bf16 adds up as one double, as two, or not as doubles: numbers that cancel, large
 * ones and some between, and small ones that must be left. */
static void any_range_of_exponents(void **state) {
    (void)state;
    enum { N = 4096, HIGHEST = 190, VECTOR = 8 };
    uint16_t elements[N];
    void *memory = room(sizeof elements), *out = room(8);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_BF16);
    desc.mode = TALLY_EXACT;
    tally_plan *plan, *reference;
    assert_ok(tally_plan_create(gpu, &desc, &plan));
    assert_ok(tally_plan_create(cpu, &desc, &reference));
    for (int apart = 0; apart < HIGHEST; apart++)
        for (int between = 0; between <= apart; between += apart < 66 || apart > 72 ? HIGHEST : 1) {
            uint16_t expected = 0, found = 0;
            for (int i = 0; i < N; i++) {
                const int turn = i / VECTOR % 4, place = i % VECTOR;
                elements[i] = place == 5   ? (turn < 2 ? bf16_of(HIGHEST - apart, 1, false) : 0)
                              : place != 2 ? (turn < 2 ? bf16_of(HIGHEST, 0x7f, turn) : 0)
                              : turn % 2   ? 0
                                           : bf16_of(HIGHEST - between, 1, turn);
            }
            tally_args args = arguments(elements, N, &expected, sizeof expected);
            assert_ok(tally_run(reference, &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(gpu, memory, elements, sizeof elements));
            args.x = memory;
            args.out = out;
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
            assert_ok(tally_copy(gpu, &found, out, sizeof found));
            if (found != expected)
                fail_msg("%d and %d exponents apart: %x, %x on the CPU", between, apart, found, expected);
        }
    tally_plan_destroy(plan);
    tally_plan_destroy(reference);
    tally_free(gpu, memory);
    tally_free(gpu, out);
}

/* Columns in pieces: as many sums as columns, none of which may be another's. */
static void columns_in_pieces(void **state) {
    (void)state;
    enum { ROWS = 40, MOST_COLUMNS = 131 };
    static const size_t widths[] = {1, 2, 31, 33, MOST_COLUMNS};
    static const tally_op ops[] = {TALLY_SUM, TALLY_NORM2, TALLY_MEAN};
    static unsigned char expected[8 * MOST_COLUMNS], found[8 * MOST_COLUMNS];
    uint64_t random = 17;
    char *memory = room(sizeof x);
    void *out = room(sizeof found);
    for (int f = 0; f < FORMATS; f++)
        for (size_t o = 0; o < COUNT_OF(ops); o++) {
            const float_format *format = &float_formats[f];
            tally_desc desc = describe(ops[o], TALLY_REDUCE, format->type);
            tally_plan *plan;
            desc.mode = TALLY_EXACT;
            desc.grouping = TALLY_AXIS;
            assert_ok(tally_plan_create(gpu, &desc, &plan));
            for (size_t w = 0; w < COUNT_OF(widths); w++) {
                const size_t row = widths[w] * format->size, out_bytes = row;
                oracle_generate(format, (int)(w + o) * 5 % DATA_KINDS, random, x, ROWS * widths[w]);
                assert_ok(tally_copy(gpu, memory, x, ROWS * row));
                tally_args args = arguments(x, ROWS, expected, out_bytes);
                args.shape.inner = widths[w];
                assert_ok(run_desc(cpu, &desc, &args));
                for (uint64_t at = 0; at < ROWS;) {
                    uint64_t count = random_below(&random, ROWS / 3);
                    count = count < ROWS - at ? count : ROWS - at;
                    args = arguments(memory + at * row, count, NULL, 0);
                    args.shape.inner = widths[w];
                    assert_ok(tally_push(plan, &args));
                    at += count;
                }
                assert_ok(tally_finish(plan, out, out_bytes));
                assert_ok(tally_copy(gpu, found, out, out_bytes));
                assert_memory_equal(found, expected, out_bytes);
            }
            tally_plan_destroy(plan);
        }
    tally_free(gpu, memory);
    tally_free(gpu, out);
}

/* Offsets and keys of every type. */
static void index_types(void **state) {
    (void)state;
    enum { N = 5000, SEGMENTS = 300 };
    static const tally_dtype offsets[] = {TALLY_I32, TALLY_I64, TALLY_U32, TALLY_U64};
    static unsigned char expected[8 * N], found[8 * N], index[8 * N];
    uint64_t random = 23;
    char *memory = room(sizeof x), *indexed = room(sizeof index);
    void *out = room(sizeof found);
    for (int f = 0; f < FORMATS; f++)
        for (int type = TALLY_I8; type <= TALLY_F64; type++)
            for (int by_keys = 0; by_keys < 2; by_keys++) {
                const float_format *format = &float_formats[f];
                const size_t size = tally_dtype_size((tally_dtype)type);
                bool takes = by_keys;
                for (size_t k = 0; k < COUNT_OF(offsets); k++)
                    takes = takes || offsets[k] == (tally_dtype)type;
                if (!takes)
                    continue;
                oracle_generate(format, (type + f) % DATA_KINDS, random, x, N);
                uint64_t value = 0;
                for (size_t i = 0; i < (by_keys ? N : SEGMENTS + 1); i++) {
                    if (by_keys)
                        value = random_below(&random, 9) ? value : random_below(&random, 3);
                    else
                        value = i * (N / SEGMENTS) + random_below(&random, N / SEGMENTS);
                    memcpy(index + i * size, &value, size); /* little-endian */
                }
                tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, format->type);
                uint64_t count = SEGMENTS, runs = 0;
                desc.mode = TALLY_EXACT;
                desc.grouping = by_keys ? TALLY_KEYS : TALLY_SEGMENTS;
                desc.index = (tally_dtype)type;
                tally_args args = arguments(x, N, expected, sizeof expected);
                args.shape.groups = by_keys ? 0 : SEGMENTS;
                *(by_keys ? &args.keys : &args.offsets) = index;
                args.count = by_keys ? &count : NULL;
                assert_ok(run_desc(cpu, &desc, &args));
                assert_ok(tally_copy(gpu, memory, x, sizeof x));
                assert_ok(tally_copy(gpu, indexed, index, sizeof index));
                args.x = memory;
                args.out = out;
                *(by_keys ? &args.keys : &args.offsets) = indexed;
                args.count = by_keys ? &runs : NULL;
                assert_ok(run_desc(gpu, &desc, &args));
                assert_true(!by_keys || runs == count);
                assert_ok(tally_copy(gpu, found, out, count * format->size));
                assert_memory_equal(found, expected, count * format->size);
            }
    tally_free(gpu, memory);
    tally_free(gpu, indexed);
    tally_free(gpu, out);
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_limbs),  cmocka_unit_test(the_cpus_bits), cmocka_unit_test(any_range_of_exponents),
        cmocka_unit_test(columns_in_pieces), cmocka_unit_test(index_types),
    };
    return close_devices(cmocka_run_group_tests_name("exact mode on a GPU", tests, NULL, NULL));
}
