/* base/config.h - the table of settings: each row gives the field, the variable and the documentation. */
#ifndef DCLI_BASE_CONFIG_H
#define DCLI_BASE_CONFIG_H

#include <stddef.h>

#include <dcl/array.h>
#include <dcl/cluster.h>

/** Fill with the built-in defaults only. */
void dcli_config_defaults(dcl_config *config_out);
/** Check the values of a configuration that a program made. If the program's struct is older and shorter, the missing
 *  fields get their defaults. @return DCL_OK, or DCL_ERR_INVALID naming the field. */
dcl_status dcli_config_check(const dcl_config *config, dcl_config *complete_out);
/** The log level that the setting DCL_LOG names. */
int dcli_config_log_level(const dcl_config *config);
/** List environment variables that may hide OpenCL devices, as part of a sentence:
 *  `; POCL_DEVICES is "x", which may hide it: ...`; "" if none of them is set. @param text_out  [capacity]. */
void dcli_config_hints_of_drivers(char *text_out, size_t capacity);
/** The folder in which PoCL stores compiled kernels, determined as in its pocl_cache.c (3.1). @param folder_out
 *  [capacity]. */
void dcli_config_pocl_cache(char *folder_out, size_t capacity);
/** For tests: the fault to inject, from DCL_FAULT, e.g. "alloc node=1 count=2": node 1's second allocation of storage
 *  fails. @return NULL when there is none; valid until the environment changes. */
const char *dcli_config_fault(void);
/** Whether DCL_CHECK asks for kernels that check every access. */
bool dcli_config_checks_access(const dcl_config *config);

/** The setting DCL_STEAL. */
typedef struct dcli_steal {
    dcl_steal_policy policy; /* DCL_STEAL_DEFAULT, which only a message may have: as DCL_STEAL_NEVER */
    bool kinds;              /* also to devices of another kind */
} dcli_steal;

/** Whether nodes of a session with this setting lend batches. */
static inline bool dcli_steal_lends(dcli_steal steal) { return steal.policy > DCL_STEAL_NEVER; }

dcli_steal dcli_config_steal(const dcl_config *config);
/** The setting as text, in the form that DCL_STEAL has. */
const char *dcli_steal_name(dcli_steal steal);

#endif
