/* ladder.h: declarations that the parts of `tally ladder` share.
 *
 * A family is a text (the file "family" in its folder) that says what is computed and has one line per step. A step is
 * a source file and a launch rule. A back end runs steps and knows the launch rules. The runner knows neither CUDA nor
 * the CPU. It makes data, lets the back end run each step, checks every result against the exact one, and passes
 * figures to the table, the files and the charts.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLY_LADDER_LADDER_H
#define TALLY_LADDER_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

#include "fault.h"

/* ------------------------------------------------------------------------------------------------ families ----- */

enum { LADDER_NAME = 48, LADDER_TITLE = 160, LADDER_STEPS = 64, LADDER_PARTS = 4, LADDER_RUNS_MOST = 1000 };

/* How often something happens: COUNT_N once per element, COUNT_BLOCKS once per block. */
typedef enum ladder_count { COUNT_NONE = 0, COUNT_N, COUNT_BLOCKS } ladder_count;

typedef struct ladder_step {
    char name[LADDER_NAME]; /* "shuffle", or "coarsened C=8" */
    char base[LADDER_NAME]; /* "coarsened": what --step and --show take */
    char file[LADDER_NAME]; /* in the family's folder; empty for the library's row */
    char rule[LADDER_NAME]; /* one of the back end's */
    int line;               /* of the family file */
    int part;
    unsigned block;        /* threads */
    unsigned items;        /* elements per thread, without those of the sweep */
    unsigned factor;       /* the sweep's value, or 0 */
    double passes;         /* how often the array crosses the memory's bus, by the step's design */
    ladder_count atomics;  /* on global memory */
    double published;      /* in the family's unit; 0: none */
    bool baseline;         /* speed-ups count from it */
    bool known_block;      /* CUDA: the block's size is known when the kernel is compiled */
    bool wrong_on_purpose; /* its result is shown and is not a failure */
} ladder_step;

/* Steps that compute the same thing and are compared with each other. */
typedef struct ladder_part {
    char title[LADDER_TITLE];
    tally_form form;
} ladder_part;

typedef struct ladder_family {
    char name[LADDER_NAME];
    char folder[512]; /* of a family on disk; empty for those in the program */
    char title[LADDER_TITLE];
    char backend[LADDER_NAME];
    char common[LADDER_NAME]; /* a file that stands before every step's text, or empty */
    char published_unit[16];  /* "GB/s", "us" or "ms" */
    char published_on[LADDER_TITLE];
    tally_dtype dtypes[4];
    size_t dtype_count;
    tally_op ops[4];
    size_t op_count;
    uint64_t n;
    ladder_part parts[LADDER_PARTS];
    int part_count;
    ladder_step steps[LADDER_STEPS];
    size_t step_count;
} ladder_family;

/* Reads a family's text. 'name' stands for it in messages, which give the line and the step. */
int ladder_family_parse(const char *text, const char *name, ladder_family *family, fault *f);

/* A family by its name, or by the path of a family file on disk (a name with a slash in it), whose steps' sources lie
 * beside it. */
int ladder_family_find(const char *name, ladder_family *family, fault *f);
size_t ladder_family_count(void);
const char *ladder_family_name(size_t index);

/* A whole file from the disk; the caller frees. */
int ladder_read_file(const char *path, char **text, fault *f);

/* A file of the family's folder, from the program or from the disk; the caller frees. */
int ladder_read(const ladder_family *family, const char *file, char **text, fault *f);

/* The source of a step; the caller frees. */
int ladder_source(const ladder_family *family, const ladder_step *step, char **source, fault *f);

/* The sentence after "LABEL:" in a source's first comment, joined into one line. False if there is none. */
bool ladder_remark(const char *source, const char *label, char *text, size_t bytes);

/* The texts in the program, by path in the ladder's folder ("reduce/shuffle.cu"). NULL for an unknown path. */
const char *ladder_text(const char *path);

/* -------------------------------------------------------------------------------------------------- work ----- */

/* Sums of EXACT values do not round in any order, so any difference is an error. GENERAL values have as many bits as
 * the type holds, so their sums show the rounding. */
typedef enum ladder_data { DATA_EXACT = 0, DATA_GENERAL, DATA_COUNT } ladder_data;

/* The launches of a step; the back end fills this in when it prepares the step. */
typedef struct ladder_facts {
    unsigned launches;
    uint64_t blocks;   /* of the first launch; CPU: threads */
    unsigned block;    /* threads a block */
    uint64_t resident; /* blocks that the device holds at once; 0: not known */
    int registers;     /* a thread; 0: not known */
    int shared_bytes;  /* a block */
} ladder_facts;

typedef struct ladder_backend ladder_backend;

/* One family on one device with one size. */
typedef struct ladder_work {
    const ladder_family *family;
    const ladder_backend *backend;
    tally_device *device;
    tally_device_info info;
    tally_dtype dtype;
    tally_op op;
    tally_form form; /* of the present part */
    uint64_t n;
    void *host[DATA_COUNT]; /* the values, in host memory */
    ladder_data data;       /* that the next run takes */
    bool software;          /* a software device: its times say nothing about GPUs */
    bool bare;              /* only the steps' own launches, for a profiler */
    const ladder_step *step;
    ladder_facts facts; /* of the prepared step */
    void *state;        /* the back end's */
} ladder_work;

/* Functions return 0 or an exit code with the fault filled in. */
struct ladder_backend {
    const char *name;
    const char *device;       /* the device that is opened by default */
    const char *const *rules; /* launch rules, NULL at the end */
    const char *suffix;       /* of its sources */
    bool best;                /* the time of a step is the least of its runs, not the median */
    const char *workers;      /* the unit of work: threads, blocks, workgroups */
    const char *roof_note;    /* what the roof is, for the table's head */
    int (*open)(ladder_work *w, const char *device, fault *f); /* also w->info */
    void (*close)(ladder_work *w);
    int (*load)(ladder_work *w, fault *f); /* w->host to where steps read it; called again when n changes */
    /* The feature that a step needs and the device lacks, in words; NULL: none. The function may be NULL. */
    const char *(*lacks)(const ladder_work *w, const ladder_step *step);
    int (*prepare)(ladder_work *w, const ladder_step *step, fault *f);
    int (*run)(ladder_work *w, double *seconds, fault *f);
    int (*fetch)(ladder_work *w, void *out, fault *f); /* one value, or n of a scan */
    /* The least time that memory allows for the form's bytes, and the additions of dtype per second without memory. */
    int (*roof)(ladder_work *w, unsigned runs, double *seconds, fault *f);
    int (*peak)(ladder_work *w, double *additions, fault *f);
};

extern const ladder_backend ladder_cpu, ladder_cuda, ladder_vulkan;
/* CUDA's launch rules; the first comment of cuda.c explains them. */
#define LADDER_CUDA_RULES                                                                                              \
    "grid", "resident", "block-sums", "global-tree", "three-phase", "recursive", "reduce-first", "look-back"
const ladder_backend *ladder_backend_find(const char *name); /* NULL: there is none */

/* CUDA: the machine code of a step for an architecture (90), made without a device, and the source that the compiler
 * receives. The caller frees both. */
int ladder_cuda_code(const ladder_family *family, const ladder_step *step, tally_dtype dtype, tally_op op,
                     int architecture, void **code, size_t *bytes, char **log, fault *f);
/* The architecture of an open CUDA device. */
int ladder_cuda_architecture(const ladder_work *w);

/* The library's plan for the form: what the rule "library" runs. */
int ladder_plan(ladder_work *w, tally_plan **plan, tally_args *args, fault *f);

/* -------------------------------------------------------------------------------------------------- data ----- */

size_t ladder_out_count(const ladder_work *w); /* values that a run gives */
int ladder_data_fits(const ladder_work *w, uint64_t n, bool scans, fault *f);
int ladder_data_make(ladder_work *w, fault *f);
void ladder_data_free(ladder_work *w);

typedef struct ladder_verdict {
    bool right;     /* equal to the exact result, on DATA_EXACT */
    double error;   /* relative, on DATA_GENERAL; the largest of a scan */
    char says[160]; /* when wrong: what was found and what is right */
} ladder_verdict;

/* Compares the result of a run over w->data with the exact result. */
int ladder_check(ladder_work *w, const void *out, ladder_verdict *verdict, fault *f);

/* ------------------------------------------------------------------------------------------------ figures ----- */

/* Counters of a profiler, in the order of ladder_counters[] (profile.c). */
enum { LADDER_COUNTERS = 17 };

/* A kernel of a step, and the sums of its launches. */
enum { LADDER_KERNELS = 4 };
typedef struct ladder_kernel_counters {
    char name[LADDER_NAME];
    unsigned launches; /* 0: there is no such kernel */
    double counters[LADDER_COUNTERS];
} ladder_kernel_counters;

typedef struct ladder_result {
    const ladder_step *step;
    char why[512]; /* not empty: it did not run */
    bool checked, right;
    char says[160];
    unsigned runs;
    double seconds; /* best or median, as the back end says */
    double total;   /* of all runs */
    double error;
    ladder_facts facts;
    double counters[LADDER_COUNTERS]; /* NaN: not measured */
    ladder_kernel_counters kernels[LADDER_KERNELS];
} ladder_result;

typedef struct ladder_report {
    const ladder_work *work;
    unsigned repeat;
    bool profiled;
    double roof_seconds[LADDER_PARTS];
    double peak; /* additions a second */
    ladder_result results[LADDER_STEPS];
    size_t count;
} ladder_report;

/* Models (model.c): what can be said before any measurement. */
double ladder_bytes(const ladder_work *w, tally_form form); /* read plus written, each once */
double ladder_moved(const ladder_work *w, const ladder_step *step);
double ladder_flops(const ladder_work *w); /* counts n - 1 additions as n, which makes no visible difference */
uint64_t ladder_atomics(const ladder_work *w, const ladder_result *r);
/* The additions, one after the other, of a coarsened tree when the device holds 'resident' blocks. */
uint64_t ladder_tree_steps(uint64_t n, unsigned block, unsigned items, uint64_t resident);
/* The result that speed-ups count from; NULL: it has not run. */
const ladder_result *ladder_baseline(const ladder_report *report, int part);

/* Is the clock a fixed one, for tests? Then a step's figures follow from its place in the family. */
bool ladder_clock_is_fixed(void);

/* ------------------------------------------------------------------------------------------------ outputs ----- */

void ladder_table_head(FILE *file, const ladder_report *report, int part);
void ladder_table_name(FILE *file, const ladder_step *step);
/* Shows the progress of measuring in rounds, on a terminal only, and wipes it when all rounds are done. */
void ladder_table_round(FILE *file, unsigned done, unsigned rounds);
void ladder_table_row(FILE *file, const ladder_report *report, const ladder_result *result);
void ladder_table_models(FILE *file, const ladder_report *report, int part);
void ladder_table_counters(FILE *file, const ladder_report *report);

/* Into a file's stream, whose errors its owner finds. False where there is no memory. */
bool ladder_put_json(FILE *file, const ladder_report *report);
bool ladder_put_csv(FILE *file, const ladder_report *report);
bool ladder_put_svg(FILE *file, const ladder_report *report);

extern const char *const ladder_counters[LADDER_COUNTERS]; /* names for people and files */
/* Whether the tools for counters are there. */
int ladder_profile_try(const ladder_work *w, fault *f);
/* Fills in the counters of the report's results by running this program under ncu. */
int ladder_profile(ladder_report *report, fault *f);
/* Prints the machine code of a step for an architecture (90), as cuobjdump lists it. */
int ladder_sass(const ladder_family *family, const ladder_step *step, tally_dtype dtype, tally_op op, int architecture,
                fault *f);

#endif
