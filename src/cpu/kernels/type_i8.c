/* The kernels of i8 elements. */
#define ELEMENT           i8
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      8
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          i32
/* 2^14 elements of 16 bits fill 30. */
#define SUM_FLUSH      16384
#define SQUARE_LANE    i32
#define TOTAL_LANE     i64
#define TOTAL_ACC      i64
#define VALUE_LANE     i8
#define MAGNITUDE_LANE u8
#define MAGNITUDE_ABS  magnitude
#define COUNT_LANE     i8
#define COUNT_FLUSH    120
#define HAS_F64_KERNELS
#define WIDE_LANE      i64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
