/* Reductions by labels on GPUs: the elements are sorted by label, a digit of it in each pass, and each group is then a
 * segment of a plan of its own. */
#ifndef TALLY_GPU_LABELS_H
#define TALLY_GPU_LABELS_H

#include "core/computation.h"

/* The computation of the plan for the sorted elements. Indices are of places among these, and are turned into places in
 * the input at the end. */
void tally_gpu_computation_of_sorted(const tally_computation *computation, tally_computation *sorted);

/* Passes over digits of 'bits' bits that sort the labels of 'groups' groups. */
uint32_t tally_gpu_label_passes(const tally_computation *computation, uint64_t groups, uint32_t bits);

#endif
