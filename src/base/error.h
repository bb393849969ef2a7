/* base/error.h - recording an error: a status to branch on and a sentence for people. */
#ifndef DCLI_BASE_ERROR_H
#define DCLI_BASE_ERROR_H

#include <dcl/base.h>
#include <stdint.h>

/** Longest error text in bytes, with the final '\0'. Errors in bodies quote a line and a caret. */
#define DCLI_ERROR_BYTES 1536

/** Set the name of the public function that this thread is in: the prefix of the errors it records ("dcl_agile: ...").
 *  It is the first statement of every public function that can fail. A nested call would replace the name, so internal
 *  code calls no public functions that can fail. */
void dcli_error_enter(const char *function);

/** dcli_error_enter() for a constructor: a function that makes a cluster, map or array and returns NULL when it fails.
 *  Its error is retained until the next failure of a constructor, because calls that are given the NULL return that
 *  error. */
void dcli_error_enter_constructor(const char *function);
/** Retain the current error as the reason why a call returns NULL: calls that are given the NULL return this error. For
 *  code that calls other public functions, and for functions that return NULL but are not constructors. */
void dcli_error_made_null(void);
/** Record the cluster (a handle) for which the failed constructor was called: operations that are given the NULL make
 *  this cluster fail. */
void dcli_error_made_null_in(const void *cluster);
/** The cluster of dcli_error_made_null_in(); NULL: there is none, or no error is retained. */
const void *dcli_error_cause_in(void);
/** Whether this thread's last error is the retained one. */
bool dcli_error_is_cause(void);

/** Record an error of this thread. @return `status`, so that the caller can write `return dcli_error_record(...)`. */
dcl_status dcli_error_record(dcl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Fail because a handle argument of the current call is NULL. If an error is retained (dcli_error_made_null()), it
 *  becomes the current one again; otherwise record DCL_ERR_INVALID with this sentence. @return the status. */
dcl_status dcli_error_record_null(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Record an error whose text came from another thread or node; it already has its prefix. */
dcl_status dcli_error_adopt(dcl_status status, const char *text);

/** Note that this thread's last error is the consequence of a failure that is not known yet.
 *  @param upto  the operation that has failed is this one or an earlier one. */
void dcli_error_lacks_cause(int64_t upto);
/** `upto` of this thread's last error; 0: it does not lack its cause. */
int64_t dcli_error_cause_upto(void);

/** Between the two calls this thread does the work of another one: errors that it records then are not its own, and are
 *  forgotten at the end. */
void dcli_error_set_aside(bool begin);
bool dcli_error_is_set_aside(void);

/** The status of this thread's last error. dcli_error_sentence() returns its text without the prefix. */
dcl_status dcli_error_status(void);
const char *dcli_error_sentence(void);
/** dcli_error_clear() forgets this thread's last error; dcli_error_forget() also the retained error of a
 *  constructor. */
void dcli_error_clear(void);
void dcli_error_forget(void);

/** Fail with a sentence: value found, what was expected, how to fix. The sentence is written once, where the failure is
 *  found. */
#define DCLI_FAIL(status, ...) dcli_error_record((status), __VA_ARGS__)
#define DCLI_FAIL_NULL(...) dcli_error_record_null(__VA_ARGS__)

#endif
