/* Part of the build, not of the library: packs the texts of a back end's kernels. usage: pack_texts BACKEND FILE...
 * Writes BACKEND/texts.h, which says where each text begins in tally_BACKEND_kernels, and BACKEND/texts.c with the
 * packed bytes, which it unpacks again and compares. Comments, indentation and empty lines are left out. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/unpack_texts.h"

enum { MOST_BYTES = 1 << 24, HASHES = 1 << 16, MOST_TRIES = 1000 };

static char texts[MOST_BYTES], again[MOST_BYTES];
static unsigned char packed[2 * MOST_BYTES];
static size_t count, packed_count;
static size_t last_with[HASHES], before[MOST_BYTES]; /* places of the same hash; plus 1, and 0: none */

static void fail(const char *path, const char *why) {
    fprintf(stderr, "pack_texts: %s: %s\n", path, why);
    exit(1);
}

static FILE *open_file(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file)
        fail(path, "cannot be opened");
    return file;
}

/* ---- texts without what only a reader needs ---- */

static void put(char byte) {
    if (count == MOST_BYTES)
        fail("the texts", "are too long");
    texts[count++] = byte;
}

/* Appends the file without comments, and without blanks at the ends and the beginnings of lines. */
static void add_text(const char *path) {
    FILE *file = open_file(path, "rb");
    const size_t begin = count;
    bool in_comment = false;
    for (int previous = 0, byte; (byte = getc(file)) != EOF; previous = byte) {
        if (in_comment) {
            in_comment = !(previous == '*' && byte == '/');
            if (!in_comment)
                byte = 0;
        } else if (previous == '/' && byte == '*') {
            in_comment = true;
            count--; /* the slash */
            byte = 0;
        } else if (byte == '\n') {
            while (count > begin && texts[count - 1] == ' ')
                count--;
            if (count > begin && texts[count - 1] != '\n')
                put('\n');
        } else if (byte != ' ' || (count > begin && texts[count - 1] != '\n')) {
            put((char)byte);
        }
    }
    if (ferror(file) || fclose(file) || in_comment)
        fail(path, "cannot be read, or a comment does not end");
    put(0);
}

/* ---- packing ---- */

static unsigned hash_at(size_t at) {
    unsigned bytes;
    memcpy(&bytes, texts + at, sizeof bytes);
    return bytes * 2654435761u >> 16;
}

static void enter(size_t at) {
    if (at + TALLY_UNPACK_LEAST > count)
        return;
    before[at] = last_with[hash_at(at)];
    last_with[hash_at(at)] = at + 1;
}

/* How many bytes from 'at' on stand before, and where; the nearest place of the longest. */
static size_t longest_at(size_t at, size_t *from) {
    size_t longest = 0;
    if (at + TALLY_UNPACK_LEAST > count)
        return 0;
    size_t place = last_with[hash_at(at)];
    for (int tries = 0; place && tries < MOST_TRIES; place = before[place - 1], tries++) {
        size_t length = 0;
        while (at + length < count && texts[place - 1 + length] == texts[at + length])
            length++;
        if (length > longest) {
            longest = length;
            *from = place - 1;
        }
    }
    return longest >= TALLY_UNPACK_LEAST ? longest : 0;
}

static unsigned half_of(size_t number) {
    return number < 15 ? (unsigned)number : 15;
}

static void put_rest(size_t number) {
    if (number < 15)
        return;
    for (number -= 15; number >= 255; number -= 255)
        packed[packed_count++] = 255;
    packed[packed_count++] = (unsigned char)number;
}

static void put_step(size_t begin, size_t literals, size_t repeated, size_t distance) {
    const size_t more = repeated ? repeated - TALLY_UNPACK_LEAST : 0;
    packed[packed_count++] = (unsigned char)(half_of(literals) << 4 | half_of(more));
    put_rest(literals);
    memcpy(packed + packed_count, texts + begin, literals);
    packed_count += literals;
    if (!repeated)
        return;
    put_rest(more);
    for (; distance > 127; distance >>= 7)
        packed[packed_count++] = (unsigned char)(distance | 128);
    packed[packed_count++] = (unsigned char)distance;
}

/* A repetition waits for a longer one that begins a byte later. */
static void pack(void) {
    size_t begin = 0;
    for (size_t at = 0, from = 0, from_next = 0; at < count;) {
        const size_t length = longest_at(at, &from);
        enter(at);
        if (!length || longest_at(at + 1, &from_next) > length + 1) {
            at++;
            continue;
        }
        put_step(begin, at - begin, length, at - from);
        for (size_t k = 1; k < length; k++)
            enter(at + k);
        begin = at += length;
    }
    if (begin < count)
        put_step(begin, count - begin, 0, 0);
}

/* ---- what is written ---- */

static void write_header(const char *path, const char *backend, char *const *files, int file_count) {
    FILE *header = open_file(path, "w");
    fprintf(header, "/* Made by src/gpu/pack_texts.c. The texts are there after tally_%s_unpack_kernels(). */\n",
            backend);
    fprintf(header, "extern char tally_%s_kernels[];\nvoid tally_%s_unpack_kernels(void);\n", backend, backend);
    for (int k = 0; k < file_count; k++) {
        const char *const slash = strrchr(files[k], '/'), *const name = slash ? slash + 1 : files[k];
        fprintf(header, "#define tally_%s_kernels_%.*s (tally_%s_kernels + %zu)\n", backend, (int)strcspn(name, "."),
                name, backend, count);
        add_text(files[k]);
    }
    if (fclose(header))
        fail(path, "cannot be written");
}

static void write_source(const char *path, const char *backend) {
    enum { LINE = 24 };
    FILE *source = open_file(path, "w");
    fprintf(
        source,
        "/* Made by src/gpu/pack_texts.c. */\n#include \"%s/texts.h\"\n\n#include <pthread.h>\n\n"
        "#include \"gpu/unpack_texts.h\"\n\nchar tally_%s_kernels[%zu];\n\nstatic const unsigned char packed[] = {\n",
        backend, backend, count);
    for (size_t k = 0; k < packed_count; k++)
        fprintf(source, "%u,%s", packed[k], (k + 1) % LINE ? "" : "\n");
    fprintf(
        source,
        "};\n\nstatic void unpack(void) {\n    tally_unpack(packed, sizeof tally_%s_kernels, tally_%s_kernels);\n}\n\n"
        "void tally_%s_unpack_kernels(void) {\n    static pthread_once_t once = PTHREAD_ONCE_INIT;\n"
        "    pthread_once(&once, unpack);\n}\n",
        backend, backend, backend);
    if (fclose(source))
        fail(path, "cannot be written");
}

int main(int argc, char **argv) {
    char path[128];
    if (argc < 3 || strlen(argv[1]) > 32)
        fail(argv[0], "usage: pack_texts BACKEND FILE...");
    snprintf(path, sizeof path, "%s/texts.h", argv[1]);
    write_header(path, argv[1], argv + 2, argc - 2);
    pack();
    tally_unpack(packed, count, again);
    if (memcmp(texts, again, count) != 0)
        fail(argv[1], "comes out of its packing changed");
    snprintf(path, sizeof path, "%s/texts.c", argv[1]);
    write_source(path, argv[1]);
    return 0;
}
