/* The public calls on devices: which back end has them, and whether what they are given makes sense. */
#include <stdio.h>
#include <string.h>

#include "core/backend.h"
#include "core/status.h"

tally_status tally_backend_refuse(const tally_backend *backend) {
    return tally_fail(TALLY_NO_DEVICE, "this library is built without %s; open \"cpu\"", backend->left_out);
}

static size_t count_of(const tally_backend *backend) {
    return backend->left_out ? 0 : backend->device_count();
}

static size_t automatic_count_of(const tally_backend *backend) {
    return !backend->left_out && backend->automatic_count ? backend->automatic_count() : count_of(backend);
}

static tally_status open_on(const tally_backend *backend, const char *options, tally_device **device) {
    return backend->left_out ? tally_backend_refuse(backend) : backend->open(options, device);
}

/* If a device exists but cannot be opened, such as a GPU without its compiler, the next one is tried. */
static tally_status open_auto(tally_device **device) {
    tally_status status = tally_fail(TALLY_NO_DEVICE, "no back end finds a device on this machine");
    for (size_t i = 0; tally_backends[i] && status != TALLY_OK; i++)
        if (automatic_count_of(tally_backends[i]) > 0)
            status = open_on(tally_backends[i], "", device);
    return status;
}

static tally_status refuse_spec(const char *spec) {
    char known[128] = "'auto'";
    for (size_t i = 0, length = strlen(known); tally_backends[i] && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s'%s'",
                                   tally_backends[i + 1] ? ", " : " and ", tally_backends[i]->name);
    return tally_fail(TALLY_NO_DEVICE, "no device '%.64s': this library knows %s", spec, known);
}

tally_status tally_open(const char *spec, tally_device **device) {
    if (!spec || !device)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_open: NULL where a spec and a place for the device are expected");
    if (strcmp(spec, "auto") == 0)
        return open_auto(device);
    size_t length = strcspn(spec, ":");
    if (spec[length] && (strstr(spec, "::") || spec[strlen(spec) - 1] == ':'))
        return tally_fail(TALLY_INVALID_ARGUMENT, "device spec '%.64s': nothing follows a colon", spec);
    for (size_t i = 0; tally_backends[i]; i++)
        if (strlen(tally_backends[i]->name) == length && memcmp(tally_backends[i]->name, spec, length) == 0)
            return open_on(tally_backends[i], spec + length + (spec[length] == ':'), device);
    return refuse_spec(spec);
}

void tally_close(tally_device *device) {
    if (device)
        device->interface->close(device);
}

static tally_status check_info(const tally_device_info *info) {
    if (!info)
        return tally_fail(TALLY_INVALID_ARGUMENT, "NULL where a place for the device's description is expected");
    if (info->struct_size != sizeof *info)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_device_info.struct_size is %zu; set it to sizeof(tally_device_info), %zu",
                          info->struct_size, sizeof *info);
    return TALLY_OK;
}

static void clear_info(tally_device_info *info) {
    memset(info, 0, sizeof *info);
    info->struct_size = sizeof *info;
}

tally_status tally_device_describe(const tally_device *device, tally_device_info *info) {
    tally_status status = check_info(info);
    if (status != TALLY_OK)
        return status;
    if (!device)
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_device_describe: the device is NULL");
    clear_info(info);
    device->interface->describe(device, info);
    return TALLY_OK;
}

tally_status tally_device_at(size_t index, tally_device_info *info) {
    tally_status status = check_info(info);
    if (status != TALLY_OK)
        return status;
    for (size_t i = 0, first = 0; tally_backends[i]; i++) {
        size_t count = count_of(tally_backends[i]);
        if (index - first < count) {
            clear_info(info);
            tally_backends[i]->describe(index - first, info);
            return TALLY_OK;
        }
        first += count;
    }
    return tally_fail(TALLY_NO_DEVICE, "this machine has no device number %zu", index);
}

tally_status tally_alloc(tally_device *device, size_t bytes, void **memory) {
    if (!device || !memory)
        return tally_fail(TALLY_INVALID_ARGUMENT,
                          "tally_alloc: NULL where a device and a place for the address are expected");
    return device->interface->alloc(device, bytes, memory);
}

void tally_free(tally_device *device, void *memory) {
    if (device && memory)
        device->interface->free(device, memory);
}

tally_status tally_copy(tally_device *device, void *to, const void *from, size_t bytes) {
    if (!device || (bytes && (!to || !from)))
        return tally_fail(TALLY_INVALID_ARGUMENT, "tally_copy: NULL where a device and two addresses are expected");
    return bytes ? device->interface->copy(device, to, from, bytes) : TALLY_OK;
}
