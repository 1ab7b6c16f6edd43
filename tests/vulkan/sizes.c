/* A size that lies in the device's memory gives what the same size in the shape gives, of all values, an axis,
 * segments, keys and labels; and a size that is too large leaves the output as it was, and says so there. */
#include "../api/support.h"

enum { MOST = 5000, ELEMENTS = 3210, GROUPS = 77, MOST_GROUPS = 100 };

static tally_device *cpu, *gpu;
static struct {
    float x[MOST], out[MOST];
    uint32_t index[MOST], status;
    uint64_t size;
} here, found, *there;

static tally_status run_on_gpu(const tally_desc *desc, tally_args args) {
    const bool segments = desc->grouping == TALLY_SEGMENTS;
    const tally_sizes sizes = {.struct_size = sizeof sizes,
                               .extent = segments ? NULL : &there->size,
                               .groups = segments ? &there->size : NULL,
                               .status = &there->status};
    tally_desc sized = *desc;
    tally_plan *plan;
    sized.flags = TALLY_SIZE_ON_DEVICE;
    assert_ok(tally_plan_create(gpu, &sized, &plan));
    assert_ok(tally_copy(gpu, there, &here, sizeof here));
    args.x = there->x;
    args.out = there->out;
    args.offsets = segments ? there->index : NULL;
    args.keys = desc->grouping == TALLY_KEYS ? there->index : NULL;
    args.labels = desc->grouping == TALLY_LABELS ? there->index : NULL;
    args.shape.extent = MOST;
    args.shape.groups = segments ? MOST_GROUPS : args.shape.groups;
    const tally_status status = tally_run_sized(plan, &args, &sizes, NULL);
    tally_plan_destroy(plan);
    assert_ok(tally_copy(gpu, &found, there, sizeof found));
    assert_true(found.status == (uint32_t)status);
    return status;
}

static void check(tally_grouping grouping) {
    tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_args args = arguments(here.x, grouping == TALLY_SEGMENTS ? MOST : ELEMENTS, here.out, sizeof here.out);
    uint64_t runs = 0;
    desc.mode = TALLY_EXACT;
    desc.grouping = grouping;
    desc.index = grouping == TALLY_ALL_VALUES || grouping == TALLY_AXIS ? TALLY_DEFAULT : TALLY_U32;
    for (uint32_t i = 0; i < MOST; i++) {
        here.x[i] = (float)(i * 7919 % 1000) / 7;
        here.index[i] = grouping == TALLY_SEGMENTS ? i * 30 : grouping == TALLY_KEYS ? i / 30 : i * 31 % GROUPS;
        here.out[i] = -1;
    }
    here.size = grouping == TALLY_SEGMENTS ? GROUPS : ELEMENTS;
    args.count = grouping == TALLY_KEYS ? &runs : NULL;
    args.shape.groups = grouping == TALLY_SEGMENTS || grouping == TALLY_LABELS ? GROUPS : 0;
    assert_ok(run_on_gpu(&desc, args));
    args.offsets = grouping == TALLY_SEGMENTS ? here.index : NULL;
    args.keys = grouping == TALLY_KEYS ? here.index : NULL;
    args.labels = grouping == TALLY_LABELS ? here.index : NULL;
    assert_ok(run_desc(cpu, &desc, &args));
    assert_memory_equal(found.out, here.out, sizeof here.out);
    here.size = MOST + 1;
    assert_true(run_on_gpu(&desc, args) == TALLY_INVALID_ARGUMENT);
    assert_memory_equal(found.out, here.out, sizeof here.out);
}

static void sizes_are_read(void **state) {
    (void)state;
    check(TALLY_ALL_VALUES);
    check(TALLY_AXIS);
    check(TALLY_SEGMENTS);
    check(TALLY_KEYS);
    check(TALLY_LABELS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_read)};
    void *memory;
    if (tally_open("vulkan:0", &gpu) != TALLY_OK || tally_open("cpu", &cpu) != TALLY_OK ||
        tally_alloc(gpu, sizeof here, &memory) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    there = memory;
    const int failed = cmocka_run_group_tests_name("sizes on Vulkan devices", tests, NULL, NULL);
    tally_free(gpu, memory);
    tally_close(cpu);
    tally_close(gpu);
    return failed;
}
