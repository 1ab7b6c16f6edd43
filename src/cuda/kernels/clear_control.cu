/* The first launch of a reduction by segments. The next one starts early, which it could not after a memset. */
extern "C" __global__ void clear_control(groups_args p) {
    let_next_start();
    *p.told = control();
}
