/* What the tests of the CUDA host side share: the stand-ins for driver and compiler, and folders that vanish. */
#ifndef TALLY_TEST_CUDA_SUPPORT_H
#define TALLY_TEST_CUDA_SUPPORT_H

#include "../api/support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_driver.h"
#include "fake_nvrtc.h"
#include "tally/cuda.h"

/* FAKE_DRIVER, FAKE_OLD_DRIVER and FAKE_NVRTC, the paths, come from CMakeLists.txt. */
UNUSED static void use_the_stand_ins(void) {
    setenv("TALLY_LIBCUDA", FAKE_DRIVER, 1);
    setenv("TALLY_NVRTC", FAKE_NVRTC, 1);
    setenv("TALLY_CACHE", "0", 1);
    unsetenv("FAKE_CUDA");
}

/* Copies the bits, as C has no conversion for it. */
UNUSED static void find_function(const char *path, const char *name, void *function) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, name) : NULL;
    assert_non_null(address);
    memcpy(function, &address, sizeof address);
}

UNUSED static fake_driver_state *driver_state(void) {
    fake_driver_function *function;
    find_function(FAKE_DRIVER, "fake_driver", &function);
    return function();
}

UNUSED static fake_nvrtc_state *compiler_state(void) {
    fake_nvrtc_function *function;
    find_function(FAKE_NVRTC, "fake_nvrtc", &function);
    return function();
}

/* A new folder; as *state of a test. */
UNUSED static int make_folder(void **state) {
    char *folder = strdup("/tmp/tally-cuda-XXXXXX");
    *state = folder;
    return folder && mkdtemp(folder) ? 0 : -1;
}

/* The files in a folder whose names begin so. */
UNUSED static int files_in(const char *folder, const char *beginning) {
    DIR *listing = opendir(folder);
    int count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, beginning, strlen(beginning)) == 0;
    if (listing)
        closedir(listing);
    return count;
}

/* The path of a folder's one file, or a failed test. */
UNUSED static void only_file(const char *folder, char path[PATH_MAX]) {
    DIR *listing = opendir(folder);
    int count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (entry->d_name[0] != '.' && ++count)
            snprintf(path, PATH_MAX, "%.2000s/%.300s", folder, entry->d_name);
    if (listing)
        closedir(listing);
    assert_int_equal(count, 1);
}

UNUSED static int remove_folder(void **state) {
    char *folder = *state, path[PATH_MAX];
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%.2000s/%.300s", folder, entry->d_name);
        remove(path);
    }
    if (listing)
        closedir(listing);
    rmdir(folder);
    free(folder);
    return 0;
}

#endif
