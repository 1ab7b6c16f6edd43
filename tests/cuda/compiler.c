/* The machine's own NVRTC compiles a kernel, and its messages about a bad text reach tally_last_error. Skipped without
 * NVRTC. */
#include "support.h"

#include "cuda/compiler.h"

static const char doubled[] = "extern \"C\" __global__ void doubled(float *x) { x[threadIdx.x] *= FACTOR; }\n";

static void a_kernel_becomes_machine_code(void **state) {
    (void)state;
    static const char *const options[] = {"-DFACTOR=2", "--std=c++17"};
    tally_image image = {0};
    assert_ok(tally_cuda_compile(doubled, "doubled.cu", options, 2, 90, &image, NULL));
    assert_true(image.size > 100);
    assert_memory_equal(image.bytes, "\177ELF", 4);
    tally_image_free(&image);
}

static void a_newer_gpu_gets_ptx(void **state) {
    (void)state;
    static const char *const options[] = {"-DFACTOR=2"};
    tally_image image = {0};
    char *log = NULL;
    assert_ok(tally_cuda_compile(doubled, "doubled.cu", options, 1, 999, &image, &log));
    assert_non_null(strstr(image.bytes, ".target"));
    assert_int_equal(((char *)image.bytes)[image.size - 1], 0);
    tally_image_free(&image);
    free(log);
}

static void an_older_gpu_is_refused(void **state) {
    (void)state;
    tally_image image = {0};
    assert_fails(tally_cuda_compile(doubled, "doubled.cu", NULL, 0, 20, &image, NULL), TALLY_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "2.0"));
    assert_null(image.bytes);
}

static void the_compilers_words_arrive(void **state) {
    (void)state;
    tally_image image = {0};
    char *log = NULL;
    assert_fails(tally_cuda_compile(doubled, "doubled.cu", NULL, 0, 90, &image, &log), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "doubled.cu(1)"));
    assert_non_null(strstr(tally_last_error(), "FACTOR"));
    assert_non_null(strstr(log, "FACTOR"));
    assert_null(image.bytes);
    free(log);
    static const char *const options[] = {"--no-such-option"};
    assert_fails(tally_cuda_compile("", "empty.cu", options, 1, 90, &image, NULL), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "no-such-option"));
}

static void of_many_errors_the_first_are_kept(void **state) {
    (void)state;
    char *source = calloc(1, 100000), *end = source;
    tally_image image = {0};
    for (int k = 0; k < 1000; k++)
        end += sprintf(end, "__device__ int x%d = unknown_%d;\n", k, k);
    assert_fails(tally_cuda_compile(source, "long.cu", NULL, 0, 90, &image, NULL), TALLY_INVALID_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "unknown_0"));
    assert_non_null(strstr(tally_last_error(), "unknown_50"));
    free(source);
}

int main(void) {
    int version;
    unsetenv("TALLY_NVRTC");
    if (tally_cuda_compiler_version(&version) != TALLY_OK) {
        printf("skipped: %s\n", tally_last_error());
        return 77;
    }
    printf("NVRTC %d.%d\n", version / 1000, version % 1000 / 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_becomes_machine_code),     cmocka_unit_test(a_newer_gpu_gets_ptx),
        cmocka_unit_test(an_older_gpu_is_refused),           cmocka_unit_test(the_compilers_words_arrive),
        cmocka_unit_test(of_many_errors_the_first_are_kept),
    };
    return cmocka_run_group_tests_name("NVRTC", tests, NULL, NULL);
}
