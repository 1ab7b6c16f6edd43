/* From the tree of a user's texts to steps. */
#ifndef TALLY_CPU_TEXT_FUNCTIONS_H
#define TALLY_CPU_TEXT_FUNCTIONS_H

#include "cpu/text/compiler.h"

/* The values of a statement's variables, for the lanes that are there. */
void tally_text_run(compiler *c, const node *n);
void tally_text_declare(compiler *c, const variable *v, operand *parts);
operand *tally_text_zeros(compiler *c, type t);
operand *tally_text_one(compiler *c, operand a);

#endif
