/* One measurement: the roof, the plain sum if a row is compared with one, and the row itself, batch after batch in
 * turn, so that other programs disturb all of them alike. The best batch of each counts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <string.h>

enum {
    LEAST_ROUNDS = 5,
    MOST_ROUNDS = 10000,
    WAYS = 8,          /* of a roof, at most */
    ROUNDS_OF_ALL = 3, /* after these, loops of the roof that are far behind are left out */
    STEADY_ROUNDS = 4  /* the measurement ends when this many rounds in a row brought no improvement ... */
};
#define BETTER 0.99 /* ... by this much */
#define FAR_BEHIND                                                                                                     \
    1.6            /* with less, the best loop would be dropped when another program holds a core in the first rounds */
#define PATIENCE 4 /* times min_time, for a machine that never gets steady */

typedef struct subject {
    tally_plan *plan;
    tally_args args;
    size_t iterations; /* a batch */
    double best;       /* seconds of one call */
    double best_cpu;
    uint64_t calls;
} subject;

typedef struct roof_times {
    const bench_roof *roof;
    size_t ways;
    size_t iterations[WAYS];
    double best[WAYS];
} roof_times;

/* ---------------------------------------------------------------------------------------------- the parts ----- */

static bool run_batch(subject *s) {
    /* Wakes the threads and warms the caches if the batch would show it. */
    if (s->iterations > 1 && tally_run(s->plan, &s->args, TALLY_SYNCHRONOUS) != TALLY_OK)
        return false;
    double cpu = bench_cpu_seconds();
    double start = bench_now();
    for (size_t i = 0; i < s->iterations; i++)
        if (tally_run(s->plan, &s->args, TALLY_SYNCHRONOUS) != TALLY_OK)
            return false;
    double seconds = (bench_now() - start) / (double)s->iterations;
    s->calls += s->iterations;
    if (s->best == 0 || seconds < s->best) {
        s->best = seconds;
        s->best_cpu = (bench_cpu_seconds() - cpu) / (double)s->iterations;
    }
    return true;
}

/* The number of calls that makes a batch long enough for the clock. */
static size_t calls_for(double seconds, double sample) {
    double calls = seconds > 0 ? sample / seconds : 1000;
    return calls < 1 ? 1 : calls > 1e6 ? (size_t)1000000 : (size_t)calls + 1;
}

static bool calibrate(subject *s, double sample) {
    s->iterations = 1;
    for (int i = 0; i < 3; i++) {
        s->best = 0;
        if (!run_batch(s))
            return false;
        size_t calls = calls_for(s->best, sample);
        if (calls <= s->iterations)
            break;
        s->iterations = calls;
    }
    s->best = 0;
    s->calls = 0;
    return true;
}

static void roof_start(roof_times *t, const bench_roof *roof, double sample) {
    *t = (roof_times){.roof = roof, .ways = bench_roof_ways(roof)};
    for (size_t way = 0; way < t->ways; way++) {
        t->iterations[way] = 1;
        for (int i = 0; i < 2; i++) {
            double seconds = bench_roof_seconds(roof, way, t->iterations[way]) / (double)t->iterations[way];
            size_t calls = calls_for(seconds, sample);
            if (calls <= t->iterations[way])
                break;
            t->iterations[way] = calls;
        }
    }
}

static size_t roof_best_way(const roof_times *t) {
    size_t best = 0;
    for (size_t way = 1; way < t->ways; way++)
        if (t->best[way] < t->best[best])
            best = way;
    return best;
}

static void roof_round(roof_times *t, int round) {
    double best = round < ROUNDS_OF_ALL ? 0 : t->best[roof_best_way(t)];
    for (size_t way = 0; way < t->ways; way++) {
        if (round >= ROUNDS_OF_ALL && t->best[way] > best * FAR_BEHIND)
            continue;
        double seconds = bench_roof_seconds(t->roof, way, t->iterations[way]) / (double)t->iterations[way];
        if (t->best[way] == 0 || seconds < t->best[way])
            t->best[way] = seconds;
    }
}

/* Whether a best time has improved since it was last recorded. */
static bool got_better(double *least, double now) {
    bool better = *least == 0 || now < *least * BETTER;
    if (better)
        *least = now;
    return better;
}

static bool measure(roof_times *roof, subject *plain, subject *row, const bench_options *options) {
    double start = bench_now(), least[3] = {0, 0, 0};
    int steady = 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        double elapsed = bench_now() - start;
        bool enough = round >= LEAST_ROUNDS && elapsed > options->min_time;
        if (enough && (steady >= STEADY_ROUNDS || elapsed > PATIENCE * options->min_time + 0.2))
            break;
        if (roof)
            roof_round(roof, round);
        if (plain && !run_batch(plain))
            return false;
        if (row && !run_batch(row))
            return false;
        bool better = roof && got_better(&least[0], roof->best[roof_best_way(roof)]);
        better = (plain && got_better(&least[1], plain->best)) || better;
        better = (row && got_better(&least[2], row->best)) || better;
        steady = better ? 0 : steady + 1;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- data of a row ----- */

/* The contents of the pools, so that rows of the same data need not make it again. A prefix of a longer fill suffices.
 */
typedef struct filled {
    void *memory;
    tally_dtype dtype;
    bench_data data;
    uint64_t n;
} filled;

static bool fill_once(filled *now, void *memory, tally_dtype dtype, uint64_t n, bench_data data, uint64_t seed) {
    if (!memory)
        return false;
    if (data == BENCH_GIVEN) {
        *now = (filled){NULL, dtype, data, 0};
        return true;
    }
    if (now->memory == memory && now->dtype == dtype && now->data == data && now->n >= n)
        return true;
    bench_fill(memory, dtype, (size_t)n, data, seed);
    *now = (filled){memory, dtype, data, n};
    return true;
}

typedef struct buffers {
    bench_span input[3], output[2];
    size_t inputs, outputs;
} buffers;

static void *add_input(buffers *b, int pool, uint64_t bytes) {
    void *memory = bench_pool(pool, (size_t)bytes);
    b->input[b->inputs++] = (bench_span){memory, (size_t)bytes};
    return memory;
}

static void *add_output(buffers *b, int pool, uint64_t bytes) {
    void *memory = bench_pool(pool, (size_t)bytes);
    b->output[b->outputs++] = (bench_span){memory, (size_t)bytes};
    return memory;
}

static bool prepare_index(const bench_row *row, uint64_t n, buffers *b, tally_args *args, uint64_t *results) {
    if (row->desc.grouping == TALLY_SEGMENTS) {
        *results = bench_segment_count(n, row->lengths, row->length);
        int64_t *offsets = add_input(b, BENCH_INDEX, (*results + 1) * sizeof *offsets);
        if (!offsets)
            return false;
        args->shape.groups = bench_fill_offsets(offsets, n, row->lengths, row->length);
        args->offsets = offsets;
    } else if (row->desc.grouping == TALLY_KEYS) {
        int32_t *keys = add_input(b, BENCH_INDEX, n * sizeof *keys);
        if (!keys)
            return false;
        *results = bench_fill_keys(keys, n, row->length);
        args->keys = keys;
        args->keys_out_bytes = *results * sizeof *keys;
        args->keys_out = add_output(b, BENCH_KEYS_OUT, args->keys_out_bytes);
        if (!args->keys_out)
            return false;
    } else if (row->desc.grouping == TALLY_LABELS) {
        int32_t *labels = add_input(b, BENCH_INDEX, n * sizeof *labels);
        if (!labels)
            return false;
        bench_fill_labels(labels, n, row->lengths, row->length);
        *results = args->shape.groups = row->length;
        args->labels = labels;
    }
    return true;
}

/* Points args at filled memory and lists the bytes that the work must move. False if there is too little memory. */
static bool prepare(const bench_row *row, tally_dtype out, tally_args *args, bench_roof *roof) {
    static filled x_now, y_now;
    const uint64_t n = row->shape.outer * row->shape.extent * row->shape.inner;
    const uint64_t in_bytes = n * tally_dtype_size(row->desc.in);
    uint64_t results = row->desc.grouping == TALLY_AXIS ? row->shape.outer * row->shape.inner : 1;
    buffers b = {.inputs = 0, .outputs = 0};

    args->shape = row->shape;
    args->x = add_input(&b, BENCH_X, in_bytes);
    if (!fill_once(&x_now, b.input[0].start, row->desc.in, n, row->data, 1))
        return false;
    tally_traits traits = {.struct_size = sizeof traits};
    tally_op_traits(row->desc.op, &traits);
    if (traits.inputs == 2) {
        args->y = add_input(&b, BENCH_Y, in_bytes);
        if (!fill_once(&y_now, b.input[1].start, row->desc.in, n, row->data, 2))
            return false;
    }
    if (!prepare_index(row, n, &b, args, &results))
        return false;
    if (row->desc.form != TALLY_REDUCE)
        results = n;
    args->out_bytes = results * tally_dtype_size(out);
    args->out = add_output(&b, BENCH_OUT, args->out_bytes);
    bench_roof_of(b.input, b.inputs, b.output, b.outputs, roof);
    return args->out;
}

/* ------------------------------------------------------------------------------------------------ the whole ----- */

static double roof_report(const roof_times *t, bench_result *result) {
    size_t way = roof_best_way(t);
    bench_roof_way_name(t->roof, way, result->roof_way, sizeof result->roof_way);
    return t->best[way];
}

void bench_measure_roof(const bench_roof *roof, const bench_options *options, bench_result *result) {
    roof_times t;
    roof_start(&t, roof, options->sample);
    measure(&t, NULL, NULL, options);
    result->seconds = result->cpu_seconds = result->roof_seconds = roof_report(&t, result);
    result->iterations = t.iterations[roof_best_way(&t)];
    result->bytes = (double)roof->bytes;
    result->ratio = 1;
}

static void report(const bench_row *row, const subject *s, const subject *plain, bench_result *result) {
    result->iterations = s->calls;
    result->seconds = s->best;
    result->cpu_seconds = s->best_cpu;
    result->plain_seconds = plain->best;
    result->ratio = row->measure == BENCH_NANOSECONDS   ? s->best * 1e9
                    : row->measure == BENCH_PLAIN_RATIO ? plain->best / s->best
                                                        : result->roof_seconds / s->best;
}

static bool measure_prepared(const bench_row *row, const bench_options *options, const bench_roof *roof, subject *s,
                             subject *plain, bench_result *result) {
    roof_times t;
    const bool has_roof = row->measure != BENCH_NANOSECONDS;
    if (!calibrate(s, options->sample) || (plain->plan && !calibrate(plain, options->sample)))
        return false;
    if (has_roof)
        roof_start(&t, roof, options->sample);
    if (!measure(has_roof ? &t : NULL, plain->plan ? plain : NULL, s, options))
        return false;
    if (has_roof)
        result->roof_seconds = roof_report(&t, result);
    result->bytes = (double)roof->bytes;
    report(row, s, plain, result);
    return true;
}

void bench_measure_row(tally_device *device, const bench_row *row, const bench_options *options, bench_result *result) {
    subject s = {.args = TALLY_ARGS_INIT}, plain = {.args = TALLY_ARGS_INIT};
    tally_desc filled_desc = TALLY_DESC_INIT, plain_desc = row->desc;
    size_t elements = 0;
    bench_roof roof;

    *result = (bench_result){.measure = row->measure};
    memcpy(result->name, row->name, sizeof result->name);
    plain_desc.mode = TALLY_FAST;
    bool ok = tally_plan_create(device, &row->desc, &s.plan) == TALLY_OK &&
              tally_plan_describe(s.plan, &filled_desc, &elements) == TALLY_OK &&
              (row->measure != BENCH_PLAIN_RATIO || tally_plan_create(device, &plain_desc, &plain.plan) == TALLY_OK);
    if (ok && !prepare(row, filled_desc.out, &s.args, &roof)) {
        snprintf(result->error, sizeof result->error, "not enough memory for this row");
    } else {
        plain.args = s.args;
        ok = ok && measure_prepared(row, options, &roof, &s, &plain, result);
        if (!ok)
            snprintf(result->error, sizeof result->error, "%s", tally_last_error());
    }
    tally_plan_destroy(s.plan);
    tally_plan_destroy(plain.plan);
}
