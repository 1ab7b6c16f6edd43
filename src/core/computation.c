/* Deciding a descriptor: defaults, and the meaningless combinations with the reasons why they are. */
#include "core/computation.h"

#include <string.h>

#include "core/dtype.h"
#include "core/status.h"

static tally_dtype wide_type(tally_dtype in) {
    return tally_dtype_is_signed(in) ? TALLY_I64 : tally_dtype_is_unsigned(in) ? TALLY_U64 : in;
}

static tally_dtype default_out(const tally_operator *entry, tally_dtype in, tally_dtype acc) {
    switch (entry->result) {
    case TALLY_RESULT_SAME:
        return in;
    case TALLY_RESULT_WIDE:
        return tally_dtype_is_float(acc) && !tally_dtype_is_float(in) ? TALLY_F64 : wide_type(in);
    case TALLY_RESULT_WIDE_UNSIGNED:
        return tally_dtype_is_float(acc) && !tally_dtype_is_float(in) ? TALLY_F64
                                                                      : wide_type(tally_dtype_to_unsigned(in));
    case TALLY_RESULT_UNSIGNED:
        return tally_dtype_to_unsigned(in);
    case TALLY_RESULT_FLOAT:
        return tally_dtype_is_float(in) ? in : TALLY_F64;
    case TALLY_RESULT_INDEX:
        return TALLY_I64;
    case TALLY_RESULT_FLAG:
        return TALLY_U8;
    }
    return in;
}

/* The type that elements accumulate in, as the descriptor reports it. */
static tally_dtype default_acc(const tally_operator *entry, tally_dtype in) {
    const bool is_float = tally_dtype_is_float(in);
    const tally_dtype float_acc = is_float && in != TALLY_F64 ? TALLY_F32 : TALLY_F64;
    const size_t bytes = tally_dtype_size(in);
    switch (entry->acc) {
    case TALLY_ACC_SAME:
        return in;
    case TALLY_ACC_UNSIGNED:
        return tally_dtype_to_unsigned(in);
    case TALLY_ACC_COUNT:
        return TALLY_I64;
    case TALLY_ACC_FLOAT:
        return float_acc;
    case TALLY_ACC_WIDE:
        return is_float ? float_acc : wide_type(in);
    case TALLY_ACC_WIDE_UNSIGNED:
        return is_float ? float_acc : TALLY_U64;
    case TALLY_ACC_MEAN:
        return is_float || bytes == 8 ? float_acc : wide_type(in);
    case TALLY_ACC_SQUARE:
        return is_float || bytes >= 4 ? float_acc : wide_type(in);
    }
    return in;
}

/* Whether a result of natural type 'natural' may be given as 'out': integers to integers (they wrap, as the
 * accumulator does) and to floats, floats to floats. Never a float to an integer, which has no value for NaN. */
static bool converts(tally_dtype natural, tally_dtype out) {
    return !tally_dtype_is_float(natural) || tally_dtype_is_float(out);
}

static tally_status check_enumerators(const tally_desc *d) {
    if ((unsigned)d->op >= TALLY_OP_COUNT)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.op is %d, which is not an operator", (int)d->op);
    if ((unsigned)d->form >= TALLY_FORM_COUNT)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.form is %d, which is not a form", (int)d->form);
    if ((unsigned)d->grouping >= TALLY_GROUPING_COUNT)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.grouping is %d, which is not a grouping", (int)d->grouping);
    if ((unsigned)d->mode >= TALLY_MODE_COUNT)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.mode is %d, which is not a mode", (int)d->mode);
    if (!tally_dtype_is_valid(d->in))
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.in is %d; set it to the input's element type", (int)d->in);
    const struct {
        const char *name;
        tally_dtype type;
    } optional[] = {{"acc", d->acc}, {"out", d->out}, {"index", d->index}};
    for (size_t i = 0; i < 3; i++)
        if ((unsigned)optional[i].type >= TALLY_DTYPE_COUNT)
            return tally_fail(TALLY_INVALID_ARGUMENT, "desc.%s is %d, which is not a type", optional[i].name,
                              (int)optional[i].type);
    if (d->flags & ~(TALLY_CHECK_WHILE_RUNNING | TALLY_REVERSE | TALLY_SKIP_BAD_LABELS | TALLY_SKIP_NAN |
                     TALLY_WORDS_IN | TALLY_WORDS_OUT | TALLY_SIZE_ON_DEVICE))
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.flags has unknown bits: 0x%x", d->flags);
    return TALLY_OK;
}

static bool is_label_type(tally_dtype type) {
    return !tally_dtype_is_float(type) && type != TALLY_I8 && type != TALLY_I16 && type != TALLY_U64;
}

static tally_status decide_index(tally_computation *c) {
    tally_desc *d = &c->desc;
    if ((d->flags & TALLY_SKIP_BAD_LABELS) && d->grouping != TALLY_LABELS)
        return tally_fail(TALLY_INVALID_ARGUMENT, "TALLY_SKIP_BAD_LABELS is for labels, not for %s",
                          tally_grouping_name(d->grouping));
    if (d->grouping != TALLY_SEGMENTS && d->grouping != TALLY_KEYS && d->grouping != TALLY_LABELS) {
        if (d->index != TALLY_DEFAULT)
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "desc.index is for segments, keys and labels; leave it TALLY_DEFAULT");
        return TALLY_OK;
    }
    if (d->index == TALLY_DEFAULT)
        d->index = TALLY_I64;
    if (d->grouping == TALLY_SEGMENTS &&
        (tally_dtype_is_float(d->index) || tally_dtype_size(d->index) < sizeof(uint32_t)))
        return tally_fail(TALLY_UNSUPPORTED, "offsets of type %s: they are i32, i64, u32 or u64",
                          tally_dtype_name(d->index));
    if (d->grouping == TALLY_LABELS && !is_label_type(d->index))
        return tally_fail(TALLY_UNSUPPORTED, "labels of type %s: they are i32, i64, u8, u16 or u32",
                          tally_dtype_name(d->index));
    c->index_bytes = tally_dtype_size(d->index);
    return TALLY_OK;
}

static tally_status check_ddof(const tally_computation *c) {
    if (c->desc.ddof < 0)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.ddof is %d; it may not be negative", c->desc.ddof);
    char names[128];
    if (c->desc.ddof && !tally_has_trait(c, TALLY_OPERATOR_TAKES_DDOF))
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.ddof is %d; it is for %s, leave it 0 for %s", c->desc.ddof,
                          tally_operators_with(TALLY_OPERATOR_TAKES_DDOF, names, sizeof names),
                          tally_op_name(c->desc.op));
    return TALLY_OK;
}

static tally_status decide_form(tally_computation *c) {
    tally_desc *d = &c->desc;
    if ((d->flags & TALLY_REVERSE) && d->form == TALLY_REDUCE)
        return tally_fail(TALLY_INVALID_ARGUMENT, "TALLY_REVERSE is for scans; a reduction has no direction");
    c->reverse = (d->flags & TALLY_REVERSE) != 0;
    c->is_sized = (d->flags & TALLY_SIZE_ON_DEVICE) != 0;
    if (c->is_sized && d->flags & (TALLY_WORDS_IN | TALLY_WORDS_OUT))
        return tally_fail(TALLY_UNSUPPORTED, "TALLY_SIZE_ON_DEVICE is not for words");
    if (d->grouping == TALLY_LABELS && d->form != TALLY_REDUCE)
        return tally_fail(TALLY_UNSUPPORTED,
                          "scan by labels: labels are for reductions; sort by label and scan by keys");
    if (d->form == TALLY_EXCLUSIVE_SCAN && tally_has_trait(c, TALLY_OPERATOR_NO_EXCLUSIVE))
        return tally_fail(TALLY_UNSUPPORTED,
                          "exclusive scan of %s: it has no value before the first element; use the inclusive scan",
                          c->entry->name);
    return TALLY_OK;
}

static tally_status decide_skipping(tally_computation *c) {
    const tally_desc *d = &c->desc;
    if (!(d->flags & TALLY_SKIP_NAN))
        return TALLY_OK;
    if (!c->entry)
        return tally_fail(TALLY_UNSUPPORTED,
                          "TALLY_SKIP_NAN for a user's operator: its lift sees every element and can leave NaNs out");
    if (d->flags & TALLY_WORDS_IN)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "TALLY_SKIP_NAN with TALLY_WORDS_IN: states are no elements; leave NaNs out where the states "
                          "are made");
    c->skips_nan = tally_dtype_is_float(d->in);
    return TALLY_OK;
}

static tally_status decide_exact(tally_computation *c) {
    tally_desc *d = &c->desc;
    if (d->mode != TALLY_EXACT)
        return TALLY_OK;
    if (!c->entry)
        return tally_fail(TALLY_UNSUPPORTED, "exact mode of a user's operator: tally cannot know its exact value");
    const char *name = c->entry->name;
    bool integer = !tally_dtype_is_float(d->in);
    if (integer && c->entry->exact == TALLY_EXACTLY_INTEGERS && d->acc == TALLY_F64)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "exact %s of integers in f64 would round; leave desc.acc TALLY_DEFAULT", name);
    if (c->entry->exact == TALLY_EXACTLY_ALWAYS || (c->entry->exact == TALLY_EXACTLY_INTEGERS && integer))
        return TALLY_OK;
    char names[128];
    if (!(c->entry->traits & TALLY_OPERATOR_ROUNDS_ONCE))
        return tally_fail(TALLY_UNSUPPORTED, "exact %s: exact mode has %s", name,
                          tally_operators_with(TALLY_OPERATOR_ROUNDS_ONCE, names, sizeof names));
    if (d->acc != TALLY_DEFAULT)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "exact mode chooses its own accumulator; leave desc.acc TALLY_DEFAULT");
    if (integer) { /* wrapping 64-bit sums have one value, a mean or a root is rounded */
        c->rounds_integer = c->entry->exact >= TALLY_EXACTLY_MEAN;
        if (c->rounds_integer)
            c->monoid = tally_monoid_of_integers(c->entry, d->in);
        return TALLY_OK;
    }
    if (d->form != TALLY_REDUCE && d->op != TALLY_SUM)
        return tally_fail(TALLY_UNSUPPORTED, "exact scan of %s: exact mode scans sums only", name);
    c->exact = true;
    return TALLY_OK;
}

static tally_status decide_types(tally_computation *c) {
    tally_desc *d = &c->desc;
    if (tally_has_trait(c, TALLY_OPERATOR_INTEGERS_ONLY) && tally_dtype_is_float(d->in))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s: bitwise operators are for integers", c->entry->name,
                          tally_dtype_name(d->in));
    tally_dtype natural_acc = c->rounds_integer ? wide_type(d->in) : default_acc(c->entry, d->in);
    if (d->acc == TALLY_DEFAULT)
        d->acc = natural_acc;
    else if (d->acc != natural_acc && !(d->acc == TALLY_F64 && tally_may_accumulate_in_f64(c->entry)))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s accumulates in %s%s, not in %s", c->entry->name,
                          tally_dtype_name(d->in), tally_dtype_name(natural_acc),
                          tally_may_accumulate_in_f64(c->entry) ? " or f64" : "", tally_dtype_name(d->acc));
    tally_dtype natural_out = default_out(c->entry, d->in, d->acc);
    if (d->out == TALLY_DEFAULT)
        d->out = natural_out;
    else if (!converts(natural_out, d->out))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s is a float and cannot be given as %s", c->entry->name,
                          tally_dtype_name(d->in), tally_dtype_name(d->out));
    return TALLY_OK;
}

/* Refuses what words are not for. Results that are words have the type i64, whatever the operator's is. */
static tally_status begin_words(tally_computation *c) {
    tally_desc *d = &c->desc;
    c->takes_words = d->flags & TALLY_WORDS_IN;
    c->gives_words = d->flags & TALLY_WORDS_OUT;
    if (!c->takes_words && !c->gives_words)
        return TALLY_OK;
    if (tally_is_scan(c))
        return tally_fail(TALLY_UNSUPPORTED, "words of a scan: words are for reductions");
    if (c->skips_nan && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED)
        return tally_fail(TALLY_UNSUPPORTED,
                          "words of %s with TALLY_SKIP_NAN: its index counts all elements, a state's those that were "
                          "not left out",
                          tally_op_name(d->op));
    if (d->grouping == TALLY_LABELS && tally_class_of(c->monoid) == TALLY_CLASS_INDEXED)
        return tally_fail(TALLY_UNSUPPORTED,
                          "words of %s by labels: its index counts the elements of the input, a state's those of the "
                          "group",
                          tally_op_name(d->op));
    if (c->gives_words && d->out != TALLY_DEFAULT && d->out != TALLY_I64)
        return tally_fail(TALLY_INVALID_ARGUMENT, "words are i64; leave desc.out TALLY_DEFAULT with TALLY_WORDS_OUT");
    if (c->gives_words)
        d->out = TALLY_DEFAULT;
    return TALLY_OK;
}

static tally_status end_words(tally_computation *c) {
    if (!c->takes_words && !c->gives_words)
        return TALLY_OK;
    const tally_status status = tally_words_form_of(c, &c->words);
    if (status != TALLY_OK)
        return status;
    if (c->takes_words)
        c->in_bytes = c->words.count * sizeof(int64_t);
    if (c->gives_words) {
        c->desc.out = TALLY_I64;
        c->out_bytes = sizeof(int64_t);
        c->per_result = c->words.count;
    }
    return TALLY_OK;
}

static tally_status decide_user(tally_computation *c) {
    tally_desc *d = &c->desc;
    const tally_user_op *user = d->user;
    if (!user)
        return tally_fail(TALLY_INVALID_ARGUMENT, "desc.op is TALLY_USER but desc.user is NULL");
    if (user->struct_size != sizeof *user)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_user_op.struct_size is %zu; set it to sizeof(tally_user_op), %zu", user->struct_size,
                          sizeof *user);
    const bool has_functions = user->identity || user->lift || user->combine || user->lower;
    const bool has_texts =
        user->acc_source && user->identity_source && user->lift_source && user->combine_source && user->lower_source;
    if (has_functions ? !user->identity || !user->lift || !user->combine || !user->lower : !has_texts)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "the user operator lacks its identity, lift, combine or lower; or, if it has no functions, "
                          "one of its five source texts");
    if (user->acc_bytes < 1 || user->acc_bytes > 256)
        return tally_fail(TALLY_INVALID_ARGUMENT, "the user operator's accumulator has %zu bytes; it may have 1 to 256",
                          user->acc_bytes);
    if (d->acc != TALLY_DEFAULT)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "a user operator has its own accumulator; leave desc.acc TALLY_DEFAULT");
    if (d->out == TALLY_DEFAULT)
        return tally_fail(TALLY_INVALID_ARGUMENT, "a user operator's output type must be told in desc.out");
    c->user = *user;
    d->user = &c->user;
    return TALLY_OK;
}

tally_status tally_computation_decide(const tally_desc *desc, tally_computation *c) {
    if (desc->struct_size != sizeof *desc)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_desc.struct_size is %zu; start from TALLY_DESC_INIT (%zu)",
                          desc->struct_size, sizeof *desc);
    tally_status status = check_enumerators(desc);
    if (status != TALLY_OK)
        return status;
    memset(c, 0, sizeof *c);
    c->desc = *desc;
    c->entry = tally_operator_of(desc->op);
    c->monoid = c->entry ? c->entry->monoid : TALLY_MONOID_user;
    if ((status = check_ddof(c)) != TALLY_OK || (status = decide_index(c)) != TALLY_OK ||
        (status = decide_form(c)) != TALLY_OK || (status = decide_skipping(c)) != TALLY_OK ||
        (status = decide_exact(c)) != TALLY_OK || (status = begin_words(c)) != TALLY_OK)
        return status;
    status = c->entry ? decide_types(c) : decide_user(c);
    if (status != TALLY_OK)
        return status;
    if (c->entry)
        c->desc.user = NULL;
    c->in_bytes = tally_dtype_size(c->desc.in);
    c->out_bytes = tally_dtype_size(c->desc.out);
    c->per_result = tally_has_trait(c, TALLY_OPERATOR_PAIR_OF_RESULTS) ? 2 : 1;
    return end_words(c);
}

void tally_computation_copy(const tally_computation *from, tally_computation *to) {
    *to = *from;
    if (to->desc.user)
        to->desc.user = &to->user;
}

void tally_computation_of_states(const tally_computation *c, tally_computation *states) {
    *states = *c;
    states->takes_words = states->gives_words = states->skips_nan = false;
    states->desc.flags = 0;
    states->desc.grouping = TALLY_ALL_VALUES;
    states->desc.index = TALLY_DEFAULT;
    states->index_bytes = 0;
    states->in_bytes = tally_dtype_size(c->desc.in);
    if (c->gives_words)
        states->desc.out = default_out(c->entry, c->desc.in, c->desc.acc);
    states->out_bytes = tally_dtype_size(states->desc.out);
    states->per_result = tally_has_trait(c, TALLY_OPERATOR_PAIR_OF_RESULTS) ? 2 : 1;
}
