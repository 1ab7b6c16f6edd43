/* Scans of integers of 1 and 2 bytes, whose results have their width, give what the plainest loop gives: every
 * operator, form, direction and grouping, from any address to any other or in place, with an initial value or without
 * one. Arrays end where their memory does, so the address sanitizer sees what is read or written behind them.
 * TALLY_TEST_SEED replays a round. */
#include "support.h"

#include <inttypes.h>

#include "../oracle/random.h"

enum { ROUNDS = 3000, MOST = 1 << 19, MISPLACED = 70 };

static const tally_dtype types[] = {TALLY_I8, TALLY_U8, TALLY_I16, TALLY_U16};
static const tally_op ops[] = {TALLY_SUM,  TALLY_MIN,      TALLY_MAX,   TALLY_BAND,  TALLY_BOR, TALLY_BXOR,
                               TALLY_PROD, TALLY_NORM_INF, TALLY_NORM1, TALLY_SUMSQ, TALLY_ANY, TALLY_ALL};

typedef struct scan_case {
    tally_op op;
    tally_dtype type;
    bool reverse, exclusive, in_place;
    const int64_t *initial; /* NULL: none */
    size_t n;
    uint64_t outer, extent, inner;
} scan_case;

static int64_t offsets[MOST + 2];
static int32_t keys[MOST];
static uint32_t group_of[MOST];
static int64_t value_of[MOST];

static bool is_truth(tally_op op) {
    return op == TALLY_ANY || op == TALLY_ALL;
}

static size_t bytes_of(tally_dtype type) {
    return tally_dtype_size(type);
}

static int64_t wrapped(int64_t value, tally_dtype type) {
    return type == TALLY_I8    ? (int8_t)value
           : type == TALLY_U8  ? (uint8_t)value
           : type == TALLY_I16 ? (int16_t)value
                               : (uint16_t)value;
}

static int64_t read_one(const unsigned char *x, size_t i, tally_dtype type) {
    uint8_t narrow = 0;
    uint16_t wide = 0;
    if (bytes_of(type) == 1)
        memcpy(&narrow, x + i, 1);
    else
        memcpy(&wide, x + 2 * i, 2);
    return wrapped(bytes_of(type) == 1 ? narrow : wide, type);
}

static void write_one(unsigned char *x, size_t i, int64_t value, tally_dtype type) {
    const uint8_t narrow = (uint8_t)value;
    const uint16_t wide = (uint16_t)value;
    if (bytes_of(type) == 1)
        memcpy(x + i, &narrow, 1);
    else
        memcpy(x + 2 * i, &wide, 2);
}

static int64_t identity(tally_op op, tally_dtype type) {
    const bool is_signed = type == TALLY_I8 || type == TALLY_I16;
    const int64_t ones = bytes_of(type) == 1 ? 0xff : 0xffff;
    switch (op) {
    case TALLY_MIN:
        return is_signed ? ones / 2 : ones;
    case TALLY_MAX:
        return is_signed ? -ones / 2 - 1 : 0;
    case TALLY_BAND:
        return wrapped(ones, type);
    case TALLY_PROD:
    case TALLY_ALL:
        return 1;
    default:
        return 0;
    }
}

static int64_t combine(tally_op op, int64_t a, int64_t x) {
    const int64_t magnitude = x < 0 ? -x : x;
    switch (op) {
    case TALLY_SUM:
        return a + x;
    case TALLY_NORM1:
        return a + magnitude;
    case TALLY_SUMSQ:
        return a + x * x;
    case TALLY_PROD:
        return a * x;
    case TALLY_MIN:
        return x < a ? x : a;
    case TALLY_MAX:
        return x > a ? x : a;
    case TALLY_NORM_INF:
        return magnitude > a ? magnitude : a;
    case TALLY_BAND:
        return a & x;
    case TALLY_BOR:
        return a | x;
    case TALLY_BXOR:
        return a ^ x;
    case TALLY_ANY:
        return a || x;
    default:
        return a && x;
    }
}

/* Compares the results of the columns of consecutive groups: element i belongs to group_of[i], and its neighbour in the
 * group lies 'inner' elements further on. */
static void compare(const scan_case *s, tally_dtype out_type, const unsigned char *out, uint64_t seed) {
    static int64_t running[MOST];
    const size_t rows = s->n / s->inner;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < s->inner; j++) {
            const size_t row = s->reverse ? rows - 1 - r : r, i = row * s->inner + j;
            const size_t before = s->reverse ? i + s->inner : i - s->inner;
            if (r == 0 || group_of[i] != group_of[before])
                running[j] = s->initial ? *s->initial : identity(s->op, out_type);
            const int64_t was = running[j];
            running[j] = wrapped(combine(s->op, running[j], value_of[i]), out_type);
            const int64_t expected = s->exclusive ? was : running[j], got = read_one(out, i, out_type);
            if (got != expected)
                fail_msg("TALLY_TEST_SEED=%" PRIu64 ": %s of %s%s%s%s%s, %zu of %zu (%" PRIu64 " x %" PRIu64
                         " x %" PRIu64 "): %" PRId64 " instead of %" PRId64,
                         seed, tally_op_name(s->op), tally_dtype_name(s->type), s->exclusive ? ", exclusive" : "",
                         s->reverse ? ", reverse" : "", s->in_place ? ", in place" : "", s->initial ? ", initial" : "",
                         i, s->n, s->outer, s->extent, s->inner, got, expected);
        }
}

static uint64_t one_of_any_size(uint64_t *random, uint64_t most) {
    const uint64_t size = (uint64_t)1 << random_below(random, 20);
    const uint64_t one = 1 + random_below(random, size);
    return one < most ? one : most;
}

/* Groups of consecutive elements, of random lengths; returns how many. */
static uint64_t cut(uint64_t *random, size_t n, bool may_be_empty) {
    const uint64_t most = one_of_any_size(random, n + 1);
    uint64_t groups = 0;
    for (size_t at = 0; at < n;) {
        uint64_t length = random_below(random, most) + !may_be_empty;
        length = length == 0 && random_below(random, 8) ? 1 : length;
        offsets[groups] = (int64_t)at;
        for (uint64_t k = 0; k < length && at < n; k++, at++) {
            group_of[at] = (uint32_t)groups;
            keys[at] = (int32_t)(groups % 3);
        }
        if (groups++ == MOST)
            break;
    }
    offsets[groups] = (int64_t)n;
    return groups;
}

static void check_round(tally_device *device, uint64_t seed) {
    uint64_t random = seed_of(31, seed);
    scan_case s = {.op = ops[random_below(&random, COUNT_OF(ops))],
                   .type = types[random_below(&random, COUNT_OF(types))],
                   .reverse = random_below(&random, 2),
                   .exclusive = random_below(&random, 2),
                   .in_place = random_below(&random, 3) == 0,
                   .outer = 1,
                   .inner = 1};
    tally_desc desc = describe(s.op, s.exclusive ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, s.type);
    desc.grouping =
        (tally_grouping[]){TALLY_ALL_VALUES, TALLY_AXIS, TALLY_SEGMENTS, TALLY_KEYS}[random_below(&random, 4)];
    desc.flags = s.reverse ? TALLY_REVERSE : 0;
    if (s.op == TALLY_SUM || s.op == TALLY_PROD || s.op == TALLY_NORM1 || s.op == TALLY_SUMSQ)
        desc.out = s.type;
    s.n = one_of_any_size(&random, MOST);
    uint64_t groups = 0;
    if (desc.grouping == TALLY_AXIS) {
        s.inner = random_below(&random, 2) ? one_of_any_size(&random, s.n) : 1;
        s.extent = one_of_any_size(&random, s.n / s.inner);
        s.outer = s.n / s.inner / s.extent;
        s.n = s.outer * s.extent * s.inner;
    } else if (desc.grouping != TALLY_ALL_VALUES) {
        groups = cut(&random, s.n, desc.grouping == TALLY_SEGMENTS);
    }
    for (size_t i = 0; i < s.n && desc.grouping <= TALLY_AXIS; i++)
        group_of[i] = desc.grouping == TALLY_AXIS ? (uint32_t)(i / (s.extent * s.inner)) : 0;
    desc.index = desc.grouping == TALLY_SEGMENTS ? TALLY_I64 : desc.grouping == TALLY_KEYS ? TALLY_I32 : TALLY_DEFAULT;

    tally_plan *plan;
    size_t elements;
    tally_desc told = desc;
    assert_ok(tally_plan_create(device, &desc, &plan));
    assert_ok(tally_plan_describe(plan, &told, &elements));
    s.in_place = s.in_place && bytes_of(told.out) == bytes_of(s.type);
    const size_t bytes = bytes_of(s.type), out_bytes = bytes_of(told.out);
    const size_t x_at = bytes * random_below(&random, MISPLACED), out_at = out_bytes * random_below(&random, MISPLACED);
    unsigned char *const x_memory = malloc(x_at + s.n * bytes), *const out_memory = malloc(out_at + s.n * out_bytes);
    assert_non_null(x_memory);
    assert_non_null(out_memory);
    unsigned char *const x = x_memory + x_at, *const out = s.in_place ? x : out_memory + out_at;
    memset(out_memory, POISON, out_at + s.n * out_bytes);
    const unsigned rare = random_below(&random, 2) ? 1 : 1 + (unsigned)random_below(&random, s.n),
                   most_bits = 1 + (unsigned)random_below(&random, 16);
    for (size_t i = 0; i < s.n; i++) {
        const int64_t usual = s.op == TALLY_ALL || s.op == TALLY_PROD ? 1 : s.op == TALLY_BAND ? -1 : 0;
        const int64_t value =
            (int64_t)(random_bits(&random) >> (64 - most_bits)) - (random_below(&random, 2) ? 1 << (most_bits - 1) : 0);
        value_of[i] = wrapped(rare == 1 || random_below(&random, rare) == 0 ? value : usual, s.type);
        write_one(x, i, value_of[i], s.type);
    }
    const bool takes_initial = s.op != TALLY_NORM_INF && s.op != TALLY_NORM1 && s.op != TALLY_SUMSQ && !is_truth(s.op);
    const int64_t initial = wrapped((int64_t)random_bits(&random), told.out);
    unsigned char initial_bytes[2];
    write_one(initial_bytes, 0, initial, told.out);
    tally_args args = arguments(x, s.n, out, s.n * out_bytes);
    if (takes_initial && random_below(&random, 2)) {
        s.initial = &initial;
        args.initial = initial_bytes;
    }
    if (desc.grouping == TALLY_AXIS) {
        args.shape.outer = s.outer;
        args.shape.extent = s.extent;
        args.shape.inner = s.inner;
    }
    args.shape.groups = desc.grouping == TALLY_SEGMENTS ? groups : 0;
    args.offsets = desc.grouping == TALLY_SEGMENTS ? offsets : NULL;
    args.keys = desc.grouping == TALLY_KEYS ? keys : NULL;
    assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    compare(&s, told.out, out, seed);
    assert_true(is_poison(out_memory, out_at));
    free(x_memory);
    free(out_memory);
}

static void narrow_integers_are_scanned_as_one_by_one(void **state) {
    const char *const replay = getenv("TALLY_TEST_SEED");
    const uint64_t first = replay ? strtoull(replay, NULL, 0) : 1;
    for (uint64_t seed = first; seed < first + (replay ? 1 : ROUNDS); seed++)
        check_round(*state, seed);
}

/* Results of more than 8 MiB go past the caches, those in place do not. */
static void long_scans_are_those_in_place(void **state) {
    enum { BYTES = 9000000 };
    static const struct {
        uint64_t extent, inner;
    } shapes[] = {{BYTES, 1}, {30, 1}, {100, 1}, {1000, 3}, {1000, 90}, {200, 7000}};
    unsigned char *const x = malloc(BYTES + 1), *const out = malloc(BYTES + 3);
    assert_non_null(x);
    assert_non_null(out);
    uint64_t random = 11;
    for (size_t k = 0; k < COUNT_OF(shapes); k++)
        for (int how = 0; how < 8; how++) {
            const tally_dtype type = how & 1 ? TALLY_I16 : TALLY_U8;
            tally_desc desc = describe((tally_op[]){TALLY_SUM, TALLY_MIN, TALLY_BXOR, TALLY_BOR}[(k + (size_t)how) % 4],
                                       how & 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, type);
            desc.grouping = TALLY_AXIS;
            desc.flags = how & 4 ? TALLY_REVERSE : 0;
            desc.out = type;
            const size_t n = BYTES / bytes_of(type);
            const uint64_t extent = shapes[k].inner == 1 && k == 0 ? n : shapes[k].extent;
            for (size_t i = 0; i + 8 <= BYTES; i += 8)
                memcpy(x + 1 + i, &(uint64_t){random_bits(&random)}, 8);
            tally_args args = arguments(x + 1, 0, out + 3, BYTES);
            args.shape.extent = extent;
            args.shape.inner = shapes[k].inner;
            args.shape.outer = n / (extent * shapes[k].inner);
            const size_t bytes = args.shape.outer * extent * shapes[k].inner * bytes_of(type);
            assert_ok(run_desc(*state, &desc, &args));
            args.out = x + 1;
            assert_ok(run_desc(*state, &desc, &args));
            if (memcmp(x + 1, out + 3, bytes) != 0)
                fail_msg("%s of %s, extent %" PRIu64 ", inner %" PRIu64 ": in place others", tally_op_name(desc.op),
                         tally_dtype_name(type), extent, shapes[k].inner);
        }
    free(x);
    free(out);
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_integers_are_scanned_as_one_by_one),
        cmocka_unit_test(long_scans_are_those_in_place),
    };
    return cmocka_run_group_tests_name("narrow scans", tests, open_test_device, close_test_device);
}
