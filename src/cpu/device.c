/* The CPU as a device: describing it, its spec, its memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cores.h"
#include "core/status.h"
#include "cpu/cpu.h"
#include "cpu/level.h"
#include "cpu/plan.h"

enum { MOST_THREADS = 1024 };

static tally_status parse_threads(const char *text, const char *where, unsigned *threads) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < 1 || value > MOST_THREADS)
        return tally_fail(TALLY_INVALID_ARGUMENT, "%s asks for '%.32s' threads; give a number from 1 to %d", where,
                          text, MOST_THREADS);
    *threads = (unsigned)value;
    return TALLY_OK;
}

/* "avx2:threads=4", in any order. The environment, then the machine, fills in what is missing. */
static tally_status parse_options(const char *options, char level[32], unsigned *threads) {
    const char *environment_level = getenv("TALLY_CPU"), *environment_threads = getenv("TALLY_THREADS");
    level[0] = 0;
    *threads = 0;
    while (*options) {
        size_t length = strcspn(options, ":");
        char option[32];
        if (length >= sizeof option)
            return tally_fail(TALLY_INVALID_ARGUMENT,
                              "device spec: '%.40s...' is neither an instruction set nor threads=N", options);
        memcpy(option, options, length);
        option[length] = 0;
        if (strncmp(option, "threads=", 8) == 0) {
            if (*threads)
                return tally_fail(TALLY_INVALID_ARGUMENT, "device spec: threads= is given twice");
            tally_status status = parse_threads(option + 8, "the device spec", threads);
            if (status != TALLY_OK)
                return status;
        } else if (level[0]) {
            return tally_fail(TALLY_INVALID_ARGUMENT, "device spec: both '%s' and '%s' as instruction set", level,
                              option);
        } else {
            strcpy(level, option);
        }
        options += length + (options[length] == ':');
    }
    if (!level[0] && environment_level && environment_level[0])
        snprintf(level, 32, "%.31s", environment_level);
    if (!*threads && environment_threads && environment_threads[0])
        return parse_threads(environment_threads, "TALLY_THREADS", threads);
    return TALLY_OK;
}

static const tally_device_interface cpu_interface;

static tally_status cpu_open(const char *options, tally_device **device) {
    char level_name[32];
    unsigned threads;
    tally_status status = parse_options(options, level_name, &threads);
    if (status != TALLY_OK)
        return status;
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    const tally_cpu_scans *scans;
    status = tally_cpu_level_choose(level_name[0] ? level_name : NULL, &level, &exact, &scans);
    if (status != TALLY_OK)
        return status;
    if (!threads)
        threads = tally_cores();
    tally_cpu_device *cpu = malloc(sizeof *cpu);
    tally_pool *pool = tally_pool_create(threads);
    if (!cpu || !pool) {
        free(cpu);
        tally_pool_destroy(pool);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a device of %u threads", threads);
    }
    *cpu = (tally_cpu_device){{&cpu_interface}, level, exact, scans, pool, threads};
    *device = &cpu->base;
    return TALLY_OK;
}

static void cpu_close(tally_device *device) {
    tally_cpu_device *cpu = (tally_cpu_device *)device;
    tally_pool_destroy(cpu->pool);
    free(cpu);
}

static size_t cpu_count(void) {
    return 1;
}

/* The processor's name from Linux, or the architecture's. */
static void processor_name(char *name, size_t bytes) {
#if defined(__x86_64__)
    snprintf(name, bytes, "x86-64 processor");
#elif defined(__aarch64__)
    snprintf(name, bytes, "AArch64 processor");
#else
    snprintf(name, bytes, "processor");
#endif
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) != 0)
            continue;
        const char *value = strchr(line, ':');
        if (value)
            snprintf(name, bytes, "%.*s", (int)strcspn(value + 1 + strspn(value + 1, " "), "\n"),
                     value + 1 + strspn(value + 1, " "));
        break;
    }
    fclose(file);
}

static void describe(tally_device_info *info, const char *level, unsigned threads) {
    snprintf(info->spec, sizeof info->spec, "cpu");
    processor_name(info->name, sizeof info->name);
    snprintf(info->detail, sizeof info->detail, "%s, %u thread%s", level, threads, threads == 1 ? "" : "s");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    info->memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static void cpu_describe_index(size_t index, tally_device_info *info) {
    (void)index;
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    const tally_cpu_scans *scans;
    if (tally_cpu_level_choose(NULL, &level, &exact, &scans) == TALLY_OK)
        describe(info, level->name, tally_cores());
}

static void cpu_describe(const tally_device *device, tally_device_info *info) {
    const tally_cpu_device *cpu = (const tally_cpu_device *)device;
    describe(info, cpu->level->name, cpu->threads);
    snprintf(info->spec, sizeof info->spec, "cpu:%s:threads=%u", cpu->level->name, cpu->threads);
}

static tally_status cpu_alloc(tally_device *device, size_t bytes, void **memory) {
    (void)device;
    void *allocated = NULL;
    if (bytes > PTRDIFF_MAX || posix_memalign(&allocated, 64, bytes ? bytes : 1) != 0)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    *memory = allocated;
    return TALLY_OK;
}

static void cpu_free(tally_device *device, void *memory) {
    (void)device;
    free(memory);
}

static tally_status cpu_copy(tally_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memmove(to, from, bytes);
    return TALLY_OK;
}

static const tally_device_interface cpu_interface = {
    .close = cpu_close,
    .describe = cpu_describe,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .copy = cpu_copy,
    .supports = tally_cpu_supports,
    .plan_create = tally_cpu_plan_create,
    .plan_destroy = tally_cpu_plan_destroy,
    .plan_workspace = tally_cpu_plan_workspace,
    .run = tally_cpu_plan_run,
    .run_sized = tally_cpu_plan_run_sized,
    .push = tally_cpu_plan_push,
    .finish = tally_cpu_plan_finish,
    .reset = tally_cpu_plan_reset,
    .resume = tally_cpu_plan_resume,
    .resumes_scans = true,
    .takes_reverse_pieces = true,
};

const tally_backend tally_cpu_backend = {
    .name = "cpu", .device_count = cpu_count, .describe = cpu_describe_index, .open = cpu_open};
