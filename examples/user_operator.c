/* A user's own monoid: the longest run of zeros. An accumulator holds its length, the zeros at both ends, and the
 * longest run inside. Combining two joins the left one's last zeros with the right one's first.
 * usage: user_operator [DEVICE] */
#include "example.h"

static const char acc_source[] = "struct acc_t { long long length, leading, trailing, longest; };";
static const char combine_source[] =
    "acc_t{left.length + right.length,"
    "      left.leading == left.length ? left.length + right.leading : left.leading,"
    "      right.trailing == right.length ? right.length + left.trailing : right.trailing,"
    "      max(max(left.longest, right.longest), left.trailing + right.leading)}";

int main(int argc, char **argv) {
    const int32_t x[] = {0, 0, 5, 0, 0, 0, 1, 0};
    int64_t longest[8];
    const tally_user_op longest_zeros = {.struct_size = sizeof(tally_user_op),
                                         .name = "longest run of zeros",
                                         .acc_bytes = 4 * sizeof(int64_t),
                                         .acc_source = acc_source,
                                         .identity_source = "acc_t{0, 0, 0, 0}",
                                         .lift_source = "acc_t{1, x == 0, x == 0, x == 0}",
                                         .combine_source = combine_source,
                                         .lower_source = "acc.longest"};
    tally_device *device;
    tally_plan *plan;
    must(tally_open(argc > 1 ? argv[1] : "cpu", &device));
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_USER;
    desc.form = TALLY_INCLUSIVE_SCAN;
    desc.in = TALLY_I32;
    desc.out = TALLY_I64; /* has no default here */
    desc.user = &longest_zeros;
    must(tally_plan_create(device, &desc, &plan));

    void *memory;
    must(tally_alloc(device, sizeof longest + sizeof x, &memory));
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = 8;
    args.x = (char *)memory + sizeof longest;
    args.out = memory;
    args.out_bytes = sizeof longest;
    must(tally_copy(device, (char *)memory + sizeof longest, x, sizeof x));
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    must(tally_copy(device, longest, memory, sizeof longest));
    for (int i = 0; i < 8; i++)
        printf("%s%lld", i ? " " : "", (long long)longest[i]);
    printf("\n");
    tally_free(device, memory);
    tally_plan_destroy(plan);
    tally_close(device);
    return 0;
}
