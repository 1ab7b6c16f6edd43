/* Part of the build, not of the library: packs the texts of a back end's kernels. usage: pack_texts BACKEND FILE...
 * Writes BACKEND/texts.h, which says where each text begins in tally_BACKEND_kernels, and BACKEND/texts.c with the
 * packed bytes. Comments, indentation and empty lines are left out. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/pack_bytes.h"

enum { MOST_BYTES = 1 << 24 };

static char texts[MOST_BYTES];
static size_t count;

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
    char array[64], function[64];
    FILE *source = open_file(path, "w");
    snprintf(array, sizeof array, "tally_%s_kernels", backend);
    snprintf(function, sizeof function, "tally_%s_unpack_kernels", backend);
    fprintf(source, "/* Made by src/gpu/pack_texts.c. */\n#include \"%s/texts.h\"\n\nchar %s[%zu];\n\n", backend, array,
            count);
    tally_print_packed((const unsigned char *)texts, count, array, function, source);
    if (fclose(source))
        fail(path, "cannot be written");
}

int main(int argc, char **argv) {
    char path[128];
    if (argc < 3 || strlen(argv[1]) > 32)
        fail(argv[0], "usage: pack_texts BACKEND FILE...");
    snprintf(path, sizeof path, "%s/texts.h", argv[1]);
    write_header(path, argv[1], argv + 2, argc - 2);
    snprintf(path, sizeof path, "%s/texts.c", argv[1]);
    write_source(path, argv[1]);
    return 0;
}
