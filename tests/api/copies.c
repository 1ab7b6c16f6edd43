/* The extremum of one element is that element, so a reduction along an axis of one is a copy: it is right at every
 * length, wherever input and output lie to each other within a page. A norm is not: a NaN loses its sign and payload as
 * in longer groups. */
#include "support.h"

enum { PAGE = 4096, MOST = 5003 };

static void extrema_of_one_element_are_copies(void **state) {
    static const size_t lengths[] = {0, 1, 31, 64, 2047, 2048, 2049, 2111, 2112, MOST};
    static uint8_t memory[4 * PAGE + 2 * MOST], expected[sizeof memory];
    tally_desc desc = describe(TALLY_MAX, TALLY_REDUCE, TALLY_U8);
    desc.grouping = TALLY_AXIS;
    tally_plan *plan;
    assert_ok(tally_plan_create(*state, &desc, &plan));
    for (size_t behind = 0; behind <= 33; behind++)
        for (size_t k = 0; k < COUNT_OF(lengths); k++) {
            const size_t from = 7, to = from + 2 * PAGE + behind, n = lengths[k];
            for (size_t i = 0; i < sizeof memory; i++)
                memory[i] = (uint8_t)(i * 31 + i / 251);
            memcpy(expected, memory, sizeof memory);
            memcpy(expected + to, memory + from, n);
            tally_args args = arguments(memory + from, 1, memory + to, n);
            args.shape.inner = n;
            assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
            if (memcmp(memory, expected, sizeof memory) != 0)
                fail_msg("%zu bytes, %zu behind: not copied right", n, behind);
        }
    tally_plan_destroy(plan);
}

static void norms_of_one_nan_have_neither_sign_nor_payload(void **state) {
    enum { COUNT = 67, BITS_OF_ONE = 0x3f800000, BITS_OF_NAN = 0x7fc00000 };
    tally_desc desc = describe(TALLY_NORM2, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_AXIS;
    tally_plan *plan;
    assert_ok(tally_plan_create(*state, &desc, &plan));
    for (size_t nan = 0; nan < COUNT; nan++) {
        uint32_t x[COUNT], norms[COUNT];
        for (size_t i = 0; i < COUNT; i++)
            x[i] = i == nan ? UINT32_C(0xffc12345) : i % 2 ? BITS_OF_ONE : UINT32_C(0x80000000) | BITS_OF_ONE;
        tally_args args = arguments(x, 1, norms, sizeof norms);
        args.shape.inner = COUNT;
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(norms[i], i == nan ? BITS_OF_NAN : BITS_OF_ONE);
    }
    tally_plan_destroy(plan);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(extrema_of_one_element_are_copies),
                                       cmocka_unit_test(norms_of_one_nan_have_neither_sign_nor_payload)};
    return cmocka_run_group_tests(tests, open_test_device, close_test_device);
}
