/* The kernels of u8 elements. */
#define ELEMENT           u8
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      8
#define ELEMENT_IS_SIGNED 0
#define SUM_LANE          u32
/* Eight lanes of 2^12 elements come together: 31 bits of 16-bit values or of squares of 8-bit ones. */
#define SUM_FLUSH      (1u << 12)
#define SQUARE_LANE    u32
#define TOTAL_LANE     u64
#define TOTAL_ACC      u64
#define VALUE_LANE     u8
#define MAGNITUDE_LANE u8
#define MAGNITUDE_ABS  abs
#define COUNT_LANE     i8
/* Eight lanes of 15 and a rest of 7 come together. */
#define COUNT_FLUSH 15
#define HAS_F64_KERNELS
#define WIDE_LANE      u64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
