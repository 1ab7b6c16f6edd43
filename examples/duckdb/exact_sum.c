/* DuckDB's aggregates exact_sum and exact_mean, of DOUBLE: an extension by DuckDB's C interface over
 * single/tally_exact.c, a state of which is plain memory. NULLs are left out; no values give NULL. See load.py. */
#define DUCKDB_EXTENSION_NAME exact_sum
#include "duckdb_extension.h"
#include "tally_exact.h"
DUCKDB_EXTENSION_EXTERN

typedef double value_of(const tally_exact *);

static idx_t state_size(duckdb_function_info info) {
    return sizeof(tally_exact);
}

static void init(duckdb_function_info info, duckdb_aggregate_state state) {
    tally_exact_begin((tally_exact *)state);
}

static void update(duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state *states) {
    duckdb_vector vector = duckdb_data_chunk_get_vector(input, 0);
    const double *x = duckdb_vector_get_data(vector);
    uint64_t *valid = duckdb_vector_get_validity(vector);
    for (idx_t i = 0, n = duckdb_data_chunk_get_size(input); i < n; i++)
        if (!valid || duckdb_validity_row_is_valid(valid, i))
            tally_exact_add((tally_exact *)states[i], x + i, 1);
}

static void combine(duckdb_function_info info, duckdb_aggregate_state *from, duckdb_aggregate_state *to, idx_t n) {
    for (idx_t i = 0; i < n; i++)
        tally_exact_merge((tally_exact *)to[i], (const tally_exact *)from[i]);
}

static void finalize(duckdb_function_info info, duckdb_aggregate_state *from, duckdb_vector to, idx_t n, idx_t at) {
    value_of *value = *(value_of **)duckdb_aggregate_function_get_extra_info(info);
    duckdb_vector_ensure_validity_writable(to);
    for (idx_t i = 0; i < n; i++) {
        const tally_exact *sum = (const tally_exact *)from[i];
        ((double *)duckdb_vector_get_data(to))[at + i] = value(sum);
        if (tally_exact_count(sum) == 0)
            duckdb_validity_set_row_invalid(duckdb_vector_get_validity(to), at + i);
    }
}

DUCKDB_EXTENSION_ENTRYPOINT(duckdb_connection to, duckdb_extension_info info, struct duckdb_extension_access *access) {
    static value_of *values[] = {tally_exact_value, tally_exact_mean_value};
    duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
    bool registered = true;
    for (int k = 0; k < 2; k++) {
        duckdb_aggregate_function function = duckdb_create_aggregate_function();
        duckdb_aggregate_function_set_name(function, k == 0 ? "exact_sum" : "exact_mean");
        duckdb_aggregate_function_add_parameter(function, type);
        duckdb_aggregate_function_set_return_type(function, type);
        duckdb_aggregate_function_set_functions(function, state_size, init, update, combine, finalize);
        duckdb_aggregate_function_set_extra_info(function, &values[k], NULL);
        registered &= duckdb_register_aggregate_function(to, function) == DuckDBSuccess;
        duckdb_destroy_aggregate_function(&function);
    }
    duckdb_destroy_logical_type(&type);
    return registered;
}
