/* The four directions and kinds of a scan, with an initial value and in place. */
#include "example.h"

static void scan(tally_device *device, const char *name, tally_form form, unsigned flags, const float *initial,
                 const float *x, float *out) {
    tally_desc desc = TALLY_DESC_INIT;
    desc.form = form;
    desc.flags = flags;
    desc.in = TALLY_F32;
    tally_plan *plan;
    must(tally_plan_create(device, &desc, &plan));
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 4;
    args.x = x;
    args.initial = initial;
    args.out = out;
    args.out_bytes = 4 * sizeof *out;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    print_f32(name, out, 4);
    tally_plan_destroy(plan);
}

int main(void) {
    float x[] = {1, 2, 3, 4}, out[4];
    const float hundred = 100;
    tally_device *device;
    must(tally_open("cpu", &device));
    scan(device, "inclusive", TALLY_INCLUSIVE_SCAN, 0, NULL, x, out);
    scan(device, "exclusive", TALLY_EXCLUSIVE_SCAN, 0, NULL, x, out);
    scan(device, "from 100", TALLY_EXCLUSIVE_SCAN, 0, &hundred, x, out);
    scan(device, "reverse", TALLY_INCLUSIVE_SCAN, TALLY_REVERSE, NULL, x, out);
    scan(device, "in place", TALLY_INCLUSIVE_SCAN, 0, NULL, x, x);
    tally_close(device);
    return 0;
}
