/* States in words combine, by their rule, to the result of the whole input: for every operator, type and mode, for
 * parts of any lengths, empty ones among them, by elementwise additions and maxima, by plans that take words, and by
 * accumulators. Words that were damaged or mixed up are refused, with the outputs untouched.
 *
 * usage: words [OPERATOR/TYPE/MODE...]   of every operator, or of these, where each takes long to compile */
#include <math.h>

#include "support.h"

enum { MOST_PARTS = 6, MOST_COLUMNS = 5, MOST_N = 3000, MOST_WORDS = 256, ELEMENT = 8 };

typedef struct test {
    tally_device *device;
    uint64_t random;
    unsigned char x[MOST_N * MOST_COLUMNS * ELEMENT], y[MOST_N * MOST_COLUMNS * ELEMENT];
    int64_t words[MOST_PARTS * MOST_COLUMNS * MOST_WORDS], joined[MOST_COLUMNS * MOST_WORDS];
    uint64_t rows[MOST_PARTS]; /* of each part */
    int parts;
} test;
static test t;
static char **filters; /* ends with NULL; none: everything */

static uint64_t next(uint64_t below) {
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (t.random >> 33) % below;
}

static int setup(void **state) {
    t.random = 7;
    const int status = open_test_device(state);
    t.device = *state;
    return status;
}

/* ---- data ---- */

static uint64_t bits_of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A moderate number now and then special, or any bits. */
static uint64_t draw(tally_dtype type, bool wild) {
    uint64_t drawn[5]; /* in this order everywhere */
    for (size_t k = 0; k < COUNT_OF(drawn); k++)
        drawn[k] = next(1u << 31);
    const double value = ldexp((double)(drawn[0] % (1 << 20)) - (1 << 19), -(int)(drawn[1] % 24));
    const uint64_t any = drawn[2] << 40 ^ drawn[3] << 20 ^ drawn[4];
    if (type < TALLY_F16)
        return wild ? any : drawn[0] % 200 - 100 * (type <= TALLY_I64);
    if (type == TALLY_F64) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return wild ? any : bits;
    }
    if (type == TALLY_F32)
        return wild ? any & UINT32_MAX : bits_of_f32((float)value);
    if (type == TALLY_BF16)
        return wild ? any & 0xffff : bits_of_f32((float)value) >> 16;
    return wild ? any & 0xffff : 0x3000 + drawn[0] % 0x2000 + 0x8000 * (drawn[1] % 2);
}

static void fill(tally_dtype type, void *x, size_t n, unsigned wild_in) {
    const size_t bytes = tally_dtype_size(type);
    for (size_t i = 0; i < n; i++) {
        const uint64_t element = draw(type, wild_in && next(wild_in) == 0);
        const uint32_t four = (uint32_t)element;
        const uint16_t two = (uint16_t)element;
        const uint8_t one = (uint8_t)element;
        memcpy((char *)x + i * bytes,
               bytes == 8   ? (const void *)&element
               : bytes == 4 ? (const void *)&four
               : bytes == 2 ? (const void *)&two
                            : &one,
               bytes);
    }
}

static void cut(uint64_t rows) {
    t.parts = 1 + (int)next(MOST_PARTS);
    for (int p = 0; p < t.parts; p++) {
        t.rows[p] = p == t.parts - 1 ? rows : next(3) == 0 ? 0 : next(rows + 1);
        rows -= t.rows[p];
    }
}

/* ---- runs on the device, from and to host memory ---- */

static void *on_device(const void *from, size_t bytes) {
    void *memory;
    assert_ok(tally_alloc(t.device, bytes, &memory));
    if (bytes)
        assert_ok(tally_copy(t.device, memory, from, bytes));
    return memory;
}

/* An axis of rows x columns. The result, of 'bytes' bytes, stays as it was if the run fails. */
static tally_status run_axis(const tally_desc *desc, uint64_t rows, uint64_t columns, const void *x, const void *y,
                             size_t in_bytes, void *out, size_t bytes) {
    tally_args args = TALLY_ARGS_INIT;
    tally_desc axis = *desc;
    axis.grouping = TALLY_AXIS;
    args.shape = (tally_shape){1, rows, columns, 0};
    void *const device_x = on_device(x, rows * columns * in_bytes);
    void *const device_y = y ? on_device(y, rows * columns * in_bytes) : NULL;
    void *const device_out = on_device(out, bytes);
    args.x = device_x;
    args.y = device_y;
    args.out = device_out;
    args.out_bytes = bytes;
    const tally_status status = run_desc(t.device, &axis, &args);
    assert_ok(tally_copy(t.device, out, device_out, bytes));
    tally_free(t.device, device_x);
    tally_free(t.device, device_y);
    tally_free(t.device, device_out);
    return status;
}

/* A run whose arguments are in host memory. x has x_bytes bytes; offsets, keys and labels are int64. */
static tally_status run_copied(const tally_desc *desc, const tally_args *args, size_t x_bytes) {
    tally_args copy = *args;
    const size_t each = sizeof(int64_t);
    const struct {
        const void **place;
        size_t bytes;
    } inputs[] = {{&copy.x, x_bytes},
                  {&copy.offsets, (args->shape.groups + 1) * each},
                  {&copy.keys, args->shape.extent * each},
                  {&copy.labels, args->shape.extent * each}};
    void *memory[COUNT_OF(inputs)], *keys_out = NULL;
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        *inputs[i].place = memory[i] = *inputs[i].place ? on_device(*inputs[i].place, inputs[i].bytes) : NULL;
    void *const out = copy.out = on_device(args->out, args->out_bytes);
    if (args->keys_out)
        copy.keys_out = keys_out = on_device(args->keys_out, args->keys_out_bytes);
    const tally_status status = run_desc(t.device, desc, &copy);
    assert_ok(tally_copy(t.device, args->out, out, args->out_bytes));
    if (keys_out)
        assert_ok(tally_copy(t.device, args->keys_out, keys_out, args->keys_out_bytes));
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        tally_free(t.device, memory[i]);
    tally_free(t.device, out);
    tally_free(t.device, keys_out);
    return status;
}

/* ---- every operator ---- */

/* Whether two results are the same: bit by bit, or for operators that round nearly, or both not numbers. */
static bool agree(const void *a, const void *b, size_t bytes, tally_dtype out, bool rounds) {
    if (memcmp(a, b, bytes) == 0)
        return true;
    for (size_t i = 0; rounds && i < bytes / tally_dtype_size(out); i++) {
        double p = 0, q = 0, tolerance = 1e-12;
        float narrow[2];
        if (out == TALLY_F64) {
            memcpy(&p, (const char *)a + 8 * i, 8);
            memcpy(&q, (const char *)b + 8 * i, 8);
        } else if (out == TALLY_F32) {
            memcpy(narrow, (const char *)a + 4 * i, 4);
            memcpy(narrow + 1, (const char *)b + 4 * i, 4);
            p = (double)narrow[0], q = (double)narrow[1], tolerance = 1e-5;
        } else {
            int16_t half[2];
            memcpy(half, (const char *)a + 2 * i, 2);
            memcpy(half + 1, (const char *)b + 2 * i, 2);
            if (abs(half[0] - half[1]) > 1)
                return false;
            continue;
        }
        if (!(p == q || (isnan(p) && isnan(q)) || fabs(p - q) <= tolerance * (fabs(p) + fabs(q) + 1)))
            return false;
    }
    return rounds;
}

static void combine_elementwise(const tally_words_info *info, uint64_t columns) {
    const size_t count = columns * info->count;
    for (size_t i = 0; i < count; i++) {
        int64_t word = info->nothing;
        for (int p = 0; p < t.parts; p++) {
            const int64_t other = t.words[(size_t)p * count + i];
            word = info->rule == TALLY_WORDS_ADD ? (int64_t)((uint64_t)word + (uint64_t)other)
                   : other > word                ? other
                                                 : word;
        }
        t.joined[i] = word;
    }
}

/* An accumulator of column 0, to which the parts' words are added. */
static void check_accumulator(const tally_desc *desc, const tally_words_info *info, uint64_t columns,
                              const void *expected, size_t bytes, bool rounds) {
    tally_accumulator *sum;
    unsigned char value[16];
    const tally_status status = tally_accumulator_create_for(desc, &sum);
    assert_ok(status);
    for (int p = 0; p < t.parts; p++)
        assert_ok(tally_accumulator_add_words(sum, t.words + (size_t)p * columns * info->count, 8 * info->count));
    assert_ok(tally_accumulator_value(sum, TALLY_DEFAULT, value));
    tally_desc described;
    tally_plan *plan;
    assert_ok(tally_plan_create(t.device, desc, &plan));
    assert_ok(tally_plan_describe(plan, &described, NULL));
    tally_plan_destroy(plan);
    if (!agree(expected, value, bytes, described.out, rounds))
        fail_msg("%s of %s, %s: accumulators of words give another value", tally_op_name(desc->op),
                 tally_dtype_name(desc->in), tally_mode_name(desc->mode));
    tally_accumulator_destroy(sum);
}

/* The words of an accumulator of a column's rows. */
static void words_of_column(const tally_desc *desc, uint64_t rows, uint64_t columns, uint64_t first, int64_t *words) {
    const size_t bytes = tally_dtype_size(desc->in);
    tally_accumulator *a;
    assert_ok(tally_accumulator_create_for(desc, &a));
    for (uint64_t r = 0; r < rows; r++)
        assert_ok(tally_accumulator_add(a, t.x + (first + r * columns) * bytes,
                                        desc->op == TALLY_DOT ? t.y + (first + r * columns) * bytes : NULL, 1));
    assert_ok(tally_accumulator_words(a, words, MOST_WORDS * sizeof *words));
    tally_accumulator_destroy(a);
}

/* The states of a part's columns, from the device or, where it gives none, from accumulators. Every back end gives the
 * words that an accumulator has, if nothing rounds. */
static void words_of_part(const tally_desc *desc, bool gives, const tally_words_info *info, uint64_t rows,
                          uint64_t columns, uint64_t first, int64_t *words) {
    const size_t bytes = tally_dtype_size(desc->in), at = first * columns * bytes;
    const bool sums = desc->op >= TALLY_SUMSQ && info->rule == TALLY_WORDS_ORDERED;
    const bool rounds = desc->mode == TALLY_FAST && (desc->in >= TALLY_F16 || sums);
    tally_desc out = *desc;
    out.flags = TALLY_WORDS_OUT;
    if (gives)
        assert_ok(run_axis(&out, rows, columns, t.x + at, desc->op == TALLY_DOT ? t.y + at : NULL, bytes, words,
                           columns * info->count * sizeof *words));
    for (uint64_t j = 0; j < columns; j++) {
        int64_t own[MOST_WORDS], *const column = words + j * info->count;
        words_of_column(desc, rows, columns, first * columns + j, own);
        for (size_t i = 0; i < info->count && gives && !rounds; i++)
            if (own[i] != column[i])
                fail_msg("%s of %s, %s: word %zu is %llx, an accumulator's %llx", tally_op_name(desc->op),
                         tally_dtype_name(desc->in), tally_mode_name(desc->mode), i, (unsigned long long)column[i],
                         (unsigned long long)own[i]);
        if (!gives)
            memcpy(column, own, info->count * sizeof *own);
    }
}

static void check(const tally_desc *plain, uint64_t rows, uint64_t columns) {
    const size_t bytes = tally_dtype_size(plain->in);
    const void *const y = plain->op == TALLY_DOT ? t.y : NULL;
    unsigned char expected[MOST_COLUMNS * 16] = {0}, got[MOST_COLUMNS * 16] = {0};
    tally_words_info info = {.struct_size = sizeof info};
    tally_desc out = *plain, in = *plain, described;
    bool gives;
    tally_plan *plan;
    size_t each;
    out.flags = TALLY_WORDS_OUT;
    in.flags = TALLY_WORDS_IN;
    assert_ok(tally_words_describe(plain, &info));
    gives = tally_supports(t.device, &out) == TALLY_OK;
    if (gives) {
        assert_ok(tally_plan_create(t.device, &out, &plan));
        assert_ok(tally_plan_describe(plan, &described, &each));
        assert_int_equal(described.out, TALLY_I64);
        assert_int_equal(each, info.count);
        tally_plan_destroy(plan);
    }
    assert_ok(tally_plan_create(t.device, plain, &plan));
    assert_ok(tally_plan_describe(plan, &described, &each));
    tally_plan_destroy(plan);
    const size_t result = tally_dtype_size(described.out) * each;
    const tally_status status = run_axis(plain, rows, columns, t.x, y, bytes, expected, columns * result);
    uint64_t done = 0;
    const size_t part_bytes = columns * info.count * sizeof(int64_t);
    for (int p = 0; p < t.parts; p++) {
        words_of_part(plain, gives, &info, t.rows[p], columns, done, t.words + (size_t)p * columns * info.count);
        done += t.rows[p];
    }
    const bool rounds =
        tally_dtype_size(described.out) && described.out >= TALLY_F16 && info.rule == TALLY_WORDS_ORDERED;
    const bool by_value = rounds || (plain->mode == TALLY_FAST && info.rule == TALLY_WORDS_MAX);
    const char *const what = tally_op_name(plain->op), *const type = tally_dtype_name(plain->in);
    assert_int_equal(run_axis(&in, (uint64_t)t.parts, columns, t.words, NULL, info.count * 8, got, columns * result),
                     status);
    if (!agree(expected, got, columns * result, described.out, by_value))
        fail_msg("%s of %s, %s: states combined by a plan give another result", what, type,
                 tally_mode_name(plain->mode));
    if (info.rule == TALLY_WORDS_ORDERED) {
        tally_desc both = *plain;
        both.flags = TALLY_WORDS_IN | TALLY_WORDS_OUT;
        assert_ok(run_axis(&both, (uint64_t)t.parts, columns, t.words, NULL, info.count * 8, t.joined, part_bytes));
    } else {
        combine_elementwise(&info, columns);
    }
    unsigned char again[MOST_COLUMNS * 16] = {0};
    assert_int_equal(run_axis(&in, 1, columns, t.joined, NULL, info.count * 8, again, columns * result), status);
    if (memcmp(got, again, columns * result) != 0)
        fail_msg("%s of %s, %s: words combined by their rule give another result", what, type,
                 tally_mode_name(plain->mode));
    if (status == TALLY_OK)
        check_accumulator(plain, &info, columns, expected, result, by_value);
}

static bool is_chosen(const tally_desc *desc) {
    char name[80];
    snprintf(name, sizeof name, "%s/%s/%s", tally_op_name(desc->op), tally_dtype_name(desc->in),
             tally_mode_name(desc->mode));
    for (char **filter = filters; *filter; filter++)
        if (strcmp(*filter, name) == 0)
            return true;
    return !*filters;
}

static void parts_combine_to_the_whole(void **state) {
    (void)state;
    unsigned checked = 0;
    for (int op = 0; op < TALLY_USER; op++)
        for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++)
                for (int trial = 0; trial < 6; trial++) {
                    tally_desc desc = describe((tally_op)op, TALLY_REDUCE, (tally_dtype)type);
                    desc.mode = (tally_mode)mode;
                    desc.flags = TALLY_WORDS_IN;
                    if (!is_chosen(&desc) || tally_supports(t.device, &desc) != TALLY_OK)
                        continue;
                    desc.flags = 0;
                    const uint64_t rows = trial == 0 ? 0 : trial == 1 ? 1 : trial < 4 ? next(40) : next(MOST_N);
                    const uint64_t columns = trial % 2 ? 1 : 1 + next(MOST_COLUMNS);
                    const bool rounds = mode == TALLY_FAST && type >= TALLY_F16;
                    fill(desc.in, t.x, rows * columns, rounds ? 0 : trial == 5 ? 1 : 9);
                    fill(desc.in, t.y, rows * columns, rounds ? 0 : 9);
                    cut(rows);
                    check(&desc, rows, columns);
                    checked++;
                }
    printf("%u combinations\n", checked);
    assert_in_range(checked, 1, UINT32_MAX);
}

/* ---- groupings, pieces ---- */

static bool has_words(tally_op op, tally_dtype type, tally_mode mode, tally_grouping grouping, unsigned flags) {
    tally_desc desc = describe(op, TALLY_REDUCE, type);
    desc.mode = mode;
    desc.grouping = grouping;
    desc.flags = flags;
    return tally_supports(t.device, &desc) == TALLY_OK;
}

enum { GROUPS = 40 };

/* The states of segments, keys and labels, some of them empty, are turned into values one by one. */
static void states_of_groups(void **state) {
    (void)state;
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_MEAN, TALLY_VAR, TALLY_ARGMIN, TALLY_ALL, TALLY_MINMAX};
    static const tally_grouping groupings[] = {TALLY_SEGMENTS, TALLY_KEYS, TALLY_LABELS};
    static double x[MOST_N];
    static int64_t offsets[GROUPS + 1], of_element[MOST_N], count;
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (size_t g = 0; g < COUNT_OF(groupings); g++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                const tally_grouping grouping = groupings[g];
                if (!has_words(ops[o], TALLY_F64, (tally_mode)mode, grouping, TALLY_WORDS_OUT))
                    continue;
                const bool may_be_empty = ops[o] == TALLY_SUM || ops[o] == TALLY_ALL || ops[o] == TALLY_MEAN;
                fill(TALLY_F64, x, MOST_N, 0);
                for (int i = 1; i <= GROUPS; i++)
                    offsets[i] = i == GROUPS ? MOST_N
                                 : may_be_empty && grouping != TALLY_KEYS && next(3) == 0
                                     ? offsets[i - 1]
                                     : offsets[i - 1] + 1 + (int64_t)next(60);
                for (int i = 0; i < GROUPS; i++)
                    for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                        of_element[k] = i;
                static double expected[2 * GROUPS], got[2 * GROUPS];
                static int64_t words[GROUPS * MOST_WORDS];
                tally_desc desc = describe(ops[o], TALLY_REDUCE, TALLY_F64);
                desc.mode = (tally_mode)mode;
                tally_words_info info = {.struct_size = sizeof info};
                assert_ok(tally_words_describe(&desc, &info));
                desc.grouping = grouping;
                tally_args args = arguments(x, MOST_N, expected, sizeof expected);
                uint64_t runs = 0;
                args.shape.groups = GROUPS;
                args.offsets = offsets;
                args.keys = args.labels = of_element;
                args.count = &runs;
                memset(expected, 0, sizeof expected);
                memset(got, 0, sizeof got);
                assert_ok(run_copied(&desc, &args, sizeof x));
                desc.flags = TALLY_WORDS_OUT;
                args.out = words;
                args.out_bytes = GROUPS * info.count * 8;
                assert_ok(run_copied(&desc, &args, sizeof x));
                count = grouping == TALLY_KEYS ? (int64_t)runs : GROUPS;
                assert_int_equal(count, GROUPS);
                desc.flags = TALLY_WORDS_IN;
                desc.grouping = TALLY_AXIS;
                tally_args values = arguments(words, 1, got, sizeof got);
                values.shape.inner = GROUPS;
                assert_ok(run_copied(&desc, &values, GROUPS * info.count * 8));
                if (!agree(expected, got, sizeof got, TALLY_F64,
                           mode == TALLY_FAST && info.rule == TALLY_WORDS_ORDERED))
                    fail_msg("%s by %s, %s", tally_op_name(ops[o]), tally_grouping_name(grouping),
                             tally_mode_name((tally_mode)mode));
            }
}

/* Runs of keys that reach over two parts are joined by their states and keys. */
static void runs_that_reach_over_parts_are_joined(void **state) {
    (void)state;
    enum { N = 1000 };
    static double x[N], expected[N], got[N];
    static int64_t keys[N], keys_out[2 * N], expected_keys[N], joined_keys[N], words[2 * N * 80];
    if (!has_words(TALLY_SUM, TALLY_F64, TALLY_EXACT, TALLY_KEYS, TALLY_WORDS_IN))
        return;
    fill(TALLY_F64, x, N, 0);
    for (int i = 1; i < N; i++)
        keys[i] = keys[i - 1] + (next(4) == 0);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    desc.mode = TALLY_EXACT;
    tally_words_info info = {.struct_size = sizeof info};
    assert_ok(tally_words_describe(&desc, &info));
    assert_int_equal(info.count, 74);
    desc.grouping = TALLY_KEYS;
    uint64_t all = 0, runs = 0, joined = 0;
    tally_args args = arguments(x, N, expected, sizeof expected);
    args.keys = keys;
    args.keys_out = expected_keys;
    args.keys_out_bytes = sizeof expected_keys;
    args.count = &all;
    assert_ok(run_copied(&desc, &args, sizeof x));
    for (int p = 0; p < 2; p++) {
        const int first = p ? 333 : 0;
        uint64_t mine = 0;
        desc.flags = TALLY_WORDS_OUT;
        tally_args part = arguments(x + first, p ? N - 333 : 333, words + runs * info.count, 8 * N * info.count);
        part.keys = keys + first;
        part.keys_out = keys_out + runs;
        part.keys_out_bytes = 8 * N;
        part.count = &mine;
        assert_ok(run_copied(&desc, &part, part.shape.extent * 8));
        runs += mine;
    }
    desc.flags = TALLY_WORDS_IN;
    tally_args join = arguments(words, runs, got, sizeof got);
    join.keys = keys_out;
    join.keys_out = joined_keys;
    join.keys_out_bytes = sizeof joined_keys;
    join.count = &joined;
    assert_ok(run_copied(&desc, &join, runs * info.count * 8));
    assert_int_equal(joined, all);
    assert_memory_equal(got, expected, all * sizeof *got);
    assert_memory_equal(joined_keys, expected_keys, all * sizeof *keys);
}

/* Pieces of elements end in words, and pieces of words in values. */
static void pieces_end_in_words(void **state) {
    (void)state;
    static float x[MOST_N];
    if (!has_words(TALLY_SUM, TALLY_F32, TALLY_EXACT, TALLY_ALL_VALUES, TALLY_WORDS_OUT))
        return;
    fill(TALLY_F32, x, MOST_N, 50);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    tally_plan *whole, *to_words, *to_values;
    assert_ok(tally_plan_create(t.device, &desc, &whole));
    desc.flags = TALLY_WORDS_OUT;
    assert_ok(tally_plan_create(t.device, &desc, &to_words));
    desc.flags = TALLY_WORDS_IN;
    assert_ok(tally_plan_create(t.device, &desc, &to_values));
    float *const device_x = on_device(x, sizeof x), value, expected;
    int64_t *const words = on_device(x, sizeof(int64_t[2][17]));
    for (int half = 0; half < 2; half++) {
        tally_args args = arguments(device_x + half * MOST_N / 2, MOST_N / 6, NULL, 0);
        const tally_status status = tally_push(to_words, &args);
        if (strncmp(test_device_spec(), "vulkan", 6) == 0) { /* has no pieces that end in words */
            assert_int_equal(status, TALLY_UNSUPPORTED);
            args = arguments(args.x, MOST_N / 2, words + half * 17, sizeof(int64_t[17]));
            assert_ok(tally_run(to_words, &args, TALLY_SYNCHRONOUS));
            continue;
        }
        assert_ok(status);
        for (int k = 1; k < 3; k++) {
            args.x = device_x + half * MOST_N / 2 + k * MOST_N / 6;
            assert_ok(tally_push(to_words, &args));
        }
        assert_ok(tally_finish(to_words, words + half * 17, sizeof(int64_t[17])));
    }
    tally_args args = arguments(words, 1, NULL, 0);
    if (tally_push(to_values, &args) != TALLY_UNSUPPORTED) { /* only the CPU has pieces of words */
        args.x = words + 17;
        assert_ok(tally_push(to_values, &args));
        assert_ok(tally_finish(to_values, words, sizeof value));
    } else {
        tally_args both = arguments(words, 2, words, sizeof value);
        void *const out = on_device(x, sizeof value);
        both.out = out;
        assert_ok(tally_run(to_values, &both, TALLY_SYNCHRONOUS));
        assert_ok(tally_copy(t.device, words, out, sizeof value));
        tally_free(t.device, out);
    }
    assert_ok(tally_copy(t.device, &value, words, sizeof value));
    args = arguments(device_x, MOST_N, words, sizeof expected);
    assert_ok(tally_run(whole, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(t.device, &expected, words, sizeof expected));
    assert_memory_equal(&value, &expected, sizeof value);
    tally_free(t.device, device_x);
    tally_free(t.device, words);
    tally_plan_destroy(whole);
    tally_plan_destroy(to_words);
    tally_plan_destroy(to_values);
}

/* The state is a superaccumulator, since elements are floats. */
static bool is_exact_sum(const tally_desc *desc) {
    return desc->mode == TALLY_EXACT && (desc->op == TALLY_SUM || desc->op == TALLY_NORM2);
}

/* A scan that resumes with the states of the rows before gives the rest of the whole scan; a reduction the whole. */
static void pieces_resume_from_states(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_dtype in, out;
        tally_mode mode;
        tally_form form;
    } cases[] = {{TALLY_SUM, TALLY_F32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_F32, TALLY_F64, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_F64, TALLY_DEFAULT, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_I16, TALLY_DEFAULT, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_SUM, TALLY_I8, TALLY_I8, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MAX, TALLY_U8, TALLY_DEFAULT, TALLY_EXACT, TALLY_EXCLUSIVE_SCAN},
                 {TALLY_MIN, TALLY_F64, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_ARGMIN, TALLY_F32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MEAN, TALLY_I32, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_ALL, TALLY_I64, TALLY_DEFAULT, TALLY_FAST, TALLY_INCLUSIVE_SCAN},
                 {TALLY_MINMAX, TALLY_BF16, TALLY_DEFAULT, TALLY_EXACT, TALLY_INCLUSIVE_SCAN},
                 {TALLY_VAR, TALLY_F64, TALLY_DEFAULT, TALLY_FAST, TALLY_REDUCE},
                 {TALLY_NORM2, TALLY_F16, TALLY_F64, TALLY_EXACT, TALLY_REDUCE},
                 {TALLY_ARGMAX, TALLY_I32, TALLY_DEFAULT, TALLY_FAST, TALLY_REDUCE}};
    static unsigned char whole[MOST_N * MOST_COLUMNS * 16], got[sizeof whole];
    const bool is_cpu = strncmp(test_device_spec(), "cpu", 3) == 0,
               is_cuda = strncmp(test_device_spec(), "cuda", 4) == 0;
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (int trial = 0; trial < 12; trial++) {
            const uint64_t columns = 1 + next(MOST_COLUMNS), rows = 1 + next(trial < 6 ? 40 : MOST_N - 1);
            const uint64_t first = trial % 3 == 0 && cases[k].form != TALLY_REDUCE ? 0 : next(rows + 1);
            tally_desc desc = describe(cases[k].op, cases[k].form, cases[k].in), reduction = desc, described;
            tally_words_info info = {.struct_size = sizeof info};
            const size_t bytes = tally_dtype_size(desc.in);
            tally_plan *plan;
            size_t each;
            desc.mode = reduction.mode = cases[k].mode;
            desc.grouping = TALLY_AXIS;
            desc.out = cases[k].out;
            reduction.form = TALLY_REDUCE;
            /* what_cannot_resume has the others */
            if (!is_cpu && (!is_cuda || !is_chosen(&desc) || is_exact_sum(&desc)))
                continue;
            assert_ok(tally_words_describe(&reduction, &info));
            fill(desc.in, t.x, rows * columns, cases[k].mode == TALLY_EXACT ? 20 : 0);
            for (uint64_t j = 0; j < columns; j++)
                words_of_column(&reduction, first, columns, j, t.words + j * info.count);
            assert_ok(tally_plan_create(t.device, &desc, &plan));
            assert_ok(tally_plan_describe(plan, &described, &each));
            const bool scans = desc.form != TALLY_REDUCE;
            const size_t result = tally_dtype_size(described.out) * each, row = columns * result;
            assert_ok(run_axis(&desc, rows, columns, t.x, NULL, bytes, whole, (scans ? rows : 1) * row));
            void *const words = on_device(t.words, columns * info.count * 8);
            assert_ok(tally_resume(plan, words, columns));
            void *const rest_of_x = on_device(t.x + first * columns * bytes, (rows - first) * columns * bytes);
            void *const out = on_device(got, (rows + 1) * row);
            tally_args args = arguments(rest_of_x, rows - first, out, scans ? (rows - first) * row : 0);
            args.shape.inner = columns;
            assert_ok(tally_push(plan, &args));
            assert_ok(tally_finish(plan, out, scans ? 0 : row));
            assert_ok(tally_copy(t.device, got, out, (scans ? rows : 1) * row));
            tally_free(t.device, rest_of_x);
            tally_free(t.device, out);
            const unsigned char *const rest = whole + (scans ? first * row : 0);
            const size_t compared = scans ? (rows - first) * row : row;
            if (!agree(rest, got, compared, described.out, desc.op == TALLY_VAR))
                fail_msg("%s of %s, %s: resumed after %d of %d rows it goes another way", tally_op_name(desc.op),
                         tally_form_name(desc.form), tally_dtype_name(desc.in), (int)first, (int)rows);
            t.words[1] ^= 1;
            assert_ok(tally_copy(t.device, words, t.words, columns * info.count * 8));
            assert_fails(tally_resume(plan, words, columns), TALLY_BAD_STATE);
            tally_free(t.device, words);
            tally_plan_destroy(plan);
        }
}

static void what_cannot_resume(void **state) {
    (void)state;
    tally_plan *plan;
    int64_t words[2 * 17] = {0};
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.mode = TALLY_EXACT;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(NULL, words, 1), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_resume(plan, NULL, 1), TALLY_INVALID_ARGUMENT);
    const bool has = strncmp(test_device_spec(), "cpu", 3) == 0;
    const bool has_some = has || strncmp(test_device_spec(), "cuda", 4) == 0; /* but not of exact sums */
    assert_fails(tally_resume(plan, words, 2), has_some ? TALLY_INVALID_ARGUMENT : TALLY_UNSUPPORTED);
    if (!has)
        assert_fails(tally_resume(plan, words, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    desc.grouping = TALLY_SEGMENTS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_fails(tally_resume(plan, words, 1), TALLY_UNSUPPORTED);
    tally_plan_destroy(plan);
    if (!has)
        return;
    /* columns of which one has fewer elements */
    const float x[] = {1, 2};
    tally_accumulator *a;
    desc.grouping = TALLY_AXIS;
    assert_ok(tally_plan_create(t.device, &desc, &plan));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &a));
    assert_ok(tally_accumulator_add(a, x, NULL, 2));
    assert_ok(tally_accumulator_words(a, words, 17 * sizeof *words));
    assert_fails(tally_resume(plan, words, 2), TALLY_BAD_STATE);
    assert_ok(tally_resume(plan, words, 1));
    float sum = 0;
    assert_ok(tally_finish(plan, &sum, sizeof sum));
    assert_true(sum == 3);
    tally_accumulator_destroy(a);
    tally_plan_destroy(plan);
}

/* ---- the words themselves ---- */

/* The words of every kind of state for elements that every processor has alike, once and for all. They change only with
 * the version in their tags. TALLY_GOLDEN_WRITE=1 writes the file. */
static void golden_words_stay(void **state) {
    (void)state;
    const bool writes = getenv("TALLY_GOLDEN_WRITE") != NULL;
    FILE *file = fopen(TALLY_WORDS_GOLDEN, writes ? "w" : "r");
    assert_non_null(file);
    unsigned lines = 0;
    for (int op = 0; op < TALLY_USER; op++)
        for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                tally_desc desc = describe((tally_op)op, TALLY_REDUCE, (tally_dtype)type);
                tally_words_info info = {.struct_size = sizeof info};
                tally_accumulator *a;
                int64_t words[MOST_WORDS];
                desc.mode = (tally_mode)mode;
                if (tally_words_describe(&desc, &info) != TALLY_OK)
                    continue;
                /* What rounds has two equal elements, of which nothing rounds. */
                const bool rounds = mode == TALLY_FAST && info.rule == TALLY_WORDS_ORDERED;
                const size_t n = rounds ? 2 : 50;
                t.random = rounds ? 5 : 99;
                fill(desc.in, t.x, n, 0);
                if (rounds)
                    memcpy(t.x + tally_dtype_size(desc.in), t.x, tally_dtype_size(desc.in));
                assert_ok(tally_accumulator_create_for(&desc, &a));
                assert_ok(tally_accumulator_add(a, t.x, op == TALLY_DOT ? t.x : NULL, n));
                assert_ok(tally_accumulator_words(a, words, sizeof words));
                tally_accumulator_destroy(a);
                char name[80], read[80];
                snprintf(name, sizeof name, "%s/%s/%s/%zu", tally_op_name(desc.op), tally_dtype_name(desc.in),
                         tally_mode_name(desc.mode), info.count);
                if (writes)
                    fprintf(file, "%s", name);
                else if (fscanf(file, "%79s", read) != 1 || strcmp(read, name) != 0)
                    fail_msg("line %u of the golden words should be %s", lines + 1, name);
                for (size_t i = 0; i < info.count; i++) {
                    unsigned long long word = 0;
                    if (writes)
                        fprintf(file, " %llx", (unsigned long long)words[i]);
                    else if (fscanf(file, "%llx", &word) != 1 || (int64_t)word != words[i])
                        fail_msg("%s: word %zu is %llx, not %llx", name, i, (unsigned long long)words[i], word);
                }
                if (writes)
                    fputc('\n', file);
                lines++;
            }
    fclose(file);
    assert_in_range(lines, 300, 1000);
}

/* ---- refusals ---- */

static void damaged_words_are_refused(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_dtype in;
        tally_mode mode;
    } kinds[] = {{TALLY_SUM, TALLY_F32, TALLY_EXACT},  {TALLY_DOT, TALLY_F64, TALLY_EXACT},
                 {TALLY_MEAN, TALLY_I64, TALLY_EXACT}, {TALLY_SUM, TALLY_I32, TALLY_FAST},
                 {TALLY_MIN, TALLY_F64, TALLY_EXACT},  {TALLY_MINMAX, TALLY_U8, TALLY_FAST},
                 {TALLY_VAR, TALLY_F32, TALLY_FAST},   {TALLY_ARGMAX, TALLY_I16, TALLY_FAST}};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        tally_desc desc = describe(kinds[k].op, TALLY_REDUCE, kinds[k].in);
        tally_words_info info = {.struct_size = sizeof info};
        tally_accumulator *a;
        int64_t words[MOST_WORDS];
        desc.mode = kinds[k].mode;
        assert_ok(tally_words_describe(&desc, &info));
        assert_ok(tally_accumulator_create_for(&desc, &a));
        fill(desc.in, t.x, 100, 0);
        assert_ok(tally_accumulator_add(a, t.x, desc.op == TALLY_DOT ? t.x : NULL, 100));
        assert_ok(tally_accumulator_words(a, words, sizeof words));
        for (size_t i = 0; i < info.count; i++)
            for (int bit = 0; bit < 64; bit++) {
                words[i] ^= (int64_t)(UINT64_C(1) << bit);
                assert_fails(tally_accumulator_add_words(a, words, 8 * info.count), TALLY_BAD_STATE);
                words[i] ^= (int64_t)(UINT64_C(1) << bit);
            }
        assert_fails(tally_accumulator_add_words(a, words, 8 * info.count - 8), TALLY_BAD_STATE);
        assert_int_equal(tally_accumulator_count(a), 100);
        if (has_words(desc.op, desc.in, desc.mode, TALLY_ALL_VALUES, TALLY_WORDS_IN)) {
            unsigned char out[16];
            memset(out, POISON, sizeof out);
            words[1] ^= 4;
            desc.flags = TALLY_WORDS_IN;
            const tally_args args = arguments(words, 1, out, sizeof out);
            assert_fails(run_copied(&desc, &args, 8 * info.count), TALLY_BAD_STATE);
            assert_true(is_poison(out, sizeof out));
        }
        tally_accumulator_destroy(a);
    }
}

/* Words of as many int64s that are of another type, or were combined with such. */
static void words_of_another_kind_are_refused(void **state) {
    (void)state;
    tally_accumulator *sum, *of_halves, *min, *max;
    int64_t words[17], other[17], least[4];
    const float x[] = {1, 2};
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F32, &sum));
    assert_ok(tally_accumulator_create(TALLY_SUM, TALLY_F16, &of_halves));
    assert_ok(tally_accumulator_create(TALLY_MIN, TALLY_F32, &min));
    assert_ok(tally_accumulator_create(TALLY_MAX, TALLY_F32, &max));
    assert_ok(tally_accumulator_add(sum, x, NULL, 2));
    assert_ok(tally_accumulator_add(of_halves, x, NULL, 2));
    assert_ok(tally_accumulator_add(min, x, NULL, 2));
    assert_ok(tally_accumulator_words(of_halves, other, sizeof other));
    assert_fails(tally_accumulator_add_words(sum, other, sizeof other), TALLY_BAD_STATE);
    assert_non_null(strstr(tally_last_error(), "exact sum of f16"));
    assert_ok(tally_accumulator_words(sum, words, sizeof words));
    for (int i = 0; i < 17; i++)
        words[i] = (int64_t)((uint64_t)words[i] + (uint64_t)other[i]);
    assert_fails(tally_accumulator_add_words(sum, words, sizeof words), TALLY_BAD_STATE);
    assert_ok(tally_accumulator_words(min, least, sizeof least));
    assert_fails(tally_accumulator_add_words(max, least, sizeof least), TALLY_BAD_STATE);
    assert_non_null(strstr(tally_last_error(), "min of f32"));
    assert_fails(tally_accumulator_words(sum, words, sizeof words - 1), TALLY_OUTPUT_TOO_SMALL);
    assert_fails(tally_accumulator_words(NULL, words, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_words(sum, NULL, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_add_words(sum, NULL, sizeof words), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_merge(sum, min), TALLY_INVALID_ARGUMENT);
    tally_accumulator_destroy(sum);
    tally_accumulator_destroy(of_halves);
    tally_accumulator_destroy(min);
    tally_accumulator_destroy(max);
}

static void what_has_no_words(void **state) {
    (void)state;
    tally_words_info info = {.struct_size = sizeof info};
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    desc.flags = TALLY_WORDS_OUT;
    assert_fails(tally_supports(t.device, &desc), TALLY_UNSUPPORTED);
    desc = describe(TALLY_ARGMIN, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_LABELS;
    desc.flags = TALLY_WORDS_OUT;
    assert_fails(tally_supports(t.device, &desc), TALLY_UNSUPPORTED);
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_LABELS;
    desc.flags = TALLY_WORDS_IN;
    assert_fails(tally_supports(t.device, &desc), TALLY_UNSUPPORTED);
    desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.flags = TALLY_WORDS_OUT;
    desc.out = TALLY_F64;
    assert_fails(tally_supports(NULL, &desc), TALLY_INVALID_ARGUMENT);
    desc = describe(TALLY_PROD, TALLY_REDUCE, TALLY_F32);
    assert_fails(tally_words_describe(NULL, &info), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_words_describe(&desc, NULL), TALLY_INVALID_ARGUMENT);
    info.struct_size = 1;
    assert_fails(tally_words_describe(&desc, &info), TALLY_INVALID_ARGUMENT);
    tally_accumulator *const untouched = (tally_accumulator *)(uintptr_t)0x5eed, *a = untouched;
    assert_fails(tally_accumulator_create_for(NULL, &a), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_accumulator_create_for(&desc, NULL), TALLY_INVALID_ARGUMENT);
    desc.grouping = TALLY_KEYS;
    assert_fails(tally_accumulator_create_for(&desc, &a), TALLY_INVALID_ARGUMENT);
    assert_ptr_equal(a, untouched);
}

/* An index counts from the first element of the first accumulator; the saved form is for exact sums only. */
static void accumulators_of_other_operators(void **state) {
    (void)state;
    tally_accumulator *first, *second;
    const float x[] = {3, 1, 2}, y[] = {5, 0.5f, 0.5f};
    int64_t index = -1;
    float pair[2];
    size_t bytes = 7;
    unsigned char saved[64];
    assert_ok(tally_accumulator_create(TALLY_ARGMIN, TALLY_F32, &first));
    assert_fails(tally_accumulator_value(first, TALLY_DEFAULT, &index), TALLY_EMPTY);
    assert_ok(tally_accumulator_create(TALLY_ARGMIN, TALLY_F32, &second));
    assert_ok(tally_accumulator_add(first, x, NULL, 3));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, &index));
    assert_int_equal(index, 1);
    assert_ok(tally_accumulator_add(second, y, NULL, 3));
    assert_ok(tally_accumulator_merge(first, second));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, &index));
    assert_int_equal(index, 4);
    assert_int_equal(tally_accumulator_count(first), 6);
    assert_int_equal(tally_accumulator_saved_bytes(first), 0);
    assert_fails(tally_accumulator_save(first, saved, sizeof saved, &bytes), TALLY_UNSUPPORTED);
    assert_int_equal(bytes, 7);
    tally_accumulator_destroy(first);
    tally_accumulator_destroy(second);
    assert_ok(tally_accumulator_create(TALLY_MINMAX, TALLY_F32, &first));
    assert_ok(tally_accumulator_add(first, x, NULL, 3));
    assert_ok(tally_accumulator_value(first, TALLY_DEFAULT, pair));
    assert_true(pair[0] == 1 && pair[1] == 3);
    tally_accumulator_destroy(first);
}

int main(int argc, char **argv) {
    (void)argc;
    filters = argv + 1;
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_combine_to_the_whole),
        cmocka_unit_test(states_of_groups),
        cmocka_unit_test(runs_that_reach_over_parts_are_joined),
        cmocka_unit_test(pieces_end_in_words),
        cmocka_unit_test(pieces_resume_from_states),
        cmocka_unit_test(what_cannot_resume),
        cmocka_unit_test(golden_words_stay),
        cmocka_unit_test(damaged_words_are_refused),
        cmocka_unit_test(words_of_another_kind_are_refused),
        cmocka_unit_test(what_has_no_words),
        cmocka_unit_test(accumulators_of_other_operators),
    };
    return cmocka_run_group_tests_name("words", tests, setup, close_test_device);
}
