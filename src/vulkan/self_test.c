#include "vulkan/self_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cache.h"
#include "vulkan/pipeline_cache.h"

enum { N = 20011 /* takes some workgroups, more than one dispatch, and has an end that is no whole vector */ };

/* Signed, of all sizes; their sums pass 32 bits. A device without integers of 64 bits has smaller ones, as floats,
 * whose sums take no rounding. */
static int32_t number(const tally_vulkan_device *v, uint32_t i) {
    const uint32_t bits = (i * 2654435761u ^ 0x5bd1e995u) >> (i % 13);
    return (int32_t)(v->has_int64 ? bits : bits >> 22) * (i % 3 ? 1 : -1);
}

typedef union element {
    int32_t i32;
    float f32;
} element;

static element element_of(const tally_vulkan_device *v, int32_t number) {
    return v->has_int64 ? (element){.i32 = number} : (element){.f32 = (float)number};
}

/* From floats to integers in the same place. */
static void widen(int64_t *found, size_t count) {
    while (count-- > 0) {
        float value;
        memcpy(&value, (const float *)found + count, sizeof value);
        found[count] = (int64_t)value;
    }
}

static tally_status refuse(const tally_vulkan_device *v, const char *what, uint32_t place, int64_t found,
                           int64_t expected) {
    return tally_fail(TALLY_DEVICE_FAILED,
                      "vulkan:%d (%s) computes wrongly: place %" PRIu32 " of %s is %" PRId64 " and not %" PRId64
                      ". Update its driver, or set TALLY_SELF_TEST=0 to use it all the same",
                      v->ordinal, v->name, place, what, found, expected);
}

/* 'memory' holds the numbers, and room for as many results before them. */
static tally_status run(tally_vulkan_device *v, tally_form form, int64_t *memory, int64_t *found) {
    const size_t results = form == TALLY_REDUCE ? 1 : N;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan = NULL;
    desc.form = form;
    desc.in = v->has_int64 ? TALLY_I32 : TALLY_F32;
    args.shape.extent = N;
    args.x = memory + N;
    args.out = memory;
    args.out_bytes = results * (v->has_int64 ? sizeof *found : sizeof(float));
    tally_status status = tally_plan_create(&v->base, &desc, &plan);
    if (status == TALLY_OK)
        status = tally_run(plan, &args, TALLY_SYNCHRONOUS);
    if (status == TALLY_OK)
        status = tally_copy(&v->base, found, memory, args.out_bytes);
    if (status == TALLY_OK && !v->has_int64)
        widen(found, results);
    tally_plan_destroy(plan);
    return status;
}

static tally_status compare(const tally_vulkan_device *v, int64_t sum, const int64_t *scan) {
    int64_t expected = 0;
    for (uint32_t i = 0; i < N; i++) {
        expected += number(v, i);
        if (scan[i] != expected)
            return refuse(v, "a scan", i, scan[i], expected);
    }
    return sum == expected ? TALLY_OK : refuse(v, "a sum", 0, sum, expected);
}

static tally_status test(tally_vulkan_device *v) {
    element *const numbers = malloc(N * sizeof *numbers);
    int64_t *const scan = malloc(N * sizeof *scan), sum = 0;
    void *memory = NULL;
    tally_status status = TALLY_OK;
    if (!numbers || !scan)
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for testing a device");
    for (uint32_t i = 0; numbers && i < N; i++)
        numbers[i] = element_of(v, number(v, i));
    if (status == TALLY_OK)
        status = tally_alloc(&v->base, N * (sizeof *scan + sizeof *numbers), &memory);
    if (status == TALLY_OK)
        status = tally_copy(&v->base, (int64_t *)memory + N, numbers, N * sizeof *numbers);
    if (status == TALLY_OK)
        status = run(v, TALLY_REDUCE, memory, &sum);
    if (status == TALLY_OK)
        status = run(v, TALLY_INCLUSIVE_SCAN, memory, scan);
    if (status == TALLY_OK)
        status = compare(v, sum, scan);
    tally_free(&v->base, memory);
    free(numbers);
    free(scan);
    return status;
}

static tally_key key_of(const tally_vulkan_device *v) {
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add_text(&hash, "a device of Vulkan that computes rightly");
    tally_hash_add_text(&hash, v->name);
    tally_hash_add(&hash, &v->block, sizeof v->block);
    tally_hash_add(&hash, &v->has_int64, sizeof v->has_int64);
    tally_vulkan_hash_device(v, &hash);
    return tally_hash_end(&hash);
}

/* If there is no folder for notes, the process keeps them. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tally_key noted[8];
static size_t noted_count;

static bool has_passed(tally_key key) {
    tally_image note;
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (size_t k = 0; k < noted_count; k++)
        found |= tally_key_equal(noted[k], key);
    pthread_mutex_unlock(&mutex);
    if (found || !tally_cache_load(key, &note))
        return found;
    tally_image_free(&note);
    return true;
}

static void note_passed(tally_key key) {
    char passed[] = "passed";
    pthread_mutex_lock(&mutex);
    if (noted_count < sizeof noted / sizeof *noted)
        noted[noted_count++] = key;
    pthread_mutex_unlock(&mutex);
    tally_cache_store(key, &(tally_image){passed, sizeof passed});
}

tally_status tally_vulkan_self_test(tally_vulkan_device *v) {
    const char *wanted = getenv("TALLY_SELF_TEST");
    const tally_key key = key_of(v);
    if ((wanted && strcmp(wanted, "0") == 0) || has_passed(key))
        return TALLY_OK;
    const tally_status status = test(v);
    if (status == TALLY_OK)
        note_passed(key);
    return status;
}
