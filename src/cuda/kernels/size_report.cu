/* Writes the status of a run whose size is on the device, after its other kernels. */
extern "C" __global__ void __launch_bounds__(1) report_size(size_args p SIZED) {
    const uint64 size = *size_at;
    const uint32 later = p.refused_later ? *p.refused_later : 0; /* bad where nothing was sorted */
    const uint32 refused = (p.refused ? *p.refused : 0) | (later & REFUSED_BAD ? 0 : later);
    *p.status = size > p.most                  ? STATUS_TOO_LARGE
                : NOTHING_IS_EMPTY && !size    ? STATUS_EMPTY
                : refused & REFUSED_BAD        ? STATUS_BAD_GROUPS
                : refused & REFUSED_EMPTY      ? STATUS_EMPTY
                : refused                      ? STATUS_TOO_SMALL
                                               : 0;
}
