/* Exact sums on Vulkan have the CPU's bits, for numbers near the limits of a thread's levels: exponents of exactly that
 * range and of a slightly larger one, single larger ones, subnormals, infinities and NaNs, zeros. Inputs are long, so
 * that most elements are added by vectors, and short. */
#include "../api/support.h"

#include <math.h>

enum { N = 70003, NARROWEST = 28, WIDEST = 52 };

static tally_device *cpu, *gpu;

typedef struct layout {
    tally_dtype type;
    const char *name;
    unsigned bytes, stored; /* bits of the fraction */
    uint64_t fields;        /* exponents' fields are less */
} layout;
static const layout layouts[] = {{TALLY_F32, "f32", 4, 23, 255},
                                 {TALLY_BF16, "bf16", 2, 7, 255},
                                 {TALLY_F16, "f16", 2, 10, 31},
                                 {TALLY_F64, "f64", 8, 52, 2047}};

static uint64_t state;
static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

/* One of 'range' fields from 'low' on, or the largest that is finite. */
static uint64_t number(const layout *l, uint64_t low, uint64_t range) {
    const uint64_t random = random_bits(), field = low + random % range;
    const uint64_t sign = random >> 63 << (8 * l->bytes - 1), fraction = random_bits() & ((1ull << l->stored) - 1);
    return sign | (field < l->fields ? field : l->fields - 1) << l->stored | fraction;
}

typedef enum pattern {
    OF_A_RANGE,
    WITH_LARGER_ONES,
    SUBNORMAL,
    LARGEST,
    NOT_FINITE,
    INFINITE,
    MINUS_ZEROS,
    ONE_PLUS_ZERO,
    ONE_NAN,
    SMALL,
    FALLING,
    CANCELLING, /* which leaves subnormals */
    PATTERNS
} pattern;
static const char *const names[] = {
    "of a range", "with larger ones", "subnormal", "largest", "not finite", "infinite", "-0",
    "one 0",      "one NaN",          "small",     "falling", "cancelling"};

static uint64_t element(const layout *l, pattern kind, uint64_t range, size_t i, size_t n) {
    const uint64_t middle = l->fields / 2, infinity = l->fields << l->stored, minus = 1ull << (8 * l->bytes - 1);
    switch (kind) {
    case OF_A_RANGE:
        return number(l, middle > range ? middle - range : 0, range);
    case WITH_LARGER_ONES:
        return number(l, i % 7001 == 7000 ? middle + middle / 2 : middle - 8, 8);
    case SUBNORMAL:
        return number(l, 0, 1);
    case LARGEST:
        return number(l, l->fields - 1, 1);
    case NOT_FINITE:
        return i == n / 2 ? infinity | 1 : i == n / 3 ? infinity : number(l, middle, 4);
    case INFINITE:
        return i == n / 2 ? infinity | minus : number(l, middle, 4);
    case MINUS_ZEROS:
        return minus;
    case ONE_PLUS_ZERO:
        return i == n / 2 ? 0 : minus;
    case ONE_NAN:
        return i == n / 2 ? infinity | 1 : 0;
    case SMALL:
        return number(l, 0, range);
    case FALLING:
        return number(l, l->fields - 1 - i * (l->fields - 1) / n, 1);
    default:
        if (i % 502 == 500)
            return number(l, 0, 1) & ~minus;
        if (i % 502 == 501 || i + 1 == n)
            return minus;
        return (middle << l->stored) + i / 2 % 100 + (i % 2 ? minus : 0);
    }
}

static uint64_t sum_on(tally_device *device, const layout *l, const void *x, size_t n) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    uint64_t sum = 0;
    char *memory;
    desc.mode = TALLY_EXACT;
    desc.in = l->type;
    desc.out = l->type;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_alloc(device, 16 + n * l->bytes, (void **)&memory));
    assert_ok(tally_copy(device, memory + 16, x, n * l->bytes));
    args.shape.extent = n;
    args.x = memory + 16;
    args.out = memory;
    args.out_bytes = l->bytes;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(device, &sum, memory, l->bytes));
    tally_free(device, memory);
    tally_plan_destroy(plan);
    return sum;
}

static void sums_are_the_cpus(void **unused) {
    static const size_t lengths[] = {N, 333};
    static uint64_t x[N];
    (void)unused;
    for (size_t k = 0; k < COUNT_OF(layouts); k++)
        for (int kind = 0; kind < PATTERNS; kind++)
            for (uint64_t range = NARROWEST; range < (kind ? NARROWEST + 1 : WIDEST); range++) {
                const layout *l = &layouts[k];
                const size_t n = lengths[((uint64_t)kind + range) % 5 == 0];
                state = 88172645463325252ull + 1000 * (uint64_t)kind + range;
                for (size_t i = 0; i < n; i++) {
                    const uint64_t bits = element(l, (pattern)kind, range, i, n);
                    memcpy((char *)x + i * l->bytes, &bits, l->bytes); /* little-endian, as GPUs are */
                }
                const uint64_t expected = sum_on(cpu, l, x, n), found = sum_on(gpu, l, x, n);
                if (found != expected)
                    fail_msg("%zu %s of %s, range %d: %llx and not %llx", n, names[kind], l->name, (int)range,
                             (unsigned long long)found, (unsigned long long)expected);
            }
}

static size_t round_up(size_t bytes) {
    return (bytes + 15) / 16 * 16;
}

static void reduce_segments(tally_device *device, tally_op op, tally_dtype type, const void *x, const uint32_t *offsets,
                            uint32_t segments, void *out) {
    const size_t bytes = tally_dtype_size(type), of_x = round_up(offsets[segments] * bytes),
                 of_offsets = round_up((segments + 1) * sizeof *offsets);
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan;
    char *memory;
    desc.op = op;
    desc.mode = TALLY_EXACT;
    desc.in = desc.out = type;
    desc.grouping = TALLY_SEGMENTS;
    desc.index = TALLY_U32;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_alloc(device, of_x + of_offsets + segments * bytes, (void **)&memory));
    assert_ok(tally_copy(device, memory, x, offsets[segments] * bytes));
    assert_ok(tally_copy(device, memory + of_x, offsets, (segments + 1) * sizeof *offsets));
    args.shape.extent = offsets[segments];
    args.shape.groups = segments;
    args.x = memory;
    args.offsets = memory + of_x;
    args.out = memory + of_x + of_offsets;
    args.out_bytes = segments * bytes;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    assert_ok(tally_copy(device, out, args.out, args.out_bytes));
    tally_free(device, memory);
    tally_plan_destroy(plan);
}

/* Many segments of one element and then some of these lengths, on both devices. */
enum { SHORT = 20000, LENGTHS = 12 };
static void compare_segments(tally_op op, tally_dtype type, const void *x, const uint32_t *lengths, uint32_t count) {
    static uint32_t offsets[SHORT + LENGTHS + 1];
    static char expected[(SHORT + LENGTHS) * sizeof(double)], found[sizeof expected];
    const size_t bytes = tally_dtype_size(type);
    for (uint32_t i = 0; i <= SHORT; i++)
        offsets[i] = i;
    for (uint32_t i = 0; i < count; i++)
        offsets[SHORT + i + 1] = offsets[SHORT + i] + lengths[i];
    reduce_segments(cpu, op, type, x, offsets, SHORT + count, expected);
    reduce_segments(gpu, op, type, x, offsets, SHORT + count, found);
    for (uint32_t i = 0; i < SHORT + count; i++)
        if (memcmp(expected + i * bytes, found + i * bytes, bytes) != 0)
            fail_msg("%s of %s, segment %u of %u elements", tally_op_name(op), tally_dtype_name(type), i,
                     offsets[i + 1] - offsets[i]);
}

/* A long segment among so many short ones that few threads share it, on a GPU: each counts units as often as they fit,
 * of numbers that are as large as a window placed for the first ones takes. */
static void few_threads_add_many_numbers(void **unused) {
    enum { FIRST = 400, MOST = 136000 };
    static float small[SHORT + MOST];
    static double large[SHORT + MOST];
    const uint32_t some = SHORT, many = MOST;
    (void)unused;
    for (uint32_t i = 0; i < SHORT + MOST; i++) {
        small[i] = i < SHORT + FIRST ? 1 : 15.999999F;
        large[i] = i < SHORT + FIRST ? 1 : 15.999999999999998;
    }
    compare_segments(TALLY_SUM, TALLY_F32, small, &some, 1);
    compare_segments(TALLY_SUM, TALLY_F64, large, &many, 1);
}

/* Segments that teams leave to whole workgroups, in one piece or several, of numbers that no level takes. These need
 * several rounds of a loop each, and a device in software ends loops that are longer than some rounds. */
static void long_segments_of_all_sizes(void **unused) {
    enum { GREAT = 1100000, MOST = SHORT + GREAT + 16 };
    static const uint32_t lengths[LENGTHS] = {70000, 0, 5, 20000, 4097, 4096, 1025, 1024, 0, 16384, 16385, 3};
    static const uint32_t great[] = {1, GREAT, 2};
    static double x[MOST];
    static float small[MOST / 4];
    (void)unused;
    state = 88172645463325252ull;
    for (uint32_t i = 0; i < MOST; i++) {
        const uint64_t bits = number(&layouts[3], 0, layouts[3].fields);
        memcpy(&x[i], &bits, sizeof x[i]);
    }
    compare_segments(TALLY_SUM, TALLY_F64, x, great, COUNT_OF(great));
    compare_segments(TALLY_VAR, TALLY_F64, x, lengths, LENGTHS);
    for (uint32_t i = 0; i < COUNT_OF(small); i++) {
        const uint64_t bits = random_bits();
        small[i] = ldexpf((float)(bits >> 40) * 0x1p-24F - 0.5F, (int)(bits % 41) - 20);
    }
    compare_segments(TALLY_SUM, TALLY_F32, small, lengths, LENGTHS);
    compare_segments(TALLY_SUMSQ, TALLY_F32, small, lengths, LENGTHS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_the_cpus),
                                       cmocka_unit_test(few_threads_add_many_numbers),
                                       cmocka_unit_test(long_segments_of_all_sizes)};
    if (tally_open("vulkan:0", &gpu) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    const int failed = cmocka_run_group_tests_name("levels of exact sums on Vulkan", tests, NULL, NULL);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
