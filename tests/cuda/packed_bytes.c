/* What the build packs comes out as it was: bytes that repeat, that hardly do, and that do not; and no byte more is
 * written. */
#include "gpu/pack_bytes.h"
#include "../api/support.h"
#include "gpu/unpack_bytes.h"

enum { MOST = 100000, GUARD = 0xa5 };

static unsigned char bytes[MOST], again[MOST + 1];
static uint64_t state = 1;

static uint32_t random_below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % bound;
}

/* Returns the number of packed bytes. */
static size_t check(size_t count) {
    unsigned char *const packed = malloc(tally_pack_room(count));
    assert_non_null(packed);
    const size_t packed_count = tally_pack(bytes, count, packed);
    assert_true(packed_count <= tally_pack_room(count));
    memset(again, GUARD, sizeof again);
    tally_unpack(packed, count, again);
    assert_memory_equal(bytes, again, count);
    assert_int_equal(again[count], GUARD);
    free(packed);
    return packed_count;
}

static void few_bytes(void **unused) {
    (void)unused;
    for (size_t count = 0; count < 40; count++)
        for (uint32_t letters = 1; letters < 4; letters++) {
            for (size_t k = 0; k < count; k++)
                bytes[k] = (unsigned char)(255 * random_below(letters) / letters);
            check(count);
        }
}

static void random_bytes(void **unused) {
    (void)unused;
    for (uint32_t letters = 1; letters <= 256; letters *= 4) {
        for (size_t k = 0; k < MOST; k++)
            bytes[k] = (unsigned char)random_below(letters);
        check(MOST);
    }
}

/* Stretches from before, of all lengths up to some thousand, with a byte changed here and there. */
static void repetitions_with_changes(void **unused) {
    (void)unused;
    for (size_t k = 0; k < MOST;) {
        const size_t from = k ? random_below((uint32_t)k) : 0;
        const uint32_t length = 1 + random_below(1u << random_below(13));
        for (uint32_t j = 0; j < length && k < MOST; j++, k++)
            bytes[k] = k && random_below(50) ? bytes[from + j] : (unsigned char)random_below(256);
    }
    assert_true(check(MOST) < MOST / 4);
}

/* Counts as Fibonacci's numbers make the longest codes: Huffman's would have more bits than the format allows. */
static void rare_symbols(void **unused) {
    (void)unused;
    size_t count = 0;
    for (size_t this = 1, next = 1, letter = 0; count + this <= MOST; letter++) {
        for (size_t k = 0; k < this; k++)
            bytes[count++] = (unsigned char)letter;
        next += this;
        this = next - this;
    }
    for (size_t k = count - 1; k > 0; k--) {
        const size_t other = random_below((uint32_t)k + 1);
        const unsigned char byte = bytes[k];
        bytes[k] = bytes[other];
        bytes[other] = byte;
    }
    check(count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_bytes),
        cmocka_unit_test(random_bytes),
        cmocka_unit_test(repetitions_with_changes),
        cmocka_unit_test(rare_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
