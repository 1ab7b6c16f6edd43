/* help.c: see help.h. The man page tally(1) says the same at more length.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

static const char overview[] =
    "tally: reductions and prefix scans of numbers in files\n"
    "\n"
    "usage: tally reduce OP [FILE] [OPTION]...           a sum, maximum, mean ... of a file or along an axis\n"
    "       tally scan OP [FILE] [OPTION]...             running sums, maxima ...\n"
    "       tally segments OP VALUES OFFSETS [OPTION]... one result per segment of VALUES\n"
    "       tally keys OP VALUES KEYS [OPTION]...        one result per run of equal neighbouring keys\n"
    "       tally ops | devices                          lists operators | devices\n"
    "       tally bench [OPTION]...                      measures the library on this machine\n"
    "       tally ladder [FAMILY] [OPTION]...            runs the steps from a naive kernel to the library's\n"
    "       tally help [COMMAND] | --version\n"
    "\n"
    "FILE is .npy, raw numbers (--dtype), or a column of text or CSV; - or none is standard input.\n"
    "Exit status: 0 success, 1 bad data or a failing file or device, 2 wrong usage.\n"
    "\n"
    "  tally reduce sum --exact prices.csv --column price\n"
    "  tally reduce max images.npy --axis 0 -o brightest.npy\n"
    "  tally scan sum counts.npy -o running.npy\n";

static const char input_help[] =
    "\n"
    "Input:\n"
    "  --npy, --raw, --text    the format; without: .npy files by their first bytes, .csv .tsv .txt text,\n"
    "                          .raw .bin raw numbers; else text, or raw numbers if --dtype is given and the\n"
    "                          first bytes are not plain text\n"
    "  --dtype T               type of raw numbers or of text: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64;\n"
    "                          <T or >T: raw numbers in little or big endian order. Text without it is i64 if\n"
    "                          every number is an integer that fits, u64 if every one is an integer, none is\n"
    "                          negative and all fit u64, f64 if any has a point or an exponent or is inf or nan;\n"
    "                          larger integers are an error. Text is then read twice, a pipe put aside on disk.\n"
    "  --shape N,N,...         shape of raw numbers\n"
    "  --column NAME|N         column of text, by header or by number from 1\n"
    "  --delimiter C           comma, tab, semicolon, space (runs of blanks) or a character; else by the first row\n"
    "  --header, --no-header   the first row is, is not a header; else it is one if its field in the column does\n"
    "                          not begin like a number\n";

static const char compute_help[] =
    "\n"
    "Computation:\n"
    "  --exact                 correctly rounded sums: the same bits on every machine\n"
    "  --out-dtype T           type of the results\n"
    "  --acc-dtype T           type to accumulate in: f64 where the default is narrower\n"
    "  --ddof N                var, std: divide by n - N\n"
    "  --device SPEC           'tally devices' lists them; cpu by default\n"
    "\n"
    "Output:\n"
    "  -o, --output OUT.npy    to a file, which appears when it is whole; - is standard output\n"
    "                          without: text, one row (last dimension) a line\n"
    "  --json                  one JSON object; nan, inf and -inf are strings\n";

static const char ladder_help[] =
    "usage: tally ladder [FAMILY] [OPTION]...\n"
    "\n"
    "Runs each step of a family, from the naive kernel to the library's own, checks it against the exact result,\n"
    "times it, and prints it beside the roof of this machine. Without a family: lists those that this machine can\n"
    "run. A FAMILY with a slash is the path of a family file of your own, with its steps' sources beside it.\n"
    "\n"
    "  --step NAME,...         only these steps\n"
    "  --n N                   number of values; 2^K is understood\n"
    "  --dtype T, --op OP      f32 or i32; sum, max or min: as the family has them\n"
    "  --repeat R              timed runs of a step (default: 20)\n"
    "  --device SPEC           'tally devices' lists them\n"
    "  --check                 checks the steps over awkward sizes up to --n and times nothing\n"
    "  --show STEP             prints the source of a step\n"
    "  --sass STEP             prints its machine code (cuobjdump); --arch sm_80 for another GPU than the one here\n"
    "  --profile               adds the profiler's counters (ncu), and what to look at in them\n"
    "  --json FILE, --csv FILE, --svg FILE   the figures, and charts of them; - is standard output\n";

static const char two_inputs_help[] =
    "\n"
    "Options of the input, given twice, are for the first and the second file; given once, for the first;\n"
    "those of text (column, delimiter, header) for the second, where only that is text.\n";

static const struct {
    const char *command, *text;
    int computes, two_inputs;
} helps[] = {
    {"reduce",
     "usage: tally reduce OP [FILE] [OPTION]...\n"
     "       tally reduce dot X Y [OPTION]...\n"
     "\n"
     "Reduces everything to one result, or an array along one axis. 'tally ops' lists the operators.\n"
     "\n"
     "  --axis N                along axis N; negative ones count from the last\n",
     1, 0},
    {"scan",
     "usage: tally scan OP [FILE] [OPTION]...\n"
     "\n"
     "Writes for every element what the operator makes of the elements up to it: of the whole array in C order\n"
     "(one dimension comes out), or along one axis (the shape stays).\n"
     "\n"
     "  --axis N                along axis N; negative ones count from the last\n"
     "  --exclusive             without the element itself\n"
     "  --reverse               from the last element to the first (a pipe is put aside on disk)\n"
     "  --initial V             every group starts from V\n",
     1, 0},
    {"segments",
     "usage: tally segments OP VALUES OFFSETS [OPTION]...\n"
     "\n"
     "Result i is of VALUES[OFFSETS[i]] to VALUES[OFFSETS[i + 1] - 1]; n segments have n + 1 offsets, which never\n"
     "decrease. Segments may be empty where the operator has a value for that.\n",
     1, 1},
    {"keys",
     "usage: tally keys OP VALUES KEYS [OPTION]...\n"
     "\n"
     "One result per run of equal neighbouring keys, which are numbers, too, in order; prints KEY RESULT lines.\n"
     "Sorted keys give one result per key.\n"
     "\n"
     "  --keys-out KEYS.npy     the key of each run\n",
     1, 1},
    {"ladder", ladder_help, 0, 0},
    {"ops", "usage: tally ops [--json]\n\nLists the operators.\n", 0, 0},
    {"devices",
     "usage: tally devices [--measure] [--json]\n"
     "\n"
     "Lists the devices of this machine, as --device takes them, with their memory.\n"
     "\n"
     "  --measure               also how fast each reads its memory: takes up to 4 GiB of it, and some seconds\n",
     0, 0},
};

int help_print(const char *command, fault *f) {
    if (command == NULL) {
        fputs(overview, stdout);
        return output_flush_standard(f);
    }
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        if (strcmp(command, helps[i].command) != 0)
            continue;
        fputs(helps[i].text, stdout);
        if (helps[i].computes) {
            fputs(input_help, stdout);
            fputs(helps[i].two_inputs ? two_inputs_help : "", stdout);
            fputs(compute_help, stdout);
        }
        return output_flush_standard(f);
    }
    return fault_usage(f, "there is no help on '%s'", command);
}
