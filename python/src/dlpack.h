/* DLPack's interface between programs, as its specification fixes it: how libraries show each other their arrays. */
#ifndef TALLY_PYTHON_DLPACK_H
#define TALLY_PYTHON_DLPACK_H

#include <stdint.h>

typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: C order */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed { /* capsules named "dltensor" */
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
} dl_managed;

typedef struct dl_versioned { /* capsules named "dltensor_versioned" */
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* What a class offers to C, in a capsule "dlpack_exchange_api" that is its attribute __dlpack_c_exchange_api__. */
typedef struct dl_exchange {
    uint32_t major, minor;
    struct dl_exchange *previous;
    int (*allocate)(dl_tensor *like, dl_versioned **made, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*managed_of_object)(void *object, dl_versioned **tensor);
    int (*object_of_managed)(dl_versioned *tensor, void **object); /* takes the tensor */
    int (*tensor_of_object)(void *object, dl_tensor *tensor);      /* lent while the object lives; may be NULL */
    int (*current_stream)(int device_type, int32_t device, void **stream);
} dl_exchange;

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_READ_ONLY = 1 };

#endif
