/* The decisions of a plan: the default types of every operator over f16 and i32. */
#include "example.h"

int main(void) {
    tally_device *device;
    must(tally_open("cpu", &device));
    const tally_dtype inputs[] = {TALLY_F16, TALLY_I32};
    for (int i = 0; i < 2; i++)
        for (int op = 0; op < TALLY_USER; op++) {
            tally_desc desc = TALLY_DESC_INIT;
            tally_plan *plan;
            size_t elements;
            desc.op = (tally_op)op;
            desc.in = inputs[i];
            if (tally_plan_create(device, &desc, &plan) != TALLY_OK) {
                printf("%s\n", tally_last_error());
                continue;
            }
            must(tally_plan_describe(plan, &desc, &elements));
            printf("%-13s of %s accumulates in %-4s gives %s%s\n", tally_op_name(desc.op), tally_dtype_name(desc.in),
                   tally_dtype_name(desc.acc), tally_dtype_name(desc.out), elements == 2 ? ", two of them" : "");
            tally_plan_destroy(plan);
        }
    tally_close(device);
    return 0;
}
