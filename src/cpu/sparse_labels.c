/* Elements that are few beside the groups of their labels. The groups that have an element are numbered in the order in
 * which they first occur, the elements are reduced by these numbers, and the results are scattered among those of no
 * element. So nothing but the results is as long as there are groups.
 *
 * A group's number is looked up in memory that is never cleared: it is right if the list of groups has the group in
 * that place (Briggs and Torczon, An efficient representation for sparse sets, 1993). */
#include "cpu/sparse_labels.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "core/run.h"
#include "cpu/labels.h"
#include "cpu/lower.h"
#include "cpu/scratch.h"

enum {
    LEAST_GROUPS = 16 * 1024,
    MOST_NUMBERS = 32 * 1024 * 1024, /* bytes of numbers, which are read in any order: of a cache */
    MOST_RESULT = 2 * sizeof(uint64_t),
    BLOCK = 1024,      /* labels that are read at a time */
    RANGE = 32 * 1024, /* results of a task */
    /* Elements of so many groups, at most. */
    SPARSE = 8
};

typedef struct sparse {
    const tally_cpu_plan *plan;
    const tally_args *args;
    uint32_t *numbers; /* by group */
    uint32_t *groups;  /* by number */
    size_t count;      /* of these */
    void *labels;      /* of the caller's type: numbers, and -1 for elements that are left out */
    char *results;     /* by number */
    char *out;
    size_t bytes;                                   /* of a result */
    uint64_t empty[MOST_RESULT / sizeof(uint64_t)]; /* the result of no element */
} sparse;

bool tally_cpu_is_sparse(const tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    const uint64_t groups = args->shape.groups;
    return groups >= LEAST_GROUPS && args->shape.extent <= groups / SPARSE &&
           groups * sizeof(uint32_t) <= MOST_NUMBERS && !tally_empty_is_error(c) && !c->takes_words &&
           c->out_bytes * c->per_result <= MOST_RESULT && c->index_bytes >= sizeof(uint32_t);
}

/* ---- accumulators that are results: combined where they go ---- */

static bool are_results(const sparse *s) {
    const tally_computation *c = &s->plan->base.computation;
    const tally_dtype type = s->plan->kernels->acc_type;
    const tally_monoid_class kind = tally_class_of(c->monoid);
    const bool rounds = kind == TALLY_CLASS_SUM || kind == TALLY_CLASS_SQUARE; /* with each addition, of floats */
    return c->entry && !c->exact && !(c->desc.flags & TALLY_SKIP_NAN) && s->plan->kernels->fold_labels &&
           tally_cpu_result_is_number(s->plan) && (uintptr_t)s->out % s->bytes == 0 &&
           (tally_dtype_is_float(type) ? type == c->desc.out && !rounds
                                       : !tally_dtype_is_float(c->desc.out) && tally_dtype_size(type) == s->bytes);
}

/* Labels in the way of a table's places; returns whether one is out of range. */
static bool read_labels(const sparse *s, uint64_t first, size_t n, uint32_t *labels) {
    const tally_computation *c = &s->plan->base.computation;
    const tally_cpu_places places = {(uint32_t)s->args->shape.groups, 1, UINT32_MAX, 0};
    return s->plan->device->level->read_labels[c->desc.index](tally_at(s->args->labels, first, c->index_bytes), n,
                                                              places, labels);
}

static bool are_in_range(const sparse *s) {
    bool has_bad = false;
    for (uint64_t first = 0; !has_bad && first < s->args->shape.extent; first += BLOCK) {
        uint32_t labels[BLOCK];
        has_bad = read_labels(s, first, (size_t)least(s->args->shape.extent - first, BLOCK), labels);
    }
    return !has_bad;
}

static void combine_results(const sparse *s) {
    const tally_cpu_plan *plan = s->plan;
    const size_t bytes = plan->base.computation.in_bytes;
    for (uint64_t first = 0; first < s->args->shape.extent; first += BLOCK) {
        uint32_t labels[BLOCK];
        const size_t n = (size_t)least(s->args->shape.extent - first, BLOCK);
        read_labels(s, first, n, labels);
        plan->kernels->fold_labels(&plan->context, tally_at(s->args->x, first, bytes),
                                   tally_at(s->args->y, first, bytes), labels, NULL, n, first, s->out);
    }
}

/* ---- others ---- */

/* False if a label is out of range where that is an error. */
static bool number_groups(sparse *s) {
    const tally_computation *c = &s->plan->base.computation;
    const uint32_t all = (uint32_t)s->args->shape.groups;
    const uint64_t n = s->args->shape.extent;
    uint32_t *const numbers = s->numbers, *const groups = s->groups;
    uint32_t count = 0;
    for (uint64_t first = 0; first < n; first += BLOCK) {
        uint32_t labels[BLOCK];
        const size_t block = (size_t)least(n - first, BLOCK);
        if (read_labels(s, first, block, labels) && !(c->desc.flags & TALLY_SKIP_BAD_LABELS))
            return false;
        for (size_t k = 0; k < block; k++) /* a processor waits for some twenty elements at a time by itself */
            __builtin_prefetch(&numbers[labels[k]], 1);
        for (size_t k = 0; k < block; k++) { /* without branches: which groups are new is not foreseen */
            const uint32_t group = labels[k], before = numbers[group], is_in = group < all;
            const uint32_t place = before < count ? before : 0, is_known = before < count && groups[place] == group;
            const uint32_t number = is_known ? place : count;
            groups[count] = group;
            numbers[group] = number;
            count += is_in & !is_known;
            labels[k] = is_in ? number : UINT32_MAX;
        }
        if (c->index_bytes == sizeof(uint32_t))
            memcpy((uint32_t *)s->labels + first, labels, block * sizeof *labels);
        else
            for (size_t k = 0; k < block; k++)
                ((int64_t *)s->labels)[first + k] = (int32_t)labels[k];
    }
    s->count = count;
    return true;
}

static void empty_task(void *job, size_t task, unsigned worker) {
    (void)worker;
    const sparse *s = job;
    const uint64_t first = task * (uint64_t)RANGE;
    s->plan->device->scans->fill(s->empty, s->bytes, (size_t)least(s->args->shape.groups - first, RANGE), false,
                                 s->out + first * s->bytes);
}

#define SCATTER(bytes)                                                                                                 \
    for (size_t k = 0; k < s->count; k++)                                                                              \
        memcpy(s->out + s->groups[k] * (size_t)(bytes), s->results + k * (bytes), bytes);

static void scatter(const sparse *s) {
    if (s->bytes == sizeof(uint32_t)) {
        SCATTER(sizeof(uint32_t))
    } else if (s->bytes == sizeof(uint64_t)) {
        SCATTER(sizeof(uint64_t))
    } else {
        SCATTER(s->bytes)
    }
}

/* The results of no element, everywhere. */
static void give_empty(sparse *s) {
    _Alignas(64) unsigned char acc[TALLY_CPU_ACC_MOST];
    const uint64_t none = 0;
    s->plan->kernels->identity(&s->plan->context, 1, acc);
    s->plan->lower(s->plan, acc, 1, (tally_counts){&none, 0, 0}, s->empty);
    tally_pool_run(s->plan->device->pool, divide_up(s->args->shape.groups, RANGE), empty_task, s);
}

tally_status tally_cpu_sparse_labels(tally_cpu_plan *plan, const tally_args *args) {
    const tally_computation *c = &plan->base.computation;
    const size_t n = (size_t)args->shape.extent, bytes = c->out_bytes * c->per_result;
    const size_t of_numbers = (size_t)round_up((args->shape.groups + 1) * sizeof(uint32_t), 64);
    const size_t of_groups = (size_t)round_up((n + 1) * sizeof(uint32_t), 64),
                 of_labels = (size_t)round_up(n * c->index_bytes, 64);
    sparse s = {.plan = plan, .args = args, .out = args->out, .bytes = bytes};
    if (are_results(&s) && are_in_range(&s)) {
        give_empty(&s);
        combine_results(&s);
        return TALLY_OK;
    }
    void *memory;
    tally_status status = tally_cpu_sparse_scratch(plan, of_numbers + of_groups + of_labels + n * bytes, &memory);
    if (status != TALLY_OK)
        return status;
    s.numbers = memory;
    s.groups = tally_at_mutable(memory, of_numbers, 1);
    s.labels = tally_at_mutable(memory, of_numbers + of_groups, 1);
    s.results = tally_at_mutable(memory, of_numbers + of_groups + of_labels, 1);
    if (!number_groups(&s))
        return tally_cpu_labels(plan, args);
    tally_args numbered = *args;
    numbered.labels = s.labels;
    numbered.shape.groups = s.count;
    numbered.out = s.results;
    numbered.out_bytes = s.count * bytes;
    if ((status = tally_cpu_labels(plan, &numbered)) != TALLY_OK)
        return status;
    give_empty(&s);
    scatter(&s);
    return TALLY_OK;
}
