/* The kernels of bf16 elements. */
#define ELEMENT           bf16
#define ELEMENT_IS_FLOAT  1
#define ELEMENT_BITS      16
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
#define COUNT_LANE     i16
#define COUNT_FLUSH    4000
#define HAS_F64_KERNELS
#define DEVIATION_LANE f32
#include "cpu/kernels/type.h"
