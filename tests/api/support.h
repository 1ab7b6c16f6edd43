/* Shared by the tests of calls and properties: cmocka with the headers it needs, the device under test, and one call
 * that makes a plan, runs it and destroys it. The device is TALLY_TEST_DEVICE, or the CPU with two threads. Data is in
 * host memory unless a test says otherwise, so these tests run on devices that can read it. */
#ifndef TALLY_TEST_SUPPORT_H
#define TALLY_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tally/tally.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define UNUSED          __attribute__((unused))

UNUSED static const char *test_device_spec(void) {
    const char *spec = getenv("TALLY_TEST_DEVICE");
    return spec ? spec : "cpu:threads=2";
}

/* Tests exit with 77, skipped, where the device is not there: if (device_is_missing()) return 77; */
UNUSED static bool device_is_missing(void) {
    tally_device *device;
    tally_status status = tally_open(test_device_spec(), &device);
    if (status == TALLY_OK)
        tally_close(device);
    if (status == TALLY_NO_DEVICE)
        printf("skipped: %s\n", tally_last_error());
    return status == TALLY_NO_DEVICE;
}

/* For cmocka's setup and teardown: *state is the device. */
UNUSED static int open_test_device(void **state) {
    return tally_open(test_device_spec(), (tally_device **)state) == TALLY_OK ? 0 : -1;
}

UNUSED static int close_test_device(void **state) {
    tally_close(*state);
    return 0;
}

/* Compares a status and prints the library's message if it is another. */
#define assert_status(call, expected)                                                                                  \
    do {                                                                                                               \
        tally_status status_ = (call);                                                                                 \
        if (status_ != (expected))                                                                                     \
            fail_msg("%s: %s instead of %s: %s", #call, tally_status_name(status_), tally_status_name(expected),       \
                     tally_last_error());                                                                              \
    } while (0)
#define assert_ok(call) assert_status(call, TALLY_OK)

/* Sets a last error of the thread that no call under test has, so that a failure without a message is found. */
UNUSED static void forget_last_error(void) {
    tally_dtype none;
    tally_dtype_from_name("forgotten", &none);
}

#define assert_says_something()                                                                                        \
    do {                                                                                                               \
        if (strlen(tally_last_error()) <= 10 || strstr(tally_last_error(), "'forgotten'"))                             \
            fail_msg("a failure without a word of its own");                                                           \
    } while (0)

/* A failure must also say something. */
#define assert_fails(call, expected)                                                                                   \
    do {                                                                                                               \
        forget_last_error();                                                                                           \
        assert_status(call, expected);                                                                                 \
        assert_says_something();                                                                                       \
    } while (0)

UNUSED static tally_desc describe(tally_op op, tally_form form, tally_dtype in) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = op;
    desc.form = form;
    desc.in = in;
    return desc;
}

UNUSED static tally_args arguments(const void *x, uint64_t n, void *out, size_t out_bytes) {
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = n;
    args.x = x;
    args.out = out;
    args.out_bytes = out_bytes;
    return args;
}

/* The status of the plan's creation, or of its run. */
UNUSED static tally_status run_desc(tally_device *device, const tally_desc *desc, const tally_args *args) {
    tally_plan *plan;
    tally_status status = tally_plan_create(device, desc, &plan);
    if (status != TALLY_OK)
        return status;
    status = tally_run(plan, args, TALLY_SYNCHRONOUS);
    tally_plan_destroy(plan);
    return status;
}

enum { POISON = 0xb9 };

UNUSED static bool is_poison(const void *memory, size_t bytes) {
    for (size_t k = 0; k < bytes; k++)
        if (((const unsigned char *)memory)[k] != POISON)
            return false;
    return true;
}

#endif
