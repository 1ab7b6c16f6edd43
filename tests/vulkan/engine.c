/* A program that uses Vulkan itself: it makes instance, device, buffers and command buffers, lets the library record
 * into them, and submits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tally/vulkan.h"
#include "vulkan/driver.h"

typedef struct engine {
    const tally_vulkan_loader *loader;
    tally_vulkan_api api;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties types;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    VkCommandBuffer commands;
    tally_device *tally;
} engine;

typedef struct buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceAddress address;
    void *host;
} buffer;

static void check(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "engine: %s failed: %s\n", what, tally_last_error());
        exit(1);
    }
}
#define VULKAN(call) check((call) == VK_SUCCESS, #call)
#define TALLY(call)  check((call) == TALLY_OK, #call)

static void *pointer(VkDeviceAddress address) {
    return (void *)(uintptr_t)address;
}

static void open_engine(engine *e) {
    uint32_t count = 1;
    tally_vulkan_requirements needs = {.struct_size = sizeof needs};
    const VkResult listed = e->loader->vkEnumeratePhysicalDevices(e->loader->instance, &count, &e->physical);
    check((listed == VK_SUCCESS || listed == VK_INCOMPLETE) && count == 1, "listing devices");
    TALLY(tally_vulkan_require(e->loader->instance, e->physical, &needs));
    VkPhysicalDeviceProperties properties;
    e->loader->vkGetPhysicalDeviceProperties(e->physical, &properties);
    e->loader->vkGetPhysicalDeviceMemoryProperties(e->physical, &e->types);
    printf("%s\n", properties.deviceName);
    VkPhysicalDeviceVulkan12Features v12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                            .bufferDeviceAddress = (VkBool32)needs.buffer_device_address};
    const VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &v12,
        .features = {.shaderInt64 = (VkBool32)needs.shader_int64, .shaderFloat64 = (VkBool32)needs.shader_float64}};
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &features,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
    VULKAN(e->loader->vkCreateDevice(e->physical, &info, NULL, &e->device));
    TALLY(tally_vulkan_device_functions(e->loader, e->device, &e->api));
    e->api.vkGetDeviceQueue(e->device, 0, 0, &e->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
    VULKAN(e->api.vkCreateCommandPool(e->device, &pool, NULL, &e->pool));
    const VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = e->pool, .commandBufferCount = 1};
    VULKAN(e->api.vkAllocateCommandBuffers(e->device, &one, &e->commands));
    const tally_vulkan_context context = {.struct_size = sizeof context,
                                          .instance = e->loader->instance,
                                          .physical_device = e->physical,
                                          .device = e->device,
                                          .shader_float64 = needs.shader_float64,
                                          .shader_int64 = needs.shader_int64};
    TALLY(tally_vulkan_open(&context, &e->tally));
}

static void close_engine(engine *e) {
    tally_close(e->tally);
    e->api.vkDestroyCommandPool(e->device, e->pool, NULL);
    e->api.vkDestroyDevice(e->device, NULL);
}

static buffer make_buffer(engine *e, VkDeviceSize bytes, VkMemoryPropertyFlags wanted) {
    buffer b = {0};
    VkMemoryRequirements needs;
    uint32_t type = 0;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                              VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VULKAN(e->api.vkCreateBuffer(e->device, &info, NULL, &b.buffer));
    e->api.vkGetBufferMemoryRequirements(e->device, b.buffer, &needs);
    while (type < e->types.memoryTypeCount &&
           (!(needs.memoryTypeBits >> type & 1) || (e->types.memoryTypes[type].propertyFlags & wanted) != wanted))
        type++;
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .pNext = &flags,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = type};
    VULKAN(e->api.vkAllocateMemory(e->device, &memory, NULL, &b.memory));
    VULKAN(e->api.vkBindBufferMemory(e->device, b.buffer, b.memory, 0));
    if (wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
        VULKAN(e->api.vkMapMemory(e->device, b.memory, 0, VK_WHOLE_SIZE, 0, &b.host));
    const VkBufferDeviceAddressInfo where = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = b.buffer};
    b.address = e->api.vkGetBufferDeviceAddress(e->device, &where);
    return b;
}

static void free_buffer(engine *e, buffer *b) {
    e->api.vkDestroyBuffer(e->device, b->buffer, NULL);
    e->api.vkFreeMemory(e->device, b->memory, NULL);
}

static void begin(engine *e) {
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VULKAN(e->api.vkBeginCommandBuffer(e->commands, &info));
}

static void barrier(engine *e, VkPipelineStageFlags from, VkAccessFlags wrote, VkPipelineStageFlags to,
                    VkAccessFlags reads) {
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = reads};
    e->api.vkCmdPipelineBarrier(e->commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void submit(engine *e) {
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &e->commands};
    VULKAN(e->api.vkEndCommandBuffer(e->commands));
    VULKAN(e->api.vkQueueSubmit(e->queue, 1, &info, VK_NULL_HANDLE));
    VULKAN(e->api.vkDeviceWaitIdle(e->device));
}

enum { MAPPED = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT };

/* ---- the test ---- */

static tally_plan *plan_for(engine *e, tally_op op, tally_form form, tally_grouping grouping, tally_dtype in) {
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan;
    desc.op = op;
    desc.form = form;
    desc.grouping = grouping;
    desc.in = in;
    TALLY(tally_plan_create(e->tally, &desc, &plan));
    return plan;
}

enum {
    N = 100000,
    COUNT = 70001,
    GROUPS = 600,
    OUT = 4 * N,
    EXTRA = OUT + 8 * N,
    WORKSPACE = EXTRA + 256,
    ROOM = WORKSPACE + (8 << 20)
};

/* Records one run on mapped memory: i32 values, keys and labels that are values too, a count, results, a workspace. */
static void run_recorded(engine *e, buffer *b, tally_plan *plan, const tally_vulkan_extra *extra) {
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = N;
    args.x = pointer(b->address);
    args.keys = args.labels = pointer(b->address);
    args.shape.groups = GROUPS;
    args.out = pointer(b->address + OUT);
    args.out_bytes = 8 * N;
    args.workspace = pointer(b->address + WORKSPACE);
    TALLY(tally_plan_workspace(plan, &args.shape, &args.workspace_bytes));
    check(args.workspace_bytes <= ROOM - WORKSPACE, "the workspace's size");
    begin(e);
    if (extra)
        TALLY(tally_vulkan_record(plan, &args, extra, e->commands));
    else
        TALLY(tally_run(plan, &args, e->commands));
    barrier(e, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_HOST_READ_BIT);
    submit(e);
    tally_plan_destroy(plan);
}

/* Errors that the call can see are refused, and nothing is recorded. */
static void test_refusals(engine *e) {
    buffer b = make_buffer(e, ROOM, MAPPED);
    tally_plan *plan = plan_for(e, TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_I32), *of_cpu = NULL, *sized = NULL;
    tally_device *cpu = NULL, *opened = NULL;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT, other;
    tally_vulkan_extra extra = {.struct_size = sizeof extra};
    tally_vulkan_context context = {.struct_size = sizeof context, .instance = e->loader->instance};
    size_t workspace = 0;
    desc.in = TALLY_I32;
    args.shape.extent = 1 << 20;
    args.x = pointer(b.address);
    args.out = pointer(b.address + ((VkDeviceAddress)1 << 24)); /* nothing is run */
    args.out_bytes = 8;
    TALLY(tally_open("cpu", &cpu));
    TALLY(tally_plan_create(cpu, &desc, &of_cpu));
    TALLY(tally_plan_workspace(plan, &args.shape, &workspace));
    desc.flags = TALLY_SIZE_ON_DEVICE;
    TALLY(tally_plan_create(e->tally, &desc, &sized));
    begin(e);
    check(tally_run(plan, &args, TALLY_SYNCHRONOUS) == TALLY_UNSUPPORTED, "refusing a synchronous run");
    check(tally_push(plan, &args) == TALLY_UNSUPPORTED, "refusing a piece");
    check(tally_vulkan_record(plan, &args, NULL, NULL) == TALLY_INVALID_ARGUMENT, "refusing no command buffer");
    check(tally_vulkan_record(of_cpu, &args, NULL, e->commands) == TALLY_INVALID_ARGUMENT, "refusing another's plan");
    check(tally_vulkan_record(sized, &args, NULL, e->commands) == TALLY_INVALID_ARGUMENT, "refusing a size elsewhere");
    other = args;
    other.x = NULL; /* the address of a buffer without VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT */
    check(tally_vulkan_record(plan, &other, NULL, e->commands) == TALLY_INVALID_ARGUMENT, "refusing no address");
    other = args;
    other.workspace = pointer(b.address + 4);
    other.workspace_bytes = workspace;
    check(tally_vulkan_record(plan, &other, NULL, e->commands) == TALLY_INVALID_ARGUMENT,
          "refusing a crooked workspace");
    other.workspace = pointer(b.address);
    other.workspace_bytes = workspace - 1;
    check(tally_vulkan_record(plan, &other, NULL, e->commands) == TALLY_INVALID_ARGUMENT, "refusing a small workspace");
    extra.runs = b.address;
    check(tally_vulkan_record(plan, &args, &extra, e->commands) == TALLY_INVALID_ARGUMENT,
          "refusing runs without keys");
    extra.struct_size = 8;
    check(tally_vulkan_record(plan, &args, &extra, e->commands) == TALLY_INVALID_ARGUMENT, "refusing another struct");
    check(tally_vulkan_open(&context, &opened) == TALLY_INVALID_ARGUMENT, "refusing no device");
    context.struct_size = 8;
    check(tally_vulkan_open(&context, &opened) == TALLY_INVALID_ARGUMENT, "refusing another context");
    submit(e);
    tally_plan_destroy(plan);
    tally_plan_destroy(of_cpu);
    tally_plan_destroy(sized);
    tally_close(cpu);
    free_buffer(e, &b);
}

static void test(engine *e) {
    buffer b = make_buffer(e, ROOM, MAPPED);
    int32_t *x = b.host;
    int64_t *out = (int64_t *)(void *)((char *)b.host + OUT), sum = 0, sum_of_some = 0;
    uint64_t *count = (uint64_t *)(void *)((char *)b.host + EXTRA), runs = 0;
    tally_vulkan_extra extra = {.struct_size = sizeof extra, .count = b.address + EXTRA};
    for (int i = 0; i < N; i++) {
        x[i] = i / 7 % 1000 - 400;
        sum += x[i];
        sum_of_some += i < COUNT ? x[i] : 0;
        runs += i == 0 || x[i] != x[i - 1];
    }
    run_recorded(e, &b, plan_for(e, TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_I32), NULL);
    check(out[0] == sum, "a sum");
    *count = COUNT;
    run_recorded(e, &b, plan_for(e, TALLY_SUM, TALLY_REDUCE, TALLY_ALL_VALUES, TALLY_I32), &extra);
    check(out[0] == sum_of_some, "a sum with its count in device memory");
    memset(out, 0, 8 * N);
    run_recorded(e, &b, plan_for(e, TALLY_SUM, TALLY_INCLUSIVE_SCAN, TALLY_ALL_VALUES, TALLY_I32), &extra);
    check(out[COUNT - 1] == sum_of_some && out[COUNT] == 0, "a scan with its count in device memory");
    extra = (tally_vulkan_extra){.struct_size = sizeof extra, .runs = b.address + EXTRA + 8};
    tally_desc desc = TALLY_DESC_INIT;
    tally_plan *plan;
    desc.grouping = TALLY_KEYS;
    desc.in = desc.index = TALLY_I32;
    TALLY(tally_plan_create(e->tally, &desc, &plan));
    run_recorded(e, &b, plan, &extra);
    check(count[1] == runs && out[0] == 7 * -400, "sums by keys with the number of runs in device memory");
    memset(out, 1, 8 * N);
    desc.grouping = TALLY_LABELS;
    TALLY(tally_plan_create(e->tally, &desc, &plan));
    run_recorded(e, &b, plan, NULL);
    check(memcmp(out, (char *)out + 1, 8 * GROUPS) == 0, "bad labels, which leave the output as it was");
    desc.flags = TALLY_SKIP_BAD_LABELS;
    TALLY(tally_plan_create(e->tally, &desc, &plan));
    run_recorded(e, &b, plan, NULL);
    for (int g = 0; g < GROUPS; g++) {
        int64_t of_group = 0;
        for (int i = 0; i < N; i++)
            of_group += x[i] == g ? g : 0;
        check(out[g] == of_group, "sums by labels");
    }
    free_buffer(e, &b);
    test_refusals(e);
    printf("recorded sums, scans, runs of keys and labels: all right\n");
}

int main(void) {
    engine e = {0};
    if (tally_vulkan_driver(&e.loader) != TALLY_OK) {
        printf("%s\n", tally_last_error());
        return 1;
    }
    open_engine(&e);
    test(&e);
    close_engine(&e);
    return 0;
}
