#include "cuda/specialize.h"

#include <stdlib.h>
#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/expressions.h"
#include "core/status.h"
#include "core/text.h"
#include "cuda/exact.h"

extern const char tally_cuda_kernels_ptx[], tally_cuda_kernels_prelude[], tally_cuda_kernels_reduce[],
    tally_cuda_kernels_slabs[], tally_cuda_kernels_columns[], tally_cuda_kernels_scan_columns[],
    tally_cuda_kernels_pieces[], tally_cuda_kernels_offsets[], tally_cuda_kernels_pipeline[],
    tally_cuda_kernels_waves[], tally_cuda_kernels_scan_tiles[], tally_cuda_kernels_scan_move[],
    tally_cuda_kernels_scan_sum[], tally_cuda_kernels_scan_finish[], tally_cuda_kernels_scan[],
    tally_cuda_kernels_mark_offsets[], tally_cuda_kernels_offset_bits[], tally_cuda_kernels_scan_panels[],
    tally_cuda_kernels_append[], tally_cuda_kernels_cluster[], tally_cuda_kernels_fold_block[],
    tally_cuda_kernels_fold_tile[], tally_cuda_kernels_fold_segments[], tally_cuda_kernels_fold_runs[],
    tally_cuda_kernels_fold_cuts[], tally_cuda_kernels_warp_segments[], tally_cuda_kernels_warp_heads[],
    tally_cuda_kernels_warp_fold[], tally_cuda_kernels_short_rows[], tally_cuda_kernels_partials[],
    tally_cuda_kernels_tiny_rows[], tally_cuda_kernels_groups[], tally_cuda_kernels_runs[],
    tally_cuda_kernels_stretch[], tally_cuda_kernels_fetch[], tally_cuda_kernels_wave_runs[],
    tally_cuda_kernels_scan_narrow[], tally_cuda_kernels_scan_bytes[], tally_cuda_kernels_scan_held[];

const char *const tally_cuda_options[] = {"--std=c++20", "--device-as-default-execution-space"};
const size_t tally_cuda_option_count = sizeof tally_cuda_options / sizeof *tally_cuda_options;

/* ---- types ---- */

static const char *const element_types[] = {
    [TALLY_I8] = "int8",  [TALLY_I16] = "int16",  [TALLY_I32] = "int32",  [TALLY_I64] = "int64",
    [TALLY_U8] = "uint8", [TALLY_U16] = "uint16", [TALLY_U32] = "uint32", [TALLY_U64] = "uint64",
    [TALLY_F16] = "f16",  [TALLY_BF16] = "bf16",  [TALLY_F32] = "float",  [TALLY_F64] = "double",
};

static const char *value_type(tally_dtype in) {
    return in == TALLY_F16 || in == TALLY_BF16 ? "float" : element_types[in];
}

/* Registers have 32 bits and more. */
static const char *register_type(tally_dtype in) {
    if (tally_dtype_is_float(in) || tally_dtype_size(in) >= 4)
        return value_type(in);
    return tally_dtype_is_signed(in) ? "int32" : "uint32";
}

/* Keys are compared by their bits. */
static const char *index_type(const tally_computation *c) {
    static const char *const bits[] = {[1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64"};
    if (c->desc.grouping == TALLY_KEYS)
        return bits[c->index_bytes];
    return element_types[c->desc.index == TALLY_DEFAULT ? TALLY_I64 : c->desc.index];
}

typedef struct components {
    const char *acc[3], *lane[3]; /* types */
    const char *domain;           /* the type that HIGHEST and LOWEST are of */
    const char *lifted;           /* the type of x where an accumulator is lifted into; NULL: the component's */
    const char *lifted_lane;
    unsigned bytes; /* of the accumulator */
    int lane_limit; /* elements a lane */
} components;

enum { COLUMN_BYTES = 64 /* of accumulators a thread */, COLUMN_SHARED = 16384 /* bytes a block */ };
enum { LANE_LIMIT = 64, UNLIMITED = 1 << 20 };

/* SUM, SQUARE, TOTAL: 64-bit integers or floats, with narrower lanes for some elements at a time. */
static void sum_components(const tally_computation *c, tally_monoid_class kind, components *t) {
    bool is_float = tally_dtype_is_float(c->desc.acc), is_signed = tally_dtype_is_signed(c->desc.in);
    size_t bytes = c->in_bytes;
    t->bytes = 8;
    if (is_float) {
        bool narrow = c->desc.acc == TALLY_F32 && c->desc.out != TALLY_F64;
        t->acc[0] = narrow && tally_is_scan(c) ? "float" : "double";
        t->bytes = narrow && tally_is_scan(c) ? 4 : 8;
        t->lane[0] = c->desc.acc == TALLY_F32 ? "float" : "double";
        if (kind == TALLY_CLASS_TOTAL)
            t->lane[0] = t->acc[0];
        t->lane_limit = LANE_LIMIT;
        return;
    }
    bool narrow = tally_is_scan(c) && !tally_dtype_is_float(c->desc.out) && c->out_bytes <= 4;
    if (narrow) { /* what wraps in 32 bits needs no more */
        t->acc[0] = t->lane[0] = "uint32";
        t->lifted = t->lifted_lane = kind == TALLY_CLASS_SUM && is_signed ? "int32" : "uint32";
        t->bytes = 4;
        t->lane_limit = UNLIMITED;
        return;
    }
    t->acc[0] = "uint64";
    t->lifted = kind == TALLY_CLASS_SUM && is_signed ? "int64" : "uint64";
    bool fits = kind == TALLY_CLASS_SUM ? bytes <= 2 : kind == TALLY_CLASS_SQUARE && bytes == 1;
    t->lane[0] = !fits ? "uint64" : is_signed && c->monoid != TALLY_MONOID_sumabs ? "int32" : "uint32";
    t->lifted_lane = fits ? is_signed ? "int32" : "uint32" : t->lifted;
    t->lane_limit = fits ? LANE_LIMIT : UNLIMITED;
}

static void components_of(const tally_computation *c, components *t) {
    const tally_monoid_text *m = &tally_monoid_texts[c->monoid];
    tally_dtype in = c->desc.in;
    const char *in_register = register_type(in);
    unsigned register_bytes = c->in_bytes == 8 ? 8 : 4;
    memset(t, 0, sizeof *t);
    t->domain = value_type(in);
    t->lane_limit = UNLIMITED;
    t->bytes = register_bytes;
    switch (m->kind) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_TOTAL:
        sum_components(c, m->kind, t);
        return;
    case TALLY_CLASS_COUNT:
        t->acc[0] = "uint64";
        t->lane[0] = "uint32";
        t->lifted = t->lifted_lane = value_type(in);
        t->bytes = 8;
        return;
    case TALLY_CLASS_MAGNITUDE:
        t->acc[0] = t->lane[0] = register_type(tally_dtype_to_unsigned(in));
        t->lifted = t->lifted_lane = value_type(in);
        return;
    case TALLY_CLASS_VALUE:
    case TALLY_CLASS_BITS:
        t->acc[0] = t->lane[0] = in_register;
        return;
    case TALLY_CLASS_VALUES:
        t->acc[0] = t->acc[1] = t->lane[0] = t->lane[1] = in_register;
        t->bytes = 2 * register_bytes;
        return;
    case TALLY_CLASS_INDEXED:
        t->acc[0] = t->lane[0] = in_register;
        t->acc[1] = t->lane[1] = "uint64";
        t->lifted = t->lifted_lane = in_register;
        t->bytes = 16;
        return;
    case TALLY_CLASS_FLOATS2:
    case TALLY_CLASS_FLOATS3:
        for (int k = 0; k < m->components; k++)
            t->acc[k] = t->lane[k] = "double";
        t->domain = t->lifted = t->lifted_lane = "double";
        t->bytes = 8 * (unsigned)m->components;
        return;
    }
}

static unsigned accumulator_bytes(const tally_computation *c) {
    if (!c->entry)
        return round_up((unsigned)c->user.acc_bytes, 16);
    components t;
    components_of(c, &t);
    return t.bytes;
}

/* Whether a result depends on where its group starts: on its length, or on an index in it. */
static bool needs_start(const tally_computation *c) {
    tally_grouping grouping = c->desc.grouping;
    if (grouping != TALLY_SEGMENTS && grouping != TALLY_KEYS)
        return false;
    if (!c->entry)
        return strstr(c->user.lower_source ? c->user.lower_source : "", "count") != NULL;
    switch (c->desc.op) {
    case TALLY_ALL:
    case TALLY_MEAN:
    case TALLY_VAR:
    case TALLY_STD:
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
        return true;
    default:
        return false;
    }
}

/* Whether a result is a component of the accumulator, but for a conversion. */
static bool lowers_directly(const tally_computation *c) {
    return c->entry && c->per_result == 1 && tally_lower_component(tally_lower_texts[c->desc.op]) >= 0;
}

/* scan_bytes.cu */
static bool sums_bytes(const tally_computation *c) {
    return tally_is_scan(c) && !c->exact && c->desc.grouping == TALLY_ALL_VALUES && c->entry &&
           c->desc.op == TALLY_SUM && c->in_bytes == 1 && c->out_bytes == 1;
}

enum {
    FOLD_VECTORS = 8, /* of 16 bytes a thread of a tile of a reduction by segments; two tiles are in shared memory */
    FOLD_SHARED =
        24 << 10,  /* bytes a tile of a reduction by keys, with where its runs begin; the keys are in registers */
    MOST_KEYS = 32 /* a thread, half as many if they are long */
};

/* Whether elements have 4 bytes and so has what a lane keeps of them, on devices with copies in bulk. */
static bool has_narrow_lanes(const tally_computation *c, int architecture) {
    if (tally_is_scan(c) || c->exact || !c->entry || architecture < 90 || c->in_bytes != 4 || needs_start(c) ||
        c->entry->flags & TALLY_OPERATOR_TWO_INPUTS || tally_monoid_texts[c->monoid].components != 1)
        return false;
    components t;
    components_of(c, &t);
    return strcmp(t.lane[0], "float") == 0 || strcmp(t.lane[0], "int32") == 0 || strcmp(t.lane[0], "uint32") == 0;
}

/* warp_segments.cu says what it took with others. Bits of the offsets would come too late for a check while running. */
static bool folds_by_warps(const tally_computation *c, int architecture) {
    return c->desc.grouping == TALLY_SEGMENTS && has_narrow_lanes(c, architecture) &&
           !(c->desc.flags & TALLY_CHECK_WHILE_RUNNING);
}

/* Results are what lanes keep, in the elements' place; keys are read in whole vectors. */
static bool folds_in_waves(const tally_computation *c, int architecture) {
    if (c->desc.grouping != TALLY_KEYS || !has_narrow_lanes(c, architecture) || c->index_bytes < 4 ||
        !lowers_directly(c))
        return false;
    components t;
    components_of(c, &t);
    return strcmp(t.lane[0], element_types[c->desc.out]) == 0;
}

/* wave_runs.cu's struct scratch and some to spare. */
static void wave_sizes(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    enum { WARP = 32, TEAMS = 2, FINISHERS = 256, RING = 3 };
    const unsigned tile = s->fold_tile, words = tile / WARP, of_keys = 2 * words * 4 + 64;
    const unsigned place = round_up(tile * (unsigned)c->in_bytes + 16, 128);
    const unsigned key_place = round_up(tile * (unsigned)c->index_bytes + 32, 128);
    const unsigned rest = 1024 + RING * (place + 16);
    s->wave.ring = RING;
    s->wave.key_ring = (tally_cuda_shared_limit(architecture) - rest) / (key_place + of_keys);
    s->wave.shared = rest + s->wave.key_ring * (key_place + of_keys);
    s->wave.waves = 2 * s->wave.key_ring + 1;
    s->wave.threads = 3 * WARP + words + TEAMS * FINISHERS;
}

static void fold_sizes(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    bool keys = c->desc.grouping == TALLY_KEYS, two = c->entry && (c->entry->flags & TALLY_OPERATOR_TWO_INPUTS);
    unsigned element = (unsigned)c->in_bytes * (two ? 2 : 1);
    s->fold_tile = TALLY_CUDA_FOLD_BLOCK * FOLD_VECTORS * 16 / element;
    if (keys) {
        s->fold_tile = TALLY_CUDA_FOLD_BLOCK * (c->index_bytes > 4 ? MOST_KEYS / 2 : MOST_KEYS);
        while (s->fold_tile * (element + sizeof(uint16_t)) > FOLD_SHARED)
            s->fold_tile /= 2;
    }
    /* By segments, with 4 of sum f32 it took 2 to 15% longer; with 6 registers spilled. */
    s->fold_blocks = s->slot_bytes <= 8 ? !keys ? 5 : c->index_bytes > 4 ? 6 : 8 : s->slot_bytes <= 32 ? 4 : 2;
    s->cut_bytes = 2 * s->slot_bytes + (keys && needs_start(c) ? 16 : 0);
    s->folds_by_warps = folds_by_warps(c, architecture);
    if (s->folds_by_warps) {
        s->fold_tile = 32 * 20; /* warp_segments.cu */
        s->fold_blocks = 6;
    }
    s->folds_in_waves = folds_in_waves(c, architecture);
    if (s->folds_in_waves) {
        s->fold_tile = 256 * 20; /* wave_runs.cu */
        wave_sizes(c, architecture, s);
    }
}

static void column_sizes(tally_cuda_sizes *s) {
    s->column_width = s->vector;
    while (s->column_width > 1 && s->column_width * s->slot_bytes > COLUMN_BYTES)
        s->column_width /= 2;
    s->column_spots = TALLY_CUDA_BLOCK * s->column_width;
    while (s->column_spots * s->slot_bytes > COLUMN_SHARED)
        s->column_spots /= 2;
}

void tally_cuda_sizes_of(const tally_computation *c, int architecture, tally_cuda_sizes *s) {
    unsigned acc = accumulator_bytes(c), in = (unsigned)c->in_bytes;
    s->slot_bytes = c->exact ? tally_cuda_exact_slot_bytes(c) : acc <= 8 ? acc : round_up(acc, 16);
    s->record_bytes = round_up(round_up(acc, 8) + 8 + 16, 16);
    s->vector = 16 / in;
    s->unroll = acc > 32 ? 1 : acc == 16 && c->desc.grouping == TALLY_ALL_VALUES ? 8 : 4;
    s->held_cluster = 0; /* tally_cuda_plan_create asks */
    s->has_clusters = architecture >= 90 && c->desc.grouping == TALLY_ALL_VALUES && acc <= 32;
    s->cluster_threads = acc <= 16 ? 1024 : TALLY_CUDA_BLOCK;
    column_sizes(s);
    const bool in_one_access = s->slot_bytes <= 8 && !needs_start(c);
    s->entry_bytes = !in_one_access ? s->record_bytes + 16 : s->slot_bytes == 4 ? 8 : 16;
    tally_cuda_scan_sizes(c, architecture, acc, s);
    fold_sizes(c, architecture, s);
}

/* ---- the functions of one operator ---- */

static const char *const component_names[] = {"a0", "a1", "a2"};

/* template <class A> ...: for acc_t and lane_t. 'T' is the domain of HIGHEST and LOWEST. */
static void add_monoid(tally_text *text, const tally_computation *c, const components *t) {
    const tally_monoid_text *m = &tally_monoid_texts[c->monoid];
    static const char *const shapes[] = {"one_component", "two_components", "three_components"};
    const char *const *types[] = {t->acc, t->lane};
    const char *const names[] = {"acc_t", "lane_t"};
    for (int k = 0; k < 2; k++) {
        tally_text_print(text, "typedef %s<%s", shapes[m->components - 1], types[k][0]);
        for (int j = 1; j < m->components; j++)
            tally_text_print(text, ", %s", types[k][j]);
        tally_text_print(text, "> %s;\n", names[k]);
    }
    tally_text_print(text, "template <class A> inline A identity_as() {\n    typedef %s T;\n    A r;\n", t->domain);
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(T)(%s);\n", j, j,
                         strcmp(m->identity[j], "NO_INDEX") == 0 ? "0" : m->identity[j]);
    for (int j = 0; j < m->components; j++)
        if (strcmp(m->identity[j], "NO_INDEX") == 0)
            tally_text_print(text, "    r.a%d = NO_INDEX;\n", j);
    tally_text_add(text, "    return r;\n}\n");
    tally_text_print(text,
                     "template <class A> struct lifted {\n    typedef %s type;\n};\n"
                     "template <> struct lifted<acc_t> {\n    typedef %s type;\n};\n",
                     t->lifted_lane ? t->lifted_lane : t->lane[0], t->lifted ? t->lifted : t->acc[0]);
    tally_text_add(text, "template <class A> inline A lift_as(value_t value, value_t partner, uint64 i) {\n"
                         "    const typename lifted<A>::type x = (typename lifted<A>::type)value, "
                         "y = (typename lifted<A>::type)partner;\n    A r;\n");
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(%s);\n", j, j, m->lift[j]);
    tally_text_add(text, "    return r;\n}\ntemplate <class A> inline A combine(A left, A right) {\n    A r;\n");
    for (int j = 0; j < m->components; j++)
        if (m->components == 1)
            tally_text_add(text, "    const auto a = left.a0, b = right.a0;\n");
        else
            tally_text_print(text, "    const auto a%d = left.a%d, b%d = right.a%d;\n", j, j, j, j);
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))(%s);\n", j, j, m->combine[j]);
    tally_text_add(text, "    return r;\n}\ninline acc_t widen(lane_t lane) {\n    acc_t r;\n");
    for (int j = 0; j < m->components; j++)
        tally_text_print(text, "    r.a%d = (decltype(r.a%d))lane.a%d;\n", j, j, j);
    tally_text_add(text, "    return r;\n}\n");
}

/* A component as the type that its bits stand for. */
static void add_component(tally_text *text, const tally_computation *c, int component) {
    bool is_signed =
        tally_dtype_is_signed(c->desc.in) && c->monoid != TALLY_MONOID_sumabs && c->monoid != TALLY_MONOID_maxabs;
    bool counts = tally_monoid_texts[c->monoid].kind == TALLY_CLASS_COUNT;
    const char *name = component_names[component];
    if (tally_monoid_texts[c->monoid].kind == TALLY_CLASS_INDEXED && component == 1)
        tally_text_print(text, "(int64)(acc.%s - start)", name);
    else if (tally_monoid_texts[c->monoid].components == 1 && !tally_dtype_is_float(c->desc.acc) &&
             (is_signed || counts))
        tally_text_print(text, "(int64)widest(acc.%s)", name);
    else
        tally_text_print(text, "widest(acc.%s)", name);
}

static void add_lower(tally_text *text, const tally_computation *c) {
    const tally_monoid_text *m = &tally_monoid_texts[c->monoid];
    const char *lower = tally_lower_texts[c->desc.op];
    int component = tally_lower_component(lower);
    tally_text_add(text, "inline result_t lower(acc_t acc, uint64 count, uint64 start) {\n");
    if (c->per_result == 2) {
        tally_text_add(text, "    return {output<out_t>::of(widest(acc.a0)), output<out_t>::of(widest(acc.a1))};\n}\n");
        return;
    }
    if (component >= 0) {
        tally_text_add(text, "    return output<out_t>::of(");
        add_component(text, c, component);
        tally_text_add(text, ");\n}\n");
        return;
    }
    tally_text_print(text, "    [[maybe_unused]] const double n = (double)count, ddof = %d;\n", c->desc.ddof);
    for (int j = 0; j < m->components; j++) {
        tally_text_print(text, "    const double %s = (double)", m->components == 1 ? "a" : component_names[j]);
        add_component(text, c, j);
        tally_text_add(text, ";\n");
    }
    if (c->monoid == TALLY_MONOID_moments) /* not of too few elements, nor of infinite ones */
        tally_text_add(text, "    if (!(n > ddof) || a1 - a1 != 0)\n"
                             "        return output<out_t>::of(__longlong_as_double(0x7ff8000000000000ll));\n");
    bool whole = c->entry->result == TALLY_RESULT_FLAG || c->entry->result == TALLY_RESULT_INDEX;
    tally_text_print(text, "    return output<out_t>::of((%s)(%s));\n}\n", whole ? "int64" : "double", lower);
}

static void add_raise(tally_text *text, const tally_computation *c) {
    tally_text_add(text, "inline acc_t raise(out_t initial) {\n");
    if (c->entry && (c->entry->flags & TALLY_OPERATOR_TAKES_INITIAL)) {
        bool integer = !tally_dtype_is_float(c->desc.acc) && !tally_dtype_is_float(c->desc.out);
        tally_text_print(text, "    acc_t r;\n    r.a0 = (decltype(r.a0))%s(value_of(initial));\n    return r;\n}\n",
                         integer ? "widest" : "");
    } else {
        tally_text_add(text, "    return identity_as<acc_t>();\n}\n");
    }
}

/* A user's operator: the header's five texts, over its names. */
static void add_user(tally_text *text, const tally_user_op *user) {
    tally_text_print(text,
                     "namespace user {\ntypedef int8 int8_t;\ntypedef int16 int16_t;\ntypedef int32 int32_t;\n"
                     "typedef int64 int64_t;\ntypedef uint8 uint8_t;\ntypedef uint16 uint16_t;\n"
                     "typedef uint32 uint32_t;\ntypedef uint64 uint64_t;\n#line 1 \"acc\"\n%s\n}\n",
                     user->acc_source);
    tally_text_add(text, "struct alignas(16) acc_t : user::acc_t {\n    acc_t() = default;\n"
                         "    acc_t(const user::acc_t &from) : user::acc_t(from) {}\n};\ntypedef acc_t lane_t;\n");
    tally_text_print(text, "static_assert(sizeof(user::acc_t) <= %zu, \"the accumulator is larger than acc_bytes\");\n",
                     user->acc_bytes);
    /* Large ones inlined everywhere would take minutes to compile. */
    tally_text_print(text, "#define USER %s\n", user->acc_bytes > 32 ? "__noinline__" : "inline");
    tally_text_print(
        text,
        "namespace user {\nUSER acc_t identity() {\n    return (\n#line 1 \"identity\"\n%s\n);\n}\n"
        "USER acc_t lift(const value_t x, const uint64 index) {\n    return (\n#line 1 \"lift\"\n%s\n);\n}\n"
        "USER acc_t combine(const acc_t left, const acc_t right) {\n"
        "    return (\n#line 1 \"combine\"\n%s\n);\n}\n"
        "USER auto lower(const acc_t acc, const uint64 count) {\n    return (\n#line 1 \"lower\"\n%s\n);\n}\n}\n",
        user->identity_source, user->lift_source, user->combine_source, user->lower_source);
    tally_text_add(
        text, "#line 1 \"tally\"\n"
              "template <class A> inline A identity_as() {\n    return user::identity();\n}\n"
              "template <class A> inline A lift_as(value_t x, value_t, uint64 i) {\n    return user::lift(x, i);\n}\n"
              "inline acc_t combine(acc_t left, acc_t right) {\n    return user::combine(left, right);\n}\n"
              "inline acc_t widen(acc_t lane) {\n    return lane;\n}\n"
              "inline result_t lower(acc_t acc, uint64 count, uint64) {\n"
              "    return output<out_t>::of(widest(user::lower(acc, count)));\n}\n");
}

/* ---- the whole text ---- */

static void add_choices(tally_text *text, const tally_computation *c, const tally_cuda_sizes *s, int architecture,
                        int lane_limit) {
    bool two = c->entry && (c->entry->flags & TALLY_OPERATOR_TWO_INPUTS);
    bool grouped = c->desc.grouping == TALLY_SEGMENTS || c->desc.grouping == TALLY_KEYS;
    bool folds = grouped && !tally_is_scan(c) && !c->exact;
    const struct {
        const char *name;
        long value;
    } choices[] = {{"TALLY_ARCHITECTURE", architecture},
                   {"ALL", TALLY_ALL_VALUES},
                   {"ROWS", TALLY_AXIS},
                   {"SEGMENTS", TALLY_SEGMENTS},
                   {"KEYS", TALLY_KEYS},
                   {"GROUPS", c->desc.grouping},
                   {"IS_SCAN", tally_is_scan(c)},
                   {"INCLUSIVE", c->desc.form == TALLY_INCLUSIVE_SCAN},
                   {"REVERSE", c->reverse},
                   {"HAS_SECOND", two},
                   {"COMMUTES", c->entry ? 1 : c->user.commutes != 0},
                   {"LANE_LIMIT", lane_limit},
                   {"SLOT_BYTES", s->slot_bytes},
                   {"RECORD_BYTES", s->record_bytes},
                   {"ENTRY_BYTES", s->entry_bytes},
                   {"COLUMN_WIDTH", s->column_width},
                   {"COLUMN_SPOTS", s->column_spots},
                   {"SCAN_ITEMS", s->scan.items},
                   {"SCAN_FINISHERS", s->scan.finishers},
                   {"SCAN_TEAMS", s->scan.teams},
                   {"SCAN_SUMMERS", s->scan.summers},
                   {"SCAN_RING", s->scan.ring},
                   {"SCAN_WAVES", s->scan.waves},
                   {"SCAN_THREADS", s->scan.threads},
                   {"SCAN_PANEL_THREADS", s->scan.panel_threads},
                   {"SUMS_BYTES", sums_bytes(c)},
                   {"SCAN_COLUMNS", s->scan.columns},
                   {"SCAN_NARROW_THREADS", s->scan.narrow_threads},
                   {"SCAN_NARROW_WAVES", s->scan.ring},
                   {"SCAN_SHARED_BYTES", s->scan.shared},
                   {"HELD_ROWS", s->held_rows},
                   {"FOLD_TILE", s->fold_tile},
                   {"FOLD_BLOCKS", s->fold_blocks},
                   {"CUT_BYTES", s->cut_bytes},
                   {"WAVE_RING", s->wave.ring},
                   {"WAVE_KEY_RING", s->wave.key_ring},
                   {"WAVE_ENTRIES", s->wave.waves},
                   {"WAVE_THREADS", s->wave.threads},
                   {"WAVE_SHARED_BYTES", s->wave.shared},
                   {"NEEDS_START", needs_start(c)},
                   {"UNROLL", s->unroll},
                   {"BLOCK", folds ? TALLY_CUDA_FOLD_BLOCK : TALLY_CUDA_BLOCK}};
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++)
        tally_text_print(text, "#define %s %ld\n", choices[k].name, choices[k].value);
}

static void add_types(tally_text *text, const tally_computation *c) {
    tally_text_print(text, "typedef %s in_t;\ntypedef %s value_t;\ntypedef %s out_t;\ntypedef %s index_t;\n",
                     element_types[c->desc.in], value_type(c->desc.in), element_types[c->desc.out], index_type(c));
    if (c->per_result == 2)
        tally_text_add(text, "struct alignas(2 * sizeof(out_t)) result_t {\n    out_t first, second;\n};\n");
    else
        tally_text_add(text, "typedef out_t result_t;\n");
}

static void add_reduce(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    tally_text_print(text, "#define IS_ARGMIN %d\n#define IS_ARGMAX %d\n#define IS_MOMENTS %d\n",
                     c->entry && c->monoid == TALLY_MONOID_argmin, c->entry && c->monoid == TALLY_MONOID_argmax,
                     c->entry && c->monoid == TALLY_MONOID_moments);
    tally_text_add(text, tally_cuda_kernels_append);
    tally_text_add(text, tally_cuda_kernels_partials);
    tally_text_add(text, tally_cuda_kernels_reduce);
    if (sizes->has_clusters)
        tally_text_add(text, tally_cuda_kernels_cluster);
}

static void add_groups(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    if (sizes->folds_by_warps) {
        tally_text_add(text, tally_cuda_kernels_pipeline);
        tally_text_add(text, tally_cuda_kernels_offset_bits);
        tally_text_add(text, tally_cuda_kernels_warp_segments);
        tally_text_add(text, tally_cuda_kernels_warp_heads);
        tally_text_add(text, tally_cuda_kernels_warp_fold);
    } else {
        const bool keys = c->desc.grouping == TALLY_KEYS;
        tally_text_add(text, tally_cuda_kernels_groups);
        if (keys)
            tally_text_add(text, tally_cuda_kernels_runs);
        if (sizes->folds_in_waves) {
            tally_text_add(text, tally_cuda_kernels_pipeline);
            tally_text_add(text, tally_cuda_kernels_fetch);
            tally_text_add(text, tally_cuda_kernels_stretch);
            tally_text_add(text, tally_cuda_kernels_wave_runs);
        } else {
            tally_text_add(text, tally_cuda_kernels_fold_tile);
            tally_text_add(text, keys ? tally_cuda_kernels_fold_runs : tally_cuda_kernels_fold_segments);
        }
    }
    tally_text_add(text, tally_cuda_kernels_fold_cuts);
}

static void add_scan(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    if (c->desc.grouping == TALLY_SEGMENTS) {
        tally_text_add(text, tally_cuda_kernels_offset_bits);
        tally_text_add(text, tally_cuda_kernels_mark_offsets);
    }
    tally_text_add(text, tally_cuda_kernels_pipeline);
    tally_text_add(text, tally_cuda_kernels_waves);
    tally_text_add(text, tally_cuda_kernels_scan_tiles);
    tally_text_add(text, tally_cuda_kernels_fetch);
    tally_text_add(text, tally_cuda_kernels_scan_move);
    tally_text_add(text, tally_cuda_kernels_scan_sum);
    tally_text_add(text, tally_cuda_kernels_stretch);
    tally_text_add(text, tally_cuda_kernels_scan_finish);
    if (sums_bytes(c))
        tally_text_add(text, tally_cuda_kernels_scan_bytes);
    tally_text_add(text, tally_cuda_kernels_scan);
    if (sizes->held_rows)
        tally_text_add(text, tally_cuda_kernels_scan_held);
    if (c->desc.grouping == TALLY_AXIS)
        tally_text_add(text, tally_cuda_kernels_scan_columns);
    if (c->desc.grouping == TALLY_AXIS && sizes->scan.takes_panels)
        tally_text_add(text, tally_cuda_kernels_scan_panels);
    if (sizes->scan.columns)
        tally_text_add(text, tally_cuda_kernels_scan_narrow);
}

static void add_kernels(tally_text *text, const tally_computation *c, const tally_cuda_sizes *sizes) {
    bool axis = c->desc.grouping == TALLY_AXIS, all = c->desc.grouping == TALLY_ALL_VALUES;
    if (c->desc.grouping == TALLY_SEGMENTS)
        tally_text_add(text, tally_cuda_kernels_offsets);
    if (c->exact) {
        tally_cuda_exact_kernels(text, c);
        return;
    }
    tally_text_add(text, "typedef slot_of<acc_t, SLOT_BYTES> slot;\n");
    if (tally_is_scan(c)) {
        add_scan(text, c, sizes);
    } else {
        tally_text_add(text, tally_cuda_kernels_fold_block);
        if (all || axis)
            add_reduce(text, c, sizes);
        else
            add_groups(text, c, sizes);
    }
    if (axis && !tally_is_scan(c)) {
        tally_text_add(text, tally_cuda_kernels_short_rows);
        tally_text_add(text, tally_cuda_kernels_tiny_rows);
        tally_text_add(text, tally_cuda_kernels_slabs);
        tally_text_add(text, tally_cuda_kernels_columns);
    }
    if (all || axis)
        tally_text_add(text, tally_cuda_kernels_pieces);
}

tally_status tally_cuda_specialize(const tally_computation *c, int architecture, char **source) {
    tally_text text = {0};
    tally_cuda_sizes sizes;
    components types = {.lane_limit = UNLIMITED};
    tally_cuda_sizes_of(c, architecture, &sizes);
    if (c->entry)
        components_of(c, &types);
    add_choices(&text, c, &sizes, architecture, types.lane_limit);
    tally_text_add(&text, tally_cuda_kernels_ptx);
    tally_text_add(&text, tally_cuda_kernels_prelude);
    add_types(&text, c);
    if (c->exact) {
        tally_cuda_exact_choices(&text, c);
    } else if (c->entry) {
        add_monoid(&text, c, &types);
        add_lower(&text, c);
    } else {
        add_user(&text, &c->user);
    }
    if (!c->exact)
        add_raise(&text, c);
    add_kernels(&text, c, &sizes);
    if (text.failed) {
        free(text.bytes);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the text of a kernel");
    }
    *source = text.bytes;
    return TALLY_OK;
}
