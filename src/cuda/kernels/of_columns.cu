/* Comes before scan_tiles.cu for scan_narrow.cu, whose tiles have other sizes than those of scan.cu. */
#define OF_COLUMNS
#undef SCAN_ITEMS
#define SCAN_ITEMS NARROW_ITEMS
#undef SCAN_RING
#define SCAN_RING NARROW_RING
#undef SCAN_WAVES
#define SCAN_WAVES NARROW_WAVES
#undef SCAN_SHARED_BYTES
#define SCAN_SHARED_BYTES NARROW_SHARED_BYTES
