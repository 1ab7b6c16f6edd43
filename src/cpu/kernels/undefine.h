/* Included at the end of the texts that type.h instantiates: undefines the parameters, so that the next instantiation
 * begins with none. */
#undef CLASS
#undef LANE
#undef ACC
#undef FLUSH
#undef LANE_ABS
#undef WIDTH
#undef SCANS_GROUPS
#undef C0
#undef C1
#undef C2
#undef C3
#undef C4
#undef C5
#undef NARROW_PRODUCTS
#undef FAST_VECTORS
#undef FAST_ROWS
#undef FAST_FOLD
#undef FAST_COLUMNS
#undef FLOAT_COMPONENTS

#undef ON_SUM
#undef ON_SQUARE
#undef ON_TOTAL
#undef ON_COUNT
#undef ON_VALUE
#undef ON_MAGNITUDE
#undef ON_BITS
#undef ON_VALUES
#undef ON_INDEXED
#undef ON_FLOATS2
#undef ON_FLOATS3
#undef ON_FLOATS4
#undef ON_FLOATS5
#undef ON_FLOATS6
