/* texts.c: families and sources, from the program (the build embeds them) or from the disk.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include "ladder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they are listed. */
static const char *const families[] = {"cpu", "reduce", "divergence", "prefix-sum", "coarsening", "compute-shader"};

const char *ladder_text(const char *path) {
    for (size_t i = 0; i < ladder_text_count; i++)
        if (strcmp(ladder_texts[i].path, path) == 0)
            return ladder_texts[i].text;
    return NULL;
}

static const char *family_text(const char *name) {
    char path[LADDER_NAME + 16];
    snprintf(path, sizeof path, "%.40s/family", name);
    return ladder_text(path);
}

static size_t family_indices(size_t wanted) {
    size_t found = 0, i = 0;
    for (; i < sizeof families / sizeof *families; i++)
        if (family_text(families[i]) && found++ == wanted)
            break;
    return wanted == SIZE_MAX ? found : i;
}

size_t ladder_family_count(void) {
    return family_indices(SIZE_MAX);
}

const char *ladder_family_name(size_t index) {
    return families[family_indices(index)];
}

int ladder_read_file(const char *path, char **text, fault *f) {
    FILE *file = fopen(path, "r");
    size_t used = 0, room = 1 << 20; /* far more than any step has */
    if (!file)
        return fault_data(f, "%s: %s", path, strerror(errno));
    *text = malloc(room);
    if (*text)
        used = fread(*text, 1, room - 1, file);
    const int read_error = ferror(file) ? errno : 0;
    const bool whole = *text && !ferror(file) && fgetc(file) == EOF;
    fclose(file);
    if (!whole) {
        free(*text);
        *text = NULL;
        return fault_data(f, "%s: %s", path,
                          read_error ? strerror(read_error) : "cannot be read, or is longer than 1 MB");
    }
    (*text)[used] = 0;
    return 0;
}

int ladder_read(const ladder_family *family, const char *file, char **text, fault *f) {
    char path[700];
    if (family->folder[0]) {
        snprintf(path, sizeof path, "%.500s/%.40s", family->folder, file);
        return ladder_read_file(path, text, f);
    }
    snprintf(path, sizeof path, "%.40s/%.40s", family->name, file);
    const char *embedded = ladder_text(path);
    if (!embedded)
        return fault_data(f, "ladder/%s: no file of that name is in the program", path);
    *text = strdup(embedded);
    return *text ? 0 : fault_data(f, "out of memory");
}

int ladder_source(const ladder_family *family, const ladder_step *step, char **source, fault *f) {
    fault why;
    if (!step->file[0])
        return fault_usage(f, "step '%s' is the library's own plan: 'tally/tally.h' is all that it needs", step->name);
    if (ladder_read(family, step->file, source, &why) == 0)
        return 0;
    return fault_data(f, "family '%s', line %d, step '%s': %.900s", family->name, step->line, step->name, why.text);
}

/* Replaces each run of blanks, newlines and stars at the beginning of lines by one blank. */
static void join_lines(const char *from, size_t length, char *text, size_t bytes) {
    size_t at = 0;
    for (size_t i = 0; i < length && at + 1 < bytes; i++) {
        const bool star = from[i] == '*' && at > 0 && text[at - 1] == ' ' && i > 0 && from[i - 1] == ' ' && i >= 2 &&
                          from[i - 2] == '\n';
        const char c = from[i] == '\n' ? ' ' : from[i];
        if (star || (c == ' ' && (at == 0 || text[at - 1] == ' ')))
            continue;
        text[at++] = c;
    }
    while (at > 0 && text[at - 1] == ' ')
        at--;
    text[at] = 0;
}

bool ladder_remark(const char *source, const char *label, char *text, size_t bytes) {
    char marked[32];
    const char *end = strstr(source, "*/");
    snprintf(marked, sizeof marked, " %.20s: ", label);
    const char *start = strstr(source, marked);
    if (!end || !start || start > end)
        return false;
    start += strlen(marked);
    /* It ends where the next remark begins: a line whose first word ends in a colon. */
    const char *stop = end;
    for (const char *line = strchr(start, '\n'); line && line < end; line = strchr(line + 1, '\n')) {
        const char *word = line + 1 + strspn(line + 1, " *");
        const size_t letters = strcspn(word, ": \n");
        if (word[letters] == ':' && word[0] >= 'A' && word[0] <= 'Z') {
            stop = line;
            break;
        }
    }
    join_lines(start, (size_t)(stop - start), text, bytes);
    return text[0] != 0;
}
