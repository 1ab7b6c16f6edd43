/* The kernel cache returns what was stored, never a damaged file or another user's, and never makes a call fail. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"

#include "gpu/cache.h"
#include "gpu/cache_limit.h"

static int writes_fail; /* with ENOSPC */
ssize_t __real_write(int file, const void *from, size_t bytes);
ssize_t __wrap_write(int file, const void *from, size_t bytes);
ssize_t __wrap_write(int file, const void *from, size_t bytes) {
    if (writes_fail) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(file, from, bytes);
}

static const tally_key key = {0x0123456789abcdefu, 42}, other_key = {42, 0x0123456789abcdefu};
static char kernel[3000];

static void store(void) {
    tally_cache_store(key, &(tally_image){kernel, sizeof kernel});
}

static bool is_there(void) {
    tally_image image = {0};
    if (!tally_cache_load(key, &image)) {
        assert_null(image.bytes);
        return false;
    }
    assert_int_equal(image.size, sizeof kernel);
    assert_memory_equal(image.bytes, kernel, sizeof kernel);
    tally_image_free(&image);
    assert_null(image.bytes);
    return true;
}

static int begin(void **state) {
    for (size_t k = 0; k < sizeof kernel; k++)
        kernel[k] = (char)(k * k >> 3);
    if (make_folder(state) != 0)
        return -1;
    unsetenv("TALLY_CACHE");
    return setenv("TALLY_CACHE_DIR", *state, 1);
}

static int end(void **state) {
    return remove_folder(state);
}

static void what_is_stored_comes_back(void **state) {
    assert_false(is_there());
    store();
    assert_true(is_there());
    store();
    assert_true(is_there());
    assert_int_equal(files_in(*state, ""), 1);
    tally_image image;
    assert_false(tally_cache_load(other_key, &image));
}

static void the_environment_says_where(void **state) {
    char path[PATH_MAX], folder[PATH_MAX];
    struct stat status;
    snprintf(folder, sizeof folder, "%.200s/a", (char *)*state);
    unsetenv("TALLY_CACHE_DIR");
    setenv("XDG_CACHE_HOME", folder, 1);
    store();
    assert_true(is_there());
    snprintf(path, sizeof path, "%.300s/tally", folder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(files_in(path, ""), 1);

    setenv("XDG_CACHE_HOME", "relative", 1); /* ignored, as XDG's rules say */
    setenv("HOME", *state, 1);
    assert_false(is_there());
    store();
    assert_true(is_there());
    setenv("TALLY_CACHE", "0", 1);
    assert_false(is_there());
    unsetenv("TALLY_CACHE");
    unsetenv("HOME");
    store();
    assert_false(is_there());
    snprintf(path, sizeof path, "%.200s/no-home", (char *)*state);
    setenv("HOME", path, 1);
    store();
    assert_false(is_there());
    assert_int_equal(stat(path, &status), -1); /* the cache makes no home folder */
    unsetenv("HOME");
    char command[600];
    snprintf(command, sizeof command, "rm -r '%.200s/a' '%.200s/.cache'", (char *)*state, (char *)*state);
    assert_int_equal(system(command), 0);
}

static void change(const char *path, long at, int bits) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = getc(file);
    fseek(file, at, SEEK_SET);
    putc(byte ^ bits, file);
    fclose(file);
}

static void a_flipped_bit_is_noticed_and_mended(void **state) {
    char path[PATH_MAX];
    struct stat status;
    store();
    only_file(*state, path);
    assert_int_equal(stat(path, &status), 0);
    for (long at = 0; at < status.st_size; at += at < 80 ? 1 : 97)
        for (int bit = 0; bit < 8; bit += 3) {
            change(path, at, 1 << bit);
            if (is_there())
                fail_msg("byte %ld, bit %d", at, bit);
            change(path, at, 1 << bit);
        }
    assert_true(is_there());
    change(path, status.st_size - 1, 1);
    store();
    assert_true(is_there());
}

static void a_file_that_was_cut_is_noticed_and_mended(void **state) {
    char path[PATH_MAX];
    struct stat status;
    store();
    only_file(*state, path);
    assert_int_equal(stat(path, &status), 0);
    for (off_t size = 0; size < status.st_size; size += size < 80 ? 1 : 97) {
        assert_int_equal(truncate(path, size), 0);
        assert_false(is_there());
        store();
        assert_true(is_there());
    }
    assert_int_equal(truncate(path, status.st_size + 1), 0); /* too long is wrong as well */
    assert_false(is_there());
}

static void anothers_entry_under_this_name_is_not_read(void **state) {
    char path[PATH_MAX], foreign[PATH_MAX];
    store();
    only_file(*state, path);
    snprintf(foreign, sizeof foreign, "%.300s/kept", (char *)*state);
    assert_int_equal(rename(path, foreign), 0);
    tally_cache_store(other_key, &(tally_image){kernel, sizeof kernel});
    remove(foreign);
    only_file(*state, foreign);
    assert_int_equal(rename(foreign, path), 0); /* the other key's entry in this one's place */
    assert_false(is_there());
    store();
    assert_true(is_there());
}

static void what_others_could_have_written_is_not_read(void **state) {
    char path[PATH_MAX], target[PATH_MAX];
    store();
    only_file(*state, path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(is_there());
    assert_int_equal(chmod(path, 0600), 0);
    assert_true(is_there());
    if (geteuid() == 0) { /* only root gives files away */
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_false(is_there());
        assert_int_equal(chown(path, 0, 0), 0);
    }
    snprintf(target, sizeof target, "%.300s/target", (char *)*state);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_false(is_there());
    remove(target);
    store(); /* replaces the link, and does not follow it */
    assert_true(is_there());
    assert_int_equal(files_in(*state, ""), 1);
}

static void odd_things_in_its_place_do_no_harm(void **state) {
    char path[PATH_MAX];
    store();
    only_file(*state, path);
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(is_there());
    remove(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(is_there());
    store();
    assert_false(is_there());
    assert_int_equal(files_in(*state, "new-"), 0);
    rmdir(path);
}

static void a_folder_that_cannot_be_does_no_harm(void **state) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.300s/file", (char *)*state);
    fclose(fopen(path, "w"));
    setenv("TALLY_CACHE_DIR", path, 1); /* a file where a folder is due */
    store();
    assert_false(is_there());
    strcat(path, "/below");
    setenv("TALLY_CACHE_DIR", path, 1);
    store();
    assert_false(is_there());
    setenv("TALLY_CACHE_DIR", "/proc/no/such", 1);
    store();
    assert_false(is_there());
    char *long_path = malloc(2 * PATH_MAX);
    memset(long_path, '/', 2 * PATH_MAX);
    long_path[2 * PATH_MAX - 1] = 0;
    setenv("TALLY_CACHE_DIR", long_path, 1);
    store();
    assert_false(is_there());
    free(long_path);
    if (geteuid() != 0) {
        setenv("TALLY_CACHE_DIR", *state, 1);
        chmod(*state, 0500);
        store();
        assert_false(is_there());
        chmod(*state, 0700);
    }
}

static void a_full_disk_does_no_harm(void **state) {
    writes_fail = 1;
    store();
    writes_fail = 0;
    assert_false(is_there());
    assert_int_equal(files_in(*state, ""), 0);

    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    store(); /* the signal SIGXFSZ would end this program */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(is_there());
    assert_int_equal(files_in(*state, ""), 0);
}

/* In its own process: 0 if every file that it found was complete. */
static int store_and_load(int process) {
    enum { KEYS = 4, ROUNDS = 100 };
    for (int round = 0; round < ROUNDS; round++) {
        int which = (process + round) % KEYS;
        size_t size = 500 + 600 * (size_t)which;
        tally_key shared = {7, (uint64_t)which};
        tally_cache_store(shared, &(tally_image){kernel, size});
        tally_image image;
        if (!tally_cache_load(shared, &image) || image.size != size || memcmp(image.bytes, kernel, size) != 0)
            return 1;
        tally_image_free(&image);
    }
    return 0;
}

static void sixteen_processes_at_once(void **state) {
    pid_t children[16];
    fflush(NULL);
    for (size_t k = 0; k < COUNT_OF(children); k++) {
        children[k] = fork();
        if (children[k] == 0)
            _exit(store_and_load((int)k));
    }
    for (size_t k = 0; k < COUNT_OF(children); k++) {
        int code = -1;
        assert_int_equal(waitpid(children[k], &code, 0), children[k]);
        assert_int_equal(code, 0);
    }
    assert_int_equal(files_in(*state, ""), 4);
    assert_int_equal(files_in(*state, "new-"), 0);
}

/* ---- the limit ---- */

enum { MIB = 1 << 20, QUARTER = MIB / 4 - 200 /* with its header less than a quarter of a MiB */ };
static char large[QUARTER];

static void store_large(uint64_t number) {
    tally_cache_store((tally_key){number, number}, &(tally_image){large, sizeof large});
}

static bool large_is_there(uint64_t number) {
    tally_image image = {0};
    const bool found = tally_cache_load((tally_key){number, number}, &image);
    assert_true(!found || image.size == sizeof large);
    tally_image_free(&image);
    return found;
}

/* As if it had last been used so many hours ago. */
static void age(const char *folder, uint64_t number, int hours) {
    char path[PATH_MAX];
    struct timespec now, times[2];
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= 3600 * hours;
    times[0] = times[1] = now;
    snprintf(path, sizeof path, "%.300s/%016llx%016llx.kernel", folder, (unsigned long long)number,
             (unsigned long long)number);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_was_used_longest_ago_goes_first(void **state) {
    setenv("TALLY_CACHE_MIB", "1", 1);
    for (uint64_t k = 1; k <= 4; k++) {
        store_large(k);
        age(*state, k, 20 - (int)k);
    }
    assert_int_equal(files_in(*state, ""), 4); /* just below the limit: all stay */
    assert_true(large_is_there(1));            /* the oldest, but it is in use */
    store_large(5);
    assert_int_equal(files_in(*state, ""), 3); /* seven eighths */
    assert_true(large_is_there(1));
    assert_false(large_is_there(2));
    assert_false(large_is_there(3));
    assert_true(large_is_there(4));
    assert_true(large_is_there(5));
    setenv("TALLY_CACHE_MIB", "0", 1); /* the youngest stays in any case */
    store_large(6);
    assert_true(large_is_there(6));
    assert_int_equal(files_in(*state, ""), 1);
    unsetenv("TALLY_CACHE_MIB");
}

static void only_entries_are_removed(void **state) {
    static const char *const others[] = {"notes.txt", "0123.kernel", "new-folder-of-mine", "0123456789abcdef.kernel"};
    char path[PATH_MAX];
    setenv("TALLY_CACHE_MIB", "0", 1);
    for (size_t k = 0; k < COUNT_OF(others); k++) {
        snprintf(path, sizeof path, "%.300s/%s", (char *)*state, others[k]);
        fclose(fopen(path, "w"));
    }
    const struct timespec long_ago[2] = {{1000000000, 0}, {1000000000, 0}};
    snprintf(path, sizeof path, "%.300s/new-abcdef", (char *)*state);
    fclose(fopen(path, "w")); /* another process writes it just now */
    snprintf(path, sizeof path, "%.300s/new-ghijkl", (char *)*state);
    fclose(fopen(path, "w")); /* and this was left by one that was ended long ago */
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    store_large(1);
    store_large(2);
    assert_int_equal(files_in(*state, ""), (int)COUNT_OF(others) + 2);
    assert_int_equal(files_in(*state, "new-abcdef"), 1);
    assert_int_equal(files_in(*state, "new-ghijkl"), 0);
    unsetenv("TALLY_CACHE_MIB");
}

static void the_environment_sets_the_limit(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } known[] = {{"1", MIB},
                 {"0", 0},
                 {"", 256ull * MIB},
                 {"many", 256ull * MIB},
                 {"-1", 256ull * MIB},
                 {"12 GB", 256ull * MIB},
                 {"99999999999999999999999", 256ull * MIB},
                 {"18446744073709551615", UINT64_MAX}};
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        setenv("TALLY_CACHE_MIB", known[k].text, 1);
        assert_true(tally_cache_limit() == known[k].bytes);
    }
    unsetenv("TALLY_CACHE_MIB");
    assert_true(tally_cache_limit() == 256ull * MIB);
}

/* In its own process: every file that it finds is complete, also while others remove files. */
static int store_and_load_large(uint64_t process) {
    for (uint64_t round = 0; round < 60; round++) {
        const uint64_t number = (process * 7 + round) % 23;
        tally_image image = {0};
        store_large(number);
        if (tally_cache_load((tally_key){number, number}, &image) &&
            (image.size != sizeof large || memcmp(image.bytes, large, sizeof large) != 0))
            return 1;
        tally_image_free(&image);
    }
    return 0;
}

static void sixteen_processes_at_the_limit(void **state) {
    pid_t children[16];
    for (size_t k = 0; k < sizeof large; k++)
        large[k] = (char)(k * k >> 5);
    setenv("TALLY_CACHE_MIB", "1", 1);
    fflush(NULL);
    for (size_t k = 0; k < COUNT_OF(children); k++) {
        children[k] = fork();
        if (children[k] == 0)
            _exit(store_and_load_large(k));
    }
    for (size_t k = 0; k < COUNT_OF(children); k++) {
        int code = -1;
        assert_int_equal(waitpid(children[k], &code, 0), children[k]);
        assert_int_equal(code, 0);
    }
    assert_true(files_in(*state, "") <= 4);
    assert_true(files_in(*state, "") >= 1);
    assert_int_equal(files_in(*state, "new-"), 0);
    unsetenv("TALLY_CACHE_MIB");
}

/* Computed by OpenSSL's SipHash for the bytes 0, 1, 2, ... under the key 0, 1, ... 15. */
static void the_hash_is_siphash(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        tally_key hash;
    } known[] = {
        {0, {0xe6a825ba047f81a3u, 0x930255c71472f66du}},  {1, {0x44af996bd8c187dau, 0x45fc229b11597634u}},
        {2, {0xc75da4a48d227781u, 0xe4ff0af6de8ba3fcu}},  {15, {0x11a8b03399e99354u, 0xd9c3cf970fec087eu}},
        {63, {0x4a83502f77d15051u, 0x7cbd3f979a063e50u}},
    };
    unsigned char bytes[64];
    for (size_t k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)k;
    for (size_t k = 0; k < COUNT_OF(known); k++)
        for (size_t cut = 0; cut <= known[k].bytes; cut++) {
            tally_hash hash;
            tally_hash_begin_keyed(&hash, 0x0706050403020100u, 0x0f0e0d0c0b0a0908u);
            tally_hash_add(&hash, bytes, cut);
            tally_hash_add(&hash, bytes + cut, known[k].bytes - cut);
            assert_true(tally_key_equal(tally_hash_end(&hash), known[k].hash));
        }
}

int main(void) {
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(what_is_stored_comes_back),
        IN_A_FOLDER(the_environment_says_where),
        IN_A_FOLDER(a_flipped_bit_is_noticed_and_mended),
        IN_A_FOLDER(a_file_that_was_cut_is_noticed_and_mended),
        IN_A_FOLDER(anothers_entry_under_this_name_is_not_read),
        IN_A_FOLDER(what_others_could_have_written_is_not_read),
        IN_A_FOLDER(odd_things_in_its_place_do_no_harm),
        IN_A_FOLDER(a_folder_that_cannot_be_does_no_harm),
        IN_A_FOLDER(a_full_disk_does_no_harm),
        IN_A_FOLDER(sixteen_processes_at_once),
        IN_A_FOLDER(what_was_used_longest_ago_goes_first),
        IN_A_FOLDER(only_entries_are_removed),
        IN_A_FOLDER(the_environment_sets_the_limit),
        IN_A_FOLDER(sixteen_processes_at_the_limit),
        cmocka_unit_test(the_hash_is_siphash),
    };
    return cmocka_run_group_tests_name("the kernel cache", tests, NULL, NULL);
}
