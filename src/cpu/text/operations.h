/* The steps of one operation on numbers: an operator of C, or a function that texts may call. k is the operands' kind.
 */
#ifndef TALLY_CPU_TEXT_OPERATIONS_H
#define TALLY_CPU_TEXT_OPERATIONS_H

#include "cpu/text/steps.h"

/* Operators that take both operands, so not && and ||. */
operand tally_text_binary(compiler *c, binary which, kind k, operand a, operand b);
operand tally_text_negated(compiler *c, operand a, kind k);

/* A mask: the lanes whose number is not 0. */
operand tally_text_unequal_zero(compiler *c, operand a, kind k);

/* A call of a known function. It reads as many operands as the function has, and may change what a[0] is known to
 * fit. */
operand tally_text_known(compiler *c, known_function which, kind k, operand a[3]);

#endif
