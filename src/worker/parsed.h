/* worker/parsed.h - parsed bodies that the peers of one process share, by number: one copy of each. Used by all
 * threads. */
#ifndef DCLI_WORKER_PARSED_H
#define DCLI_WORKER_PARSED_H

#include <pthread.h>

#include "kernel/body.h"

typedef struct dcli_parsed_body dcli_parsed_body;

typedef struct dcli_parsed {
    pthread_mutex_t lock; /* guards the lists and the numbers of uses; no other lock is taken under it */
    dcli_parsed_body *bucket[256];
} dcli_parsed;

void dcli_parsed_init(dcli_parsed *parsed);
/** Free; all uses have ended. */
void dcli_parsed_free(dcli_parsed *parsed);
/** Get the body with this number and add a use; NULL: it was not parsed yet. */
const dcli_body *dcli_parsed_find(dcli_parsed *parsed, int64_t number);
/** Share a parsed body and add a use. Takes it over; if another thread has shared the same body first, that one is
 *  returned. @return NULL: DCL_ERR_NOMEM. */
const dcli_body *dcli_parsed_share(dcli_parsed *parsed, int64_t number, dcli_body *body);
/** End a use of the body with this number; the last one frees it. */
void dcli_parsed_end_use(dcli_parsed *parsed, int64_t number);

#endif
