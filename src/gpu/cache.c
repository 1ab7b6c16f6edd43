/* The kernel cache's files. An entry is a header, with its key, its size and its checksum, and the image. It is written
 * beside its place under a name of its own and then renamed. So any number of processes may write the same entry, and
 * the last one stays. A file that a crash left half written is never read. */
#define _GNU_SOURCE
#include "gpu/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cache_limit.h"

enum {
    FORMAT_VERSION = 1,
    NOTED_S = 3600,           /* a use is recorded an hour after the last recorded one, which saves most writes */
    LARGEST_IMAGE = 256 << 20 /* bytes, far above the some hundred thousand that kernels have */
};

static const char magic[8] = "tally"; /* and three zeros */

/* In this machine's byte order; another machine's key would differ anyway. */
typedef struct entry_header {
    char magic[8];
    uint64_t format;
    tally_key key;
    uint64_t size; /* of the image, which follows */
    tally_key checksum;
} entry_header;

static tally_key checksum_of(const void *bytes, size_t size) {
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add(&hash, bytes, size);
    return tally_hash_end(&hash);
}

static entry_header header_of(tally_key key, const tally_image *image) {
    entry_header header = {.format = FORMAT_VERSION, .key = key, .size = image->size};
    memcpy(header.magic, magic, sizeof magic);
    header.checksum = checksum_of(image->bytes, image->size);
    return header;
}

void tally_image_free(tally_image *image) {
    free(image->bytes);
    *image = (tally_image){0};
}

/* ---- names ---- */

static bool print_path(char path[PATH_MAX], const char *folder, const char *rest) {
    int length = snprintf(path, PATH_MAX, "%s%s", folder, rest);
    return length > 0 && length < PATH_MAX;
}

static bool cache_folder(char folder[PATH_MAX]) {
    const char *wanted = secure_getenv("TALLY_CACHE"), *own = secure_getenv("TALLY_CACHE_DIR");
    const char *caches = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (wanted && strcmp(wanted, "0") == 0)
        return false;
    if (own && own[0])
        return print_path(folder, own, "");
    if (caches && caches[0] == '/') /* the XDG rules: a relative path is ignored */
        return print_path(folder, caches, "/tally");
    /* The library makes no home for a user without one (Debian's /nonexistent). */
    return home && home[0] == '/' && access(home, F_OK) == 0 && print_path(folder, home, "/.cache/tally");
}

static bool entry_path(char path[PATH_MAX], const char *folder, tally_key key) {
    char name[64];
    snprintf(name, sizeof name, "/%016" PRIx64 "%016" PRIx64 ".kernel", key.high, key.low);
    return print_path(path, folder, name);
}

/* Makes the folder and its missing parents, readable by this user only. */
static bool make_folder(const char *folder) {
    char path[PATH_MAX];
    if (!print_path(path, folder, ""))
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* ---- reading ---- */

static bool read_all(int file, void *to, size_t bytes) {
    for (char *at = to; bytes > 0;) {
        ssize_t got = read(file, at, bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        }
    }
    return true;
}

/* Machine code is executed, so it must come from this user, or from who installed the library, and nobody else may
 * have been able to write it. */
static bool is_trusted(const struct stat *status, bool prebuilt) {
    return S_ISREG(status->st_mode) && (status->st_uid == geteuid() || (prebuilt && status->st_uid == 0)) &&
           !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/* cache_limit.c removes the least recently used files, by the time of modification. */
static void note_use(int file, const struct stat *status) {
    if (time(NULL) - status->st_mtime > NOTED_S)
        (void)futimens(file, NULL); /* on a read-only disk it does not change */
}

static bool read_entry(int file, tally_key key, bool prebuilt, tally_image *image) {
    struct stat status;
    entry_header header;
    if (fstat(file, &status) != 0 || !is_trusted(&status, prebuilt) || !read_all(file, &header, sizeof header))
        return false;
    if (memcmp(header.magic, magic, sizeof magic) != 0 || header.format != FORMAT_VERSION ||
        !tally_key_equal(header.key, key) || header.size == 0 || header.size > LARGEST_IMAGE ||
        (uint64_t)status.st_size != sizeof header + header.size)
        return false;
    tally_image found = {malloc(header.size), header.size};
    if (!found.bytes)
        return false;
    if (!read_all(file, found.bytes, found.size) ||
        !tally_key_equal(checksum_of(found.bytes, found.size), header.checksum)) {
        tally_image_free(&found);
        return false;
    }
    if (!prebuilt)
        note_use(file, &status);
    *image = found;
    return true;
}

static bool load_from(const char *folder, tally_key key, bool prebuilt, tally_image *image) {
    char path[PATH_MAX];
    if (!entry_path(path, folder, key))
        return false;
    /* O_NONBLOCK: a pipe in the entry's place must not block this call. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    bool found = read_entry(file, key, prebuilt, image);
    close(file);
    return found;
}

bool tally_cache_load(tally_key key, tally_image *image) {
    char folder[PATH_MAX];
    return cache_folder(folder) && load_from(folder, key, false, image);
}

static const char *prebuilt_folder(void) {
    const char *wanted = secure_getenv("TALLY_PREBUILT_DIR");
    return wanted && wanted[0] ? wanted : TALLY_PREBUILT_INSTALLED;
}

bool tally_prebuilt_exists(void) {
    return access(prebuilt_folder(), X_OK) == 0;
}

bool tally_prebuilt_load(tally_key key, tally_image *image) {
    return load_from(prebuilt_folder(), key, true, image);
}

/* ---- writing ---- */

static bool write_all(int file, const void *from, size_t bytes) {
    for (const char *at = from; bytes > 0;) {
        ssize_t done = write(file, at, bytes);
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        if (done > 0) {
            at += done;
            bytes -= (size_t)done;
        }
    }
    return true;
}

/* Writing past the limit on files' sizes would end the process by a signal. */
static bool is_within_limit(uint64_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static bool store_in(const char *folder, tally_key key, const tally_image *image) {
    char path[PATH_MAX], temporary[PATH_MAX];
    if (image->size == 0 || image->size > LARGEST_IMAGE || !is_within_limit(sizeof(entry_header) + image->size))
        return false;
    if (!entry_path(path, folder, key) || !print_path(temporary, folder, "/new-XXXXXX"))
        return false;
    int file = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    if (file < 0)
        return false;
    const entry_header header = header_of(key, image);
    bool written = write_all(file, &header, sizeof header) && write_all(file, image->bytes, image->size);
    written = close(file) == 0 && written && rename(temporary, path) == 0;
    if (!written)
        unlink(temporary);
    return written;
}

void tally_cache_store(tally_key key, const tally_image *image) {
    char folder[PATH_MAX];
    if (cache_folder(folder) && make_folder(folder) && store_in(folder, key, image))
        tally_cache_trim(folder, tally_cache_limit());
}

bool tally_prebuilt_store(const char *folder, tally_key key, const tally_image *image) {
    return store_in(folder, key, image);
}
