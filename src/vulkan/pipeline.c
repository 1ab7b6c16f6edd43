#include "vulkan/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "exact/superaccumulator.h"
#include "gpu/cache.h"
#include "gpu/hash.h"
#include "vulkan/adapt.h"
#include "vulkan/branches.h"
#include "vulkan/compiler.h"
#include "vulkan/entries.h"
#include "vulkan/exact.h"
#include "vulkan/modules.h"
#include "vulkan/pipeline_cache.h"
#include "vulkan/prune.h"
#include "vulkan/translate.h"

typedef tally_vulkan_packed_module packed_module;

struct tally_vulkan_module {
    tally_vulkan_module *next;
    const packed_module *packed; /* NULL: a user's operator, identified by the hash of its text */
    tally_key text;
    size_t count;
    uint32_t words[];
};

struct tally_vulkan_pipeline {
    tally_vulkan_pipeline *next;
    const tally_vulkan_module *module;
    tally_vulkan_kernel kernel;
    tally_vulkan_choices choices;
    VkPipeline pipeline;
};

/* ---- which variant ---- */

static tally_vulkan_arithmetic of_value(tally_dtype in) {
    if (tally_dtype_is_float(in))
        return in == TALLY_F64 ? TALLY_VULKAN_f64 : TALLY_VULKAN_f32;
    if (tally_dtype_size(in) == 8)
        return tally_dtype_is_signed(in) ? TALLY_VULKAN_i64 : TALLY_VULKAN_u64;
    return tally_dtype_is_signed(in) ? TALLY_VULKAN_i32 : TALLY_VULKAN_u32;
}

/* Results that are computed in floats, such as a mean. */
static bool lowers_in_floats(const tally_computation *c) {
    return tally_lower_component(c->entry->lower) < 0 && c->entry->result != TALLY_RESULT_FLAG;
}

/* Sums of floats: in doubles if the device has them. A scan of f32 has a result per element, and rounds each. */
static tally_vulkan_arithmetic of_float_sum(const tally_vulkan_device *device, const tally_computation *c) {
    if (c->desc.acc == TALLY_F64 || c->desc.out == TALLY_F64)
        return TALLY_VULKAN_f64;
    if (!device->has_double || (tally_is_scan(c) && !lowers_in_floats(c)))
        return TALLY_VULKAN_f32;
    const bool in_lanes = !tally_is_scan(c) && c->monoid != TALLY_MONOID_prod;
    return in_lanes ? TALLY_VULKAN_f32w : TALLY_VULKAN_f64;
}

static tally_vulkan_arithmetic of_exact(const tally_vulkan_device *device, const tally_computation *c) {
    const bool sums = tally_vulkan_exact_monoid_of(c) == TALLY_MONOID_sum;
    if (c->in_window)
        return c->desc.in == TALLY_F64 ? TALLY_VULKAN_window64 : TALLY_VULKAN_window32;
    if (tally_is_exact_scan(c))
        return c->desc.in == TALLY_F64 || c->desc.out == TALLY_F64 ? TALLY_VULKAN_scan64 : TALLY_VULKAN_scan32;
    if (c->desc.in == TALLY_F64)
        return sums && device->has_double && device->has_int64 && device->rounds_f64 ? TALLY_VULKAN_exact64f
                                                                                     : TALLY_VULKAN_exact64;
    return sums && device->rounds_f32 ? TALLY_VULKAN_exact32f : TALLY_VULKAN_exact32;
}

tally_vulkan_arithmetic tally_vulkan_arithmetic_of(const tally_vulkan_device *device, const tally_computation *c) {
    const tally_dtype in = c->desc.in;
    if (!c->entry)
        return of_value(in);
    if (c->exact)
        return of_exact(device, c);
    switch (tally_monoid_texts[c->monoid].kind) {
    case TALLY_CLASS_SUM:
    case TALLY_CLASS_SQUARE:
    case TALLY_CLASS_TOTAL:
        if (tally_dtype_is_float(c->desc.acc))
            return of_float_sum(device, c);
        return lowers_in_floats(c) && !c->rounds_integer ? TALLY_VULKAN_u64d : TALLY_VULKAN_u64;
    case TALLY_CLASS_COUNT:
        return TALLY_VULKAN_bits;
    case TALLY_CLASS_BITS:
        return c->in_bytes == 8 ? TALLY_VULKAN_u64 : TALLY_VULKAN_u32;
    case TALLY_CLASS_MAGNITUDE:
        return of_value(tally_dtype_to_unsigned(in));
    case TALLY_CLASS_FLOATS: {
        const bool is_narrow = c->monoid == TALLY_MONOID_logsumexp && tally_dtype_is_float(in) &&
                               c->desc.acc == TALLY_F32 && c->desc.out != TALLY_F64;
        return is_narrow ? TALLY_VULKAN_f32 : TALLY_VULKAN_f64;
    }
    case TALLY_CLASS_INTEGERS:
        return TALLY_VULKAN_u64;
    default:
        return of_value(in);
    }
}

enum { FORM_SCANS = 4 };
static uint32_t form_of(const tally_computation *c) {
    return (c->desc.form == TALLY_INCLUSIVE_SCAN ? 1 : 0) | (c->reverse ? 2 : 0) | (tally_is_scan(c) ? FORM_SCANS : 0) |
           (c->desc.grouping == TALLY_KEYS ? 8 : 0) | (c->desc.grouping == TALLY_AXIS && tally_is_scan(c) ? 16 : 0);
}

uint32_t tally_vulkan_types_of(const tally_computation *c) {
    return (uint32_t)c->desc.in | (uint32_t)c->desc.out << 4 | (uint32_t)c->desc.index << 8 |
           (uint32_t)(c->desc.op + 1) << 12 | (form_of(c) + 1) << 20;
}

/* constant_ids */
enum {
    BLOCK,
    IN,
    OUT,
    INDEX,
    OPERATOR,
    FORM,
    FROM_SLOTS,
    BY_AXIS,
    KEEPS_SUBNORMALS,
    KEEPS_HALVES,
    VECTORS,
    ANYWHERE,
    SKIPS_NAN,
    ALONG_ROWS,
    ALONG_COLUMNS,
    AS_STRETCH,
    LANES,
    STORES_BYTES,
    ROUNDS_TO_F32,
    X_AHEAD,
    OUT_AHEAD
};
_Static_assert(OUT_AHEAD + 1 == TALLY_VULKAN_CONSTANTS, "the kernels' constants");

static tally_vulkan_choices choices_of(const tally_vulkan_device *device, const tally_computation *c, unsigned block,
                                       tally_vulkan_kernel kernel, tally_vulkan_purpose purpose) {
    tally_vulkan_choices choices = {{[BLOCK] = block}};
    /* If kernels compile for a CPU, compiling takes longer than running: the types and the form are arguments of each
     * run instead of constants, so that few pipelines serve all. */
    if (!device->is_software) {
        choices.constant[IN] = (uint32_t)c->desc.in;
        choices.constant[OUT] = (uint32_t)c->desc.out;
        choices.constant[INDEX] = (uint32_t)c->desc.index;
        choices.constant[OPERATOR] = (uint32_t)c->desc.op + 1;
        choices.constant[FORM] = form_of(c) + 1;
    }
    choices.constant[FROM_SLOTS] = purpose == TALLY_VULKAN_FROM_SLOTS;
    choices.constant[BY_AXIS] = device->is_software || c->desc.grouping != TALLY_ALL_VALUES;
    const bool becomes_double = tally_vulkan_arithmetic_of(device, c) == TALLY_VULKAN_f64 && c->desc.in != TALLY_F64;
    choices.constant[KEEPS_SUBNORMALS] =
        (c->exact || becomes_double) && (c->desc.in == TALLY_F64 ? device->keeps_f64 : device->keeps_f32);
    /* Keeping subnormal f16 makes a sum of f32 take 259 us instead of 251 on an H200. */
    choices.constant[KEEPS_HALVES] = device->keeps_f16 && c->desc.in == TALLY_F16;
    if (kernel == TALLY_VULKAN_SCAN_ONCE || kernel == TALLY_VULKAN_GROUPS_ONCE)
        choices.constant[VECTORS] =
            tally_vulkan_once_vectors(tally_vulkan_slot_of(c->monoid, tally_vulkan_arithmetic_of(device, c)));
    const uint32_t ahead = purpose >= TALLY_VULKAN_SHIFTED ? (uint32_t)purpose - TALLY_VULKAN_SHIFTED : 0;
    choices.constant[ANYWHERE] = !ahead && (purpose == TALLY_VULKAN_ANYWHERE || device->is_software);
    choices.constant[X_AHEAD] = ahead % 16;
    choices.constant[OUT_AHEAD] = ahead / 16;
    choices.constant[SKIPS_NAN] = c->skips_nan;
    choices.constant[ALONG_ROWS] = purpose == TALLY_VULKAN_BY_ROWS;
    choices.constant[ALONG_COLUMNS] = purpose == TALLY_VULKAN_BY_COLUMNS || purpose == TALLY_VULKAN_AS_STRETCH;
    choices.constant[AS_STRETCH] = purpose == TALLY_VULKAN_AS_STRETCH;
    choices.constant[LANES] = device->lanes;
    choices.constant[STORES_BYTES] = device->stores_bytes;
    choices.constant[ROUNDS_TO_F32] = becomes_double && tally_is_scan(c) && c->monoid != TALLY_MONOID_moments &&
                                      device->keeps_f32 && device->rounds_f32;
    return choices;
}

/* ---- modules ---- */

static const packed_module *find_packed(tally_monoid monoid, tally_vulkan_arithmetic arithmetic) {
    for (size_t k = 0; k < tally_vulkan_module_count; k++)
        if (tally_vulkan_modules[k].monoid == monoid && tally_vulkan_modules[k].arithmetic == arithmetic)
            return &tally_vulkan_modules[k];
    return NULL;
}

static tally_status load_module(tally_vulkan_device *device, const uint32_t *words, size_t count,
                                const packed_module *packed, tally_key text, const tally_vulkan_module **module) {
    tally_vulkan_module *made = malloc(sizeof *made + count * sizeof *made->words);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a kernel");
    *made = (tally_vulkan_module){.packed = packed, .text = text, .count = count};
    memcpy(made->words, words, count * sizeof *words);
    made->next = device->modules;
    device->modules = made;
    *module = made;
    return TALLY_OK;
}

static tally_status packed_module_get(tally_vulkan_device *device, const packed_module *packed,
                                      const tally_vulkan_module **module) {
    for (const tally_vulkan_module *m = device->modules; m; m = m->next)
        if (m->packed == packed) {
            *module = m;
            return TALLY_OK;
        }
    uint32_t *const words = malloc(packed->count * sizeof *words);
    uint32_t *const scratch = malloc(tally_vulkan_scratch_words(&tally_vulkan_module_bodies) * sizeof *scratch);
    tally_status status = TALLY_OUT_OF_MEMORY;
    if (words && scratch) {
        tally_vulkan_unpack_bytes();
        tally_vulkan_unpack(&tally_vulkan_module_bodies, packed, scratch, words);
        status = load_module(device, words, packed->count, packed, (tally_key){0}, module);
    } else {
        tally_fail(status, "no memory for a kernel");
    }
    free(scratch);
    free(words);
    return status;
}

/* From GLSL to a module whose entry points are the kernels. */
static tally_status compile_module(tally_vulkan_device *device, const char *text, tally_key key,
                                   const tally_vulkan_module **module) {
    enum { MORE = 4096 /* words that entry points take */ };
    uint32_t *words = NULL;
    size_t count = 0;
    tally_status status = tally_vulkan_compile(text, "the operator", &words, &count);
    if (status != TALLY_OK)
        return status;
    tally_image entries = {malloc((count + MORE) * sizeof *words), 0};
    if (entries.bytes)
        entries.size = sizeof *words * tally_vulkan_add_entries(words, count, entries.bytes, count + MORE);
    free(words);
    if (!entries.bytes)
        status = tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a kernel");
    else if (!entries.size)
        status = tally_fail(TALLY_DEVICE_FAILED, "libshaderc gives no SPIR-V that has the kernels");
    else
        status = load_module(device, entries.bytes, entries.size / sizeof *words, NULL, key, module);
    if (status == TALLY_OK)
        tally_cache_store(key, &entries);
    tally_image_free(&entries);
    return status;
}

static tally_status user_module_get(tally_vulkan_device *device, const char *text, const tally_vulkan_module **module) {
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add_text(&hash, "SPIR-V of a user's operator");
    tally_hash_add_text(&hash, tally_version());
    tally_hash_add_text(&hash, text);
    const tally_key key = tally_hash_end(&hash);
    tally_image image;
    for (const tally_vulkan_module *m = device->modules; m; m = m->next)
        if (!m->packed && tally_key_equal(m->text, key)) {
            *module = m;
            return TALLY_OK;
        }
    if (!tally_cache_load(key, &image))
        return compile_module(device, text, key, module);
    const tally_status status = load_module(device, image.bytes, image.size / sizeof(uint32_t), NULL, key, module);
    tally_image_free(&image);
    return status;
}

static const packed_module *packed_of(const tally_vulkan_device *device, const tally_computation *c) {
    return find_packed(c->exact ? tally_vulkan_exact_monoid_of(c) : c->monoid, tally_vulkan_arithmetic_of(device, c));
}

tally_status tally_vulkan_module_check(const tally_vulkan_device *device, const tally_computation *c) {
    const tally_vulkan_arithmetic arithmetic = tally_vulkan_arithmetic_of(device, c);
    const char *const in = tally_dtype_name(c->desc.in);
    if (!c->entry && !device->has_int64)
        return tally_fail(TALLY_UNSUPPORTED,
                          "a user operator takes indices and counts of 64 bits, and this device has no "
                          "shaderInt64");
    if (!c->entry)
        return TALLY_OK;
    if (!device->has_double && tally_vulkan_has_double(arithmetic))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s takes doubles, and this device has no shaderFloat64",
                          c->entry->name, in);
    if (!device->has_int64 && tally_vulkan_has_int64(c->monoid, arithmetic))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s takes integers of 64 bits, and this device has no shaderInt64",
                          c->entry->name, in);
    if (!packed_of(device, c))
        return tally_fail(TALLY_UNSUPPORTED, "%s of %s in %s on Vulkan: there is no kernel for it", c->entry->name, in,
                          tally_vulkan_arithmetic_names[arithmetic]);
    return TALLY_OK;
}

static tally_status find_user(tally_vulkan_device *device, const tally_computation *c,
                              const tally_vulkan_module **module, tally_vulkan_slot *slot) {
    tally_vulkan_operator user;
    tally_text text = {0};
    tally_status status = tally_vulkan_translate(c, &user);
    if (status != TALLY_OK)
        return status;
    if (user.has_double && !device->has_double)
        status = tally_fail(TALLY_UNSUPPORTED, "the user operator takes doubles, and this device has no shaderFloat64; "
                                               "numbers like 0.5 are doubles; 0.5f is a float");
    if (status == TALLY_OK) {
        tally_vulkan_specialize_user(&text, user.text.bytes, user.slot, tally_vulkan_arithmetic_of(device, c),
                                     user.has_double, c->user.commutes != 0);
        status = text.failed ? tally_fail(TALLY_OUT_OF_MEMORY, "no memory for the text of a kernel")
                             : user_module_get(device, text.bytes, module);
    }
    *slot = user.slot;
    free(text.bytes);
    free(user.text.bytes);
    return status;
}

static tally_status find_own(tally_vulkan_device *device, const tally_computation *c,
                             const tally_vulkan_module **module, tally_vulkan_slot *slot) {
    const tally_vulkan_arithmetic arithmetic = tally_vulkan_arithmetic_of(device, c);
    *slot = tally_is_exact_scan(c) ? (tally_vulkan_slot){tally_vulkan_prefix_bytes(arithmetic), 4}
            : c->exact             ? (tally_vulkan_slot){0, 4}
                                   : tally_vulkan_slot_of(c->monoid, arithmetic);
    return packed_module_get(device, packed_of(device, c), module);
}

tally_status tally_vulkan_module_get(tally_vulkan_device *device, const tally_computation *c,
                                     const tally_vulkan_module **module, tally_vulkan_slot *slot) {
    pthread_mutex_lock(&device->building);
    const tally_status status = c->entry ? find_own(device, c, module, slot) : find_user(device, c, module, slot);
    pthread_mutex_unlock(&device->building);
    return status;
}

tally_status tally_vulkan_moments_get(tally_vulkan_device *device, const tally_vulkan_module **module) {
    pthread_mutex_lock(&device->building);
    const tally_status status = packed_module_get(device, find_packed(TALLY_MONOID_moments, TALLY_VULKAN_f64r), module);
    pthread_mutex_unlock(&device->building);
    return status;
}

/* ---- pipelines ---- */

/* Reductions of all values keep their module's shared memory: with less, NVIDIA's driver makes slower code. On an H200
 * the maximum of 10^8 f32 then takes 116 us instead of 106, the sum of i32 105 instead of 101. The first pass of a scan
 * gains by having its own alone: running deviations of 1.1 * 10^7 i64 take 221 us instead of 265. They don't keep that
 * of slabs.comp and the kernels after it, long_runs.comp, labels.comp and of parts in group_tiles.comp, which were not
 * there when this was first measured. */
static bool is_better_whole(const tally_vulkan_module *module, tally_vulkan_kernel kernel,
                            const tally_vulkan_choices *choices) {
    const bool scans = (choices->constant[FORM] - 1) & FORM_SCANS;
    return kernel == TALLY_VULKAN_REDUCE && !choices->constant[BY_AXIS] && module->packed && !scans;
}
static bool keeps_memory_of(const tally_vulkan_module *module, tally_vulkan_kernel kernel) {
    const bool has_parts =
        tally_vulkan_part_of(module->packed->monoid, module->packed->arithmetic).kind != TALLY_VULKAN_ACCUMULATORS;
    const bool takes_parts = has_parts && kernel >= TALLY_VULKAN_GIVE_GROUPS && kernel <= TALLY_VULKAN_SEGMENT_TILES;
    return !takes_parts && (kernel < TALLY_VULKAN_SLABS || kernel > TALLY_VULKAN_NARROW_COLUMNS) &&
           kernel != TALLY_VULKAN_GIVE_LONG_RUNS && kernel != TALLY_VULKAN_JOIN_TILES &&
           kernel != TALLY_VULKAN_LONG_SEGMENTS &&
           (kernel < TALLY_VULKAN_COUNT_DIGITS || kernel >= TALLY_VULKAN_EXACT_ROWS);
}

/* The words of a kernel, by itself mostly, for this device; 'room' takes those of the module and what is added. */
static size_t words_of(const tally_vulkan_device *device, const tally_vulkan_module *module, tally_vulkan_kernel kernel,
                       const tally_vulkan_choices *choices, uint32_t *room) {
    const bool rounds = choices->constant[ROUNDS_TO_F32] ||
                        (module->packed && tally_vulkan_relies_on_rounding(module->packed->arithmetic));
    const bool keeps_halves = choices->constant[KEEPS_HALVES], keeps_floats = choices->constant[KEEPS_SUBNORMALS];
    const char *others[TALLY_VULKAN_KERNEL_COUNT];
    size_t other_count = 0;
    for (int k = 0; k < TALLY_VULKAN_KERNEL_COUNT && is_better_whole(module, kernel, choices); k++)
        if (keeps_memory_of(module, (tally_vulkan_kernel)k))
            others[other_count++] = tally_vulkan_kernel_names[k];
    uint32_t *words = malloc((module->count + 1) * sizeof *words);
    const size_t count = words ? tally_vulkan_prune(module->words, module->count, tally_vulkan_kernel_names[kernel],
                                                    others, other_count, words)
                               : 0;
    const size_t adapted =
        count ? tally_vulkan_adapt(device, rounds, keeps_halves, keeps_floats, words, count, room) : 0;
    free(words);
    return adapted && device->is_software ? tally_vulkan_drop_empty_sides(room, adapted) : adapted;
}

/* Also the hash of its words, by which its pipeline is kept. */
static tally_status load_kernel(tally_vulkan_device *device, const tally_vulkan_module *module,
                                tally_vulkan_kernel kernel, const tally_vulkan_choices *choices, VkShaderModule *loaded,
                                tally_key *key) {
    uint32_t *words = malloc((module->count + TALLY_VULKAN_ADAPT_WORDS) * sizeof *words);
    const size_t count = words ? words_of(device, module, kernel, choices, words) : 0;
    if (!count) {
        free(words);
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a kernel");
    }
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = count * sizeof *words, .pCode = words};
    tally_hash hash;
    tally_hash_begin(&hash);
    tally_hash_add(&hash, words, info.codeSize);
    *key = tally_hash_end(&hash);
    const VkResult result = device->api.vkCreateShaderModule(device->device, &info, NULL, loaded);
    free(words);
    return tally_vulkan_check(result, "loading a kernel");
}

static tally_status make_pipeline(tally_vulkan_device *device, const tally_vulkan_module *module,
                                  tally_vulkan_kernel kernel, const tally_vulkan_choices *choices,
                                  VkPipeline *pipeline) {
    VkSpecializationMapEntry entries[TALLY_VULKAN_CONSTANTS];
    VkShaderModule loaded;
    tally_key key;
    const tally_status status = load_kernel(device, module, kernel, choices, &loaded, &key);
    if (status != TALLY_OK)
        return status;
    for (uint32_t k = 0; k < TALLY_VULKAN_CONSTANTS; k++)
        entries[k] = (VkSpecializationMapEntry){k, k * (uint32_t)sizeof(uint32_t), sizeof(uint32_t)};
    const VkSpecializationInfo constants = {TALLY_VULKAN_CONSTANTS, entries, sizeof choices->constant,
                                            choices->constant};
    const VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                              .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                        .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                        .module = loaded,
                                                        .pName = tally_vulkan_kernel_names[kernel],
                                                        .pSpecializationInfo = &constants},
                                              .layout = device->layout};
    const tally_vulkan_cached cached = tally_vulkan_cache_find(device, key, kernel, choices);
    const VkResult result =
        device->api.vkCreateComputePipelines(device->device, cached.cache, 1, &info, NULL, pipeline);
    tally_vulkan_cache_done(device, &cached, result == VK_SUCCESS);
    device->api.vkDestroyShaderModule(device->device, loaded, NULL);
    return tally_vulkan_check(result, "compiling a kernel");
}

static tally_status find_or_make(tally_vulkan_device *device, const tally_vulkan_module *module,
                                 tally_vulkan_kernel kernel, const tally_vulkan_choices *choices,
                                 VkPipeline *pipeline) {
    for (const tally_vulkan_pipeline *p = device->pipelines; p; p = p->next)
        if (p->module == module && p->kernel == kernel && memcmp(&p->choices, choices, sizeof *choices) == 0) {
            *pipeline = p->pipeline;
            return TALLY_OK;
        }
    tally_vulkan_pipeline *made = calloc(1, sizeof *made);
    if (!made)
        return tally_fail(TALLY_OUT_OF_MEMORY, "no memory for a kernel");
    const tally_status status = make_pipeline(device, module, kernel, choices, &made->pipeline);
    if (status != TALLY_OK) {
        free(made);
        return status;
    }
    made->module = module;
    made->kernel = kernel;
    made->choices = *choices;
    made->next = device->pipelines;
    device->pipelines = made;
    *pipeline = made->pipeline;
    return TALLY_OK;
}

tally_status tally_vulkan_pipeline_get(tally_vulkan_device *device, const tally_computation *c,
                                       const tally_vulkan_module *module, unsigned block, tally_vulkan_kernel kernel,
                                       tally_vulkan_purpose purpose, VkPipeline *pipeline) {
    const tally_vulkan_choices choices = choices_of(device, c, block, kernel, purpose);
    pthread_mutex_lock(&device->building);
    const tally_status status = find_or_make(device, module, kernel, &choices, pipeline);
    pthread_mutex_unlock(&device->building);
    return status;
}

tally_status tally_vulkan_service_get(tally_vulkan_device *device, const tally_computation *c,
                                      tally_vulkan_kernel kernel, VkPipeline *pipeline) {
    const packed_module *packed = find_packed(TALLY_VULKAN_SERVICE_MONOID, TALLY_VULKAN_SERVICE_ARITHMETIC);
    tally_vulkan_choices choices = {{[BLOCK] = device->block, [BY_AXIS] = 1}};
    if (kernel >= TALLY_VULKAN_COUNT_DIGITS && !device->is_software) {
        choices.constant[IN] = (uint32_t)c->desc.in;
        choices.constant[INDEX] = (uint32_t)c->desc.index;
    }
    const tally_vulkan_module *module;
    pthread_mutex_lock(&device->building);
    tally_status status = packed_module_get(device, packed, &module);
    if (status == TALLY_OK)
        status = find_or_make(device, module, kernel, &choices, pipeline);
    pthread_mutex_unlock(&device->building);
    return status;
}

void tally_vulkan_pipelines_destroy(tally_vulkan_device *device) {
    for (tally_vulkan_pipeline *p = device->pipelines, *next; p; p = next) {
        next = p->next;
        device->api.vkDestroyPipeline(device->device, p->pipeline, NULL);
        free(p);
    }
    for (tally_vulkan_module *m = device->modules, *next; m; m = next) {
        next = m->next;
        free(m);
    }
}
