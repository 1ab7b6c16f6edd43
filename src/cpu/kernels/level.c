/* Collects the kernels of one instruction-set level. */
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/paste.h"

#define TALLY_DTYPE(ENUMERATOR, tag, ...) extern const tally_cpu_type PASTE4(tally_cpu_type_, tag, _, TALLY_LEVEL);
#include "core/dtypes.def"

extern const tally_cpu_forms PASTE4(tally_cpu_forms, _, TALLY_LEVEL, )[TALLY_USER];

extern const tally_cpu_heads PASTE4(tally_cpu_heads, _, TALLY_LEVEL, )[4];

extern const tally_cpu_pairs PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern const tally_cpu_upright PASTE4(tally_cpu_upright, _, TALLY_LEVEL, );

extern const tally_cpu_upright_floats PASTE4(tally_cpu_upright_floats, _, TALLY_LEVEL, );

extern const tally_cpu_nans PASTE4(tally_cpu_nans, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

bool PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, )(const void *offsets, size_t bytes, size_t n);

bool PASTE4(tally_cpu_repeats, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n);

bool PASTE4(tally_cpu_is_even, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t n);

void PASTE4(tally_cpu_ends, _, TALLY_LEVEL, )(const uint64_t *offsets, size_t count, uint32_t *ends);

extern tally_cpu_read_labels *const PASTE4(tally_cpu_labels, _, TALLY_LEVEL, )[TALLY_DTYPE_COUNT];

extern const struct tally_cpu_instructions PASTE4(tally_cpu_instructions, _, TALLY_LEVEL, );

#if defined(__AVX512BW__)
#define HAS_MASKS true
#else
#define HAS_MASKS false
#endif

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
const tally_cpu_level PASTE4(tally_cpu_level, _,
                             TALLY_LEVEL, ) = {.name = TEXT(TALLY_LEVEL),
                                               .has_masks = HAS_MASKS,
                                               .types =
                                                   {
#define TALLY_DTYPE(ENUMERATOR, tag, ...) [TALLY_##ENUMERATOR] = &PASTE4(tally_cpu_type_, tag, _, TALLY_LEVEL),
#include "core/dtypes.def"
                                                   },
                                               .forms = PASTE4(tally_cpu_forms, _, TALLY_LEVEL, ),
                                               .heads = PASTE4(tally_cpu_heads, _, TALLY_LEVEL, ),
                                               .decreases = PASTE4(tally_cpu_decreases, _, TALLY_LEVEL, ),
                                               .repeats = PASTE4(tally_cpu_repeats, _, TALLY_LEVEL, ),
                                               .is_even = PASTE4(tally_cpu_is_even, _, TALLY_LEVEL, ),
                                               .ends = PASTE4(tally_cpu_ends, _, TALLY_LEVEL, ),
                                               .read_labels = PASTE4(tally_cpu_labels, _, TALLY_LEVEL, ),
                                               .pairs = PASTE4(tally_cpu_pairs, _, TALLY_LEVEL, ),
                                               .upright = &PASTE4(tally_cpu_upright, _, TALLY_LEVEL, ),
                                               .upright_floats = &PASTE4(tally_cpu_upright_floats, _, TALLY_LEVEL, ),
                                               .nans = PASTE4(tally_cpu_nans, _, TALLY_LEVEL, ),
                                               .instructions = &PASTE4(tally_cpu_instructions, _, TALLY_LEVEL, )};
