/* tally/nccl.h with a thread for each rank: random computations give one rank's results, a rank that differs is named
 * on every rank, and NCCL's errors come through. It runs on emulated GPUs, whose memory the host can read, with a
 * stand-in for NCCL (emulate, TALLY_NCCL).
 *
 *     nccl [SEED [CASES]]    the test; "nccl missing" where there is no NCCL */
#include <dlfcn.h>
#include <pthread.h>

#include "../ranks/parts.h"
#include "tally/nccl.h"

enum { MOST_THREADS = 8 };

static uint64_t random_state = 1;
static unsigned cases = 8;
static tally_device *gpus[2];
static int (*init_all)(void **comms, int count, const int *devices);
static int (*destroy)(void *comm);

typedef struct rank {
    pthread_t thread;
    const tally_desc *desc;
    tally_split split;
    unsigned plan_flags, run_flags;
    int number, runs;
    tally_stream stream;
    void *comm;
    const tally_args *args;
    tally_status status;
    char message[400];
} rank;

static void *run_rank(void *argument) {
    rank *r = argument;
    tally_nccl_plan *plan;
    r->status = tally_nccl_plan_create(gpus[r->number % 2], r->desc, r->split, r->plan_flags, r->comm, &plan);
    const bool is_made = r->status == TALLY_OK;
    for (int k = 0; k < r->runs && is_made; k++)
        r->status = tally_nccl_run(plan, r->args, r->run_flags, r->stream);
    snprintf(r->message, sizeof r->message, "%s", tally_last_error());
    if (is_made)
        tally_nccl_plan_destroy(plan);
    return NULL;
}

static void run_all(rank *ranks, int count) {
    static const int devices[MOST_THREADS];
    void *comms[MOST_THREADS];
    assert_int_equal(init_all(comms, count, devices), 0);
    for (int r = 0; r < count; r++) {
        ranks[r].number = r;
        ranks[r].comm = comms[r];
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < count; r++)
        assert_int_equal(pthread_join(ranks[r].thread, NULL), 0);
    for (int r = 0; r < count; r++)
        destroy(comms[r]);
}

static void ranks_give_what_one_gives(void **state) {
    (void)state;
    unsigned done = 0;
    for (unsigned k = 0; done < cases; k++) {
        problem p;
        rank ranks[MOST_THREADS] = {{0}};
        char name[200], why[200];
        const int count = 1 + (int)(next_random(&random_state) % 5);
        if (!problem_make(&p, gpus[0], &random_state, k % 2))
            continue;
        problem_cut(&p, (uint64_t)count, &random_state);
        for (int r = 0; r < count; r++)
            ranks[r] = (rank){
                .desc = &p.desc, .split = p.split, .run_flags = p.parts[r].flags, .runs = 2, .args = &p.parts[r].args};
        run_all(ranks, count);
        problem_name(&p, name, sizeof name);
        for (int r = 1; r < count; r++)
            assert_int_equal(ranks[r].status, ranks[0].status);
        if (ranks[0].status != problem_expected(&p))
            fail_msg("%s on %d ranks: %s", name, count, ranks[0].message);
        if (ranks[0].status == TALLY_OK && !problem_agrees(&p, 0, (uint64_t)count, why, sizeof why))
            fail_msg("%s on %d ranks: %s", name, count, why);
        done += ranks[0].status == TALLY_OK;
        problem_free(&p);
    }
}

enum { RANKS = 3, N = 3000 };

static float x[RANKS * N], out[RANKS][N];

static void make_ranks(rank *ranks, const tally_desc *desc, tally_args *args, size_t out_bytes) {
    for (int r = 0; r < RANKS; r++) {
        args[r] = arguments(x + r * N, N, out[r], out_bytes);
        ranks[r] = (rank){.desc = desc, .runs = 1, .args = &args[r]};
    }
}

static void fill(void) {
    for (int i = 0; i < RANKS * N; i++)
        x[i] = (float)((int)(next_random(&random_state) >> 60) - 8);
}

static void streams_only_enqueue(void **state) {
    (void)state;
    rank ranks[RANKS];
    tally_args args[RANKS];
    int stream;
    float total = 0;
    tally_desc desc = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    fill();
    for (int scans = 0; scans < 2; scans++) {
        desc.form = scans ? TALLY_INCLUSIVE_SCAN : TALLY_REDUCE;
        desc.mode = scans ? TALLY_FAST : TALLY_EXACT;
        make_ranks(ranks, &desc, args, scans ? sizeof out[0] : sizeof(float));
        for (int r = 0; r < RANKS; r++) {
            ranks[r].plan_flags = TALLY_RANK_TRUSTED;
            ranks[r].stream = &stream;
        }
        run_all(ranks, RANKS);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(ranks[r].status, TALLY_OK);
        total = 0;
        for (int i = 0; i < RANKS * N; i++) {
            total += x[i];
            if (scans)
                assert_true(out[i / N][i % N] == total);
        }
        for (int r = 0; r < RANKS && !scans; r++)
            assert_true(out[r][0] == total);
    }
    /* Only the host can see how many elements are before, so it must be asked. */
    desc.op = TALLY_ARGMIN;
    make_ranks(ranks, &desc, args, sizeof out[0]);
    desc.form = TALLY_INCLUSIVE_SCAN;
    for (int r = 0; r < RANKS; r++) {
        ranks[r].plan_flags = TALLY_RANK_TRUSTED;
        ranks[r].stream = &stream;
        args[r].out_bytes = sizeof out[0] / 2 * 2;
        args[r].shape.extent = N / 2;
    }
    run_all(ranks, RANKS);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].status, TALLY_UNSUPPORTED);
    /* So must it for the initial value that a reverse scan begins with. */
    desc = describe(TALLY_MIN, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    desc.flags = TALLY_REVERSE;
    run_all(ranks, RANKS);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(ranks[r].status, TALLY_UNSUPPORTED);
}

static void a_rank_that_differs_is_named(void **state) {
    (void)state;
    rank ranks[RANKS];
    tally_args args[RANKS];
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32),
                     other = describe(TALLY_MAX, TALLY_REDUCE, TALLY_F32);
    make_ranks(ranks, &desc, args, sizeof(float));
    ranks[1].desc = &other;
    run_all(ranks, RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].status, TALLY_INVALID_ARGUMENT);
        assert_non_null(strstr(ranks[r].message, "rank 1"));
    }
    /* an error of one rank is that of all */
    make_ranks(ranks, &desc, args, sizeof(float));
    args[2].out_bytes = 1;
    run_all(ranks, RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].status, TALLY_OUTPUT_TOO_SMALL);
        assert_non_null(strstr(ranks[r].message, "rank 2"));
    }
}

static void errors_of_nccl_come_through(void **state) {
    (void)state;
    rank ranks[RANKS];
    tally_args args[RANKS];
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    make_ranks(ranks, &desc, args, sizeof(float));
    setenv("FAKE_NCCL_FAILS", "2", 1);
    run_all(ranks, RANKS);
    unsetenv("FAKE_NCCL_FAILS");
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(ranks[r].status, TALLY_DEVICE_FAILED);
        assert_non_null(strstr(ranks[r].message, "unhandled cuda error"));
    }
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    static const int devices[1];
    tally_device *cpu;
    tally_nccl_plan *plan;
    void *comm;
    assert_int_equal(init_all(&comm, 1, devices), 0);
    assert_ok(tally_open("cpu", &cpu));
    assert_fails(tally_nccl_plan_create(cpu, &desc, TALLY_SPLIT_EXTENT, 0, comm, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_nccl_plan_create(NULL, &desc, TALLY_SPLIT_EXTENT, 0, comm, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_nccl_plan_create(gpus[0], &desc, TALLY_SPLIT_EXTENT, 0, NULL, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_nccl_plan_create(gpus[0], &desc, TALLY_SPLIT_EXTENT, TALLY_RANK_DEVICE_WORDS, comm, &plan),
                 TALLY_INVALID_ARGUMENT);
    assert_fails(tally_nccl_run(NULL, NULL, 0, TALLY_SYNCHRONOUS), TALLY_INVALID_ARGUMENT);
    tally_nccl_plan_destroy(NULL);
    tally_close(cpu);
    destroy(comm);
}

static void without_nccl(void **state) {
    (void)state;
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_nccl_plan *plan;
    int comm;
    assert_fails(tally_nccl_plan_create(gpus[0], &desc, TALLY_SPLIT_EXTENT, 0, &comm, &plan), TALLY_NO_DEVICE);
    assert_non_null(strstr(tally_last_error(), "TALLY_NCCL"));
}

static int test_without_nccl(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_nccl)};
    setenv("TALLY_NCCL", "/nonexistent/libnccl.so.2", 1);
    return cmocka_run_group_tests_name("without NCCL", tests, NULL, NULL);
}

static int test_all(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_give_what_one_gives),    cmocka_unit_test(streams_only_enqueue),
        cmocka_unit_test(a_rank_that_differs_is_named), cmocka_unit_test(errors_of_nccl_come_through),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    void *const library = dlopen(getenv("TALLY_NCCL"), RTLD_NOW);
    void *const functions[] = {library ? dlsym(library, "ncclCommInitAll") : NULL,
                               library ? dlsym(library, "ncclCommDestroy") : NULL};
    if (!functions[0] || !functions[1])
        return 1;
    memcpy(&init_all, &functions[0], sizeof init_all);
    memcpy(&destroy, &functions[1], sizeof destroy);
    return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}

int main(int argc, char **argv) {
    const bool is_missing = argc > 1 && strcmp(argv[1], "missing") == 0;
    if (argc > 1 && !is_missing)
        random_state = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        cases = (unsigned)strtoul(argv[2], NULL, 0);
    assert_ok(tally_open("cuda:0", &gpus[0]));
    assert_ok(tally_open("cuda:1", &gpus[1]));
    const int failed = is_missing ? test_without_nccl() : test_all();
    tally_close(gpus[0]);
    tally_close(gpus[1]);
    return failed;
}
