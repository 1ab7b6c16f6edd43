/* Comes before scan_tiles.cu for scan_look_back.cu, whose blocks have one tile each. */
#define BY_LOOK_BACK 1
