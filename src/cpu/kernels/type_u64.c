/* The kernels of u64 elements. */
#define ELEMENT           u64
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      64
#define ELEMENT_IS_SIGNED 0
#define SUM_LANE          u64
#define SUM_FLUSH         NEVER
#define SQUARE_LANE       u64
#define TOTAL_LANE        u64
#define TOTAL_ACC         u64
#define VALUE_LANE        u64
#define MAGNITUDE_LANE    u64
#define MAGNITUDE_ABS     abs
#define COUNT_LANE        i64
#define COUNT_FLUSH       NEVER
#define HAS_F64_KERNELS
#define SAME_LANE      u64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
