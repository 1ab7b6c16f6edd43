/* What random_texts.py's programs begin with: they compare an operator's functions in C++ with its texts on a device.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "tally/tally.h"

typedef unsigned long long u64;

template <class A, class B> static typename std::common_type<A, B>::type min(A a, B b) {
    typedef typename std::common_type<A, B>::type both;
    return (both)b < (both)a ? (both)b : (both)a;
}
template <class A, class B> static typename std::common_type<A, B>::type max(A a, B b) {
    typedef typename std::common_type<A, B>::type both;
    return (both)a < (both)b ? (both)b : (both)a;
}
static unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

enum { ROWS = 2, COLUMNS = 150, ELEMENTS = ROWS * COLUMNS };
static tally_device *device;
static int checked, wrong;

static void must(tally_status status) {
    if (status != TALLY_OK) {
        std::printf("%s\n", tally_last_error());
        std::exit(1);
    }
}

static void open_device(const char *spec) {
    must(tally_open(spec, &device));
}

static int report() {
    std::printf("%d operators, %d wrong\n", checked, wrong);
    return wrong != 0;
}

/* Scans of columns of two: each result is of the identity, the first element and, if it is the second one, that. */
static void run(int seed, const char *const texts[5], size_t acc_bytes, const int *x, u64 *out) {
    tally_user_op op = {};
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    void *memory;
    op.struct_size = sizeof op;
    op.acc_bytes = acc_bytes;
    op.acc_source = texts[0];
    op.identity_source = texts[1];
    op.lift_source = texts[2];
    op.combine_source = texts[3];
    op.lower_source = texts[4];
    desc.op = TALLY_USER;
    desc.in = TALLY_I32;
    desc.out = TALLY_U64;
    desc.user = &op;
    desc.grouping = TALLY_AXIS;
    desc.form = TALLY_INCLUSIVE_SCAN;
    if (tally_plan_create(device, &desc, &plan) != TALLY_OK) {
        std::printf("seed %d: %s\n", seed, tally_last_error());
        wrong++;
        return;
    }
    must(tally_alloc(device, ELEMENTS * (sizeof *x + sizeof *out), &memory));
    args.shape.outer = 1;
    args.shape.extent = ROWS;
    args.shape.inner = COLUMNS;
    args.out = memory;
    args.out_bytes = ELEMENTS * sizeof *out;
    args.x = (char *)memory + args.out_bytes;
    must(tally_copy(device, (char *)memory + args.out_bytes, x, ELEMENTS * sizeof *x));
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    must(tally_copy(device, out, memory, ELEMENTS * sizeof *out));
    tally_plan_destroy(plan);
    tally_free(device, memory);
}

template <class acc_t>
static void check(int seed, const char *const texts[5], acc_t (*identity)(), acc_t (*lift)(int, u64),
                  acc_t (*combine)(acc_t, acc_t), u64 (*lower)(acc_t, u64)) {
    static int x[ELEMENTS];
    static u64 out[ELEMENTS];
    unsigned random = (unsigned)seed * 2654435761u + 12345;
    for (int i = 0; i < ELEMENTS; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (int)random >> i % 29;
    }
    checked++;
    run(seed, texts, sizeof(acc_t), x, out);
    for (int j = 0; j < COLUMNS; j++) {
        acc_t acc = identity();
        for (int i = 0; i < ROWS; i++) {
            acc = combine(acc, lift(x[i * COLUMNS + j], (u64)i));
            const u64 expected = lower(acc, (u64)i + 1), found = out[i * COLUMNS + j];
            if (found != expected) {
                std::printf("seed %d: row %d, column %d: %llx, not %llx\n", seed, i, j, found, expected);
                wrong++;
                return;
            }
        }
    }
}
