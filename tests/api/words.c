/* States in words combine, by their rule, to the result of the whole input: for every operator, type and mode, for
 * parts of any lengths, empty ones among them, by elementwise additions and maxima, by plans that take words, and by
 * accumulators; and in every grouping.
 *
 * usage: words [OPERATOR/TYPE/MODE...]   of every operator, or of these, where each takes long to compile. By groups
 * there are some operators of f64 */
#include "states.h"

static struct {
    int count;
    uint64_t rows[MOST_PARTS]; /* of each part */
    int64_t joined[MOST_COLUMNS * MOST_WORDS];
} parts;
/* ---- every operator ---- */

static void cut(uint64_t rows) {
    parts.count = 1 + (int)next(MOST_PARTS);
    for (int p = 0; p < parts.count; p++) {
        parts.rows[p] = p == parts.count - 1 ? rows : next(3) == 0 ? 0 : next(rows + 1);
        rows -= parts.rows[p];
    }
}

static void combine_elementwise(const tally_words_info *info, uint64_t columns) {
    const size_t count = columns * info->count;
    for (size_t i = 0; i < count; i++) {
        int64_t word = info->nothing;
        for (int p = 0; p < parts.count; p++) {
            const int64_t other = t.words[(size_t)p * count + i];
            word = info->rule == TALLY_WORDS_ADD ? (int64_t)((uint64_t)word + (uint64_t)other)
                   : other > word                ? other
                                                 : word;
        }
        parts.joined[i] = word;
    }
}

/* An accumulator of column 0, to which the parts' words are added. */
static void check_accumulator(const tally_desc *desc, const tally_words_info *info, uint64_t columns,
                              const void *expected, size_t bytes, bool rounds) {
    tally_accumulator *sum;
    unsigned char value[16];
    const tally_status status = tally_accumulator_create_for(desc, &sum);
    assert_ok(status);
    for (int p = 0; p < parts.count; p++)
        assert_ok(tally_accumulator_add_words(sum, t.words + (size_t)p * columns * info->count, 8 * info->count));
    assert_ok(tally_accumulator_value(sum, TALLY_DEFAULT, value));
    tally_desc described = TALLY_DESC_INIT;
    tally_plan *plan;
    assert_ok(tally_plan_create(t.device, desc, &plan));
    assert_ok(tally_plan_describe(plan, &described, NULL));
    tally_plan_destroy(plan);
    if (!agree(expected, value, bytes, described.out, rounds))
        fail_msg("%s of %s, %s: accumulators of words give another value", tally_op_name(desc->op),
                 tally_dtype_name(desc->in), tally_mode_name(desc->mode));
    tally_accumulator_destroy(sum);
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
    tally_desc out = *plain, in = *plain, described = TALLY_DESC_INIT;
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
    for (int p = 0; p < parts.count; p++) {
        words_of_part(plain, gives, &info, parts.rows[p], columns, done, t.words + (size_t)p * columns * info.count);
        done += parts.rows[p];
    }
    const bool rounds =
        tally_dtype_size(described.out) && described.out >= TALLY_F16 && info.rule == TALLY_WORDS_ORDERED;
    const bool by_value = rounds || (plain->mode == TALLY_FAST && info.rule == TALLY_WORDS_MAX);
    const char *const what = tally_op_name(plain->op), *const type = tally_dtype_name(plain->in);
    assert_int_equal(
        run_axis(&in, (uint64_t)parts.count, columns, t.words, NULL, info.count * 8, got, columns * result), status);
    if (!agree(expected, got, columns * result, described.out, by_value))
        fail_msg("%s of %s, %s: states combined by a plan give another result", what, type,
                 tally_mode_name(plain->mode));
    if (info.rule == TALLY_WORDS_ORDERED) {
        tally_desc both = *plain;
        both.flags = TALLY_WORDS_IN | TALLY_WORDS_OUT;
        assert_ok(
            run_axis(&both, (uint64_t)parts.count, columns, t.words, NULL, info.count * 8, parts.joined, part_bytes));
    } else {
        combine_elementwise(&info, columns);
    }
    unsigned char again[MOST_COLUMNS * 16] = {0};
    assert_int_equal(run_axis(&in, 1, columns, parts.joined, NULL, info.count * 8, again, columns * result), status);
    if (memcmp(got, again, columns * result) != 0)
        fail_msg("%s of %s, %s: words combined by their rule give another result", what, type,
                 tally_mode_name(plain->mode));
    if (status == TALLY_OK)
        check_accumulator(plain, &info, columns, expected, result, by_value);
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

/* ---- groupings ---- */

enum { GROUPS = 40 };

/* The states of segments, keys and labels, some of them empty, are turned into values one by one. */
static void states_of_groups(void **state) {
    (void)state;
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_MEAN, TALLY_VAR, TALLY_ARGMIN, TALLY_ALL, TALLY_MINMAX};
    static const tally_grouping groupings[] = {TALLY_SEGMENTS, TALLY_KEYS, TALLY_LABELS};
    static double x[MOST_N];
    static int64_t offsets[GROUPS + 1], of_element[MOST_N], count;
    unsigned checked = 0;
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (size_t g = 0; g < COUNT_OF(groupings); g++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                const tally_grouping grouping = groupings[g];
                tally_desc desc = describe(ops[o], TALLY_REDUCE, TALLY_F64);
                desc.mode = (tally_mode)mode;
                if (!is_chosen(&desc) || !has_words(ops[o], TALLY_F64, desc.mode, grouping, TALLY_WORDS_OUT))
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
                checked++;
            }
    printf("%u combinations\n", checked);
    assert_in_range(checked, 1, UINT32_MAX);
}

/* Any bits, in groups of which one is long, for every operator and type: where nothing rounds, states are those of
 * accumulators. */
static void words_of_groups_are_those_of_accumulators(void **state) {
    (void)state;
    enum { N = 1500, OF_BITS = 12 };
    static const tally_grouping groupings[] = {TALLY_SEGMENTS, TALLY_KEYS, TALLY_LABELS};
    static int64_t offsets[OF_BITS + 1], of_element[N], words[OF_BITS * MOST_WORDS], own[MOST_WORDS];
    unsigned checked = 0;
    for (int op = 0; op < TALLY_USER; op++)
        for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++)
                for (size_t g = 0; g < COUNT_OF(groupings); g++) {
                    tally_desc desc = describe((tally_op)op, TALLY_REDUCE, (tally_dtype)type), out = desc;
                    tally_words_info info = {.struct_size = sizeof info};
                    desc.mode = out.mode = (tally_mode)mode;
                    out.grouping = groupings[g];
                    out.flags = TALLY_WORDS_OUT;
                    if (!is_chosen(&desc) || !has_words(desc.op, desc.in, desc.mode, out.grouping, out.flags))
                        continue;
                    assert_ok(tally_words_describe(&desc, &info));
                    const bool sums = op >= TALLY_SUMSQ && info.rule == TALLY_WORDS_ORDERED;
                    if (mode == TALLY_FAST && (type >= TALLY_F16 || sums))
                        continue;
                    const size_t bytes = tally_dtype_size(desc.in);
                    for (int i = 0; i < OF_BITS; i++) {
                        offsets[i + 1] = i == OF_BITS - 1 ? N : offsets[i] + (i == 4 ? 900 : 1 + (int64_t)next(50));
                        /* Infinities without a NaN, too. */
                        fill(desc.in, t.x + (size_t)offsets[i] * bytes, (size_t)(offsets[i + 1] - offsets[i]),
                             i == 4 ? 40 : (unsigned)i % 3);
                        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++)
                            of_element[k] = i;
                    }
                    fill(desc.in, t.y, N, 9);
                    tally_args args = arguments(t.x, N, words, OF_BITS * info.count * sizeof *words);
                    args.y = op == TALLY_DOT ? t.y : NULL;
                    args.shape.groups = OF_BITS;
                    args.offsets = offsets;
                    args.keys = args.labels = of_element;
                    assert_ok(run_copied(&out, &args, N * bytes));
                    for (size_t i = 0; i < OF_BITS; i++) {
                        words_of_column(&desc, (uint64_t)(offsets[i + 1] - offsets[i]), 1, (uint64_t)offsets[i], own);
                        if (memcmp(own, words + i * info.count, info.count * sizeof *own) != 0)
                            fail_msg("%s of %s by %s, %s: group %zu has other words than an accumulator",
                                     tally_op_name(desc.op), tally_dtype_name(desc.in),
                                     tally_grouping_name(out.grouping), tally_mode_name(desc.mode), i);
                    }
                    checked++;
                }
    printf("%u combinations\n", checked);
    assert_in_range(checked, 1, UINT32_MAX);
}

/* States of short stretches, combined by segments, by keys and by labels to values and to states, are those of the
 * stretches together. One group is long, some are empty where they may be. A damaged state is refused, and nothing is
 * written. */
enum { STRETCHES = 600, COMBINED = 20 };

typedef struct combining {
    int64_t short_offsets[STRETCHES + 1]; /* of the stretches, in elements */
    int64_t offsets[COMBINED + 1];        /* of the groups, in stretches */
    int64_t long_offsets[COMBINED + 1];   /* the same in elements */
    int64_t of_stretch[STRETCHES];        /* its group */
} combining;

static void cut_to_combine(combining *c, bool may_be_empty) {
    for (int i = 1; i <= STRETCHES; i++)
        c->short_offsets[i] = i == STRETCHES ? MOST_N : c->short_offsets[i - 1] + 1 + (int64_t)next(4);
    for (int g = 1; g <= COMBINED; g++) {
        c->offsets[g] = g == COMBINED                  ? STRETCHES
                        : g == COMBINED / 2            ? c->offsets[g - 1] + 300
                        : may_be_empty && next(4) == 0 ? c->offsets[g - 1]
                                                       : c->offsets[g - 1] + 1 + (int64_t)next(12);
        for (int64_t k = c->offsets[g - 1]; k < c->offsets[g]; k++)
            c->of_stretch[k] = g - 1;
    }
    for (int g = 0; g <= COMBINED; g++)
        c->long_offsets[g] = c->short_offsets[c->offsets[g]];
}

/* The states in another order, with their groups' numbers: those of a group stay in theirs. */
static void mix(const combining *cut, size_t count, const int64_t *words, int64_t *mixed, int64_t *labels) {
    int64_t at[COMBINED];
    memcpy(at, cut->offsets, sizeof at);
    for (int i = 0; i < STRETCHES; i++) {
        uint64_t g = next(COMBINED);
        while (at[g] == cut->offsets[g + 1])
            g = (g + 1) % COMBINED;
        labels[i] = (int64_t)g;
        memcpy(mixed + (size_t)i * count, words + (size_t)at[g]++ * count, count * sizeof *words);
    }
}

static void combine_by(const tally_desc *plain, tally_grouping grouping, const combining *cut, bool rounds) {
    static double x[MOST_N], expected[2 * COMBINED], got[2 * COMBINED];
    static int64_t labels[STRETCHES], words[STRETCHES * MOST_WORDS], mixed[STRETCHES * MOST_WORDS];
    static int64_t joined[COMBINED * MOST_WORDS], damaged[STRETCHES * MOST_WORDS];
    tally_words_info info = {.struct_size = sizeof info};
    assert_ok(tally_words_describe(plain, &info));
    fill(TALLY_F64, x, MOST_N, 0);
    memset(expected, 0, sizeof expected);
    memset(got, 0, sizeof got);
    tally_desc desc = *plain;
    desc.grouping = TALLY_SEGMENTS;
    tally_args whole = arguments(x, MOST_N, expected, sizeof expected);
    whole.shape.groups = COMBINED;
    whole.offsets = cut->long_offsets;
    assert_ok(run_copied(&desc, &whole, sizeof x));
    desc.flags = TALLY_WORDS_OUT;
    tally_args stretches = arguments(x, MOST_N, words, STRETCHES * info.count * 8);
    stretches.shape.groups = STRETCHES;
    stretches.offsets = cut->short_offsets;
    assert_ok(run_copied(&desc, &stretches, sizeof x));

    uint64_t runs = COMBINED;
    desc.grouping = grouping;
    desc.flags = TALLY_WORDS_IN;
    mix(cut, info.count, words, mixed, labels);
    const int64_t *const states = grouping == TALLY_LABELS ? mixed : words;
    tally_args join = arguments(states, STRETCHES, got, sizeof got);
    join.shape.groups = COMBINED;
    join.offsets = cut->offsets;
    join.keys = cut->of_stretch;
    join.labels = labels;
    join.count = &runs;
    assert_ok(run_copied(&desc, &join, STRETCHES * info.count * 8));
    assert_int_equal(runs, COMBINED);
    const char *const what = tally_op_name(plain->op), *const by = tally_grouping_name(grouping);
    if (!agree(expected, got, sizeof got, TALLY_F64, rounds))
        fail_msg("%s: states combined by %s to values, %s", what, by, tally_mode_name(plain->mode));

    desc.flags = TALLY_WORDS_IN | TALLY_WORDS_OUT;
    join.out = joined;
    join.out_bytes = COMBINED * info.count * 8;
    assert_ok(run_copied(&desc, &join, STRETCHES * info.count * 8));
    desc.flags = TALLY_WORDS_IN;
    desc.grouping = TALLY_AXIS;
    tally_args values = arguments(joined, 1, got, sizeof got);
    values.shape.inner = COMBINED;
    assert_ok(run_copied(&desc, &values, COMBINED * info.count * 8));
    if (!agree(expected, got, sizeof got, TALLY_F64, rounds))
        fail_msg("%s: states combined by %s to states, %s", what, by, tally_mode_name(plain->mode));

    desc.grouping = grouping;
    memcpy(damaged, states, STRETCHES * info.count * 8);
    damaged[333 * info.count + 1] ^= 4;
    memset(got, 77, sizeof got);
    memcpy(expected, got, sizeof got);
    join.x = damaged;
    join.out = got;
    join.out_bytes = sizeof got;
    assert_int_equal(run_copied(&desc, &join, STRETCHES * info.count * 8), TALLY_BAD_STATE);
    assert_memory_equal(got, expected, sizeof got);
}

static void states_are_combined_by_groups(void **state) {
    (void)state;
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_MEAN, TALLY_VAR, TALLY_ARGMIN, TALLY_ALL, TALLY_MINMAX};
    static const tally_grouping groupings[] = {TALLY_SEGMENTS, TALLY_KEYS, TALLY_LABELS};
    unsigned checked = 0;
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (size_t g = 0; g < COUNT_OF(groupings); g++)
            for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                static combining cut;
                tally_desc desc = describe(ops[o], TALLY_REDUCE, TALLY_F64);
                tally_words_info info = {.struct_size = sizeof info};
                desc.mode = (tally_mode)mode;
                assert_ok(tally_words_describe(&desc, &info));
                if (!is_chosen(&desc) ||
                    !has_words(ops[o], TALLY_F64, (tally_mode)mode, groupings[g], TALLY_WORDS_IN) ||
                    !has_words(ops[o], TALLY_F64, (tally_mode)mode, TALLY_SEGMENTS, TALLY_WORDS_OUT))
                    continue;
                const bool has_value = ops[o] == TALLY_SUM || ops[o] == TALLY_ALL || ops[o] == TALLY_MEAN;
                cut_to_combine(&cut, has_value && groupings[g] != TALLY_KEYS);
                combine_by(&desc, groupings[g], &cut, mode == TALLY_FAST && info.rule == TALLY_WORDS_ORDERED);
                checked++;
            }
    printf("%u combinations\n", checked);
    assert_in_range(checked, 1, UINT32_MAX);
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

int main(int argc, char **argv) {
    (void)argc;
    filters = argv + 1;
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_combine_to_the_whole),
        cmocka_unit_test(states_of_groups),
        cmocka_unit_test(words_of_groups_are_those_of_accumulators),
        cmocka_unit_test(states_are_combined_by_groups),
        cmocka_unit_test(runs_that_reach_over_parts_are_joined),
    };
    return cmocka_run_group_tests_name("words", tests, setup, close_test_device);
}
