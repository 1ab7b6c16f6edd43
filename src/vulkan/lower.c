/* Writes the function lower() of a monoid's kernels: the results of its operators from an accumulator. OPERATOR says
 * which of them a run has. */
#include "vulkan/lower.h"

#include "core/operator.h"

/* Component k as a number of the kind that it stands for. */
static void add_component(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic, int k,
                          bool is_signed) {
    const bool wide = arithmetic == TALLY_VULKAN_u64 || arithmetic == TALLY_VULKAN_u64d;
    if (tally_monoid_texts[monoid].kind == TALLY_CLASS_BITS && arithmetic == TALLY_VULKAN_u32)
        tally_text_print(text, "extend(uvec2(acc.a0, 0), IN), %s", is_signed ? "true" : "false");
    else if (tally_monoid_texts[monoid].kind == TALLY_CLASS_INDEXED && k == 1)
        tally_text_add(text, "minus(acc.a1, start), true");
    else if (monoid == TALLY_MONOID_nonzero || (wide && is_signed))
        tally_text_print(text, "int64_t(acc.a%d)", k);
    else
        tally_text_print(text, "acc.a%d", k);
}

/* The result of an operator whose accumulators these are. */
static void add_way_out(tally_text *text, tally_op op, tally_monoid monoid, tally_vulkan_arithmetic arithmetic,
                        bool is_signed) {
    const tally_monoid_text *m = &tally_monoid_texts[monoid];
    const char *lower = tally_operator_of(op)->lower;
    const int component = tally_lower_component(lower);
    const bool floats = arithmetic == TALLY_VULKAN_f32 || arithmetic == TALLY_VULKAN_f64;
    if (m->kind == TALLY_CLASS_VALUES) {
        if (floats) /* of no elements the smallest is above the largest */
            tally_text_add(text,
                           "    const bool has_none = SKIPS_NAN && !(acc.a0 <= acc.a1);\n"
                           "    if (has_none)\n"
                           "        return IS_SCAN ? result_t(infinity_bits(OUT), infinity_bits(OUT) | sign_bit(OUT))\n"
                           "                       : result_t(nan_bits(OUT), nan_bits(OUT));\n");
        tally_text_add(text, floats
                                 ? "    return result_t(plain_nan(output_of(acc.a0)), plain_nan(output_of(acc.a1)));\n"
                                 : "    return result_t(output_of(acc.a0), output_of(acc.a1));\n");
        return;
    }
    if (m->kind == TALLY_CLASS_MAGNITUDE && floats) {
        tally_text_add(text, "    return single(plain_nan(output_of(acc.a0)));\n");
        return;
    }
    if (m->kind == TALLY_CLASS_INDEXED && tally_vulkan_is_ordered(monoid, arithmetic))
        tally_text_add(text, "    if (SKIPS_NAN && (acc.a0 == last_value() || acc.a1 == NO_INDEX))\n"
                             "        return single(output_of_integer(wide(~0u), true));\n");
    if (component >= 0) {
        const bool ordered = tally_vulkan_is_ordered(monoid, arithmetic) && component == 0;
        const bool is_wide = (m->kind == TALLY_CLASS_INDEXED && component == 1) ||
                             (m->kind == TALLY_CLASS_BITS && arithmetic == TALLY_VULKAN_u32);
        tally_text_print(text, "    return single(output_of%s(", ordered ? "_ordered" : is_wide ? "_integer" : "");
        add_component(text, monoid, arithmetic, component, is_signed);
        tally_text_add(text, "));\n");
        return;
    }
    const bool flag = tally_operator_of(op)->result == TALLY_RESULT_FLAG;
    const char *const type = flag ? "int64_t" : arithmetic == TALLY_VULKAN_f32 ? "float" : "double";
    tally_text_print(text, "    const %s n = %s, ddof = %s(told_ddof);\n", type,
                     flag                             ? "int64_t(u64_of(count))"
                     : arithmetic == TALLY_VULKAN_f32 ? "float_of_count(count)"
                                                      : "double_of_integer(count, false)",
                     type);
    for (int k = 0; k < m->components; k++) {
        tally_text_print(text, "    const %s a%s = %s(", type, tally_vulkan_digit_of(m, k), type);
        add_component(text, monoid, arithmetic, k, is_signed);
        tally_text_add(text, ");\n");
    }
    tally_text_print(
        text, flag ? "    return single(output_of(%s(%s)));\n" : "    return single(plain_nan(output_of(%s(%s))));\n",
        type, lower);
}

/* Integer sums know whether they are signed by the type of the input. */
static bool depends_on_sign(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    if (arithmetic == TALLY_VULKAN_u32)
        return tally_monoid_texts[monoid].kind == TALLY_CLASS_BITS;
    return (arithmetic == TALLY_VULKAN_u64 || arithmetic == TALLY_VULKAN_u64d) && monoid != TALLY_MONOID_sumabs &&
           monoid != TALLY_MONOID_maxabs;
}

/* Whether exact mode of integers of some type takes the operator's mean or root of this monoid's sum. */
static bool rounds_integers(const tally_operator *entry, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    bool rounds = false;
    for (int type = TALLY_I8; type <= TALLY_U64; type++)
        rounds |= tally_monoid_of_integers(entry, (tally_dtype)type) == monoid;
    return rounds && arithmetic == TALLY_VULKAN_u64;
}

/* The way out of a sum in words, of integers.comp. */
static void add_integer(tally_text *text, const tally_operator *entry, tally_monoid monoid) {
    const int words = tally_monoid_texts[monoid].components;
    if (monoid == TALLY_MONOID_wide_moments) {
        tally_text_add(text, "    return single(integer_variance(words_of(acc.a0), uint64_t[2](acc.a1, acc.a2), "
                             "uint64_t[3](acc.a3, acc.a4, acc.a5)));\n");
        return;
    }
    const bool is_mean = entry->exact == TALLY_EXACTLY_MEAN;
    tally_text_print(text, "    return single(%s_of(integer(", is_mean ? "mean" : "root");
    for (int k = 0; k < 3; k++)
        tally_text_print(text, k < words ? "acc.a%d, " : "above(acc.a%d), ", k < words ? k : words - 1);
    tally_text_print(text, "0)%s));\n", is_mean ? ", count" : "");
}

void tally_vulkan_lower_add(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    tally_text_add(text, "result_t lower(acc_t acc, wide count, wide start) {\n");
    for (int op = 0; op < TALLY_USER; op++) {
        const tally_operator *entry = tally_operator_of((tally_op)op);
        if (rounds_integers(entry, monoid, arithmetic)) {
            tally_text_print(text, "    if (OPERATOR == %du)\n", op);
            add_integer(text, entry, monoid);
            continue;
        }
        const bool in_floats = tally_lower_component(entry->lower) < 0 && entry->result != TALLY_RESULT_FLAG;
        if (entry->monoid != monoid || (in_floats && arithmetic == TALLY_VULKAN_u64))
            continue;
        tally_text_print(text, "    if (OPERATOR == %du) {\n", op);
        if (depends_on_sign(monoid, arithmetic)) {
            tally_text_add(text, "    if (is_signed(IN)) {\n");
            add_way_out(text, (tally_op)op, monoid, arithmetic, true);
            tally_text_add(text, "    }\n");
        }
        add_way_out(text, (tally_op)op, monoid, arithmetic, false);
        tally_text_add(text, "    }\n");
    }
    tally_text_add(text, "    return single(wide(0));\n}\n");
}
