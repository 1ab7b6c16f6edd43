/* Prints the structs of cuda/arguments.def as kernels see them, with the checks of their layout, for layouts.sh. Those
 * that stand in several texts come several times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/arguments.h"
#include "cuda/texts.h"

static const char *const places[] = {
#define TALLY_CUDA_STANDS_BEFORE(text, name) tally_cuda_kernels_##text,
#include "cuda/arguments.def"
};

int main(void) {
    tally_text text = {0};
    tally_text_add(&text, "#include <cstddef>\ntypedef unsigned char uint8;\ntypedef unsigned short uint16;\n"
                          "typedef unsigned uint32;\n"
                          "typedef unsigned long long uint64;\ntypedef long long int64;\n"
                          "struct in_t; struct out_t; struct result_t; struct index_t; struct slot; struct uint2;\n");
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        bool added = false;
        for (size_t before = 0; before < k; before++)
            added |= places[before] == places[k];
        if (!added) /* all structs of a place at once */
            tally_cuda_arguments_add(&text, places[k]);
    }
    const int failed = text.failed || fputs(text.bytes, stdout) < 0 || fflush(stdout) != 0;
    free(text.bytes);
    return failed;
}
