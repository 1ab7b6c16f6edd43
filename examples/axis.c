/* Sums along each axis of an array of 2 x 3 x 4 elements. */
#include "example.h"

int main(void) {
    float x[2][3][4], sums[12];
    for (int i = 0; i < 24; i++)
        (&x[0][0][0])[i] = (float)i;

    tally_device *device;
    tally_plan *plan;
    must(tally_open("cpu", &device));
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_SUM;
    desc.grouping = TALLY_AXIS;
    desc.in = TALLY_F32;
    must(tally_plan_create(device, &desc, &plan));

    /* One plan serves every axis: only the shape differs. */
    const tally_shape axes[3] = {{.outer = 1, .extent = 2, .inner = 12},
                                 {.outer = 2, .extent = 3, .inner = 4},
                                 {.outer = 6, .extent = 4, .inner = 1}};
    for (int axis = 0; axis < 3; axis++) {
        tally_args args = TALLY_ARGS_INIT;
        args.shape = axes[axis];
        args.x = x;
        args.out = sums;
        args.out_bytes = sizeof sums;
        must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
        char name[16];
        snprintf(name, sizeof name, "axis %d:", axis);
        print_f32(name, sums, axes[axis].outer * axes[axis].inner);
    }
    tally_plan_destroy(plan);
    tally_close(device);
    return 0;
}
