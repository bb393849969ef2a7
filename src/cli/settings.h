/* cli/settings.h - the settings of the environment, overridden by the command line. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include <dcl.h>

/** Read the settings.
 *  @param workers  value of --workers; NULL: use DCL_WORKERS. Borrowed by the result.
 *  @param keys     value of --keys; NULL: use DCL_KEYS. Borrowed by the result.
 *  @return CLI_OK, or CLI_FAILURE after a sentence. */
int cli_settings_read(const char *workers, const char *keys, dcl_config *config_out);

#endif
