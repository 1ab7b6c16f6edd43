/* A text is a row of pieces: declarations and lines of the preprocessor. A piece is needed if a needed one has an
 * identifier in it that the piece declares, in whatever scope: overloads and specializations stay together, and a name
 * that means something else only keeps too much. The lines of #if stay around whatever stays between them. They need
 * the symbols that they ask for, because one that is not defined would count as zero. */
#include "cuda/prune.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

typedef struct piece {
    const char *begin, *end;
    int group; /* the #if that it stands in, or that a line of the preprocessor belongs to; or NONE */
    bool is_needed, is_assertion;
} piece;

/* #if to #endif */
typedef struct group {
    int around;
    bool is_needed;
} group;

/* An identifier, and the pieces that declare it. */
typedef struct name {
    const char *begin;
    size_t length;
    int declaring; /* the last one's place in 'declarations' */
    bool is_needed;
} name;

typedef struct declaration {
    int piece, before; /* the one before it of the same name */
} declaration;

typedef struct pruner {
    piece *pieces;
    group *groups;
    name *names; /* a table with open addresses */
    declaration *declarations;
    int *waiting; /* pieces that are needed, whose identifiers are not yet looked at */
    size_t piece_count, group_count, name_room, declaration_count, waiting_count;
} pruner;

/* ---- words ---- */

typedef struct word {
    const char *begin;
    size_t length;
    bool is_identifier;
} word;

static bool goes_on(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* The next word at or after *at, a string being one; *at comes to stand behind it. Its length is 0 at the end. */
static word next_word(const char **at, const char *end) {
    const char *c = *at;
    while (c < end && isspace((unsigned char)*c))
        c++;
    word w = {.begin = c};
    if (c < end && (*c == '"' || (*c == '\'' && !goes_on(c > *at ? c[-1] : ' ')))) {
        const char quote = *c++;
        while (c < end && *c != quote)
            c += *c == '\\' && c + 1 < end ? 2 : 1;
        c += c < end;
    } else if (c < end && goes_on(*c)) {
        w.is_identifier = !isdigit((unsigned char)*c);
        while (c < end && goes_on(*c))
            c++;
    } else {
        c += c < end;
    }
    w.length = (size_t)(c - w.begin);
    *at = c;
    return w;
}

static bool is(word w, const char *text) {
    return w.length == strlen(text) && memcmp(w.begin, text, w.length) == 0;
}

static name *find_name(pruner *p, word w) {
    uint64_t hash = 1469598103934665603u;
    for (size_t k = 0; k < w.length; k++)
        hash = (hash ^ (unsigned char)w.begin[k]) * 1099511628211u;
    for (size_t k = hash;; k++) {
        name *n = &p->names[k & (p->name_room - 1)];
        if (!n->begin)
            *n = (name){.begin = w.begin, .length = w.length, .declaring = NONE};
        if (n->length == w.length && memcmp(n->begin, w.begin, w.length) == 0)
            return n;
    }
}

/* ---- what is declared ---- */

static void need(pruner *p, int number) {
    piece *of = &p->pieces[number];
    if (!of->is_needed)
        p->waiting[p->waiting_count++] = number;
    of->is_needed = true;
}

static void declare(pruner *p, word w) {
    name *n = find_name(p, w);
    p->declarations[p->declaration_count] = (declaration){(int)p->piece_count, n->declaring};
    n->declaring = (int)p->declaration_count++;
}

/* Behind the '>' of a '<' that ends at *at. */
static void skip_angles(const char **at, const char *end) {
    int depth = 1;
    for (word w = next_word(at, end); w.length && (depth += is(w, "<") - is(w, ">")) > 0;)
        w = next_word(at, end);
}

/* Notes the names that a declaration gives. A function's name stands before a parenthesis. A variable's stands before
 * '=', '[' or the end. An enumeration gives the names in its braces, too. Returns false if no name is found. */
static bool declare_names(pruner *p, const char *begin, const char *end) {
    const size_t before = p->declaration_count;
    const char *at = begin;
    word w = next_word(&at, end), last = {0};
    int depth = 0;
    if (is(w, "template")) {
        next_word(&at, end);
        skip_angles(&at, end);
        w = next_word(&at, end);
    }
    const bool is_enum = is(w, "enum"), is_type = is_enum || is(w, "struct") || is(w, "using"),
               is_alias = is(w, "typedef");
    const char *next = at;
    if (w.is_identifier && is(next_word(&next, end), "(")) /* a macro, which may declare anything */
        return false;
    bool has_value = false, has_tag = false;
    for (; w.length; last = w, w = next_word(&at, end)) {
        if (is(w, "<") && last.is_identifier && depth == 0 && !has_value &&
            !is_alias) { /* of a type or of a specialization */
            skip_angles(&at, end);
            w = next_word(&at, end);
        }
        const bool opens = is(w, "(") || is(w, "{") || is(w, "["),
                   is_named = last.is_identifier && !is(last, "alignas");
        if (depth == 0 && is_type && !has_tag && is_named && !is(last, "struct") && !is(last, "enum") &&
            !is(last, "using") && (has_tag = true))
            declare(p, last);
        else if (depth == 0 && !is_type && is_named && !has_value &&
                 (is(w, ";") ||
                  (!is_alias && ((is(w, "(") && memcmp(last.begin, "__", 2) != 0) || is(w, "[") || is(w, "=")))))
            declare(p, last);
        else if (depth == 0 && !is_type && is_named && has_value && is(w, "=") && *at != '=')
            declare(p, last);
        else if (depth == 1 && is_enum && w.is_identifier && (is(last, "{") || is(last, ",")))
            declare(p, w);
        if (depth == 0 && is(w, "{") && !is_type && !is_alias && !has_value)
            break; /* a function's body */
        has_value |= depth == 0 && !is_alias && is(w, "=");
        depth += opens - (is(w, ")") || is(w, "}") || is(w, "]"));
    }
    return p->declaration_count > before;
}

/* ---- pieces ---- */

static void add_piece(pruner *p, const char *begin, const char *end, int in, bool declares) {
    piece *of = &p->pieces[p->piece_count];
    *of = (piece){.begin = begin, .end = end, .group = in};
    of->is_assertion = declares && strncmp(begin, "static_assert", strlen("static_assert")) == 0;
    if (declares && !of->is_assertion && !declare_names(p, begin, end))
        need(p, (int)p->piece_count);
    p->piece_count++;
}

/* Behind a line of the preprocessor and those that continue it. */
static const char *line_end(const char *at) {
    const char *end = strchr(at, '\n');
    while (end && end[-1] == '\\')
        end = strchr(end + 1, '\n');
    return end ? end + 1 : at + strlen(at);
}

static void add_line(pruner *p, const char *begin, const char *end, int *in) {
    const char *at = begin + 1;
    const word w = next_word(&at, end);
    if (is(w, "define") || is(w, "undef")) {
        declare(p, next_word(&at, end));
        add_piece(p, begin, end, *in, false);
        return;
    }
    if (w.length >= 2 && memcmp(w.begin, "if", 2) == 0) {
        p->groups[p->group_count] = (group){.around = *in};
        *in = (int)p->group_count++;
    }
    add_piece(p, begin, end, *in, false);
    if (is(w, "endif") && *in != NONE)
        *in = p->groups[*in].around;
}

/* Behind a declaration: its semicolon, or a function's last brace. One that has neither ends before a line of the
 * preprocessor. */
static const char *declaration_end(const char *begin, const char *end) {
    const char *at = begin;
    const bool is_typedef = strncmp(begin, "typedef", strlen("typedef")) == 0;
    int depth = 0;
    for (word w = next_word(&at, end); w.length; w = next_word(&at, end)) {
        depth += is(w, "{") || is(w, "(");
        depth -= is(w, "}") || is(w, ")");
        if (depth == 0 && is(w, ";"))
            return at;
        const char *next = at;
        const word follows = next_word(&next, end);
        if (depth == 0 && is(w, "}") && !is_typedef)
            return is(follows, ";") ? next : at;
        if (depth == 0 && is(follows, "#"))
            return at;
    }
    return end;
}

static void cut(pruner *p, const char *text) {
    const char *end = text + strlen(text), *at = text;
    int in = NONE;
    while (at < end) {
        const char *begin = at;
        if (strncmp(begin, TALLY_CUDA_BEGINS_USER, strlen(TALLY_CUDA_BEGINS_USER)) == 0) {
            const char *last = strstr(begin, TALLY_CUDA_ENDS_USER);
            at = last ? last + strlen(TALLY_CUDA_ENDS_USER) : end;
            add_piece(p, begin, at, in, false);
            need(p, (int)p->piece_count - 1);
        } else if (*begin == '#') {
            at = line_end(begin);
            add_line(p, begin, at, &in);
        } else if (isspace((unsigned char)*begin)) {
            at++;
        } else {
            at = declaration_end(begin, end);
            add_piece(p, begin, at, in, true);
        }
    }
}

/* ---- what is needed ---- */

static void need_name(pruner *p, word w) {
    name *n = find_name(p, w);
    for (int k = n->is_needed ? NONE : n->declaring; k != NONE; k = p->declarations[k].before)
        need(p, p->declarations[k].piece);
    n->is_needed = true;
}

static void need_group(pruner *p, int number) {
    for (; number != NONE && !p->groups[number].is_needed; number = p->groups[number].around) {
        p->groups[number].is_needed = true;
        for (size_t k = 0; k < p->piece_count; k++)
            if (p->pieces[k].group == number && *p->pieces[k].begin == '#' &&
                strncmp(p->pieces[k].begin, "#define", 7) != 0 && strncmp(p->pieces[k].begin, "#undef", 6) != 0)
                need(p, (int)k);
    }
}

static void need_all(pruner *p) {
    while (p->waiting_count) {
        const piece *of = &p->pieces[p->waiting[--p->waiting_count]];
        const char *at = of->begin;
        need_group(p, of->group);
        for (word w = next_word(&at, of->end); w.length; w = next_word(&at, of->end))
            if (w.is_identifier)
                need_name(p, w);
    }
}

/* An assertion stays if all that it names does. */
static bool is_of_needed(pruner *p, const piece *of) {
    const char *at = of->begin;
    if (of->group != NONE && !p->groups[of->group].is_needed)
        return false;
    for (word w = next_word(&at, of->end); w.length; w = next_word(&at, of->end)) {
        const name *n = w.is_identifier ? find_name(p, w) : NULL;
        if (n && n->declaring != NONE && !n->is_needed)
            return false;
    }
    return true;
}

static void write_needed(pruner *p, char *to) {
    for (size_t k = 0; k < p->piece_count; k++) {
        const piece *of = &p->pieces[k];
        if (!of->is_needed && !(of->is_assertion && is_of_needed(p, of)))
            continue;
        const size_t bytes = (size_t)(of->end - of->begin);
        memcpy(to, of->begin, bytes);
        to += bytes;
        if (to[-1] != '\n')
            *to++ = '\n';
    }
    *to = 0;
}

char *tally_cuda_prune(const char *text, const char *kernel) {
    /* each piece and each name takes two bytes at least */
    const size_t most = strlen(text) / 2 + 1;
    pruner p = {.name_room = 1};
    while (p.name_room < 2 * most)
        p.name_room *= 2;
    p.pieces = malloc(most * sizeof *p.pieces);
    p.groups = malloc(most * sizeof *p.groups);
    p.names = calloc(p.name_room, sizeof *p.names);
    p.declarations = malloc(most * sizeof *p.declarations);
    p.waiting = malloc(most * sizeof *p.waiting);
    char *pruned = malloc(2 * strlen(text) + 1);
    if (p.pieces && p.groups && p.names && p.declarations && p.waiting && pruned) {
        cut(&p, text);
        need_name(&p, (word){.begin = kernel, .length = strlen(kernel)});
        need_all(&p);
        write_needed(&p, pruned);
    } else {
        free(pruned);
        pruned = NULL;
    }
    free(p.pieces);
    free(p.groups);
    free(p.names);
    free(p.declarations);
    free(p.waiting);
    return pruned;
}
