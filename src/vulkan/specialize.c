#include "vulkan/specialize.h"

#include <string.h>

#include "core/dtype.h"
#include "vulkan/arguments.h"
#include "vulkan/lower.h"
#include "vulkan/texts.h"

enum { LANE_LIMIT = 64 }; /* elements of f32w, of running_moments.comp, running_logsumexp.comp */

const char *const tally_vulkan_kernel_names[] = {
    "reduce",          "short_rows",       "slabs",          "tall_slabs",     "few_rows",      "narrow_columns",
    "spine",           "scan_rows",        "scan_once",      "scan_columns",   "sum_columns",   "fold_groups",
    "spine_of_groups", "groups_once",      "give_groups",    "give_rows",      "give_runs",     "give_long_runs",
    "segment_tiles",   "join_tiles",       "moment_rows",    "moment_columns", "moment_slabs",  "moment_tall",
    "moment_groups",   "moment_runs",      "short_segments", "tiled_segments", "long_segments", "clear_control",
    "clear_tiles",     "inspect_segments", "report",         "count_digits",   "place_digits",  "sort_by_digit",
    "pack_sorted",     "find_groups",      "find_indices",   "exact_rows",     "exact_merge",   "exact_segments",
    "exact_pieces",    "exact_join",       "count_heads",    "rank_heads",     "exact_runs",    "sum_chunks",
    "scan_sums",       "give_prefixes",    "find_window",    "mark_heads",     "check_window",  "scan_in_window"};

typedef struct choices {
    tally_vulkan_arithmetic arithmetic;
    tally_vulkan_slot slot;
    tally_vulkan_part part;
    const char *value, *kind;
    int has_double, has_int64, two_inputs, commutes, per_result, scans_once;
    int chooses, largest, gives_index, has_magnitudes, has_running, runs_moments, has_few, is_long, is_user;
} choices;

static const char *const type_names[] = {
#define TALLY_DTYPE(ENUMERATOR, ...) [TALLY_##ENUMERATOR] = #ENUMERATOR,
#include "core/dtypes.def"
};

static void add_choices(tally_text *text, const choices *c) {
    static const char *const kinds[] = {"BITS", "I32", "U32", "I64", "U64", "F32", "F64", "ORDER32", "ORDER64"};
    tally_vulkan_unpack_kernels();
    tally_text_print(text,
                     "#version 450\n#extension GL_EXT_buffer_reference : require\n"
                     "#extension GL_EXT_buffer_reference_uvec2 : require\n"
                     "#extension GL_EXT_control_flow_attributes : require\n"
                     "#extension GL_EXT_shader_8bit_storage : require\n"
                     "#extension GL_EXT_shader_16bit_storage : require\n"
                     "%s%s%s#define SHUFFLES %d\n#define HAS_INT64 %d\n",
                     c->is_user ? "" : "#extension GL_KHR_shader_subgroup_shuffle_relative : require\n",
                     c->scans_once ? "#extension GL_KHR_memory_scope_semantics : require\n" : "",
                     c->has_int64 ? "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n" : "",
                     !c->is_user, c->has_int64);
    for (int k = 1; k < TALLY_DTYPE_COUNT; k++)
        tally_text_print(text, "#define %s %du\n", type_names[k], k);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        tally_text_print(text, "#define KIND_%s %zu\n", kinds[k], k);
    tally_text_print(text, "#define VALUE %s\n#define VALUE_KIND %s\n#define HAS_DOUBLE %d\n", c->value, c->kind,
                     c->has_double);
    tally_text_print(text, "#define TWO_INPUTS %s\n#define COMMUTES %d\n#define PER_RESULT %d\n",
                     c->two_inputs ? "true" : "false", c->commutes, c->per_result);
    tally_text_print(text, "#define SCANS_ONCE %d\n", c->scans_once);
    tally_text_print(text, "#define CHOOSES %d\n#define LARGEST %s\n#define GIVES_INDEX %s\n", c->chooses,
                     c->largest ? "true" : "false", c->gives_index ? "true" : "false");
    tally_text_print(text, "#define MAGNITUDES %d\n", c->has_magnitudes);
    const bool has_short_lanes = !c->is_long || c->has_running;
    tally_text_print(text, "#define UNROLLED %s\n#define UNROLLED_LANES %s\n#define HAS_RUNNING %d\n",
                     c->is_long ? "" : "[[unroll]]", has_short_lanes ? "[[unroll]]" : "", c->has_running);
    tally_text_print(text, "#define UNROLL %du\n#define MOST_COLUMNS %d\n", has_short_lanes && !c->two_inputs ? 8 : 4,
                     c->is_user || c->has_running ? 1 : 4);
    tally_text_print(text, "#define RECORD_BYTES %u\n#define RECORD_ALIGNMENT 8\n", tally_vulkan_record_bytes(c->slot));
    tally_text_print(
        text, "#define SLOT_BYTES %u\n#define SLOT_ALIGNMENT %u\n#define LANE_LIMIT %uu\n#define TILE_SLOTS %uu\n",
        c->slot.bytes, c->slot.alignment, c->arithmetic == TALLY_VULKAN_f32w || c->has_running ? LANE_LIMIT : 1U << 30,
        tally_vulkan_tile_slots(c->slot));
    tally_text_print(text,
                     "#define ACCUMULATORS 0\n#define PLACES 1\n#define COUNTS 2\n#define PART_KIND %d\n"
                     "#define IS_LONG %d\n#define MOST_ITEMS %uu\n#define STAGED_SLOTS %uu\n#define RUNS_MOMENTS %d\n",
                     c->part.kind, c->is_long, tally_vulkan_most_items(c->part), tally_vulkan_staged_slots(c->part),
                     c->runs_moments);
}

/* What types are like, as functions of a type: bits of constants for questions that all types answer, and a choice
 * among the floats. */
static void add_types(tally_text *text) {
    unsigned logs = 0, is_signed = 0, is_float = 0;
    int last = 0;
    for (int t = 1; t < TALLY_DTYPE_COUNT; t++) {
        const unsigned bytes = tally_dtypes[t].bytes;
        logs |= (bytes == 8 ? 3U : bytes / 2) << 2 * t;
        is_signed |= (unsigned)tally_dtype_is_signed((tally_dtype)t) << t;
        is_float |= (unsigned)tally_dtype_is_float((tally_dtype)t) << t;
        last = tally_dtype_is_float((tally_dtype)t) ? t : last;
    }
    tally_text_print(text,
                     "uint log_bytes(uint type) {\n    return %uu >> 2u * type & 3u;\n}\n"
                     "bool is_signed(uint type) {\n    return (%uu >> type & 1u) != 0;\n}\n"
                     "bool is_float(uint type) {\n    return (%uu >> type & 1u) != 0;\n}\n",
                     logs, is_signed, is_float);
    static const char *const heads[] = {"uint significand_bits", "int lowest_exponent", "wide infinity_bits",
                                        "wide one_bits"};
    for (int f = 0; f < 4; f++) {
        tally_text_print(text, "%s(uint type) {\n    return ", heads[f]);
        for (int t = 1; t <= last; t++) {
            const tally_float_format *format = &tally_dtypes[t].format;
            if (!tally_dtype_is_float((tally_dtype)t))
                continue;
            if (t < last)
                tally_text_print(text, "type == %s ? ", type_names[t]);
            if (f == 0)
                tally_text_print(text, "%du", format->precision);
            else if (f == 1)
                tally_text_print(text, "%d", format->lowest);
            else
                tally_text_print(text, "wide(%uu, %uu)", (unsigned)(f == 2 ? format->infinity : format->one),
                                 (unsigned)((f == 2 ? format->infinity : format->one) >> 32));
            tally_text_add(text, t < last ? " : " : ";\n}\n");
        }
    }
}

/* What a NaN that is left out becomes, if there is an element that changes nothing. All NaNs may be left out of 'all'
 * as elements that are not 0, since n counts them, too. */
static void add_neutral(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const tally_monoid_class kind = tally_class_of(monoid);
    const bool is_logsumexp = monoid == TALLY_MONOID_logsumexp;
    const bool has_neutral = arithmetic < TALLY_VULKAN_exact32 && monoid != TALLY_MONOID_user &&
                             monoid != TALLY_MONOID_dot && (kind != TALLY_CLASS_FLOATS || is_logsumexp) &&
                             kind != TALLY_CLASS_VALUE && kind != TALLY_CLASS_VALUES && kind != TALLY_CLASS_INDEXED;
    tally_text_print(text, "#define HAS_NEUTRAL %d\n#define NEUTRAL_BITS ", has_neutral);
    if (kind == TALLY_CLASS_COUNT)
        tally_text_print(text, "(OPERATOR == %du ? one_bits(IN) : uvec2(0))\n", TALLY_ALL);
    else
        tally_text_add(text, is_logsumexp                  ? "(infinity_bits(IN) | sign_bit(IN))\n"
                             : monoid == TALLY_MONOID_prod ? "one_bits(IN)\n"
                                                           : "sign_bit(IN)\n");
}

static void add_prelude(tally_text *text) {
    tally_text_add(text, tally_vulkan_kernels_wide);
    add_types(text);
    tally_text_add(text, tally_vulkan_kernels_prelude);
    tally_text_add(text, tally_vulkan_kernels_floats);
    tally_text_add(text, tally_vulkan_kernels_values);
}

static const char one_lane[] = "#define lane_t acc_t\n#define lane_identity identity\n#define lane_lift lift\n"
                               "#define widen(lane) (lane)\n";

/* An accumulator of another thread of the subgroup. */
static void add_shuffle(tally_text *text, const char *A, const char *name, const char *direction, int components,
                        const tally_vulkan_components *t) {
    tally_text_print(text, "%s %s(%s a, uint d) {\n    return %s(", A, name, A, A);
    for (int k = 0; k < components; k++) {
        const bool is_wide = strstr(t->type[k], "int64_t") != NULL; /* a feature of its own */
        tally_text_print(text,
                         is_wide ? "%s%s(u64_of(subgroupShuffle%s(words_of(uint64_t(a.a%d)), d)))"
                                 : "%s%s(subgroupShuffle%s(a.a%d, d))",
                         k ? ", " : "", t->type[k], direction, k);
    }
    tally_text_add(text, ");\n}\n");
}
static void add_shuffles(tally_text *text, int components, const tally_vulkan_components *t) {
    add_shuffle(text, "acc_t", "shuffled_up", "Up", components, t);
    add_shuffle(text, "acc_t", "shuffled_down", "Down", components, t);
}

/* One of two of the same type. */
static void add_choice(tally_text *text, const char *A, int components, const char *const *types) {
    tally_text_print(text, "%s chosen(bool first, %s a, %s b) {\n    return %s(", A, A, A, A);
    for (int k = 0; k < components; k++)
        tally_text_print(text, "%smix(b.a%d, a.a%d, %s)", k ? ", " : "", k, k,
                         strcmp(types[k], "wide") == 0 || strcmp(types[k], "uvec2") == 0 ? "bvec2(first)" : "first");
    tally_text_add(text, ");\n}\n");
}

/* A part of a tile (group_tiles.comp), where it is no accumulator. */
static void add_part(tally_text *text, const tally_vulkan_part *part, const tally_vulkan_components *t) {
    tally_vulkan_components own = *t;
    const int components = part->kind == TALLY_VULKAN_PLACES ? 2 : 1;
    if (part->kind == TALLY_VULKAN_ACCUMULATORS)
        return;
    own.type[components - 1] = "uint";
    tally_text_add(text, "struct part_t {\n");
    for (int k = 0; k < components; k++)
        tally_text_print(text, "    %s a%d;\n", own.type[k], k);
    tally_text_add(text, "};\n");
    add_choice(text, "part_t", components, own.type);
    add_shuffle(text, "part_t", "part_shuffled_up", "Up", components, &own);
}

/* 'A' is acc_t or lane_t; functions of the lane's have names that begin so. */
static void add_functions(tally_text *text, const tally_monoid_text *m, const tally_vulkan_components *t, const char *A,
                          const char *prefix) {
    tally_text_print(text, "struct %s {\n", A);
    for (int k = 0; k < m->components; k++)
        tally_text_print(text, "    %s a%d;\n", t->type[k], k);
    tally_text_print(text, "};\n%s %sidentity() {\n    return %s(", A, prefix, A);
    for (int k = 0; k < m->components; k++)
        tally_text_print(text, "%s%s(%s)", k ? ", " : "", t->type[k], m->component[k].identity);
    tally_text_print(text, ");\n}\n%s %slift(VALUE x, VALUE y, wide i) {\n    return %s(", A, prefix, A);
    for (int k = 0; k < m->components; k++)
        tally_text_print(text, "%s%s(%s)", k ? ", " : "", t->type[k], m->component[k].lift);
    tally_text_print(text, ");\n}\n%s combine(%s left, %s right) {\n", A, A, A);
    for (int k = 0; k < m->components; k++) {
        const char *const digit = tally_vulkan_digit_of(m, k);
        tally_text_print(text, "    const %s a%s = left.a%d, b%s = right.a%d;\n", t->type[k], digit, k, digit, k);
    }
    /* The moments subtract what they have just added, to find what rounding lost. A compiler may cancel the two, unless
     * the result is precise. */
    tally_text_print(text, "    %s %s both = %s(", m->kind == TALLY_CLASS_FLOATS ? "precise" : "const", A, A);
    for (int k = 0; k < m->components; k++)
        tally_text_print(text, "%s%s(%s)", k ? ", " : "", t->type[k], m->component[k].combine);
    tally_text_add(text, ");\n    return both;\n}\n");
}

/* A lane has fewer than 2^32 elements, so 32 bits count them. */
static void add_lane_of_counts(tally_text *text, const tally_monoid_text *m, const tally_vulkan_components *t) {
    tally_vulkan_components narrow = *t;
    narrow.type[0] = "uint";
    add_functions(text, m, &narrow, "lane_t", "lane_");
    add_choice(text, "lane_t", 1, narrow.type);
    tally_text_print(text, "acc_t widen(lane_t lane) {\n    return acc_t(%s(lane.a0));\n}\n", t->type[0]);
}

static void add_monoid(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const tally_monoid_text *m = &tally_monoid_texts[monoid];
    const tally_vulkan_components t = tally_vulkan_components_of(monoid, arithmetic);
    const tally_vulkan_part part = tally_vulkan_part_of(monoid, arithmetic);
    if (arithmetic != TALLY_VULKAN_f32w) {
        add_functions(text, m, &t, "acc_t", "");
        add_shuffles(text, m->components, &t);
        add_choice(text, "acc_t", m->components, t.type);
        add_part(text, &part, &t);
        if (monoid == TALLY_MONOID_logsumexp)
            tally_text_add(text, tally_vulkan_kernels_running_logsumexp);
        else if (tally_vulkan_has_running(monoid))
            tally_text_print(text, "#define POWERS %d\n%s", m->components - 2, tally_vulkan_kernels_running_moments);
        else if (m->kind == TALLY_CLASS_COUNT)
            add_lane_of_counts(text, m, &t);
        else
            tally_text_add(text, one_lane);
        return;
    }
    const tally_vulkan_components narrow = tally_vulkan_components_of(monoid, TALLY_VULKAN_f32);
    add_functions(text, m, &narrow, "lane_t", "lane_");
    tally_text_print(text,
                     "struct acc_t {\n    double a0;\n};\nacc_t identity() {\n    return acc_t(double(%s));\n}\n"
                     "acc_t combine(acc_t left, acc_t right) {\n    const double a = left.a0, b = right.a0;\n"
                     "    return acc_t(%s);\n}\nacc_t widen(lane_t lane) {\n    return acc_t(double(lane.a0));\n}\n",
                     m->component[0].identity, m->component[0].combine);
    add_shuffles(text, 1, &t);
    add_choice(text, "acc_t", 1, t.type);
    add_choice(text, "lane_t", 1, narrow.type);
}

static bool has_two_inputs(const tally_operator *entry) {
    return (entry->traits & TALLY_OPERATOR_TWO_INPUTS) != 0;
}
static bool has_magnitudes(const tally_operator *entry) {
    return entry->exact == TALLY_EXACTLY_SUM && entry->monoid == TALLY_MONOID_sumabs;
}
static bool gives_mean(const tally_operator *entry) {
    return entry->exact == TALLY_EXACTLY_MEAN;
}
static bool gives_root(const tally_operator *entry) {
    return entry->exact == TALLY_EXACTLY_ROOT;
}
static bool gives_deviation(const tally_operator *entry) {
    return entry->exact == TALLY_EXACTLY_DEVIATION;
}

/* A condition that holds if OPERATOR is one of those with a trait. */
static void add_question(tally_text *text, const char *name, bool (*holds)(const tally_operator *)) {
    const char *before = "(";
    tally_text_print(text, "#define %s ", name);
    for (int op = 0; op < TALLY_USER; op++)
        if (holds(tally_operator_of((tally_op)op))) {
            tally_text_print(text, "%sOPERATOR == %du", before, op);
            before = " || ";
        }
    tally_text_add(text, ")\n");
}

static void add_lower(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    tally_text_add(text, tally_vulkan_kernels_integers);
    if (monoid == TALLY_MONOID_wide_moments) {
        add_question(text, "GIVES_DEVIATION", gives_deviation);
        tally_text_add(text, tally_vulkan_kernels_integer_digits);
        tally_text_add(text, tally_vulkan_kernels_digits);
        tally_text_add(text, tally_vulkan_kernels_variance);
        tally_text_add(text, tally_vulkan_kernels_integer_variance);
    }
    if (arithmetic == TALLY_VULKAN_f64r)
        add_question(text, "GIVES_DEVIATION", gives_deviation);
    tally_vulkan_lower_add(text, monoid, arithmetic);
}

static void add_raise(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    bool takes_initial = false;
    for (int op = 0; op < TALLY_USER; op++) {
        const tally_operator *entry = tally_operator_of((tally_op)op);
        takes_initial |= entry->monoid == monoid && (entry->traits & TALLY_OPERATOR_TAKES_INITIAL);
    }
    tally_text_add(text, "acc_t raise(uvec2 bits) {\n");
    if (!takes_initial || arithmetic == TALLY_VULKAN_f32w)
        tally_text_add(text, "    return identity();\n}\n");
    else if (tally_vulkan_is_ordered(monoid, arithmetic))
        tally_text_add(text, "    return acc_t(ordered_of_bits(bits, OUT));\n}\n");
    else if (arithmetic == TALLY_VULKAN_f32)
        tally_text_add(text, "    return acc_t(uintBitsToFloat(convert_float(bits, OUT, F32).x));\n}\n");
    else if (arithmetic == TALLY_VULKAN_f64)
        tally_text_add(text, "    return acc_t(packDouble2x32(convert_float(bits, OUT, F64)));\n}\n");
    else
        tally_text_print(text, "    return acc_t(%s(%s));\n}\n", tally_vulkan_values[arithmetic].value,
                         tally_vulkan_values[arithmetic].bytes == 8 ? "u64_of(extend(bits, OUT))"
                                                                    : "extend(bits, OUT).x");
}

/* Kernels are functions without arguments, of which entries.c makes entry points. The compiler keeps what main calls.
 */
static void add_main(tally_text *text, const bool leaves_out[TALLY_VULKAN_KERNEL_COUNT], int first, int end) {
    tally_text_add(text, "void main() {\n");
    for (int k = first; k < end; k++)
        if (!leaves_out[k])
            tally_text_print(text, "    %s();\n", tally_vulkan_kernel_names[k]);
    tally_text_add(text, "}\n");
}

static void add_exact(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const bool by_levels = tally_vulkan_is_by_levels(arithmetic);
    const bool wide = arithmetic == TALLY_VULKAN_exact64 || arithmetic == TALLY_VULKAN_exact64f;
    const bool has_moments = monoid == TALLY_MONOID_moments;
    const tally_vulkan_numbers n = tally_vulkan_numbers_of(monoid, wide ? TALLY_F64 : TALLY_F32);
    tally_text_print(text,
                     "#define PRODUCTS %d\n#define HAS_MOMENTS %d\n#define WIDE %d\n#define BY_LEVELS %d\n"
                     "#define LIMBS %du\n#define BOTTOM (%d)\n#define SUM_LIMBS %du\n#define SUM_BOTTOM (%d)\n"
                     "#define LEAST_TEAM %uu\n",
                     monoid != TALLY_MONOID_sum, has_moments, wide, by_levels, n.limbs, n.lowest, n.sum_limbs,
                     n.sum_lowest, n.least_team);
    add_question(text, "TAKES_TWO_INPUTS", has_two_inputs);
    add_question(text, "TAKES_MAGNITUDES", has_magnitudes);
    add_question(text, "GIVES_MEAN", gives_mean);
    add_question(text, "GIVES_ROOT", gives_root);
    add_question(text, "GIVES_DEVIATION", gives_deviation);
    const char *const kernels[] = {tally_vulkan_kernels_arguments,
                                   tally_vulkan_kernels_control,
                                   tally_vulkan_kernels_exact_words,
                                   by_levels ? tally_vulkan_kernels_exact_levels : tally_vulkan_kernels_exact_window,
                                   tally_vulkan_kernels_exact_digits,
                                   tally_vulkan_kernels_digits,
                                   has_moments ? tally_vulkan_kernels_variance : "",
                                   tally_vulkan_kernels_exact_round,
                                   tally_vulkan_kernels_exact,
                                   tally_vulkan_kernels_exact_keys};
    add_prelude(text);
    tally_vulkan_arguments_add(text);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        tally_text_add(text, kernels[k]);
    add_main(text, (const bool[TALLY_VULKAN_KERNEL_COUNT]){false}, TALLY_VULKAN_EXACT_ROWS, TALLY_VULKAN_SUM_CHUNKS);
}

static void add_exact_scan(tally_text *text, tally_vulkan_arithmetic arithmetic) {
    const tally_vulkan_scan_integer integer = tally_vulkan_scan_integer_of(arithmetic);
    const char *const kernels[] = {tally_vulkan_kernels_arguments, tally_vulkan_kernels_control,
                                   tally_vulkan_kernels_exact_prefixes, tally_vulkan_kernels_digits,
                                   tally_vulkan_kernels_exact_scan};
    tally_text_print(text, "#define SCAN_WORDS %uu\n#define SCAN_BOTTOM (%d)\n", integer.words,
                     tally_dtypes[integer.type].format.lowest);
    add_prelude(text);
    tally_vulkan_arguments_add(text);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        tally_text_add(text, kernels[k]);
    add_main(text, (const bool[TALLY_VULKAN_KERNEL_COUNT]){false}, TALLY_VULKAN_SUM_CHUNKS, TALLY_VULKAN_FIND_WINDOW);
}

static void add_scan_in_window(tally_text *text, tally_vulkan_arithmetic arithmetic) {
    tally_text_print(text, "#define WINDOW_WORDS %u\n", tally_vulkan_window_words(arithmetic));
    add_prelude(text);
    tally_vulkan_arguments_add(text);
    tally_text_add(text, tally_vulkan_kernels_arguments);
    tally_text_add(text, tally_vulkan_kernels_control);
    tally_text_add(text, tally_vulkan_kernels_scan_window);
    tally_text_add(text, tally_vulkan_kernels_scan_in_window);
    add_main(text, (const bool[TALLY_VULKAN_KERNEL_COUNT]){false}, TALLY_VULKAN_FIND_WINDOW, TALLY_VULKAN_KERNEL_COUNT);
}

static void add_kernels(tally_text *text, const choices *made, bool has_services) {
    const bool is_user = made->is_user, by_teams = !is_user && !made->runs_moments;
    const char *const kernels[] = {tally_vulkan_kernels_arguments,
                                   tally_vulkan_kernels_slots,
                                   tally_vulkan_kernels_reduce,
                                   tally_vulkan_kernels_short_rows,
                                   is_user ? "" : tally_vulkan_kernels_slabs,
                                   made->has_few ? tally_vulkan_kernels_narrow_columns : "",
                                   tally_vulkan_kernels_spine,
                                   tally_vulkan_kernels_scan_rows,
                                   made->has_few ? tally_vulkan_kernels_few_rows : "",
                                   tally_vulkan_kernels_scan_once,
                                   tally_vulkan_kernels_scan_columns,
                                   tally_vulkan_kernels_control,
                                   made->runs_moments ? tally_vulkan_kernels_moments : "",
                                   tally_vulkan_kernels_heads,
                                   tally_vulkan_kernels_groups,
                                   tally_vulkan_kernels_groups_once,
                                   made->runs_moments ? "" : tally_vulkan_kernels_group_tiles,
                                   made->runs_moments ? "" : tally_vulkan_kernels_runs,
                                   made->runs_moments ? "" : tally_vulkan_kernels_long_runs,
                                   made->runs_moments ? tally_vulkan_kernels_moment_tiles : "",
                                   made->runs_moments ? tally_vulkan_kernels_moment_columns : "",
                                   made->runs_moments ? "" : tally_vulkan_kernels_join_tiles,
                                   made->has_running ? "" : tally_vulkan_kernels_segment_tiles,
                                   by_teams ? tally_vulkan_kernels_segments : "",
                                   by_teams ? tally_vulkan_kernels_tiled_segments : "",
                                   has_services ? tally_vulkan_kernels_labels : ""};
    tally_vulkan_arguments_add(text);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        tally_text_add(text, kernels[k]);
    bool leaves_out[TALLY_VULKAN_KERNEL_COUNT] = {[TALLY_VULKAN_SCAN_ONCE] = !made->scans_once,
                                                  [TALLY_VULKAN_GROUPS_ONCE] = !made->scans_once,
                                                  [TALLY_VULKAN_SLABS] = is_user,
                                                  [TALLY_VULKAN_TALL_SLABS] = !made->has_few,
                                                  [TALLY_VULKAN_FEW_ROWS] = !made->has_few,
                                                  [TALLY_VULKAN_NARROW_COLUMNS] = !made->has_few,
                                                  [TALLY_VULKAN_SEGMENT_TILES] = made->has_running,
                                                  [TALLY_VULKAN_SHORT_SEGMENTS] = !by_teams,
                                                  [TALLY_VULKAN_TILED_SEGMENTS] = !by_teams,
                                                  [TALLY_VULKAN_LONG_SEGMENTS] = !by_teams};
    for (int k = TALLY_VULKAN_COUNT_DIGITS; k < TALLY_VULKAN_EXACT_ROWS; k++)
        leaves_out[k] = !has_services;
    for (int k = 0; k < TALLY_VULKAN_EXACT_ROWS; k++) {
        const bool is_of_moments = k >= TALLY_VULKAN_MOMENT_ROWS && k <= TALLY_VULKAN_MOMENT_RUNS;
        leaves_out[k] |= made->runs_moments ? !is_of_moments && k != TALLY_VULKAN_FOLD_GROUPS : is_of_moments;
    }
    add_main(text, leaves_out, 0, TALLY_VULKAN_EXACT_ROWS);
}

void tally_vulkan_specialize(tally_text *text, tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const bool ordered = tally_vulkan_is_ordered(monoid, arithmetic);
    const choices made = {.arithmetic = arithmetic,
                          .value = tally_vulkan_value_of(monoid, arithmetic),
                          .kind = !ordered                         ? tally_vulkan_values[arithmetic].kind
                                  : arithmetic == TALLY_VULKAN_f32 ? "KIND_ORDER32"
                                                                   : "KIND_ORDER64",
                          .slot = tally_vulkan_slot_of(monoid, arithmetic),
                          .part = tally_vulkan_part_of(monoid, arithmetic),
                          .has_double = tally_vulkan_has_double(arithmetic),
                          .has_int64 = tally_vulkan_has_int64(monoid, arithmetic),
                          .two_inputs = monoid == TALLY_MONOID_dot,
                          .commutes = 1,
                          .per_result = tally_monoid_texts[monoid].kind == TALLY_CLASS_VALUES ? 2 : 1,
                          .scans_once =
                              tally_vulkan_scans_once(monoid, arithmetic) || tally_vulkan_is_in_window(arithmetic),
                          .chooses = tally_vulkan_chooses(monoid),
                          .largest = monoid == TALLY_MONOID_max || monoid == TALLY_MONOID_argmax,
                          .gives_index = tally_monoid_texts[monoid].kind == TALLY_CLASS_INDEXED,
                          .has_magnitudes = tally_monoid_texts[monoid].kind == TALLY_CLASS_MAGNITUDE,
                          .has_running = tally_vulkan_has_running(monoid),
                          .runs_moments = arithmetic == TALLY_VULKAN_f64r,
                          .has_few = tally_vulkan_has_few(monoid),
                          .is_long = tally_monoid_texts[monoid].kind == TALLY_CLASS_FLOATS};
    add_choices(text, &made);
    add_neutral(text, monoid, arithmetic);
    if (tally_vulkan_is_in_window(arithmetic)) {
        add_scan_in_window(text, arithmetic);
        return;
    }
    if (arithmetic >= TALLY_VULKAN_scan32) {
        add_exact_scan(text, arithmetic);
        return;
    }
    if (arithmetic >= TALLY_VULKAN_exact32) {
        add_exact(text, monoid, arithmetic);
        return;
    }
    add_prelude(text);
    add_monoid(text, monoid, arithmetic);
    add_lower(text, monoid, arithmetic);
    add_raise(text, monoid, arithmetic);
    add_kernels(text, &made, monoid == TALLY_VULKAN_SERVICE_MONOID && arithmetic == TALLY_VULKAN_SERVICE_ARITHMETIC);
}

void tally_vulkan_specialize_user(tally_text *text, const char *functions, tally_vulkan_slot slot,
                                  tally_vulkan_arithmetic arithmetic, bool has_double, bool commutes) {
    const choices made = {.arithmetic = arithmetic,
                          .value = tally_vulkan_values[arithmetic].value,
                          .kind = tally_vulkan_values[arithmetic].kind,
                          .slot = slot,
                          .part = {TALLY_VULKAN_ACCUMULATORS, slot.bytes, true},
                          .has_double = has_double,
                          .has_int64 = 1,
                          .commutes = commutes,
                          .per_result = 1,
                          .is_long = 1,
                          .is_user = 1};
    add_choices(text, &made);
    add_neutral(text, TALLY_MONOID_user, arithmetic);
    add_prelude(text);
    tally_text_add(text, tally_vulkan_kernels_user);
    tally_text_add(text, functions);
    tally_text_add(text, one_lane);
    tally_text_add(text, "acc_t raise(uvec2 bits) {\n    return identity();\n}\n");
    add_kernels(text, &made, false);
}
