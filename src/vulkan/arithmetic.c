#include "vulkan/arithmetic.h"

const char *const tally_vulkan_arithmetic_names[] = {
    "i32",  "u32",     "i64",     "u64",      "u64d",     "f32",    "f32w",   "f64",      "f64r",
    "bits", "exact32", "exact64", "exact32f", "exact64f", "scan32", "scan64", "window32", "window64"};

const tally_vulkan_value tally_vulkan_values[TALLY_VULKAN_ARITHMETIC_COUNT] = {
    [TALLY_VULKAN_i32] = {"int", "KIND_I32", 4},         [TALLY_VULKAN_u32] = {"uint", "KIND_U32", 4},
    [TALLY_VULKAN_i64] = {"int64_t", "KIND_I64", 8},     [TALLY_VULKAN_u64] = {"uint64_t", "KIND_U64", 8},
    [TALLY_VULKAN_u64d] = {"uint64_t", "KIND_U64", 8},   [TALLY_VULKAN_f32] = {"float", "KIND_F32", 4},
    [TALLY_VULKAN_f32w] = {"float", "KIND_F32", 4},      [TALLY_VULKAN_f64] = {"double", "KIND_F64", 8},
    [TALLY_VULKAN_f64r] = {"double", "KIND_F64", 8},     [TALLY_VULKAN_bits] = {"uvec2", "KIND_BITS", 8},
    [TALLY_VULKAN_exact32] = {"uvec2", "KIND_BITS", 8},  [TALLY_VULKAN_exact64] = {"uvec2", "KIND_BITS", 8},
    [TALLY_VULKAN_exact32f] = {"uvec2", "KIND_BITS", 8}, [TALLY_VULKAN_exact64f] = {"uvec2", "KIND_BITS", 8},
    [TALLY_VULKAN_scan32] = {"uvec2", "KIND_BITS", 8},   [TALLY_VULKAN_scan64] = {"uvec2", "KIND_BITS", 8},
    [TALLY_VULKAN_window32] = {"uvec2", "KIND_BITS", 8}, [TALLY_VULKAN_window64] = {"uvec2", "KIND_BITS", 8},
};

const char *tally_vulkan_digit_of(const tally_monoid_text *m, int k) {
    static const char *const digits[TALLY_MOST_COMPONENTS] = {"0", "1", "2", "3", "4", "5"};
    return m->components == 1 ? "" : digits[k];
}

bool tally_vulkan_chooses(tally_monoid monoid) {
    return monoid == TALLY_MONOID_min || monoid == TALLY_MONOID_max || monoid == TALLY_MONOID_argmin ||
           monoid == TALLY_MONOID_argmax;
}

bool tally_vulkan_has_running(tally_monoid monoid) {
    return tally_monoid_texts[monoid].kind == TALLY_CLASS_FLOATS;
}

bool tally_vulkan_has_few(tally_monoid monoid) {
    return monoid != TALLY_MONOID_user && monoid != TALLY_MONOID_dot &&
           tally_monoid_texts[monoid].kind != TALLY_CLASS_INTEGERS && tally_monoid_texts[monoid].components <= 4;
}

bool tally_vulkan_is_ordered(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    return (arithmetic == TALLY_VULKAN_f32 || arithmetic == TALLY_VULKAN_f64) && tally_vulkan_chooses(monoid);
}

const char *tally_vulkan_value_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    if (tally_vulkan_is_ordered(monoid, arithmetic))
        return arithmetic == TALLY_VULKAN_f32 ? "int" : "int64_t";
    return tally_vulkan_values[arithmetic].value;
}

tally_vulkan_components tally_vulkan_components_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const tally_monoid_text *m = &tally_monoid_texts[monoid];
    tally_vulkan_components t = {{NULL}, {0}};
    for (int k = 0; k < m->components; k++) {
        t.type[k] = tally_vulkan_value_of(monoid, arithmetic);
        t.bytes[k] = tally_vulkan_values[arithmetic].bytes;
    }
    if (arithmetic == TALLY_VULKAN_f32w) {
        t.type[0] = "double";
        t.bytes[0] = 8;
    }
    if (m->kind == TALLY_CLASS_INDEXED) {
        t.type[1] = "wide";
        t.bytes[1] = 8;
    }
    if (m->kind == TALLY_CLASS_COUNT)
        t.type[0] = "uint64_t";
    return t;
}

tally_vulkan_slot tally_vulkan_slot_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    const tally_vulkan_components t = tally_vulkan_components_of(monoid, arithmetic);
    tally_vulkan_slot slot = {0, 4};
    for (int k = 0; k < tally_monoid_texts[monoid].components; k++) {
        const unsigned bytes = t.bytes[k] == 8 ? 8 : 4;
        slot.bytes = (slot.bytes + bytes - 1) / bytes * bytes + bytes;
        slot.alignment = bytes > slot.alignment ? bytes : slot.alignment;
    }
    slot.bytes = (slot.bytes + slot.alignment - 1) / slot.alignment * slot.alignment;
    return slot;
}

/* Shared memory holds as many, and one more a thread: with all else 16 KB, which every device has, are enough. */
unsigned tally_vulkan_tile_slots(tally_vulkan_slot slot) {
    return slot.bytes > 16 ? 1 : slot.bytes > 8 ? 2 : 4;
}

unsigned tally_vulkan_tile_vectors(tally_vulkan_slot slot, unsigned in_bytes) {
    const unsigned slots = tally_vulkan_tile_slots(slot);
    return slots < in_bytes ? slots : in_bytes;
}

/* On an H200, for 2^28 f32: 4 take 578 us, 6 562, 7 631, 8 607; for 2^27 f64: 4 take 609, 6 725. */
unsigned tally_vulkan_once_vectors(tally_vulkan_slot slot) {
    return slot.bytes > 4 ? 4 : 6;
}

tally_vulkan_part tally_vulkan_part_of(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    tally_vulkan_part part = {TALLY_VULKAN_ACCUMULATORS, tally_vulkan_slot_of(monoid, arithmetic).bytes,
                              tally_vulkan_has_running(monoid)};
    if (tally_monoid_texts[monoid].kind == TALLY_CLASS_INDEXED) {
        part.kind = TALLY_VULKAN_PLACES;
        part.bytes = 2 * tally_vulkan_values[arithmetic].bytes;
    } else if (tally_monoid_texts[monoid].kind == TALLY_CLASS_COUNT) {
        part.kind = TALLY_VULKAN_COUNTS;
        part.bytes = (unsigned)sizeof(uint32_t);
    }
    return part;
}

/* Few enough for registers. */
unsigned tally_vulkan_most_items(tally_vulkan_part part) {
    return part.bytes > 16 ? 4 : part.is_long && part.bytes > 8 ? 8 : 16;
}

unsigned tally_vulkan_group_items(tally_vulkan_part part, unsigned in_bytes) {
    const unsigned most = tally_vulkan_most_items(part), items = in_bytes == 8 ? most / 2 : most,
                   vector = 16 / in_bytes;
    return items > vector ? items : vector;
}

unsigned tally_vulkan_staged_slots(tally_vulkan_part part) {
    return part.bytes > 16 ? 1 : part.bytes > 8 ? 2 : 4;
}

bool tally_vulkan_scans_once(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    return monoid != TALLY_MONOID_dot && monoid != TALLY_MONOID_user && tally_monoid_texts[monoid].components == 1 &&
           arithmetic != TALLY_VULKAN_f32w && arithmetic < TALLY_VULKAN_exact32;
}

unsigned tally_vulkan_moments_a_thread(unsigned in_bytes) {
    return in_bytes == 8 ? 4 : 8;
}

bool tally_vulkan_is_in_window(tally_vulkan_arithmetic arithmetic) {
    return arithmetic == TALLY_VULKAN_window32 || arithmetic == TALLY_VULKAN_window64;
}

unsigned tally_vulkan_window_words(tally_vulkan_arithmetic arithmetic) {
    return arithmetic == TALLY_VULKAN_window64 ? 4 : 3;
}

unsigned tally_vulkan_record_bytes(tally_vulkan_slot slot) {
    return (slot.bytes + 7) / 8 * 8 + 16;
}

bool tally_vulkan_has_double(tally_vulkan_arithmetic arithmetic) {
    return arithmetic == TALLY_VULKAN_u64d || arithmetic == TALLY_VULKAN_f32w || arithmetic == TALLY_VULKAN_f64 ||
           arithmetic == TALLY_VULKAN_f64r || arithmetic == TALLY_VULKAN_exact64f ||
           tally_vulkan_is_in_window(arithmetic);
}

bool tally_vulkan_has_int64(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    if (arithmetic == TALLY_VULKAN_exact64f || tally_vulkan_is_in_window(arithmetic) ||
        (arithmetic == TALLY_VULKAN_f64 && tally_vulkan_chooses(monoid)))
        return true;
    return monoid == TALLY_MONOID_nonzero || arithmetic == TALLY_VULKAN_i64 || arithmetic == TALLY_VULKAN_u64 ||
           arithmetic == TALLY_VULKAN_u64d;
}

/* Teams' words fill 12 KB at most, of 256 threads. */
static unsigned least_team(int32_t limbs) {
    return limbs <= 24 ? 4 : limbs <= 48 ? 8 : limbs <= 96 ? 16 : limbs <= 192 ? 32 : 64;
}

tally_vulkan_numbers tally_vulkan_numbers_of(tally_monoid monoid, tally_dtype in) {
    const tally_exact_layout of_sum = tally_exact_layout_of(in, false);
    const tally_exact_layout layout = tally_exact_layout_with(of_sum, monoid != TALLY_MONOID_sum);
    tally_vulkan_numbers n = {.sum_limbs = monoid == TALLY_MONOID_moments ? tally_layout_limbs(of_sum) : 0,
                              .sum_lowest = tally_layout_lowest(of_sum),
                              .limbs = tally_layout_limbs(layout),
                              .lowest = tally_layout_lowest(layout)};
    n.least_team = least_team(n.sum_limbs + n.limbs);
    return n;
}

tally_vulkan_scan_integer tally_vulkan_scan_integer_of(tally_vulkan_arithmetic arithmetic) {
    return arithmetic == TALLY_VULKAN_scan64 ? (tally_vulkan_scan_integer){70, TALLY_F64}
                                             : (tally_vulkan_scan_integer){13, TALLY_F32};
}

unsigned tally_vulkan_prefix_bytes(tally_vulkan_arithmetic arithmetic) {
    enum { HEADER = 4 };
    return (HEADER + tally_vulkan_scan_integer_of(arithmetic).words) * (unsigned)sizeof(uint32_t);
}

bool tally_vulkan_is_by_levels(tally_vulkan_arithmetic arithmetic) {
    return arithmetic == TALLY_VULKAN_exact32f || arithmetic == TALLY_VULKAN_exact64f;
}

bool tally_vulkan_relies_on_rounding(tally_vulkan_arithmetic arithmetic) {
    return tally_vulkan_is_by_levels(arithmetic) || tally_vulkan_is_in_window(arithmetic);
}
