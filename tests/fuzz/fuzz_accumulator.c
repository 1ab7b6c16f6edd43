/* Fuzzes the loader of saved accumulators. A state that it accepts must save as the same bytes, round to every type,
 * and merge with itself. An input that it refuses must leave the output alone. Each input is tried as it is and with a
 * corrected checksum, which lets mutations past the checksum.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tally/tally.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition)
        abort();
}

static uint32_t crc32c(const uint8_t *bytes, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78) : crc >> 1;
    }
    return ~crc;
}

static void use(tally_accumulator *loaded, const uint8_t *bytes, size_t size) {
    static const tally_dtype types[] = {TALLY_DEFAULT, TALLY_F16, TALLY_BF16, TALLY_F32, TALLY_F64};
    uint8_t saved[TALLY_ACCUMULATOR_MAX_BYTES];
    size_t saved_size = 0;
    require(tally_accumulator_save(loaded, saved, sizeof saved, &saved_size) == TALLY_OK);
    require(saved_size == size && memcmp(saved, bytes, size) == 0);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        double value;
        require(tally_accumulator_value(loaded, types[t], &value) == TALLY_OK);
    }
    if (tally_accumulator_count(loaded) <= UINT64_MAX / 2) {
        tally_accumulator *again = NULL;
        require(tally_accumulator_merge(loaded, loaded) == TALLY_OK);
        require(tally_accumulator_save(loaded, saved, sizeof saved, &saved_size) == TALLY_OK);
        require(tally_accumulator_load(saved, saved_size, &again) == TALLY_OK);
        tally_accumulator_destroy(again);
    }
}

static void load(const uint8_t *bytes, size_t size) {
    tally_accumulator *loaded = NULL;
    const tally_status status = tally_accumulator_load(bytes, size, &loaded);
    if (status == TALLY_OK) {
        use(loaded, bytes, size);
        tally_accumulator_destroy(loaded);
    } else {
        require(status == TALLY_BAD_STATE && !loaded && tally_last_error()[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t bytes[TALLY_ACCUMULATOR_MAX_BYTES];
    if (size > sizeof bytes)
        size = sizeof bytes;
    if (size > 0)
        memcpy(bytes, data, size);
    load(bytes, size);
    if (size > 4) {
        const uint32_t crc = crc32c(bytes, size - 4);
        for (size_t i = 0; i < 4; i++)
            bytes[size - 4 + i] = (uint8_t)(crc >> (8 * i));
        load(bytes, size);
    }
    return 0;
}
