/* icd/include.h - the files that a program includes: the driver reads them on the program's host, and sends them along. */
#ifndef DCLI_ICD_INCLUDE_H
#define DCLI_ICD_INCLUDE_H

#include "icd/inside.h"
#include "icd/macro.h"

enum { ICD_MOST_HEADERS = DCLI_MOST_COMMAND_NUMBERS - 1, ICD_MOST_FOLDERS = 64 };

/** A file or header that a program includes. */
typedef struct icd_header {
    char *path; /* of a file; NULL: a header given to clCompileProgram() */
    char *text; /* in which the names of headers are those of net/include.h */
    const char *name;
} icd_header;

/** A program's text as it is sent, with its headers, and the options without -I. */
typedef struct icd_bundle {
    char *text, *options;
    icd_macros macros; /* of the options */
    int count, folder_count;
    icd_header header[ICD_MOST_HEADERS];
    char *folder[ICD_MOST_FOLDERS]; /* in which files are looked for, in this order */
    bool too_many;                  /* files, or folders: some were left out */
} icd_bundle;

/** Read what a program includes. Files that are not found remain as they are named; the server says so.
 *  @param source  NULL: the program has no text, and only the options are looked at. @param given  [given_count] programs
 *  of headers, with their names. @return CL_SUCCESS or CL_OUT_OF_HOST_MEMORY; to be closed in both cases. */
cl_int icd_bundle_open(const char *source, const char *options, cl_uint given_count, icd_program *const given[],
                       const char *const names[], icd_bundle *bundle_out);
void icd_bundle_close(icd_bundle *bundle);

#endif
