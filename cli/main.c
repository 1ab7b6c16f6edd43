/* main.c: the tally command. Finds the command in a table, runs it, and prints the one line that a fault leaves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tally/tally.h>

#include "commands.h"
#include "fault.h"
#include "out_file.h"
#include "progress.h"

static int command_help(int argc, char **argv, fault *f);

static int command_version(int argc, char **argv, fault *f) {
    if (argc > 1)
        return fault_usage(f, "'%s' is one argument too many", argv[1]);
    printf("tally %s\n", tally_version());
    return out_file_flush_standard(f);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv, fault *f);
} commands[] = {
    {"reduce", command_reduce},   {"scan", command_scan},         {"segments", command_segments},
    {"keys", command_keys},       {"labels", command_labels},     {"ops", command_ops},
    {"devices", command_devices},
#ifdef TALLY_CLI_HAS_BENCH
    {"bench", command_bench},
#endif
#ifdef TALLY_CLI_HAS_LADDER
    {"ladder", command_ladder},
#endif
    {"help", command_help},       {"version", command_version},   {"--help", command_help},
    {"-h", command_help},         {"--version", command_version},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const char overview[] =
    "tally: reductions and prefix scans of numbers in files\n"
    "\n"
    "usage: tally reduce OP [FILE] [OPTION]...           a sum, maximum, mean ... of a file or along an axis\n"
    "       tally scan OP [FILE] [OPTION]...             running sums, maxima ...\n"
    "       tally segments OP VALUES OFFSETS [OPTION]... one result per segment of VALUES\n"
    "       tally keys OP VALUES KEYS [OPTION]...        one result per run of equal neighbouring keys\n"
    "       tally labels OP VALUES LABELS [OPTION]...    one result per label, in any order\n"
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

/* COMMANDS if there is none of that name. */
static size_t find_command(const char *name) {
    size_t i = 0;
    while (i < COMMANDS && strcmp(name, commands[i].name) != 0)
        i++;
    return i;
}

/* The messages of getopt begin with argv[0]. */
static int run_command(size_t which, int argc, char **argv, fault *f) {
    char name[32];
    snprintf(name, sizeof name, "tally %s", commands[which].name);
    argv[0] = name;
    return commands[which].run(argc, argv, f);
}

/* Every command prints its own help. */
static int command_help(int argc, char **argv, fault *f) {
    char option[] = "--help", *arguments[] = {NULL, option, NULL};
    if (argc > 2)
        return fault_usage(f, "'%s' is one argument too many", argv[2]);
    const size_t which = argc < 2 ? find_command("help") : find_command(argv[1]);
    if (which == COMMANDS)
        return fault_usage(f, "there is no help on '%s'", argv[1]);
    if (which >= find_command("help")) {
        fputs(overview, stdout);
        return out_file_flush_standard(f);
    }
    return run_command(which, 2, arguments, f);
}

/* What is wrong, and the commands that there are. */
static int no_command(const char *name, fault *f) {
    char names[200] = "";
    for (size_t i = 0; i <= find_command("help"); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 i == 0                      ? ""
                 : i == find_command("help") ? " or "
                                             : ", ",
                 commands[i].name);
    return name ? fault_usage(f, "'%s' is not a command: %s", name, names)
                : fault_usage(f, "a command is missing: %s", names);
}

static void report(int code, const char *command, const fault *f) {
    progress_end();
    if (f->text[0])
        fault_print(f);
    if (code == FAULT_USAGE)
        fprintf(stderr, "Try 'tally help%s%s'.\n", *command ? " " : "", command);
}

/* A standard stream that is closed would give its number to the next file that opens, and messages would end up there.
 * Opened in the wrong direction, its use remains the error that it was. */
static void keep_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
            _exit(FAULT_DATA);
}

int main(int argc, char **argv) {
    static fault f;
    keep_standard_streams();
    /* A file beyond the limit on sizes is then an error of write, with a message, instead of a kill. */
    signal(SIGXFSZ, SIG_IGN);
    const size_t which = argc < 2 ? COMMANDS : find_command(argv[1]);
    const int code =
        which == COMMANDS ? no_command(argc < 2 ? NULL : argv[1], &f) : run_command(which, argc - 1, argv + 1, &f);
    if (code != 0)
        report(code, which < find_command("help") ? commands[which].name : "", &f);
    return code;
}
