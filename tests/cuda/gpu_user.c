/* A user's operator as texts runs on the GPU with the results of its functions on the CPU, and a text that does not
 * compile gives the compiler's words about it. Every grouping and form is in the conformance suite's part "user". */
#include "gpu.h"

/* x -> a x + b modulo 2^32, composed from left to right: it does not commute. */
typedef struct affine {
    uint32_t a, b;
} affine;

static void identity(void *context, void *acc) {
    (void)context;
    *(affine *)acc = (affine){1, 0};
}
static void lift(void *context, const void *x, uint64_t index, void *acc) {
    (void)context, (void)index;
    uint32_t value;
    memcpy(&value, x, sizeof value);
    *(affine *)acc = (affine){2 * value + 1, value};
}
static void combine(void *context, const void *left, const void *right, void *acc) {
    (void)context;
    const affine l = *(const affine *)left, r = *(const affine *)right;
    *(affine *)acc = (affine){l.a * r.a, l.b * r.a + r.b};
}
static void lower(void *context, const void *acc, uint64_t count, void *out) {
    (void)context;
    const affine *a = acc;
    const uint64_t value = ((uint64_t)a->a << 32 | a->b) + count;
    memcpy(out, &value, sizeof value);
}

static tally_user_op operator_of_texts(void) {
    return (tally_user_op){.struct_size = sizeof(tally_user_op),
                           .name = "affine",
                           .acc_bytes = sizeof(affine),
                           .identity = identity,
                           .lift = lift,
                           .combine = combine,
                           .lower = lower,
                           .acc_source = "struct acc_t { unsigned a, b; };",
                           .identity_source = "acc_t{1, 0}",
                           .lift_source = "acc_t{2 * x + 1, x}",
                           .combine_source = "acc_t{left.a * right.a, left.b * right.a + right.b}",
                           .lower_source = "((unsigned long long)acc.a << 32 | acc.b) + count"};
}

static tally_desc desc_of(const tally_user_op *op, tally_form form) {
    tally_desc desc = describe(TALLY_USER, form, TALLY_U32);
    desc.out = TALLY_U64;
    desc.user = op;
    return desc;
}

enum { N = 1000003 };
static uint32_t values[N];
static uint64_t expected[N], found[N];

static void texts_give_what_the_functions_give(void **state) {
    (void)state;
    uint64_t random = 5;
    for (size_t i = 0; i < N; i++)
        values[i] = (uint32_t)random_bits(&random);
    const tally_user_op op = operator_of_texts();
    void *x = upload(values, sizeof values), *out = room(sizeof found);
    for (int form = TALLY_REDUCE; form <= TALLY_EXCLUSIVE_SCAN; form++) {
        const tally_desc desc = desc_of(&op, (tally_form)form);
        const size_t bytes = form == TALLY_REDUCE ? 8 : sizeof found;
        tally_args args = arguments(values, N, expected, bytes);
        assert_ok(run_desc(cpu, &desc, &args));
        args.x = x;
        args.out = out;
        assert_ok(run_desc(gpu, &desc, &args));
        assert_ok(tally_copy(gpu, found, out, bytes));
        assert_memory_equal(found, expected, bytes);
    }
    tally_free(gpu, x);
    tally_free(gpu, out);
}

static void assert_refused(const tally_user_op *op, tally_status expected_status, const char *first,
                           const char *second) {
    const tally_desc desc = desc_of(op, TALLY_REDUCE);
    tally_plan *plan = NULL;
    assert_fails(tally_plan_create(gpu, &desc, &plan), expected_status);
    assert_null(plan);
    if (!strstr(tally_last_error(), first) || !strstr(tally_last_error(), second))
        fail_msg("the message lacks '%s' or '%s': %s", first, second, tally_last_error());
}

static void a_wrong_text_is_shown_with_the_compilers_words(void **state) {
    (void)state;
    tally_user_op op = operator_of_texts();
    op.lift_source = "acc_t{2 * x + unknown_name, x}";
    assert_refused(&op, TALLY_INVALID_ARGUMENT, "lift(1)", "unknown_name");
    op = operator_of_texts();
    op.combine_source = "acc_t{left.a * right.a,\n left.b * right.a + right.c}";
    assert_refused(&op, TALLY_INVALID_ARGUMENT, "combine(2)", "\"c\"");
    op = operator_of_texts();
    op.acc_source = "struct acc_t { unsigned a, b, c[8]; };";
    assert_refused(&op, TALLY_INVALID_ARGUMENT, "larger than acc_bytes", "static");
    op = operator_of_texts();
    op.lower_source = NULL;
    assert_refused(&op, TALLY_UNSUPPORTED, "lower_source", "five source texts");
    texts_give_what_the_functions_give(state); /* and the next one works */
}

int main(void) {
    const int code = open_devices();
    if (code)
        return close_devices(code);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_give_what_the_functions_give),
        cmocka_unit_test(a_wrong_text_is_shown_with_the_compilers_words),
    };
    return close_devices(cmocka_run_group_tests_name("a user's operator on a GPU", tests, NULL, NULL));
}
