/* base/error.h - recording an error: a status to branch on and a sentence for people. */
#ifndef DCLI_BASE_ERROR_H
#define DCLI_BASE_ERROR_H

#include <dcl/base.h>

/** Longest error text kept, bytes with the final '\0'. Body errors quote a line and a caret. */
#define DCLI_ERROR_BYTES 1536

/** Name the public call this thread is in: the prefix of the errors it records ("dcl_agile: ..."). First statement of
 *  every public function that can fail. The outermost call wins while it runs only if it is set first, so internal
 *  code uses no public functions that can fail. */
void dcli_error_enter(const char *function);

/** dcli_error_enter() of a function that makes a cluster, map or array and returns NULL when it fails. Its error is kept
 *  until the next one of a constructor: calls that are given the NULL return it. */
void dcli_error_enter_constructor(const char *function);
/** Keep the current error as the reason why a call returns NULL: calls that are given the NULL return it. For callers of other
 *  public functions, and for functions that are no constructors but return NULL. */
void dcli_error_made_null(void);
/** The constructor whose error is kept was called with this cluster (a handle): operations that are given the NULL fail there. */
void dcli_error_made_null_in(const void *cluster);
/** That cluster; NULL: there is none, or no error is kept. */
const void *dcli_error_cause_in(void);
/** Whether this thread's last error is the kept one. */
bool dcli_error_is_cause(void);

/** Record an error of this thread. @return `status`, so that a caller can return it at once. */
dcl_status dcli_error_record(dcl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A handle given to the current call is NULL: make the constructor's error that made it NULL the current one; where there is
 *  none, record DCL_ERR_INVALID with this sentence. @return its status. */
dcl_status dcli_error_record_null(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Record an error that already is a whole sentence with its prefix (it came from another thread or node). */
dcl_status dcli_error_adopt(dcl_status status, const char *text);

/** This thread's last status and its text without the prefix. */
dcl_status dcli_error_status(void);
const char *dcli_error_sentence(void);
/** Forget this thread's last error; dcli_error_forget(): that of a constructor, too. */
void dcli_error_clear(void);
void dcli_error_forget(void);

/** The message: value found, what was expected, how to fix. Written once, where the failure is found. */
#define DCLI_FAIL(status, ...) dcli_error_record((status), __VA_ARGS__)
#define DCLI_FAIL_NULL(...) dcli_error_record_null(__VA_ARGS__)

#endif
