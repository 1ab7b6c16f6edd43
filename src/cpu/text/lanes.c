#include "cpu/text/lanes.h"

#include <string.h>

#include "core/arithmetic.h"
#include "cpu/packing.h"

void tally_lanes_open(tally_lanes *l, const tally_cpu_context *context) {
    const tally_cpu_text *const t = l->text = context->text;
    char *at = l->room;
    l->context = context;
    l->readable = 0;
    l->bases[TALLY_TEXT_REGISTERS] = at;
    l->bases[TALLY_TEXT_LEFT] = at += t->register_bytes;
    l->bases[TALLY_TEXT_RIGHT] = at += t->block_bytes;
    l->saved = at += t->block_bytes;
    l->x = at += t->block_bytes;
    l->bases[TALLY_TEXT_X] = l->x;
    l->bases[TALLY_TEXT_INDEX] = at += t->width * sizeof(uint64_t);
    l->bases[TALLY_TEXT_COUNT] = at += t->width * sizeof(uint64_t);
    l->bases[TALLY_TEXT_OUT] = at += t->width * sizeof(uint64_t);
    l->bases[TALLY_TEXT_LANES] = at + t->width * sizeof(uint64_t);
    l->bases[TALLY_TEXT_CONSTANTS] = t->constants;
}

void tally_lanes_load(const tally_lanes *l, const void *acc, size_t n, char *block) {
    for (size_t k = 0; k < l->text->component_count; k++)
        l->text->instructions->gather((const char *)acc + l->text->components[k].stored, l->text->acc_bytes,
                                      l->text->components[k].bytes, n, tally_lanes_component(l, block, k, 0));
}

void tally_lanes_store(const tally_lanes *l, char *block, size_t n, void *acc) {
    for (size_t k = 0; k < l->text->component_count; k++)
        l->text->instructions->scatter(tally_lanes_component(l, block, k, 0), l->text->components[k].bytes, n,
                                       (char *)acc + l->text->components[k].stored, l->text->acc_bytes);
}

void tally_lanes_copy(const tally_lanes *l, char *block, size_t to, char *from_block, size_t from, size_t n) {
    for (size_t k = 0; k < l->text->component_count; k++)
        memmove(tally_lanes_component(l, block, k, to), tally_lanes_component(l, from_block, k, from),
                n * l->text->components[k].bytes);
}

void tally_lanes_fill(const tally_lanes *l, const void *acc, char *block, size_t first, size_t end) {
    for (size_t k = 0; k < l->text->component_count; k++) {
        char *const to = tally_lanes_component(l, block, k, first);
        const void *const from = (const char *)acc + l->text->components[k].stored;
        if (l->text->components[k].bytes == 4)
            for (size_t j = 0; j < end - first; j++)
                memcpy(to + 4 * j, from, 4);
        else
            for (size_t j = 0; j < end - first; j++)
                memcpy(to + 8 * j, from, 8);
    }
}

void tally_lanes_choose(const tally_lanes *l, const int32_t *masks, char *yes, size_t n, char *block) {
    tally_instruction *const *const all = l->text->instructions->all;
    for (size_t k = 0; k < l->text->component_count; k++) {
        char *const to = tally_lanes_component(l, block, k, 0);
        all[l->text->components[k].bytes == 4 ? TALLY_DO_select_32 : TALLY_DO_select_64](
            to, masks, tally_lanes_component(l, yes, k, 0), to, (size_t)round_up(n, TALLY_INSTRUCTION_LANES));
    }
}

void tally_lanes_transpose(const tally_lanes *l, const void *from, size_t bytes, size_t rows, size_t columns,
                           void *to) {
    tally_cpu_pack(l->text->instructions, from, bytes, columns, rows, to);
}

void tally_lanes_run(tally_lanes *l, const tally_text_program *program, size_t n) {
    if (program->loops) {
        int32_t *const masks = (int32_t *)(void *)l->bases[TALLY_TEXT_LANES];
        for (size_t j = 0; j < round_up(n, TALLY_INSTRUCTION_LANES); j++)
            masks[j] = j < n ? -1 : 0;
    }
    tally_cpu_text_run(l->text, program, l->bases, n);
}

/* Elements as they are computed with: where they are, or converted. */
static void see_elements(tally_lanes *l, const void *x, size_t n) {
    const bool fills = round_up(n, TALLY_INSTRUCTION_LANES) - n <= l->readable;
    if (l->context->convert)
        l->context->convert(x, n, l->x);
    else if (!fills)
        memcpy(l->x, x, n * l->context->in_bytes);
    l->bases[TALLY_TEXT_X] = !l->context->convert && fills ? (char *)(uintptr_t)x : l->x;
}

void tally_lanes_take(tally_lanes *l, const void *x, size_t n, uint64_t index, uint64_t step, const uint64_t *indices,
                      bool fresh) {
    const tally_text_program *const program = fresh ? &l->text->begin : &l->text->take;
    uint64_t *const own = (uint64_t *)(void *)l->bases[TALLY_TEXT_INDEX];
    if (program->uses_index && indices)
        memcpy(own, indices, n * sizeof *own);
    else if (program->uses_index)
        l->text->instructions->number(index, step, n, own);
    see_elements(l, x, n);
    tally_lanes_run(l, program, n);
}

void tally_lanes_join(tally_lanes *l, size_t n) {
    tally_lanes_run(l, &l->text->combine, n);
}

void tally_lanes_lower(tally_lanes *l, const tally_cpu_plan *plan, tally_counts counts, size_t n, void *out) {
    const tally_dtype to = plan->base.computation.desc.out, from = l->text->result;
    uint64_t *const own = (uint64_t *)(void *)l->bases[TALLY_TEXT_COUNT];
    if (l->text->lower.uses_count && counts.each)
        memcpy(own, counts.each, n * sizeof *own);
    else if (l->text->lower.uses_count)
        l->text->instructions->number(counts.first, (uint64_t)counts.step, n, own);
    if (from == to && n % TALLY_INSTRUCTION_LANES == 0) {
        char *const own_out = l->bases[TALLY_TEXT_OUT];
        l->bases[TALLY_TEXT_OUT] = out;
        tally_lanes_run(l, &l->text->lower, n);
        l->bases[TALLY_TEXT_OUT] = own_out;
        return;
    }
    tally_lanes_run(l, &l->text->lower, n);
    if (from == to)
        memcpy(out, l->bases[TALLY_TEXT_OUT], n * l->context->out_bytes);
    else
        plan->device->level->types[from]->convert[to](l->bases[TALLY_TEXT_OUT], n, out);
}
