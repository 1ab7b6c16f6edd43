/* The instruction-set levels of this build and this processor. */
#include <string.h>

#include "core/status.h"
#include "cpu/level.h"

typedef struct choice {
    const tally_cpu_level *level;
    const tally_exact_kernels *exact;
    const tally_cpu_scans *scans;
    bool (*processor_has)(void);
} choice;

__attribute__((unused)) static bool always(void) {
    return true;
}

#if defined(__x86_64__)
/* Every processor with AVX2 has F16C, which clang 14 cannot ask for. */
__attribute__((unused)) static bool processor_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
__attribute__((unused)) static bool processor_has_avx512(void) {
    return processor_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512cd");
}
#endif

/* Best first. */
static const choice choices[] = {
#if defined(TALLY_HAS_LEVEL_avx512) && defined(__x86_64__)
    {&tally_cpu_level_avx512, &tally_exact_kernels_avx512, &tally_cpu_scans_avx512, processor_has_avx512},
#endif
#if defined(TALLY_HAS_LEVEL_avx2) && defined(__x86_64__)
    {&tally_cpu_level_avx2, &tally_exact_kernels_avx2, &tally_cpu_scans_avx2, processor_has_avx2},
#endif
#if defined(TALLY_HAS_LEVEL_baseline)
    {&tally_cpu_level_baseline, &tally_exact_kernels_baseline, &tally_cpu_scans_baseline, always},
#endif
};
enum { CHOICES = sizeof choices / sizeof *choices };

tally_status tally_cpu_level_choose(const char *name, const tally_cpu_level **level, const tally_exact_kernels **exact,
                                    const tally_cpu_scans **scans) {
    bool built = false;
    for (size_t i = 0; i < CHOICES; i++) {
        if (name && strcmp(name, choices[i].level->name) != 0)
            continue;
        built = true;
        if (!choices[i].processor_has())
            continue;
        *level = choices[i].level;
        *exact = choices[i].exact;
        *scans = choices[i].scans;
        return TALLY_OK;
    }
    if (!name)
        name = "baseline";
    if (built)
        return tally_fail(TALLY_NO_DEVICE, "this processor lacks the instruction set '%.32s'", name);
    return tally_fail(TALLY_NO_DEVICE,
                      "no instruction set '%.32s' in this build; there may be baseline, avx2 and avx512", name);
}
