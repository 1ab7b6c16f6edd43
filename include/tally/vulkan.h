/* tally on Vulkan: for programs that use Vulkan themselves.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0
 *
 * Others need tally/tally.h alone: tally_open("vulkan:0", ...) and what follows there. This header names no type of
 * Vulkan's and needs none of its headers: dispatchable handles are passed as the pointers that they are.
 *
 *   Device      Vulkan 1.2 or newer, no extension. Enable before vkCreateDevice what tally_vulkan_require tells:
 *               bufferDeviceAddress, which everything needs, and, if the device has them, shaderInt64, without which
 *               what computes in integers of 64 bits is refused, and shaderFloat64, without which what computes in
 *               doubles is and sums of f32 are kept in f32.
 *   Memory      Pointers in tally_args are device addresses (vkGetBufferDeviceAddress), cast to pointers, of buffers
 *               with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. Kernels read and write words of 32 bits: the words that
 *               hold a buffer's first and last bytes must lie in its memory. Elements may lie at any byte; an initial
 *               value, too, is in device memory.
 *   Recording   The tally_stream given to tally_run is a VkCommandBuffer that is being recorded, outside of a render
 *               pass, of a family that computes. With a workspace of tally_plan_workspace bytes, aligned to 16, a call
 *               only records: it submits nothing, allocates nothing and waits for nothing. Without one the plan's own
 *               memory is used, which may be allocated, and which one submission at a time may use. args.count must be
 *               NULL (see tally_vulkan_extra), and what only the device can find - bad offsets, empty segments, too
 *               little room for runs of keys - leaves the outputs untouched.
 *   Barriers    All work is in VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT. Inputs must be visible there to
 *               VK_ACCESS_SHADER_READ_BIT beforehand; outputs are written with VK_ACCESS_SHADER_WRITE_BIT. A recording
 *               begins with a barrier from compute to compute, so what earlier dispatches wrote is visible, and a
 *               workspace may serve one run after the other; nothing comes after its last dispatch: the barrier to
 *               whoever reads the outputs is the caller's. Bound pipeline and push constants are changed.
 *   Libraries   The loader (libvulkan.so.1) is opened at run time; so is, for users' operators, a compiler
 *               (libshaderc.so.1, libshaderc_shared.so.1).
 *
 * Environment
 *   TALLY_LIBVULKAN    the path of the loader, else libvulkan.so.1
 *   TALLY_LIBSHADERC   the path of the compiler of users' operators
 *   TALLY_SELF_TEST    0: open devices without the small sum and scan whose results are known, which are done the
 *                      first time that a device, driver and version of the library meet, and by tally_open alone
 *   TALLY_CACHE_DIR, TALLY_CACHE, TALLY_CACHE_MIB
 *                      as in tally/cuda.h: the folder that keeps pipelines, of devices that tally_open opened
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

/* A device that the caller has made, all its handles. */
typedef struct tally_vulkan_context {
    size_t struct_size;               /* set by the caller to sizeof(tally_vulkan_context) */
    void *instance;                   /* VkInstance, of the loader that the library finds */
    void *physical_device;            /* VkPhysicalDevice */
    void *device;                     /* VkDevice */
    uint32_t queue_family;            /* of the command buffers that will be given */
    int shader_int64, shader_float64; /* 1 if the feature was enabled */
    uint64_t pipeline_cache;          /* VkPipelineCache, or 0; used while plans are created */
} tally_vulkan_context;

/* The handles remain the caller's and must be valid until after tally_close. The library has no queue of such a device:
 * plans run with a command buffer alone, tally_push, tally_finish and synchronous runs are refused, and tally_copy
 * reaches only memory of tally_alloc that host and device share.
 *
 * TALLY_INVALID_ARGUMENT for NULL; TALLY_NO_DEVICE without a loader, or in a library built without Vulkan. Any thread
 * may call. */
TALLY_API tally_status tally_vulkan_open(const tally_vulkan_context *context, tally_device **device);

/* What only device memory can tell or take, as device addresses of aligned 64-bit integers; 0: none. */
typedef struct tally_vulkan_extra {
    size_t struct_size; /* set by the caller to sizeof(tally_vulkan_extra) */
    uint64_t count;     /* ALL_VALUES: the number of elements is read from here when the commands run; args.shape.extent
                           is the most that it can be. Of nothing, min and max give their identity. */
    uint64_t runs;      /* REDUCE KEYS: receives the number of runs */
} tally_vulkan_extra;

/* tally_run with more: records into a VkCommandBuffer. The plan is one of a Vulkan device; 'extra' may be NULL. */
TALLY_API tally_status tally_vulkan_record(tally_plan *plan, const tally_args *args, const tally_vulkan_extra *extra,
                                           void *command_buffer);

#ifdef __cplusplus
}
#endif
#endif
