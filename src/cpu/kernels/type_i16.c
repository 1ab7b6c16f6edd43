/* The kernels of i16 elements. */
#define ELEMENT           i16
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      16
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          i32
/* 2^14 elements of 16 bits fill 30. */
#define SUM_FLUSH      16384
#define SQUARE_LANE    i64
#define TOTAL_LANE     i64
#define TOTAL_ACC      i64
#define VALUE_LANE     i16
#define MAGNITUDE_LANE u16
#define MAGNITUDE_ABS  magnitude
#define COUNT_LANE     i16
#define COUNT_FLUSH    30000
#define HAS_F64_KERNELS
#define WIDE_LANE      i64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
