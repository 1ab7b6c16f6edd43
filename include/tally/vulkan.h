/* tally on Vulkan: for programs that use Vulkan themselves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Other programs need only tally/tally.h and tally_open("vulkan:0", ...). This header names no type of Vulkan's and
 * needs none of its headers. Dispatchable handles, which are pointers, are passed as such.
 *
 *   Device      Vulkan 1.2 or newer, no extension. tally_vulkan_require says which features to enable in
 *               vkCreateDevice. bufferDeviceAddress is always needed. Enable shaderInt64 and shaderFloat64 if the
 *               device has them. Without shaderInt64, computations in 64-bit integers are refused; without
 *               shaderFloat64, computations in doubles are refused and sums of f32 are kept in f32.
 *   Memory      Pointers in tally_args are device addresses (vkGetBufferDeviceAddress), cast to pointers, of buffers
 *               with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. Kernels write 32-bit words and read 32-bit words
 *               or, with NVIDIA's driver, vectors of 16 bytes, so those that hold a buffer's first and last bytes must
 *               lie in its memory. Elements may begin at any byte. An initial value is in device memory, too.
 *   Recording   The tally_stream given to tally_run is a VkCommandBuffer that is being recorded, outside of a render
 *               pass, of a queue family that computes. With a workspace of tally_plan_workspace bytes, aligned to 16, a
 *               call only records: it submits nothing, allocates nothing and waits for nothing. Without a workspace the
 *               plan's own memory is used. The call may then allocate it, and only one submission at a time may use it.
 *               There is one exception: a plan's first scan of arrays or rows that do not begin at multiples of 16
 *               bytes, or lie otherwise than those before, compiles a kernel for them. args.count must be NULL (see
 *               tally_vulkan_extra). Errors that only the device can find (bad offsets, bad labels, empty groups, too
 *               little room for runs of keys) leave the outputs untouched.
 *   Barriers    All work is in VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT. Inputs must be visible there to
 *               VK_ACCESS_SHADER_READ_BIT beforehand; outputs are written with VK_ACCESS_SHADER_WRITE_BIT. A recording
 *               begins with a barrier from compute to compute. So it sees what earlier dispatches wrote, and one
 *               workspace may serve one run after the other. It ends without a barrier; the caller adds a barrier
 *               before the outputs are read. It changes the bound pipeline and the push constants.
 *   Libraries   The loader (libvulkan.so.1) is opened at run time, and so is a compiler for user operators
 *               (libshaderc.so.1, libshaderc_shared.so.1).
 *
 * Environment
 *   TALLY_LIBVULKAN    the path of the loader, else libvulkan.so.1
 *   TALLY_LIBSHADERC   the path of the compiler of user operators
 *   TALLY_SELF_TEST    0: skip the self-test. It is a small sum and a scan with known results, which tally_open runs
 *                      once for each device, driver and version of the library
 *   TALLY_CACHE_DIR, TALLY_CACHE, TALLY_CACHE_MIB
 *                      as in tally/cuda.h: the folder that keeps pipelines of devices that tally_open opened
 */
#ifndef TALLY_VULKAN_H
#define TALLY_VULKAN_H

#include "tally/tally.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to enable in VkPhysicalDeviceFeatures and VkPhysicalDeviceVulkan12Features: 1 or 0 each. */
typedef struct tally_vulkan_requirements {
    size_t struct_size; /* set by the caller to sizeof(tally_vulkan_requirements) */
    int buffer_device_address;
    int shader_int64, shader_float64; /* 0 where the device does not have it */
} tally_vulkan_requirements;

/* For a device of the caller's VkInstance and VkPhysicalDevice. TALLY_UNSUPPORTED names what is missing. */
TALLY_API tally_status tally_vulkan_require(void *instance, void *physical_device,
                                            tally_vulkan_requirements *requirements);

/* A device that the caller has made, with all handles that the library needs. */
typedef struct tally_vulkan_context {
    size_t struct_size;               /* set by the caller to sizeof(tally_vulkan_context) */
    void *instance;                   /* VkInstance, of the loader that the library finds */
    void *physical_device;            /* VkPhysicalDevice */
    void *device;                     /* VkDevice */
    uint32_t queue_family;            /* of the command buffers that will be given */
    int shader_int64, shader_float64; /* 1 if the feature was enabled */
    uint64_t pipeline_cache;          /* VkPipelineCache, or 0; used while plans are created */
} tally_vulkan_context;

/* The caller keeps the handles, which must be valid until after tally_close. The library has no queue of such a device.
 * So plans run only with a command buffer, and tally_push, tally_finish and synchronous runs are refused. tally_copy
 * reaches only memory of tally_alloc that host and device share.
 *
 * TALLY_INVALID_ARGUMENT for NULL; TALLY_NO_DEVICE without a loader, or in a library built without Vulkan. Any thread
 * may call. */
TALLY_API tally_status tally_vulkan_open(const tally_vulkan_context *context, tally_device **device);

/* Values in device memory: device addresses of aligned 64-bit integers; 0: none. */
typedef struct tally_vulkan_extra {
    size_t struct_size; /* set by the caller to sizeof(tally_vulkan_extra) */
    uint64_t count; /* ALL_VALUES: the number of elements, read when the commands run; at most args.shape.extent. For
                       0 elements, min and max give their identity. */
    uint64_t runs;  /* REDUCE KEYS: receives the number of runs */
} tally_vulkan_extra;

/* tally_run with more: records into a VkCommandBuffer. The plan must be of a Vulkan device; 'extra' may be NULL. */
TALLY_API tally_status tally_vulkan_record(tally_plan *plan, const tally_args *args, const tally_vulkan_extra *extra,
                                           void *command_buffer);

#ifdef __cplusplus
}
#endif
#endif
