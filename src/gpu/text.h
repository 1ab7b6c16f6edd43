/* Text that grows as it is written, for sources that are generated for compilers. */
#ifndef TALLY_GPU_TEXT_H
#define TALLY_GPU_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tally_text {
    char *bytes; /* ends with a zero; from malloc, or NULL */
    size_t length, capacity;
    bool failed; /* there was too little memory; later text is dropped */
} tally_text;

void tally_text_add(tally_text *text, const char *string);
__attribute__((format(printf, 2, 3))) void tally_text_print(tally_text *text, const char *format, ...);

#endif
