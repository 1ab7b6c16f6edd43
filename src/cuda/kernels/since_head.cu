/* Sums of a scan by groups. At a head, the first element of a group, the sum starts anew (Blelloch 1990). */

/* The sum of some elements; those before the last head do not count. */
template <class Acc, class Position> struct since_head {
    Acc acc;
#if GROUPS != ALL
    uint32 head;
#endif
#if NEEDS_START
    Position first;
#endif

    static since_head of(Acc acc, bool has_head, Position start) {
        since_head r;
        r.acc = acc;
#if GROUPS != ALL
        r.head = has_head;
#endif
#if NEEDS_START
        r.first = start;
#endif
        return r;
    }
    static since_head nothing() {
        return of(identity_as<Acc>(), false, 0);
    }
    bool has_head() const {
#if GROUPS != ALL
        return head;
#else
        return false;
#endif
    }
    Position start() const { /* position of the last head, in logical order */
#if NEEDS_START
        return first;
#else
        return 0;
#endif
    }
};
template <class Acc, class Position>
inline since_head<Acc, Position> join(const since_head<Acc, Position> &a, const since_head<Acc, Position> &b) {
    bool fresh = b.has_head();
    return since_head<Acc, Position>::of(fresh ? b.acc : combine(a.acc, b.acc), fresh || a.has_head(),
                                         fresh ? b.start() : a.start());
}
