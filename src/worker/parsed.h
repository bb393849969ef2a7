/* worker/parsed.h - the parsed bodies that the peers of one process run, by number: one copy of each. Used by all threads. */
#ifndef DCLI_WORKER_PARSED_H
#define DCLI_WORKER_PARSED_H

#include <pthread.h>

#include "kernel/body.h"

typedef struct dcli_parsed_body dcli_parsed_body;

typedef struct dcli_parsed {
    pthread_mutex_t lock; /* the lists and the numbers of uses; a leaf */
    dcli_parsed_body *bucket[256];
} dcli_parsed;

void dcli_parsed_init(dcli_parsed *parsed);
/** All uses have ended. */
void dcli_parsed_free(dcli_parsed *parsed);
/** The body with this number, with a use more; NULL: nobody has parsed it yet. */
const dcli_body *dcli_parsed_find(dcli_parsed *parsed, int64_t number);
/** Enter a body that was parsed. Takes it over: another thread may have been faster, then that one's is returned. With a use
 *  more. @return NULL: DCL_ERR_NOMEM. */
const dcli_body *dcli_parsed_share(dcli_parsed *parsed, int64_t number, dcli_body *body);
void dcli_parsed_end_use(dcli_parsed *parsed, int64_t number);

#endif
