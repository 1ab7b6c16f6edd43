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
#include "help.h"
#include "output.h"
#include "progress.h"

#ifdef TALLY_CLI_HAS_BENCH
int tally_cmd_bench(int argc, char **argv); /* bench.c; prints its own messages */

static int command_bench(int argc, char **argv, fault *f) {
    f->text[0] = 0;
    return tally_cmd_bench(argc, argv);
}
#endif

static int command_help(int argc, char **argv, fault *f) {
    if (argc > 2)
        return fault_usage(f, "'%s' is one argument too many", argv[2]);
#ifdef TALLY_CLI_HAS_BENCH
    if (argc == 2 && strcmp(argv[1], "bench") == 0) {
        char option[] = "--help", *arguments[] = {argv[1], option, NULL};
        return command_bench(2, arguments, f);
    }
#endif
    return help_print(argc == 2 ? argv[1] : NULL, f);
}

static int command_version(int argc, char **argv, fault *f) {
    (void)argc;
    (void)argv;
    printf("tally %s\n", tally_version());
    return output_flush_standard(f);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv, fault *f);
} commands[] = {
    {"reduce", command_reduce},   {"scan", command_scan},         {"segments", command_segments},
    {"keys", command_keys},       {"ops", command_ops},           {"devices", command_devices},
#ifdef TALLY_CLI_HAS_BENCH
    {"bench", command_bench},
#endif
#ifdef TALLY_CLI_HAS_LADDER
    {"ladder", command_ladder},
#endif
    {"help", command_help},       {"--help", command_help},       {"-h", command_help},
    {"version", command_version}, {"--version", command_version},
};

/* Messages of getopt begin with argv[0]. */
static int run_command(size_t which, int argc, char **argv, fault *f) {
    char name[32];
    const int is_bench = strcmp(commands[which].name, "bench") == 0;
    snprintf(name, sizeof name, "tally %s", commands[which].name);
    if (!is_bench)
        argv[0] = name;
    return commands[which].run(argc, argv, f);
}

static void report(int code, const char *command, const fault *f) {
    progress_end();
    if (f->text[0] != 0)
        fprintf(stderr, "tally: %s\n", f->text);
    if (code == FAULT_USAGE && command != NULL && strcmp(command, "bench") != 0)
        fprintf(stderr, "Try 'tally help%s%s'.\n", command[0] != 0 ? " " : "", command);
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
    if (argc < 2) {
        fault_usage(&f, "a command is missing: reduce, scan, segments, keys, ops, devices, bench, ladder or help");
        report(FAULT_USAGE, "", &f);
        return FAULT_USAGE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        const int code = run_command(i, argc - 1, argv + 1, &f);
        if (code != 0)
            report(code, commands[i].run == command_help ? "" : commands[i].name, &f);
        return code;
    }
    fault_usage(&f, "'%s' is not a command: reduce, scan, segments, keys, ops, devices, bench, ladder or help",
                argv[1]);
    report(FAULT_USAGE, "", &f);
    return FAULT_USAGE;
}
