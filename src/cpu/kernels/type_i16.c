/* The kernels of i16 elements. */
#define ELEMENT           i16
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      16
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          i32
/* Eight lanes of 2^12 elements come together: 31 bits of 16-bit values or of squares of 8-bit ones. */
#define SUM_FLUSH      (1u << 12)
#define SQUARE_LANE    i64
#define TOTAL_LANE     i64
#define TOTAL_ACC      i64
#define VALUE_LANE     i16
#define MAGNITUDE_LANE u16
#define MAGNITUDE_ABS  magnitude
#define COUNT_LANE     i16
#define COUNT_FLUSH    4000
#define HAS_F64_KERNELS
#define WIDE_LANE      i64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
