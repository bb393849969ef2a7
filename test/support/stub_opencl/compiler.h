/* support/stub_opencl/compiler.h - programs of the stub driver: compiled by Clang, and loaded. */
#ifndef TEST_STUB_OPENCL_COMPILER_H
#define TEST_STUB_OPENCL_COMPILER_H

#include <stddef.h>

enum { STUB_MOST_ARGUMENTS = 128 };

/** A compiled kernel: runs all work-items. @param arguments  addresses of the arguments' values.
 *  @param sizes  numbers of work-items along three axes. */
typedef void stub_kernel(void *const arguments[], const unsigned long sizes[3]);

/** Compile a program, or load it if another process has compiled it: libraries lie in the folder that STUB_OPENCL_CACHE
 *  names. @return the library for dlsym(); NULL: log_out says why. */
void *stub_compile(const char *source, char log_out[], size_t capacity);
/** Find a kernel in a compiled program. @param kinds_out  a letter per argument, p: a pointer, v: a value.
 *  @return NULL: there is none. */
stub_kernel *stub_find(void *library, const char *name, const char **kinds_out);

#endif
