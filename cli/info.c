/* info.c: tally ops and tally devices: what this build can compute, and on what.
 *
 * Copyright 2026 the tally authors. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

#include <stdio.h>

#include <tally/tally.h>

#include "help.h"
#include "options.h"
#include "output.h"
#include "print.h"

static void print_operator(tally_op op, int json) {
    const char *const summary = tally_op_summary(op) == NULL ? "" : tally_op_summary(op);
    if (!json) {
        printf("%-14s %s\n", tally_op_name(op), summary);
        return;
    }
    printf("%s{\"op\":\"%s\",\"summary\":", op == 0 ? "" : ",", tally_op_name(op));
    print_json_string(summary);
    putchar('}');
}

int command_ops(int argc, char **argv, fault *f) {
    options o;
    const int code = options_parse(&o, COMMAND_INFO, argc, argv, f);
    if (code != 0 || o.help)
        return code != 0 ? code : help_print("ops", f);
    if (o.json)
        putchar('[');
    for (tally_op op = 0; op < TALLY_USER; op++)
        print_operator(op, o.json);
    if (o.json)
        puts("]");
    return output_flush_standard(f);
}

static void print_device(const tally_device_info *info, size_t index, int json) {
    if (!json) {
        printf("%-10s %s", info->spec, info->name);
        if (info->detail[0] != 0)
            printf(", %s", info->detail);
        if (info->memory_bytes > 0)
            printf(", %.1f GiB", (double)info->memory_bytes / 1073741824.0);
        putchar('\n');
        return;
    }
    printf("%s{\"spec\":", index == 0 ? "" : ",");
    print_json_string(info->spec);
    printf(",\"name\":");
    print_json_string(info->name);
    printf(",\"detail\":");
    print_json_string(info->detail);
    printf(",\"memory_bytes\":%llu}", (unsigned long long)info->memory_bytes);
}

int command_devices(int argc, char **argv, fault *f) {
    options o;
    tally_device_info info = {.struct_size = sizeof info};
    const int code = options_parse(&o, COMMAND_INFO, argc, argv, f);
    tally_status status;
    if (code != 0 || o.help)
        return code != 0 ? code : help_print("devices", f);
    if (o.json)
        putchar('[');
    for (size_t index = 0; (status = tally_device_at(index, &info)) == TALLY_OK; index++)
        print_device(&info, index, o.json);
    if (o.json)
        puts("]");
    if (status != TALLY_NO_DEVICE)
        return fault_data(f, "%s", tally_last_error());
    return output_flush_standard(f);
}
