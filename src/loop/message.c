/* loop/message.c - errors of a loop nest as text. */
#include "loop/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static void append(dcli_text *text, const char *format, va_list args)
{
    char said[512];
    int length = vsnprintf(said, sizeof said, format, args);
    if (length > 0)
        dcli_text_append(text, said, (size_t)length < sizeof said ? (size_t)length : sizeof said - 1);
}

void dcli_loops_complain(dcli_loops_complaints *complaints, dcli_loops_place place, const char *code,
                         const char *format, ...)
{
    int n = complaints->count++;
    if (n >= DCLI_LOOPS_COMPLAINTS)
        return;
    complaints->place[n] = place;
    complaints->code[n] = code;
    va_list args;
    va_start(args, format);
    append(&complaints->said[n], format, args);
    va_end(args);
    dcli_text_put(&complaints->said[n], " [%s]", code);
}

void dcli_loops_note(dcli_loops_complaints *complaints, const char *format, ...)
{
    int n = complaints->count - 1;
    if (n < 0 || n >= DCLI_LOOPS_COMPLAINTS)
        return;
    dcli_text_put(&complaints->said[n], "\n  note: ");
    va_list args;
    va_start(args, format);
    append(&complaints->said[n], format, args);
    va_end(args);
}

/* Put the line of a place, and a caret below its column. */
static void put_line(dcli_text *out, const dcli_loops_complaints *complaints, dcli_loops_place place)
{
    const char *text = complaints->text;
    for (int line = 1 + complaints->shift; line < place.line && strchr(text, '\n') != NULL; line++)
        text = strchr(text, '\n') + 1;
    int length = (int)strcspn(text, "\n");
    dcli_text_put(out, "    %.*s\n    ", length, text);
    for (int column = 1; column < place.column;
         column++) /* a tab stays one, so that the caret stands below its place */
        dcli_text_append(out, column <= length && text[column - 1] == '\t' ? "\t" : " ", 1);
    dcli_text_put(out, "^");
}

static void put_one(dcli_text *out, const dcli_loops_complaints *complaints, const char *kind, int n)
{
    const char *said = complaints->said[n].bytes, *notes = said != NULL ? strchr(said, '\n') : NULL;
    if (said == NULL)
        return;
    int length = notes != NULL ? (int)(notes - said) : (int)strlen(said);
    dcli_text_put(out, "%s:%d:%d: %s: %.*s\n", complaints->file[0] != '\0' ? complaints->file : "nest",
                  complaints->place[n].line, complaints->place[n].column, kind, length, said);
    put_line(out, complaints, complaints->place[n]);
    dcli_text_put(out, "%s", notes != NULL ? notes : "");
}

/* The first error in the order of the text that is not done; -1: none. */
static int next_of(const dcli_loops_complaints *complaints, int count, const bool done[])
{
    int found = -1;
    for (int n = 0; n < count; n++) {
        const dcli_loops_place *a = &complaints->place[n], *b = &complaints->place[found < 0 ? n : found];
        if (!done[n] && (found < 0 || a->line < b->line || (a->line == b->line && a->column < b->column)))
            found = n;
    }
    return found;
}

void dcli_loops_complaints_put(const dcli_loops_complaints *complaints, const char *kind, dcli_text *out)
{
    bool done[DCLI_LOOPS_COMPLAINTS] = {false};
    int count = complaints->count < DCLI_LOOPS_COMPLAINTS ? complaints->count : DCLI_LOOPS_COMPLAINTS;
    for (int n = 0; (n = next_of(complaints, count, done)) >= 0;) {
        dcli_text_put(out, "%s", out->length > 0 ? "\n" : "");
        put_one(out, complaints, kind, n);
        done[n] = true;
    }
    if (complaints->count > count)
        dcli_text_put(out, "\nand %d %ss more", complaints->count - count, kind);
}

dcl_status dcli_loops_complaints_end(dcli_loops_complaints *complaints)
{
    if (complaints->count == 0)
        return DCL_OK;
    dcli_text all = {0};
    dcli_loops_complaints_put(complaints, "error", &all);
    dcl_status status = all.failed ? DCL_ERR_NOMEM : DCLI_FAIL(DCL_ERR_BODY, "%s", all.bytes);
    dcli_text_free(&all);
    return status;
}

void dcli_loops_complaints_free(dcli_loops_complaints *complaints)
{
    for (int n = 0; n < DCLI_LOOPS_COMPLAINTS; n++)
        dcli_text_free(&complaints->said[n]);
}
