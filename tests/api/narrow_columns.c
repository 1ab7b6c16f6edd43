/* Columns that fill no vector, of any number of rows and in groups of any number, give what each of them gives alone:
 * every operator and type, inputs that begin at any element and end where memory ends. */
#include "support.h"

enum { MOST = 12000, ROUNDS = 6 };

static uint64_t state_of_random = 1;

static uint64_t random_below(uint64_t n) {
    state_of_random = state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state_of_random >> 33) % n;
}

/* A number up to 'most' whose digits are as many as any other's. */
static uint64_t random_size(uint64_t most) {
    uint64_t limit = 2;
    while (limit < most && random_below(4))
        limit *= 2;
    return 1 + random_below(limit < most ? limit : most);
}

/* Small whole numbers, of which no operator's result is rounded but those of divisions and roots; some are not numbers.
 */
static void fill(tally_dtype type, size_t n, unsigned char *x) {
    for (size_t i = 0; i < n; i++) {
        const int64_t value = (int64_t)random_below(5) -
                              (type == TALLY_U8 || type == TALLY_U16 || type == TALLY_U32 || type == TALLY_U64 ? 0 : 2);
        const bool is_nan = random_below(40) == 0;
        const float f = is_nan ? __builtin_nanf("") : (float)value;
        const double d = (double)f;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        static const uint16_t halves[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
        const uint16_t half = is_nan ? 0x7e00 : halves[value + 2 > 4 ? 4 : value + 2], bfloat = (uint16_t)(bits >> 16);
        switch (tally_dtype_size(type)) {
        case 1:
            x[i] = (unsigned char)value;
            break;
        case 2:
            memcpy(x + 2 * i,
                   type == TALLY_F16    ? &half
                   : type == TALLY_BF16 ? &bfloat
                                        : &(uint16_t){(uint16_t)value},
                   2);
            break;
        case 4:
            memcpy(x + 4 * i, type == TALLY_F32 ? (const void *)&f : &(uint32_t){(uint32_t)value}, 4);
            break;
        default:
            memcpy(x + 8 * i, type == TALLY_F64 ? (const void *)&d : &(uint64_t){(uint64_t)value}, 8);
        }
    }
}

static void compare(tally_device *device, tally_op op, tally_dtype type, size_t misplaced) {
    tally_desc all = describe(op, TALLY_REDUCE, type), axis = all;
    axis.grouping = TALLY_AXIS;
    tally_plan *one, *many;
    if (tally_plan_create(device, &all, &one) != TALLY_OK)
        return; /* the operator does not have the type */
    assert_ok(tally_plan_create(device, &axis, &many));
    const size_t bytes = tally_dtype_size(type);
    const uint64_t inner = 2 + random_below(random_below(3) ? 8 : 70), rows = 1 + random_size(MOST / inner - 1),
                   outer = random_size(MOST / inner / rows), n = outer * rows * inner;
    static unsigned char out[MOST * 32], expected[32];
    unsigned char *x = malloc((n + misplaced) * bytes), *y = malloc((n + misplaced) * bytes);
    unsigned char *own_x = malloc(rows * bytes), *own_y = malloc(rows * bytes);
    fill(type, n + misplaced, x);
    fill(type, n + misplaced, y);
    tally_desc complete;
    size_t elements;
    assert_ok(tally_plan_describe(many, &complete, &elements));
    const size_t result = elements * tally_dtype_size(complete.out);
    tally_args args = arguments(x + misplaced * bytes, rows, out, outer * inner * result);
    args.y = op == TALLY_DOT ? y + misplaced * bytes : NULL;
    args.shape.outer = outer;
    args.shape.inner = inner;
    assert_ok(tally_run(many, &args, NULL));
    for (uint64_t g = 0; g < outer * inner; g++) {
        for (uint64_t r = 0; r < rows; r++) {
            const size_t at = misplaced + (size_t)((g / inner * rows + r) * inner + g % inner);
            memcpy(own_x + r * bytes, x + at * bytes, bytes);
            memcpy(own_y + r * bytes, y + at * bytes, bytes);
        }
        tally_args own = arguments(own_x, rows, expected, result);
        own.y = op == TALLY_DOT ? own_y : NULL;
        assert_ok(tally_run(one, &own, NULL));
        if (memcmp(out + g * result, expected, result) != 0)
            fail_msg("%s of %s: column %llu of %llu x %llu x %llu differs", tally_op_name(op), tally_dtype_name(type),
                     (unsigned long long)g, (unsigned long long)outer, (unsigned long long)rows,
                     (unsigned long long)inner);
    }
    free(x);
    free(y);
    free(own_x);
    free(own_y);
    tally_plan_destroy(one);
    tally_plan_destroy(many);
}

/* Sums of rounded terms may depend on their order, and products of many may overflow on the way. */
static bool rounds_terms(tally_op op) {
    return op == TALLY_VAR || op == TALLY_STD || op == TALLY_LOGSUMEXP || op == TALLY_SKEWNESS ||
           op == TALLY_KURTOSIS || op == TALLY_USER || op == TALLY_PROD;
}

static void give_what_each_gives_alone(void **state) {
    for (int op = 0; op < TALLY_OP_COUNT; op++)
        for (int type = TALLY_DEFAULT + 1; type < TALLY_DTYPE_COUNT; type++)
            for (int round = 0; !rounds_terms((tally_op)op) && round < ROUNDS; round++)
                compare(*state, (tally_op)op, (tally_dtype)type, random_below(4));
}

int main(void) {
    if (device_is_missing())
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(give_what_each_gives_alone),
    };
    return cmocka_run_group_tests_name("narrow columns", tests, open_test_device, close_test_device);
}
