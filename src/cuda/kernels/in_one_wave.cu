/* Comes before scan_tiles.cu for scan_one_wave.cu, whose blocks have one tile each. */
#define ONE_WAVE 1
