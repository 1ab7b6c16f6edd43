/* A user's operator means what its texts mean in C, on every device: the C compiler compiles the texts below, too, and
 * the device must give the same bits as those functions do. Errors in a text are reported with their position. */
#include "support.h"

enum { SKIPPED = 77, N = 3000 };

typedef struct acc_t acc_t;
#undef bool /* else the texts have _Bool */
typedef _Bool bool;

/* One text that is code here and a string there. */
#define TEXT(...)     #__VA_ARGS__
#define IN_BOTH(text) TEXT(text)

/* Where GLSL and C differ: promotion to int, narrowing, wrapping, conditions that are numbers, % of negative numbers,
 * shifts, the types of constants, comparisons as numbers, arrays, nested structs, and every statement. */
#define ACCUMULATOR                                                                                                    \
    struct pair {                                                                                                      \
        short low, high;                                                                                               \
    };                                                                                                                 \
    struct acc_t {                                                                                                     \
        unsigned char bytes[3];                                                                                        \
        signed char narrow;                                                                                            \
        struct pair sums;                                                                                              \
        unsigned long long wide;                                                                                       \
        float least;                                                                                                   \
        bool any;                                                                                                      \
    };                                                                                                                 \
    static int halves(unsigned char a, unsigned char b) {                                                              \
        return (a + b) / 2;                                                                                            \
    }                                                                                                                  \
    static unsigned collatz(unsigned n) {                                                                              \
        unsigned steps = 0;                                                                                            \
        while (n > 1 && steps < 20) {                                                                                  \
            n = n & 1 ? 3 * n + 1 : n >> 1;                                                                            \
            steps++;                                                                                                   \
        }                                                                                                              \
        return steps;                                                                                                  \
    }                                                                                                                  \
    static acc_t make(int x) {                                                                                         \
        acc_t r;                                                                                                       \
        const int in = x % 1000 - 500, sample[3] = {x, x >> 3, -x};                                                    \
        r.bytes[0] = 300 + x;                                                                                          \
        r.bytes[1] = halves(x, x >> 8);                                                                                \
        r.bytes[2] = ~r.bytes[0];                                                                                      \
        r.narrow = -r.bytes[1];                                                                                        \
        r.sums.low = in % 7 + x / -9;                                                                                  \
        r.sums.high = (x > 0) + (x < 100) * 2 + !x;                                                                    \
        r.wide = x - 1ll;                                                                                              \
        r.wide ^= (unsigned long long)collatz((unsigned)x & 1023u) << 40;                                              \
        for (int k = 0, j = 2; k < 3; k++, j--) {                                                                      \
            if (k == 1)                                                                                                \
                continue;                                                                                              \
            r.wide += (unsigned)sample[k] * 0x9e3779b9 ^ (unsigned)sample[j];                                          \
        }                                                                                                              \
        r.least = (x >> 8) * 0.25f;                                                                                    \
        r.any = x & 64;                                                                                                \
        return r;                                                                                                      \
    }                                                                                                                  \
    static acc_t join(acc_t left, acc_t right) {                                                                       \
        acc_t r = left;                                                                                                \
        for (int k = 0; k < 3; ++k)                                                                                    \
            r.bytes[k] += right.bytes[k];                                                                              \
        r.narrow = left.narrow + right.narrow;                                                                         \
        r.sums.low += right.sums.low;                                                                                  \
        r.sums.high = r.sums.high ^ right.sums.high;                                                                   \
        r.wide += right.wide;                                                                                          \
        if (right.least < left.least) {                                                                                \
            r.least = right.least;                                                                                     \
        } else {                                                                                                       \
            r.least = left.least;                                                                                      \
        }                                                                                                              \
        r.any = left.any || right.any;                                                                                 \
        return r;                                                                                                      \
    }                                                                                                                  \
    static unsigned long long mixed(acc_t a) {                                                                         \
        unsigned long long h = a.wide;                                                                                 \
        for (int k = 0;; k++) {                                                                                        \
            if (k >= 3)                                                                                                \
                break;                                                                                                 \
            h = h * 31 + a.bytes[k];                                                                                   \
        }                                                                                                              \
        h = h * 31 + a.narrow;                                                                                         \
        h = h * 31 + a.sums.low;                                                                                       \
        h = h * 31 + (a.sums.high << 3) % 5;                                                                           \
        h ^= (int)a.least;                                                                                             \
        return a.any ? h : ~h;                                                                                         \
    }

ACCUMULATOR

static acc_t nothing(void) {
    acc_t r;
    memset(&r, 0, sizeof r);
    r.least = 1e9f; /* which an int holds */
    return r;
}
static void identity(void *context, void *acc) {
    (void)context;
    *(acc_t *)acc = nothing();
}
static void lift(void *context, const void *x, uint64_t index, void *acc) {
    int32_t value;
    (void)context, (void)index;
    memcpy(&value, x, sizeof value);
    *(acc_t *)acc = make(value);
}
static void combine(void *context, const void *left, const void *right, void *acc) {
    (void)context;
    *(acc_t *)acc = join(*(const acc_t *)left, *(const acc_t *)right);
}
static void lower(void *context, const void *acc, uint64_t count, void *out) {
    (void)context;
    const uint64_t value = mixed(*(const acc_t *)acc) + count;
    memcpy(out, &value, sizeof value);
}

static tally_user_op operator_of_texts(void) {
    return (tally_user_op){.struct_size = sizeof(tally_user_op),
                           .name = "everything",
                           .acc_bytes = sizeof(acc_t),
                           .commutes = 1,
                           .acc_source = IN_BOTH(ACCUMULATOR),
                           .identity_source = "acc_t{{0, 0, 0}, 0, {}, 0, 1e9f, false}",
                           .lift_source = "make(x)",
                           .combine_source = "join(left, right)",
                           .lower_source = "mixed(acc) + count"};
}

static tally_user_op operator_of_functions(void) {
    return (tally_user_op){.struct_size = sizeof(tally_user_op),
                           .name = "everything",
                           .acc_bytes = sizeof(acc_t),
                           .identity = identity,
                           .lift = lift,
                           .combine = combine,
                           .lower = lower,
                           .commutes = 1};
}

static tally_device *cpu, *device;
static bool device_is_cpu;

static tally_status run_on(tally_device *where, const tally_desc *desc, const int32_t *x, uint64_t *out) {
    const size_t results = desc->form == TALLY_REDUCE ? 1 : N;
    tally_plan *plan = NULL;
    void *memory = NULL;
    tally_args args = TALLY_ARGS_INIT;
    tally_status status = tally_alloc(where, N * 12 + 8, &memory);
    if (status == TALLY_OK)
        status = tally_copy(where, (char *)memory + N * 8, x, N * sizeof *x);
    if (status == TALLY_OK)
        status = tally_plan_create(where, desc, &plan);
    args.shape.extent = N;
    args.x = (char *)memory + N * 8;
    args.out = memory;
    args.out_bytes = results * sizeof *out;
    if (status == TALLY_OK)
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    if (status == TALLY_OK)
        status = tally_copy(where, out, memory, results * sizeof *out);
    tally_plan_destroy(plan);
    tally_free(where, memory);
    return status;
}

static tally_desc desc_of(const tally_user_op *op, tally_form form) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_USER;
    desc.form = form;
    desc.in = TALLY_I32;
    desc.out = TALLY_U64;
    desc.user = op;
    return desc;
}

static void texts_mean_what_they_mean_in_c(void **state) {
    static int32_t x[N];
    static uint64_t expected[N], found[N];
    const tally_user_op op = operator_of_texts(), functions = operator_of_functions();
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < N; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        x[i] = (int32_t)(random >> 33) >> (i % 24);
        if (i & 1)
            x[i] = -x[i];
    }
    for (int form = TALLY_REDUCE; form <= TALLY_EXCLUSIVE_SCAN; form++) {
        const tally_desc desc = desc_of(&op, (tally_form)form), in_c = desc_of(&functions, (tally_form)form);
        assert_ok(run_on(cpu, &in_c, x, expected));
        assert_ok(run_on(device, &desc, x, found));
        for (int i = 0; i < (form == TALLY_REDUCE ? 1 : N); i++)
            if (found[i] != expected[i])
                fail_msg("form %d, result %d: %llx, in C %llx", form, i, (unsigned long long)found[i],
                         (unsigned long long)expected[i]);
    }
}

/* What C++ has for these is the same. */
static void floats_are_c_s(void **state) {
    static const struct {
        const char *lower;
        double expected;
    } cases[] = {{"fmaxf(acc.a, 0.0f / (acc.a - 2.5f))", 2.5}, /* a NaN loses */
                 {"fminf(nan_of(acc.a), 1.5f)", 1.5},
                 {"isnan(nan_of(acc.a)) ? 1 : 2", 1},
                 {"0.1", 0.1}, /* a double */
                 {"0.1f", 0.1f},
                 {"1.5e+0 + .5 + 2. + 10E-1f", 5},
                 {"sqrt(acc.a * 2 - 1)", 2},
                 {"sqrtf(16)", 4},
                 {"max(3, 4) + min(7u, 5u) + abs(-2)", 11},
                 {"floor(-acc.a) + ceilf(acc.a) + fabs(-acc.a)", 2.5},
                 {"__uint_as_float(0x40490fdb) > 3 ? 1e3 : 1e-3", 1e3},
                 {"1 / 2 + 1 / 2.0", 0.5},
                 {"7 % -4 * 100 + -7 % 4", 297},
                 {"(unsigned char)(acc.a * 1000)", 196},
                 {"2147483648 > 0 && 0xffffffff > 0 && -1 < 1u ? 1 : 0", 0},
                 {"count == 1 ? 1 << 3 | 1 : 0", 9}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        tally_user_op op = operator_of_texts();
        op.acc_source = "struct acc_t { float a; }; float nan_of(float x) { return (x - x) / (x - x); }";
        op.acc_bytes = 4;
        op.identity_source = "acc_t{0}";
        op.lift_source = "acc_t{x}";
        op.combine_source = "acc_t(left.a + right.a)";
        op.lower_source = cases[k].lower;
        tally_desc desc = desc_of(&op, TALLY_REDUCE);
        tally_plan *plan = NULL;
        tally_args args = TALLY_ARGS_INIT;
        void *memory = NULL;
        const float x = 2.5f;
        double found = 0;
        desc.in = TALLY_F32;
        desc.out = TALLY_F64;
        assert_ok(tally_alloc(device, 16, &memory));
        assert_ok(tally_copy(device, memory, &x, sizeof x));
        assert_ok(tally_plan_create(device, &desc, &plan));
        args.shape.extent = 1;
        args.x = memory;
        args.out = (char *)memory + 8;
        args.out_bytes = 8;
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        assert_ok(tally_copy(device, &found, args.out, sizeof found));
        if (found != cases[k].expected)
            fail_msg("%s: %.17g, not %.17g", cases[k].lower, found, cases[k].expected);
        tally_plan_destroy(plan);
        tally_free(device, memory);
    }
}

typedef struct mistake {
    const char *acc, *combine; /* NULL: as they should be */
    tally_status expected;
    const char *said;
} mistake;

static void a_mistake_is_told_with_its_place(void **state) {
    static const char plain[] = "struct acc_t { int a; };";
    static const mistake mistakes[] = {
        {NULL, "acc_t{left.a + rigt.a}", TALLY_INVALID_ARGUMENT, "combine_source, line 1, column 16, at 'rigt'"},
        {NULL, "acc_t{left.a +\n  right.b}", TALLY_INVALID_ARGUMENT, "line 2, column 10"},
        {NULL, "acc_t{left.a + }", TALLY_INVALID_ARGUMENT, "an expression is missing"},
        {NULL, "acc_t{left.a", TALLY_INVALID_ARGUMENT, "at the end"},
        {NULL, "acc_t{left.a} right", TALLY_INVALID_ARGUMENT, "after the text's end"},
        {NULL, "left.a", TALLY_INVALID_ARGUMENT, "int, where acc_t is expected"},
        {NULL, "acc_t{left + right}", TALLY_INVALID_ARGUMENT, "a number on each side"},
        {NULL, "acc_t{1, 2}", TALLY_INVALID_ARGUMENT, "more values than members"},
        {NULL, "acc_t{unknown(1)}", TALLY_UNSUPPORTED, "no function 'unknown'"},
        {NULL, "acc_t{expensive(1)}", TALLY_UNSUPPORTED, "'expensive'"},
        {NULL, "acc_t{(int)exp(1.0)}", TALLY_UNSUPPORTED, "of a double"},
        {NULL, "acc_t{left.a++}", TALLY_INVALID_ARGUMENT, "is missing"},
        {NULL, "[&] { left.a = 1; return left; }()", TALLY_INVALID_ARGUMENT, "only a variable can be assigned to"},
        {NULL, "[&] { switch (1) {} return left; }()", TALLY_UNSUPPORTED, "statement"},
        {NULL, "acc_t{1 % 2.0f}", TALLY_INVALID_ARGUMENT, "applied to a float"},
        {NULL, "acc_t{max(left, 1)}", TALLY_INVALID_ARGUMENT, "'max' is applied to acc_t"},
        {NULL, "acc_t{09}", TALLY_INVALID_ARGUMENT, "not a number"},
        {"struct acc_t { int *a; };", NULL, TALLY_UNSUPPORTED, "acc_source, line 1, column 20, at '*': there are no"},
        {"struct other { int a; };", NULL, TALLY_INVALID_ARGUMENT, "no struct acc_t"},
        {"struct acc_t { };", NULL, TALLY_UNSUPPORTED, "without members"},
        {"struct acc_t { int a[30]; };", NULL, TALLY_UNSUPPORTED, "120 bytes"},
        {"struct acc_t { wchar_t a; };", NULL, TALLY_INVALID_ARGUMENT, "no type"},
        {"", NULL, TALLY_INVALID_ARGUMENT, "no struct acc_t"},
        {NULL, "acc_t{int{{{{left.a}}}}", TALLY_INVALID_ARGUMENT, "is missing"},
        {NULL, "[&] { break; return left; }()", TALLY_INVALID_ARGUMENT, "no loop is left"},
        {NULL, "acc_t{left.a << 1.5f}", TALLY_INVALID_ARGUMENT, "applied to a float"},
        {"void f() {} struct acc_t { int a; };", "[&] { 1 ? f() : f(); return left; }()", TALLY_INVALID_ARGUMENT,
         "void, where a value"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        tally_user_op op = operator_of_texts();
        op.acc_source = mistakes[k].acc ? mistakes[k].acc : plain;
        op.acc_bytes = 4;
        op.identity_source = "acc_t{}";
        op.lift_source = "acc_t{x}";
        op.combine_source = mistakes[k].combine ? mistakes[k].combine : "left";
        op.lower_source = "0";
        const tally_desc desc = desc_of(&op, TALLY_REDUCE);
        tally_plan *plan = NULL;
        const bool of_gpus = strstr(mistakes[k].said, "of a double") || strstr(mistakes[k].said, "120 bytes");
        if (of_gpus && device_is_cpu)
            continue;
        const tally_status status = tally_plan_create(device, &desc, &plan);
        if (status != mistakes[k].expected || !strstr(tally_last_error(), mistakes[k].said) ||
            !strstr(tally_last_error(),
                    device_is_cpu ? "user operator 'everything' on the CPU" : "user operator 'everything' on Vulkan"))
            fail_msg("%s%s: %s: %s", op.acc_source, op.combine_source, tally_status_name(status), tally_last_error());
    }
}

static void text_that_never_ends_is_refused(void **state) {
    static char deep[4000], names[400], many[40000];
    (void)state;
    memset(deep, '(', sizeof deep - 1);
    memset(names, 'n', sizeof names - 1);
    tally_user_op op = operator_of_texts();
    tally_plan *plan = NULL;
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    op.lower_source = deep;
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    memset(deep, '!', sizeof deep - 1);
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    memset(deep, '{', sizeof deep - 1);
    memcpy(deep, "int", 3);
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    strcpy(deep, "[&] { ");
    for (int k = 0; k < 500; k++)
        strcat(deep, "for(;;)"); /* statements without braces */
    op.lower_source = deep;
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    strcpy(many, "1");
    while (strlen(many) < sizeof many - 3)
        strcat(many, "+1");
    op.lower_source = many;
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    op.lower_source = names;
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
}

/* 2^31 instructions if it were done. */
static void inlined_functions_are_limited(void **state) {
    static char functions[4000] = "struct acc_t { int a; }; int f0(int x) { return x * 3 + 1; }";
    (void)state;
    for (int k = 1; k < 25; k++) {
        char next[100];
        snprintf(next, sizeof next, " int f%d(int x) { return f%d(x) ^ f%d(x + %d); }", k, k - 1, k - 1, k);
        strcat(functions, next);
    }
    tally_user_op op = operator_of_texts();
    tally_plan *plan = NULL;
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    op.acc_source = functions;
    op.identity_source = "acc_t{0}";
    op.lift_source = "acc_t{f24(x)}";
    op.combine_source = "left";
    op.lower_source = "acc.a";
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "steps"));
}

/* 2^30 calls, each of which does nothing. */
static void calls_without_steps_are_limited(void **state) {
    static char functions[4000] = "struct acc_t { int a; }; void f0() {}";
    (void)state;
    for (int k = 1; k < 31; k++) {
        char next[100];
        snprintf(next, sizeof next, " void f%d() { f%d(); f%d(); }", k, k - 1, k - 1);
        strcat(functions, next);
    }
    tally_user_op op = operator_of_texts();
    tally_plan *plan = NULL;
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    op.acc_source = functions;
    op.identity_source = "acc_t{0}";
    op.lift_source = "[&] { f30(); return acc_t{x}; }()";
    op.combine_source = "left";
    op.lower_source = "acc.a";
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "too long"));
}

/* The compiler's stack would be as deep as all functions together. */
static void nested_functions_are_limited(void **state) {
    static char functions[16000] = "struct acc_t { int a; }; int f0(int x) { return x; }";
    (void)state;
    for (int k = 1; k < 25; k++) {
        char next[100];
        snprintf(next, sizeof next, " int f%d(int x) { return f%d(x)", k, k - 1);
        strcat(functions, next);
        for (int j = 0; j < 200; j++)
            strcat(functions, "+x");
        strcat(functions, "; }");
    }
    tally_user_op op = operator_of_texts();
    tally_plan *plan = NULL;
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    op.acc_source = functions;
    op.identity_source = "acc_t{0}";
    op.lift_source = "acc_t{f24(x)}";
    op.combine_source = "left";
    op.lower_source = "acc.a";
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "nested too deeply"));
}

/* The result's type is that of the first 'return', which is looked for once. */
static void deep_return_is_found(void **state) {
    static char lower[4000] = "[&] {";
    static int32_t x[N];
    static uint64_t out[N];
    (void)state;
    for (int k = 0; k < 60; k++)
        strcat(lower, " if (acc.a < 1e9f) {");
    strcat(lower, " return 2.5f;");
    for (int k = 0; k < 60; k++)
        strcat(lower, " }");
    strcat(lower, " return 1; }()");
    tally_user_op op = operator_of_texts();
    tally_desc desc = desc_of(&op, TALLY_REDUCE);
    double found;
    desc.out = TALLY_F64;
    op.acc_source = "struct acc_t { float a; };";
    op.identity_source = "acc_t{0}";
    op.lift_source = "acc_t{(float)x}";
    op.combine_source = "acc_t{left.a + right.a}";
    op.lower_source = lower;
    assert_ok(run_on(device, &desc, x, out));
    memcpy(&found, out, sizeof found);
    if (found != 2.5)
        fail_msg("%.17g, not 2.5", found);
}

/* Whether a loop is unrolled or not: with constants alone, with the element, and in the identity, where more turns than
 * can be unrolled are refused. */
static void long_loops_are_right(void **state) {
    static const char *const loops[] = {
        "[&] { unsigned s = 1; for (unsigned k = 0; k < %uu; k++) s = s * 31u + (k ^ %s); return acc_t{s}; }()",
        "[&] { unsigned s = 1, k = 0; while (k < %uu) { s = s * 31u + (k ^ %s); k++; } return acc_t{s}; }()"};
    static const unsigned turns[] = {100, 511, 1022, 2000, 4000, 5000};
    static int32_t x[N];
    static uint64_t out[N];
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = i * 77777 - 5;
    for (size_t k = 0; k < COUNT_OF(loops) * COUNT_OF(turns) * 3; k++) {
        const char *const loop = loops[k % 2];
        const unsigned n = turns[k / 2 % COUNT_OF(turns)], which = (unsigned)(k / 2 / COUNT_OF(turns));
        const bool reads_x = which == 1, is_identity = which == 2;
        char text[200];
        snprintf(text, sizeof text, loop, n, reads_x ? "(unsigned)x" : "5u");
        tally_user_op op = operator_of_texts();
        op.acc_source = "struct acc_t { unsigned a; };";
        op.acc_bytes = 4;
        op.identity_source = is_identity ? text : "acc_t{0}";
        op.lift_source = is_identity ? "acc_t{(unsigned)x}" : text;
        op.combine_source = "acc_t{left.a + right.a}";
        op.lower_source = "acc.a";
        tally_desc desc = desc_of(&op, TALLY_EXCLUSIVE_SCAN);
        desc.out = TALLY_U32;
        if (is_identity && n > 4096) {
            tally_plan *plan = NULL;
            assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_UNSUPPORTED);
            assert_non_null(strstr(tally_last_error(), "the identity's loops have more than 4096 turns"));
            continue;
        }
        assert_ok(run_on(device, &desc, x, out));
        uint32_t expected = 0;
        for (int i = 0; i < N; i++) {
            uint32_t found, s = 1;
            for (uint32_t turn = 0; turn < n; turn++)
                s = s * 31 + (turn ^ (reads_x ? (uint32_t)x[i] : 5));
            if (is_identity && i == 0)
                expected = s;
            memcpy(&found, (const char *)out + (size_t)i * sizeof found, sizeof found);
            if (found != expected)
                fail_msg("%s: %u, not %u, at %d", text, found, expected, i);
            expected += is_identity ? (uint32_t)x[i] : s;
        }
    }
}

/* Division by zero, shifts by any number and indices out of bounds have some value. */
static void nothing_traps(void **state) {
    static const char *const lowers[] = {"acc.a / 0",
                                         "acc.a % (acc.a - acc.a)",
                                         "(-2147483647 - 1 + acc.a * 0) / -1",
                                         "(acc.a + 9000000000ll) / (acc.a - acc.a)",
                                         "acc.a << 77",
                                         "acc.a >> -1",
                                         "7u % (unsigned)(acc.a * 0)",
                                         "[&] { int v[3] = {1, 2, 3}; return v[acc.a * 1000]; }()",
                                         "[&] { int v[3] = {1, 2, 3}; v[-acc.a] = 4; v[7] = 8; return v[0]; }()"};
    static int32_t x[N];
    static uint64_t out[N];
    (void)state;
    for (size_t k = 0; k < sizeof lowers / sizeof *lowers; k++) {
        tally_user_op op = operator_of_texts();
        op.acc_source = "struct acc_t { int a; };";
        op.identity_source = "acc_t{0}";
        op.lift_source = "acc_t{x + 3}";
        op.combine_source = "acc_t{left.a + right.a}";
        op.lower_source = lowers[k];
        const tally_desc desc = desc_of(&op, TALLY_INCLUSIVE_SCAN);
        assert_ok(run_on(device, &desc, x, out));
    }
}

/* The CPU runs the functions if there are any. */
static void functions_come_first(void **state) {
    static int32_t x[N];
    static uint64_t in_c[N], found[N];
    (void)state;
    tally_user_op op = operator_of_functions();
    op.acc_source = op.identity_source = op.lift_source = op.combine_source = op.lower_source = "not a text";
    const tally_user_op functions = operator_of_functions();
    const tally_desc desc = desc_of(&op, TALLY_REDUCE), expected = desc_of(&functions, TALLY_REDUCE);
    assert_ok(run_on(device, &desc, x, found));
    assert_ok(run_on(device, &expected, x, in_c));
    assert_int_equal(found[0], in_c[0]);
}

static void neither_functions_nor_texts_are_refused(void **state) {
    (void)state;
    tally_plan *plan = NULL;
    tally_user_op op = operator_of_texts();
    op.lower_source = NULL;
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_INVALID_ARGUMENT);
    op = operator_of_functions();
    op.lift = NULL;
    assert_int_equal(tally_plan_create(device, &desc, &plan), TALLY_INVALID_ARGUMENT);
}

int main(void) {
    static const struct CMUnitTest of_the_cpu[] = {
        cmocka_unit_test(inlined_functions_are_limited), cmocka_unit_test(calls_without_steps_are_limited),
        cmocka_unit_test(nested_functions_are_limited),  cmocka_unit_test(deep_return_is_found),
        cmocka_unit_test(long_loops_are_right),          cmocka_unit_test(nothing_traps),
        cmocka_unit_test(functions_come_first),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_mean_what_they_mean_in_c),          cmocka_unit_test(floats_are_c_s),
        cmocka_unit_test(a_mistake_is_told_with_its_place),        cmocka_unit_test(text_that_never_ends_is_refused),
        cmocka_unit_test(neither_functions_nor_texts_are_refused),
    };
    const char *const name = getenv("TALLY_TEST_DEVICE");
    device_is_cpu = !name || strncmp(name, "cpu", 3) == 0;
    if (tally_open(name ? name : "cpu", &device) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    const tally_user_op op = operator_of_texts();
    const tally_desc desc = desc_of(&op, TALLY_REDUCE);
    tally_plan *plan = NULL;
    if (tally_plan_create(device, &desc, &plan) == TALLY_UNSUPPORTED && strstr(tally_last_error(), "libshaderc")) {
        printf("skipped: %s\n", tally_last_error());
        return SKIPPED;
    }
    tally_plan_destroy(plan);
    int failed = cmocka_run_group_tests_name("users' texts", tests, NULL, NULL);
    if (device_is_cpu)
        failed += cmocka_run_group_tests_name("users' texts on the CPU", of_the_cpu, NULL, NULL);
    tally_close(cpu);
    tally_close(device);
    return failed;
}
