/* Offsets that decrease or pass the end of the values give TALLY_BAD_OFFSETS, wherever they are. If they are checked
 * beforehand, outputs are untouched; if they are checked while running, nothing out of bounds is read or written (the
 * values and the output lie next to pages that may not be touched). */
#include "support.h"

#include "fence.h"

enum { SEGMENTS = 5000, N = 20000, RESULT_BYTES = N * 16 };
static float x[N];
static unsigned char poison[RESULT_BYTES];

static int setup(void **state) {
    for (int k = 0; k < N; k++)
        x[k] = (float)(k % 7);
    memset(poison, POISON, sizeof poison);
    return open_test_device(state);
}

static void store(tally_dtype type, unsigned char *memory, size_t at, int64_t value) {
    const size_t size = tally_dtype_size(type);
    const int32_t four = (int32_t)value;
    const int16_t two = (int16_t)value;
    const int8_t one = (int8_t)value;
    memcpy(memory + at * size,
           size == 8   ? (const void *)&value
           : size == 4 ? (const void *)&four
           : size == 2 ? (const void *)&two
                       : &one,
           size);
}

typedef struct damage {
    const char *name;
    size_t at;
    int64_t value;
} damage;

static void expect_bad(tally_device *device, const tally_desc *desc, const damage *d, uint64_t segments) {
    static unsigned char offsets[(SEGMENTS + 1) * 8];
    for (size_t g = 0; g <= segments; g++)
        store(desc->index, offsets, g, (int64_t)(g * N / segments));
    store(desc->index, offsets, d->at, d->value);
    size_t index_bytes = (segments + 1) * tally_dtype_size(desc->index);
    size_t results = desc->form == TALLY_REDUCE ? segments : N;
    fenced fx, fo, fout;
    tally_plan *plan;
    size_t per_result;
    tally_desc full = TALLY_DESC_INIT;
    assert_ok(tally_plan_create(device, desc, &plan));
    assert_ok(tally_plan_describe(plan, &full, &per_result));
    size_t out_bytes = results * per_result * tally_dtype_size(full.out);
    assert_true(out_bytes <= RESULT_BYTES);
    for (int before = 0; before < 2; before++) {
        unsigned char *out = fence(&fout, poison, out_bytes, before);
        tally_args args = arguments(fence(&fx, x, sizeof x, before), N, out, out_bytes);
        args.shape.groups = segments;
        args.offsets = fence(&fo, offsets, index_bytes, before);
        forget_last_error();
        tally_status status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
        if (status != TALLY_BAD_OFFSETS)
            fail_msg("%s, %s %s of %s offsets gave %s", d->name, tally_op_name(desc->op), tally_form_name(desc->form),
                     tally_dtype_name(desc->index), tally_status_name(status));
        assert_says_something();
        if (!(desc->flags & TALLY_CHECK_WHILE_RUNNING) && !is_poison(out, out_bytes))
            fail_msg("%s: the output was touched", d->name);
        unfence(&fx);
        unfence(&fo);
        unfence(&fout);
    }
    tally_plan_destroy(plan);
}

static void wherever_they_stand(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_ARGMIN, TALLY_VAR};
    static const tally_dtype types[] = {TALLY_I32, TALLY_I64, TALLY_U32, TALLY_U64};
    static const damage damages[] = {{"past the end, last", SEGMENTS, N + 1},
                                     {"far past the end, last", SEGMENTS, 0x7fffffff},
                                     {"past the end, first", 0, N + 1},
                                     {"past the end, middle", 2500, N + 7},
                                     {"decreasing at the start", 1, 1000},
                                     {"decreasing in the middle", 2500, 0},
                                     {"decreasing at the end", SEGMENTS, 3},
                                     {"negative or huge, first", 0, -1},
                                     {"negative or huge, middle", 1234, -5},
                                     {"negative or huge, where a vector begins", 1600, -5},
                                     {"lowest", 4000, INT64_MIN}};
    for (size_t o = 0; o < COUNT_OF(ops); o++)
        for (int form = 0; form < TALLY_FORM_COUNT; form++)
            for (size_t t = 0; t < COUNT_OF(types); t++)
                for (size_t d = 0; d < COUNT_OF(damages); d++)
                    for (unsigned flags = 0; flags <= TALLY_CHECK_WHILE_RUNNING; flags++) {
                        tally_desc desc = describe(ops[o], (tally_form)form, TALLY_F32);
                        desc.grouping = TALLY_SEGMENTS;
                        desc.index = types[t];
                        desc.flags = flags;
                        if (form == TALLY_EXCLUSIVE_SCAN && (ops[o] == TALLY_ARGMIN || ops[o] == TALLY_VAR))
                            continue;
                        if (damages[d].value == INT64_MIN && tally_dtype_size(types[t]) == 4)
                            continue;
                        expect_bad(*state, &desc, &damages[d], SEGMENTS);
                    }
}

static void in_exact_mode(void **state) {
    static const damage d = {"decreasing in the middle", 2500, 0};
    for (unsigned flags = 0; flags <= TALLY_CHECK_WHILE_RUNNING; flags++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.grouping = TALLY_SEGMENTS;
        desc.index = TALLY_I64;
        desc.mode = TALLY_EXACT;
        desc.flags = flags;
        expect_bad(*state, &desc, &d, SEGMENTS);
    }
}

static void of_a_single_segment(void **state) {
    static const damage damages[] = {{"past the end", 1, N + 1}, {"negative", 0, -1}, {"decreasing", 0, N + 1}};
    for (size_t d = 0; d < COUNT_OF(damages); d++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        desc.grouping = TALLY_SEGMENTS;
        desc.index = TALLY_I64;
        expect_bad(*state, &desc, &damages[d], 1);
    }
}

static void of_no_values_at_all(void **state) {
    int64_t offsets[] = {0, 1};
    float out = 5;
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_SEGMENTS;
    tally_args args = arguments(NULL, 0, &out, sizeof out);
    args.shape.groups = 1;
    args.offsets = offsets;
    assert_fails(run_desc(*state, &desc, &args), TALLY_BAD_OFFSETS);
    assert_true(out == 5);
    /* No segment, and one offset that passes the end. */
    args.shape.groups = 0;
    args.offsets = &offsets[1];
    assert_fails(run_desc(*state, &desc, &args), TALLY_BAD_OFFSETS);
}

static void checked_while_running_good_ones_work(void **state) {
    static int32_t offsets[SEGMENTS + 1];
    static float out[SEGMENTS], checked[SEGMENTS];
    for (int g = 0; g <= SEGMENTS; g++)
        offsets[g] = (int32_t)((int64_t)g * N / SEGMENTS);
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_SEGMENTS;
    desc.index = TALLY_I32;
    tally_args args = arguments(x, N, out, sizeof out);
    args.shape.groups = SEGMENTS;
    args.offsets = offsets;
    assert_ok(run_desc(*state, &desc, &args));
    desc.flags = TALLY_CHECK_WHILE_RUNNING;
    args.out = checked;
    assert_ok(run_desc(*state, &desc, &args));
    assert_memory_equal(out, checked, sizeof out);
    assert_true(out[0] == 0 + 1 + 2 + 3);
}

/* The CPU quotes the offset; a GPU names only the segment. */
static void the_message_has_the_offset_of_its_type(void **state) {
    (void)state;
    static const struct {
        tally_dtype type;
        const char *told;
    } cases[] = {
        {TALLY_I32, " -1"}, {TALLY_I64, " -1"}, {TALLY_U32, " 4294967295"}, {TALLY_U64, " 18446744073709551615"}};
    tally_device *cpu;
    assert_ok(tally_open("cpu", &cpu));
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        for (size_t at = 0; at < 3; at++) {
            unsigned char offsets[3 * 8];
            float out[2];
            for (size_t g = 0; g < 3; g++)
                store(cases[k].type, offsets, g, g == at ? -1 : (int64_t)g);
            tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
            desc.grouping = TALLY_SEGMENTS;
            desc.index = cases[k].type;
            tally_args args = arguments(x, N, out, sizeof out);
            args.offsets = offsets;
            args.shape.groups = 2;
            assert_fails(run_desc(cpu, &desc, &args), TALLY_BAD_OFFSETS);
            if (!strstr(tally_last_error(), cases[k].told))
                fail_msg("no%s in: %s", cases[k].told, tally_last_error());
        }
    tally_close(cpu);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_they_stand),
        cmocka_unit_test(in_exact_mode),
        cmocka_unit_test(of_a_single_segment),
        cmocka_unit_test(of_no_values_at_all),
        cmocka_unit_test(checked_while_running_good_ones_work),
        cmocka_unit_test(the_message_has_the_offset_of_its_type),
    };
    return cmocka_run_group_tests_name("bad offsets", tests, setup, close_test_device);
}
