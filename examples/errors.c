/* The messages of failing calls, which leave the output alone. */
#include <stdio.h>
#include <tally/tally.h>

static void report(tally_status status) {
    printf("%s: %s\n", tally_status_name(status), tally_last_error());
}

int main(void) {
    const float x[] = {1, 2, 3};
    float out = 42;
    tally_op op;
    tally_device *device = NULL;
    tally_plan *plan = NULL;

    report(tally_op_from_name("summ", &op));
    report(tally_reduce(TALLY_MAX, TALLY_F32, x, 0, &out));
    report(tally_reduce(TALLY_BAND, TALLY_F32, x, 3, &out));
    report(tally_reduce(TALLY_SUM, TALLY_F32, NULL, 3, &out));
    report(tally_open("tpu:0", &device));

    if (tally_open("cpu", &device) != TALLY_OK)
        return 1;
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_MEAN;
    desc.form = TALLY_EXCLUSIVE_SCAN;
    desc.in = TALLY_F32;
    report(tally_plan_create(device, &desc, &plan));
    printf("out is still %g\n", (double)out);
    tally_close(device);
    return 0;
}
