/* Comes before groups.cu where segments are reduced from parts of their tiles (tile_parts.cu). */
#define HAS_PARTS 1
