#include "cpu/text/program.h"

#include <stdlib.h>

#include "core/arithmetic.h"

void tally_cpu_text_run(const tally_cpu_text *text, const tally_text_program *program, char *const bases[], size_t n) {
    const tally_text_step *const end = program->steps + program->count;
    const size_t lanes = (size_t)round_up(n, TALLY_INSTRUCTION_LANES);
    for (const tally_text_step *s = program->steps; s < end; s++) {
        const char *const a = bases[s->a.base] + s->a.offset;
        if (s->function)
            s->function(bases[s->to.base] + s->to.offset, a, bases[s->b.base] + s->b.offset,
                        bases[s->c.base] + s->c.offset, lanes);
        else if (text->instructions->none((const int32_t *)(const void *)a, n))
            s = program->steps + s->target - 1;
    }
}

void tally_cpu_text_free(tally_cpu_text *text) {
    if (!text)
        return;
    tally_text_program *const programs[] = {&text->identity, &text->begin, &text->take, &text->combine, &text->lower};
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        free(programs[k]->steps);
    free(text->constants);
    free(text);
}
