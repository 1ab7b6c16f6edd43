/* The kernels of i32 elements. */
#define ELEMENT           i32
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      32
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          i64
#define SUM_FLUSH         NEVER
#define SQUARE_LANE       i64
#define TOTAL_LANE        i64
#define TOTAL_ACC         i64
#define VALUE_LANE        i32
#define MAGNITUDE_LANE    u32
#define MAGNITUDE_ABS     magnitude
#define COUNT_LANE        i32
#define COUNT_FLUSH       (1u << 27)
#define HAS_F64_KERNELS
#define SAME_LANE      i32
#define WIDE_LANE      i64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
