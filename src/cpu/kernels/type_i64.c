/* The kernels of i64 elements. */
#define ELEMENT           i64
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      64
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          i64
#define SUM_FLUSH         NEVER
#define SQUARE_LANE       i64
#define TOTAL_LANE        i64
#define TOTAL_ACC         i64
#define VALUE_LANE        i64
#define MAGNITUDE_LANE    u64
#define MAGNITUDE_ABS     magnitude
#define COUNT_LANE        i64
#define COUNT_FLUSH       NEVER
#define HAS_F64_KERNELS
#define SAME_LANE      i64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
