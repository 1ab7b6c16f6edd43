/* replay.c: runs a fuzz target over every file of the folders (or over the files) on the command line, without a
 * fuzzer, so that every compiler replays the corpus in the ordinary test run.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The block has the very size of the file, so that a sanitizer sees the first byte read past it. */
static int replay_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size < 0) {
        perror(path);
        return 1;
    }
    rewind(file);
    uint8_t *const data = malloc(size > 0 ? (size_t)size : 1);
    const int whole = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (whole)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        fprintf(stderr, "%s: cannot read\n", path);
    free(data);
    return !whole;
}

static int replay_folder(const char *path, int *files) {
    DIR *const folder = opendir(path);
    const struct dirent *entry;
    int failed = 0;
    if (folder == NULL) {
        perror(path);
        return 1;
    }
    while ((entry = readdir(folder)) != NULL) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        failed |= replay_file(name);
        ++*files;
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0, files = 0;
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            failed |= replay_folder(argv[i], &files);
        } else {
            failed |= replay_file(argv[i]);
            files++;
        }
    }
    printf("%d inputs replayed\n", files);
    return failed || files == 0;
}
