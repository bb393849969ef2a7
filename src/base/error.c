/* base/error.c - the last error of each thread: its status and its text. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"

struct error {
    dcl_status status;
    char text[DCLI_ERROR_BYTES];
    size_t prefix;      /* length in bytes of the prefix "function: " in `text` */
    int64_t cause_upto; /* dcli_error_cause_upto() */
};

static _Thread_local struct error last, cause;  /* `last`: this thread's last error; `cause`: the error of its last
                                                   constructor that returned NULL */
static _Thread_local const void *cause_cluster; /* handle of the cluster for which that constructor was called; NULL:
                                                   none */
static _Thread_local const char *function;
static _Thread_local bool in_constructor;
static _Thread_local struct aside {
    bool is_aside, is_replaced; /* is_aside: the thread is doing work for another one, see dcli_error_set_aside();
                                   is_replaced: that work has overwritten the thread's last error, which is saved in
                                   `last` below */
    struct error last;
    const char *function;
    bool in_constructor;
} aside;

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

void dcli_error_enter(const char *name)
{
    function = name;
    in_constructor = false;
}

void dcli_error_enter_constructor(const char *name)
{
    function = name;
    in_constructor = true;
}

bool dcli_error_is_set_aside(void) { return aside.is_aside; }

void dcli_error_set_aside(bool begin)
{
    if (begin) {
        aside.function = function;
        aside.in_constructor = in_constructor;
    } else if (aside.is_replaced) {
        last = aside.last;
    }
    aside.is_aside = begin;
    aside.is_replaced = false;
    function = begin ? NULL : aside.function;
    in_constructor = !begin && aside.in_constructor;
}

/* Store the text in `last`, with control characters escaped: error texts contain names and texts from other processes,
 * and are printed on terminals. */
static dcl_status keep(dcl_status status, const char *text, size_t prefix)
{
    if (aside.is_aside && !aside.is_replaced) {
        aside.last = last;
        aside.is_replaced = true;
    }
    last.status = status;
    last.prefix = prefix;
    last.cause_upto = 0;
    dcli_clean(last.text, sizeof last.text, text, strlen(text), "\n\t");
    if (in_constructor)
        dcli_error_made_null();
    return status;
}

/* Format into a second buffer, because the arguments may point into the text that is replaced. */
static dcl_status record(dcl_status status, const char *format, va_list arguments)
{
    char text[DCLI_ERROR_BYTES];
    int prefix = function != NULL ? snprintf(text, sizeof text, "%s: ", function) : 0;
    vsnprintf(text + prefix, sizeof text - (size_t)prefix, format, arguments);
    return keep(status, text, (size_t)prefix);
}

dcl_status dcli_error_record(dcl_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(status, format, arguments);
    va_end(arguments);
    return status;
}

dcl_status dcli_error_record_null(const char *format, ...)
{
    if (cause.status != DCL_OK) {
        last = cause;
        return cause.status;
    }
    va_list arguments;
    va_start(arguments, format);
    record(DCL_ERR_INVALID, format, arguments);
    va_end(arguments);
    return DCL_ERR_INVALID;
}

dcl_status dcli_error_adopt(dcl_status status, const char *text)
{
    char copy[DCLI_ERROR_BYTES];
    snprintf(copy, sizeof copy, "%s", text);
    return keep(status, copy, 0);
}

void dcli_error_made_null(void)
{
    cause = last;
    cause_cluster = NULL;
}

void dcli_error_made_null_in(const void *cluster) { cause_cluster = cluster; }

const void *dcli_error_cause_in(void) { return cause.status != DCL_OK ? cause_cluster : NULL; }

bool dcli_error_is_cause(void) { return last.status == cause.status && strcmp(last.text, cause.text) == 0; }

void dcli_error_lacks_cause(int64_t upto)
{
    last.cause_upto = upto;
    if (in_constructor)
        cause.cause_upto = upto;
}

int64_t dcli_error_cause_upto(void) { return last.cause_upto; }

dcl_status dcli_error_status(void) { return last.status; }

const char *dcli_error_sentence(void) { return last.text + last.prefix; }

void dcli_error_clear(void)
{
    last.status = DCL_OK;
    last.text[0] = '\0';
    last.prefix = 0;
    last.cause_upto = 0;
}

void dcli_error_forget(void)
{
    dcli_error_clear();
    cause.status = DCL_OK;
}
