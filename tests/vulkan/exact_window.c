/* Exact scans in a window (src/vulkan/kernels/scan_in_window.comp) give the CPU's bits: of every type, in every
 * form, by every grouping, at any address, in place, from an initial value, and of elements that fill one level, two or
 * none. The window
 * itself, which is read from the workspace, tells whether it took the elements or the kernels in all words did the work
 * again. The test makes the device take this path, and lavapipe has one thread for the reason that scan_once.c
 * gives. usage: vulkan_exact_window [TYPE [GROUPING]], numbers in the lists below: that part alone. */
#include <math.h>

#include "../api/support.h"
#include "vulkan/cut.h"
#include "vulkan/plan.h"

enum { MOST = 1 << 18 /* bytes */, SHIFT = 16 };

typedef enum fill {
    NORMAL,
    WHOLE,
    SPREAD,
    TINY_RESTS,
    NEAR_TIES,
    FIRST_IS_MINUS_ZERO,
    MINUS_ZEROS,
    OUTLIER,
    INFINITE,
    NAN_AMONG
} fill;
static const char *const fills[] = {"normal",   "whole",    "spread",  "tiny rests", "near ties",
                                    "-0 first", "-0 among", "outlier", "infinity",   "NaN"};
/* Whether the window takes them. f64 has 53 bits from each of 1 and 2^-60 on. */
static bool fits(fill kind, tally_dtype type) {
    return kind < FIRST_IS_MINUS_ZERO ? kind != NEAR_TIES || type != TALLY_F64 : kind == MINUS_ZEROS;
}

static tally_device *device, *processor;
static uint8_t *numbers, *expected, *found;  /* on the host */
static uint8_t *x, *out, *workspace, *first; /* on the device */
static uint32_t indices[MOST / 2 + 1];       /* offsets or keys, */
static uint32_t *indices_there;              /* and on the device */
static size_t workspace_room;

static uint64_t state_of_random = 88172645463325252U;
static double uniform(void) {
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    state_of_random ^= state_of_random << 17;
    return (double)(state_of_random >> 11) * 0x1p-53;
}
static double normal(void) {
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* Truncated. */
static uint16_t bits_of_f16(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    const int exponent = size > 0 && isfinite(size) ? ilogb(size) : 0;
    if (isnan(value) || isinf(value) || exponent > 15)
        return sign | (isnan(value) ? 0x7e00 : 0x7c00);
    if (size < 0x1p-14)
        return sign | (uint16_t)(size * 0x1p24);
    return sign | (uint16_t)((exponent + 14) * 1024 + (int)ldexp(size, 10 - exponent));
}

static void put(tally_dtype type, size_t i, double value) {
    const float f32 = (float)value;
    uint32_t bits;
    memcpy(&bits, &f32, sizeof bits);
    if (type == TALLY_F64)
        memcpy(numbers + i * sizeof value, &value, sizeof value);
    else if (type == TALLY_F32) {
        memcpy(numbers + i * sizeof f32, &f32, sizeof f32);
    } else {
        const uint16_t word = type == TALLY_F16 ? bits_of_f16(value) : (uint16_t)(bits >> 16); /* truncated */
        memcpy(numbers + i * sizeof word, &word, sizeof word);
    }
}

static double value_of(fill kind, tally_dtype type, size_t i, size_t count) {
    const double tiny = type == TALLY_F64   ? 0x1p-54
                        : type == TALLY_F32 ? 0x1p-25
                        : type == TALLY_F16 ? 0x1p-12
                                            : 0x1p-9;
    switch (kind) {
    case WHOLE:
        return rint(normal() * 4) + 0.0; /* no -0 */
    case SPREAD:
        return ldexp(normal(), (int)(uniform() * (type == TALLY_F64 ? 20 : type == TALLY_F16 ? 14 : 30)) - 4);
    case TINY_RESTS:
        return i % 3 ? normal() : normal() * 0x1p-10;
    case NEAR_TIES: /* prefixes on boundaries between results, and just off them */
        return i == 0 ? 1 : i % 4 == 1 ? tiny : i % 4 == 2 ? tiny * 0x1p-6 : i % 4 == 3 ? -tiny * 0x1p-6 : -tiny;
    case FIRST_IS_MINUS_ZERO:
        return i < 5 ? -0.0 : normal();
    case MINUS_ZEROS:
        return i % 7 == 3 ? -0.0 : normal();
    case OUTLIER:
        return i == count - 2 ? 0x1p100 : normal();
    case INFINITE:
        return i == count / 2 ? (double)INFINITY : normal();
    case NAN_AMONG:
        return i == count / 2 ? (double)NAN : normal();
    default:
        return normal();
    }
}

/* Rows, offsets or keys of groups of at most so many elements. Returns the number of elements. */
static size_t make_groups(const tally_desc *desc, size_t count, size_t longest, tally_args *args) {
    size_t groups = 0, at = 0;
    if (desc->grouping == TALLY_AXIS) {
        args->shape = (tally_shape){.outer = count / longest, .extent = longest, .inner = 1};
        return count / longest * longest;
    }
    for (; at < count; groups++) {
        const size_t length = (size_t)(uniform() * (double)(longest + 1)), left = count - at;
        if (desc->grouping == TALLY_SEGMENTS)
            indices[groups] = (uint32_t)at;
        for (size_t i = 0; desc->grouping == TALLY_KEYS && i < length && i < left; i++)
            indices[at + i] = (uint32_t)groups;
        at += length < left ? length : left;
    }
    if (desc->grouping == TALLY_SEGMENTS) {
        indices[groups] = (uint32_t)count;
        args->shape.groups = groups;
        args->offsets = indices;
    } else if (desc->grouping == TALLY_KEYS) {
        args->keys = indices;
    }
    return count;
}

/* A group that begins with -0 may be one of nothing else, which no integer tells from 0. */
static bool begins_with_minus_zero(const tally_desc *desc, const tally_args *args, size_t count) {
    const size_t size = tally_dtype_size(desc->in);
    const bool reverse = desc->flags & TALLY_REVERSE;
    for (size_t i = 0, g = 0; desc->grouping != TALLY_ALL_VALUES && i < count; i++) {
        const size_t next = reverse ? i + 1 : i;
        bool head = next == 0 || next == count;
        while (args->offsets && g <= args->shape.groups && indices[g] < next)
            g++;
        head = head || (args->offsets && indices[g] == next) || (args->keys && indices[next] != indices[next - 1]);
        head = head || (desc->grouping == TALLY_AXIS && next % args->shape.extent == 0);
        bool others = numbers[(i + 1) * size - 1] != 0x80;
        for (size_t byte = 0; byte + 1 < size; byte++)
            others = others || numbers[i * size + byte];
        if (head && !others)
            return true;
    }
    return false;
}

/* Whether the window took the elements. */
static bool was_in_window(const tally_desc *desc, const tally_shape *given_shape) {
    tally_vulkan_cut cut;
    tally_plan *plan;
    const tally_shape shape = *given_shape;
    uint32_t window[5];
    assert_ok(tally_plan_create(device, desc, &plan));
    tally_vulkan_plan_cut((tally_vulkan_plan *)plan, &shape, &cut);
    tally_plan_destroy(plan);
    assert_true(cut.in_window.tiles > 0);
    assert_ok(tally_copy(device, window, workspace + cut.in_window.window, sizeof window));
    return window[3] == 0 && window[4] == 0;
}

static void check_groups(const tally_desc *desc, fill kind, size_t count, size_t longest, size_t x_begins,
                         size_t out_begins, bool in_place, bool has_initial) {
    const size_t size = tally_dtype_size(desc->in);
    uint64_t initial = 0;
    tally_args groups = TALLY_ARGS_INIT;
    groups.shape.extent = count;
    if (desc->grouping != TALLY_ALL_VALUES)
        count = make_groups(desc, count, longest, &groups);
    for (size_t i = 0; i < count; i++)
        put(desc->in, desc->flags & TALLY_REVERSE ? count - 1 - i : i, value_of(kind, desc->in, i, count));
    if (has_initial)
        memcpy(&initial, numbers + count / 3 * size, size);
    tally_args args = arguments(numbers, count, expected, count * size);
    args.initial = has_initial ? &initial : NULL;
    args.shape = groups.shape;
    args.offsets = groups.offsets;
    args.keys = groups.keys;
    assert_ok(run_desc(processor, desc, &args));
    uint8_t *const to = in_place ? x + x_begins : out + out_begins;
    assert_ok(tally_copy(device, x + x_begins, numbers, count * size));
    assert_ok(tally_copy(device, first, &initial, sizeof initial));
    args = arguments(x + x_begins, count, to, count * size);
    args.initial = has_initial ? first : NULL;
    args.shape = groups.shape;
    args.offsets = groups.offsets ? indices_there : NULL;
    args.keys = groups.keys ? indices_there : NULL;
    assert_ok(tally_copy(device, indices_there, indices, sizeof indices));
    args.workspace = workspace;
    args.workspace_bytes = workspace_room;
    assert_ok(run_desc(device, desc, &args));
    assert_ok(tally_copy(device, found, to, count * size));
    for (size_t i = 0; i < count; i++)
        if (memcmp(expected + i * size, found + i * size, size) != 0)
            fail_msg("%s of %s by %s up to %zu, form %d, flags %u, %zu elements, from %zu to %zu: element %zu is wrong",
                     fills[kind], tally_dtype_name(desc->in), tally_grouping_name(desc->grouping), longest, desc->form,
                     desc->flags, count, x_begins, out_begins, i);
    const bool expected_in = fits(kind, desc->in) && (has_initial || !begins_with_minus_zero(desc, &groups, count));
    if (was_in_window(desc, &groups.shape) != expected_in)
        fail_msg("%s of %s by %s up to %zu, %zu elements: %s", fills[kind], tally_dtype_name(desc->in),
                 tally_grouping_name(desc->grouping), longest, count,
                 expected_in ? "the window did not take them" : "the window took them");
}
static void check(const tally_desc *desc, fill kind, size_t count, size_t x_begins, size_t out_begins, bool in_place,
                  bool has_initial) {
    check_groups(desc, kind, count, 0, x_begins, out_begins, in_place, has_initial);
}

static tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_BF16, TALLY_F16};
static size_t type_count = COUNT_OF(types);
static tally_grouping groupings[] = {TALLY_AXIS, TALLY_SEGMENTS, TALLY_KEYS};
static size_t grouping_count = COUNT_OF(groupings);

static tally_desc exact_scan(tally_form form, unsigned flags, tally_dtype type) {
    tally_desc desc = describe(TALLY_SUM, form, type);
    desc.mode = TALLY_EXACT;
    desc.out = type;
    desc.flags = flags;
    return desc;
}

/* Whether a form is taken by a type, or by its groups. A GPU compiles at least seven kernels for each grouping, form and
 * type: 480 for all, which did not end in 100 s beside ten other tests. There each form has some of the types. */
static bool takes_form(unsigned form, size_t type) {
    return ((const tally_vulkan_device *)device)->is_software || form % 3 == 0 || form == type + 1;
}
static bool groups_take_form(unsigned form, size_t type, size_t grouping) {
    return ((const tally_vulkan_device *)device)->is_software || (type + grouping) % 4 == form;
}

static void test_any_elements(void **state) {
    (void)state;
    for (size_t t = 0; t < type_count; t++)
        for (size_t kind = 0; kind < COUNT_OF(fills); kind++) {
            const tally_desc desc = exact_scan(TALLY_INCLUSIVE_SCAN, 0, types[t]);
            check(&desc, (fill)kind, 9001, 0, 0, false, false);
        }
}

static void test_forms_and_sizes(void **state) {
    static const size_t counts[] = {1, 5, 4096, 8192, 20000};
    (void)state;
    for (size_t t = 0; t < type_count; t++)
        for (size_t k = 0; k < COUNT_OF(counts); k++)
            for (unsigned form = 0; form < 4; form++) {
                if (!takes_form(form, t))
                    continue;
                const tally_desc desc = exact_scan(form & 1 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN,
                                                   form & 2 ? TALLY_REVERSE : 0, types[t]);
                check(&desc, k % 2 ? SPREAD : NORMAL, counts[k], 0, 0, false, form == 3);
            }
}

static void test_arrays_begin_anywhere(void **state) {
    (void)state;
    for (size_t t = 0; t < type_count; t++) {
        const size_t size = tally_dtype_size(types[t]);
        const tally_desc forward = exact_scan(TALLY_INCLUSIVE_SCAN, 0, types[t]),
                         backward = exact_scan(TALLY_EXCLUSIVE_SCAN, TALLY_REVERSE, types[t]);
        check(&forward, NORMAL, 9001, size, 0, false, false);
        check(&forward, NORMAL, 9001, 0, size, false, true);
        check(&backward, NORMAL, 9001, size, size, false, false);
        check(&forward, WHOLE, 9001, 0, 0, true, false);
    }
}

static void test_groups(void **state) {
    static const size_t longest[] = {1, 3, 31, 300, 4096, 6000};
    (void)state;
    for (size_t t = 0; t < type_count; t++)
        for (size_t g = 0; g < grouping_count; g++)
            for (unsigned k = 0; k < COUNT_OF(longest) * 4; k++) {
                const unsigned form = k / COUNT_OF(longest);
                if (!groups_take_form(form, t, g))
                    continue;
                const fill kind = (fill)((k + g) % COUNT_OF(fills));
                const size_t begin = k % 5 == 4 ? tally_dtype_size(types[t]) : 0;
                tally_desc desc = exact_scan(form & 1 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN,
                                             form & 2 ? TALLY_REVERSE : 0, types[t]);
                desc.grouping = groupings[g];
                desc.index = desc.grouping != TALLY_AXIS ? TALLY_U32 : TALLY_DEFAULT;
                check_groups(&desc, kind, k % 3 ? 12288 : 12345, longest[k % COUNT_OF(longest)], begin, 0, k % 7 == 6,
                             k % 4 == 3 && kind != FIRST_IS_MINUS_ZERO);
            }
}

/* Elements outside of all segments are another path's. */
static void test_segments_need_not_cover_all(void **state) {
    enum { COUNT = 9001, AHEAD = 3 };
    tally_desc desc = exact_scan(TALLY_INCLUSIVE_SCAN, 0, TALLY_F32);
    const size_t bytes = COUNT * sizeof(float);
    const uint32_t offsets[] = {AHEAD, 5000, COUNT - 1};
    (void)state;
    desc.grouping = TALLY_SEGMENTS;
    desc.index = TALLY_U32;
    for (size_t i = 0; i < COUNT; i++)
        put(TALLY_F32, i, normal());
    memset(expected, 77, bytes);
    tally_args args = arguments(numbers, COUNT, expected, bytes);
    args.shape.groups = 2;
    args.offsets = offsets;
    assert_ok(run_desc(processor, &desc, &args));
    assert_ok(tally_copy(device, x, numbers, bytes));
    memset(found, 77, bytes);
    assert_ok(tally_copy(device, out, found, bytes));
    assert_ok(tally_copy(device, indices_there, offsets, sizeof offsets));
    args = arguments(x, COUNT, out, bytes);
    args.shape.groups = 2;
    args.offsets = indices_there;
    assert_ok(run_desc(device, &desc, &args));
    assert_ok(tally_copy(device, found, out, bytes));
    assert_memory_equal(expected, found, bytes);
}

static void test_in_place_elements_are_checked_first(void **state) {
    (void)state;
    for (size_t t = 0; t < type_count; t++) {
        const tally_desc desc = exact_scan(TALLY_INCLUSIVE_SCAN, 0, types[t]);
        check(&desc, OUTLIER, 9001, 0, 0, true, false);
        check(&desc, NAN_AMONG, 9001, 0, 0, true, true);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_elements),
                                       cmocka_unit_test(test_forms_and_sizes),
                                       cmocka_unit_test(test_arrays_begin_anywhere),
                                       cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_segments_need_not_cover_all),
                                       cmocka_unit_test(test_in_place_elements_are_checked_first)};
    workspace_room = 8 * MOST;
    if (argc > 1) {
        types[0] = types[atoi(argv[1])];
        type_count = 1;
    }
    if (argc > 2) {
        groupings[0] = groupings[atoi(argv[2])];
        grouping_count = 1;
        cmocka_set_test_filter("test_groups");
    }
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    ((tally_vulkan_device *)device)->least_once = 1;
    numbers = malloc(MOST);
    expected = malloc(MOST);
    found = malloc(MOST);
    if (!numbers || !expected || !found || tally_open("cpu", &processor) != TALLY_OK ||
        tally_alloc(device, MOST + SHIFT, (void **)&x) != TALLY_OK ||
        tally_alloc(device, MOST + SHIFT, (void **)&out) != TALLY_OK ||
        tally_alloc(device, sizeof indices, (void **)&indices_there) != TALLY_OK ||
        tally_alloc(device, workspace_room, (void **)&workspace) != TALLY_OK ||
        tally_alloc(device, sizeof(uint64_t), (void **)&first) != TALLY_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tally_free(device, x);
    tally_free(device, out);
    tally_free(device, workspace);
    tally_free(device, first);
    tally_free(device, indices_there);
    tally_close(device);
    tally_close(processor);
    free(numbers);
    free(expected);
    free(found);
    return failed;
}
