/* Exact scans have the CPU's bits: of every type, grouping and form, at random lengths that take one to three levels of
 * sums, of data that cancel, that lie far apart, on ties, and that are not finite, in place, from an initial value and
 * in pieces. usage: vulkan_exact_scans [ROUNDS] */
#include "../api/support.h"

#include "../oracle/random.h"
#include "vulkan/vulkan.h"

enum { MOST = 40000, LONG = 1100000 };

static tally_device *cpu, *gpu;
/* On a GPU nearly each round compiles three kernels for its own types and form: 270 of 100 rounds, which did not end in 100
 * s beside ten other tests. In software types and form are arguments, and few kernels serve all. */
enum { ROUNDS = 100, ROUNDS_ON_GPU = 30 };
static uint64_t rounds;

typedef enum data { BITS, FINITE, CANCELLING, FAR_APART, TIES, ZEROS, DATA } data;

static const tally_dtype types[] = {TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
static const struct {
    unsigned stored, width; /* bits of the significand in memory, and of all */
} layouts[] = {{10, 16}, {7, 16}, {23, 32}, {52, 64}};

/* The bits of an element; 'type' counts in 'types'. */
static uint64_t element_of(int type, data kind, uint64_t i, uint64_t *random) {
    const unsigned stored = layouts[type].stored, width = layouts[type].width;
    const uint64_t fields = (UINT64_C(1) << (width - 1 - stored)) - 1, middle = fields / 2;
    const uint64_t sign = UINT64_C(1) << (width - 1), bits = random_bits(random) >> (64 - width);
    const uint64_t fraction = bits & ((UINT64_C(1) << stored) - 1), some_sign = bits & sign;
    switch (kind) {
    case BITS:
        return random_below(random, 50) ? bits & ~(UINT64_C(1) << (width - 2)) : bits;
    case FINITE:
        return (bits >> stored & fields) == fields ? bits ^ UINT64_C(1) << (width - 2) : bits;
    case FAR_APART: /* large ones that come and go, and the smallest */
        return i % 3 == 1 ? some_sign | 1 : (i % 3 ? sign : 0) | ((fields - 1) << stored);
    case TIES: /* halves of units in the last place of 1, and less */
        return i % 100 == 0 ? middle << stored : some_sign | (middle - 1 - stored - bits % 3) << stored;
    case ZEROS:
        return random_below(random, 9) ? sign : random_below(random, 30) ? 0 : some_sign | middle << stored | fraction;
    default:
        return some_sign | (middle - random_below(random, 12)) << stored | fraction;
    }
}

static void fill(unsigned char *x, int type, data kind, uint64_t n, uint64_t *random) {
    const size_t size = layouts[type].width / 8;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = element_of(type, kind, i, random);
        if (kind == CANCELLING && i > n / 2) { /* the first half once more, backwards and with other signs */
            bits = 0;
            memcpy(&bits, x + (n - i) * size, size);
            bits ^= UINT64_C(1) << (layouts[type].width - 1);
        }
        memcpy(x + i * size, &bits, size); /* little-endian, as every device of Vulkan */
    }
}

typedef struct scan {
    tally_desc desc;
    tally_args args;
    size_t in, out;
    uint64_t elements;
    unsigned char *x, *expected, *found, initial[8];
    uint64_t *index; /* offsets or keys */
    char name[160];
} scan;

static void choose_shape(scan *s, uint64_t most, uint64_t *random) {
    const uint64_t n = random_below(random, 4) ? random_below(random, 2000) : random_below(random, most);
    s->args.shape = (tally_shape){.outer = 1, .extent = n, .inner = 1};
    s->elements = n;
    if (s->desc.grouping == TALLY_AXIS) {
        s->args.shape.outer = 1 + random_below(random, 5);
        s->args.shape.inner = random_below(random, 2) ? 1 : 1 + random_below(random, 70);
        s->args.shape.extent = n / (s->args.shape.outer * s->args.shape.inner);
        s->elements = s->args.shape.extent * s->args.shape.outer * s->args.shape.inner;
    }
    uint64_t groups = 0, at = random_below(random, 3) ? 0 : random_below(random, n + 1);
    const uint64_t longest = 1 + random_below(random, random_below(random, 2) ? 9 : n + 1);
    if (s->desc.grouping == TALLY_SEGMENTS) {
        for (; at <= n && groups < n; at += random_below(random, 4) ? random_below(random, longest) : 0)
            s->index[groups++] = at;
        s->args.shape.groups = groups ? groups - 1 : 0;
        s->index[0] = groups ? s->index[0] : n;
    }
    for (uint64_t i = 0; i < n && s->desc.grouping == TALLY_KEYS; i++)
        s->index[i] = groups += random_below(random, longest) == 0;
}

static void choose(scan *s, uint64_t most, uint64_t *random) {
    const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_AXIS, TALLY_SEGMENTS, TALLY_KEYS};
    const int in = (int)random_below(random, 4), out = random_below(random, 2) ? in : (int)random_below(random, 4);
    const data kind = (data)random_below(random, DATA);
    s->desc = describe(TALLY_SUM, random_below(random, 2) ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, types[in]);
    s->args = (tally_args)TALLY_ARGS_INIT;
    s->desc.grouping = groupings[random_below(random, 4)];
    s->desc.index = s->desc.grouping >= TALLY_SEGMENTS ? TALLY_U64 : TALLY_DEFAULT;
    s->desc.out = types[out];
    s->desc.mode = TALLY_EXACT;
    s->desc.flags = (random_below(random, 2) ? TALLY_REVERSE : 0) | (random_below(random, 4) ? 0 : TALLY_SKIP_NAN);
    choose_shape(s, most, random);
    s->in = layouts[in].width / 8;
    s->out = layouts[out].width / 8;
    fill(s->x, in, kind, s->elements, random);
    if (random_below(random, 2)) {
        fill(s->initial, out, kind, 1, random);
        s->args.initial = s->initial;
    }
    snprintf(s->name, sizeof s->name, "%s to %s by %s, data %d, form %d, flags %x, initial %d, %llu x %llu x %llu",
             tally_dtype_name(types[in]), tally_dtype_name(types[out]), tally_grouping_name(s->desc.grouping), kind,
             s->desc.form, s->desc.flags, s->args.initial != NULL, (unsigned long long)s->args.shape.outer,
             (unsigned long long)s->args.shape.extent, (unsigned long long)s->args.shape.inner);
}

static void *upload(const void *from, size_t bytes) {
    void *memory;
    assert_ok(tally_alloc(gpu, bytes + 1, &memory));
    assert_ok(tally_copy(gpu, memory, from, bytes));
    return memory;
}

/* All at once, or in three pieces. */
static void run_on_gpu(const scan *s, tally_args args, bool in_pieces) {
    tally_plan *plan;
    assert_ok(tally_plan_create(gpu, &s->desc, &plan));
    if (!in_pieces)
        assert_ok(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    const uint64_t rows = args.shape.extent, row = args.shape.inner;
    for (int k = 0; k < 3 && in_pieces; k++) {
        const uint64_t begin = k == 0 ? 0 : k == 1 ? rows / 2 : rows / 2 + rows / 3;
        const uint64_t end = k == 0 ? rows / 2 : k == 1 ? rows / 2 + rows / 3 : rows;
        tally_args piece = args;
        piece.shape.extent = end - begin;
        piece.x = (const char *)args.x + begin * row * s->in;
        piece.out = (char *)args.out + begin * row * s->out;
        piece.out_bytes = (end - begin) * row * s->out;
        assert_ok(tally_push(plan, &piece));
    }
    tally_plan_destroy(plan);
}

static void compare(scan *s) {
    const bool can_be_pieces = (s->desc.grouping == TALLY_ALL_VALUES || s->desc.grouping == TALLY_AXIS) &&
                               s->args.shape.outer == 1 && !(s->desc.flags & TALLY_REVERSE);
    const size_t out_bytes = s->elements * s->out, index_bytes = (MOST + 1) * sizeof *s->index;
    s->args.x = s->x;
    s->args.out = s->expected;
    s->args.out_bytes = out_bytes;
    const bool has_index = s->desc.grouping >= TALLY_SEGMENTS;
    *(s->desc.grouping == TALLY_KEYS ? &s->args.keys : &s->args.offsets) = has_index ? s->index : NULL;
    memset(s->expected, 0, out_bytes);
    assert_ok(run_desc(cpu, &s->desc, &s->args));
    void *const x = upload(s->x, s->elements * s->in), *const out = upload(s->expected, out_bytes);
    void *const index = has_index ? upload(s->index, index_bytes) : NULL;
    void *const initial = upload(s->initial, sizeof s->initial);
    for (int way = 0; way < 3; way++) { /* as it is, in pieces, in place */
        tally_args args = s->args;
        if ((way == 1 && !can_be_pieces) || (way == 2 && s->in != s->out))
            continue;
        args.x = x;
        args.out = way == 2 ? x : out;
        *(s->desc.grouping == TALLY_KEYS ? &args.keys : &args.offsets) = index;
        args.initial = s->args.initial ? initial : NULL;
        memset(s->found, 0, out_bytes);
        assert_ok(tally_copy(gpu, out, s->found, out_bytes));
        run_on_gpu(s, args, way == 1);
        assert_ok(tally_copy(gpu, s->found, args.out, out_bytes));
        for (uint64_t i = 0; i < s->elements; i++) {
            bool is_result = true; /* outside of all segments nothing is written */
            if (s->desc.grouping == TALLY_SEGMENTS)
                is_result = i >= s->index[0] && i < s->index[s->args.shape.groups];
            if (is_result && memcmp(s->expected + i * s->out, s->found + i * s->out, s->out) != 0)
                fail_msg("%s, way %d: result %llu differs", s->name, way, (unsigned long long)i);
        }
    }
    void *const all[] = {x, out, index, initial};
    for (size_t k = 0; k < COUNT_OF(all); k++)
        tally_free(gpu, all[k]);
}

static void compare_random(scan *s, uint64_t round) {
    uint64_t random = seed_of(17, round);
    choose(s, MOST, &random);
    compare(s);
}

static void they_have_the_bits_of_the_cpu(void **state) {
    for (uint64_t round = 0; round < rounds; round++)
        compare_random(*state, round);
}

static void so_have_long_ones(void **state) {
    scan *s = *state;
    uint64_t random = 5;
    s->desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F16);
    s->desc.mode = TALLY_EXACT;
    s->args = (tally_args)TALLY_ARGS_INIT;
    s->args.shape.extent = s->elements = LONG;
    s->in = s->out = 2;
    fill(s->x, 0, FINITE, LONG, &random);
    snprintf(s->name, sizeof s->name, "%d of f16", LONG);
    compare(s);
}

/* Each element takes loops over all words. With chunks of 256 lavapipe did not come to the ends of all. */
static void so_have_those_with_the_longest_loops(void **state) {
    compare_random(*state, 164);
}

int main(int argc, char **argv) {
    static scan s;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(they_have_the_bits_of_the_cpu, &s),
        cmocka_unit_test_prestate(so_have_long_ones, &s),
        cmocka_unit_test_prestate(so_have_those_with_the_longest_loops, &s),
    };
    if (tally_open("vulkan:0", &gpu) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    rounds = ((const tally_vulkan_device *)gpu)->is_software ? ROUNDS : ROUNDS_ON_GPU;
    if (argc > 1)
        rounds = strtoull(argv[1], NULL, 10);
    s.x = malloc(2 * LONG);
    s.expected = malloc(2 * LONG);
    s.found = malloc(2 * LONG);
    s.index = malloc((MOST + 1) * sizeof *s.index);
    const int failed = cmocka_run_group_tests_name("exact scans on Vulkan", tests, NULL, NULL);
    free(s.x);
    free(s.expected);
    free(s.found);
    free(s.index);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
