/* worker/blame.c - extract from the error text about a loss the number of the body that caused it. */
#include "worker/blame.h"

#include <stdio.h>
#include <string.h>

void dcli_blame_nobody(char *text)
{
    for (char *at = text; (at = strstr(at, "(body ")) != NULL;)
        *at = '[';
}

int64_t dcli_blamed_body(const char *sentence)
{
    int64_t body = 0;
    long long number;
    int end;
    for (const char *at = sentence; (at = strstr(at, "` (body ")) != NULL; at++)
        if (sscanf(at, "` (body %lld)%n", &number, (end = 0, &end)) == 1 && end > 0)
            body = number;
    return body;
}
