/* Before scan_tiles.cu, where a block has one tile only (scan_look_back.cu). */
#define BY_LOOK_BACK 1
