/* kernel/quote.h - quote a position of a user's text in an error: the line and a caret. */
#ifndef DCLI_KERNEL_QUOTE_H
#define DCLI_KERNEL_QUOTE_H

#include <stdarg.h>

#include <dcl/base.h>

#include "base/text.h"

/** Append "\n", line `line` (from 1) of a text, "\n", and a caret under byte `column` (from 1). Long lines are cut. */
void dcli_quote(dcli_text *out, const char *text, int line, int column);

/** Record DCL_ERR_BODY: "line L, column C: ", the sentence, the quoted line. */
dcl_status dcli_quote_fail(const char *text, int line, int column, const char *format, va_list arguments);

#endif
