/* The kernels of u32 elements. */
#define ELEMENT           u32
#define ELEMENT_IS_FLOAT  0
#define ELEMENT_BITS      32
#define ELEMENT_IS_SIGNED 0
#define SUM_LANE          u64
#define SUM_FLUSH         NEVER
#define SQUARE_LANE       u64
#define TOTAL_LANE        u64
#define TOTAL_ACC         u64
#define VALUE_LANE        u32
#define MAGNITUDE_LANE    u32
#define MAGNITUDE_ABS     abs
#define COUNT_LANE        i32
#define COUNT_FLUSH       (1u << 27)
#define HAS_F64_KERNELS
#define SAME_LANE      u32
#define WIDE_LANE      u64
#define DEVIATION_LANE f64
#include "cpu/kernels/type.h"
