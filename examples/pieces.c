/* An input that comes in pieces: its exact mean, and its running sum. */
#include "example.h"

int main(void) {
    tally_device *device;
    tally_plan *mean_plan, *scan_plan;
    must(tally_open("cpu", &device));
    tally_desc mean = TALLY_DESC_INIT, scan = TALLY_DESC_INIT;
    mean.op = TALLY_MEAN;
    mean.mode = TALLY_EXACT;
    mean.in = TALLY_F32;
    scan.form = TALLY_INCLUSIVE_SCAN;
    scan.in = TALLY_F32;
    must(tally_plan_create(device, &mean, &mean_plan));
    must(tally_plan_create(device, &scan, &scan_plan));

    float piece[3], running[3], result;
    for (int first = 1; first <= 7; first += 3) { /* 1 2 3, 4 5 6, 7 8 9 */
        for (int i = 0; i < 3; i++)
            piece[i] = (float)(first + i);
        tally_args args = TALLY_ARGS_INIT;
        args.shape.extent = 3;
        args.x = piece;
        must(tally_push(mean_plan, &args)); /* a reduction needs no output yet */
        args.out = running;
        args.out_bytes = sizeof running;
        must(tally_push(scan_plan, &args)); /* a scan writes its part */
        print_f32("running sum", running, 3);
    }
    must(tally_finish(mean_plan, &result, sizeof result));
    must(tally_finish(scan_plan, NULL, 0)); /* ready for a new input; tally_reset would do as well */
    printf("mean %g\n", (double)result);

    tally_plan_destroy(mean_plan);
    tally_plan_destroy(scan_plan);
    tally_close(device);
    return 0;
}
