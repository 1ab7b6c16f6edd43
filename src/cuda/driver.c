/* Opening the CUDA driver, and what its results mean. */
#include "cuda/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/status.h"
#include "core/library.h"

/* NVRTC makes machine code (and not only PTX) since 11.2, and the driver has to take it. */
enum { OLDEST_VERSION = 11020 };

static const char what_to_do[] = "install NVIDIA's driver, or open \"cpu\"";

/* Written once, by open_driver. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tally_cuda_api table;
static tally_status outcome = TALLY_NO_DEVICE;
static char why_not[1024];

static void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why_not, sizeof why_not, format, arguments);
    va_end(arguments);
}

static const char *name_of(CUresult result) {
    const char *name = NULL;
    if (!table.cuGetErrorName || table.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        return "an error without a name";
    return name;
}

static const char *text_of(CUresult result) {
    const char *text = NULL;
    if (!table.cuGetErrorString || table.cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
        return "unknown to this driver";
    return text;
}

/* The name of the first required function that the library lacks, or NULL. */
static const char *find_functions(void *library) {
    const char *missing = NULL;
#define TALLY_CUDA_OPTIONAL(name, symbol, parameters) tally_library_find(library, symbol, &table.name);
#define TALLY_CUDA_REQUIRED(name, symbol, parameters)                                                                  \
    if (!tally_library_find(library, symbol, &table.name) && !missing)                                                 \
        missing = symbol;
#include "cuda/driver.def"
    return missing;
}

static bool initialise(const char *path) {
    CUresult result = table.cuInit(0);
    if (result == CUDA_ERROR_STUB_LIBRARY)
        refuse("%s is CUDA's stand-in for linking, not a driver: %s", path, what_to_do);
    else if (result == CUDA_ERROR_NO_DEVICE)
        refuse("the CUDA driver finds no GPU (CUDA_ERROR_NO_DEVICE; does CUDA_VISIBLE_DEVICES hide it?): open \"cpu\"");
    else if (result == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
        refuse("the CUDA driver's library and its kernel module are of different versions (%s): restart the machine, "
               "or open \"cpu\"",
               name_of(result));
    else if (result != CUDA_SUCCESS)
        refuse("the CUDA driver does not start: cuInit gives %s, %s (%d): does nvidia-smi work? Else open \"cpu\"",
               name_of(result), text_of(result), (int)result);
    return result == CUDA_SUCCESS;
}

static void check_age(const char *path, const char *missing) {
    if (table.cuDriverGetVersion(&table.version) != CUDA_SUCCESS)
        table.version = 0;
    if (table.version >= OLDEST_VERSION && !missing)
        outcome = TALLY_OK;
    else
        refuse("the CUDA driver is too old: %s is for CUDA %d.%d%s%s; install one for CUDA %d.%d or newer", path,
               table.version / 1000, table.version % 1000 / 10, missing ? " and has no function " : "",
               missing ? missing : "", OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
}

/* A library that will not do stays open, too: what a driver began in cuInit may still need its code. */
static void open_driver(void) {
    const char *given = tally_library_path("TALLY_LIBCUDA"), *path = given ? given : "libcuda.so.1", *reason;
    void *library = tally_library_open(path, &reason);
    if (!library) {
        refuse("no CUDA driver: %s: %s", reason, what_to_do);
        return;
    }
    const char *missing = find_functions(library);
    if (!table.cuInit || !table.cuDriverGetVersion)
        refuse("%s is no CUDA driver: it has no function %s", path, missing);
    else if (initialise(path))
        check_age(path, missing);
}

tally_status tally_cuda_driver(const tally_cuda_api **api) {
    pthread_once(&once, open_driver);
    if (outcome != TALLY_OK)
        return tally_fail(outcome, "%s", why_not);
    *api = &table;
    return TALLY_OK;
}

static tally_status status_of(CUresult result) {
    switch ((int)result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
        return TALLY_OUT_OF_MEMORY;
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        return TALLY_INVALID_ARGUMENT;
    default:
        return result >= CUDA_ERROR_STREAM_CAPTURE_FIRST && result <= CUDA_ERROR_STREAM_CAPTURE_LAST
                   ? TALLY_INVALID_ARGUMENT
                   : TALLY_DEVICE_FAILED;
    }
}

/* What the caller can do, where the driver's own words do not say. */
static const char *advice_for(CUresult result) {
    switch ((int)result) {
    case CUDA_ERROR_NOT_INITIALIZED:
        return "; a GPU that was opened before a fork serves the parent alone: open it in the child";
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        return "; the context must outlive the device that was opened on it";
    case CUDA_ERROR_INVALID_HANDLE:
        return "; a stream must be of the device's own context";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
        return "; a kernel of this process has failed, and its context cannot be used any more. Are all pointers to "
               "the device's memory, and as large as their sizes say?";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return "; the compiler is newer than the driver: name an older libnvrtc in TALLY_NVRTC, or update the driver";
    default:
        return "";
    }
}

tally_status tally_cuda_check(CUresult result, const char *what) {
    if (result == CUDA_SUCCESS)
        return TALLY_OK;
    return tally_fail(status_of(result), "%s: %s (%s)%s", what, text_of(result), name_of(result), advice_for(result));
}
