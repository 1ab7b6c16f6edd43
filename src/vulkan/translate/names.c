#include <string.h>

#include "vulkan/translate/translator.h"

named *tally_translate_declare(translator *t, const char *name, type of, bool constant) {
    named *const made = &t->names[t->name_count < MOST_NAMES ? t->name_count++ : 0];
    if (t->name_count == MOST_NAMES)
        tally_translate_fail(t, TALLY_UNSUPPORTED, "there are too many names at a time");
    memmove(made->name, name, strlen(name) + 1);
    made->type = of;
    made->constant = constant;
    return made;
}

const named *tally_translate_find(const translator *t, const char *name) {
    for (int k = t->name_count; k > 0; k--)
        if (strcmp(t->names[k - 1].name, name) == 0)
            return &t->names[k - 1];
    return NULL;
}
