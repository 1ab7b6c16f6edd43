/* Joining names that are themselves macros. */
#ifndef TALLY_CPU_PASTE_H
#define TALLY_CPU_PASTE_H

#define PASTE2_(a, b)       a##b
#define PASTE4_(a, b, c, d) a##b##c##d
#define PASTE2(a, b)        PASTE2_(a, b)
#define PASTE4(a, b, c, d)  PASTE4_(a, b, c, d)

#endif
