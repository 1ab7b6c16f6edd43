/* info.c: tally ops and tally devices: what this build can compute, on which devices, and how fast they read their
 * memory.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>
#include <time.h>

#include <tally/tally.h>

#include "options.h"
#include "output.h"
#include "print.h"

static void print_operator(tally_op op, bool json) {
    const char *const summary = tally_op_summary(op) ? tally_op_summary(op) : "";
    if (!json) {
        printf("%-14s %s\n", tally_op_name(op), summary);
        return;
    }
    static const char *const results[] = {"same", "wide", "wide_unsigned", "unsigned", "float", "index", "flag"};
    static const char *const exact[] = {"always", "rounded", "integers", "never"};
    static const char *const answers[] = {"false", "true"};
    tally_traits t = {.struct_size = sizeof t};
    tally_op_traits(op, &t);
    printf("%s{\"op\":\"%s\",\"summary\":", op == 0 ? "" : ",", tally_op_name(op));
    print_json_string(summary);
    printf(",\"result\":\"%s\",\"exact\":\"%s\",\"inputs\":%d,\"components\":%d,\"elements_per_result\":%d",
           results[t.result], exact[t.exact], t.inputs, t.components, t.elements_per_result);
    printf(",\"integers_only\":%s,\"empty_is_error\":%s,\"takes_initial\":%s,\"takes_ddof\":%s",
           answers[t.integers_only], answers[t.empty_is_error], answers[t.takes_initial], answers[t.takes_ddof]);
    printf(",\"has_exclusive_scan\":%s,\"has_index\":%s}", answers[t.has_exclusive_scan], answers[t.has_index]);
}

int command_ops(int argc, char **argv, fault *f) {
    options o;
    const int code = options_parse(&o, COMMAND_OPS, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_OPS, f);
    if (o.json)
        putchar('[');
    for (tally_op op = 0; op < TALLY_USER; op++)
        print_operator(op, o.json);
    if (o.json)
        puts("]");
    return out_file_flush_standard(f);
}

/* ---- devices ---- */

/* How fast a device reads its memory: the best of several sums of f32 over more than any cache holds. A sum waits only
 * for memory, and the call itself takes some microseconds of a millisecond. */
enum { MEASURE_MIB = 4096, MEASURE_FIRST = 1 << 20, MEASURE_LEAST = 3, MEASURE_MOST = 20 /* runs */ };
static const double measure_seconds = 0.5;

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ones everywhere: memory that was never written may not be there at all. */
static tally_status fill_with_ones(tally_device *device, char *memory, size_t bytes) {
    static float ones[MEASURE_FIRST / sizeof(float)];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        ones[i] = 1;
    tally_status status = tally_copy(device, memory, ones, sizeof ones);
    for (size_t done = sizeof ones; status == TALLY_OK && done < bytes;) {
        const size_t more = done < bytes - done ? done : bytes - done;
        status = tally_copy(device, memory + done, memory, more);
        done += more;
    }
    return status;
}

static tally_status time_sums(tally_plan *plan, const tally_args *args, double *best) {
    tally_status status = TALLY_OK;
    const double end = seconds_now() + measure_seconds;
    *best = 0;
    for (int run = 0; status == TALLY_OK && run < MEASURE_MOST; run++) {
        if (run >= MEASURE_LEAST && seconds_now() > end)
            break;
        const double begin = seconds_now();
        status = tally_run(plan, args, TALLY_SYNCHRONOUS);
        const double seconds = seconds_now() - begin;
        if (*best == 0 || seconds < *best)
            *best = seconds;
    }
    return status;
}

static tally_status measure(tally_device *device, size_t bytes, double *bytes_a_second) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    tally_plan *plan = NULL;
    void *memory = NULL, *out = NULL;
    double seconds = 0;
    desc.in = TALLY_F32;
    tally_status status = tally_plan_create(device, &desc, &plan);
    if (status == TALLY_OK)
        status = tally_alloc(device, bytes, &memory);
    if (status == TALLY_OK)
        status = tally_alloc(device, sizeof(float), &out);
    if (status == TALLY_OK)
        status = fill_with_ones(device, memory, bytes);
    args.x = memory;
    args.shape.extent = bytes / sizeof(float);
    args.out = out;
    args.out_bytes = sizeof(float);
    if (status == TALLY_OK)
        status = time_sums(plan, &args, &seconds);
    if (status == TALLY_OK)
        *bytes_a_second = (double)bytes / seconds;
    tally_plan_destroy(plan);
    tally_free(device, memory);
    tally_free(device, out);
    return status;
}

/* 4 GiB, or an eighth of a smaller memory. */
static int measure_device(const tally_device_info *info, double *bytes_a_second, fault *f) {
    tally_device *device;
    uint64_t mib = info->memory_bytes / 8 >> 20;
    if (mib > MEASURE_MIB)
        mib = MEASURE_MIB;
    tally_status status = tally_open(info->spec, &device);
    if (status == TALLY_OK) {
        status = measure(device, (size_t)(mib > 0 ? mib : 1) << 20, bytes_a_second);
        tally_close(device);
    }
    return status == TALLY_OK ? 0 : fault_data(f, "%s: %s", info->spec, tally_last_error());
}

/* 'bytes_a_second' 0: not measured. */
static void print_device(const tally_device_info *info, size_t index, double bytes_a_second, bool json) {
    if (!json) {
        printf("%-10s %s", info->spec, info->name);
        if (info->detail[0] != 0)
            printf(", %s", info->detail);
        if (info->memory_bytes > 0)
            printf(", %.1f GiB", (double)info->memory_bytes / 1073741824.0);
        if (bytes_a_second > 0)
            printf(", reads %.0f GB/s", 1e-9 * bytes_a_second);
        putchar('\n');
        return;
    }
    printf("%s{\"spec\":", index == 0 ? "" : ",");
    print_json_string(info->spec);
    printf(",\"name\":");
    print_json_string(info->name);
    printf(",\"detail\":");
    print_json_string(info->detail);
    printf(",\"memory_bytes\":%llu", (unsigned long long)info->memory_bytes);
    if (bytes_a_second > 0)
        printf(",\"read_bytes_per_second\":%.0f", bytes_a_second);
    putchar('}');
}

int command_devices(int argc, char **argv, fault *f) {
    options o;
    tally_device_info info = {.struct_size = sizeof info};
    int code = options_parse(&o, COMMAND_DEVICES, argc, argv, f);
    tally_status status;
    if (code != 0 || o.help)
        return code != 0 ? code : options_help(COMMAND_DEVICES, f);
    if (o.json)
        putchar('[');
    for (size_t index = 0; (status = tally_device_at(index, &info)) == TALLY_OK; index++) {
        double bytes_a_second = 0;
        if (o.measure && (code = measure_device(&info, &bytes_a_second, f)) != 0)
            return code;
        print_device(&info, index, bytes_a_second, o.json);
    }
    if (status != TALLY_NO_DEVICE)
        return fault_data(f, "%s", tally_last_error());
    if (o.json)
        puts("]");
    return out_file_flush_standard(f);
}
