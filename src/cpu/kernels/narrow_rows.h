/* Scans of rows of elements of 1 and 2 bytes, short ones with marks where rows begin. With AVX-512 these are left to
 * narrow_planes.h. A part of narrow_scan.c. */

/* As many rows at once as a vector holds, and behind them lanes that mean nothing, which the next vector overwrites. */
ALWAYS_INLINE void scan_rows_at_once(const narrow_scan *s, const char *x, size_t rows, size_t row, v_u8 start,
                                     char *out) {
    const size_t step = VECTOR_BYTES / row * row, n = rows * row;
    const size_t vectors = n < VECTOR_BYTES ? 0 : (n - VECTOR_BYTES) / step + 1, rest = n - vectors * step;
    v_u8 marks, before = {0};
    s_u8 places[2 * VECTOR_BYTES] = {0};
    for (size_t j = s->reverse ? row - s->bytes : 0; j < VECTOR_BYTES; j += row)
        memset(places + j, 0xff, s->bytes);
    memcpy(&marks, places, sizeof marks);
    marks = s->reverse ? reversed_elements(marks, s->bytes) : marks;
    v_u8 next = vectors ? read_vector(s, x) : read_part(s, x, rest);
    for (size_t k = 0; k <= vectors; k++) {
        v_u8 v = next; /* x may be out */
        if (k + 1 < vectors)
            next = read_vector(s, x + (k + 1) * step);
        else if (k + 1 == vectors && rest)
            next = read_part(s, x + n - rest, rest);
        v = scan_marked(s, s->reverse ? reversed_elements(v, s->bytes) : v, marks, row, start, &before);
        v = (s->reverse ? reversed_elements(v, s->bytes) : v) ^ s->flip;
        if (k < vectors)
            memcpy(out + k * step, &v, sizeof v);
        else
            store_bytes(out + n - rest, v, rest);
    }
}

ALWAYS_INLINE void scan_rows(const narrow_scan *s, const char *x, size_t rows, size_t row, tally_cpu_scan_options how,
                             v_u8 start, char *out) {
    _Alignas(64) char buffer[BUFFER];
    const size_t most = how.stream ? BUFFER / row : rows;
    for (size_t done = 0, block; done < rows; done += block) {
        block = rows - done < most ? rows - done : most;
        char *const to = how.stream ? buffer : out + done * row;
        if (VECTOR_BYTES < 64 && row <= VECTOR_BYTES)
            scan_rows_at_once(s, x + done * row, block, row, start, to);
        else
            for (size_t r = 0; r < block; r++) {
                v_u8 before = start;
                scan_each_vector(s, x + (done + r) * row, row, &before, to + r * row);
            }
        if (how.stream)
            stream_bytes(out + done * row, buffer, block * row);
    }
    if (how.stream)
        end_stream();
}
