/* A call on the CPU needs at most 256 KiB of a thread's stack, whatever it computes. The calls run on a stack that was
 * filled with a pattern beforehand; the bytes that lost the pattern were used. */
#include "support.h"

#include <pthread.h>

enum { N = 70000, GROUP = 700, STACK_BYTES = 1 << 20, PROMISED = 256 << 10, PAINT = 0xa5 };

static unsigned char *stack;
static uint64_t x[N], out[2 * N], keys_out[N];
static int64_t offsets[N / GROUP + 1], keys[N];

typedef struct job {
    tally_device *device;
    tally_desc desc;
} job;

/* Refusals are calls, too. */
static void *compute(void *argument) {
    job *j = argument;
    tally_args args = arguments(x, N, out, sizeof out);
    if (j->desc.op == TALLY_DOT)
        args.y = x;
    args.offsets = j->desc.grouping == TALLY_SEGMENTS ? offsets : NULL;
    args.keys = j->desc.grouping == TALLY_KEYS ? keys : NULL;
    args.keys_out = j->desc.grouping == TALLY_KEYS && j->desc.form == TALLY_REDUCE ? keys_out : NULL;
    args.keys_out_bytes = args.keys_out ? sizeof keys_out : 0;
    if (j->desc.grouping == TALLY_AXIS)
        args.shape = (tally_shape){1, GROUP, N / GROUP, 0};
    if (j->desc.grouping == TALLY_SEGMENTS)
        args.shape.groups = N / GROUP;
    if (j->desc.grouping == TALLY_LABELS) {
        args.labels = keys; /* below N / 50 */
        args.shape.groups = N;
    }
    run_desc(j->device, &j->desc, &args);
    return NULL;
}

static size_t stack_used(job *j) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t unused = 0;
    memset(stack, PAINT, STACK_BYTES);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, compute, j), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (unused < STACK_BYTES && stack[unused] == PAINT)
        unused++;
    return STACK_BYTES - unused;
}

static void every_computation(void **state) {
    size_t most = 0;
    for (int op = 0; op < TALLY_USER; op++)
        for (int type = TALLY_I8; type < TALLY_DTYPE_COUNT; type++)
            for (int grouping = 0; grouping < TALLY_GROUPING_COUNT; grouping++)
                for (int form = 0; form < TALLY_EXCLUSIVE_SCAN; form++)
                    for (int mode = 0; mode < TALLY_MODE_COUNT; mode++) {
                        job j = {*state, describe((tally_op)op, (tally_form)form, (tally_dtype)type)};
                        j.desc.grouping = (tally_grouping)grouping;
                        j.desc.mode = (tally_mode)mode;
                        const size_t used = stack_used(&j);
                        if (used > PROMISED)
                            fail_msg("%s of %s, %s, %s, %s: %zu bytes of stack", tally_op_name(j.desc.op),
                                     tally_dtype_name(j.desc.in), tally_grouping_name(j.desc.grouping),
                                     tally_form_name(j.desc.form), tally_mode_name(j.desc.mode), used);
                        most = used > most ? used : most;
                    }
    printf("at most %zu bytes of stack\n", most);
    assert_true(most > 4096); /* else the pattern shows nothing */
}

static int setup(void **state) {
    for (int k = 0; k < N; k++) {
        x[k] = (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15); /* of all exponents, for the slowest path of exact sums */
        keys[k] = k / 50;
    }
    for (int g = 0; g <= N / GROUP; g++)
        offsets[g] = (int64_t)g * GROUP;
    stack = aligned_alloc(4096, STACK_BYTES);
    return stack ? open_test_device(state) : -1;
}

static int teardown(void **state) {
    free(stack);
    return close_test_device(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_computation)};
    return cmocka_run_group_tests_name("small stacks", tests, setup, teardown);
}
