#include "cuda/specialize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/status.h"
#include "cuda/accumulator.h"
#include "cuda/arguments.h"
#include "cuda/prune.h"
#include "cuda/specialize_exact.h"
#include "cuda/states.h"
#include "cuda/texts.h"
#include "gpu/expressions.h"
#include "gpu/plan.h"

const char *const tally_cuda_options[] = {"--std=c++20", "--device-as-default-execution-space"};
const size_t tally_cuda_option_count = sizeof tally_cuda_options / sizeof *tally_cuda_options;

/* ---- the functions of one operator ---- */

/* acc_t and lane_t: one type if their components are. */
static void add_accumulators(tally_text *text, int components, const tally_cuda_accumulator *t) {
    const char *const *types[] = {t->acc, t->lane};
    const char *const names[] = {"acc_t", "lane_t"};
    for (int j = 0; j < components; j++)
        tally_text_print(text, "%sclass C%d", j ? ", " : "template <", j);
    tally_text_add(text, "> struct components {\n");
    for (int j = 0; j < components; j++)
        tally_text_print(text, "    C%d a%d;\n", j, j);
    tally_text_add(text, "};\n");
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < components; j++)
            tally_text_print(text, "%s%s", j ? ", " : "typedef components<", types[k][j]);
        tally_text_print(text, "> %s;\n", names[k]);
    }
}

/* template <class A> ...: for acc_t and lane_t. 'T' is the domain of HIGHEST and LOWEST. */
static void add_monoid(tally_text *text, const tally_computation *c, const tally_cuda_accumulator *t) {
    const tally_monoid_text *m = tally_cuda_monoid(c);
    const char *neutral;
    const tally_cuda_skipping skipping = tally_cuda_skipping_of(c, &neutral);
    const bool counts = tally_cuda_counts_elements(c);
    const int last = m->components;
    add_accumulators(text, m->components + counts, t);
    tally_text_print(text, "template <class A> inline A identity_as() {\n    typedef %s T;\n    A r;\n", t->domain);
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(T)(%s);\n", j, j,
                         strcmp(m->component[j].identity, "NO_INDEX") == 0 ? "0"
                         : skipping == TALLY_CUDA_NAN_IS_IDENTITY          ? "NOT_A_NUMBER"
                                                                           : m->component[j].identity);
    for (int j = 0; j < m->components; j++)
        if (strcmp(m->component[j].identity, "NO_INDEX") == 0)
            tally_text_print(text, "    r.a%d = (decltype(r.a%d))NO_INDEX;\n", j, j);
    if (counts)
        tally_text_print(text, "    r.a%d = 0;\n", last);
    tally_text_add(text, "    return r;\n}\n");
    tally_text_print(text,
                     "template <class A> struct lifted {\n    typedef %s type;\n};\n"
                     "template <> struct lifted<acc_t> {\n    typedef %s type;\n};\n",
                     t->lifted_lane ? t->lifted_lane : t->lane[0], t->lifted ? t->lifted : t->acc[0]);
    tally_text_add(text, "template <class A> inline A lift_as(value_t value, value_t partner, uint64 i) {\n"
                         "    const typename lifted<A>::type x = (typename lifted<A>::type)value, "
                         "y = (typename lifted<A>::type)partner;\n    A r;\n");
    if (skipping == TALLY_CUDA_LIFTS_NANS)
        tally_text_add(text, "    if (is_nan(value) || (HAS_SECOND && is_nan(partner)))\n"
                             "        return identity_as<A>();\n");
    if (counts)
        tally_text_print(text, "    r.a%d = 1;\n", last);
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(%s);\n", j, j, m->component[j].lift);
    tally_text_add(text, "    return r;\n}\ntemplate <class A> inline A combine(A left, A right) {\n    A r;\n");
    for (int j = 0; j < m->components; j++)
        if (m->components == 1)
            tally_text_add(text, "    const auto a = left.a0, b = right.a0;\n");
        else
            tally_text_print(text, "    const auto a%d = left.a%d, b%d = right.a%d;\n", j, j, j, j);
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(%s);\n", j, j, m->component[j].combine);
    if (counts)
        tally_text_print(text, "    r.a%d = left.a%d + right.a%d;\n", last, last, last);
    tally_text_add(text, "    return r;\n}\ninline acc_t widen(lane_t lane) {\n    acc_t r;\n");
    for (int j = 0; j < m->components + counts; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))lane.a%d;\n", j, j, j);
    tally_text_add(text, "    return r;\n}\n");
}

/* A component as the type that its bits stand for. */
static void add_component(tally_text *text, const tally_computation *c, int component) {
    bool is_signed =
        tally_dtype_is_signed(c->desc.in) && c->monoid != TALLY_MONOID_sumabs && c->monoid != TALLY_MONOID_maxabs;
    const tally_monoid_text *m = tally_cuda_monoid(c);
    bool counts = m->kind == TALLY_CLASS_COUNT;
    if (m->kind == TALLY_CLASS_INDEXED && component == 1)
        tally_text_print(text, "%s(int64)(acc.a%d%s)", c->skips_nan ? "is_nan(acc.a0) ? -1 : " : "", component,
                         c->gives_places ? "" : " - start");
    else if (m->components == 1 && !tally_dtype_is_float(c->desc.acc) && (is_signed || counts))
        tally_text_print(text, "(int64)widest(acc.a%d)", component);
    else
        tally_text_print(text, "widest(acc.a%d)", component);
}

/* Whether results are floats that did not round, whose zeros and NaNs exact mode promises bit for bit. In fast mode
 * that would cost instructions. */
static bool is_exact_extremum(const tally_computation *c) {
    return c->desc.mode == TALLY_EXACT && !c->exact && c->entry && c->entry->result != TALLY_RESULT_INDEX &&
           tally_dtype_is_float(c->desc.acc);
}

/* The way out of a sum in words, of integers.cu. */
static void add_lower_integer(tally_text *text, const tally_computation *c) {
    const int components = tally_monoid_texts[c->monoid].components;
    if (c->monoid == TALLY_MONOID_wide_moments) {
        tally_cuda_exact_output(text, c->desc.out);
        tally_text_add(text, tally_cuda_kernels_exact_bits);
        tally_text_add(text, tally_cuda_kernels_digits);
        tally_text_add(text, tally_cuda_kernels_variance);
        tally_text_add(text, tally_cuda_kernels_integer_variance);
        tally_text_print(text,
                         "inline result_t lower(acc_t acc, uint64, uint64) {\n"
                         "    return integer_variance(acc.a0, acc.a1, acc.a2, {acc.a3, acc.a4, acc.a5}, %d);\n}\n",
                         tally_dtype_is_signed(c->desc.in));
        return;
    }
    tally_text_add(text, tally_cuda_kernels_integers);
    tally_text_print(text, "inline result_t lower(acc_t acc, uint64 count, uint64) {\n    const magnitude<%d> sum = {{",
                     components);
    for (int j = 0; j < components; j++)
        tally_text_print(text, "%sacc.a%d", j ? ", " : "", j);
    tally_text_add(text, "}, 0};\n");
    if (c->entry->exact == TALLY_EXACTLY_MEAN)
        tally_text_print(text, "    return mean_of(sum, %d, count);\n}\n", tally_dtype_is_signed(c->desc.in));
    else
        tally_text_add(text, "    return root_of(sum);\n}\n");
}

static void add_lower(tally_text *text, const tally_computation *c, const tally_cuda_accumulator *t) {
    const tally_monoid_text *m = tally_cuda_monoid(c);
    const char *lower = tally_cuda_lower(c);
    int component = tally_lower_component(lower);
    /* of lane_t, too: it needs fewer conversions */
    const bool of_lanes = c->per_result == 2 || component >= 0 || c->entry->result == TALLY_RESULT_FLAG;
    tally_text_print(text, "%sinline result_t lower(%s acc, uint64 count, uint64 start) {\n",
                     of_lanes ? "template <class A> " : "", of_lanes ? "A" : "acc_t");
    const char *convert = is_exact_extremum(c) ? "output_of_real<out_t>" : "output<out_t>::of";
    if (c->per_result == 2) {
        tally_text_print(text, "    return {%s(widest(acc.a0)), %s(widest(acc.a1))};\n}\n", convert, convert);
        return;
    }
    if (component >= 0) {
        tally_text_print(text, "    return %s(", convert);
        add_component(text, c, component);
        tally_text_add(text, ");\n}\n");
        return;
    }
    char counted[16] = "count";
    if (tally_cuda_counts_elements(c))
        snprintf(counted, sizeof counted, "acc.a%d", m->components);
    tally_text_print(text, "    [[maybe_unused]] const double n = (double)%s, ddof = %d;\n", counted, c->desc.ddof);
    const bool is_float_root = c->desc.op == TALLY_NORM2 && strcmp(t->acc[0], "float") == 0;
    const char *const real = m->kind == TALLY_CLASS_FLOATS || is_float_root ? t->acc[0] : "double";
    for (int j = 0; j < m->components; j++) {
        if (m->components == 1)
            tally_text_print(text, "    const %s a = (%s)", real, real);
        else
            tally_text_print(text, "    const %s a%d = (%s)", real, j, real);
        add_component(text, c, j);
        tally_text_add(text, ";\n");
    }
    bool whole = c->entry->result == TALLY_RESULT_FLAG || c->entry->result == TALLY_RESULT_INDEX;
    tally_text_print(text, "    return %s(%s));\n}\n", whole ? "output<out_t>::of((int64)" : "output_of_real<out_t>(",
                     lower);
}

static void add_raise(tally_text *text, const tally_computation *c) {
    tally_text_add(text, "inline acc_t raise(out_t initial) {\n");
    if (tally_has_trait(c, TALLY_OPERATOR_TAKES_INITIAL)) {
        bool integer = !tally_dtype_is_float(c->desc.acc) && !tally_dtype_is_float(c->desc.out);
        tally_text_print(text, "    acc_t r;\n    r.a0 = (decltype(r.a0))%s(number_of(initial));\n    return r;\n}\n",
                         integer ? "widest" : "");
    } else {
        tally_text_add(text, "    return identity_as<acc_t>();\n}\n");
    }
}

/* A user's operator: the header's five texts, over its names. It stands before all else, so that no macro of the
 * kernels changes a name in it, and its functions have names that no text has. */
static void add_user(tally_text *text, const tally_computation *c) {
    const tally_user_op *const user = &c->user;
    const tally_dtype value = tally_dtype_value(c->desc.in);
    /* Large ones inlined everywhere would take minutes to compile. */
    const char *const is_inline = user->acc_bytes > 32 ? "__noinline__" : "inline";
    tally_text_print(text,
                     TALLY_CUDA_BEGINS_USER
                     "namespace user {\ntypedef signed char int8_t;\ntypedef short int16_t;\ntypedef int int32_t;\n"
                     "typedef long long int64_t;\ntypedef unsigned char uint8_t;\ntypedef unsigned short uint16_t;\n"
                     "typedef unsigned int uint32_t;\ntypedef unsigned long long uint64_t;\n#line 1 \"acc\"\n%s\n"
                     "static_assert(sizeof(acc_t) <= %zu, \"the accumulator is larger than acc_bytes\");\n",
                     user->acc_source, user->acc_bytes);
    tally_text_print(text, "%s acc_t tally_identity() {\n    return (\n#line 1 \"identity\"\n%s\n);\n}\n", is_inline,
                     user->identity_source);
    tally_text_print(text,
                     "%s acc_t tally_lift(const %s%s x, const uint64_t index) {\n"
                     "    return (\n#line 1 \"lift\"\n%s\n);\n}\n",
                     is_inline, tally_cuda_element_type(value), tally_dtype_is_float(value) ? "" : "_t",
                     user->lift_source);
    tally_text_print(text,
                     "%s acc_t tally_combine(const acc_t left, const acc_t right) {\n"
                     "    return (\n#line 1 \"combine\"\n%s\n);\n}\n",
                     is_inline, user->combine_source);
    tally_text_print(text,
                     "%s auto tally_lower(const acc_t acc, const uint64_t count) {\n"
                     "    return (\n#line 1 \"lower\"\n%s\n);\n}\n}\n" TALLY_CUDA_ENDS_USER,
                     is_inline, user->lower_source);
}

/* What the operator table's have, of those. */
static const char user_monoid[] =
    "struct alignas(16) acc_t : user::acc_t {\n    acc_t() = default;\n"
    "    acc_t(const user::acc_t &from) : user::acc_t(from) {}\n};\ntypedef acc_t lane_t;\n"
    "template <class A> inline A identity_as() {\n    return user::tally_identity();\n}\n"
    "template <class A> inline A lift_as(value_t x, value_t, uint64 i) {\n    return user::tally_lift(x, i);\n}\n"
    "inline acc_t combine(acc_t left, acc_t right) {\n    return user::tally_combine(left, right);\n}\n"
    "inline acc_t widen(acc_t lane) {\n    return lane;\n}\n"
    "inline result_t lower(acc_t acc, uint64 count, uint64) {\n"
    "    return output<out_t>::of(widest(user::tally_lower(acc, count)));\n}\n";

/* ---- the whole text ---- */

/* The highest power of the moments, whose components are it and a mean in two parts; 0 of other monoids. */
static int moments_of(const tally_computation *c) {
    const tally_monoid_text *m = &tally_monoid_texts[c->monoid];
    return c->entry && m->kind == TALLY_CLASS_FLOATS && c->monoid != TALLY_MONOID_logsumexp ? m->components - 2 : 0;
}

static void add_choices(tally_text *text, const tally_computation *c, const tally_cuda_sizes *s, int architecture,
                        int lane_limit) {
    bool two = tally_has_trait(c, TALLY_OPERATOR_TWO_INPUTS);
    bool grouped = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
    bool folds = grouped && !tally_is_scan(c) && !c->exact && !c->words.count;
    const char *neutral;
    const struct {
        const char *name;
        long value;
    } choices[] = {{"TALLY_ARCHITECTURE", architecture},
                   {"ALL", TALLY_ALL_VALUES},
                   {"ROWS", TALLY_AXIS},
                   {"SEGMENTS", TALLY_SEGMENTS},
                   {"KEYS", TALLY_KEYS},
                   {"LABELS", TALLY_LABELS},
                   {"GROUPS", c->desc.grouping},
                   {"IS_SCAN", tally_is_scan(c)},
                   {"INCLUSIVE", c->desc.form == TALLY_INCLUSIVE_SCAN},
                   {"REVERSE", c->reverse},
                   {"HAS_SECOND", two},
                   {"IS_USER", !c->entry},
                   {"COMMUTES", c->entry ? 1 : c->user.commutes != 0},
                   {"LANE_LIMIT", lane_limit},
                   {"SLOT_BYTES", s->slot_bytes},
                   {"HANDED_BYTES", s->handed_bytes},
                   {"RECORD_BYTES", s->record_bytes},
                   {"ENTRY_BYTES", s->entry_bytes},
                   {"CLUSTER_THREADS", s->cluster_threads},
                   {"COLUMN_WIDTH", s->column_width},
                   {"THIN_WIDTH", s->thin_width},
                   {"COLUMN_PACKS", tally_cuda_column_packs(c, architecture)},
                   {"PACKS_MAGNITUDES", (c->monoid == TALLY_MONOID_sumabs || c->monoid == TALLY_MONOID_maxabs) &&
                                            tally_dtype_is_signed(c->desc.in)},
                   {"COLUMN_SPOTS", s->column_spots},
                   {"COLUMN_BLOCKS", s->column_blocks},
                   {"SINGLE_BLOCKS", s->single_blocks},
                   {"HALF_COLUMNS", tally_cuda_has_half_columns(c)},
                   {"SCAN_ITEMS", s->scan.items},
                   {"SCAN_FINISHERS", s->scan.finishers},
                   {"SCAN_TEAMS", s->scan.teams},
                   {"SCAN_SUMMERS", s->scan.summers},
                   {"SCAN_MESSENGERS", s->scan.messengers},
                   {"SCAN_RING", s->scan.ring},
                   {"SCAN_WAVES", s->scan.waves},
                   {"SCAN_THREADS", s->scan.threads},
                   {"SCAN_PANEL_THREADS", s->scan.panel_threads},
                   {"SCAN_PANEL_ITEMS", s->scan.panel_items},
                   {"SCAN_PANEL_PLACE", s->scan.panel_place},
                   {"SCAN_PANEL_RING", s->scan.panel_ring},
                   {"SCAN_PANEL_SHARED_BYTES", s->scan.panel_shared},
                   {"BY_WORDS", tally_cuda_word_kind(c) || tally_cuda_scans_flags(c)},
                   {"IS_ALL", c->desc.op == TALLY_ALL},
                   {"IS_FLOAT", tally_dtype_is_float(c->desc.in)},
                   {"WORD_KIND", tally_cuda_word_kind(c)},
                   {"WORD_TURNS", c->monoid == TALLY_MONOID_band || c->monoid == TALLY_MONOID_min},
                   {"TAKES_ABSOLUTES", c->monoid == TALLY_MONOID_maxabs || c->monoid == TALLY_MONOID_sumabs},
                   {"HAS_TERMS", tally_cuda_has_terms(c)},
                   {"INTEGER_TERMS", tally_cuda_has_integer_terms(c)},
                   {"TAKES_VECTORS", tally_cuda_takes_vectors(c)},
                   {"VARIES_IN_FLOATS", tally_cuda_varies_in_floats(c)},
                   {"NARROW_COLUMNS", s->narrow.columns},
                   {"NARROW_ITEMS", s->narrow.items},
                   {"NARROW_RING", s->narrow.ring},
                   {"NARROW_WAVES", s->narrow.waves},
                   {"NARROW_THREADS", s->narrow.threads},
                   {"NARROW_SHARED_BYTES", s->narrow.shared},
                   {"EXACT_CHUNKS_ITEMS", s->chunks.items},
                   {"EXACT_CHUNKS_SHARED", s->chunks.shared},
                   {"SCAN_STRAND", s->scan.strand},
                   {"SCAN_SHARED_BYTES", s->scan.shared},
                   {"ONE_WAVE_ITEMS", s->one_wave.items},
                   {"ONE_WAVE_FEW", s->one_wave.few},
                   {"ONE_WAVE_THREADS", s->one_wave.threads},
                   {"ONE_WAVE_SHARED_BYTES", s->one_wave.shared},
                   {"LOOK_BACK_BLOCK", s->look_back.block},
                   {"LOOK_BACK_FEW", s->look_back.few},
                   {"LOOK_BACK_SHARED_BYTES", s->look_back.shared},
                   {"TALL_WIDTH", s->tall.width},
                   {"TALL_ITEMS", s->tall.items},
                   {"TALL_BLOCKS", s->tall.blocks},
                   {"HELD_ROWS", s->held_rows},
                   {"FOLD_TILE", s->fold_tile},
                   {"SMALL_FOLD_TILE", s->small_fold_tile},
                   {"PARTS_TILE", s->parts_tile},
                   {"PARTS_BLOCKS", s->parts_blocks},
                   {"MERGED_BLOCKS", s->merged_blocks},
                   {"TINY_INNER", s->tiny_inner},
                   {"MERGED_TILE", s->merged_tile},
                   {"FOLD_RESULTS", s->fold_results},
                   {"FOLD_STAGED", s->fold_stages},
                   {"FOLD_SPREADS", s->fold_spreads},
                   {"DIFFERENCES", s->differences},
                   {"FOLD_BLOCKS", s->fold_blocks},
                   {"FEW_BLOCK", s->few_threads},
                   {"LOWERS_CHEAPLY", tally_cuda_lowers_cheaply(c)},
                   {"LOWERS_DIRECTLY", tally_cuda_lowers_directly(c)},
                   {"RESULT_KEEPS_LANE", tally_cuda_result_keeps_lane(c)},
                   {"CUT_BYTES", s->cut_bytes},
                   {"WAVE_TILE", s->wave.tile},
                   {"WAVE_RING", s->wave.ring},
                   {"WAVE_KEY_RING", s->wave.key_ring},
                   {"WAVE_ENTRIES", s->wave.waves},
                   {"WAVE_THREADS", s->wave.threads},
                   {"WAVE_SHARED_BYTES", s->wave.shared},
                   {"NEEDS_START", tally_cuda_needs_start(c)},
                   {"EXACT_EXTREMUM", is_exact_extremum(c)},
                   {"DDOF", c->desc.ddof},
                   {"IS_STD", c->desc.op == TALLY_STD},
                   {"SIZE_ON_DEVICE", c->is_sized},
                   {"TAKES_TURNS", c->takes_turns},
                   {"NOTHING_IS_EMPTY", tally_nothing_is_error(c)},
                   {"STATUS_TOO_LARGE", TALLY_INVALID_ARGUMENT},
                   {"STATUS_EMPTY", TALLY_EMPTY},
                   {"STATUS_BAD_GROUPS", c->desc.grouping == TALLY_LABELS ? TALLY_BAD_LABELS : TALLY_BAD_OFFSETS},
                   {"STATUS_TOO_SMALL", TALLY_OUTPUT_TOO_SMALL},
                   {"REFUSED_BAD", TALLY_GPU_REFUSED_BAD},
                   {"REFUSED_RUNS", TALLY_GPU_REFUSED_RUNS},
                   {"HEADS_CHUNK", s->heads_chunk},
                   {"REFUSED_EMPTY", TALLY_GPU_REFUSED_EMPTY},
                   {"HAS_MOMENTS", tally_cuda_exact_has_moments(c) || c->monoid == TALLY_MONOID_wide_moments},
                   {"IS_ARGMIN", c->entry && c->monoid == TALLY_MONOID_argmin},
                   {"IS_ARGMAX", c->entry && c->monoid == TALLY_MONOID_argmax},
                   {"HAS_PLACE_KEYS", tally_cuda_has_place_keys(c)},
                   {"SKIPS_NAN", c->skips_nan},
                   {"NAN_IS_IDENTITY", tally_cuda_skipping_of(c, &neutral) == TALLY_CUDA_NAN_IS_IDENTITY},
                   {"COUNTS_ELEMENTS", tally_cuda_counts_elements(c)},
                   {"IS_LOGSUMEXP", c->entry && c->monoid == TALLY_MONOID_logsumexp && !tally_cuda_counts_elements(c)},
                   {"LOOKS_UP_EXPONENTIALS", tally_cuda_looks_up_exponentials(c)},
                   {"LOOKS_UP_POWERS", tally_cuda_looks_up_powers(c)},
                   {"FACTORS", tally_cuda_factors(c)},
                   {"MOMENTS", moments_of(c)},
                   {"ORDER_SHOWS", tally_cuda_order_shows(c)},
                   {"BRIEF_MOMENTS", tally_cuda_brief_moments(c)},
                   {"HALF_MOMENTS", tally_cuda_has_half_moments(c)},
                   {"IS_INDEXED", tally_class_of(c->monoid) == TALLY_CLASS_INDEXED},
                   {"FILLS_TILES", tally_cuda_fills_tiles(c)},
                   {"FINDS_PLACES", tally_cuda_finds_places(c)},
                   {"LABEL_TILE", s->label_tile},
                   {"CELL_KIND", tally_cuda_cell_kind(c)},
                   {"CELL_BYTES", (int)s->label_bytes},
                   {"NEEDS_ELEMENTS", tally_empty_is_error(c)},
                   {"HAS_FAST_DOUBLES", architecture == 80 || architecture == 90 || architecture == 100},
                   {"BUCKET_ITEMS", s->bucket_items},
                   {"BUCKET_SHARED", s->bucket_shared},
                   {"IS_WINDOW", s->has_window},
                   {"IS_EXACT", c->exact},
                   {"IN_WINDOW", c->in_window},
                   {"IS_SUM_OF_ABSOLUTES", c->entry && c->monoid == TALLY_MONOID_sumabs},
                   {"LOWERS_BY_COUNT", tally_cuda_lowers_by_count(c) || tally_cuda_counts_elements(c)},
                   {"IS_LARGE", s->is_large},
                   {"UNROLL", s->unroll},
                   {"BLOCK", folds ? TALLY_CUDA_FOLD_BLOCK : TALLY_CUDA_BLOCK}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %ld\n", choices[k].name, choices[k].value);
}

static void add_types(tally_text *text, const tally_computation *c) {
    if (c->gives_words)
        tally_text_print(text, "struct state_words {\n    int64 word[%zu];\n};\n", c->words.count);
    tally_text_print(text, "typedef %s in_t;\ntypedef %s value_t;\ntypedef %s out_t;\ntypedef %s index_t;\n",
                     tally_cuda_element_type(c->desc.in), tally_cuda_value_type(c->desc.in),
                     c->gives_words ? "state_words" : tally_cuda_element_type(c->desc.out), tally_cuda_index_type(c));
    const char *neutral;
    if (tally_cuda_skipping_of(c, &neutral) == TALLY_CUDA_REPLACES_NANS)
        tally_text_print(text,
                         "inline value_t value_of(in_t x) {\n    const value_t value = number_of(x);\n"
                         "    return is_nan(value) ? (value_t)%s : value;\n}\n",
                         neutral);
    else
        tally_text_add(text, "inline value_t value_of(in_t x) {\n    return number_of(x);\n}\n");
    if (c->per_result == 2)
        tally_text_add(text,
                       "struct alignas(2 * sizeof(out_t)) result_t {\n    out_t first, second;\n};\n"
                       "inline void store(result_t *to, result_t pair) {\n" /* which may be aligned to a half */
                       "    if (((uint64)to & (sizeof pair - 1)) == 0) {\n        *to = pair;\n    } else {\n"
                       "        store((out_t *)to, pair.first);\n        store((out_t *)to + 1, pair.second);\n    }\n"
                       "}\n");
    else
        tally_text_add(text, "typedef out_t result_t;\n");
}

/* agreed.def for the kernels. Its ways are macros, because the preprocessor asks for some. */
static const char agreed[] =
#define TALLY_CUDA_SIZE(name, value) "[[maybe_unused]] constexpr int " #name " = " #value ";\n"
#define TALLY_CUDA_WAY(name, number) "#define " #name " " #number "\n"
#include "cuda/agreed.def"
    ;

/* What stands before the kernels in each of the texts. */
static void add_beginning(tally_text *text, const tally_computation *c, int architecture,
                          const tally_cuda_sizes *sizes) {
    tally_cuda_accumulator types = {.lane_limit = TALLY_CUDA_LANE_UNLIMITED};
    tally_cuda_unpack_kernels();
    if (c->entry)
        tally_cuda_accumulator_of(c, &types);
    else
        add_user(text, c);
    add_choices(text, c, sizes, architecture, types.lane_limit);
    tally_text_add(text, agreed);
    tally_text_add(text, tally_cuda_kernels_ptx);
    tally_text_add(text, tally_cuda_kernels_prelude);
    tally_text_add(text, tally_cuda_kernels_vocabulary);
    tally_text_add(text, tally_cuda_kernels_size);
    add_types(text, c);
    if (c->exact && !tally_is_scan(c)) {
        tally_text_add(text, "typedef struct row_sum slot;\n"); /* exact.cu */
        tally_cuda_exact_choices(text, c, sizes);
        return;
    }
    if (c->exact) {
        tally_cuda_exact_scan_choices(text, c);
        tally_text_add(text, tally_cuda_kernels_exact_bits);
        tally_text_add(text, tally_cuda_kernels_exact_scan);
    } else if (c->entry) {
        add_monoid(text, c, &types);
        if (c->rounds_integer)
            add_lower_integer(text, c);
        else
            add_lower(text, c, &types);
    } else {
        tally_text_add(text, user_monoid);
    }
    if (!c->exact)
        add_raise(text, c);
    tally_text_add(text, "typedef slot_of<acc_t, SLOT_BYTES> slot;\n");
    tally_text_add(text, tally_cuda_kernels_running);
    tally_text_add(text, tally_cuda_kernels_exponentials);
    if (c->exact)
        tally_text_add(text, tally_cuda_kernels_exact_running);
}

/* For states in words: the choices, and how states.cu goes through the components of an accumulator. */
static void add_states(tally_text *text, const tally_computation *c, const tally_words_form *form, size_t group_part) {
    const bool are_keys = form->kind == TALLY_WORDS_EXTREMES, are_digits = form->kind == TALLY_WORDS_DIGITS;
    const int components = tally_components_of(c->monoid);
    const int has_count = c->monoid == TALLY_MONOID_wide_moments; /* the first component is the elements, word 1 */
    const struct {
        const char *name;
        size_t value;
    } choices[] = {{"WORDS_COUNT", form->count},
                   {"WORDS_NUMBERS", (size_t)form->numbers},
                   {"WORDS_ARE_KEYS", are_keys},
                   {"IS_INDEXED", tally_class_of(c->monoid) == TALLY_CLASS_INDEXED},
                   {"FILLS_TILES", tally_cuda_fills_tiles(c)},
                   {"IS_SIGNED", tally_dtype_is_signed(c->desc.in)},
                   {"REFUSES_EMPTY", tally_empty_is_error(c)},
                   {"TAKES_WORDS", c->takes_words},
                   {"GROUP_PART_BYTES", group_part},
                   {"REFUSED_WORDS", TALLY_GPU_REFUSED_WORDS}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %zu\n", choices[k].name, choices[k].value);
    tally_text_print(text, "#define ADDED_OF(acc) acc.a%d\n", components);
    tally_text_print(text, "#define WORDS_TAG %lluull\n#define WRITE_NUMBERS(acc, to)", (unsigned long long)form->tag);
    for (int j = 0; j < components; j++)
        if (has_count && j == 0)
            continue;
        else if (are_digits)
            tally_text_print(text, " write_digits(acc.a%d, %d, to + %d);", j, j == (has_count ? 2 : components - 1),
                             2 * (j - has_count));
        else if (are_keys)
            tally_text_print(text, " to[%d] = key_of(acc.a%d, %d);", j, j, tally_words_is_least(c->monoid, j));
        else
            tally_text_print(text, " to[%d] = as_word(acc.a%d);", j, j);
    tally_text_print(text, "\n#define READ_NUMBERS(acc, from)%s", are_digits ? " int64 carry = 0;" : "");
    for (int j = 0; j < components; j++)
        if (has_count && j == 0)
            tally_text_add(text, " acc.a0 = count;");
        else if (tally_cuda_is_flag(c)) /* of a count of those that are not zero, among 'count' */
            tally_text_add(text,
                           c->desc.op == TALLY_ALL ? " acc.a0 = (uint64)from[0] == count;" : " acc.a0 = from[0] != 0;");
        else if (are_digits)
            tally_text_print(text, "%s acc.a%d = read_digits(from + %d, &carry);",
                             has_count && 2 * (j - 1) == form->numbers ? " carry = 0;" : "", j, 2 * (j - has_count));
        else if (are_keys)
            tally_text_print(text, " acc.a%d = of_key<decltype(acc.a%d)>(from[%d], %d);", j, j, j,
                             tally_words_is_least(c->monoid, j));
        else
            tally_text_print(text, " acc.a%d = component<decltype(acc.a%d)>::of(from[%d]);", j, j, j);
    tally_text_add(text, "\n");
}

void tally_cuda_texts_free(tally_cuda_texts *texts) {
    for (size_t k = 0; k < texts->count; k++)
        free(texts->text[k]);
    texts->count = 0;
}

/* Adds a text: the beginning and a part, or what a kernel needs of it. */
static bool add_text(tally_cuda_texts *texts, const tally_text *beginning, const char *const *part,
                     const char *kernel) {
    tally_text text = {0};
    tally_text_add(&text, beginning->bytes);
    for (; *part; part++) {
        tally_cuda_arguments_add(&text, *part);
        tally_text_add(&text, *part);
    }
    char *const pruned = kernel && !text.failed ? tally_cuda_prune(text.bytes, kernel) : NULL;
    if (kernel) {
        free(text.bytes);
        text = (tally_text){.bytes = pruned, .failed = !pruned};
    }
    texts->text[texts->count++] = text.bytes;
    return !text.failed;
}

static tally_status end_texts(tally_text *beginning, bool failed, tally_cuda_texts *texts) {
    free(beginning->bytes);
    if (!failed)
        return TALLY_OK;
    tally_cuda_texts_free(texts);
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the text of a kernel");
}

tally_status tally_cuda_specialize(const tally_computation *c, int architecture, const bool *wanted,
                                   tally_cuda_texts *texts) {
    tally_cuda_sizes sizes;
    tally_text beginning = {0};
    const char *const *parts[TALLY_CUDA_MOST_PARTS];
    bool made[TALLY_CUDA_KERNELS] = {false};
    if (tally_cuda_has_states(c)) {
        tally_computation states;
        tally_cuda_computation_of_states(c, &states);
        tally_cuda_sizes_of(&states, architecture, &sizes);
        add_beginning(&beginning, &states, architecture, &sizes);
        if (c->desc.grouping != TALLY_LABELS)
            add_states(&beginning, c, &c->words, sizes.group_part_bytes);
    } else {
        tally_cuda_sizes_of(c, architecture, &sizes);
        add_beginning(&beginning, c, architecture, &sizes);
    }
    const size_t count = tally_cuda_parts_of(c, &sizes, parts);
    bool failed = beginning.failed;
    texts->count = 0;
    for (size_t part = 0; part < count; part++)
        for (unsigned k = 0; k < TALLY_CUDA_KERNELS && !failed; k++) {
            if (made[k] || (wanted && !wanted[k]) || !tally_cuda_part_has(parts[part], k))
                continue;
            made[k] = true;
            texts->kernel[texts->count] = k;
            failed = !add_text(texts, &beginning, parts[part], tally_cuda_kernel_names[k]);
        }
    return end_texts(&beginning, failed, texts);
}

/* A text of one part, with the states of words in 'form' unless it is NULL. */
static tally_status specialize_part(const tally_computation *c, const tally_words_form *form, int architecture,
                                    const char *const *part, const char *kernel, tally_cuda_texts *texts) {
    tally_cuda_sizes sizes;
    tally_text beginning = {0};
    tally_cuda_sizes_of(c, architecture, &sizes);
    add_beginning(&beginning, c, architecture, &sizes);
    if (form)
        add_states(&beginning, c, form, 0);
    texts->count = 0;
    const bool failed = beginning.failed || !add_text(texts, &beginning, part, kernel);
    return end_texts(&beginning, failed, texts);
}

tally_status tally_cuda_specialize_carry(const tally_computation *c, const tally_words_form *form, int architecture,
                                         tally_cuda_texts *texts) {
    return specialize_part(c, form, architecture, tally_cuda_part_of_carry, "carry_of_states", texts);
}

tally_status tally_cuda_specialize_rebase(const tally_computation *c, int architecture, tally_cuda_texts *texts) {
    return specialize_part(c, NULL, architecture, tally_cuda_part_of_rebase, NULL, texts);
}
