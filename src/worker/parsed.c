/* worker/parsed.c - parsed bodies that the peers of one process share. */
#include "worker/parsed.h"

#include "base/alloc.h"

enum { BUCKETS = sizeof((dcli_parsed *)0)->bucket / sizeof((dcli_parsed *)0)->bucket[0] };

struct dcli_parsed_body {
    int64_t number, uses;
    dcli_body *body;
    dcli_parsed_body *next;
};

void dcli_parsed_init(dcli_parsed *parsed)
{
    *parsed = (dcli_parsed){.bucket = {NULL}};
    pthread_mutex_init(&parsed->lock, NULL);
}

void dcli_parsed_free(dcli_parsed *parsed) { pthread_mutex_destroy(&parsed->lock); }

/* Find a body; the lock is held. @return its position in the list, or the end of the list. */
static dcli_parsed_body **find(dcli_parsed *parsed, int64_t number)
{
    dcli_parsed_body **at = &parsed->bucket[number % BUCKETS];
    while (*at != NULL && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

const dcli_body *dcli_parsed_find(dcli_parsed *parsed, int64_t number)
{
    pthread_mutex_lock(&parsed->lock);
    dcli_parsed_body *common = *find(parsed, number);
    if (common != NULL)
        common->uses++;
    pthread_mutex_unlock(&parsed->lock);
    return common != NULL ? common->body : NULL;
}

const dcli_body *dcli_parsed_share(dcli_parsed *parsed, int64_t number, dcli_body *body)
{
    dcli_parsed_body *fresh = dcli_calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        dcli_body_free(body);
        return NULL;
    }
    *fresh = (dcli_parsed_body){.number = number, .body = body};
    pthread_mutex_lock(&parsed->lock);
    dcli_parsed_body **at = find(parsed, number), *common = *at;
    if (common == NULL)
        common = *at = fresh;
    common->uses++;
    pthread_mutex_unlock(&parsed->lock);
    if (common != fresh) {
        dcli_body_free(body);
        dcli_free(fresh);
    }
    return common->body;
}

void dcli_parsed_end_use(dcli_parsed *parsed, int64_t number)
{
    pthread_mutex_lock(&parsed->lock);
    dcli_parsed_body **at = find(parsed, number), *ended = *at;
    if (--ended->uses == 0)
        *at = ended->next;
    else
        ended = NULL;
    pthread_mutex_unlock(&parsed->lock);
    if (ended == NULL)
        return;
    dcli_body_free(ended->body);
    dcli_free(ended);
}
