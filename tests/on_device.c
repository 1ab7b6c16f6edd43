/* Runs a test on the device that it needs:
 *
 *     on_device SPEC PROGRAM [ARGUMENT...]
 *
 * Exits as the program does. Without the device it exits with 77, which ctest counts as skipped; any other failure to
 * open the device is left to the program, which then fails. A program may itself exit with 77 when something else is
 * missing, such as a validation layer. Both are failures, with exit status 1, where the environment variable
 * TALLY_REQUIRE, a list like "vulkan,numpy", names the back end. */
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tally/tally.h"

enum { SKIPPED = 77 };

extern char **environ;

/* Is the back end of the spec ("vulkan" of "vulkan:0") in the list? */
static bool is_required(const char *spec) {
    const char *list = getenv("TALLY_REQUIRE");
    const size_t length = strcspn(spec, ":");
    for (const char *item = list; item && *item; item += strcspn(item, ","), item += *item == ',')
        if (strcspn(item, ",") == length && strncmp(item, spec, length) == 0)
            return true;
    return false;
}

static int skip(const char *spec, const char *why) {
    if (!is_required(spec)) {
        printf("skipped: %s\n", why);
        return SKIPPED;
    }
    printf("TALLY_REQUIRE names the back end of %s, and this test would be skipped: %s\n", spec, why);
    return 1;
}

/* The self-test of a GPU runs kernels, which the program will do again. */
static bool is_missing(const char *spec) {
    const char *before = getenv("TALLY_SELF_TEST");
    tally_device *device;
    if (!before)
        setenv("TALLY_SELF_TEST", "0", 1);
    const tally_status status = tally_open(spec, &device);
    if (!before)
        unsetenv("TALLY_SELF_TEST");
    if (status == TALLY_OK)
        tally_close(device);
    return status == TALLY_NO_DEVICE;
}

int main(int argc, char **argv) {
    pid_t child;
    int status;
    if (argc < 3) {
        fprintf(stderr, "usage: on_device SPEC PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    if (is_missing(argv[1]))
        return skip(argv[1], tally_last_error());
    const int failed = posix_spawnp(&child, argv[2], NULL, NULL, argv + 2, environ);
    if (failed) {
        fprintf(stderr, "on_device: %s: %s\n", argv[2], strerror(failed));
        return 2;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 2;
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "on_device: %s: %s\n", argv[2], strsignal(WTERMSIG(status)));
        return 2;
    }
    if (WEXITSTATUS(status) == SKIPPED)
        return skip(argv[1], "something that the program needs is missing, see above");
    return WEXITSTATUS(status);
}
