#include "vulkan/translate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "user/tree.h"

enum { MOST_ACCUMULATOR = 64 /* bytes, which registers and shared memory must hold */ };

/* Numbers narrower than 32 bits are held in 32, a bool as uint. */
static const char *const numbers[] = {
    [KIND_VOID] = "void",   [KIND_BOOL] = "uint",    [KIND_I8] = "int",    [KIND_U8] = "uint",
    [KIND_I16] = "int",     [KIND_U16] = "uint",     [KIND_I32] = "int",   [KIND_U32] = "uint",
    [KIND_I64] = "int64_t", [KIND_U64] = "uint64_t", [KIND_F32] = "float", [KIND_F64] = "double",
};

static void write(tally_text *out, const node *n);

/* ---- types ---- */

/* A user's names get a "0" appended, so that they are neither words of GLSL nor names in the kernels. */
static void write_type(tally_text *out, type a) {
    if (a.kind != KIND_STRUCT)
        tally_text_add(out, numbers[a.kind]);
    else if (strcmp(a.structure->name, "acc_t") == 0)
        tally_text_add(out, "acc_t");
    else
        tally_text_print(out, "%s0", a.structure->name);
}

/* As an expression's constructor: "uint", "s0[3]" */
static void write_constructor(tally_text *out, type a) {
    write_type(out, a);
    if (a.length)
        tally_text_print(out, "[%u]", a.length);
}

/* "uint name0[3]" */
static void write_declared(tally_text *out, const variable *v) {
    write_type(out, v->type);
    tally_text_print(out, " %s0", v->name);
    if (v->type.length)
        tally_text_print(out, "[%u]", v->type.length);
}

static void write_structure(tally_text *out, const structure *s) {
    tally_text_add(out, "struct ");
    write_type(out, (type){KIND_STRUCT, s, 0});
    tally_text_add(out, " {\n");
    for (int k = 0; k < s->count; k++) {
        tally_text_add(out, "    ");
        write_declared(out, &s->members[k]);
        tally_text_add(out, ";\n");
    }
    tally_text_add(out, "};\n");
}

/* ---- expressions ---- */

static void write_zero(tally_text *out, type a) {
    const bool is_number = !a.length && a.kind != KIND_STRUCT;
    write_constructor(out, a);
    tally_text_add(out, "(");
    for (unsigned k = 0; k < tally_user_parts(a); k++) {
        tally_text_add(out, k ? ", " : "");
        if (is_number)
            tally_text_add(out, "0");
        else
            write_zero(out, tally_user_part(a, k));
    }
    tally_text_add(out, ")");
}

static void write_number(tally_text *out, const node *n) {
    if (n->digits) {
        const char *const whole = strpbrk(n->digits, ".eE") ? "" : ".0"; /* "1f" */
        tally_text_print(out, "%s%s%s", n->digits, whole, n->type.kind == KIND_F32 ? "" : "lf");
    } else {
        const kind k = n->type.kind;
        tally_text_print(out, "%" PRIu64 "%s", n->bits,
                         k == KIND_I32   ? ""
                         : k == KIND_I64 ? "l"
                         : k == KIND_U64 ? "ul"
                                         : "u");
    }
}

static void write_list(tally_text *out, const node *first) {
    for (const node *n = first; n; n = n->next) {
        write(out, n);
        tally_text_add(out, n->next ? ", " : "");
    }
}

/* Before and behind what becomes a narrow number, in the 32 bits that hold it. */
static const char *const narrowed[][2] = {
    [KIND_I8] = {"(int(", ") << 24 >> 24)"},
    [KIND_U8] = {"(uint(", ") & 255u)"},
    [KIND_I16] = {"(int(", ") << 16 >> 16)"},
    [KIND_U16] = {"(uint(", ") & 65535u)"},
};

static void write_conversion(tally_text *out, const node *n) {
    const kind to = n->type.kind, from = n->a->type.kind;
    const bool whole = to == KIND_BOOL || to >= KIND_I32 || n->a->is_condition;
    const bool through_int = !whole && from >= KIND_F32; /* as a CPU does it */
    tally_text_print(out, "%s%s", whole ? numbers[to] : narrowed[to][0], whole ? "(" : through_int ? "int(" : "");
    write(out, n->a);
    tally_text_print(out, "%s%s", whole || through_int ? ")" : "", whole ? "" : narrowed[to][1]);
}

/* GLSL's % is undefined for negative numbers. */
static void write_binary(tally_text *out, const node *n) {
    static const char *const signs[BINARY_COUNT] = {"||", "&&", "|",  "^",  "&", "==", "!=", "<", ">",
                                                    "<=", ">=", "<<", ">>", "+", "-",  "*",  "/", "%"};
    const kind k = n->type.kind;
    const bool calls = n->which == BINARY_REMAINDER && (k == KIND_I32 || k == KIND_I64);
    tally_text_add(out, calls ? "remainder_of(" : "(");
    write(out, n->a);
    tally_text_print(out, calls ? ", " : " %s ", signs[n->which]);
    write(out, n->b);
    tally_text_add(out, ")");
}

static void write_known(tally_text *out, const node *n) {
    static const char *const names[KNOWN_COUNT] = {
#define TALLY_USER_FUNCTION(name, arguments, family, glsl, ...) glsl,
#include "user/functions.def"
    };
    const bool is_itself = n->which == KNOWN_abs && (n->type.kind == KIND_U32 || n->type.kind == KIND_U64);
    tally_text_print(out, "%s(", is_itself ? "" : names[n->which]);
    write_list(out, n->a);
    tally_text_add(out, ")");
}

static void write_unary(tally_text *out, const char *sign, const node *a) {
    tally_text_print(out, "(%s", sign);
    write(out, a);
    tally_text_add(out, ")");
}

/* ---- statements ---- */

static void write_statements(tally_text *out, const node *first) {
    for (const node *n = first; n; n = n->next) {
        write(out, n);
        tally_text_add(out, n->what >= NODE_BLOCK && n->what <= NODE_LOOP ? "" : ";\n");
    }
}

static void write_loop(tally_text *out, const node *n) {
    tally_text_add(out, "for (; ");
    if (n->a)
        write(out, n->a);
    else
        tally_text_add(out, "true");
    tally_text_add(out, "; ");
    if (n->c)
        write_list(out, n->c->a);
    tally_text_add(out, ") ");
    write(out, n->b);
}

static void write_if(tally_text *out, const node *n) {
    tally_text_add(out, "if (");
    write(out, n->a);
    tally_text_add(out, ") ");
    write(out, n->b);
    if (n->c) {
        tally_text_add(out, "else ");
        write(out, n->c);
    }
}

static void write_statement(tally_text *out, const node *n) {
    switch (n->what) {
    case NODE_DECLARE:
        write_declared(out, n->variable);
        tally_text_add(out, " = ");
        write(out, n->a);
        break;
    case NODE_ASSIGN:
        write(out, n->a);
        tally_text_add(out, " = ");
        write(out, n->b);
        break;
    case NODE_EFFECT:
        write(out, n->a);
        break;
    case NODE_BLOCK:
        tally_text_add(out, "{\n");
        write_statements(out, n->a);
        tally_text_add(out, "}\n");
        break;
    case NODE_IF:
        write_if(out, n);
        break;
    case NODE_LOOP:
        write_loop(out, n);
        break;
    case NODE_BREAK:
        tally_text_add(out, "break");
        break;
    case NODE_CONTINUE:
        tally_text_add(out, "continue");
        break;
    default:
        tally_text_add(out, n->a ? "return RETURNED(" : "return");
        if (n->a)
            write(out, n->a);
        tally_text_add(out, n->a ? ")" : "");
        break;
    }
}

static void write(tally_text *out, const node *n) {
    switch (n->what) {
    case NODE_NUMBER:
        write_number(out, n);
        break;
    case NODE_VARIABLE:
        tally_text_print(out, "%s0", n->variable->name);
        break;
    case NODE_ZERO:
        write_zero(out, n->type);
        break;
    case NODE_MEMBER:
        write(out, n->a);
        tally_text_print(out, ".%s0", n->a->type.structure->members[n->which].name);
        break;
    case NODE_ELEMENT:
        write(out, n->a);
        tally_text_add(out, "[");
        write(out, n->b);
        tally_text_add(out, "]");
        break;
    case NODE_CONVERT:
        write_conversion(out, n);
        break;
    case NODE_TRUTH:
        tally_text_add(out, "(");
        write(out, n->a);
        tally_text_add(out, " != ");
        write_zero(out, n->a->type);
        tally_text_add(out, ")");
        break;
    case NODE_NOT:
        write_unary(out, "!", n->a);
        break;
    case NODE_NEGATE:
        write_unary(out, "-", n->a);
        break;
    case NODE_INVERT:
        write_unary(out, "~", n->a);
        break;
    case NODE_BINARY:
        write_binary(out, n);
        break;
    case NODE_SELECT:
        tally_text_add(out, "(");
        write(out, n->a);
        tally_text_add(out, " ? ");
        write(out, n->b);
        tally_text_add(out, " : ");
        write(out, n->c);
        tally_text_add(out, ")");
        break;
    case NODE_MAKE:
        write_constructor(out, n->type);
        tally_text_add(out, "(");
        write_list(out, n->a);
        tally_text_add(out, ")");
        break;
    case NODE_CALL:
        tally_text_print(out, "%s0(", n->function->name);
        write_list(out, n->a);
        tally_text_add(out, ")");
        break;
    case NODE_KNOWN:
        write_known(out, n);
        break;
    default:
        write_statement(out, n);
        break;
    }
}

/* ---- the whole ---- */

static void write_function(tally_text *out, const function *f) {
    write_type(out, f->result);
    tally_text_print(out, " %s0(", f->name);
    for (int k = 0; k < f->count; k++) {
        tally_text_print(out, "%s%s", k ? ", " : "", f->by_reference[k] ? "inout " : "");
        write_declared(out, f->parameters[k]);
    }
    tally_text_add(out, ") ");
    write(out, f->body);
}

/* RETURNED is around what is returned. */
static void write_all(tally_text *out, const tally_user_tree *tree) {
    tally_text_add(out, "#define RETURNED(value) value\n");
    for (int k = 0; k < tree->structure_count; k++)
        write_structure(out, &tree->structures[k]);
    for (int k = 0; k < tree->function_count; k++)
        write_function(out, &tree->functions[k]);
    tally_text_add(out, "acc_t identity() ");
    write(out, tree->identity.body);
    tally_text_add(out, "acc_t lift(VALUE x0, VALUE y, wide i) {\n    const uint64_t index0 = u64_of(i);\n");
    write(out, tree->lift.body);
    tally_text_add(out, "}\nacc_t combine(acc_t left0, acc_t right0) ");
    write(out, tree->combine.body);
    tally_text_add(
        out, "#undef RETURNED\n#define RETURNED(value) single(output_of(value))\n"
             "result_t lower(acc_t acc0, wide count, wide start) {\n    const uint64_t count0 = u64_of(count);\n");
    write(out, tree->lower.body);
    tally_text_add(out, "}\n#undef RETURNED\n");
}

tally_status tally_vulkan_translate(const tally_computation *c, tally_vulkan_operator *made) {
    static const tally_user_limits limits = {"Vulkan", MOST_ACCUMULATOR, false};
    tally_user_tree *tree;
    *made = (tally_vulkan_operator){.slot = {4, 4}};
    tally_status status = tally_user_read(c, &limits, &tree);
    if (status != TALLY_OK)
        return status;
    write_all(&made->text, tree);
    made->slot = (tally_vulkan_slot){tree->accumulator->bytes, tree->accumulator->alignment};
    made->has_double = tree->uses_double;
    tally_user_free(tree);
    if (!made->text.failed)
        return TALLY_OK;
    free(made->text.bytes);
    made->text = (tally_text){0};
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a user operator's text");
}
