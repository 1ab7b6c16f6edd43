/* Comes before the texts of tiles where panels use them (panels.cu). */
#define OF_PANELS
