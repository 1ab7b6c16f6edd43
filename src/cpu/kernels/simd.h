/* Vectors as wide as the level's registers, through the compilers' vector extensions: s_TAG is a scalar and v_TAG a
 * vector of lane type TAG (i8 to f64). Operations that the extensions lack (minimum, maximum, streaming stores, half
 * floats) are defined here, by intrinsics if the level has them. */
#ifndef TALLY_CPU_SIMD_H
#define TALLY_CPU_SIMD_H

#include "cpu/kernels/simd_exp.h"
#include "cpu/kernels/simd_lanes.h"
#include "cpu/kernels/simd_memory.h"
#include "cpu/kernels/simd_types.h"

#endif
