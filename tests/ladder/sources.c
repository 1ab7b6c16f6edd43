/* Every step's source says what it removes, what is left and what to look at. The machine's own NVRTC, if there is one,
 * compiles it for every architecture, type and operator without a warning. */
#include "../api/support.h"

#include "ladder.h"

static ladder_family family;

static void open_family(size_t index) {
    fault f = {{0}};
    if (ladder_family_find(ladder_family_name(index), &family, &f) != 0)
        fail_msg("%s", f.text);
}

static void every_source_has_its_remarks(void **state) {
    (void)state;
    static const char *const labels[] = {"Removes", "Left", "Look at"};
    for (size_t i = 0; i < ladder_family_count(); i++) {
        open_family(i);
        for (size_t s = 0; s < family.step_count; s++) {
            const ladder_step *step = &family.steps[s];
            fault f = {{0}};
            char *source, text[400];
            if (strcmp(step->rule, "library") == 0)
                continue;
            if (ladder_source(&family, step, &source, &f) != 0)
                fail_msg("%s", f.text);
            for (size_t l = 0; l < sizeof labels / sizeof *labels; l++)
                if (!ladder_remark(source, labels[l], text, sizeof text) || strchr(text, '\n') || strlen(text) > 390)
                    fail_msg("%s/%s: no remark '%s:', or one that is too long", family.name, step->file, labels[l]);
            free(source);
        }
    }
}

static void remarks_end_where_the_next_begins(void **state) {
    (void)state;
    char text[100];
    static const char source[] = "/* x: y\n *\n * Removes: a\n * and b.\n * Left: nothing: c. */\n * Look at: d\n";
    assert_true(ladder_remark(source, "Removes", text, sizeof text));
    assert_string_equal(text, "a and b.");
    assert_true(ladder_remark(source, "Left", text, sizeof text));
    assert_string_equal(text, "nothing: c.");
    assert_false(ladder_remark(source, "Look at", text, sizeof text));
}

static void compile(const ladder_step *step, tally_dtype dtype, tally_op op, int architecture) {
    fault f = {{0}};
    void *code = NULL;
    size_t bytes = 0;
    char *log = NULL;
    if (ladder_cuda_code(&family, step, dtype, op, architecture, &code, &bytes, &log, &f) != 0)
        fail_msg("sm_%d: %s", architecture, f.text);
    if (log)
        fail_msg("%s/%s, sm_%d: %s", family.name, step->file, architecture, log);
    free(code);
}

static bool has_compiler(void) {
    fault f = {{0}};
    void *code = NULL;
    size_t bytes;
    ladder_family_find("reduce", &family, &f);
    const bool found =
        ladder_cuda_code(&family, family.steps, TALLY_F32, TALLY_SUM, 90, &code, &bytes, NULL, &f) == 0 ||
        !(strstr(f.text, "NVRTC") || strstr(f.text, "libnvrtc") || strstr(f.text, "without CUDA"));
    free(code);
    if (!found)
        printf("not compiled: %s\n", f.text);
    return found;
}

static void every_kernel_compiles_without_a_warning(void **state) {
    (void)state;
    static const int architectures[] = {75, 80, 90};
    if (!has_compiler())
        skip();
    for (size_t i = 0; i < ladder_family_count(); i++) {
        open_family(i);
        for (size_t s = 0; strcmp(family.backend, "cuda") == 0 && s < family.step_count; s++) {
            const ladder_step *step = &family.steps[s];
            if (strcmp(step->rule, "library") == 0 || (s > 0 && strcmp(step->file, family.steps[s - 1].file) == 0))
                continue;
            for (size_t a = 0; a < sizeof architectures / sizeof *architectures; a++)
                for (size_t d = 0; d < family.dtype_count; d++)
                    for (size_t o = 0; o < family.op_count; o++)
                        compile(step, family.dtypes[d], family.ops[o], architectures[a]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_source_has_its_remarks),
        cmocka_unit_test(remarks_end_where_the_next_begins),
        cmocka_unit_test(every_kernel_compiles_without_a_warning),
    };
    return cmocka_run_group_tests_name("the ladder's sources", tests, NULL, NULL);
}
