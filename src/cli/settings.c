/* cli/settings.c - read settings: first from the environment, then from the command line. */
#include "cli/settings.h"

#include "cli/report.h"

int cli_settings_read(const char *workers, const char *keys, dcl_config *config_out)
{
    if (dcl_config_read(config_out) != DCL_OK)
        return cli_library_failed();
    if (workers != NULL)
        config_out->workers = workers;
    if (keys != NULL)
        config_out->keys = keys;
    return CLI_OK;
}
