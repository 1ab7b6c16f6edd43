/* Opens the CUDA driver and translates its results. */
#include "cuda/driver.h"

#include <pthread.h>
#include <stdbool.h>

#include "core/status.h"
#include "gpu/library.h"

/* NVRTC makes machine code (and not only PTX) since 11.2, and the driver has to take it. */
enum { OLDEST_VERSION = 11020 };

static const char what_to_do[] = "install NVIDIA's driver, or open \"cpu\"";

/* Written once, by open_driver. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tally_cuda_api table;
static tally_opening opening;

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

static tally_status initialise(const char *path) {
    const CUresult result = table.cuInit(0);
    switch ((int)result) {
    case CUDA_SUCCESS:
        return TALLY_OK;
    case CUDA_ERROR_STUB_LIBRARY:
        return tally_fail(TALLY_NO_DEVICE, "%s is CUDA's stand-in for linking, not a driver: %s", path, what_to_do);
    case CUDA_ERROR_NO_DEVICE:
        return tally_fail(TALLY_NO_DEVICE, "the CUDA driver finds no GPU (CUDA_ERROR_NO_DEVICE; does "
                                           "CUDA_VISIBLE_DEVICES hide it?): open \"cpu\"");
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return tally_fail(TALLY_NO_DEVICE,
                          "the CUDA driver's library and its kernel module are of different versions (%s): restart the "
                          "machine, or open \"cpu\"",
                          name_of(result));
    default:
        return tally_fail(TALLY_NO_DEVICE,
                          "the CUDA driver does not start: cuInit gives %s, %s (%d): does nvidia-smi work? Else open "
                          "\"cpu\"",
                          name_of(result), text_of(result), (int)result);
    }
}

static tally_status check_age(const char *path, const char *missing) {
    if (table.cuDriverGetVersion(&table.version) != CUDA_SUCCESS)
        table.version = 0;
    if (table.version >= OLDEST_VERSION && !missing)
        return TALLY_OK;
    return tally_fail(TALLY_NO_DEVICE,
                      "the CUDA driver is too old: %s is for CUDA %d.%d%s%s; install one for CUDA %d.%d or newer", path,
                      table.version / 1000, table.version % 1000 / 10, missing ? " and has no function " : "",
                      missing ? missing : "", OLDEST_VERSION / 1000, OLDEST_VERSION % 1000 / 10);
}

/* A refused library stays open, because something that a driver began in cuInit may still need its code. */
static tally_status open_driver(void) {
    const char *given = tally_library_path("TALLY_LIBCUDA"), *path = given ? given : "libcuda.so.1", *reason;
    void *library = tally_library_open(path, &reason);
    if (!library)
        return tally_fail(TALLY_NO_DEVICE, "no CUDA driver: %s: %s", reason, what_to_do);
    const char *missing = find_functions(library);
    if (!table.cuInit || !table.cuDriverGetVersion)
        return tally_fail(TALLY_NO_DEVICE, "%s is no CUDA driver: it has no function %s", path, missing);
    const tally_status status = initialise(path);
    return status == TALLY_OK ? check_age(path, missing) : status;
}

static void open_once(void) {
    tally_opening_keep(&opening, open_driver());
}

tally_status tally_cuda_driver(const tally_cuda_api **api) {
    pthread_once(&once, open_once);
    if (opening.status == TALLY_OK)
        *api = &table;
    return tally_opening_repeat(&opening);
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

/* Advice for the caller where the driver's own message gives none. */
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
