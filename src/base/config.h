/* base/config.h - the table of settings: one row gives the field, the variable, the documentation. */
#ifndef DCLI_BASE_CONFIG_H
#define DCLI_BASE_CONFIG_H

#include <stddef.h>

#include <dcl/cluster.h>

/** Fill with the built-in defaults only. */
void dcli_config_defaults(dcl_config *config_out);
/** Check the values of a configuration a program made; copies fields the program's older struct lacks from the
 *  defaults. @return DCL_OK, or DCL_ERR_INVALID naming the field. */
dcl_status dcli_config_check(const dcl_config *config, dcl_config *complete_out);
/** The level DCL_LOG names. */
int dcli_config_log_level(const dcl_config *config);
/** What of the environment may hide OpenCL devices, as part of a sentence: `; POCL_DEVICES is "x", which may hide it: ...`;
 *  "" when none of it is set. @param text_out  [capacity]. */
void dcli_config_hints_of_drivers(char *text_out, size_t capacity);
/** The folder in which PoCL keeps compiled kernels, as its pocl_cache.c finds it (3.1). @param folder_out  [capacity]. */
void dcli_config_pocl_cache(char *folder_out, size_t capacity);
/** For tests: the failure to provoke, DCL_FAULT, e.g. "alloc node=1 count=2": node 1's second allocation of storage fails.
 *  @return NULL when there is none; valid until the environment changes. */
const char *dcli_config_fault(void);
/** Whether DCL_CHECK asks for kernels that check everything they access. */
bool dcli_config_checks_access(const dcl_config *config);

#endif
