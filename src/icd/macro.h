/* icd/macro.h - macros that build options define: some programs name the files that they include by them. */
#ifndef DCLI_ICD_MACRO_H
#define DCLI_ICD_MACRO_H

#include <stdbool.h>
#include <stddef.h>

enum { ICD_MOST_MACROS = 256, ICD_MOST_PARAMETERS = 8, ICD_MOST_EXPANSION = 4096 };

/** A macro, as -D defines it. */
typedef struct icd_macro {
    char *name, *body;
    int count; /* parameters; -1: it is used without parentheses */
    char *parameter[ICD_MOST_PARAMETERS];
} icd_macro;

typedef struct icd_macros {
    int count;
    icd_macro macro[ICD_MOST_MACROS];
} icd_macros;

/** Add the macro of an option -D. A later one of the same name replaces the first. One that is malformed, or one too many, is left out:
 *  then an #include that uses it is not found. @param definition  what follows -D. @return false: no memory. */
bool icd_macro_define(icd_macros *macros, const char *definition);
/** Remove the macro of an option -U. */
void icd_macro_undefine(icd_macros *macros, const char *name);
/** Expand macros in a part of a line. Neither ## nor __VA_ARGS__ is known. Source: ISO C99, 6.10.3.
 *  @param text_out  [ICD_MOST_EXPANSION]. @return false: it is longer, or nested too deep. */
bool icd_macros_expand(const icd_macros *macros, const char *text, char *text_out);
void icd_macros_free(icd_macros *macros);

#endif
