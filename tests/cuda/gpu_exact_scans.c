/* Exact scans of so many elements that they go in a window (src/cuda/scan_exactly.c) have the CPU's bits: of data that
 * fit it, that do not, and of which one late element does not. usage: cuda_gpu_exact_scans [ELEMENTS [TYPE]] */
#include "gpu.h"

#include <math.h>

static uint64_t n = (1 << 21) + 77; /* more than exact scans of narrow types in waves have */

enum data {
    NORMAL,
    SPREAD_20,
    SPREAD_100,
    BITS,
    LATE_LARGE,
    LATE_SMALL,
    LATE_NAN,
    ZEROS,
    MINUS_ZEROS,
    REST,
    SMALLEST,
    BESIDE_TIES,
    CANCELS,
    DATA
};

static double some_value(enum data data, uint64_t i, uint64_t *random) {
    const uint64_t bits = random_bits(random);
    const double unit = ldexp((double)(bits >> 11), -53), sign = bits & 1 ? -1 : 1;
    switch (data) {
    case SPREAD_20:
        return sign * ldexp(1 + unit, (int)(random_bits(random) % 41) - 20);
    case SPREAD_100:
        return sign * ldexp(1 + unit, (int)(random_bits(random) % 201) - 100);
    case LATE_LARGE:
        return i == n - n / 8 ? 0x1p15 : sign * ldexp(unit, -12);
    case LATE_SMALL:
        return i == n - n / 8 ? -0x1.8p-14 : sign * floor(unit * 1000) * 32;
    case LATE_NAN:
        return i == n - n / 8 ? (double)NAN : sign * unit;
    case ZEROS:
        return bits & 2 ? sign * 0.0 : sign * unit;
    case MINUS_ZEROS: /* where sums are something else, and where they begin */
        return i % 7 < 2 ? -0.0 : sign * (1 + unit);
    case REST: /* of f32: the first element is less than the unit of the sums of the others */
        return i == 0 ? 0x1p-45 : i < 1000 ? 0 : 1 + floor(unit * 64) / 16;
    case SMALLEST:
        return sign * (double)(bits >> 40) * 0x1p-149;
    case BESIDE_TIES: /* of bf16, by less than a double's last bit */
        return i == 0 ? 0x1p30 : i == 1 ? 0x1p22 : sign * 0x1p-30;
    case CANCELS: /* what a double near 2^30 loses is all that is left */
        return i % 61 == 10 ? 0x1p30 : i % 61 == 20 ? -0x1p30 : sign * ldexp(1 + unit, -26);
    default:
        return sign * (unit + ldexp((double)(random_bits(random) >> 11), -53) - 1) * 3;
    }
}

static uint16_t bf16_of(double value) {
    const float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Truncated; too small is 0. */
static uint16_t f16_of(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (value != value)
        return 0x7e00;
    const double fraction = frexp(fabs(value), &exponent);
    if (exponent > 16)
        return sign | 0x7bff;
    if (exponent < -13)
        return sign | (uint16_t)ldexp(fabs(value), 24);
    return value == 0 ? sign : (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)ldexp(fraction, 11)));
}

static void fill(void *x, tally_dtype type, enum data data, uint64_t *random) {
    for (uint64_t i = 0; i < n; i++) {
        const double value = some_value(data, i, random);
        const uint64_t bits = random_bits(random);
        if (data == BITS)
            memcpy((char *)x + i * tally_dtype_size(type), &bits, tally_dtype_size(type));
        else if (type == TALLY_F64)
            ((double *)x)[i] = value;
        else if (type == TALLY_F32)
            ((float *)x)[i] = (float)value;
        else
            ((uint16_t *)x)[i] = type == TALLY_BF16 ? bf16_of(value) : f16_of(value);
    }
}

/* Segments and runs of keys have up to 'most' elements. */
static void compare(const tally_desc *desc, enum data data, bool has_initial, uint64_t *random) {
    const size_t in = tally_dtype_size(desc->in), size = tally_dtype_size(desc->out ? desc->out : desc->in);
    unsigned char *x = malloc(n * in), *expected = malloc(n * size), *found = malloc(n * size);
    int64_t *index = malloc((n + 1) * sizeof *index);
    uint64_t groups = 0;
    fill(x, desc->in, data, random);
    tally_args args = arguments(x, n, expected, n * size);
    if (desc->grouping == TALLY_AXIS) {
        args.shape = (tally_shape){.outer = 7, .extent = n / 7, .inner = 1};
    } else if (desc->grouping == TALLY_SEGMENTS) {
        for (uint64_t at = 0; at < n; at += random_below(random, 5000))
            index[groups++] = (int64_t)at;
        index[groups] = (int64_t)n;
        args.shape.groups = groups;
        args.offsets = index;
    } else if (desc->grouping == TALLY_KEYS) {
        for (uint64_t i = 0; i < n; i++)
            index[i] = (int64_t)(groups += random_below(random, 3000) == 0);
        args.keys = index;
    }
    const double wide = 0.375;
    const float middle = 0.375f;
    const uint16_t narrow = desc->out == TALLY_F16 || desc->in == TALLY_F16 ? 0x3600 : 0x3ec0;
    const void *initial = size == 8 ? (const void *)&wide : size == 4 ? (const void *)&middle : (const void *)&narrow;
    if (has_initial)
        args.initial = initial;
    assert_ok(run_desc(cpu, desc, &args));
    void *on_gpu[] = {upload(x, n * in), room(n * size), upload(index, (n + 1) * sizeof *index), upload(initial, size)};
    args.x = on_gpu[0];
    args.out = on_gpu[1];
    args.offsets = desc->grouping == TALLY_SEGMENTS ? on_gpu[2] : NULL;
    args.keys = desc->grouping == TALLY_KEYS ? on_gpu[2] : NULL;
    args.initial = has_initial ? on_gpu[3] : NULL;
    const uint64_t scanned = desc->grouping == TALLY_AXIS ? n / 7 * 7 : n;
    for (int in_place = 0; in_place < (in == size ? 2 : 1); in_place++) {
        if (in_place)
            args.out = on_gpu[0];
        assert_ok(run_desc(gpu, desc, &args));
        assert_ok(tally_copy(gpu, found, args.out, n * size));
        for (uint64_t i = 0; i < scanned; i++)
            if (memcmp(expected + i * size, found + i * size, size) != 0)
                fail_msg("%s of %s, data %d, form %d, reverse %u, in place %d: result %llu of %llu differs",
                         tally_grouping_name(desc->grouping), tally_dtype_name(desc->in), data, desc->form, desc->flags,
                         in_place, (unsigned long long)i, (unsigned long long)scanned);
    }
    for (size_t k = 0; k < COUNT_OF(on_gpu); k++)
        tally_free(gpu, on_gpu[k]);
    free(x);
    free(expected);
    free(found);
    free(index);
}

/* Every kind of data, in some form and direction. */
static void the_bits_of_the_cpu(void **state) {
    const tally_dtype type = *(const tally_dtype *)*state;
    uint64_t random = 17 + (uint64_t)type;
    const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_AXIS, TALLY_SEGMENTS, TALLY_KEYS};
    for (size_t g = 0; g < COUNT_OF(groupings); g++)
        for (enum data data = NORMAL; data < DATA; data++) {
            const unsigned shape = (unsigned)data + (unsigned)g;
            tally_desc desc = describe(TALLY_SUM, g % 2 ? TALLY_EXCLUSIVE_SCAN : TALLY_INCLUSIVE_SCAN, type);
            desc.grouping = groupings[g];
            desc.mode = TALLY_EXACT;
            desc.flags = g / 2 != g % 2 ? TALLY_REVERSE : 0;
            compare(&desc, data, shape % 3 == 0, &random);
        }
    for (tally_dtype out = TALLY_F16; out <= TALLY_F64; out++) { /* results of other types */
        tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, type);
        desc.mode = TALLY_EXACT;
        desc.out = out;
        if (out != type)
            compare(&desc, out % 2 ? NORMAL : SMALLEST, false, &random);
    }
}

int main(int argc, char **argv) {
    static tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_F16, TALLY_BF16};
    if (argc > 1)
        n = strtoull(argv[1], NULL, 10);
    int code = open_devices();
    if (code)
        return code;
    const struct CMUnitTest tests[] = {
        {"f32", the_bits_of_the_cpu, NULL, NULL, &types[0]},
        {"f64", the_bits_of_the_cpu, NULL, NULL, &types[1]},
        {"f16", the_bits_of_the_cpu, NULL, NULL, &types[2]},
        {"bf16", the_bits_of_the_cpu, NULL, NULL, &types[3]},
    };
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return close_devices(cmocka_run_group_tests(tests, NULL, NULL));
}
