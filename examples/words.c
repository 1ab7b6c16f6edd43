/* Partial results as int64s: three workers reduce their parts, and whatever adds int64s joins the exact sums. */
#include "example.h"

enum { WORKERS = 3, MOST_WORDS = 80 };
static const double x[] = {1e300, 3.0, 0x1p-53, -1e300, 1.0, 0x1p-53, -7.0};
static const size_t begin[WORKERS + 1] = {0, 2, 2, 7}; /* the second worker has nothing */

/* Runs a plan over an axis of 'rows' elements or states. */
static void run(tally_device *device, const tally_desc *desc, const void *in, size_t rows, void *out, size_t bytes) {
    tally_plan *plan;
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = rows;
    args.x = in;
    args.out = out;
    args.out_bytes = bytes;
    must(tally_plan_create(device, desc, &plan));
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
}

int main(void) {
    tally_device *device;
    must(tally_open("cpu", &device));
    tally_desc desc = TALLY_DESC_INIT;
    desc.op = TALLY_SUM;
    desc.mode = TALLY_EXACT;
    desc.in = TALLY_F64;

    tally_words_info info = {.struct_size = sizeof info};
    must(tally_words_describe(&desc, &info));
    printf("exact sum of f64: %zu words, %s\n", info.count, info.rule == TALLY_WORDS_ADD ? "added" : "not added");

    int64_t words[WORKERS][MOST_WORDS], total[MOST_WORDS] = {0};
    desc.flags = TALLY_WORDS_OUT;
    for (int w = 0; w < WORKERS; w++) /* each worker, on its own device and machine */
        run(device, &desc, x + begin[w], begin[w + 1] - begin[w], words[w], sizeof words[w]);

    /* MPI_Allreduce(MPI_IN_PLACE, words, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD) does this: */
    for (int w = 0; w < WORKERS; w++)
        for (size_t i = 0; i < info.count; i++)
            total[i] = (int64_t)((uint64_t)total[i] + (uint64_t)words[w][i]);

    double sum;
    desc.flags = TALLY_WORDS_IN;
    run(device, &desc, total, 1, &sum, sizeof sum);
    printf("sum %.17g\n", sum);

    /* The index of a minimum is ordered: the parts' words are gathered, and a plan combines them. */
    int64_t index, gathered[WORKERS * 4];
    desc.op = TALLY_ARGMIN;
    must(tally_words_describe(&desc, &info));
    for (int w = 0; w < WORKERS; w++) {
        desc.flags = TALLY_WORDS_OUT;
        run(device, &desc, x + begin[w], begin[w + 1] - begin[w], gathered + (size_t)w * info.count,
            info.count * sizeof *gathered);
    }
    desc.flags = TALLY_WORDS_IN;
    run(device, &desc, gathered, WORKERS, &index, sizeof index);
    printf("the smallest is number %lld of all\n", (long long)index);

    gathered[2] ^= 1; /* damaged on the way */
    tally_accumulator *argmin;
    must(tally_accumulator_create(TALLY_ARGMIN, TALLY_F64, &argmin));
    if (tally_accumulator_add_words(argmin, gathered, info.count * sizeof *gathered) == TALLY_BAD_STATE)
        printf("refused: %s\n", tally_last_error());
    tally_accumulator_destroy(argmin);
    tally_close(device);
    return 0;
}
