/* The same program on any device: it copies the values to the device's memory and the result from it. The first
 * argument names the device. */
#include "example.h"

enum { N = 1000000 };

int main(int argc, char **argv) {
    static float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 7) * 0.1f;

    tally_device *device;
    tally_plan *plan;
    void *device_x, *device_sum;
    float sum;
    must(tally_open(argc > 1 ? argv[1] : "auto", &device)); /* a GPU, if there is one */
    must(tally_alloc(device, sizeof x, &device_x));
    must(tally_alloc(device, sizeof sum, &device_sum));
    must(tally_copy(device, device_x, x, sizeof x));

    tally_desc desc = TALLY_DESC_INIT;
    desc.mode = TALLY_EXACT; /* the same bits on each of them */
    desc.in = TALLY_F32;
    must(tally_plan_create(device, &desc, &plan));

    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = N;
    args.x = device_x;
    args.out = device_sum;
    args.out_bytes = sizeof sum;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    must(tally_copy(device, &sum, device_sum, sizeof sum));
    printf("sum %.9g\n", (double)sum);

    tally_free(device, device_x);
    tally_free(device, device_sum);
    tally_plan_destroy(plan);
    tally_close(device);
    return 0;
}
