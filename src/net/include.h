/* net/include.h - the #include directives of an OpenCL program's text.
 *
 * The driver reads the files that a program includes and sends them along; the server lets no compiler read any other. Both
 * must see the same directives as a compiler does: after comments, line continuations and the digraph %: are taken into
 * account. Source: ISO C99, 5.1.1.2 (phases 1 to 4) and 6.10. */
#ifndef DCLI_NET_INCLUDE_H
#define DCLI_NET_INCLUDE_H

#include <stdbool.h>
#include <stddef.h>

enum { DCLI_MOST_INCLUDE = 1024 };

/** The name by which a text includes header k of those that are sent with it, from 0: a format for printf(). */
#define DCLI_INCLUDE_NAME "dcl-include-%d.h"

/** A directive that reads a file, or one whose rest of line compilers read in two ways (#error, #warning). */
typedef struct dcli_include {
    size_t begin, end;            /* of the directive in the text, from its # to before the end of its line */
    bool is_message;              /* #error or #warning: nothing of what follows is set */
    char form;                    /* '"' or '<': the name is written so; 0: by a macro, or it is malformed */
    char name[DCLI_MOST_INCLUDE]; /* as written between these signs, or in the rest of the line; "": longer, or none */
} dcli_include;

/** Find the next directive that includes a file: #include, #include_next, #import or #embed; also in inactive branches.
 *  @param length  bytes of the text. @param at  where to begin: 0, or the `end` of the directive before.
 *  @return false: there is none. */
bool dcli_include_next(const char *text, size_t length, size_t at, dcli_include *include_out);

/** Whether a text has a trigraph by which compilers differ in what a directive is: ??= or ??/. */
bool dcli_has_trigraph(const char *text, size_t length);

#endif
