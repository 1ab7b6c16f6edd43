#include "cuda/specialize_exact.h"

#include "core/dtype.h"
#include "cuda/accumulator.h"
#include "exact/superaccumulator.h"
#include "gpu/plan.h"

/* Thread blocks a multiprocessor, for which registers must do. With 4 the compiler spilled and f32 took 2.6 times as
 * long. */
enum { ROW_BLOCKS = 2, NARROW_ROW_BLOCKS = 4 };

enum { FINISH_SUM, FINISH_MEAN, FINISH_ROOT };

static int finish_of(tally_exact_rule rule) {
    return rule == TALLY_EXACTLY_MEAN ? FINISH_MEAN : rule == TALLY_EXACTLY_ROOT ? FINISH_ROOT : FINISH_SUM;
}

void tally_cuda_exact_output(tally_text *text, tally_dtype dtype) {
    const tally_float_format *const out = &tally_dtypes[dtype].format;
    tally_text_print(text, "#define OUT_PRECISION %d\n#define OUT_BITS %d\n#define OUT_LOWEST (%d)\n", out->precision,
                     out->bits, out->lowest);
    tally_text_print(text, "#define OUT_INFINITY %lluull\n#define OUT_NAN %lluull\n", (unsigned long long)out->infinity,
                     (unsigned long long)out->nan);
}

void tally_cuda_exact_choices(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    const tally_dtype_entry *const type = &tally_dtypes[c->desc.in];
    const tally_float_format *const in = &type->format;
    const bool products = tally_cuda_exact_has_products(c);
    const struct {
        const char *name;
        unsigned long long value;
    } choices[] = {{"PRODUCTS", !products                       ? 0
                                : c->monoid == TALLY_MONOID_dot ? 1
                                                                : 2},
                   {"MAGNITUDES", tally_exact_has_magnitudes(c->desc.op)},
                   {"LEVELS", (unsigned)(products ? type->product_levels : type->levels)},
                   {"SIGNIFICAND", (unsigned)(products ? 2 * in->precision : in->precision)},
                   {"LIMBS", (unsigned)tally_cuda_exact_limbs(c)},
                   {"SUM_LIMBS", (unsigned)tally_cuda_exact_sum_limbs(c)},
                   {"ONE", in->one},
                   {"MINUS_ZERO", 1ULL << (in->bits - 1)},
                   {"FINISH_SUM", FINISH_SUM},
                   {"FINISH_MEAN", FINISH_MEAN},
                   {"FINISH_ROOT", FINISH_ROOT},
                   {"FINISH", (unsigned)finish_of(c->entry->exact)},
                   {"VECTORS", sizes->exact.vectors},
                   {"ROW_BLOCKS", c->in_bytes == 2 && !products ? NARROW_ROW_BLOCKS : ROW_BLOCKS},
                   {"REFUSED_WORDS", TALLY_GPU_REFUSED_WORDS},
                   {"GIVES_WORDS", c->gives_words},
                   {"TAKES_WORDS", c->takes_words},
                   {"WORDS_COUNT", c->words.count},
                   {"WORDS_DIGITS", (unsigned)c->words.numbers},
                   {"WORDS_SQUARES", (unsigned)c->words.squares}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %llu\n", choices[k].name, choices[k].value);
    tally_text_print(text, "#define BOTTOM (%d)\n#define SUM_BOTTOM (%d)\n",
                     (int)tally_layout_lowest(tally_exact_layout_of(c->desc.in, products)),
                     (int)tally_layout_lowest(tally_exact_layout_of(c->desc.in, false)));
    tally_text_print(text, "#define WORDS_TAG %lluull\n", (unsigned long long)c->words.tag);
    tally_cuda_exact_output(text, c->gives_words ? c->desc.in : c->desc.out);
}

void tally_cuda_exact_scan_choices(tally_text *text, const tally_computation *c) {
    const tally_cuda_scan_integer integer = tally_cuda_scan_integer_of(c);
    tally_text_print(text, "#define SCAN_WORDS %u\n#define SCAN_PRECISION %d\n", integer.words,
                     tally_dtypes[c->desc.in].format.precision);
    if (!c->in_window)
        tally_text_print(text, "#define SCAN_BOTTOM (%d)\n", integer.lowest);
    tally_cuda_exact_output(text, c->desc.out);
}
