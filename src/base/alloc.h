/* base/alloc.h - allocation of the library's own memory. Failures are recorded as errors; tests can provoke them. */
#ifndef DCLI_BASE_ALLOC_H
#define DCLI_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/** Zeroed memory for `count` objects of `bytes` each. @return NULL (DCL_ERR_NOMEM recorded, with the size asked for). */
void *dcli_calloc(size_t count, size_t bytes);
/** Memory that is not zeroed. @return NULL as dcli_calloc(). */
void *dcli_malloc(size_t bytes);
/** Resize to `count` objects of `bytes` each; with old == NULL allocate new memory. @return NULL as dcli_calloc();
 *  `old` is then still valid. */
void *dcli_realloc(void *old, size_t count, size_t bytes);
/** A copy of a string. @return NULL as above. */
char *dcli_strdup(const char *text);
void dcli_free(void *memory);

/** Make room for one more object: if `*items` is full, double its capacity. @return 0, or -1 with DCL_ERR_NOMEM
 *  recorded. */
int dcli_grow(void *items_in_out, int64_t count, int64_t *capacity_in_out, size_t bytes);

/** Make room for `more` objects after the first `count`, at least doubling the capacity. @return as dcli_grow(). */
int dcli_reserve(void *items_in_out, int64_t count, int64_t more, int64_t *capacity_in_out, size_t bytes);

/** As dcli_malloc(), but without an error if there is no memory: the caller can do without. */
void *dcli_try_malloc(size_t bytes);
/** Release the capacity beyond the first `count` objects; with none, `*items` becomes NULL. If that fails, the list stays
 *  as it is. */
void dcli_fit(void *items_in_out, int64_t count, int64_t *capacity_in_out, size_t bytes);

/** For tests: let the n-th allocation of this thread from now on fail (1 = the next); 0 turns it off. Allocations for
 *  the work of another thread (dcli_error_set_aside()) do not count. */
void dcli_alloc_fail_after(int n);

#endif
