/* A device, a plan, and two runs of it. */
#include <stdio.h>
#include <tally/tally.h>

int main(void) {
    const float a[] = {3, 4}, b[] = {1, 2, 2};
    float norm;
    tally_device *device = NULL;
    tally_plan *plan = NULL;

    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_NORM2;
    desc.in = TALLY_F32;

    tally_status status = tally_open("cpu", &device);
    if (status == TALLY_OK)
        status = tally_plan_create(device, &desc, &plan);

    tally_args args = TALLY_ARGS_INIT;
    args.out = &norm;
    args.out_bytes = sizeof norm;

    if (status == TALLY_OK) {
        args.x = a;
        args.shape.extent = 2;
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    }
    if (status == TALLY_OK) {
        printf("norm of a: %g\n", norm);
        args.x = b;
        args.shape.extent = 3;
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    }
    if (status == TALLY_OK)
        printf("norm of b: %g\n", norm);
    else
        fprintf(stderr, "%s: %s\n", tally_status_name(status), tally_last_error());
    tally_plan_destroy(plan);
    tally_close(device);
    return status != TALLY_OK;
}
