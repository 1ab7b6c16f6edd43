/* Plans of the CPU: chooses kernels and sends runs and pieces to the drivers. */
#include "cpu/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/status.h"
#include "cpu/converted.h"
#include "cpu/counted.h"
#include "cpu/exact.h"
#include "cpu/fpenv.h"
#include "cpu/integer_exps.h"
#include "cpu/keys.h"
#include "cpu/labels.h"
#include "cpu/sparse_labels.h"
#include "cpu/lifted.h"
#include "cpu/lower.h"
#include "cpu/reduce.h"
#include "cpu/scan.h"
#include "cpu/segments.h"
#include "cpu/skipping.h"
#include "cpu/text/kernels.h"
#include "cpu/user.h"
#include "cpu/words.h"

/* ---- creation ---- */

static tally_status no_memory(size_t bytes) {
    return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %zu bytes of a plan", bytes);
}

/* The direct scan, if the accumulator is the result and the output is as wide as the input or 64 bits. */
static const tally_cpu_direct_scan *direct_scan_of(const tally_cpu_device *device, const tally_computation *c) {
    const tally_desc *d = &c->desc;
    if (!tally_is_scan(c))
        return NULL;
    if (c->entry->result == TALLY_RESULT_FLOAT) /* a mean, whose accumulator is a sum */
        return NULL;
    const tally_monoid monoid = tally_cpu_scanned_as(c->monoid, d->in);
    if (d->out == d->in)
        return tally_cpu_same_scan(device, d->in, monoid);
    if (d->out == TALLY_I64 || d->out == TALLY_U64)
        return device->level->types[d->in]->wide_scan(monoid);
    return NULL;
}

/* Whether f64 is asked for as the accumulator of sums that have another one, or of deviations and exponentials of
 * narrower floats. */
static bool accumulates_in_f64(const tally_computation *c) {
    if (c->desc.acc != TALLY_F64 || c->desc.in == TALLY_F64)
        return false;
    switch (tally_class_of(c->monoid)) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_TOTAL:
        return true;
    default:
        return tally_class_of(c->monoid) == TALLY_CLASS_FLOATS && tally_dtype_is_float(c->desc.in);
    }
}

/* The kernels of a type for the plan, or NULL. */
static const tally_cpu_kernels *kernels_of(const tally_cpu_plan *plan, tally_dtype type, bool in_f64) {
    const tally_cpu_type *t = plan->device->level->types[type];
    const tally_monoid monoid = plan->base.computation.monoid;
    if (in_f64 && type != TALLY_F64)
        return t->f64_kernels(monoid);
    return tally_cpu_is_strict(plan) ? t->strict_kernels(monoid) : t->kernels(monoid);
}

/* Those of the input's type, or those of f32, i64 or f64 behind a conversion. */
static tally_status choose_table_kernels(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    const bool in_f64 = accumulates_in_f64(c);
    const bool as_i64 =
        c->monoid == TALLY_MONOID_logsumexp && !tally_dtype_is_float(c->desc.in) && c->desc.in != TALLY_U64;
    const tally_dtype types[] = {c->desc.in, tally_dtype_value(c->desc.in), as_i64 ? TALLY_I64 : TALLY_F64, TALLY_F64};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const tally_cpu_kernels *kernels = kernels_of(plan, types[i], in_f64);
        if (!kernels)
            continue;
        plan->kernels = kernels;
        if (types[i] != c->desc.in)
            tally_cpu_convert_first(plan, types[i], kernels);
        tally_cpu_look_up_exps(plan);
        plan->acc_bytes = kernels->acc_bytes;
        plan->direct = tally_cpu_is_strict(plan) || in_f64 ? NULL : direct_scan_of(plan->device, c);
        return TALLY_OK;
    }
    return tally_fail(TALLY_UNSUPPORTED, "the CPU has no kernel for %s of %s", tally_op_name(c->desc.op),
                      tally_dtype_name(c->desc.in));
}

static tally_status choose_kernels(tally_cpu_plan *plan) {
    const tally_computation *c = &plan->base.computation;
    plan->context.in_bytes = c->in_bytes;
    plan->context.out_bytes = c->out_bytes;
    if (c->monoid == TALLY_MONOID_user && !c->user.lift) {
        tally_status status = tally_cpu_text_choose(plan);
        if (status != TALLY_OK)
            return status;
    } else if (c->monoid == TALLY_MONOID_user) {
        plan->context.op = c->user;
        plan->acc_bytes = plan->context.acc_stride = (size_t)round_up(c->user.acc_bytes, 16);
        plan->kernels = &tally_cpu_user_kernels;
    } else if (c->exact) {
        tally_cpu_exact_context(plan);
    } else {
        tally_status status = choose_table_kernels(plan);
        if (status != TALLY_OK)
            return status;
    }
    tally_cpu_lower_choose(plan);
    tally_cpu_lifted_choose(plan);
    tally_cpu_skipping_choose(plan);
    return TALLY_OK;
}

tally_status tally_cpu_plan_for_caller(tally_cpu_device *device, const tally_computation *computation,
                                       tally_cpu_plan *plan) {
    *plan = (tally_cpu_plan){.base.device = &device->base, .device = device};
    tally_computation_copy(computation, &plan->base.computation);
    return choose_kernels(plan);
}

/* Whether the plan is made of another one, for the same states. */
static bool has_states(const tally_computation *c) {
    return c->takes_words || c->gives_words || tally_cpu_skipping_of(c) == TALLY_CPU_COUNTS_ELEMENTS;
}

tally_status tally_cpu_supports(const tally_device *device, const tally_computation *computation) {
    tally_cpu_plan plan;
    tally_computation states = *computation;
    if (!computation->entry) /* a user's texts are not looked into */
        return TALLY_OK;
    if (has_states(computation))
        tally_computation_of_states(computation, &states);
    return tally_cpu_plan_for_caller((tally_cpu_device *)device, &states, &plan);
}

static tally_status make_plan(tally_cpu_device *device, const tally_computation *computation, tally_cpu_plan **out);

static tally_status choose_states(tally_cpu_plan *plan) {
    tally_computation states;
    tally_computation_of_states(&plan->base.computation, &states);
    const tally_status status = make_plan(plan->device, &states, &plan->states);
    if (status != TALLY_OK)
        return status;
    if (tally_cpu_skipping_of(&plan->base.computation) == TALLY_CPU_COUNTS_ELEMENTS) {
        tally_cpu_counted_choose(plan);
    } else {
        tally_cpu_words_choose(plan);
        tally_cpu_skipping_choose(plan);
    }
    return TALLY_OK;
}

static tally_status make_plan(tally_cpu_device *device, const tally_computation *computation, tally_cpu_plan **out) {
    tally_cpu_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return no_memory(sizeof *plan);
    plan->base.device = &device->base;
    plan->device = device;
    tally_computation_copy(computation, &plan->base.computation);
    tally_status status = has_states(computation) ? choose_states(plan) : choose_kernels(plan);
    if (status != TALLY_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return TALLY_OK;
}

tally_status tally_cpu_plan_create(tally_device *device, const tally_computation *computation, tally_plan **out) {
    tally_cpu_plan *plan = NULL;
    const tally_status status = make_plan((tally_cpu_device *)device, computation, &plan);
    if (status == TALLY_OK)
        *out = &plan->base;
    return status;
}

void tally_cpu_plan_destroy(tally_plan *base) {
    tally_cpu_plan *plan = (tally_cpu_plan *)base;
    free(plan->scratch);
    free(plan->sparse);
    free(plan->worker_scratch);
    free(plan->pieces);
    free(plan->states);
    tally_cpu_text_free((tally_cpu_text *)(uintptr_t)plan->context.text);
    free(plan);
}

tally_status tally_cpu_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes) {
    (void)plan, (void)shape;
    *bytes = 0;
    return TALLY_OK;
}

/* ---- runs ---- */

static tally_status refuse_stream(tally_stream stream) {
    return stream ? tally_fail(TALLY_INVALID_ARGUMENT, "the CPU has no streams; give TALLY_SYNCHRONOUS") : TALLY_OK;
}

static tally_status dispatch(tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    switch (c->desc.grouping) {
    case TALLY_SEGMENTS:
        return tally_cpu_segments(plan, args);
    case TALLY_KEYS:
        return tally_cpu_keys(plan, args);
    case TALLY_LABELS:
        return tally_cpu_is_sparse(plan, args) ? tally_cpu_sparse_labels(plan, args) : tally_cpu_labels(plan, args);
    default:
        return tally_is_scan(c) ? tally_cpu_scan_axis(plan, args, 0, NULL) : tally_cpu_reduce(plan, args, 0, NULL);
    }
}

/* TALLY_BAD_STATE, before anything is written. */
static tally_status check_words(const tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    const tally_shape *s = &args->shape;
    const bool is_axis = c->desc.grouping == TALLY_AXIS;
    return c->takes_words ? tally_cpu_words_check(plan, args->x, is_axis ? s->outer * s->extent * s->inner : s->extent)
                          : TALLY_OK;
}

static tally_status run(tally_cpu_plan *plan, const tally_args *args, uint64_t results) {
    const tally_computation *c = &plan->base.computation;
    const tally_status status = check_words(plan, args);
    if (status != TALLY_OK)
        return status;
    return c->takes_words && tally_empty_is_error(c) ? tally_cpu_words_run(plan, args, results, dispatch)
                                                     : dispatch(plan, args);
}

tally_status tally_cpu_plan_run(tally_plan *base, const tally_args *args, uint64_t results, tally_stream stream) {
    tally_cpu_plan *plan = (tally_cpu_plan *)base;
    tally_status status = refuse_stream(stream);
    if (status != TALLY_OK)
        return status;
    tally_fpenv saved = tally_fpenv_enter();
    status = run(plan, args, results);
    tally_fpenv_leave(&saved);
    return status;
}

tally_status tally_cpu_plan_run_sized(tally_plan *base, const tally_args *args, const tally_sizes *sizes,
                                      tally_stream stream) {
    const tally_status status = tally_run_of_size(base, args, *tally_size_of(&base->computation, sizes), stream);
    if (sizes->status)
        *sizes->status = (uint32_t)status;
    return status;
}

/* ---- pieces ---- */

static tally_status make_pieces(tally_cpu_plan *plan, uint64_t inner, const void *initial) {
    size_t bytes;
    if (__builtin_mul_overflow(inner, plan->acc_bytes, &bytes) || bytes > PTRDIFF_MAX)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %" PRIu64 " accumulators", inner);
    void *pieces = aligned_alloc(64, (size_t)round_up(bytes ? bytes : 1, 64));
    if (!pieces)
        return no_memory(bytes);
    free(plan->pieces);
    plan->pieces = pieces;
    plan->kernels->identity(&plan->context, inner, pieces);
    for (uint64_t j = 0; initial && j < inner; j++)
        tally_cpu_raise(plan, initial, tally_at_mutable(pieces, j, plan->acc_bytes));
    return TALLY_OK;
}

/* The initial value comes before what ended elsewhere. It is for operators that commute. */
static void begin_resumed(tally_cpu_plan *plan, const void *initial) {
    plan->resumed = false;
    if (!initial)
        return;
    for (uint64_t j = 0; j < plan->input.columns; j++) {
        _Alignas(64) unsigned char first[TALLY_CPU_ACC_MOST];
        tally_cpu_raise(plan, initial, first);
        plan->kernels->combine(&plan->context, 1, first, tally_at_mutable(plan->pieces, j, plan->acc_bytes));
    }
}

static tally_status begin_pieces(tally_cpu_plan *plan, const tally_args *args) {
    uint64_t inner;
    tally_status status = tally_pieces_next(&plan->input, &plan->base.computation, &args->shape, &inner);
    if (status == TALLY_OK && plan->resumed)
        begin_resumed(plan, args->initial);
    if (status != TALLY_OK || plan->input.begun)
        return status;
    status = make_pieces(plan, inner, args->initial);
    if (status == TALLY_OK)
        plan->input = (tally_pieces){.begun = true, .columns = inner};
    return status;
}

static tally_status push(tally_cpu_plan *plan, const tally_args *args) {
    bool first = !plan->input.begun;
    tally_status status = check_words(plan, args);
    if (status == TALLY_OK)
        status = begin_pieces(plan, args);
    if (status != TALLY_OK)
        return status;
    const tally_computation *c = &plan->base.computation;
    if (tally_is_scan(c))
        status = tally_cpu_scan_axis(plan, args, plan->input.rows, plan->pieces);
    else
        status = tally_cpu_reduce(plan, args, plan->input.rows, plan->pieces);
    if (status == TALLY_OK)
        plan->input.rows += args->shape.extent;
    else if (first)
        plan->input.begun = false; /* as if it had not been called */
    return status;
}

tally_status tally_cpu_plan_push(tally_plan *base, const tally_args *args) {
    tally_fpenv saved = tally_fpenv_enter();
    tally_status status = push((tally_cpu_plan *)base, args);
    tally_fpenv_leave(&saved);
    return status;
}

/* tally_finish without a push gives the reduction of zero elements. */
static tally_status finish(tally_cpu_plan *plan, void *out, size_t out_bytes) {
    const tally_computation *c = &plan->base.computation;
    if (tally_is_scan(c))
        return TALLY_OK;
    uint64_t inner;
    tally_status status = tally_pieces_finish(&plan->input, c, out_bytes, &inner);
    if (status == TALLY_OK && !plan->input.begun)
        status = make_pieces(plan, 1, NULL);
    if (status == TALLY_OK)
        status = tally_cpu_words_check_totals(plan, plan->pieces, inner);
    if (status != TALLY_OK)
        return status;
    plan->lower(plan, plan->pieces, inner, (tally_counts){NULL, plan->input.rows, 0}, out);
    return TALLY_OK;
}

tally_status tally_cpu_plan_finish(tally_plan *base, void *out, size_t out_bytes) {
    tally_fpenv saved = tally_fpenv_enter();
    tally_status status = finish((tally_cpu_plan *)base, out, out_bytes);
    tally_fpenv_leave(&saved);
    if (status == TALLY_OK)
        tally_cpu_plan_reset(base);
    return status;
}

void tally_cpu_plan_reset(tally_plan *base) {
    tally_cpu_plan *plan = (tally_cpu_plan *)base;
    plan->input = (tally_pieces){0};
    plan->resumed = false;
}

/* The accumulators of pieces that ended elsewhere. */
static tally_status resume(tally_cpu_plan *plan, const tally_words_form *form, const int64_t *words, uint64_t columns) {
    const tally_cpu_plan *states = plan->states ? plan->states : plan;
    uint64_t rows = 0;
    tally_status status = make_pieces(plan, columns, NULL);
    for (uint64_t j = 0; j < columns && status == TALLY_OK; j++) {
        int64_t state[TALLY_WORDS_MOST];
        uint64_t elements;
        void *const acc = tally_at_mutable(plan->pieces, j, plan->acc_bytes);
        memcpy(state, (const char *)words + j * form->count * sizeof *words, form->count * sizeof *words);
        status = tally_cpu_words_read(states, form, state, j, acc, &elements);
        if (status == TALLY_OK && j && elements != rows)
            status =
                tally_fail(TALLY_BAD_STATE,
                           "words of state %" PRIu64 ": they stand for %" PRIu64 " elements, those before for %" PRIu64,
                           j, elements, rows);
        if (status == TALLY_OK && plan->base.computation.exact)
            tally_cpu_exact_widen(plan, acc);
        rows = elements;
    }
    if (status == TALLY_OK)
        plan->input = (tally_pieces){.begun = true, .columns = columns, .rows = rows};
    plan->resumed = status == TALLY_OK;
    return status;
}

tally_status tally_cpu_plan_resume(tally_plan *base, const tally_words_form *form, const int64_t *words,
                                   uint64_t columns) {
    tally_cpu_plan *const plan = (tally_cpu_plan *)base;
    tally_fpenv saved = tally_fpenv_enter();
    tally_cpu_plan_reset(base);
    const tally_status status = resume(plan, form, words, columns);
    tally_fpenv_leave(&saved);
    return status;
}
