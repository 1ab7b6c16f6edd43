/* profile.c: what other tools report about a step: ncu's counters, and cuobjdump's listing of the machine code. Both
 * are programs of the CUDA toolkit. For the counters, ncu runs this program again; it then launches each step once and
 * nothing else, and notes which step each launch belongs to.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "ladder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CELLS = 2048 }; /* ncu prints some hundred columns about the device and the launch before the requested ones */

/* The counters: the name for people, ncu's metric, the factor to its unit, whether the values of several launches add
 * up (otherwise the mean is taken, weighted by time), and whether 0 means that there was nothing to count. */
const char *const ladder_counters[LADDER_COUNTERS] = {
    "time under the profiler, us",
    "instructions per warp",
    "threads per instruction (of 32), not masked",
    "branch efficiency, %",
    "shared-memory bank conflicts",
    "global load requests",
    "sectors per load request",
    "global load throughput, GB/s",
    "first-level cache hits, %",
    "first-level cache's data path busy, %",
    "read from the second-level cache, MB",
    "written to the second-level cache, MB",
    "memory read, MB",
    "achieved occupancy, %",
    "issue slots busy, %",
    "warps stalled on memory, per issue",
    "warps stalled on barriers, per issue",
};

static const struct {
    const char *metric;
    double scale;
    bool adds, zero_is_none;
} metrics[LADDER_COUNTERS] = {
    {"gpu__time_duration.sum", 1e-3, true, false},
    {"smsp__average_inst_executed_per_warp.ratio", 1, false, false},
    {"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 1, false, false},
    {"smsp__sass_average_branch_targets_threads_uniform.pct", 1, false, true}, /* no branches */
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1, true, false},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1, true, false},
    {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", 1, false, false},
    {"l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second", 1e-9, false, false},
    {"l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", 1, false, false},
    {"l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", 1, false, false},
    {"l1tex__m_xbar2l1tex_read_bytes.sum", 1e-6, true, false},
    {"l1tex__m_l1tex2xbar_write_bytes.sum", 1e-6, true, false},
    {"dram__bytes_read.sum", 1e-6, true, false},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", 1, false, false},
    {"smsp__issue_active.avg.pct_of_peak_sustained_active", 1, false, false},
    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 1, false, false},
    {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 1, false, false},
};

/* ------------------------------------------------------------------------------------------- other programs ----- */

/* In the PATH, or where the toolkit puts it. */
static bool find_tool(const char *name, char path[512]) {
    const char *places = getenv("PATH");
    char all[4096];
    snprintf(all, sizeof all, "%s:/usr/local/cuda/bin:/opt/cuda/bin", places ? places : "/usr/bin:/bin");
    for (char *rest = all, *place; (place = strsep(&rest, ":"));) {
        snprintf(path, 512, "%.400s/%.60s", place, name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* Starts a program and returns a stream of its standard output, or 0 if it could not be started. */
static pid_t start(char **arguments, FILE **stream) {
    int ends[2];
    if (pipe(ends) != 0)
        return 0;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(arguments[0], arguments);
        _exit(127);
    }
    close(ends[1]);
    *stream = child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!*stream)
        close(ends[0]);
    return child > 0 && *stream ? child : 0;
}

/* Makes a file with these bytes; the caller removes it. */
static bool make_temporary(char path[64], const void *bytes, size_t count) {
    snprintf(path, 64, "/tmp/tally-ladder-XXXXXX");
    const int fd = mkstemp(path);
    if (fd < 0)
        return false;
    const bool written = write(fd, bytes, count) == (ssize_t)count;
    return close(fd) == 0 && written;
}

/* ------------------------------------------------------------------------------------------- ncu's table ----- */

/* Cuts a line of CSV in place. All fields stand in quotation marks. */
static size_t cut_cells(char *line, char *cells[CELLS]) {
    size_t count = 0;
    for (char *at = strchr(line, '"'); at && count < CELLS; at = strchr(at + 1, '"')) {
        char *end = strchr(++at, '"');
        if (!end)
            break;
        *end = 0;
        cells[count++] = at;
        at = end;
    }
    return count;
}

static double read_value(const char *cell) {
    char digits[64];
    size_t used = 0;
    char *end;
    for (; *cell && used + 1 < sizeof digits; cell++)
        if (*cell != ',')
            digits[used++] = *cell;
    digits[used] = 0;
    const double value = strtod(digits, &end);
    return end == digits ? NAN : value;
}

/* The counters of several launches. A mean is over the launches that had something to count. */
typedef struct sums {
    double value[LADDER_COUNTERS], weight[LADDER_COUNTERS];
    char kernel[LADDER_NAME]; /* empty: of several */
    unsigned launches;
} sums;

typedef struct step_sums {
    sums all, kernels[LADDER_KERNELS];
} step_sums;

static void add_to(sums *s, const double *values) {
    const double time = isnan(values[0]) ? 1 : values[0];
    s->launches++;
    for (int c = 0; c < LADDER_COUNTERS; c++) {
        if (isnan(values[c]) || (metrics[c].zero_is_none && values[c] == 0))
            continue;
        const double weight = metrics[c].adds ? 1 : time;
        s->value[c] += values[c] * metrics[c].scale * weight;
        s->weight[c] += weight;
    }
}

static void add_launch(step_sums *s, const char *name, const double *values) {
    const size_t length = strcspn(name, "("); /* without the parameters' types */
    add_to(&s->all, values);
    for (int k = 0; k < LADDER_KERNELS; k++) {
        sums *kernel = &s->kernels[k];
        if (kernel->launches == 0)
            snprintf(kernel->kernel, sizeof kernel->kernel, "%.*s", (int)length, name);
        if (strlen(kernel->kernel) == length && strncmp(kernel->kernel, name, length) == 0) {
            add_to(kernel, values);
            return;
        }
    }
}

static void keep_sums(const sums *s, double *counters) {
    for (int c = 0; c < LADDER_COUNTERS; c++)
        counters[c] = s->weight[c] == 0 ? NAN : metrics[c].adds ? s->value[c] : s->value[c] / s->weight[c];
}

typedef struct listing {
    int column[LADDER_COUNTERS], name_column; /* -1: this ncu has no such metric */
    bool headed;
    size_t launch;             /* so far */
    const char *launches_path; /* the step of each launch: its place in the family */
    FILE *launches;
    step_sums of_step[LADDER_STEPS];
    char complaint[300]; /* the last line of ncu that is not part of a table */
} listing;

static int find_cell(char **cells, size_t count, const char *text) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(cells[i], text) == 0)
            return (int)i;
    return -1;
}

static const char *cell_at(char **cells, size_t count, int column) {
    return column >= 0 && (size_t)column < count ? cells[column] : "";
}

static void read_head(listing *l, char **cells, size_t count) {
    for (int c = 0; c < LADDER_COUNTERS; c++)
        l->column[c] = find_cell(cells, count, metrics[c].metric);
    l->name_column = find_cell(cells, count, "Kernel Name");
    l->headed = true;
}

static void read_launch(listing *l, char **cells, size_t count) {
    double values[LADDER_COUNTERS];
    size_t step;
    /* The log is complete now: ncu prints its table when the program has ended. */
    if (!l->launches)
        l->launches = fopen(l->launches_path, "r");
    if (!l->launches || fscanf(l->launches, "%zu", &step) != 1 || step >= LADDER_STEPS)
        return;
    for (int c = 0; c < LADDER_COUNTERS; c++)
        values[c] = read_value(cell_at(cells, count, l->column[c]));
    add_launch(&l->of_step[step], cell_at(cells, count, l->name_column), values);
    l->launch++;
}

static void read_line(listing *l, char *line) {
    char *cells[CELLS];
    if (line[0] != '"') {
        line[strcspn(line, "\n")] = 0;
        if (strstr(line, "==ERROR==") || strstr(line, "==WARNING=="))
            snprintf(l->complaint, sizeof l->complaint, "%.290s", line);
        return;
    }
    const size_t count = cut_cells(line, cells);
    if (count == 0)
        return;
    if (strcmp(cells[0], "ID") == 0)
        read_head(l, cells, count);
    else if (l->headed && cells[0][0] != 0) /* the second line has units only, and its first field is empty */
        read_launch(l, cells, count);
}

static void keep_counters(ladder_report *report, const listing *l) {
    const ladder_step *first = report->work->family->steps;
    for (size_t i = 0; i < report->count; i++) {
        ladder_result *r = &report->results[i];
        const step_sums *s = &l->of_step[r->step - first];
        keep_sums(&s->all, r->counters);
        for (int k = 0; k < LADDER_KERNELS; k++) {
            memcpy(r->kernels[k].name, s->kernels[k].kernel, sizeof r->kernels[k].name);
            r->kernels[k].launches = s->kernels[k].launches;
            keep_sums(&s->kernels[k], r->kernels[k].counters);
        }
    }
}

/* --------------------------------------------------------------------------------------------- the counters ----- */

static void metric_list(char list[2048]) {
    list[0] = 0;
    for (int c = 0; c < LADDER_COUNTERS; c++)
        snprintf(list + strlen(list), 2048 - strlen(list), "%s%s", c ? "," : "", metrics[c].metric);
}

/* The steps that were measured, with commas between. */
static void step_list(const ladder_report *report, char list[4096]) {
    list[0] = 0;
    for (size_t i = 0; i < report->count; i++)
        if (report->results[i].seconds > 0 && report->results[i].step->file[0])
            snprintf(list + strlen(list), 4096 - strlen(list), "%s%s", list[0] ? "," : "",
                     report->results[i].step->name);
}

static int run_ncu(const ladder_report *report, const char *ncu, const char *launches, listing *l, fault *f) {
    const ladder_work *w = report->work;
    char list[2048], steps[4096], n[32], self[512], family[600];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    FILE *stream = NULL;
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    self[length > 0 ? length : 0] = 0;
    metric_list(list);
    step_list(report, steps);
    snprintf(n, sizeof n, "%" PRIu64, w->n);
    snprintf(family, sizeof family, w->family->folder[0] ? "%s/family" : "%.0s%s", w->family->folder, w->family->name);
    const char *const arguments[] = {
        ncu,
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--metrics",
        list,
        "--clock-control",
        "none", /* leaves the clocks as they were in the timed runs, and as other users have them */
        "--target-processes",
        "all",
        self,
        "ladder",
        family,
        "--n",
        n,
        "--dtype",
        tally_dtype_name(w->dtype),
        "--op",
        tally_op_name(w->op),
        "--device",
        w->info.spec,
        "--step",
        steps,
        "--bare",
        launches,
        NULL};
    const pid_t child = start((char **)arguments, &stream);
    if (!child)
        return fault_data(f, "--profile: %s cannot be started: %s", ncu, strerror(errno));
    while (getline(&line, &room, stream) > 0)
        read_line(l, line);
    free(line);
    fclose(stream);
    waitpid(child, &status, 0);
    if (l->launch == 0)
        return fault_data(f, "--profile: ncu gave no counters%s%s (exit status %d)", l->complaint[0] ? ": " : "",
                          l->complaint, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

int ladder_profile_try(const ladder_work *w, fault *f) {
    char ncu[512];
    if (strcmp(w->backend->name, "cuda") != 0)
        return fault_usage(f, "--profile: ncu counts on CUDA devices only");
    if (!find_tool("ncu", ncu))
        return fault_data(f,
                          "--profile: there is no ncu in the PATH or in /usr/local/cuda/bin (NVIDIA Nsight Compute)");
    return 0;
}

int ladder_profile(ladder_report *report, fault *f) {
    static listing l;
    char ncu[512], launches[64];
    const int lacks = ladder_profile_try(report->work, f);
    if (lacks != 0)
        return lacks;
    find_tool("ncu", ncu);
    if (!make_temporary(launches, "", 0))
        return fault_data(f, "--profile: no temporary file: %s", strerror(errno));
    l = (listing){.launches_path = launches};
    const int code = run_ncu(report, ncu, launches, &l, f);
    if (l.launches)
        fclose(l.launches);
    remove(launches);
    if (code == 0)
        keep_counters(report, &l);
    report->profiled = code == 0;
    return code;
}

/* ----------------------------------------------------------------------------------------- the machine code ----- */

static int print_listing(const char *tool, char *path, fault *f) {
    char dump[] = "-sass", *arguments[] = {(char *)tool, dump, path, NULL};
    FILE *stream = NULL;
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    const pid_t child = start(arguments, &stream);
    if (!child)
        return fault_data(f, "--sass: %s cannot be started: %s", tool, strerror(errno));
    while (getline(&line, &room, stream) > 0)
        fputs(line, stdout);
    free(line);
    fclose(stream);
    waitpid(child, &status, 0);
    return status == 0 ? 0 : fault_data(f, "--sass: %s failed", tool);
}

int ladder_sass(const ladder_family *family, const ladder_step *step, tally_dtype dtype, tally_op op, int architecture,
                fault *f) {
    char tool[512], path[64];
    void *code = NULL;
    size_t bytes = 0;
    if (strcmp(family->backend, "cuda") != 0)
        return fault_usage(f, "--sass: family '%s' is not one of CUDA's", family->name);
    if (!find_tool("cuobjdump", tool))
        return fault_data(f, "--sass: there is no cuobjdump in the PATH or in /usr/local/cuda/bin");
    int failure = ladder_cuda_code(family, step, dtype, op, architecture, &code, &bytes, NULL, f);
    if (failure != 0)
        return failure;
    failure = make_temporary(path, code, bytes) ? print_listing(tool, path, f)
                                                : fault_data(f, "--sass: no temporary file: %s", strerror(errno));
    remove(path);
    free(code);
    return failure;
}
