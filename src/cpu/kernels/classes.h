/* Included at the beginning of the texts that type.h instantiates. A file that includes such a text defines ON_<class>
 * as KEEP for the classes of monoids.def whose monoids it needs; the others are dropped. */
#ifndef IS_STRICT
#define STRICTLY
#define IS_STRICT 0
#endif
#ifndef ON_SUM
#define ON_SUM DROP
#endif
#ifndef ON_SQUARE
#define ON_SQUARE DROP
#endif
#ifndef ON_TOTAL
#define ON_TOTAL DROP
#endif
#ifndef ON_COUNT
#define ON_COUNT DROP
#endif
#ifndef ON_VALUE
#define ON_VALUE DROP
#endif
#ifndef ON_MAGNITUDE
#define ON_MAGNITUDE DROP
#endif
#ifndef ON_BITS
#define ON_BITS DROP
#endif
#ifndef ON_VALUES
#define ON_VALUES DROP
#endif
#ifndef ON_INDEXED
#define ON_INDEXED DROP
#endif
#ifndef ON_FLOATS2
#define ON_FLOATS2 DROP
#endif
#ifndef ON_FLOATS3
#define ON_FLOATS3 DROP
#endif
#ifndef ON_FLOATS4
#define ON_FLOATS4 DROP
#endif
#ifndef ON_FLOATS5
#define ON_FLOATS5 DROP
#endif
#ifndef ON_FLOATS6
#define ON_FLOATS6 DROP
#endif
#ifndef ON_INTEGERS2
#define ON_INTEGERS2 DROP
#endif
#ifndef ON_INTEGERS3
#define ON_INTEGERS3 DROP
#endif
#ifndef ON_INTEGERS6
#define ON_INTEGERS6 DROP
#endif
