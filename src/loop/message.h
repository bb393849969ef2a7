/* loop/message.h - the errors of a loop nest. All are collected, each with its line and column, and reported together. */
#ifndef DCLI_LOOPS_MESSAGE_H
#define DCLI_LOOPS_MESSAGE_H

#include <dcl/base.h>

#include "base/text.h"

/** A place in the text of a nest, from 1. Columns count bytes. Lines are those of `#line`, if the text begins with it. */
typedef struct dcli_loops_place {
    int line, column;
} dcli_loops_place;

enum { DCLI_LOOPS_COMPLAINTS = 16 /* later ones are counted only */ };

/** The errors of a nest. Start with {.text = ...}. */
typedef struct dcli_loops_complaints {
    const char *text; /* the nest, borrowed */
    char file[256];   /* of `#line N "FILE"`; "": the errors are of "nest" */
    int shift;        /* the line of a place, less its line in `text` */
    int count;
    dcli_loops_place place[DCLI_LOOPS_COMPLAINTS];
    const char *code[DCLI_LOOPS_COMPLAINTS];
    dcli_text said[DCLI_LOOPS_COMPLAINTS]; /* the sentence, and after a line feed each note */
} dcli_loops_complaints;

/** Add an error. @param code  a constant, as "out-of-bounds". */
void dcli_loops_complain(dcli_loops_complaints *complaints, dcli_loops_place place, const char *code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
/** Add a note to the last error: a witness, or a way out. */
void dcli_loops_note(dcli_loops_complaints *complaints, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Record all errors, in the order of the text, as one error of this thread:
 *
 *      nest:3:9: error: TEXT [CODE]        (or FILE:3:9, if the text begins with #line)
 *          the line
 *          ^
 *        note: ...
 *
 *  @return DCL_OK: there are none; else DCL_ERR_BODY. */
dcl_status dcli_loops_complaints_end(dcli_loops_complaints *complaints);
/** Put all of them, in the order of the text, as a `kind`: "error", "warning". */
void dcli_loops_complaints_put(const dcli_loops_complaints *complaints, const char *kind, dcli_text *out);
/** Free the texts. */
void dcli_loops_complaints_free(dcli_loops_complaints *complaints);

#endif
