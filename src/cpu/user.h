/* The kernels of a user's operator. Each step calls the user's functions. */
#ifndef TALLY_CPU_USER_H
#define TALLY_CPU_USER_H

#include "cpu/kernels/kernels.h"

extern const tally_cpu_kernels tally_cpu_user_kernels;

#endif
