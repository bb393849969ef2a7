/* runtime/arg_kind.c - how a program writes an argument, for errors. */
#include "base/error.h"
#include "runtime/cluster.h"

/* Names in the order of dcl_access. */
static const char *const names[] = {"",
                                    "DCL_OUT",
                                    "DCL_IN",
                                    "DCL_INOUT",
                                    "DCL_IN_ALL",
                                    "DCL_IN_ROWS",
                                    "DCL_IN_COLUMNS",
                                    "DCL_VALUE",
                                    "DCL_PRELUDE",
                                    "DCL_IN_KEPT",
                                    "DCL_IN_HALO",
                                    "DCL_IN_CROSS",
                                    "DCL_IN_BOX",
                                    "DCL_IN_AT",
                                    "DCL_IN_FUNCTION",
                                    "DCL_RESULT",
                                    "DCL_RESULT",
                                    "DCL_RESULT",
                                    "DCL_OPERATOR",
                                    "DCL_MOVE",
                                    "DCL_GROUP",
                                    "DCL_ITEMS",
                                    "DCL_STEALING",
                                    "DCL_ALONG",
                                    "DCL_EXCLUSIVE",
                                    "DCL_FAST",
                                    "DCL_RESULT_AT",
                                    "DCL_OVER",
                                    "DCL_HOST_IN",
                                    "DCL_HOST_OUT",
                                    "DCL_HOST_INOUT"};
_Static_assert(sizeof names / sizeof names[0] == DCL_ACCESS_HOST_INOUT + 1, "a name for each kind of argument");

dcl_status dcli_refuse_arg(const dcl_arg *arg, const char *takes)
{
    const char *name = names[arg->access];
    if (arg->name == NULL || !dcli_arg_is_param(arg) || arg->access == DCL_ACCESS_OPERATOR)
        return DCLI_FAIL(DCL_ERR_INVALID, "an argument is %s; %s", name, takes);
    return DCLI_FAIL(DCL_ERR_INVALID, "argument %s is %s; %s", arg->name, name, takes);
}
