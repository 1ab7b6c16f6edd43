
/* ---- the functions of the header ---- */

/* A float as a double, by integers: a conversion may flush subnormal numbers. */
static double double_of_float(const float *x) {
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    const uint64_t sign = (uint64_t)(bits >> 31) << 63, fraction = bits & 0x7fffff;
    const uint32_t field = bits >> 23 & 0xff;
    uint64_t wide = sign | (uint64_t)(field + 896) << 52 | fraction << 29;
    double value;
    if (field == 0xff)
        wide = sign | UINT64_C(0x7ff) << 52 | fraction << 29;
    else if (field == 0 && fraction == 0)
        wide = sign;
    else if (field == 0) {
        const int zeros = tally_leading_zeros(fraction) - 40; /* to the place of the leading bit that is not stored */
        wide = sign | (uint64_t)(897 - zeros) << 52 | ((fraction << (zeros + 29)) & UINT64_C(0xfffffffffffff));
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

static bool is_negative_zero(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT64_C(1) << 63;
}

/* A product is -0 if a factor is zero, the other one finite, and the signs differ. */
static bool is_negative_zero_product(double x, double y) {
    const parts p = take_apart(x), q = take_apart(y);
    return p.finite && q.finite && (p.significand == 0 || q.significand == 0) && p.negative != q.negative;
}

void tally_exact_begin(tally_exact *sum) {
    tally_superaccumulator_init(sum, TALLY_LAYOUT_SUM_F64);
}

void tally_exact_begin_dot(tally_exact *dot) {
    tally_superaccumulator_init(dot, TALLY_LAYOUT_PRODUCT_F64);
}

static void count_elements(tally_exact *sum, size_t n, bool others) {
    sum->count += n;
    sum->others |= others;
}

void tally_exact_add(tally_exact *sum, const double *x, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        tally_superaccumulator_deposit_value(sum, x[i]);
        others |= !is_negative_zero(x[i]);
    }
    count_elements(sum, n, others);
}

void tally_exact_add_f32(tally_exact *sum, const float *x, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        const double wide = double_of_float(x + i);
        tally_superaccumulator_deposit_value(sum, wide);
        others |= !is_negative_zero(wide);
    }
    count_elements(sum, n, others);
}

void tally_exact_add_dot(tally_exact *dot, const double *x, const double *y, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        tally_superaccumulator_deposit_product(dot, x[i], y[i]);
        others |= !is_negative_zero_product(x[i], y[i]);
    }
    count_elements(dot, n, others);
}

void tally_exact_add_dot_f32(tally_exact *dot, const float *x, const float *y, size_t n) {
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        const double wide_x = double_of_float(x + i), wide_y = double_of_float(y + i);
        tally_superaccumulator_deposit_product(dot, wide_x, wide_y);
        others |= !is_negative_zero_product(wide_x, wide_y);
    }
    count_elements(dot, n, others);
}

void tally_exact_merge(tally_exact *into, const tally_exact *from) {
    const tally_exact copy = *from;
    tally_superaccumulator_merge(into, &copy);
}

uint64_t tally_exact_count(const tally_exact *sum) {
    return sum->count;
}

double tally_exact_value(const tally_exact *sum) {
    double value;
    tally_round_sum(sum, TALLY_F64, &value);
    return value;
}

float tally_exact_value_f32(const tally_exact *sum) {
    float value;
    tally_round_sum(sum, TALLY_F32, &value);
    return value;
}

double tally_exact_mean_value(const tally_exact *sum) {
    double value;
    tally_round_mean(sum, TALLY_F64, &value);
    return value;
}

float tally_exact_mean_value_f32(const tally_exact *sum) {
    float value;
    tally_round_mean(sum, TALLY_F32, &value);
    return value;
}

double tally_exact_sum(const double *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add(&sum, x, n);
    return tally_exact_value(&sum);
}

float tally_exact_sum_f32(const float *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add_f32(&sum, x, n);
    return tally_exact_value_f32(&sum);
}

double tally_exact_mean(const double *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add(&sum, x, n);
    return tally_exact_mean_value(&sum);
}

float tally_exact_mean_f32(const float *x, size_t n) {
    tally_exact sum;
    tally_exact_begin(&sum);
    tally_exact_add_f32(&sum, x, n);
    return tally_exact_mean_value_f32(&sum);
}

double tally_exact_dot(const double *x, const double *y, size_t n) {
    tally_exact dot;
    tally_exact_begin_dot(&dot);
    tally_exact_add_dot(&dot, x, y, n);
    return tally_exact_value(&dot);
}

float tally_exact_dot_f32(const float *x, const float *y, size_t n) {
    tally_exact dot;
    tally_exact_begin_dot(&dot);
    tally_exact_add_dot_f32(&dot, x, y, n);
    return tally_exact_value_f32(&dot);
}

size_t tally_exact_save(const tally_exact *sum, void *bytes) {
    const bool products = sum->layout == TALLY_LAYOUT_PRODUCT_F64;
    return tally_saved_write(sum, products ? TALLY_DOT : TALLY_SUM, TALLY_F64, bytes);
}

bool tally_exact_load(tally_exact *sum, const void *bytes, size_t size) {
    tally_op op;
    tally_dtype in;
    return tally_saved_read(bytes, size, sum, &op, &in) == TALLY_OK;
}
