/* remote/source.h - filters a client's program for the device's compiler: the text must not read files, and each option
 * must be in a list.
 *
 * This gives clear errors and keeps compilers of devices from reading files of the worker. On a processor a kernel is
 * native code, so it is no security barrier there; the confinement of the process is (fleet/confine.h). */
#ifndef DCLI_REMOTE_SOURCE_H
#define DCLI_REMOTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/** Check options of clBuildProgram(), clCompileProgram() or clLinkProgram().
 *  @param why_out  the sentence for the build log, if one is refused. @return whether all are allowed. */
bool dcli_options_check(const char *options, char *why_out, size_t capacity);

/** Copy a text in which each directive that would read a file is #error with the reason, in the same number of lines. So a
 *  directive in an inactive branch does no harm, and one in an active branch fails with its line. Names of headers that
 *  are sent with the program (DCLI_INCLUDE_NAME) remain.
 *  @param length_out  bytes of the copy. @return the copy, ended with '\0', to free with dcli_free(); NULL: no memory. */
char *dcli_source_confine(const char *text, size_t length, size_t *length_out);

#endif
