/* A program's own kernels on an open Vulkan device, for the ladder: what cuda/kernel.h is on CUDA, and as narrow.
 * Kernels are SPIR-V with an entry "main", the workgroup's size as constant 0 and arguments as push constants; a
 * recording is a command buffer between two readings of the device's clock.
 *
 * TALLY_UNSUPPORTED for a device of another back end, and for one that is the caller's. */
#ifndef TALLY_VULKAN_KERNEL_H
#define TALLY_VULKAN_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tally/tally.h"

typedef struct tally_vulkan_facts {
    bool is_software; /* a software device: its times say nothing about GPUs */
    bool adds_floats; /* kernels may add to a float in memory atomically (GL_EXT_shader_atomic_float) */
} tally_vulkan_facts;

tally_status tally_vulkan_facts_of(tally_device *device, tally_vulkan_facts *facts);

typedef struct tally_vulkan_program tally_vulkan_program;
tally_status tally_vulkan_program_make(tally_device *device, const uint32_t *words, size_t bytes, unsigned block,
                                       tally_vulkan_program **program);
void tally_vulkan_program_destroy(tally_vulkan_program *program);

/* One recording at a time: begin, any number of fills and dispatches (each after all before it), run. */
typedef struct tally_vulkan_recording tally_vulkan_recording;
tally_status tally_vulkan_recording_create(tally_device *device, tally_vulkan_recording **recording);
void tally_vulkan_recording_destroy(tally_vulkan_recording *recording);
tally_status tally_vulkan_recording_begin(tally_vulkan_recording *recording);
tally_status tally_vulkan_recording_fill(tally_vulkan_recording *recording, void *memory, uint32_t word, size_t words);
/* Workgroups beyond 65535 become rows of a grid. 'arguments': at most 128 bytes. */
tally_status tally_vulkan_recording_dispatch(tally_vulkan_recording *recording, const tally_vulkan_program *program,
                                             const void *arguments, size_t bytes, uint64_t groups);
/* The command buffer, for tally_run to record into. */
tally_stream tally_vulkan_recording_stream(tally_vulkan_recording *recording);
/* Submits, waits, and returns the seconds between the readings. */
tally_status tally_vulkan_recording_run(tally_vulkan_recording *recording, double *seconds);

#endif
