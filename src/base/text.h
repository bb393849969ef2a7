/* base/text.h - a string that grows as text is appended. */
#ifndef DCLI_BASE_TEXT_H
#define DCLI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Growing text. Start with {0}. A failed append sets `failed` and later ones do nothing, so one check at the end is
 *  enough. */
typedef struct dcli_text {
    char *bytes; /* '\0'-ended once something was appended */
    size_t length, capacity;
    bool failed;
} dcli_text;

void dcli_text_put(dcli_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dcli_text_append(dcli_text *text, const char *bytes, size_t length);
/** Take the string out (never NULL unless an append failed); the text is then empty. Free the string with
 *  dcli_free(). */
char *dcli_text_take(dcli_text *text);
void dcli_text_free(dcli_text *text);
/** Print numbers into an array of chars, as many as fit. */
void dcli_print_numbers(char *text_out, size_t capacity, int count, const int64_t numbers[], const char *separator);

#endif
