/* Calls each function of a caller's operator, so that creating a plan tells what is wrong with their texts. */
extern "C" __global__ void try_operator(const in_t *x, result_t *out, uint64 n) {
    const acc_t acc = combine(identity_as<acc_t>(), lift_as<acc_t>(value_of(x[n]), value_t(0), n));
    store(out, lower(acc, n, 0));
}
