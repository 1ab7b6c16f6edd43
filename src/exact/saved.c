/* Writing and reading the saved form. It has the value as a sign and the digits between the lowest and the highest that
 * are not zero, so it does not show how the sum was split. Reading checks all that writing guarantees.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "exact/saved.h"

#include <inttypes.h>
#include <string.h>

#include "core/dtype.h"
#include "core/operator.h"
#include "core/status.h"

static const uint8_t magic[8] = {'T', 'A', 'L', 'L', 'Y', 'A', 'C', 'C'};

/* The positions of the fields; docs/accumulator-format.md has the same table. */
enum {
    AT_VERSION = 8,
    AT_OP = 10,
    AT_TYPE = 11,
    AT_FLAGS = 12,
    AT_COUNT = 16,
    AT_POSITIVE_INFINITIES = 24,
    AT_NEGATIVE_INFINITIES = 32,
    AT_NANS = 40,
    AT_LOWEST_DIGIT = 48,
    AT_DIGIT_COUNT = 52,
    AT_DIGITS = 56,
    CHECKSUM_BYTES = 4
};

enum { FLAG_NEGATIVE = 1, FLAG_OTHERS = 2 };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static void put(uint8_t *bytes, uint64_t value, int width) {
    for (int i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *bytes, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* CRC-32C (Castagnoli), bit by bit, since a state has a few hundred bytes and is saved once. */
static uint32_t checksum(const uint8_t *bytes, size_t size) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
    }
    return ~crc;
}

size_t tally_saved_write(const tally_superaccumulator *accumulator, tally_op op, tally_dtype in, uint8_t *bytes) {
    tally_magnitude magnitude;
    tally_superaccumulator_magnitude(accumulator, &magnitude);
    memset(bytes, 0, AT_DIGITS);
    memcpy(bytes, magic, sizeof magic);
    put(bytes + AT_VERSION, TALLY_SAVED_VERSION, 2);
    bytes[AT_OP] = tally_operator_of(op)->saved_code;
    bytes[AT_TYPE] = tally_dtypes[in].saved_code;
    bytes[AT_FLAGS] =
        (uint8_t)((magnitude.negative ? FLAG_NEGATIVE : 0) | (accumulator->others != 0 ? FLAG_OTHERS : 0));
    put(bytes + AT_COUNT, accumulator->count, 8);
    put(bytes + AT_POSITIVE_INFINITIES, accumulator->positive_infinities, 8);
    put(bytes + AT_NEGATIVE_INFINITIES, accumulator->negative_infinities, 8);
    put(bytes + AT_NANS, accumulator->nans, 8);
    const int32_t lowest = magnitude.count > 0 ? (magnitude.exponent - accumulator->lowest) / 32 : 0;
    put(bytes + AT_LOWEST_DIGIT, (uint64_t)lowest, 4);
    put(bytes + AT_DIGIT_COUNT, (uint64_t)magnitude.count, 4);
    for (int32_t i = 0; i < magnitude.count; i++)
        put(bytes + AT_DIGITS + 4 * i, magnitude.digits[i], 4);
    const size_t size = AT_DIGITS + 4 * (size_t)magnitude.count;
    put(bytes + size, checksum(bytes, size), CHECKSUM_BYTES);
    return size + CHECKSUM_BYTES;
}

static tally_status bad(const char *what) {
    return tally_fail(TALLY_BAD_STATE, "saved accumulator: %s", what);
}

/* Checks size, checksum and the fields that say what the state is. */
static tally_status read_header(const uint8_t *bytes, size_t size, tally_op *op, tally_dtype *in) {
    if (size < AT_DIGITS + CHECKSUM_BYTES)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: %zu bytes are too few", size);
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return bad("does not begin as one");
    const unsigned version = (unsigned)get(bytes + AT_VERSION, 2);
    if (version != TALLY_SAVED_VERSION)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: version %u, this library reads version %d", version,
                          TALLY_SAVED_VERSION);
    const uint64_t digits = get(bytes + AT_DIGIT_COUNT, 4);
    if (digits > TALLY_LIMBS_MAX || size != AT_DIGITS + 4 * digits + CHECKSUM_BYTES)
        return tally_fail(TALLY_BAD_STATE, "saved accumulator: %zu bytes do not agree with %" PRIu64 " digits", size,
                          digits);
    if (get(bytes + size - CHECKSUM_BYTES, CHECKSUM_BYTES) != checksum(bytes, size - CHECKSUM_BYTES))
        return bad("the checksum is wrong, bytes were damaged");
    bool known_op = false, known_type = false;
    for (int known = 0; known < TALLY_USER; known++)
        if (bytes[AT_OP] && tally_operator_of((tally_op)known)->saved_code == bytes[AT_OP]) {
            *op = (tally_op)known;
            known_op = true;
        }
    for (int type = 1; type < TALLY_DTYPE_COUNT; type++)
        if (bytes[AT_TYPE] && tally_dtypes[type].saved_code == bytes[AT_TYPE]) {
            *in = (tally_dtype)type;
            known_type = true;
        }
    if (!known_op || !known_type)
        return bad("unknown operator or type");
    if ((bytes[AT_FLAGS] & ~(FLAG_NEGATIVE | FLAG_OTHERS)) != 0 || get(bytes + AT_FLAGS + 1, 3) != 0)
        return bad("unknown flags");
    return TALLY_OK;
}

static int length_of(uint64_t x) {
    return x != 0 ? 64 - tally_leading_zeros(x) : 0;
}

/* Whether bits are set below that of 2^0; the lowest digit is not zero. */
static bool has_fraction(const tally_superaccumulator *a, const tally_magnitude *m, int32_t lowest) {
    const int32_t place = -a->lowest - 32 * lowest;
    return place >= 32 || (place > 0 && (m->digits[0] & ((UINT32_C(1) << place) - 1)) != 0);
}

/* Refuses counts that no input can give, and numbers that are not canonical or larger than that many summands can make.
 */
static const char *find_contradiction(const tally_superaccumulator *a, const tally_magnitude *m, uint32_t lowest,
                                      tally_op op, tally_dtype in) {
    const bool is_float = tally_dtype_is_float(in);
    if (m->count > 0 && (m->digits[0] == 0 || m->digits[m->count - 1] == 0))
        return "digits of zero at an end";
    if (m->count == 0 && (m->negative || lowest != 0))
        return "zero with a sign or a place";
    if (lowest > (uint32_t)a->limb_count || (int32_t)lowest + m->count > a->limb_count)
        return "digits out of range";
    uint64_t finite = a->count;
    const uint64_t specials[] = {a->nans, a->positive_infinities, a->negative_infinities};
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        if (specials[i] > finite)
            return "more specials than elements";
        finite -= specials[i];
    }
    const bool nothing_but_zeros = finite == a->count && m->count == 0;
    if (a->others == 0 ? !nothing_but_zeros : a->count == 0)
        return "the flags and the counts disagree";
    if (!is_float && tally_monoid_of_integers(tally_operator_of(op), in) == TALLY_MONOID_user)
        return "an operator that has no states of integers";
    if (!is_float && (finite != a->count || (a->count > 0 && a->others == 0)))
        return "integers that are none";
    if (m->count > 0) {
        const int bits = (int)(8 * tally_dtype_size(in)) << tally_exact_has_products(op);
        const int highest = is_float ? tally_layout_highest(a->layout) : bits;
        const int length = 32 * ((int32_t)lowest + m->count - 1) + length_of(m->digits[m->count - 1]);
        if (length > highest - a->lowest + length_of(finite) || finite == 0)
            return "larger than its elements can sum to";
        if (!is_float && has_fraction(a, m, (int32_t)lowest))
            return "integers with a fraction";
    }
    return NULL;
}

tally_status tally_saved_read(const uint8_t *bytes, size_t size, tally_superaccumulator *accumulator, tally_op *op,
                              tally_dtype *in) {
    tally_superaccumulator read;
    tally_magnitude magnitude;
    tally_op read_op = TALLY_SUM;
    tally_dtype read_in = TALLY_F64;
    const tally_status status = read_header(bytes, size, &read_op, &read_in);
    if (status != TALLY_OK)
        return status;
    tally_superaccumulator_init(&read, tally_exact_layout_of(read_in, tally_exact_has_products(read_op)));
    magnitude.negative = (bytes[AT_FLAGS] & FLAG_NEGATIVE) != 0;
    magnitude.count = (int32_t)get(bytes + AT_DIGIT_COUNT, 4);
    for (int32_t i = 0; i < magnitude.count; i++)
        magnitude.digits[i] = (uint32_t)get(bytes + AT_DIGITS + 4 * i, 4);
    read.count = get(bytes + AT_COUNT, 8);
    read.positive_infinities = get(bytes + AT_POSITIVE_INFINITIES, 8);
    read.negative_infinities = get(bytes + AT_NEGATIVE_INFINITIES, 8);
    read.nans = get(bytes + AT_NANS, 8);
    read.others = (bytes[AT_FLAGS] & FLAG_OTHERS) != 0;
    const uint32_t lowest = (uint32_t)get(bytes + AT_LOWEST_DIGIT, 4);
    const char *contradiction = find_contradiction(&read, &magnitude, lowest, read_op, read_in);
    if (contradiction)
        return bad(contradiction);
    for (int32_t i = 0; i < magnitude.count; i++) {
        const int64_t digit = magnitude.digits[i];
        read.limbs[(int32_t)lowest + i] = magnitude.negative ? -digit : digit;
    }
    if (magnitude.count > 0) {
        read.first = (int32_t)lowest;
        read.end = (int32_t)lowest + magnitude.count;
        read.pending = 1;
    }
    *accumulator = read;
    *op = read_op;
    *in = read_in;
    return TALLY_OK;
}
