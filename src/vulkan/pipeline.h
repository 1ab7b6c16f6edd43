/* Pipelines: a kernel of a variant's module with its specialization constants. Made when a plan is created, and kept by
 * the device. */
#ifndef TALLY_VULKAN_PIPELINE_H
#define TALLY_VULKAN_PIPELINE_H

#include "core/computation.h"
#include "vulkan/specialize.h"
#include "vulkan/vulkan.h"

enum { TALLY_VULKAN_CONSTANTS = 21 };

/* The choices that are made with a kernel's pipeline, by the constant_ids in the texts of kernels/. */
typedef struct tally_vulkan_choices {
    uint32_t constant[TALLY_VULKAN_CONSTANTS];
} tally_vulkan_choices;

/* A computation's variant in variants.def. */
tally_vulkan_arithmetic tally_vulkan_arithmetic_of(const tally_vulkan_device *device, const tally_computation *c);

/* 'IN + 16 * OUT ...', as prelude.comp explains it. */
uint32_t tally_vulkan_types_of(const tally_computation *c);

/* TALLY_UNSUPPORTED, with its name, for a feature that the computation needs and the device lacks. */
tally_status tally_vulkan_module_check(const tally_vulkan_device *device, const tally_computation *c);

/* The code of a computation that passed this check, and what its accumulators take. A user's operator is compiled here.
 * Any thread may call, of this and the two that follow. */
/* The module of running variances. */
tally_status tally_vulkan_moments_get(tally_vulkan_device *device, const tally_vulkan_module **module);
tally_status tally_vulkan_module_get(tally_vulkan_device *device, const tally_computation *c,
                                     const tally_vulkan_module **module, tally_vulkan_slot *slot);

/* Special versions of a plan's kernel. */
typedef enum tally_vulkan_purpose {
    TALLY_VULKAN_PLAIN,
    TALLY_VULKAN_FROM_SLOTS,  /* the reduction that folds accumulators */
    TALLY_VULKAN_BY_ROWS,     /* the reduction of rows, without what columns take */
    TALLY_VULKAN_BY_COLUMNS,  /* the reduction of several columns a thread, without what other shapes take */
    TALLY_VULKAN_BY_FEW_ROWS, /* the kernel of few rows */
    TALLY_VULKAN_AS_STRETCH,  /* that of few columns */
    TALLY_VULKAN_ANYWHERE,    /* tiles of scans that begin where vectors of 16 bytes do not */
    TALLY_VULKAN_PURPOSES,
    TALLY_VULKAN_SHIFTED = 256 /* scan_once.comp, and X_AHEAD + 16 * OUT_AHEAD of its text (dispatch.h) */
} tally_vulkan_purpose;

/* 'block': threads a workgroup. */
tally_status tally_vulkan_pipeline_get(tally_vulkan_device *device, const tally_computation *c,
                                       const tally_vulkan_module *module, unsigned block, tally_vulkan_kernel kernel,
                                       tally_vulkan_purpose purpose, VkPipeline *pipeline);

/* For a kernel that does not depend on the monoid. */
tally_status tally_vulkan_service_get(tally_vulkan_device *device, const tally_computation *c,
                                      tally_vulkan_kernel kernel, VkPipeline *pipeline);

void tally_vulkan_pipelines_destroy(tally_vulkan_device *device);

#endif
