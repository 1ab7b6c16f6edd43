#include "vulkan/workspace.h"

#include "core/arithmetic.h"

enum { ALIGNMENT = 256 };

uint32_t tally_vulkan_block_of(const tally_vulkan_device *device, tally_vulkan_slot slot) {
    enum { BESIDES = 1024, LEAST = 32 /* a word of head bits */ };
    const unsigned of_team = (slot.bytes + (unsigned)sizeof(uint64_t)) / 16 + 1, tile = tally_vulkan_tile_slots(slot);
    const unsigned spread = slot.bytes * (1 + tile) / 32 + 1;
    const unsigned a_thread = slot.bytes * (1 + tile) + spread + (unsigned)sizeof(uint32_t) * (3 + tile) + of_team;
    uint32_t block = device->block;
    while (block > LEAST && block * a_thread + BESIDES > device->shared_bytes)
        block /= 2;
    return block;
}

size_t tally_vulkan_place(tally_vulkan_cut *cut, uint64_t bytes) {
    size_t at = cut->bytes;
    cut->bytes += (size_t)divide_up(bytes, ALIGNMENT) * ALIGNMENT;
    return at;
}
