/* The same values by segments, by keys and by labels. */
#include "example.h"

static const float x[] = {1, 2, 3, 4, 5, 6};

static void by_segments(tally_device *device) {
    const int32_t offsets[] = {0, 2, 2, 6}; /* three segments; the second is empty */
    float sums[3];
    tally_desc desc = TALLY_DESC_INIT;
    desc.grouping = TALLY_SEGMENTS;
    desc.in = TALLY_F32;
    desc.index = TALLY_I32;
    tally_plan *plan;
    must(tally_plan_create(device, &desc, &plan));

    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 6;
    args.shape.groups = 3;
    args.x = x;
    args.offsets = offsets;
    args.out = sums;
    args.out_bytes = sizeof sums;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    print_f32("segments:", sums, 3);
    tally_plan_destroy(plan);
}

static void by_keys(tally_device *device) {
    const uint8_t keys[] = {7, 7, 9, 7, 7, 7}; /* three runs; 7 comes twice */
    float sums[6];
    uint8_t keys_of_runs[6];
    uint64_t runs;
    tally_desc desc = TALLY_DESC_INIT;
    desc.grouping = TALLY_KEYS;
    desc.in = TALLY_F32;
    desc.index = TALLY_U8;
    tally_plan *plan;
    must(tally_plan_create(device, &desc, &plan));

    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 6;
    args.x = x;
    args.keys = keys;
    args.out = sums;
    args.out_bytes = sizeof sums;
    args.keys_out = keys_of_runs;
    args.keys_out_bytes = sizeof keys_of_runs;
    args.count = &runs;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    print_f32("keys:", sums, runs);
    for (uint64_t i = 0; i < runs; i++)
        printf("run %llu has key %d\n", (unsigned long long)i, keys_of_runs[i]);

    /* Too little room: only the number of runs is written. */
    args.out_bytes = sizeof *sums;
    if (tally_run(plan, &args, TALLY_SYNCHRONOUS) == TALLY_OUTPUT_TOO_SMALL)
        printf("%s\n", tally_last_error());
    tally_plan_destroy(plan);
}

static void by_labels(tally_device *device) {
    const int32_t labels[] = {1, 0, 1, -1, 3, 1}; /* four groups; -1 is none, and no element has 2 */
    float sums[4];
    tally_desc desc = TALLY_DESC_INIT;
    desc.grouping = TALLY_LABELS;
    desc.in = TALLY_F32;
    desc.index = TALLY_I32;
    desc.flags = TALLY_SKIP_BAD_LABELS;
    tally_plan *plan;
    must(tally_plan_create(device, &desc, &plan));

    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 6;
    args.shape.groups = 4;
    args.x = x;
    args.labels = labels;
    args.out = sums;
    args.out_bytes = sizeof sums;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    print_f32("labels:", sums, 4);
    tally_plan_destroy(plan);

    /* Without the flag such a label is an error. */
    desc.flags = 0;
    must(tally_plan_create(device, &desc, &plan));
    if (tally_run(plan, &args, TALLY_SYNCHRONOUS) == TALLY_BAD_LABELS)
        printf("%s\n", tally_last_error());
    tally_plan_destroy(plan);
}

int main(void) {
    tally_device *device;
    must(tally_open("cpu", &device));
    by_segments(device);
    by_keys(device);
    by_labels(device);
    tally_close(device);
    return 0;
}
