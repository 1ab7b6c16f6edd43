/* The simple layer: one call on host memory. Plans are made on a CPU device that is opened once and kept. A plan that
 * has run is kept, with its scratch memory, for the next call like it (16 values: 64 ns; making and freeing a plan in
 * the call takes 80 to 136). A call that takes a kept plan leaves its place empty, so no two threads ever have the same
 * plan. */
#include <stdbool.h>

#include "core/backend.h"
#include "core/status.h"

/* Never closed: when the process ends, other threads may be in a call. The shared library is linked so that it is not
 * unloaded (src/CMakeLists.txt), and the device's threads keep their code. */
static tally_device *device;

/* Several threads may open a device at the same time; the first one to store it keeps it. There is no lock, since a
 * child of fork could find it held for ever. */
static tally_status the_device(tally_device **opened) {
    tally_device *seen = __atomic_load_n(&device, __ATOMIC_ACQUIRE), *mine;
    if (!seen) {
        const tally_status status = tally_open("cpu", &mine);
        if (status != TALLY_OK)
            return status;
        if (__atomic_compare_exchange_n(&device, &seen, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            seen = mine;
        else
            tally_close(mine);
    }
    *opened = seen;
    return TALLY_OK;
}

/* ---- plans that wait ---- */

enum { PLACES = 64 };
static tally_plan *waiting[PLACES];

static tally_plan **place_of(const tally_desc *desc) {
    unsigned kind = ((unsigned)desc->op * 4 + (unsigned)desc->form) * 2 + (desc->mode == TALLY_EXACT);
    return &waiting[(kind * (unsigned)TALLY_DTYPE_COUNT + (unsigned)desc->in) % PLACES];
}

/* The only four members in which descriptors of this layer differ. */
static bool is_like(const tally_plan *plan, const tally_desc *desc) {
    const tally_desc *d = &plan->computation.desc;
    return d->op == desc->op && d->form == desc->form && d->mode == desc->mode && d->in == desc->in;
}

static tally_status take_plan(tally_device *cpu, const tally_desc *desc, tally_plan **plan) {
    *plan = __atomic_exchange_n(place_of(desc), NULL, __ATOMIC_ACQUIRE);
    if (*plan && is_like(*plan, desc))
        return TALLY_OK;
    tally_plan_destroy(*plan);
    return tally_plan_create(cpu, desc, plan);
}

static void put_plan(const tally_desc *desc, tally_plan *plan) {
    tally_plan_destroy(__atomic_exchange_n(place_of(desc), plan, __ATOMIC_ACQ_REL));
}

static tally_status run_once(const tally_desc *desc, const void *x, const void *y, size_t n, void *out) {
    tally_device *cpu;
    tally_status status = the_device(&cpu);
    if (status != TALLY_OK)
        return status;
    tally_plan *plan;
    if ((status = take_plan(cpu, desc, &plan)) != TALLY_OK)
        return status;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = n;
    args.x = x;
    args.y = y;
    args.out = out;
    args.out_bytes = SIZE_MAX / 2; /* callers of the simple layer promise the size and do not pass it */
    status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    put_plan(desc, plan);
    return status;
}

static tally_status simple(tally_op op, tally_form form, tally_mode mode, tally_dtype dtype, const void *x,
                           const void *y, size_t n, void *out) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = op;
    desc.form = form;
    desc.mode = mode;
    desc.in = dtype;
    return run_once(&desc, x, y, n, out);
}

/* Two inputs and a user's operator need more than x; the error says which call takes them. */
static tally_status simple_of_x(tally_op op, tally_form form, tally_mode mode, tally_dtype dtype, const void *x,
                                size_t n, void *out) {
    const tally_operator *entry = tally_operator_of(op);
    if (entry && (entry->traits & TALLY_OPERATOR_TWO_INPUTS))
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "%s has two inputs, and this call takes one: use tally_dot_f32, tally_dot_f64 or a plan",
                          entry->name);
    if (op == TALLY_USER)
        return tally_fail(TALLY_INVALID_ARGUMENT, "a user operator needs a plan: see tally_plan_create");
    return simple(op, form, mode, dtype, x, NULL, n, out);
}

tally_status tally_reduce(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out) {
    return simple_of_x(op, TALLY_REDUCE, TALLY_FAST, dtype, x, n, out);
}

tally_status tally_reduce_exact(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out) {
    return simple_of_x(op, TALLY_REDUCE, TALLY_EXACT, dtype, x, n, out);
}

tally_status tally_scan(tally_op op, tally_dtype dtype, const void *x, size_t n, void *out) {
    return simple_of_x(op, TALLY_INCLUSIVE_SCAN, TALLY_FAST, dtype, x, n, out);
}

/* The typed calls: NAME(x, n, out) for one operator, form, mode and type. They are public names, so new operators and
 * types do not add to them. */
#define SIMPLE(name, op, form, mode, dtype, in_type, out_type)                                                         \
    tally_status name(const in_type *x, size_t n, out_type *out) {                                                     \
        return simple(op, form, mode, dtype, x, NULL, n, out);                                                         \
    }
SIMPLE(tally_sum_i32, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, TALLY_I32, int32_t, int64_t)
SIMPLE(tally_sum_i64, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, TALLY_I64, int64_t, int64_t)
SIMPLE(tally_sum_f32, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, TALLY_F32, float, float)
SIMPLE(tally_sum_f64, TALLY_SUM, TALLY_REDUCE, TALLY_FAST, TALLY_F64, double, double)
SIMPLE(tally_sum_exact_f32, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, TALLY_F32, float, float)
SIMPLE(tally_sum_exact_f64, TALLY_SUM, TALLY_REDUCE, TALLY_EXACT, TALLY_F64, double, double)
SIMPLE(tally_min_i32, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, TALLY_I32, int32_t, int32_t)
SIMPLE(tally_min_i64, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, TALLY_I64, int64_t, int64_t)
SIMPLE(tally_min_f32, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, TALLY_F32, float, float)
SIMPLE(tally_min_f64, TALLY_MIN, TALLY_REDUCE, TALLY_FAST, TALLY_F64, double, double)
SIMPLE(tally_max_i32, TALLY_MAX, TALLY_REDUCE, TALLY_FAST, TALLY_I32, int32_t, int32_t)
SIMPLE(tally_max_i64, TALLY_MAX, TALLY_REDUCE, TALLY_FAST, TALLY_I64, int64_t, int64_t)
SIMPLE(tally_max_f32, TALLY_MAX, TALLY_REDUCE, TALLY_FAST, TALLY_F32, float, float)
SIMPLE(tally_max_f64, TALLY_MAX, TALLY_REDUCE, TALLY_FAST, TALLY_F64, double, double)
SIMPLE(tally_mean_f32, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, TALLY_F32, float, float)
SIMPLE(tally_mean_f64, TALLY_MEAN, TALLY_REDUCE, TALLY_FAST, TALLY_F64, double, double)
SIMPLE(tally_cumsum_i64, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_I64, int64_t, int64_t)
SIMPLE(tally_cumsum_f32, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F32, float, float)
SIMPLE(tally_cumsum_f64, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_FAST, TALLY_F64, double, double)

tally_status tally_dot_f32(const float *x, const float *y, size_t n, float *dot) {
    return simple(TALLY_DOT, TALLY_REDUCE, TALLY_FAST, TALLY_F32, x, y, n, dot);
}

tally_status tally_dot_f64(const double *x, const double *y, size_t n, double *dot) {
    return simple(TALLY_DOT, TALLY_REDUCE, TALLY_FAST, TALLY_F64, x, y, n, dot);
}
