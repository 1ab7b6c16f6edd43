#include "cuda/specialize_exact.h"

#include "cuda/accumulator.h"
#include "gpu/plan.h"
#include "exact/superaccumulator.h"

/* Thread blocks a multiprocessor, for which registers must do. With 4 the compiler spilled and f32 took 2.6 times as
 * long; sums of 16-bit types stay within that, and need as many to hide their loads. */
enum { ROW_BLOCKS = 2, NARROW_ROW_BLOCKS = 4 };

typedef struct exact_format {
    int significand, levels, product_levels; /* bits of an element; levels of exact.cu's windows */
    int lowest, bits;                        /* as an output: the smallest subnormal is 2^lowest */
    unsigned long long infinity, nan, one;
} exact_format;

static const exact_format formats[] = {
    [TALLY_F16] = {11, 1, 2, -24, 16, 0x7c00, 0x7e00, 0x3c00},
    [TALLY_BF16] = {8, 2, 2, -133, 16, 0x7f80, 0x7fc0, 0x3f80},
    [TALLY_F32] = {24, 2, 2, -149, 32, 0x7f800000, 0x7fc00000, 0x3f800000},
    [TALLY_F64] = {53, 3, 4, -1074, 64, 0x7ff0000000000000, 0x7ff8000000000000, 0x3ff0000000000000},
};

enum { FINISH_SUM, FINISH_MEAN, FINISH_ROOT };

static int finish_of(tally_exact_rule rule) {
    return rule == TALLY_EXACTLY_MEAN ? FINISH_MEAN : rule == TALLY_EXACTLY_ROOT ? FINISH_ROOT : FINISH_SUM;
}

void tally_cuda_exact_choices(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    const exact_format *in = &formats[c->desc.in], *out = &formats[c->desc.out];
    const bool products = tally_exact_has_products(c->desc.op);
    const struct {
        const char *name;
        unsigned long long value;
    } choices[] = {{"PRODUCTS", !products                         ? 0
                                : c->monoid == TALLY_MONOID_sumsq ? 2
                                                                  : 1},
                   {"LEVELS", (unsigned)(products ? in->product_levels : in->levels)},
                   {"SIGNIFICAND", (unsigned)(products ? 2 * in->significand : in->significand)},
                   {"LIMBS", (unsigned)tally_cuda_exact_limbs(c)},
                   {"ONE", in->one},
                   {"MINUS_ZERO", 1ULL << (in->bits - 1)},
                   {"FINISH_SUM", FINISH_SUM},
                   {"FINISH_MEAN", FINISH_MEAN},
                   {"FINISH_ROOT", FINISH_ROOT},
                   {"FINISH", (unsigned)finish_of(c->entry->exact)},
                   {"OUT_PRECISION", (unsigned)out->significand},
                   {"OUT_BITS", (unsigned)out->bits},
                   {"VECTORS", sizes->exact.vectors},
                   {"ROW_BLOCKS", c->in_bytes == 2 && !products ? NARROW_ROW_BLOCKS : ROW_BLOCKS},
                   {"KEY_CHUNK", sizes->exact.key_chunk},
                   {"REFUSED_RUNS", TALLY_GPU_REFUSED_RUNS}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %llu\n", choices[k].name, choices[k].value);
    tally_text_print(text, "#define BOTTOM (%d)\n#define OUT_LOWEST (%d)\n",
                     (int)tally_layout_lowest(tally_exact_layout_of(c->desc.in, products)), out->lowest);
    tally_text_print(text, "#define OUT_INFINITY %lluull\n#define OUT_NAN %lluull\n", out->infinity, out->nan);
}
