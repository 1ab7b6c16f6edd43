#include "vulkan/entries.h"

#include <string.h>

#include "vulkan/specialize.h"
#include "vulkan/spirv.h"

typedef struct writer {
    uint32_t *to;
    size_t count, room;
} writer;

static void put(writer *w, const uint32_t *words, size_t count) {
    if (w->count + count <= w->room)
        memcpy(w->to + w->count, words, count * sizeof *words);
    w->count += count;
}

/* The id of the function with a kernel's name; 0: the module has none. glslc writes "reduce(" for reduce(). */
static uint32_t function_named(const uint32_t *words, size_t count, const char *name) {
    const size_t letters = strlen(name);
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < count; at += tally_spirv_length(words[at])) {
        const size_t length = tally_spirv_length(words[at]);
        const char *found = (const char *)(words + at + 2);
        if (tally_spirv_opcode(words[at]) == SpvOpName && (length - 2) * sizeof *words > letters + 1 &&
            memcmp(found, name, letters) == 0 && found[letters] == '(' && found[letters + 1] == 0)
            return words[at + 1];
    }
    return 0;
}

/* main's instruction again for another function: OpEntryPoint Model Id Name... Interface..., or OpExecutionMode Id ...
 */
static void put_entry_point(writer *w, const uint32_t *main_point, uint32_t id, const char *name) {
    enum { BEFORE_NAME = 3, MAIN_NAME = 2 /* words of "main" */ };
    uint32_t words[BEFORE_NAME + 8] = {0, main_point[1], id};
    const size_t interface = tally_spirv_length(main_point[0]) - BEFORE_NAME - MAIN_NAME;
    const size_t letters = strlen(name) / sizeof *words + 1;
    memcpy(words + BEFORE_NAME, name, strlen(name));
    words[0] = tally_spirv_first_word(BEFORE_NAME + letters + interface, SpvOpEntryPoint);
    put(w, words, BEFORE_NAME + letters);
    put(w, main_point + BEFORE_NAME + MAIN_NAME, interface);
}
static void put_execution_mode(writer *w, const uint32_t *main_mode, uint32_t id) {
    const uint32_t words[2] = {main_mode[0], id};
    put(w, words, 2);
    put(w, main_mode + 2, tally_spirv_length(main_mode[0]) - 2);
}

static bool is_for_debuggers(uint32_t opcode) {
    return (opcode >= SpvOpSourceContinued && opcode <= SpvOpMemberName) || opcode == SpvOpLine ||
           opcode == SpvOpNoLine;
}

static bool is_whole(const uint32_t *words, size_t count) {
    size_t at = TALLY_SPIRV_HEADER_WORDS;
    if (count < TALLY_SPIRV_HEADER_WORDS || words[0] != SpvMagicNumber)
        return false;
    while (at < count && tally_spirv_length(words[at]))
        at += tally_spirv_length(words[at]);
    return at == count;
}

size_t tally_vulkan_add_entries(const uint32_t *words, size_t count, uint32_t *to, size_t room) {
    uint32_t ids[TALLY_VULKAN_KERNEL_COUNT], main_id = 0;
    bool in_main = false;
    writer w = {to, 0, room};
    if (!is_whole(words, count))
        return 0;
    for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT; k++)
        ids[k] = function_named(words, count, tally_vulkan_kernel_names[k]);
    put(&w, words, TALLY_SPIRV_HEADER_WORDS);
    for (size_t at = TALLY_SPIRV_HEADER_WORDS; at < count; at += tally_spirv_length(words[at])) {
        const uint32_t opcode = tally_spirv_opcode(words[at]);
        if (opcode == SpvOpEntryPoint)
            main_id = words[at + 2];
        for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT; k++)
            if (ids[k] && opcode == SpvOpEntryPoint)
                put_entry_point(&w, words + at, ids[k], tally_vulkan_kernel_names[k]);
            else if (ids[k] && opcode == SpvOpExecutionMode)
                put_execution_mode(&w, words + at, ids[k]);
        if (opcode == SpvOpFunction && words[at + 2] == main_id)
            in_main = true;
        if (!in_main && opcode != SpvOpEntryPoint && opcode != SpvOpExecutionMode && !is_for_debuggers(opcode))
            put(&w, words + at, tally_spirv_length(words[at]));
        if (opcode == SpvOpFunctionEnd)
            in_main = false;
    }
    return w.count <= room ? w.count : 0;
}
