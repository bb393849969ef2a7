/* net/fault.c - error texts for message fields that violate the table. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "net/table.h"

bool dcli_fault_what(dcli_fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->what, sizeof fault->what, format, arguments);
    va_end(arguments);
    return false;
}

bool dcli_fault_range(dcli_fault *fault, int64_t value, const dcli_field *field)
{
    return dcli_fault_what(fault, "is %" PRId64 "; expected %" PRId64 "..%" PRId64, value, field->minimum,
                           field->maximum);
}

bool dcli_fault_where(dcli_fault *fault, const char *name, int64_t index)
{
    if (fault->depth < DCLI_MOST_DEPTH) {
        fault->trail[fault->depth].name = name;
        fault->trail[fault->depth].index = index;
        fault->depth++;
    }
    return false;
}

dcl_status dcli_fault_record(const dcli_fault *fault, dcl_status status, const char *message, const char *remedy)
{
    if (fault->no_memory)
        return DCL_ERR_NOMEM;
    char where[256] = "";
    int length = 0;
    for (int i = fault->depth - 1; i >= 0; i--) {
        char index[24] = "";
        if (fault->trail[i].index >= 0)
            snprintf(index, sizeof index, "[%" PRId64 "]", fault->trail[i].index);
        length += snprintf(where + length, sizeof where - (size_t)length, "%s%s%s", fault->trail[i].name, index,
                           i > 0 ? "." : " of ");
    }
    return DCLI_FAIL(status, "%sa message %s %s; %s", where, message, fault->what, remedy);
}
