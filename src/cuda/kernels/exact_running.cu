/* A running exact sum, to which elements are added without being lifted first. */
template <> struct running<acc_t, acc_t> {
    acc_t acc = identity_as<acc_t>();
#if HAS_FAST_WINDOW
    fast_window window;
#endif

    running() = default;
    running(const acc_t &acc) : acc(acc) {}
    void begin(value_t) {}
    void add(value_t x, value_t, uint64) {
#if HAS_FAST_WINDOW
        if (window.has(x)) {
            window.add(acc, x);
            return;
        }
        acc = with(acc, x);
#else
        deposit(acc, x);
#endif
    }
    void append(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    void add_next(value_t x, value_t y, uint64 i) {
        add(x, y, i);
    }
    const acc_t &sum() const {
        return acc;
    }
};
