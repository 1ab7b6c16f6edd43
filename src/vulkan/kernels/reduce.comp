/* Reductions of all values and along an axis: an array of outer x extent x inner, seen as columns of 'extent' elements,
 * each cut into chunks. Workgroups fold the chunks of 'width' neighbouring columns; with one chunk that is the result,
 * else it is an accumulator, and another launch of this kernel folds those, which lie as rows of accumulators. Order and
 * cut depend on the shape alone, so results are the same bits every run. The scans' first pass is this kernel, too. */
const uint UNROLL = 4;

struct stretch {
    uint64_t x, y;       /* address of the column's first element */
    uint64_t begin, end; /* rows */
};

/* Elements in a lane that takes a bounded number of them. */
struct sum {
    acc_t acc;
    lane_t lane;
    uint held;
};
sum empty_sum() {
    return sum(identity(), lane_identity(), 0);
}
void expect(inout sum s, uint more) {
    s.held += more;
    if (s.held > LANE_LIMIT) {
        s.acc = combine(s.acc, widen(s.lane));
        s.lane = lane_identity();
        s.held = more;
    }
}

#if COMMUTES
acc_t fold_vectors(stretch s) {
    const uint log = IN_LOG, vector = 16u >> log;
    const uint64_t step_length = uint64_t(BLOCK * vector * UNROLL);
    sum total = empty_sum();
    for (uint64_t step = s.begin; step < s.end; step += step_length) {
        const uint64_t first = step + THREAD * vector;
        expect(total, vector * UNROLL);
        if (step + step_length <= s.end) {
            uvec4 x[UNROLL], y[UNROLL];
            for (uint u = 0; u < UNROLL; u++)
                x[u] = load_vector(s.x + (first + u * BLOCK * vector << log));
            for (uint u = 0; u < UNROLL && TWO_INPUTS; u++)
                y[u] = load_vector(s.y + (first + u * BLOCK * vector << log));
            for (uint u = 0; u < UNROLL; u++)
                for (uint k = 0; k < vector; k++) {
                    const uint64_t i = p.before + first + u * BLOCK * vector + k;
                    const uvec2 partner = TWO_INPUTS ? pick(y[u], k, log) : uvec2(0);
                    total.lane = combine(total.lane, lift_bits(pick(x[u], k, log), partner, i));
                }
        } else {
            for (uint u = 0; u < UNROLL; u++)
                for (uint k = 0; k < vector; k++) {
                    const uint64_t i = first + u * BLOCK * vector + k;
                    if (i < s.end)
                        total.lane = combine(total.lane, lift_bits(load_bits(s.x + (i << log), log),
                                                                   partner_at(s.y, i << log), p.before + i));
                }
        }
    }
    return combine(total.acc, widen(total.lane));
}
#endif

/* Every 'apart'-th row from the first, or, where order matters, a run of them. */
acc_t fold_rows(stretch s, uint part, uint parts) {
    const uint log = IN_LOG;
    sum total = empty_sum();
#if COMMUTES
    const uint64_t apart = parts;
    uint64_t row = s.begin + part, end = s.end;
#else
    const uint64_t each = (s.end - s.begin + parts - 1) / parts, apart = 1;
    uint64_t row = min(s.begin + part * each, s.end), end = min(row + each, s.end);
#endif
    for (; row + 3 * apart < end; row += 4 * apart) {
        uvec2 x[4];
        for (uint u = 0; u < 4; u++)
            x[u] = load_bits(s.x + ((row + u * apart) * p.inner << log), log);
        expect(total, 4);
        for (uint u = 0; u < 4; u++) {
            const uint64_t i = row + u * apart;
            total.lane = combine(total.lane, lift_bits(x[u], partner_at(s.y, i * p.inner << log), p.before + i));
        }
    }
    expect(total, 4);
    for (; row < end; row += apart) {
        const uint64_t at = row * p.inner << log;
        total.lane = combine(total.lane, lift_bits(load_bits(s.x + at, log), partner_at(s.y, at), p.before + row));
    }
    return combine(total.acc, widen(total.lane));
}

#if !COMMUTES
/* The same from the end to the start. */
acc_t fold_back(stretch s, uint part, uint parts) {
    const uint64_t each = (s.end - s.begin + parts - 1) / parts;
    const uint64_t skip = min(part * each, s.end - s.begin), end = s.end - skip;
    uint64_t left = min(each, end - s.begin);
    acc_t acc = identity();
    for (uint64_t row = end; left > 0; left--) {
        row--;
        const uint64_t at = row * p.inner << IN_LOG;
        acc = combine(acc, widen(lift_bits(load_bits(s.x + at, IN_LOG), partner_at(s.y, at), p.before + row)));
    }
    return acc;
}
#endif

acc_t fold_slots(uint64_t column, uint64_t begin, uint64_t end, uint part, uint parts) {
    const uint64_t each = (end - begin + parts - 1) / parts;
    const uint64_t first = min(begin + part * each, end), last = min(first + each, end);
    acc_t acc = identity();
    for (uint64_t c = first; c < last; c++)
        acc = combine(acc, read_slot(p.x, c * p.columns + column));
    return acc;
}

void give(acc_t acc, uint64_t column, uint64_t chunk, uint64_t extent) {
    if (p.carry != 0)
        acc = combine(read_slot(p.carry, column), acc);
    if (p.total != 0)
        write_slot(p.total, column, acc);
    else if (p.slots != 0)
        write_slot(p.slots, chunk * p.columns + column, acc);
    else
        store_result(p.out_at, column, lower(acc, p.before + extent, 0));
}

void reduce() {
    begin_kernel();
    const uint width = max(p.width, 1), parts = BLOCK / width, part = THREAD / width;
    const uint64_t panels = (p.columns + width - 1) / width, all = panels * p.chunks;
    const uint64_t extent = extent_of_run();
    for (uint64_t number = group_number(); number < all; number += group_count()) {
        const uint64_t chunk = p.chunks == 1 ? uint64_t(0) : number / panels;
        const uint64_t column = (number - chunk * panels) * width + THREAD % width;
        uint64_t begin = min(chunk * p.chunk, extent), end = min(begin + p.chunk, extent);
        if (REVERSE && !FROM_SLOTS) {
            const uint64_t first = extent - end;
            end = extent - begin;
            begin = first;
        }
        acc_t acc = identity();
        if (column < p.columns) {
            if (FROM_SLOTS) {
                acc = fold_slots(column, 0, min(p.chunk, p.extent), part, parts);
            } else {
                const uint64_t before = first_of_column(column);
                const stretch s = stretch(p.x + (before << IN_LOG), p.y + (before << IN_LOG), begin, end);
#if COMMUTES
                acc = p.width == 0 ? fold_vectors(s) : fold_rows(s, part, parts);
#else
                acc = REVERSE ? fold_back(s, part, parts) : fold_rows(s, part, parts);
#endif
            }
        }
        acc = fold_block(acc, width);
        if (THREAD < width && column < p.columns)
            give(acc, column, chunk, extent);
    }
}
