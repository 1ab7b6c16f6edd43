#include "cpu/kernels/instructions.h"

#include <math.h>

#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"
#include "cpu/kernels/simd.h"
#include "cpu/kernels/transposition.h"

#define LANES(tag) LANES_OF(s_##tag)

/* ---- vectors ---- */

#define DEFINE_LOAD_ANY(tag)                                                                                           \
    ALWAYS_INLINE v_##tag at_##tag(const void *from, size_t i) {                                                       \
        v_##tag v;                                                                                                     \
        memcpy(&v, (const s_##tag *)from + i, sizeof v);                                                               \
        return v;                                                                                                      \
    }
DEFINE_LOAD_ANY(i32)
DEFINE_LOAD_ANY(u32)
DEFINE_LOAD_ANY(i64)
DEFINE_LOAD_ANY(u64)
DEFINE_LOAD_ANY(f32)
DEFINE_LOAD_ANY(f64)

/* Half as many lanes as a vector of 32 bits has. */
typedef s_i32 half_i32 __attribute__((vector_size(VECTOR_BYTES / 2)));

ALWAYS_INLINE void store_mask_32(void *to, size_t i, v_i32 mask) {
    memcpy((s_i32 *)to + i, &mask, sizeof mask);
}
ALWAYS_INLINE void store_mask_64(void *to, size_t i, v_i64 mask) {
    const half_i32 narrow = __builtin_convertvector(mask, half_i32);
    memcpy((s_i32 *)to + i, &narrow, sizeof narrow);
}
ALWAYS_INLINE v_i32 mask_32(const void *from, size_t i) {
    return at_i32(from, i);
}
ALWAYS_INLINE v_i64 mask_64(const void *from, size_t i) {
    half_i32 narrow;
    memcpy(&narrow, (const s_i32 *)from + i, sizeof narrow);
    return __builtin_convertvector(narrow, v_i64);
}
#define BITS_OF_u32 32
#define BITS_OF_i32 32
#define BITS_OF_f32 32
#define BITS_OF_u64 64
#define BITS_OF_i64 64
#define BITS_OF_f64 64

#define OPERANDS_1(at)                                                                                                 \
    const __typeof__(at(a, i)) A = at(a, i);                                                                           \
    (void)b, (void)c;
#define OPERANDS_2(at)                                                                                                 \
    const __typeof__(at(a, i)) A = at(a, i), B = at(b, i);                                                             \
    (void)c;
#define OPERANDS_3(at) const __typeof__(at(a, i)) A = at(a, i), B = at(b, i), C = at(c, i);

#define FUNCTION(name) static void name(void *to, const void *a, const void *b, const void *c, size_t n)

#define VECTOR(name, operands, tag, expression)                                                                        \
    FUNCTION(do_##name) {                                                                                              \
        for (size_t i = 0; i < n; i += LANES(tag)) {                                                                   \
            OPERANDS_##operands(at_##tag);                                                                             \
            const v_##tag result = expression;                                                                         \
            memcpy((s_##tag *)to + i, &result, sizeof result);                                                         \
        }                                                                                                              \
    }
/* One lane of an array. The compiler may make vectors of the loop, since 'to' is an operand or apart from it. */
#define ELEMENT_AT(tag, from) (((const e_##tag *)(from))[i])
#define AT_i32(from, i)       ELEMENT_AT(i32, from)
#define AT_u32(from, i)       ELEMENT_AT(u32, from)
#define AT_i64(from, i)       ELEMENT_AT(i64, from)
#define AT_u64(from, i)       ELEMENT_AT(u64, from)
#define AT_f32(from, i)       ELEMENT_AT(f32, from)
#define AT_f64(from, i)       ELEMENT_AT(f64, from)
#if defined(__clang__)
#define LANES_APART _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* divisions and calls stay loops */
#else
#define LANES_APART _Pragma("GCC ivdep")
#endif
#define SCALAR(name, operands, tag, expression)                                                                        \
    FUNCTION(do_##name) {                                                                                              \
        LANES_APART for (size_t i = 0; i < n; i++) {                                                                   \
            OPERANDS_##operands(AT_##tag);                                                                             \
            ((e_##tag *)to)[i] = expression;                                                                           \
        }                                                                                                              \
    }
#define COMPARE(name, operands, tag, expression)                                                                       \
    FUNCTION(do_##name) {                                                                                              \
        for (size_t i = 0; i < n; i += LANES(tag)) {                                                                   \
            OPERANDS_##operands(at_##tag);                                                                             \
            PASTE2(store_mask_, PASTE2(BITS_OF_, tag))(to, i, expression);                                             \
        }                                                                                                              \
    }
#define SELECT(name, tag)                                                                                              \
    FUNCTION(do_##name) {                                                                                              \
        for (size_t i = 0; i < n; i += LANES(tag)) {                                                                   \
            const v_##tag yes = at_##tag(b, i), no = at_##tag(c, i);                                                   \
            const v_##tag result = SELECT_LANES(tag, (PASTE2(mask_, PASTE2(BITS_OF_, tag))(a, i)), yes, no);           \
            memcpy((s_##tag *)to + i, &result, sizeof result);                                                         \
        }                                                                                                              \
    }
#define CONVERT(target, source)                                                                                        \
    FUNCTION(do_##target##_from_##source) {                                                                            \
        (void)b, (void)c;                                                                                              \
        LANES_APART for (size_t i = 0; i < n; i++)((e_##target *)to)[i] = (s_##target)((const e_##source *)a)[i];      \
    }
#include "cpu/kernels/instructions.def"

static tally_instruction *const all[TALLY_INSTRUCTIONS] = {
#define VECTOR(name, operands, tag, expression)  do_##name,
#define SCALAR(name, operands, tag, expression)  do_##name,
#define COMPARE(name, operands, tag, expression) do_##name,
#define SELECT(name, tag)                        do_##name,
#define CONVERT(to, from)                        do_##to##_from_##from,
#include "cpu/kernels/instructions.def"
};

/* ---- helpers ---- */

static bool none(const int32_t *masks, size_t n) {
    int32_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= masks[i];
    return !any;
}

static void number(uint64_t first, uint64_t step, size_t n, uint64_t *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = first + i * step;
}

static void gather(const void *structs, size_t stride, size_t bytes, size_t n, void *to) {
    const char *from = structs;
    if (bytes == 4)
        for (size_t i = 0; i < n; i++)
            memcpy((uint32_t *)to + i, from + i * stride, 4);
    else
        for (size_t i = 0; i < n; i++)
            memcpy((uint64_t *)to + i, from + i * stride, 8);
}

static void scatter(const void *from, size_t bytes, size_t n, void *structs, size_t stride) {
    char *to = structs;
    if (bytes == 4)
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * stride, (const uint32_t *)from + i, 4);
    else
        for (size_t i = 0; i < n; i++)
            memcpy(to + i * stride, (const uint64_t *)from + i, 8);
}

extern const tally_cpu_instructions PASTE4(tally_cpu_instructions, _, TALLY_LEVEL, );
const tally_cpu_instructions PASTE4(tally_cpu_instructions, _,
                                    TALLY_LEVEL, ) = {all, none, number, gather, scatter, transpose, VECTOR_BYTES};
