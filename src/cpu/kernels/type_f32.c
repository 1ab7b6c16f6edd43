/* The kernels of f32 elements. */
#define ELEMENT           f32
#define ELEMENT_IS_FLOAT  1
#define ELEMENT_BITS      32
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          f32
/* 128 elements of one sign lose at most 7 bits in a lane; the tree of eight lanes and f64 lose hardly any. */
#define SUM_FLUSH      128
#define SQUARE_LANE    f32
#define TOTAL_LANE     f32
#define TOTAL_ACC      f64
#define VALUE_LANE     f32
#define MAGNITUDE_LANE f32
#define MAGNITUDE_ABS  abs
#define COUNT_LANE     i32
#define COUNT_FLUSH    (1u << 27)
#define HAS_F64_KERNELS
#define SAME_LANE      f32
#define DEVIATION_LANE f32
#include "cpu/kernels/type.h"
