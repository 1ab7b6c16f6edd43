/* Before scan_tiles.cu, for kernels whose blocks have a tile each (scan_one_wave.cu). */
#define ONE_WAVE 1
