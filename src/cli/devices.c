/* cli/devices.c - `dcl devices`: list what can serve as nodes here. */
#include <stdio.h>
#include <stdlib.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"

static void print_device(const dcl_device_info *device)
{
    printf("%6d %-4s %-11s %5d %7.1f GiB  %-6s %-4s  %s, %s, %s\n", device->number, device->is_default ? "yes" : "-",
           device->kind, device->compute_units, (double)device->memory_bytes / (1 << 30),
           device->has_double ? "yes" : "-", device->has_half ? "yes" : "-", device->name, device->platform,
           device->version);
}

static int print_all(int count)
{
    dcl_device_info *devices = cli_alloc((size_t)count, sizeof *devices);
    int found = 0;
    dcl_status status = dcl_device_list(count, devices, &found);
    if (status == DCL_OK) {
        printf("%6s %-4s %-11s %5s %11s  %-6s %-4s  %s\n", "number", "used", "kind", "units", "memory", "double",
               "half", "name, platform, version");
        for (int d = 0; d < found && d < count; d++)
            print_device(&devices[d]);
    }
    free(devices);
    return status == DCL_OK ? CLI_OK : cli_library_failed();
}

/* Explain why there are no devices, with the library's message. */
static int explain_nothing(void)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        return cli_library_failed();
    config.workers = NULL;
    config.devices = NULL;
    dcl_cluster *cluster = dcl_open(&config);
    if (cluster == NULL)
        return cli_library_failed();
    dcl_close(cluster);
    return cli_fail("a device has just come; ask again");
}

static int refuse_plain(void *request, char *text)
{
    (void)request;
    return cli_usage("devices", "argument '%s' was given; expected none", text);
}

int cli_devices(int count, char **list)
{
    static const cli_option none[] = {{NULL}};
    int status = cli_parse(&(cli_arguments){"devices", none, refuse_plain, count, list}, NULL);
    if (status != CLI_OK)
        return status == CLI_HELP ? cli_help_about("devices") : status;
    int devices = 0;
    if (dcl_device_list(0, NULL, &devices) != DCL_OK)
        return cli_library_failed();
    if (devices == 0)
        return explain_nothing();
    return print_all(devices);
}
