/* 64-bit numbers as pairs of 32 bits (kernels/wide.comp) compute as the host does: carries, both halves of products,
 * shifts by a word and more, and divisions that no test could reach with an array. */
#include "../api/support.h"
#include "vulkan/kernel.h"

enum { RESULTS = 15, BLOCK = 64 };

static const uint32_t words[] =
#include "wide.inc"
    ;

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   10007,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x100000001,
                                   0x123456789abcdef,
                                   0x1ffffffff,
                                   0xffffffff00000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xfedcba9876543210,
                                   0xfffffffffffffffe,
                                   0xffffffffffffffff};
enum { COUNT = sizeof numbers / sizeof *numbers };

static int top_bit(uint64_t x) {
    int top = -1;
    for (; x; x >>= 1)
        top++;
    return top;
}

static void expect(uint64_t a, uint64_t b, uint64_t result[RESULTS]) {
    const uint32_t low = (uint32_t)b, shift = low % 65;
    const uint64_t limited = a < low ? a : low;
    result[0] = a + b;
    result[1] = a + low;
    result[2] = a - b;
    result[3] = a - low;
    result[4] = a * b;
    result[5] = a * low;
    result[6] = (uint64_t)(uint32_t)a * low;
    result[7] = a < b ? a : b;
    result[8] = a < b ? b : a;
    result[9] = limited | (uint64_t)(a < b) << 32 | (uint64_t)(a < low) << 33;
    result[10] = shift < 64 ? a << shift : 0;
    result[11] = shift < 64 ? a >> shift : 0;
    result[12] = b ? a / b : 0;
    result[13] = b ? a % b : 0;
    result[14] = (uint64_t)(int64_t)(int32_t)a + (uint32_t)top_bit(b);
}

static void pairs_of_words_are_the_hosts_numbers(void **state) {
    tally_device *const device = *state;
    const size_t bytes = sizeof(uint64_t) * COUNT * COUNT * RESULTS;
    uint64_t *const made = malloc(bytes), expected[RESULTS];
    struct {
        uint64_t given, made;
        uint32_t count;
    } arguments = {.count = COUNT};
    void *memory;
    tally_vulkan_program *program;
    tally_vulkan_recording *recording;
    double seconds;
    assert_non_null(made);
    assert_ok(tally_alloc(device, sizeof numbers + bytes, &memory));
    assert_ok(tally_copy(device, memory, numbers, sizeof numbers));
    arguments.given = (uintptr_t)memory;
    arguments.made = arguments.given + sizeof numbers;
    assert_ok(tally_vulkan_program_make(device, words, sizeof words, BLOCK, &program));
    assert_ok(tally_vulkan_recording_create(device, &recording));
    assert_ok(tally_vulkan_recording_begin(recording));
    assert_ok(tally_vulkan_recording_dispatch(recording, program, &arguments, sizeof arguments,
                                              (COUNT * COUNT + BLOCK - 1) / BLOCK));
    assert_ok(tally_vulkan_recording_run(recording, &seconds));
    assert_ok(tally_copy(device, made, (char *)memory + sizeof numbers, bytes));
    for (size_t pair = 0; pair < COUNT * COUNT; pair++) {
        const uint64_t a = numbers[pair / COUNT], b = numbers[pair % COUNT];
        expect(a, b, expected);
        for (size_t k = 0; k < RESULTS; k++)
            if (made[pair * RESULTS + k] != expected[k])
                fail_msg("result %zu of %llx and %llx is %llx and not %llx", k, (unsigned long long)a,
                         (unsigned long long)b, (unsigned long long)made[pair * RESULTS + k],
                         (unsigned long long)expected[k]);
    }
    tally_vulkan_recording_destroy(recording);
    tally_vulkan_program_destroy(program);
    tally_free(device, memory);
    free(made);
}

int main(void) {
    tally_device *device;
    if (tally_open("vulkan:0", &device) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(pairs_of_words_are_the_hosts_numbers, device)};
    const int failed = cmocka_run_group_tests_name("wide numbers on Vulkan", tests, NULL, NULL);
    tally_close(device);
    return failed;
}
