/* Comes before in_one_wave.cu, by_look_back.cu and fold_tile.cu for little input: a thread takes fewer elements, so that
 * all processors have tiles. A block takes as long for a whole tile as its threads do, one element after the other. */
#define HAS_SMALL_TILES 1
