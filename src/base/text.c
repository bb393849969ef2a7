/* base/text.c - a string that grows as text is appended. */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool reserve(dcli_text *text, size_t more)
{
    if (text->failed)
        return false;
    if (text->length + more + 1 <= text->capacity)
        return true;
    size_t capacity = (text->length + more + 1) * 2;
    char *bytes = dcli_realloc(text->bytes, capacity, 1);
    if (bytes == NULL) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void dcli_text_append(dcli_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void dcli_text_put(dcli_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

char *dcli_text_take(dcli_text *text)
{
    dcli_text_append(text, "", 0);
    char *bytes = text->failed ? NULL : text->bytes;
    if (text->failed)
        dcli_free(text->bytes);
    *text = (dcli_text){0};
    return bytes;
}

void dcli_text_free(dcli_text *text)
{
    dcli_free(text->bytes);
    *text = (dcli_text){0};
}

void dcli_print_numbers(char *text_out, size_t capacity, int count, const int64_t numbers[], const char *separator)
{
    size_t used = 0;
    text_out[0] = '\0';
    for (int n = 0; n < count && used < capacity; n++)
        used += (size_t)snprintf(text_out + used, capacity - used, "%s%" PRId64, n > 0 ? separator : "", numbers[n]);
}
