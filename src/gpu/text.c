#include "gpu/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(tally_text *text, size_t more) {
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return !text->failed;
    size_t capacity = needed + needed / 2;
    char *bytes = text->failed ? NULL : realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void tally_text_add(tally_text *text, const char *string) {
    size_t length = strlen(string);
    if (!reserve(text, length))
        return;
    memcpy(text->bytes + text->length, string, length + 1);
    text->length += length;
}

void tally_text_print(tally_text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0 || !reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(list, format);
    vsnprintf(text->bytes + text->length, (size_t)length + 1, format, list);
    va_end(list);
    text->length += (size_t)length;
}
