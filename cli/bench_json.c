/* The results of `tally bench` in the format of Google Benchmark's JSON, so that its tools can read them: a context,
 * and an array of benchmarks with times in nanoseconds and the ratios as user counters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "bench.h"
#include "print.h"

#include <string.h>
#include <time.h>

static void put_field(FILE *file, const char *name, const char *text) {
    fprintf(file, "    \"%s\": ", name);
    print_json_string_to(file, text);
    fputs(",\n", file);
}

static void put_context(FILE *file, const bench_context *context) {
    char date[40] = "";
    time_t now = time(NULL);
    struct tm broken;
    if (localtime_r(&now, &broken))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &broken);
    fputs("{\n  \"context\": {\n", file);
    put_field(file, "date", date);
    put_field(file, "executable", "tally bench");
    fprintf(file, "    \"num_cpus\": %u,\n    \"min_time\": %g,\n", context->threads, context->min_time);
    put_field(file, "tally_version", tally_version());
    put_field(file, "tally_device", context->device_spec);
    put_field(file, "tally_device_name", context->device_name);
    put_field(file, "tally_device_detail", context->device_detail);
    put_field(file, "roof_instructions", bench_roof_instructions());
    put_field(file, "compiler", __VERSION__);
#ifdef NDEBUG
    fputs("    \"library_build_type\": \"release\"\n", file);
#else
    fputs("    \"library_build_type\": \"debug\"\n", file);
#endif
    fputs("  },\n  \"benchmarks\": [", file);
}

static void put_result(FILE *file, const bench_result *r, size_t index) {
    fprintf(file, "%s\n    {\n      \"name\": ", index ? "," : "");
    print_json_string_to(file, r->name);
    fputs(",\n      \"run_name\": ", file);
    print_json_string_to(file, r->name);
    fprintf(file, ",\n      \"run_type\": \"iteration\",\n      \"family_index\": %zu", index);
    if (r->error[0]) {
        fputs(",\n      \"error_occurred\": true,\n      \"error_message\": ", file);
        print_json_string_to(file, r->error);
    }
    fprintf(file, ",\n      \"iterations\": %llu,\n      \"real_time\": %.6g,\n      \"cpu_time\": %.6g",
            (unsigned long long)r->iterations, r->seconds * 1e9, r->cpu_seconds * 1e9);
    fputs(",\n      \"time_unit\": \"ns\"", file);
    if (r->seconds > 0)
        fprintf(file, ",\n      \"bytes_per_second\": %.6g", r->bytes / r->seconds);
    if (r->roof_seconds > 0)
        fprintf(file, ",\n      \"roof_bytes_per_second\": %.6g,\n      \"roof_ratio\": %.4f",
                r->bytes / r->roof_seconds, r->roof_seconds / r->seconds);
    if (r->plain_seconds > 0)
        fprintf(file, ",\n      \"plain_ratio\": %.4f", r->plain_seconds / r->seconds);
    fputs("\n    }", file);
}

void bench_json_write(FILE *file, const bench_context *context, const bench_result *results, size_t count) {
    put_context(file, context);
    for (size_t i = 0; i < count; i++)
        put_result(file, &results[i], i);
    fputs("\n  ]\n}\n", file);
}
