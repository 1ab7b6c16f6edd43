#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vulkan/translate/translator.h"

static const char *skip_space(const char *at) {
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (at[0] == '/' && at[1] == '/') {
            while (*at && *at != '\n')
                at++;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

static bool continues_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Also "1e-5". */
static int number_length(const char *at) {
    const bool hexadecimal = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    int n = 0;
    while (continues_name(at[n]) || at[n] == '.' ||
           (!hexadecimal && n > 0 && (at[n] == '+' || at[n] == '-') && (at[n - 1] == 'e' || at[n - 1] == 'E')))
        n++;
    return n;
}

static int sign_length(const char *at) {
    static const char *const signs[] = {"<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++",
                                        "--",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", "::"};
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
        if (strncmp(at, signs[k], strlen(signs[k])) == 0)
            return (int)strlen(signs[k]);
    return 1;
}

void tally_translate_advance(translator *t) {
    const char *at = skip_space(t->at);
    token next = {TOKEN_END, at, 0};
    if (isalpha((unsigned char)*at) || *at == '_') {
        next.kind = TOKEN_NAME;
        while (continues_name(at[next.length]))
            next.length++;
    } else if (isdigit((unsigned char)*at) || (*at == '.' && isdigit((unsigned char)at[1]))) {
        next.kind = TOKEN_NUMBER;
        next.length = number_length(at);
    } else if (*at) {
        next.kind = TOKEN_SIGN;
        next.length = sign_length(at);
    }
    t->at = at + next.length;
    t->next = next;
}

void tally_translate_begin(translator *t, const char *source, const char *text) {
    t->source = source;
    t->text = t->at = text;
    t->depth = 0;
    if (t->status != TALLY_OK)
        t->at = ""; /* nothing more is read */
    tally_translate_advance(t);
}

bool tally_translate_is(const translator *t, const char *sign) {
    return t->next.kind != TOKEN_END && strlen(sign) == (size_t)t->next.length &&
           memcmp(t->next.begin, sign, (size_t)t->next.length) == 0;
}

bool tally_translate_accept(translator *t, const char *sign) {
    if (!tally_translate_is(t, sign))
        return false;
    tally_translate_advance(t);
    return true;
}

void tally_translate_expect(translator *t, const char *sign) {
    if (!tally_translate_accept(t, sign))
        tally_translate_fail(t, TALLY_INVALID_ARGUMENT, "'%s' is missing", sign);
}

const char *tally_translate_format(translator *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *to = t->room + t->used;
    const int length = vsnprintf(to, TRANSLATOR_ROOM - t->used, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= TRANSLATOR_ROOM - t->used) {
        tally_translate_fail(t, TALLY_UNSUPPORTED, "the text is too long");
        return "0";
    }
    t->used += (size_t)length + 1;
    return to;
}

void tally_translate_fail(translator *t, tally_status status, const char *format, ...) {
    if (t->status != TALLY_OK)
        return;
    int line = 1, column = 1;
    for (const char *c = t->text; c < t->next.begin; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    const int head = snprintf(t->message, sizeof t->message, "%s, line %d, column %d%s%.*s%s: ", t->source, line,
                              column, t->next.length ? ", at '" : ", at the end",
                              t->next.length > 32 ? 32 : t->next.length, t->next.begin, t->next.length ? "'" : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->message + head, sizeof t->message - (size_t)head, format, arguments);
    va_end(arguments);
    t->status = status;
    t->at = "";
    t->next = (token){TOKEN_END, t->at, 0};
}
