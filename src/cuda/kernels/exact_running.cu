/* A running exact sum, to which elements are added without being lifted first. */
template <> struct running<acc_t, acc_t> {
    acc_t acc = identity_as<acc_t>();

    running() = default;
    running(const acc_t &acc) : acc(acc) {}
    void begin(value_t) {}
    void add(value_t x, value_t, uint64) {
        deposit(acc, x);
    }
    void append(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    void add_next(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    void settle() {}
    result_t result(uint64 count) const {
        return lower(acc, count, 0);
    }
    const acc_t &sum() const {
        return acc;
    }
};
