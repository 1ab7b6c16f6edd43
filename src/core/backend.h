/* A back end as the rest of the library sees it: a table of functions for finding and opening devices, and one for
 * working with an open device. A back end's device and plan begin with the common part declared here. Arguments have
 * been checked against the header's promises before a back end receives them. */
#ifndef TALLY_CORE_BACKEND_H
#define TALLY_CORE_BACKEND_H

#include "core/computation.h"
#include "tally/tally.h"

typedef struct tally_device_interface {
    void (*close)(tally_device *device);
    void (*describe)(const tally_device *device, tally_device_info *info);
    tally_status (*alloc)(tally_device *device, size_t bytes, void **memory);
    void (*free)(tally_device *device, void *memory);
    tally_status (*copy)(tally_device *device, void *to, const void *from, size_t bytes);

    /* TALLY_UNSUPPORTED, with a reason, if the device cannot do this computation. */
    tally_status (*supports)(const tally_device *device, const tally_computation *computation);
    tally_status (*plan_create)(tally_device *device, const tally_computation *computation, tally_plan **plan);
    void (*plan_destroy)(tally_plan *plan);
    tally_status (*plan_workspace)(const tally_plan *plan, const tally_shape *shape, size_t *bytes);
    tally_status (*run)(tally_plan *plan, const tally_args *args, uint64_t results, tally_stream stream);
    tally_status (*push)(tally_plan *plan, const tally_args *args);
    tally_status (*finish)(tally_plan *plan, void *out, size_t out_bytes);
    void (*reset)(tally_plan *plan);
    tally_status (*resume)(tally_plan *plan, const tally_words_form *form, const int64_t *words, uint64_t columns);

    /* Enqueues a forward scan, of all values or along an axis with outer 1, that goes on where 'parts' states of each
     * column end. The words are parts x columns states in the device's memory, in the order of the elements, and are
     * trusted. 'before': the elements of a column that they stand for. args->initial comes before them. The first call
     * may compile a kernel. NULL: it has none. */
    tally_status (*run_after)(tally_plan *plan, const tally_args *args, const int64_t *words, uint64_t parts,
                              uint64_t before, tally_stream stream);
    bool resumes_scans, takes_reverse_pieces; /* without the host's help */

    /* Runs a plan with TALLY_SIZE_ON_DEVICE. */
    tally_status (*run_sized)(tally_plan *plan, const tally_args *args, const tally_sizes *sizes, tally_stream stream);
} tally_device_interface;

struct tally_device {
    const tally_device_interface *interface;
};

struct tally_plan {
    tally_device *device;
    tally_computation computation;
};

typedef struct tally_backend {
    const char *name;                                                 /* the spec's first word */
    size_t (*device_count)(void);                                     /* on this machine, now */
    void (*describe)(size_t index, tally_device_info *info);          /* index < device_count() */
    tally_status (*open)(const char *options, tally_device **device); /* what follows "name:", or "" */
    size_t (*automatic_count)(void); /* how many devices, of the first ones, "auto" may open; NULL: all of them */
    const char *left_out; /* "CUDA (TALLY_CUDA=OFF)" in a library built without it, where all but the name is NULL */
} tally_backend;

/* Fails with TALLY_NO_DEVICE and the message for a back end that the library was built without. */
tally_status tally_backend_refuse(const tally_backend *backend);

/* All back ends (src/backends.c), and NULL. "auto" prefers earlier ones if they have a device. */
extern const tally_backend *const tally_backends[];

extern const tally_backend tally_cuda_backend;
extern const tally_backend tally_vulkan_backend;
extern const tally_backend tally_cpu_backend;

#endif
