/* cli/settings.h - the settings of the environment, with what a command line says over them. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <dcl.h>

/** @param workers  value of --workers; NULL: DCL_WORKERS stays. Borrowed by the result.
 *  @param keys     value of --keys; NULL: DCL_KEYS stays. Borrowed by the result.
 *  @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_settings_read(const char *workers, const char *keys, dcl_config *config_out);

#endif
