/* The kernels of f64 elements. */
#define ELEMENT           f64
#define ELEMENT_IS_FLOAT  1
#define ELEMENT_BITS      64
#define ELEMENT_IS_SIGNED 1
#define SUM_LANE          f64
#define SUM_FLUSH         NEVER
#define SQUARE_LANE       f64
#define TOTAL_LANE        f64
#define TOTAL_ACC         f64
#define VALUE_LANE        f64
#define MAGNITUDE_LANE    f64
#define MAGNITUDE_ABS     abs
#define COUNT_LANE        i64
#define COUNT_FLUSH       NEVER
#define SAME_LANE         f64
#define DEVIATION_LANE    f64
#include "cpu/kernels/type.h"
