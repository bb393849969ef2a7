/* base/error.c - the thread's last error. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct {
    const char *function;
    dcl_status status;
    char text[DCLI_ERROR_BYTES];
    size_t prefix; /* bytes of "function: " at the start of text */
} last;

const char *dcl_status_name(dcl_status status)
{
    static const char *const names[] = {
        "DCL_OK",           "DCL_ERR_INVALID", "DCL_ERR_RANGE",       "DCL_ERR_NOMEM",
        "DCL_ERR_FILE",     "DCL_ERR_BODY",    "DCL_ERR_UNSUPPORTED", "DCL_ERR_DEVICE",
        "DCL_ERR_NETWORK",  "DCL_ERR_TIMEOUT", "DCL_ERR_NODE_LOST",   "DCL_ERR_PROTOCOL",
        "DCL_ERR_INTERNAL",
    };
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "DCL_ERR_?";
}

const char *dcl_error(void) { return last.text; }

const char *dcl_version(void) { return DCL_VERSION; }

void dcli_error_enter(const char *function) { last.function = function; }

dcl_status dcli_error_record(dcl_status status, const char *format, ...)
{
    /* Arguments may point into the text that is replaced: format into a second buffer first. */
    char text[DCLI_ERROR_BYTES];
    int prefix = last.function != NULL ? snprintf(text, sizeof text, "%s: ", last.function) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + prefix, sizeof text - (size_t)prefix, format, arguments);
    va_end(arguments);
    memcpy(last.text, text, sizeof text);
    last.prefix = (size_t)prefix;
    last.status = status;
    return status;
}

dcl_status dcli_error_adopt(dcl_status status, const char *text)
{
    char copy[DCLI_ERROR_BYTES];
    snprintf(copy, sizeof copy, "%s", text);
    memcpy(last.text, copy, sizeof copy);
    last.prefix = 0;
    last.status = status;
    return status;
}

dcl_status dcli_error_status(void) { return last.status; }

const char *dcli_error_sentence(void) { return last.text + last.prefix; }

void dcli_error_clear(void)
{
    last.status = DCL_OK;
    last.text[0] = '\0';
    last.prefix = 0;
}
