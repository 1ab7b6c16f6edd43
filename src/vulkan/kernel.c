#include "vulkan/kernel.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vulkan/plan.h"
#include "vulkan/vulkan.h"

enum { MOST_ARGUMENT_BYTES = 128, MOST_GRID_X = 65535 };

/* NULL with a message for a device of another back end. */
static tally_vulkan_device *vulkan_of(tally_device *device) {
    tally_vulkan_device *vulkan = (tally_vulkan_device *)device;
    if (device && device->interface->plan_create == tally_vulkan_plan_create && vulkan->owns_device)
        return vulkan;
    tally_fail(TALLY_UNSUPPORTED, "kernels of a program's own: this is not a Vulkan device that the library opened");
    return NULL;
}

tally_status tally_vulkan_facts_of(tally_device *device, tally_vulkan_facts *facts) {
    const tally_vulkan_device *vulkan = vulkan_of(device);
    if (!vulkan)
        return TALLY_UNSUPPORTED;
    *facts = (tally_vulkan_facts){.is_software = vulkan->is_software, .adds_floats = vulkan->adds_floats};
    return TALLY_OK;
}

/* ---- programs ---- */

struct tally_vulkan_program {
    tally_vulkan_device *device;
    VkShaderModule module;
    VkPipeline pipeline;
};

static tally_status make(tally_vulkan_program *p, const uint32_t *words, size_t bytes, uint32_t block) {
    const tally_vulkan_api *api = &p->device->api;
    const VkShaderModuleCreateInfo module = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words};
    const VkSpecializationMapEntry entry = {0, 0, sizeof block};
    const VkSpecializationInfo constants = {1, &entry, sizeof block, &block};
    VkResult result = api->vkCreateShaderModule(p->device->device, &module, NULL, &p->module);
    if (result == VK_SUCCESS) {
        const VkComputePipelineCreateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = p->module,
                      .pName = "main",
                      .pSpecializationInfo = &constants},
            .layout = p->device->layout};
        result = api->vkCreateComputePipelines(p->device->device, p->device->cache, 1, &info, NULL, &p->pipeline);
    }
    return tally_vulkan_check(result, "compiling a kernel");
}

tally_status tally_vulkan_program_make(tally_device *device, const uint32_t *words, size_t bytes, unsigned block,
                                       tally_vulkan_program **program) {
    tally_vulkan_device *vulkan = vulkan_of(device);
    if (!vulkan)
        return TALLY_UNSUPPORTED;
    tally_vulkan_program *made = calloc(1, sizeof *made);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a kernel");
    made->device = vulkan;
    const tally_status status = make(made, words, bytes, block);
    if (status == TALLY_OK)
        *program = made;
    else
        tally_vulkan_program_destroy(made);
    return status;
}

void tally_vulkan_program_destroy(tally_vulkan_program *p) {
    if (!p)
        return;
    p->device->api.vkDestroyPipeline(p->device->device, p->pipeline, NULL);
    p->device->api.vkDestroyShaderModule(p->device->device, p->module, NULL);
    free(p);
}

/* ---- recordings ---- */

struct tally_vulkan_recording {
    tally_vulkan_device *device;
    tally_vulkan_commands commands;
    VkQueryPool clock; /* none: the queue may have none, and the host's is taken */
    double period;     /* seconds a tick */
    PFN_vkCmdFillBuffer fill;
    PFN_vkCmdResetQueryPool reset;
    PFN_vkCmdWriteTimestamp stamp;
    PFN_vkGetQueryPoolResults results;
    PFN_vkDestroyQueryPool destroy_clock;
};

static PFN_vkVoidFunction find(const tally_vulkan_device *device, const char *name) {
    return device->loader.vkGetDeviceProcAddr(device->device, name);
}

/* Functions of Vulkan 1.0 that the library itself does not use. */
static tally_status make_clock(tally_vulkan_recording *r) {
    tally_vulkan_device *device = r->device;
    const PFN_vkCreateQueryPool create = (PFN_vkCreateQueryPool)find(device, "vkCreateQueryPool");
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VkPhysicalDeviceProperties properties;
    device->loader.vkGetPhysicalDeviceProperties(device->physical, &properties);
    if (!properties.limits.timestampComputeAndGraphics)
        return TALLY_OK;
    r->period = properties.limits.timestampPeriod * 1e-9;
    r->reset = (PFN_vkCmdResetQueryPool)find(device, "vkCmdResetQueryPool");
    r->stamp = (PFN_vkCmdWriteTimestamp)find(device, "vkCmdWriteTimestamp");
    r->results = (PFN_vkGetQueryPoolResults)find(device, "vkGetQueryPoolResults");
    r->destroy_clock = (PFN_vkDestroyQueryPool)find(device, "vkDestroyQueryPool");
    if (!create || !r->reset || !r->stamp || !r->results || !r->destroy_clock)
        return tally_fail(TALLY_DEVICE_FAILED, "this Vulkan driver lacks a function of timestamps");
    return tally_vulkan_check(create(device->device, &info, NULL, &r->clock), "creating a timer");
}

tally_status tally_vulkan_recording_create(tally_device *device, tally_vulkan_recording **recording) {
    tally_vulkan_device *vulkan = vulkan_of(device);
    if (!vulkan)
        return TALLY_UNSUPPORTED;
    tally_vulkan_recording *made = calloc(1, sizeof *made);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a recording");
    made->device = vulkan;
    made->fill = (PFN_vkCmdFillBuffer)find(vulkan, "vkCmdFillBuffer");
    tally_status status = made->fill ? tally_vulkan_commands_create(vulkan, &made->commands)
                                     : tally_fail(TALLY_DEVICE_FAILED, "this Vulkan driver lacks vkCmdFillBuffer");
    if (status == TALLY_OK)
        status = make_clock(made);
    if (status == TALLY_OK)
        *recording = made;
    else
        tally_vulkan_recording_destroy(made);
    return status;
}

void tally_vulkan_recording_destroy(tally_vulkan_recording *r) {
    if (!r)
        return;
    if (r->clock)
        r->destroy_clock(r->device->device, r->clock, NULL);
    tally_vulkan_commands_destroy(r->device, &r->commands);
    free(r);
}

static void stamp(tally_vulkan_recording *r, uint32_t which, VkPipelineStageFlagBits stage) {
    if (r->clock)
        r->stamp(r->commands.buffer, stage, r->clock, which);
}

static const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

/* Makes all earlier writes visible to all later commands. */
static void then(tally_vulkan_recording *r) {
    tally_vulkan_barrier(r->device, r->commands.buffer, work, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                         work,
                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                             VK_ACCESS_TRANSFER_WRITE_BIT);
}

tally_status tally_vulkan_recording_begin(tally_vulkan_recording *r) {
    const tally_status status = tally_vulkan_begin(r->device, &r->commands);
    if (status != TALLY_OK)
        return status;
    if (r->clock)
        r->reset(r->commands.buffer, r->clock, 0, 2);
    then(r);
    stamp(r, 0, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    return TALLY_OK;
}

tally_status tally_vulkan_recording_fill(tally_vulkan_recording *r, void *memory, uint32_t word, size_t words) {
    tally_vulkan_memory found;
    if (!tally_vulkan_find(r->device, memory, &found))
        return tally_fail(TALLY_INVALID_ARGUMENT, "filling memory that the device does not know");
    r->fill(r->commands.buffer, found.buffer, tally_vulkan_address(memory) - found.address, words * sizeof word, word);
    then(r);
    return TALLY_OK;
}

tally_status tally_vulkan_recording_dispatch(tally_vulkan_recording *r, const tally_vulkan_program *program,
                                             const void *arguments, size_t bytes, uint64_t groups) {
    const tally_vulkan_api *api = &r->device->api;
    unsigned char all[MOST_ARGUMENT_BYTES] = {0};
    const uint64_t rows = groups / MOST_GRID_X + (groups % MOST_GRID_X != 0);
    if (bytes > sizeof all || groups < 1 || rows > MOST_GRID_X)
        return tally_fail(TALLY_INVALID_ARGUMENT, "a dispatch of %llu workgroups with %zu bytes of arguments",
                          (unsigned long long)groups, bytes);
    memcpy(all, arguments, bytes);
    api->vkCmdBindPipeline(r->commands.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, program->pipeline);
    api->vkCmdPushConstants(r->commands.buffer, r->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof all, all);
    api->vkCmdDispatch(r->commands.buffer, (uint32_t)(rows > 1 ? MOST_GRID_X : groups), (uint32_t)rows, 1);
    then(r);
    return TALLY_OK;
}

tally_stream tally_vulkan_recording_stream(tally_vulkan_recording *r) {
    return (tally_stream)r->commands.buffer;
}

static double host_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

tally_status tally_vulkan_recording_run(tally_vulkan_recording *r, double *seconds) {
    uint64_t ticks[2] = {0, 0};
    then(r);
    stamp(r, 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    const double start = host_now();
    tally_status status = tally_vulkan_submit(r->device, &r->commands, false, "running a kernel");
    *seconds = host_now() - start;
    if (status != TALLY_OK || !r->clock)
        return status;
    status = tally_vulkan_check(r->results(r->device->device, r->clock, 0, 2, sizeof ticks, ticks, sizeof *ticks,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                                "reading the device's clock");
    if (status == TALLY_OK)
        *seconds = (double)(ticks[1] - ticks[0]) * r->period;
    return status;
}
