/* What follows from an element's kind and width: the lanes that it is computed in, and how many elements a lane takes.
 * Given are ELEMENT, the type's tag; ELEMENT_IS_FLOAT and ELEMENT_IS_SIGNED, 0 or 1; and ELEMENT_BITS.
 *
 *   SUM_LANE, SUM_FLUSH    lanes of sums, and how many elements one may take, seeing that eight are added at the end
 *   SQUARE_LANE            lanes of sums of squares, likewise with SUM_FLUSH
 *   TOTAL_LANE             lanes of products
 *   TOTAL_ACC              the accumulator of sums and products
 *   VALUE_LANE             the type in which values are compared
 *   MAGNITUDE_LANE, MAGNITUDE_ABS   the same for absolute values, and the prefix of their function
 *   COUNT_LANE, COUNT_FLUSH         signed integers of the element's width
 *   DEVIATION_LANE         floats in which differences from the mean are taken
 *   SAME_LANE, WIDE_LANE   lanes of scans whose results are as wide as elements, and of those of 64 bits, if there are
 *                          any */
#define NEVER (SIZE_MAX / 16)

#if ELEMENT_IS_FLOAT

#if ELEMENT_BITS <= 32
#define VALUE_LANE f32
/* 128 elements of one sign lose at most 7 bits in a lane; the tree of eight lanes and f64 lose hardly any. */
#define SUM_FLUSH 128
#else
#define VALUE_LANE f64
#define SUM_FLUSH  NEVER
#endif
#define SUM_LANE       VALUE_LANE
#define SQUARE_LANE    VALUE_LANE
#define TOTAL_LANE     VALUE_LANE
#define TOTAL_ACC      f64
#define MAGNITUDE_LANE VALUE_LANE
#define MAGNITUDE_ABS  abs
#define DEVIATION_LANE VALUE_LANE

#else

#if ELEMENT_IS_SIGNED
#define INTEGER_32    i32
#define INTEGER_64    i64
#define MAGNITUDE_ABS magnitude
#else
#define INTEGER_32    u32
#define INTEGER_64    u64
#define MAGNITUDE_ABS abs
#endif
#if ELEMENT_BITS <= 16
#define SUM_LANE  INTEGER_32
/* Eight lanes of 2^12 elements come together: 31 bits of 16-bit values or of squares of 8-bit ones. */
#define SUM_FLUSH (1u << 12)
#else
#define SUM_LANE  INTEGER_64
#define SUM_FLUSH NEVER
#endif
#if ELEMENT_BITS == 8
#define SQUARE_LANE INTEGER_32
#else
#define SQUARE_LANE INTEGER_64
#endif
#define TOTAL_LANE     INTEGER_64
#define TOTAL_ACC      INTEGER_64
#define VALUE_LANE     ELEMENT
#define MAGNITUDE_LANE PASTE2(u, ELEMENT_BITS)
#define DEVIATION_LANE f64
#if ELEMENT_BITS <= 32
#define WIDE_LANE INTEGER_64
#endif

#endif

#define COUNT_LANE PASTE2(i, ELEMENT_BITS)
#if ELEMENT_BITS == 8
/* Eight lanes of 14, a rest of 7 and the last elements come together. */
#define COUNT_FLUSH 14
#elif ELEMENT_BITS == 16
#define COUNT_FLUSH 4000
#elif ELEMENT_BITS == 32
#define COUNT_FLUSH (1u << 27)
#else
#define COUNT_FLUSH NEVER
#endif
#if ELEMENT_BITS >= 32
#define SAME_LANE ELEMENT
#endif
