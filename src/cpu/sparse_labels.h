/* Reductions by labels of far fewer elements than groups. */
#ifndef TALLY_CPU_SPARSE_LABELS_H
#define TALLY_CPU_SPARSE_LABELS_H

#include "cpu/cpu.h"

bool tally_cpu_is_sparse(const tally_cpu_plan *plan, const tally_args *args);
tally_status tally_cpu_sparse_labels(tally_cpu_plan *plan, const tally_args *args);

#endif
