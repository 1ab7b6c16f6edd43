/* Shared by the tests of words: the device under test, random elements, runs on the device from and to host memory, and
 * the words of accumulators to compare with. */
#ifndef TALLY_TEST_STATES_H
#define TALLY_TEST_STATES_H

#include <math.h>

#include "support.h"

enum { MOST_PARTS = 6, MOST_COLUMNS = 5, MOST_N = 3000, MOST_WORDS = 256, ELEMENT = 8 };

typedef struct test {
    tally_device *device;
    uint64_t random;
    unsigned char x[MOST_N * MOST_COLUMNS * ELEMENT], y[MOST_N * MOST_COLUMNS * ELEMENT];
    int64_t words[MOST_PARTS * MOST_COLUMNS * MOST_WORDS];
} test;
static test t;

static uint64_t next(uint64_t below) {
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    return (t.random >> 33) % below;
}

UNUSED static int setup(void **state) {
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

/* ---- runs on the device, from and to host memory ---- */

static void *on_device(const void *from, size_t bytes) {
    void *memory;
    assert_ok(tally_alloc(t.device, bytes, &memory));
    if (bytes && from)
        assert_ok(tally_copy(t.device, memory, from, bytes));
    return memory;
}

/* An axis of rows x columns. The result, of 'bytes' bytes, stays as it was if the run fails. With an odd number of rows
 * it is misaligned on the device. */
UNUSED static tally_status run_axis(const tally_desc *desc, uint64_t rows, uint64_t columns, const void *x,
                                    const void *y, size_t in_bytes, void *out, size_t bytes) {
    tally_args args = TALLY_ARGS_INIT;
    tally_desc axis = *desc;
    axis.grouping = TALLY_AXIS;
    args.shape = (tally_shape){1, rows, columns, 0};
    void *const device_x = on_device(x, rows * columns * in_bytes);
    void *const device_y = y ? on_device(y, rows * columns * in_bytes) : NULL;
    const size_t past = 4 * (rows % 2);
    unsigned char *const device_out = on_device(NULL, bytes + past);
    assert_ok(tally_copy(t.device, device_out + past, out, bytes));
    args.x = device_x;
    args.y = device_y;
    args.out = device_out + past;
    args.out_bytes = bytes;
    const tally_status status = run_desc(t.device, &axis, &args);
    assert_ok(tally_copy(t.device, out, device_out + past, bytes));
    tally_free(t.device, device_x);
    tally_free(t.device, device_y);
    tally_free(t.device, device_out);
    return status;
}

/* A run whose arguments are in host memory. x and y have x_bytes bytes; offsets, keys and labels are int64. */
UNUSED static tally_status run_copied(const tally_desc *desc, const tally_args *args, size_t x_bytes) {
    tally_args copy = *args;
    const size_t each = sizeof(int64_t);
    const struct {
        const void **place;
        size_t bytes;
    } inputs[] = {{&copy.x, x_bytes},
                  {&copy.y, x_bytes},
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

UNUSED static bool has_words(tally_op op, tally_dtype type, tally_mode mode, tally_grouping grouping, unsigned flags) {
    tally_desc desc = describe(op, TALLY_REDUCE, type);
    desc.mode = mode;
    desc.grouping = grouping;
    desc.flags = flags;
    const tally_status status = tally_supports(t.device, &desc);
    if (status != TALLY_UNSUPPORTED)
        assert_ok(status);
    return status == TALLY_OK;
}

/* ---- results and words ---- */

/* Whether two results are the same: bit by bit, or for operators that round nearly, or both not numbers. */
UNUSED static bool agree(const void *a, const void *b, size_t bytes, tally_dtype out, bool rounds) {
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

/* The words of an accumulator of a column's rows. */
UNUSED static void words_of_column(const tally_desc *desc, uint64_t rows, uint64_t columns, uint64_t first,
                                   int64_t *words) {
    const size_t bytes = tally_dtype_size(desc->in);
    tally_accumulator *a;
    assert_ok(tally_accumulator_create_for(desc, &a));
    for (uint64_t r = 0; r < rows; r++)
        assert_ok(tally_accumulator_add(a, t.x + (first + r * columns) * bytes,
                                        desc->op == TALLY_DOT ? t.y + (first + r * columns) * bytes : NULL, 1));
    assert_ok(tally_accumulator_words(a, words, MOST_WORDS * sizeof *words));
    tally_accumulator_destroy(a);
}

UNUSED static char **filters; /* ends with NULL; none: everything */

UNUSED static bool is_chosen(const tally_desc *desc) {
    char name[80];
    snprintf(name, sizeof name, "%s/%s/%s", tally_op_name(desc->op), tally_dtype_name(desc->in),
             tally_mode_name(desc->mode));
    for (char **filter = filters; *filter; filter++)
        if (strcmp(*filter, name) == 0)
            return true;
    return !*filters;
}

#endif
