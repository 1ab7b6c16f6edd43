/* Exact sums on Vulkan are the CPU's, bit by bit, of numbers that lie around what a thread's levels take: exponents of
 * just as wide a range and of a bit more, single larger ones, subnormals, what is not finite, zeros. Long enough that
 * most elements are added by vectors, and short. */
#include "../api/support.h"

enum { SKIPPED = 77, N = 70003, NARROWEST = 28, WIDEST = 52 };

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

static const char *const patterns[] = {"of a range", "with larger ones", "subnormal", "few subnormals", "largest",
                                       "not finite", "infinite",         "-0",        "one 0",          "small",
                                       "falling",    "one NaN"};

static uint64_t element(const layout *l, size_t pattern, uint64_t range, size_t i, size_t n) {
    const uint64_t middle = l->fields / 2, infinity = l->fields << l->stored, minus = 1ull << (8 * l->bytes - 1);
    switch (pattern) {
    case 0:
        return number(l, middle > range ? middle - range : 0, range);
    case 1:
        return number(l, i % 7001 == 7000 ? middle + middle / 2 : middle - 8, 8);
    case 2:
        return number(l, 0, 1);
    case 3:
        return number(l, i % 501 == 7 ? 0 : middle, 1);
    case 4:
        return number(l, l->fields - 1, 1);
    case 5:
        return i == n / 2 ? infinity | 1 : i == n / 3 ? infinity : number(l, middle, 4);
    case 6:
        return i == n / 2 ? infinity | minus : number(l, middle, 4);
    case 7:
        return minus;
    case 8:
        return i == n / 2 ? 0 : minus;
    case 9:
        return number(l, 0, range);
    case 11:
        return i == n / 2 ? infinity | 1 : 0;
    default:
        return number(l, l->fields - 1 - i * (l->fields - 1) / n, 1);
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
        for (size_t pattern = 0; pattern < COUNT_OF(patterns); pattern++)
            for (uint64_t range = NARROWEST; range < (pattern ? NARROWEST + 1 : WIDEST); range++) {
                const layout *l = &layouts[k];
                const size_t n = lengths[(pattern + range) % 5 == 0];
                state = 88172645463325252ull + 1000 * pattern + range;
                for (size_t i = 0; i < n; i++) {
                    const uint64_t bits = element(l, pattern, range, i, n);
                    memcpy((char *)x + i * l->bytes, &bits, l->bytes); /* little-endian, as GPUs are */
                }
                const uint64_t expected = sum_on(cpu, l, x, n), found = sum_on(gpu, l, x, n);
                if (found != expected)
                    fail_msg("%zu %s of %s, range %d: %llx and not %llx", n, patterns[pattern], l->name, (int)range,
                             (unsigned long long)found, (unsigned long long)expected);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_the_cpus)};
    if (tally_open("vulkan:0", &gpu) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("skipped: %s\n", tally_last_error());
        return SKIPPED;
    }
    const int failed = cmocka_run_group_tests_name("levels of exact sums on Vulkan", tests, NULL, NULL);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
