/* The public calls on plans: they check, then call the device. */
#include "core/arguments.h"
#include "core/backend.h"
#include "core/run.h"
#include "core/status.h"

tally_status tally_plan_create(tally_device *device, const tally_desc *desc, tally_plan **plan) {
    if (!device || !desc || !plan)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_plan_create: NULL where a device, a descriptor and a place for the plan are expected");
    tally_computation computation;
    const tally_status status = tally_computation_decide(desc, &computation);
    return status == TALLY_OK ? device->interface->plan_create(device, &computation, plan) : status;
}

tally_status tally_supports(tally_device *device, const tally_desc *desc) {
    if (!desc)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_supports: the descriptor is NULL");
    tally_computation computation;
    const tally_status status = tally_computation_decide(desc, &computation);
    return status == TALLY_OK && device ? device->interface->supports(device, &computation) : status;
}

void tally_plan_destroy(tally_plan *plan) {
    if (plan)
        plan->device->interface->plan_destroy(plan);
}

tally_status tally_plan_describe(const tally_plan *plan, tally_desc *desc, size_t *elements_per_result) {
    if (!plan)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_plan_describe: the plan is NULL");
    if (desc && desc->struct_size != sizeof *desc)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_desc.struct_size is %zu; start from TALLY_DESC_INIT (%zu)",
                          desc->struct_size, sizeof *desc);
    if (desc)
        *desc = plan->computation.desc;
    if (elements_per_result)
        *elements_per_result = plan->computation.per_result;
    return TALLY_OK;
}

tally_status tally_plan_workspace(const tally_plan *plan, const tally_shape *shape, size_t *bytes) {
    if (!plan || !shape || !bytes)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_plan_workspace: NULL where a plan, a shape and a place for the size are expected");
    uint64_t elements, results;
    const tally_status status = tally_shape_check(&plan->computation, shape, &elements, &results);
    return status == TALLY_OK ? plan->device->interface->plan_workspace(plan, shape, bytes) : status;
}

tally_status tally_run(tally_plan *plan, const tally_args *args, tally_stream stream) {
    if (!plan || !args)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_run: NULL where a plan and its arguments are expected");
    if (plan->computation.is_sized)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_run: a plan with TALLY_SIZE_ON_DEVICE runs by tally_run_sized");
    uint64_t results;
    tally_status status = tally_args_check(&plan->computation, args, false, &results);
    if (status != TALLY_OK)
        return status;
    return plan->device->interface->run(plan, args, results, stream);
}

static tally_status check_sizes(const tally_computation *c, const tally_sizes *sizes) {
    const bool is_groups = c->desc.grouping == TALLY_SEGMENTS;
    const uint64_t *const size = tally_size_of(c, sizes), *const other = is_groups ? sizes->extent : sizes->groups;
    const char *const name = is_groups ? "groups" : "extent";
    if (!size)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_sizes.%s is NULL", name);
    if (other)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_sizes.%s is not for %s; leave it NULL",
                          is_groups ? "extent" : "groups", tally_grouping_name(c->desc.grouping));
    if ((uintptr_t)size % sizeof *size || (uintptr_t)sizes->status % sizeof *sizes->status)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_sizes.%s or status is not aligned", name);
    return TALLY_OK;
}

tally_status tally_run_sized(tally_plan *plan, const tally_args *args, const tally_sizes *sizes, tally_stream stream) {
    if (!plan || !args || !sizes)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_run_sized: NULL where a plan, its arguments and sizes are expected");
    if (sizes->struct_size != sizeof *sizes)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_sizes.struct_size is %zu; set it to sizeof(tally_sizes), %zu",
                          sizes->struct_size, sizeof *sizes);
    if (!plan->computation.is_sized)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_run_sized: the plan lacks the flag TALLY_SIZE_ON_DEVICE");
    uint64_t results;
    tally_status status = check_sizes(&plan->computation, sizes);
    if (status == TALLY_OK)
        status = tally_args_check(&plan->computation, args, false, &results);
    return status == TALLY_OK ? plan->device->interface->run_sized(plan, args, sizes, stream) : status;
}

tally_status tally_run_of_size(tally_plan *plan, const tally_args *args, uint64_t size, tally_stream stream) {
    const tally_computation *c = &plan->computation;
    tally_args sized = *args;
    uint64_t results;
    *(c->desc.grouping == TALLY_SEGMENTS ? &sized.shape.groups : &sized.shape.extent) = size;
    tally_status status = tally_run_check_size(c, args, size);
    if (status == TALLY_OK)
        status = tally_args_check(c, &sized, false, &results);
    return status == TALLY_OK ? plan->device->interface->run(plan, &sized, results, stream) : status;
}

/* Pieces are for all values and along an axis. Those of a reverse scan come from the end. */
static tally_status check_takes_pieces(const tally_plan *plan, const char *call) {
    const tally_computation *c = &plan->computation;
    if (c->is_sized)
        return tally_fail(TALLY_UNSUPPORTED, "%s: there are no pieces of inputs whose size is on the device", call);
    tally_grouping grouping = c->desc.grouping;
    if (grouping != TALLY_ALL_VALUES && grouping != TALLY_AXIS)
        return tally_fail(TALLY_UNSUPPORTED,
                          "%s: pieces are for all values and along an axis; %s need all of their input at once", call,
                          tally_grouping_name(grouping));
    if (c->reverse && (!c->entry || tally_class_of(c->monoid) == TALLY_CLASS_INDEXED))
        return tally_fail(TALLY_UNSUPPORTED,
                          "%s: a reverse scan that counts elements from the first, which has not come yet", call);
    return TALLY_OK;
}

tally_status tally_push(tally_plan *plan, const tally_args *args) {
    if (!plan || !args)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_push: NULL where a plan and its arguments are expected");
    tally_status status = check_takes_pieces(plan, "tally_push");
    uint64_t results;
    if (status != TALLY_OK || (status = tally_args_check(&plan->computation, args, true, &results)) != TALLY_OK)
        return status;
    return plan->device->interface->push(plan, args);
}

tally_status tally_finish(tally_plan *plan, void *out, size_t out_bytes) {
    if (!plan || (!out && plan->computation.desc.form == TALLY_REDUCE))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_finish: NULL where a plan and its output are expected");
    tally_status status = check_takes_pieces(plan, "tally_finish");
    if (status != TALLY_OK)
        return status;
    return plan->device->interface->finish(plan, out, out_bytes);
}

tally_status tally_resume(tally_plan *plan, const int64_t *words, uint64_t columns) {
    if (!plan || !words)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_resume: NULL where a plan and words are expected");
    const tally_computation *c = &plan->computation;
    tally_words_form form;
    tally_status status = check_takes_pieces(plan, "tally_resume");
    if (status == TALLY_OK)
        status = tally_words_form_of(c, &form);
    if (status != TALLY_OK)
        return status;
    if (c->takes_words)
        return tally_fail(TALLY_UNSUPPORTED, "tally_resume: not for plans whose elements are states themselves");
    if (c->skips_nan)
        return tally_fail(TALLY_UNSUPPORTED, "tally_resume of a plan with TALLY_SKIP_NAN: words do not tell how many "
                                             "elements came before, but how many were not left out");
    if (c->desc.grouping == TALLY_ALL_VALUES && columns != 1)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_resume: all values have one state, not %llu",
                          (unsigned long long)columns);
    uint64_t bytes;
    if (__builtin_mul_overflow(columns, form.count * sizeof *words, &bytes) || bytes > PTRDIFF_MAX)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_resume: %llu states have more bytes than can be addressed",
                          (unsigned long long)columns);
    return plan->device->interface->resume(plan, &form, words, columns);
}

void tally_reset(tally_plan *plan) {
    if (plan)
        plan->device->interface->reset(plan);
}
