/* What a run tells a kernel: 128 bytes at most, which every device takes. Addresses that are 0 are not there. */
layout(constant_id = 6) const bool FROM_SLOTS = false; /* reduce: the input is accumulators, chunks x columns */

layout(constant_id = 7) const bool BY_AXIS = true;     /* false: all values, one column */

layout(push_constant) uniform arguments {
    uint64_t x, y, out_at;
    uint64_t slots;   /* accumulators of chunks: chunks x columns */
    uint64_t carry;   /* a column: what earlier pieces gave */
    uint64_t total;   /* a column: receives the accumulator of this and earlier pieces */
    uint64_t initial; /* scans: what every group starts from */
    uint64_t index;   /* offsets or keys; all values: where the number of elements lies, if it is less than 'extent' */
    uint64_t columns, extent, inner; /* columns = outer x inner */
    uint64_t chunk, chunks;          /* elements of a column that are taken together */
    uint64_t before;                 /* elements in earlier pieces */
    uint types;
    int ddof;
    uint width; /* threads side by side, a power of two, each with columns of its own; 0: columns' elements are neighbours */
    uint many;  /* columns a thread, if 'width' is not 0; else threads a column, a power of two */
} p;

/* The first thing in every kernel. */
void begin_kernel() {
    told_types = p.types;
    told_ddof = p.ddof;
}

uint64_t extent_of_run() {
    return p.index != 0 ? min(p.extent, u64_of(load_bits(p.index, 3))) : p.extent;
}

/* The element of the array before a column's first. */
uint64_t first_of_column(uint64_t column) {
    return p.inner == 1 ? column * p.extent : column / p.inner * p.inner * p.extent + column % p.inner;
}
