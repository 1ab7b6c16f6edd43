/* What every kernel does with its arguments: p, which stands before this text (arguments.def). */
layout(constant_id = 6) const bool FROM_SLOTS = false; /* reduce: the input is accumulators, chunks x columns */

layout(constant_id = 7) const bool BY_AXIS = true;     /* false: all values, one column */

/* Every kernel calls this first. */
void begin_kernel() {
    told_types = p.types;
    told_ddof = p.ddof;
}

wide extent_of_run() {
    return given(p.count) ? least(p.extent, load_bits(p.count, 3)) : p.extent;
}

/* The elements of the array before one of a column. */
wide elements_before(wide column, wide row) {
    if (!BY_AXIS)
        return row;
    if (p.inner == wide(1, 0))
        return plus(times(column, p.extent), row);
    wide rest;
    const wide outer = divided(column, p.inner, rest);
    return plus(times(plus(times(outer, p.extent), row), p.inner), rest);
}

/* The beginning of a chunk, and its number of elements of 'extent'. */
wide begin_of_chunk(uint chunk, wide extent, out uint length) {
    const wide begin = least(times(chunk, p.chunk), extent);
    length = at_most(minus(extent, begin), p.chunk);
    return begin;
}
