#include "cpu/running.h"

#include <string.h>

#include "core/arithmetic.h"
#include "core/dtype.h"
#include "cpu/components.h"

static void reverse_block(void *values, uint64_t n, size_t bytes) {
    if (bytes == sizeof(float))
        for (float *low = values, *high = low + n; low < --high; low++) {
            const float swapped = *low;
            *low = *high;
            *high = swapped;
        }
    else
        for (double *low = values, *high = low + n; low < --high; low++) {
            const double swapped = *low;
            *low = *high;
            *high = swapped;
        }
}

void tally_cpu_take_block(const tally_cpu_plan *plan, const void *x, uint64_t n, tally_dtype type, void *to) {
    tally_cpu_convert_numbers(plan, plan->base.computation.desc.in, type, x, n, to);
    if (plan->base.computation.reverse)
        reverse_block(to, n, tally_dtype_size(type));
}

void tally_cpu_give_block(const tally_cpu_plan *plan, void *results, uint64_t n, tally_dtype type, void *out) {
    if (plan->base.computation.reverse)
        reverse_block(results, n, tally_dtype_size(type));
    tally_cpu_convert_numbers(plan, type, plan->base.computation.desc.out, results, n, out);
}

uint64_t tally_cpu_number_block(const tally_cpu_plan *plan, int8_t *heads, uint64_t n, uint32_t *numbers) {
    const uint64_t whole = round_up(n, TALLY_CPU_RUNNING_SLACK);
    memset(heads + n, -1, whole - n);
    plan->device->scans->number_groups(heads, whole, 1, 0, numbers);
    return whole;
}

void tally_cpu_convert_rows(const tally_cpu_plan *plan, tally_dtype from, tally_dtype to, const void *values,
                            uint64_t rows, uint64_t width, uint64_t from_stride, uint64_t to_stride, void *out) {
    const size_t bytes = tally_dtype_size(from), out_bytes = tally_dtype_size(to);
    if (width == from_stride && width == to_stride) {
        tally_cpu_convert_numbers(plan, from, to, values, rows * width, out);
        return;
    }
    for (uint64_t r = 0; r < rows; r++)
        tally_cpu_convert_numbers(plan, from, to, tally_at(values, r * from_stride, bytes), width,
                                  tally_at_mutable(out, r * to_stride, out_bytes));
}
