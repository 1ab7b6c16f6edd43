#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/reader.h"

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

void tally_user_advance(reader *r) {
    const char *at = skip_space(r->at);
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
    r->at = at + next.length;
    r->next = next;
}

void tally_user_begin(reader *r, const char *source, const char *text) {
    r->source = source;
    r->text = r->at = text;
    r->depth = r->loops = 0;
    r->name_count = 0;
    if (r->status != TALLY_OK)
        r->at = ""; /* nothing more is read */
    tally_user_advance(r);
}

bool tally_user_is(const reader *r, const char *sign) {
    return r->next.kind != TOKEN_END && strlen(sign) == (size_t)r->next.length &&
           memcmp(r->next.begin, sign, (size_t)r->next.length) == 0;
}

bool tally_user_accept(reader *r, const char *sign) {
    if (!tally_user_is(r, sign))
        return false;
    tally_user_advance(r);
    return true;
}

void tally_user_expect(reader *r, const char *sign) {
    if (!tally_user_accept(r, sign))
        tally_user_fail(r, TALLY_INVALID_ARGUMENT, "'%s' is missing", sign);
}

void tally_user_fail(reader *r, tally_status status, const char *format, ...) {
    if (r->status != TALLY_OK)
        return;
    int line = 1, column = 1;
    for (const char *c = r->text; c < r->next.begin; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    const int head = snprintf(r->message, sizeof r->message, "%s, line %d, column %d%s%.*s%s: ", r->source, line,
                              column, r->next.length ? ", at '" : ", at the end",
                              r->next.length > 32 ? 32 : r->next.length, r->next.begin, r->next.length ? "'" : "");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->message + head, sizeof r->message - (size_t)head, format, arguments);
    va_end(arguments);
    r->status = status;
    r->at = "";
    r->next = (token){TOKEN_END, r->at, 0};
}
