/* Rank plans, driven in turn by one thread, which does the exchanges in memory: results in parts are one rank's; errors
 * of one rank are those of all; damaged words are refused. */
#include "parts.h"

enum { MOST_CASES = 1 << 20 };

static tally_device *device;
static uint64_t random_state = 1;
static unsigned cases = 600;

/* What the engine does wrong, for the tests of faults. */
typedef struct fault {
    unsigned exchange; /* number of the exchange; 0: none */
    size_t word;
} fault;

static bool on_cpu(void) {
    return strncmp(test_device_spec(), "cpu", 3) == 0;
}

/* ---- the engine ---- */

static void combine(const tally_exchange *e, uint64_t ranks, tally_exchange_kind kind) {
    const size_t words = e[0].words;
    for (size_t i = 0; i < words; i++) {
        int64_t total = 0;
        bool any = false;
        for (uint64_t r = 0; r < ranks; r++) {
            const int64_t own = e[r].send[i], before = any ? total : 0x5eed;
            const bool is_sum = kind == TALLY_EXCHANGE_SUM || kind == TALLY_EXCHANGE_SUM_BEFORE;
            total = !any ? own : is_sum ? (int64_t)((uint64_t)total + (uint64_t)own) : total > own ? total : own;
            any = true;
            if (kind == TALLY_EXCHANGE_SUM_BEFORE || kind == TALLY_EXCHANGE_MAX_BEFORE)
                e[r].receive[i] = before;
        }
        for (uint64_t r = 0; r < ranks && (kind == TALLY_EXCHANGE_SUM || kind == TALLY_EXCHANGE_MAX); r++)
            e[r].receive[i] = total;
    }
}

static void gather(const tally_exchange *e, uint64_t ranks) {
    for (uint64_t r = 0; r < ranks; r++)
        for (uint64_t q = 0; q < ranks; q++)
            memcpy(e[r].receive + q * e[r].words, e[q].send, e[q].words * sizeof(int64_t));
}

/* Runs all ranks to their end; their common status. */
static tally_status drive(tally_rank_plan **plans, uint64_t ranks, fault f) {
    for (unsigned number = 1;; number++) {
        tally_exchange e[MOST_RANKS];
        const tally_status status = tally_rank_next(plans[0], &e[0]);
        for (uint64_t r = 1; r < ranks; r++) {
            assert_int_equal(tally_rank_next(plans[r], &e[r]), status);
            assert_int_equal(e[r].kind, e[0].kind);
            assert_int_equal(e[r].words, e[0].words);
        }
        if (status != TALLY_OK || e[0].kind == TALLY_EXCHANGE_DONE)
            return status;
        assert_in_range(e[0].words, 1, 1 << 28);
        if (e[0].kind == TALLY_EXCHANGE_GATHER)
            gather(e, ranks);
        else
            combine(e, ranks, e[0].kind);
        for (uint64_t r = 0; r < ranks && f.exchange == number; r++)
            e[r].receive[f.word] ^= 64;
    }
}

static void make_plans(const tally_desc *desc, tally_split split, uint64_t ranks, unsigned flags,
                       tally_rank_plan **plans) {
    for (uint64_t r = 0; r < ranks; r++) {
        const tally_rank_options options = {sizeof options, r, ranks, split, flags};
        assert_ok(tally_rank_plan_create(device, desc, &options, &plans[r]));
    }
}

static void destroy_plans(tally_rank_plan **plans, uint64_t ranks) {
    for (uint64_t r = 0; r < ranks; r++)
        tally_rank_plan_destroy(plans[r]);
}

/* ---- results ---- */

static void check_problem(problem *p, uint64_t ranks, unsigned flags) {
    tally_rank_plan *plans[MOST_RANKS];
    char name[200], why[200];
    problem_name(p, name, sizeof name);
    problem_cut(p, ranks, &random_state);
    make_plans(&p->desc, p->split, ranks, flags, plans);
    for (int again = 0; again < 2; again++) { /* the second time on used plans */
        for (uint64_t r = 0; r < ranks; r++)
            tally_rank_begin(plans[r], &p->parts[r].args, p->parts[r].flags, TALLY_SYNCHRONOUS);
        forget_last_error();
        const tally_status status = drive(plans, ranks, (fault){0, 0});
        if (status != problem_expected(p))
            fail_msg("%s on %d ranks: %s, not %s: %s", name, (int)ranks, tally_status_name(status),
                     tally_status_name(problem_expected(p)), tally_last_error());
        if (status == TALLY_OK && !problem_agrees(p, 0, ranks, why, sizeof why))
            fail_msg("%s on %d ranks, run %d: %s", name, (int)ranks, again, why);
    }
    destroy_plans(plans, ranks);
}

static void parts_give_what_one_rank_gives(void **state) {
    (void)state;
    static const uint64_t counts[] = {1, 2, 3, 5, 8, 17, 64};
    unsigned done = 0;
    for (unsigned k = 0; k < MOST_CASES && done < cases; k++) {
        problem p;
        const uint64_t seed = random_state;
        const uint64_t ranks = counts[next_random(&random_state) % (k % 8 ? COUNT_OF(counts) - 2 : COUNT_OF(counts))];
        if (!problem_make(&p, device, &random_state, k % 2))
            continue;
        if (getenv("TALLY_RANKS_VERBOSE")) {
            char name[200];
            problem_name(&p, name, sizeof name);
            printf("%llu: %s, %d ranks\n", (unsigned long long)seed, name, (int)ranks);
        }
        check_problem(&p, ranks, (k % 3 ? TALLY_RANK_HAS_EXSCAN : 0u) | (k % 5 ? 0u : TALLY_RANK_DEVICE_WORDS));
        problem_free(&p);
        done++;
    }
    assert_int_equal(done, cases);
}

/* ---- the same bits every time ---- */

static void fast_results_repeat(void **state) {
    (void)state;
    enum { N = 50000, RANKS = 5 };
    static float x[N];
    float first = 0, out[RANKS];
    for (int i = 0; i < N; i++)
        x[i] = (float)(next_random(&random_state) >> 40) / 1024;
    for (int run = 0; run < 3; run++) {
        tally_rank_plan *plans[RANKS];
        tally_args args[RANKS];
        const tally_desc desc = describe(TALLY_VAR, TALLY_REDUCE, TALLY_F32);
        make_plans(&desc, TALLY_SPLIT_EXTENT, RANKS, 0, plans);
        for (int r = 0; r < RANKS; r++) {
            args[r] = arguments(x + r * (N / RANKS), N / RANKS, &out[r], sizeof *out);
            tally_rank_begin(plans[r], &args[r], 0, TALLY_SYNCHRONOUS);
        }
        assert_ok(drive(plans, RANKS, (fault){0, 0}));
        first = run ? first : out[0];
        for (int r = 0; r < RANKS; r++)
            assert_memory_equal(&out[r], &first, sizeof first);
        destroy_plans(plans, RANKS);
    }
}

/* ---- faults ---- */

enum { RANKS = 4 };

/* Rank 2 has another description; all ranks hear of it, by name. */
static void check_refused(const tally_desc *desc, tally_split split, const tally_desc *other, tally_split other_split,
                          const tally_args *args, const tally_args *other_args, tally_status expected,
                          const char *names) {
    tally_rank_plan *plans[RANKS];
    for (uint64_t r = 0; r < RANKS; r++) {
        const tally_rank_options options = {sizeof options, r, RANKS, r == 2 ? other_split : split, 0};
        assert_ok(tally_rank_plan_create(device, r == 2 ? other : desc, &options, &plans[r]));
        tally_rank_begin(plans[r], r == 2 ? other_args : args, 0, TALLY_SYNCHRONOUS);
    }
    assert_fails(drive(plans, RANKS, (fault){0, 0}), expected);
    if (!strstr(tally_last_error(), "rank 2") || !strstr(tally_last_error(), names))
        fail_msg("'%s' names neither rank 2 nor '%s'", tally_last_error(), names);
    destroy_plans(plans, RANKS);
}

static void ranks_that_differ_are_named(void **state) {
    (void)state;
    double x[8] = {0}, out[16];
    const tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_desc other = sum, axis = sum, user = sum;
    tally_args args = arguments(x, 2, out, sizeof out), wide = args;
    const tally_split split = TALLY_SPLIT_EXTENT;
    other.op = TALLY_MAX;
    check_refused(&sum, split, &other, split, &args, &args, TALLY_INVALID_ARGUMENT, "max");
    check_refused(&sum, split, &other, split, NULL, NULL, TALLY_INVALID_ARGUMENT, "max"); /* descriptions alone */
    other = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F64);
    check_refused(&sum, split, &other, split, &args, &args, TALLY_INVALID_ARGUMENT, "f64");
    other = sum;
    other.mode = TALLY_EXACT;
    check_refused(&sum, split, &other, split, &args, &args, TALLY_INVALID_ARGUMENT, "exact");
    other = describe(TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_F32);
    check_refused(&sum, split, &other, split, &args, &args, TALLY_INVALID_ARGUMENT, "inclusive_scan");
    axis.grouping = TALLY_AXIS;
    wide.shape.inner = 2;
    check_refused(&axis, split, &axis, split, &args, &wide, TALLY_INVALID_ARGUMENT, "inner 2");
    check_refused(&axis, split, &axis, TALLY_SPLIT_OTHER, &args, &args, TALLY_INVALID_ARGUMENT, "split 1");
    /* what one rank alone is refused */
    wide = args;
    wide.out_bytes = 1;
    check_refused(&sum, split, &sum, split, &args, &wide, TALLY_OUTPUT_TOO_SMALL, "out_bytes");
    wide = args;
    wide.x = NULL;
    check_refused(&sum, split, &sum, split, &args, &wide, TALLY_INVALID_ARGUMENT, "args.x");
    user.op = TALLY_USER;
    check_refused(&sum, split, &user, split, NULL, NULL, TALLY_INVALID_ARGUMENT, "desc.user");
    other = sum;
    other.flags = 1u << 30;
    check_refused(&sum, split, &other, split, NULL, NULL, TALLY_INVALID_ARGUMENT, "unknown bits");
    other = sum;
    other.flags = TALLY_WORDS_OUT;
    check_refused(&sum, split, &other, split, NULL, NULL, TALLY_UNSUPPORTED, "words");
    other.flags = TALLY_SIZE_ON_DEVICE;
    check_refused(&sum, split, &other, split, NULL, NULL, TALLY_UNSUPPORTED, "TALLY_SIZE_ON_DEVICE");
    check_refused(&sum, split, &sum, TALLY_SPLIT_OTHER, NULL, NULL, TALLY_INVALID_ARGUMENT, "TALLY_SPLIT_OTHER");
}

static void bad_groups_are_named(void **state) {
    (void)state;
    const float x[9] = {0};
    float out[8];
    const int64_t good[] = {0, 1, 2, 3, 4}, bad[] = {0, 1, 3, 2, 4}, behind[] = {0, 1, 2, 3, 9},
                  hole[] = {0, 1, 1, 2, 4};
    const int64_t *const lists[] = {bad, behind};
    tally_desc desc = describe(TALLY_MIN, TALLY_REDUCE, TALLY_F32);
    desc.grouping = TALLY_SEGMENTS;
    tally_args args = arguments(x, 4, out, sizeof out), other;
    args.shape.groups = 4;
    args.offsets = good;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        other = args;
        other.offsets = lists[i];
        check_refused(&desc, TALLY_SPLIT_EXTENT, &desc, TALLY_SPLIT_EXTENT, &args, &other, TALLY_BAD_OFFSETS,
                      !on_cpu() ? "segment"
                      : i       ? "offsets[4]"
                                : "offsets[2]");
    }
    other = args;
    other.offsets = hole;
    check_refused(&desc, TALLY_SPLIT_EXTENT, &desc, TALLY_SPLIT_EXTENT, &args, &other, TALLY_EMPTY, "min of nothing");
    desc.form = TALLY_INCLUSIVE_SCAN;
    other.offsets = bad;
    check_refused(&desc, TALLY_SPLIT_EXTENT, &desc, TALLY_SPLIT_EXTENT, &args, &other, TALLY_BAD_OFFSETS,
                  on_cpu() ? "offsets[2]" : "segment 2");
    /* a first segment of all ranks that goes on from nothing */
    tally_rank_plan *plans[RANKS];
    make_plans(&desc, TALLY_SPLIT_EXTENT, RANKS, 0, plans);
    for (uint64_t r = 0; r < RANKS; r++)
        tally_rank_begin(plans[r], &args, TALLY_RANK_CONTINUES, TALLY_SYNCHRONOUS);
    assert_fails(drive(plans, RANKS, (fault){0, 0}), TALLY_INVALID_ARGUMENT);
    /* the plans are whole */
    for (uint64_t r = 0; r < RANKS; r++)
        tally_rank_begin(plans[r], &args, r ? TALLY_RANK_CONTINUES : 0, TALLY_SYNCHRONOUS);
    assert_ok(drive(plans, RANKS, (fault){0, 0}));
    destroy_plans(plans, RANKS);
}

/* Whatever word of whatever exchange is damaged, no rank gives a result. Exchange 1 is the agreement. */
static void damaged_words_are_refused(void **state) {
    (void)state;
    static const struct {
        tally_op op;
        tally_form form;
        tally_grouping grouping;
        tally_mode mode;
        unsigned flags;
    } all[] = {
        {TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_EXACT, 0},
        {TALLY_MIN, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_EXACT, 0},
        {TALLY_VAR, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_FAST, 0},
        {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_EXACT, TALLY_RANK_HAS_EXSCAN},
        {TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_EXACT, 0},
        {TALLY_MAX, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_FAST, TALLY_RANK_HAS_EXSCAN},
        {TALLY_SUM, TALLY_REDUCE, TALLY_KEYS, TALLY_EXACT, 0},
    };
    const float x[4] = {1, 2, 3, 4};
    const int64_t keys[4] = {7, 7, 7, 7};
    float out[RANKS][4];
    for (size_t k = 0; k < COUNT_OF(all); k++)
        for (unsigned exchange = 1; exchange <= 2; exchange++) {
            tally_desc desc = describe(all[k].op, all[k].form, TALLY_F32);
            tally_words_info info = {.struct_size = sizeof info};
            tally_rank_plan *plans[RANKS];
            tally_args args[RANKS];
            desc.mode = all[k].mode;
            tally_desc words = desc;
            words.form = TALLY_REDUCE;
            assert_ok(tally_words_describe(&words, &info));
            desc.grouping = all[k].grouping;
            const bool is_keys = desc.grouping == TALLY_KEYS;
            const size_t first = is_keys && exchange == 2 ? 6 : 0; /* behind the keys */
            const size_t count = exchange == 1 ? 3 : info.count;
            for (size_t word = first; word < first + count; word++) {
                make_plans(&desc, TALLY_SPLIT_EXTENT, RANKS, all[k].flags, plans);
                for (uint64_t r = 0; r < RANKS; r++) {
                    args[r] = arguments(x, 4, out[r], sizeof out[r]);
                    args[r].keys = is_keys ? keys : NULL;
                    tally_rank_begin(plans[r], &args[r], 0, TALLY_SYNCHRONOUS);
                }
                assert_fails(drive(plans, RANKS, (fault){exchange, word}), TALLY_BAD_STATE);
                destroy_plans(plans, RANKS);
            }
        }
}

/* From a plan's second run on, reductions by segments take one exchange, in which errors travel, too. */
static void later_runs_by_segments_take_one_exchange(void **state) {
    (void)state;
    const float x[4] = {1, 2, 3, 4};
    const int64_t good[] = {0, 1, 2, 3, 4}, bad[] = {0, 1, 3, 2, 4}, no_end[] = {0, 1, 2, 4, 4};
    float out[RANKS][4];
    tally_desc desc = describe(TALLY_MAX, TALLY_REDUCE, TALLY_F32);
    tally_rank_plan *plans[RANKS];
    tally_args args[RANKS];
    desc.grouping = TALLY_SEGMENTS;
    make_plans(&desc, TALLY_SPLIT_EXTENT, RANKS, 0, plans);
    for (unsigned run = 0; run < 5; run++) {
        tally_exchange e[RANKS];
        for (uint64_t r = 0; r < RANKS; r++) {
            args[r] = arguments(x, 4, out[r], sizeof out[r]);
            args[r].shape.groups = 4;
            args[r].offsets = r != 2 ? good : run == 2 ? bad : run > 2 ? no_end : good;
            /* the last segment of rank 2 is empty, and has elements on rank 3 in run 4 */
            tally_rank_begin(plans[r], &args[r], r == 3 && run != 3 ? TALLY_RANK_CONTINUES : 0, TALLY_SYNCHRONOUS);
        }
        if (run == 2 || run == 3) {
            const char *const text = run == 2 ? "rank 2: " : "rank 2: its last segment is empty, and max of nothing";
            assert_fails(drive(plans, RANKS, (fault){0, 0}), run == 2 ? TALLY_BAD_OFFSETS : TALLY_EMPTY);
            if (strncmp(tally_last_error(), text, strlen(text)) != 0 || strstr(tally_last_error() + 1, "rank"))
                fail_msg("'%s' does not begin with '%s'", tally_last_error(), text);
            continue;
        }
        for (unsigned k = 0; k < 2 && run; k++) {
            for (uint64_t r = 0; r < RANKS; r++) {
                assert_ok(tally_rank_next(plans[r], &e[r]));
                assert_int_equal(e[r].kind, k ? TALLY_EXCHANGE_DONE : TALLY_EXCHANGE_GATHER);
            }
            if (k == 0)
                gather(e, RANKS);
        }
        if (run == 0)
            assert_ok(drive(plans, RANKS, (fault){0, 0}));
        assert_true(out[0][3] == 4 && out[2][0] == 1 && out[3][3] == 4);
        assert_true(out[2][3] == (run == 4 ? 1.0f : 4.0f) && out[3][0] == out[2][3]);
    }
    destroy_plans(plans, RANKS);
}

/* A rank that has no arguments tells all ranks, in a plan's first run and in later ones. */
static void ranks_without_arguments_tell_all(void **state) {
    (void)state;
    static const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_KEYS};
    const float x[4] = {1, 2, 3, 4};
    const int64_t keys[4] = {7, 7, 8, 8};
    float out[RANKS][4];
    for (size_t k = 0; k < COUNT_OF(groupings); k++) {
        tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
        tally_rank_plan *plans[RANKS];
        tally_args args[RANKS];
        desc.grouping = groupings[k];
        make_plans(&desc, TALLY_SPLIT_EXTENT, RANKS, 0, plans);
        for (unsigned run = 0; run < 3; run++) {
            for (uint64_t r = 0; r < RANKS; r++) {
                args[r] = arguments(x, 4, out[r], sizeof out[r]);
                args[r].keys = k ? keys : NULL;
                tally_rank_begin(plans[r], r == 2 && run % 2 == 0 ? NULL : &args[r], 0, TALLY_SYNCHRONOUS);
            }
            if (run == 1) {
                assert_ok(drive(plans, RANKS, (fault){0, 0}));
                continue;
            }
            assert_ok(tally_rank_refuse(plans[2], TALLY_UNSUPPORTED, "it has no such array"));
            assert_fails(drive(plans, RANKS, (fault){0, 0}), TALLY_UNSUPPORTED);
            assert_string_equal(tally_last_error(), "rank 2: it has no such array");
        }
        assert_fails(tally_rank_refuse(plans[0], TALLY_OK, "fine"), TALLY_INVALID_ARGUMENT);
        assert_fails(tally_rank_refuse(plans[0], TALLY_UNSUPPORTED, NULL), TALLY_INVALID_ARGUMENT);
        assert_fails(tally_rank_refuse(NULL, TALLY_UNSUPPORTED, "no plan"), TALLY_INVALID_ARGUMENT);
        destroy_plans(plans, RANKS);
    }
}

/* args NULL on one rank alone is an error of all: in a plan's first run and in later ones. On all ranks it compares
 * descriptors. */
static void missing_arguments_are_named(void **state) {
    (void)state;
    static const tally_grouping groupings[] = {TALLY_ALL_VALUES, TALLY_AXIS, TALLY_AXIS,
                                               TALLY_SEGMENTS,   TALLY_KEYS, TALLY_LABELS};
    const float x[4] = {1, 2, 3, 4};
    const int64_t keys[4] = {7, 7, 8, 8}, labels[4] = {0, 1, 1, 0}, offsets[3] = {0, 1, 4};
    float out[RANKS][4];
    for (size_t k = 0; k < COUNT_OF(groupings) * 2; k++) {
        tally_desc desc = describe(TALLY_SUM, k % 2 ? TALLY_INCLUSIVE_SCAN : TALLY_REDUCE, TALLY_F32);
        tally_rank_plan *plans[RANKS];
        tally_args args[RANKS];
        desc.grouping = groupings[k / 2];
        if (k % 2 && desc.grouping == TALLY_LABELS)
            continue;
        make_plans(&desc, k / 2 == 1 ? TALLY_SPLIT_OTHER : TALLY_SPLIT_EXTENT, RANKS, k % 2 ? TALLY_RANK_HAS_EXSCAN : 0,
                   plans);
        for (unsigned run = 0; run < 8; run++) {
            for (uint64_t r = 0; r < RANKS; r++) {
                args[r] = arguments(x, 4, out[r], sizeof out[r]);
                args[r].shape.groups = desc.grouping == TALLY_SEGMENTS || desc.grouping == TALLY_LABELS ? 2 : 0;
                args[r].keys = desc.grouping == TALLY_KEYS ? keys : NULL;
                args[r].offsets = desc.grouping == TALLY_SEGMENTS ? offsets : NULL;
                args[r].labels = desc.grouping == TALLY_LABELS ? labels : NULL;
                const bool has_none = run % 4 == 0 ? r == 2 : run % 4 == 2 ? r != 2 : run % 4 == 3;
                tally_rank_begin(plans[r], has_none ? NULL : &args[r], 0, TALLY_SYNCHRONOUS);
            }
            if (run % 2) {
                assert_ok(drive(plans, RANKS, (fault){0, 0}));
                continue;
            }
            assert_fails(drive(plans, RANKS, (fault){0, 0}), TALLY_INVALID_ARGUMENT);
            const char *const text = tally_last_error(), *const none = strstr(text, "no arguments");
            const char *const of_2 = strstr(text, "rank 2 has "), *const of_0 = strstr(text, "rank 0 has ");
            if (!none || !of_2 || !of_0 || (none < of_0) != (run % 4 == 0))
                fail_msg("'%s' does not say who has no arguments", text);
        }
        destroy_plans(plans, RANKS);
    }
}

/* The message of a plan that is refused is the same in every run, whoever else is refused. */
static void refused_plans_keep_their_messages(void **state) {
    (void)state;
    const tally_desc sum = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_desc other = sum, last = sum;
    tally_rank_plan *plans[RANKS];
    other.grouping = (tally_grouping)99;
    last.op = TALLY_USER;
    for (uint64_t r = 0; r < RANKS; r++) {
        const tally_rank_options options = {sizeof options, r, RANKS, TALLY_SPLIT_EXTENT, 0};
        const tally_desc *const desc = r == 1 ? &other : r == 3 ? &last : &sum;
        assert_ok(tally_rank_plan_create(device, desc, &options, &plans[r]));
    }
    for (unsigned run = 0; run < 3; run++) {
        for (uint64_t r = 0; r < RANKS; r++)
            tally_rank_begin(plans[r], NULL, 0, TALLY_SYNCHRONOUS);
        assert_fails(drive(plans, RANKS, (fault){0, 0}), TALLY_INVALID_ARGUMENT);
        if (!strstr(tally_last_error(), "rank 1: desc.grouping is 99") || strstr(tally_last_error() + 1, "rank"))
            fail_msg("run %u: '%s'", run, tally_last_error());
    }
    /* on its own it says what is wrong with it, not with rank 1 */
    tally_exchange e;
    tally_rank_begin(plans[3], NULL, 0, TALLY_SYNCHRONOUS);
    assert_ok(tally_rank_next(plans[3], &e));
    memset(e.receive, 0, e.words * sizeof *e.receive);
    e.receive[2] = TALLY_INVALID_ARGUMENT;
    assert_ok(tally_rank_next(plans[3], &e));
    assert_int_equal(e.kind, TALLY_EXCHANGE_GATHER);
    if (!strstr((const char *)(e.send + 2), "desc.user"))
        fail_msg("rank 3 sends '%s'", (const char *)(e.send + 2));
    destroy_plans(plans, RANKS);
}

static void calls_out_of_place(void **state) {
    (void)state;
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_F32);
    tally_rank_options options = {sizeof options, 0, 1, TALLY_SPLIT_EXTENT, 0};
    tally_rank_plan *plan = NULL;
    tally_exchange e;
    assert_fails(tally_rank_plan_create(NULL, &desc, &options, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_rank_plan_create(device, NULL, &options, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_rank_plan_create(device, &desc, NULL, &plan), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_rank_plan_create(device, &desc, &options, NULL), TALLY_INVALID_ARGUMENT);
    options.rank = 1;
    assert_fails(tally_rank_plan_create(device, &desc, &options, &plan), TALLY_INVALID_ARGUMENT);
    options.rank = options.struct_size = 0;
    assert_fails(tally_rank_plan_create(device, &desc, &options, &plan), TALLY_INVALID_ARGUMENT);
    options.struct_size = sizeof options;
    options.split = (tally_split)7;
    assert_fails(tally_rank_plan_create(device, &desc, &options, &plan), TALLY_INVALID_ARGUMENT);
    options.split = TALLY_SPLIT_EXTENT;
    options.flags = 1u << 7;
    assert_fails(tally_rank_plan_create(device, &desc, &options, &plan), TALLY_INVALID_ARGUMENT);
    options.flags = 0;
    assert_ok(tally_rank_plan_create(device, &desc, &options, &plan));
    tally_rank_begin(NULL, NULL, 0, TALLY_SYNCHRONOUS);
    assert_fails(tally_rank_next(plan, &e), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_rank_next(NULL, &e), TALLY_INVALID_ARGUMENT);
    assert_fails(tally_rank_fail(plan, NULL), TALLY_INVALID_ARGUMENT);
    float x = 3, out = 0;
    const tally_args args = arguments(&x, 1, &out, sizeof out);
    tally_rank_begin(plan, &args, 0, TALLY_SYNCHRONOUS);
    assert_ok(tally_rank_next(plan, &e));
    assert_fails(tally_rank_fail(plan, "the network is gone"), TALLY_DEVICE_FAILED);
    assert_fails(tally_rank_next(plan, &e), TALLY_DEVICE_FAILED);
    assert_string_equal(tally_last_error(), "the network is gone");
    tally_rank_begin(plan, &args, 0, TALLY_SYNCHRONOUS);
    assert_ok(drive(&plan, 1, (fault){0, 0}));
    assert_true(out == 3);
    assert_ok(tally_rank_next(plan, &e)); /* done, as often as one asks */
    assert_int_equal(e.kind, TALLY_EXCHANGE_DONE);
    for (unsigned bit = 0; bit < 2; bit++) { /* of all values there is nothing that could continue */
        tally_rank_begin(plan, &args, TALLY_RANK_CONTINUES << bit, TALLY_SYNCHRONOUS);
        assert_fails(drive(&plan, 1, (fault){0, 0}), TALLY_INVALID_ARGUMENT);
    }
    tally_rank_plan_destroy(plan);
    tally_rank_plan_destroy(NULL);
}

/* With TALLY_RANK_TRUSTED nothing but data is exchanged, and an error is its rank's own. */
static void trusted_ranks_exchange_data_only(void **state) {
    (void)state;
    const tally_desc desc = describe(TALLY_SUM, TALLY_REDUCE, TALLY_I32);
    const tally_rank_options options = {sizeof options, 0, 1, TALLY_SPLIT_EXTENT, TALLY_RANK_TRUSTED};
    const int32_t x[] = {1, 2, 3};
    int64_t out = 0;
    tally_args args = arguments(x, 3, &out, sizeof out);
    tally_rank_plan *plan;
    tally_exchange e;
    assert_ok(tally_rank_plan_create(device, &desc, &options, &plan));
    tally_rank_begin(plan, &args, 0, TALLY_SYNCHRONOUS);
    assert_ok(tally_rank_next(plan, &e));
    assert_int_equal(e.kind, TALLY_EXCHANGE_SUM);
    assert_int_equal(e.words, 3);
    assert_ok(tally_rank_next(plan, &e));
    assert_int_equal(e.kind, TALLY_EXCHANGE_DONE);
    assert_int_equal(out, 6);
    args.out_bytes = 1;
    tally_rank_begin(plan, &args, 0, TALLY_SYNCHRONOUS);
    assert_fails(tally_rank_next(plan, &e), TALLY_OUTPUT_TOO_SMALL);
    tally_rank_plan_destroy(plan);
}

int main(int argc, char **argv) {
    if (argc > 1)
        random_state = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        cases = (unsigned)strtoul(argv[2], NULL, 0);
    if (device_is_missing())
        return 77;
    assert_ok(tally_open(test_device_spec(), &device));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_give_what_one_rank_gives),    cmocka_unit_test(fast_results_repeat),
        cmocka_unit_test(ranks_that_differ_are_named),       cmocka_unit_test(bad_groups_are_named),
        cmocka_unit_test(damaged_words_are_refused),         cmocka_unit_test(calls_out_of_place),
        cmocka_unit_test(trusted_ranks_exchange_data_only),  cmocka_unit_test(later_runs_by_segments_take_one_exchange),
        cmocka_unit_test(ranks_without_arguments_tell_all),  cmocka_unit_test(missing_arguments_are_named),
        cmocka_unit_test(refused_plans_keep_their_messages),
    };
    const int failed = cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
    tally_close(device);
    return failed;
}
