/* net/authenticator_inside.h - inside of an authenticator: its tables, which its thread reads. */
#ifndef DCLI_NET_AUTHENTICATOR_INSIDE_H
#define DCLI_NET_AUTHENTICATOR_INSIDE_H

#include <pthread.h>
#include <stddef.h>

#include "net/authenticator.h"

enum { DCLI_AUTHENTICATOR_KEY = 32 /* bytes of a key on the wire */ };

typedef struct dcli_domain {
    char name[DCLI_DOMAIN_BYTES];
    bool keys;                               /* clients need a key; else a password */
    char password[DCLI_PASSWORD_BYTES];      /* overwritten when the domain ends */
    char host_password[DCLI_PASSWORD_BYTES]; /* password of the user DCLI_AUTHENTICATOR_HOST; "": there is none */
    unsigned char (*key)[DCLI_AUTHENTICATOR_KEY];
    int64_t key_count, key_capacity;
    int64_t refused;
    int64_t told_ns, untold; /* time of the last logged refusal, and number of refusals since */
    struct dcli_domain *next;
} dcli_domain;

struct dcli_authenticator {
    pthread_mutex_t lock; /* guards the fields up to the handler; not held while logging */
    dcli_domain *domains;
    dcli_domain stray; /* counts requests that belong to no domain */
    const dcli_log *log;
    void *handler; /* REP socket for libzmq's requests, used by the thread */
    pthread_t thread;
    int stop_fd; /* an eventfd that ends the thread */
    bool has_keys;
};

/** Main function of the authenticator's thread. @param authenticator  a dcli_authenticator. @return NULL. */
void *dcli_authenticator_serve(void *authenticator);
/** Find a domain; the lock is held. @return NULL: there is none. */
dcli_domain *dcli_authenticator_find(dcli_authenticator *authenticator, const void *name, size_t length);
/** Find a key. @param key  [DCLI_AUTHENTICATOR_KEY]. @return its index among the allowed keys; -1: it is not
 *  allowed. */
int64_t dcli_domain_find_key(const dcli_domain *domain, const void *key);

#endif
