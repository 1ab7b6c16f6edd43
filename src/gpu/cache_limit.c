/* The folder is listed whenever an entry has been written, which takes some microseconds per entry, beside the hundreds
 * of milliseconds that compiling the new one took. An entry's time of modification is its last use, because loading
 * sets it. Several processes may trim at once: an entry that another one has removed is not an error, and a process
 * that has a removed entry open reads it to its end. */
#define _GNU_SOURCE
#include "gpu/cache_limit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_MIB = 256,   /* some thousand kernels */
    UNFINISHED_S = 86400 /* no process takes as long to write an entry */
};

uint64_t tally_cache_limit(void) {
    const char *wanted = getenv("TALLY_CACHE_MIB");
    char *end = NULL;
    errno = 0;
    unsigned long long mib = wanted && *wanted >= '0' && *wanted <= '9' ? strtoull(wanted, &end, 10) : DEFAULT_MIB;
    if (errno || (end && *end))
        mib = DEFAULT_MIB;
    return mib > UINT64_MAX >> 20 ? UINT64_MAX : (uint64_t)mib << 20;
}

/* ---- the list ---- */

typedef struct entry {
    struct timespec used;
    uint64_t size;
    char name[40]; /* 32 digits and ".kernel" */
} entry;

typedef struct listing {
    entry *entries;
    size_t count, room;
    uint64_t bytes;
} listing;

static bool is_entry(const char *name) {
    return strspn(name, "0123456789abcdef") == 32 && strcmp(name + 32, ".kernel") == 0;
}

static bool is_unfinished(const char *name, const struct stat *status) {
    return strncmp(name, "new-", 4) == 0 && strlen(name) == 10 && time(NULL) - status->st_mtime > UNFINISHED_S;
}

static void add(listing *l, const char *name, const struct stat *status) {
    if (l->count == l->room) {
        const size_t more = l->room ? 2 * l->room : 256;
        entry *grown = realloc(l->entries, more * sizeof *grown);
        if (!grown)
            return; /* entries that are not in the list stay this time */
        l->entries = grown;
        l->room = more;
    }
    entry *e = &l->entries[l->count++];
    e->used = status->st_mtim;
    e->size = (uint64_t)status->st_size;
    memcpy(e->name, name, strlen(name) + 1);
    l->bytes += e->size;
}

static void list(DIR *folder, listing *l) {
    struct dirent *found;
    struct stat status;
    while ((found = readdir(folder))) {
        const char *name = found->d_name;
        if ((!is_entry(name) && strncmp(name, "new-", 4) != 0) ||
            fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
            status.st_uid != geteuid())
            continue;
        if (is_entry(name))
            add(l, name, &status);
        else if (is_unfinished(name, &status))
            unlinkat(dirfd(folder), name, 0);
    }
}

static int oldest_first(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

void tally_cache_trim(const char *folder, uint64_t limit) {
    listing l = {0};
    DIR *open_folder = opendir(folder);
    if (!open_folder)
        return;
    list(open_folder, &l);
    if (l.bytes > limit) {
        qsort(l.entries, l.count, sizeof *l.entries, oldest_first);
        const uint64_t wanted = limit - limit / 8; /* so that the next entries find room */
        for (size_t k = 0; k + 1 < l.count && l.bytes > wanted; k++) {
            unlinkat(dirfd(open_folder), l.entries[k].name, 0);
            l.bytes -= l.entries[k].size;
        }
    }
    free(l.entries);
    closedir(open_folder);
}
