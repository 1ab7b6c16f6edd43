/* fuzz_text.c: fuzz target of the text and CSV parser. The first byte chooses the options; the rest is the file. What a
 * survey accepts must then be readable with the type that it found, with as many numbers, and every number must
 * survive being printed and read again.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "memory_source.h"
#include "number.h"
#include "text.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static text_options options_from(uint8_t byte) {
    static const char *const columns[] = {NULL, "1", "2", "a"};
    static const char delimiters[] = {0, ',', '\t', ' '};
    return (text_options){columns[byte & 3], delimiters[byte >> 2 & 3], (byte & 128) != 0 ? '#' : 0,
                          (text_header)((byte >> 4) % 3)};
}

static void check_round_trip(tally_dtype dtype, const void *elements, size_t n) {
    const size_t size = tally_dtype_size(dtype);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const element = (const unsigned char *)elements + i * size;
        char text[NUMBER_FORMAT_MAX];
        unsigned char again[8];
        const size_t length = number_format(text, dtype, element);
        require(length < NUMBER_FORMAT_MAX && strlen(text) == length);
        require(number_parse(text, length, dtype, again) == NUMBER_OK);
        require(strcmp(text, "nan") == 0 || memcmp(again, element, size) == 0);
    }
}

/* Reads everything as one type; returns the count, or UINT64_MAX after a fault. */
static uint64_t read_all(const uint8_t *data, size_t size, const text_options *options, tally_dtype dtype) {
    memory_source memory = {data, size, 0};
    const source from = {read_memory, &memory, "fuzz"};
    unsigned char elements[64 * 8];
    uint64_t count = 0;
    size_t got = 64;
    text_reader *reader = NULL;
    fault f = {{0}};
    require(text_open(&from, options, &reader, &f) == 0);
    while (got == 64) {
        if (text_read(reader, dtype, elements, 64, &got, &f) != 0) {
            require(f.text[0] != 0);
            count = UINT64_MAX;
            break;
        }
        check_round_trip(dtype, elements, got);
        count += got;
    }
    text_close(reader);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const text_options options = options_from(data[0]);
    memory_source memory = {data + 1, size - 1, 0};
    const source from = {read_memory, &memory, "fuzz"};
    text_reader *reader = NULL;
    tally_dtype dtype = TALLY_DEFAULT;
    uint64_t count = 0;
    fault f = {{0}};
    require(text_open(&from, &options, &reader, &f) == 0);
    const int code = text_survey(reader, &dtype, &count, &f);
    text_close(reader);
    require(code == 0 || f.text[0] != 0);
    const uint64_t read = read_all(data + 1, size - 1, &options, code == 0 ? dtype : TALLY_F64);
    require(code != 0 || read == count);
    read_all(data + 1, size - 1, &options, TALLY_I8);
    read_all(data + 1, size - 1, &options, TALLY_F16);
    read_all(data + 1, size - 1, &options, TALLY_BF16);
    read_all(data + 1, size - 1, &options, TALLY_F32);
    return 0;
}
