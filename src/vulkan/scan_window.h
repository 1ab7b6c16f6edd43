/* Exact scans of all values in a window (kernels/scan_window.comp), which come before those in all words. */
#ifndef TALLY_VULKAN_SCAN_WINDOW_H
#define TALLY_VULKAN_SCAN_WINDOW_H

#include "vulkan/dispatch.h"

/* Loads a plan's kernels of them, if the device and the types have such scans. */
tally_status tally_vulkan_window_load(tally_vulkan_plan *plan);

/* Adds one to the cut of an exact scan, if the plan has the kernels and there are enough elements. */
void tally_vulkan_window_cut(const tally_vulkan_plan *plan, tally_vulkan_cut *cut);

/* 'scan' has its 'window'. If elements do not fit, that says so, and the kernels in all words give the results. */
void tally_vulkan_window_launch(const tally_vulkan_launch *launch, const tally_vulkan_arguments *scan);

#endif
