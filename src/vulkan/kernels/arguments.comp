/* The arguments of a run: at most 128 bytes, which every device accepts. An address of 0 means that there is none. */
layout(constant_id = 6) const bool FROM_SLOTS = false; /* reduce: the input is accumulators, chunks x columns */

layout(constant_id = 7) const bool BY_AXIS = true;     /* false: all values, one column */

layout(push_constant) uniform arguments {
    address x, y, out_at;
    address slots;   /* accumulators of chunks: chunks x columns */
    address carry;   /* a column: what earlier pieces gave */
    address total;   /* a column: receives the accumulator of this and earlier pieces */
    address initial; /* scans: what every group starts from */
    address index;   /* offsets or keys; all values: where the number of elements lies, if it is less than 'extent' */
    wide columns, extent, inner; /* columns = outer x inner */
    wide before;                 /* elements in earlier pieces */
    uint chunk, chunks;          /* elements of a column that are taken together */
    uint panels;                 /* workgroups for a chunk of all columns */
    uint types;
    int ddof;
    /* Neighbouring threads, a power of two, each with columns of its own; 0: columns' elements are neighbours. Short
     * rows: a workgroup's. */
    uint width;
    uint many; /* columns a thread, if 'width' is not 0; else, and of short rows, threads a column, a power of two */
} p;

/* Every kernel calls this first. */
void begin_kernel() {
    told_types = p.types;
    told_ddof = p.ddof;
}

wide extent_of_run() {
    return given(p.index) ? least(p.extent, load_bits(p.index, 3)) : p.extent;
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
