/* fuzz_npy.c: fuzz target of the npy header parser. Whatever the bytes, it must not crash or read outside; and a header
 * that it accepts must keep its own promises and survive being written and read again.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "memory_source.h"
#include "npy.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check_header(const npy_header *header, size_t size) {
    uint64_t count;
    require(header->rank >= 0 && header->rank <= NPY_MAX_RANK);
    require(header->data_start <= size);
    require(tally_dtype_size(header->dtype) != 0);
    require(npy_count(header->rank, header->shape, tally_dtype_size(header->dtype), &count) && count == header->count);
}

static void check_round_trip(const npy_header *header) {
    char bytes[NPY_HEADER_CAPACITY];
    npy_header again;
    fault f;
    const size_t n =
        npy_format_header(bytes, sizeof bytes, 0, header->dtype, header->fortran_order, header->rank, header->shape);
    require(n != 0 && n % 64 == 0);
    memory_source memory = {(const unsigned char *)bytes, n, 0};
    const source from = {read_memory, &memory, "again"};
    require(npy_read_header(&from, &again, &f) == 0);
    require(again.dtype == header->dtype && again.rank == header->rank && again.count == header->count);
    require(again.fortran_order == header->fortran_order && again.data_start == n);
    require(memcmp(again.shape, header->shape, sizeof *header->shape * (size_t)header->rank) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    memory_source memory = {data, size, 0};
    const source from = {read_memory, &memory, "fuzz"};
    npy_header header;
    fault f = {{0}};
    if (npy_read_header(&from, &header, &f) != 0) {
        require(f.text[0] != 0);
        return 0;
    }
    check_header(&header, size);
    check_round_trip(&header);
    return 0;
}
