/* Which lane is taken from where, in scans of rows side by side. */
#include "cpu/kernels/row_steps.h"

#include "cpu/kernels/paste.h"

#if defined(__AVX512BW__)
enum { MOST_LANES = 32 };

/* The quotient of a number up to some hundreds; 'reciprocal' is 65536 / divisor + 1. */
ALWAYS_INLINE uint32_t divided(uint32_t number, uint32_t reciprocal) {
    return number * reciprocal >> 16;
}

static const uint16_t word_numbers[MOST_LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static __m512i as_lanes(const uint16_t *numbers, size_t lanes) {
    const __m512i all = _mm512_loadu_si512(numbers);
    return lanes == MOST_LANES       ? all
           : lanes == MOST_LANES / 2 ? _mm512_cvtepu16_epi32(_mm512_castsi512_si256(all))
                                     : _mm512_cvtepu16_epi64(_mm512_castsi512_si128(all));
}

void FIND_STEPS(size_t lanes, size_t rows, size_t width, bool reverse, row_steps *steps) {
    const size_t plane = rows * width;
    steps->is_whole = plane <= lanes;
    const size_t at_once = steps->is_whole ? rows : lanes / width, period = at_once * width;
    steps->filled = steps->is_whole ? lanes / plane * plane : period;
    const uint32_t by_period = 65536 / (uint32_t)period + 1, by_width = 65536 / (uint32_t)width + 1;
    uint16_t row[MOST_LANES], last[MOST_LANES], from[MOST_LANES];
    const uint32_t end = (uint32_t)lanes - 1;
    for (uint32_t l = 0; l < MOST_LANES; l++) {
        const uint32_t number = (reverse ? end - l : l) & (MOST_LANES - 1);
        const uint32_t in_plane = number - divided(number, by_period) * (uint32_t)period;
        const uint32_t in_row = number - divided(number, by_width) * (uint32_t)width;
        const uint32_t lane = (uint32_t)((at_once - 1) * width) + in_row;
        row[l] = (uint16_t)divided(in_plane, by_width);
        last[l] = (uint16_t)(reverse ? end - lane : lane);
    }
    steps->last = as_lanes(last, lanes);
    steps->count = 0;
    for (size_t by = 1; by < at_once || by == 1; by *= 2) {
        const uint32_t apart = (uint32_t)(by * width);
        for (uint32_t l = 0; l < MOST_LANES; l++)
            from[l] = (uint16_t)((reverse ? l + apart : l - apart) & end);
        steps->from[steps->count] = as_lanes(from, lanes);
        steps->takes[steps->count++] = _mm512_cmpge_epu16_mask(_mm512_loadu_si512(row), _mm512_set1_epi16((short)by));
    }
}

/* Byte b takes byte from[b]. */
static byte_move move_of(const uint8_t *from) {
    const __m512i sources = _mm512_loadu_si512(from), low_byte = _mm512_set1_epi16(0xff);
    const __m512i none = _mm512_set1_epi16((short)0x8000),
                  in_lane = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14));
    const __m512i picks = _mm512_or_si512(in_lane, _mm512_and_si512(sources, _mm512_set1_epi8(1)));
    return (byte_move){.low = _mm512_srli_epi16(_mm512_and_si512(sources, low_byte), 1),
                       .high = _mm512_srli_epi16(sources, 9),
                       .pick_low = _mm512_or_si512(_mm512_and_si512(picks, low_byte), none),
                       .pick_high = _mm512_or_si512(_mm512_andnot_si512(low_byte, picks), _mm512_srli_epi16(none, 8))};
}

void FIND_BYTE_STEPS(size_t rows, size_t width, bool reverse, byte_steps *steps) {
    enum { BYTES = 64, END = BYTES - 1 };
    const size_t plane = rows * width;
    steps->is_whole = plane <= BYTES;
    const size_t at_once = steps->is_whole ? rows : BYTES / width, period = at_once * width;
    steps->filled = steps->is_whole ? BYTES / plane * plane : period;
    const uint32_t by_period = 65536 / (uint32_t)period + 1, by_width = 65536 / (uint32_t)width + 1;
    const uint32_t wide = (uint32_t)width, last_row = (uint32_t)((at_once - 1) * width);
    uint8_t row[BYTES], last[BYTES], first[BYTES];
    for (uint32_t b = 0; b < BYTES; b++) {
        const uint32_t number = reverse ? END - b : b;
        const uint32_t in_plane = number - divided(number, by_period) * (uint32_t)period;
        const uint32_t byte = last_row + number - divided(number, by_width) * wide;
        row[b] = (uint8_t)divided(in_plane, by_width);
        last[b] = (uint8_t)(reverse ? END - byte : byte);
        first[b] = (uint8_t)((reverse ? b + wide : b - wide) & END);
    }
    steps->first = move_of(first);
    steps->last = move_of(last);
    steps->count = 0;
    for (size_t by = 1; by < at_once || by == 1; by *= 2) {
        if (by > 1) {
            const __m512i apart = _mm512_set1_epi16((short)(by / 2 * width)),
                          words = as_lanes(word_numbers, MOST_LANES);
            steps->from[steps->count - 1] = reverse ? _mm512_add_epi16(words, apart) : _mm512_sub_epi16(words, apart);
        }
        steps->takes[steps->count++] = _mm512_cmpge_epu8_mask(_mm512_loadu_si512(row), _mm512_set1_epi8((char)by));
    }
}
#endif
