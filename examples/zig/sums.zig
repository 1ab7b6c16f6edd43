// zig translate-c -lc tally.h > tally.zig && zig run sums.zig -lc -ltally
const tally = @import("tally.zig");

pub fn main() !void {
    const x = [_]f64{ 1e16, 1, -1e16 };
    var exact: f64 = 0;
    if (tally.tally_sum_exact_f64(&x, x.len, &exact) != tally.TALLY_OK or exact != 1) return error.Wrong;
    if (tally.tally_max_f64(&x, 0, &exact) != tally.TALLY_EMPTY or exact != 1) return error.Wrong;
}
