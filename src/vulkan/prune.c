#include "vulkan/prune.h"
#include "vulkan/spirv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct module {
    const uint32_t *words;
    size_t count;
    bool *is_kept; /* an id: named in a function that is kept, or of all functions */
    bool *is_told; /* an id: a function's or shared memory's, which is kept only where an instruction names it */
} module;

static uint32_t opcode_at(const module *m, size_t at) {
    return tally_spirv_opcode(m->words[at]);
}
static size_t length_at(const module *m, size_t at) {
    return tally_spirv_length(m->words[at]);
}

static const char *name_of(const module *m, size_t entry_point) {
    return (const char *)(m->words + entry_point + 3);
}
static size_t name_words(const char *name) {
    return strlen(name) / sizeof(uint32_t) + 1;
}

/* The id of an entry point, or 0. */
static uint32_t find_entry(const module *m, const char *name) {
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < m->count; at += length_at(m, at))
        if (opcode_at(m, at) == SpvOpEntryPoint && strcmp(name_of(m, at), name) == 0)
            return m->words[at + 2];
    return 0;
}

/* Whether word k of an instruction may name a function or shared memory. */
static bool may_name(uint32_t opcode, size_t k) {
    switch (opcode) {
    case SpvOpFunctionCall:
        return k >= 3;
    case SpvOpStore:
    case SpvOpAtomicStore:
        return k == 1;
    case SpvOpLoopMerge: /* numbers stand there */
    case SpvOpFunction:
    case SpvOpVariable:
    case SpvOpSwitch:
        return false;
    default:
        return k == 3; /* the address of loads, access chains and atomic operations */
    }
}

/* Whatever stands in a function that is kept. A number may equal the id of a type or a value, which only stays then. */
static void keep_named(const module *m, size_t first_function) {
    for (bool more = true; more;) {
        bool is_inside = false;
        more = false;
        for (size_t at = first_function; at < m->count; at += length_at(m, at)) {
            if (opcode_at(m, at) == SpvOpFunction)
                is_inside = m->is_kept[m->words[at + 2]];
            for (size_t k = 1; is_inside && k < length_at(m, at); k++) {
                const uint32_t id = m->words[at + k];
                if (id >= m->words[TALLY_SPIRV_BOUND] || m->is_kept[id] ||
                    (m->is_told[id] && !may_name(opcode_at(m, at), k)))
                    continue;
                m->is_kept[id] = more = true;
            }
        }
    }
}

/* What other functions compute, if a number was taken for its id: else a decoration of it would stay. Decorated are
 * variables and arithmetic, whose ids stand after their types. */
static void drop_others(const module *m, size_t first_function) {
    bool is_other = false;
    for (size_t at = first_function; at < m->count; at += length_at(m, at)) {
        const uint32_t opcode = opcode_at(m, at);
        if (opcode == SpvOpFunction)
            is_other = !m->is_kept[m->words[at + 2]];
        else if (is_other && (opcode == SpvOpVariable || (opcode >= SpvOpSNegate && opcode <= SpvOpSMulExtended)))
            m->is_kept[m->words[at + 2]] = false;
    }
}

static bool is_shared(const module *m, size_t at) {
    return opcode_at(m, at) == SpvOpVariable && m->words[at + 3] == SpvStorageClassWorkgroup;
}

/* Types, constants and variables, all but shared memory that nothing names. */
static void keep_global(const module *m, size_t first_function) {
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < first_function; at += length_at(m, at)) {
        const uint32_t opcode = opcode_at(m, at);
        if (opcode >= SpvOpTypeVoid && opcode <= SpvOpTypePipe)
            m->is_kept[m->words[at + 1]] = true;
        else if ((opcode >= SpvOpConstantTrue && opcode <= SpvOpSpecConstantOp) || opcode == SpvOpUndef ||
                 (opcode == SpvOpVariable && !is_shared(m, at)))
            m->is_kept[m->words[at + 2]] = true;
    }
}

static size_t put_entry_point(const module *m, size_t at, uint32_t *to) {
    const size_t before = 3 + name_words(name_of(m, at));
    size_t written = before;
    memcpy(to, m->words + at, before * sizeof *to);
    for (size_t k = before; k < length_at(m, at); k++)
        if (m->is_kept[m->words[at + k]])
            to[written++] = m->words[at + k];
    to[0] = tally_spirv_first_word(written, SpvOpEntryPoint);
    return written;
}

static size_t copy_kept(const module *m, uint32_t entry, uint32_t *to) {
    size_t written = TALLY_SPIRV_HEADER_WORDS;
    bool is_in_other = false;
    memcpy(to, m->words, TALLY_SPIRV_HEADER_WORDS * sizeof *to);
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < m->count; at += length_at(m, at)) {
        const uint32_t opcode = opcode_at(m, at);
        const uint32_t *const words = m->words + at;
        if (opcode == SpvOpFunction)
            is_in_other = !m->is_kept[words[2]];
        if (opcode == SpvOpEntryPoint) {
            written += words[2] == entry ? put_entry_point(m, at, to + written) : 0;
        } else if (!is_in_other && !(opcode == SpvOpExecutionMode && words[1] != entry) &&
                   !(opcode == SpvOpDecorate && !m->is_kept[words[1]]) &&
                   !(is_shared(m, at) && !m->is_kept[words[2]])) {
            memcpy(to + written, words, length_at(m, at) * sizeof *to);
            written += length_at(m, at);
        }
        if (opcode == SpvOpFunctionEnd)
            is_in_other = false;
    }
    return written;
}

static void tell_globals(const module *m) {
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < m->count; at += length_at(m, at))
        if (opcode_at(m, at) == SpvOpFunction || is_shared(m, at))
            m->is_told[m->words[at + 2]] = true;
}

size_t tally_vulkan_prune(const uint32_t *words, size_t count, const char *name, const char *const *other,
                          size_t others, uint32_t *to) {
    const module m = {words, count, calloc(words[TALLY_SPIRV_BOUND], sizeof *m.is_kept),
                      calloc(words[TALLY_SPIRV_BOUND], sizeof *m.is_told)};
    const uint32_t entry = m.is_kept && m.is_told ? find_entry(&m, name) : 0;
    size_t first_function = TALLY_SPIRV_HEADER_WORDS, written = 0;
    while (first_function < count && opcode_at(&m, first_function) != SpvOpFunction)
        first_function += length_at(&m, first_function);
    if (entry) {
        tell_globals(&m);
        m.is_kept[entry] = true;
        for (size_t k = 0; k < others; k++)
            m.is_kept[find_entry(&m, other[k])] = true;
        keep_named(&m, first_function);
        drop_others(&m, first_function);
        keep_global(&m, first_function);
        written = copy_kept(&m, entry, to);
    }
    free(m.is_kept);
    free(m.is_told);
    return written;
}
