/* How many cores there are. */
#ifndef TALLY_CORE_CORES_H
#define TALLY_CORE_CORES_H

/* Cores that this process may run on: at least 1. */
unsigned tally_cores(void);

#endif
