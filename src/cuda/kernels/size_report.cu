/* Writes the status of a run whose size is on the device. */
extern "C" __global__ void __launch_bounds__(1) report_size(size_args p SIZED) {
    const uint64 size = *size_at;
    *p.status = size > p.extent ? STATUS_TOO_LARGE : NOTHING_IS_EMPTY && !size ? STATUS_EMPTY : 0;
}
