/* net/authenticator.c - the data of an authenticator, and the options of the sockets that it guards. */
#include "net/authenticator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/signals.h"
#include "net/authenticator_inside.h"
#include "net/endpoint.h"
#include "net/wire_socket.h"

/* ---- opening and closing ---- */

static dcl_status bind_handler(dcli_authenticator *authenticator, dcli_net *net)
{
    authenticator->handler = dcli_net_socket(net, ZMQ_REP);
    if (authenticator->handler == NULL)
        return dcli_error_status();
    if (zmq_bind(authenticator->handler, "inproc://zeromq.zap.01") == 0)
        return DCL_OK;
    dcl_status status =
        dcli_net_fail(DCL_ERR_NETWORK, "zmq_bind(inproc://zeromq.zap.01)", "open one authenticator per net");
    zmq_close(authenticator->handler);
    return status;
}

static dcl_status start_thread(dcli_authenticator *authenticator)
{
    int code = dcli_thread_start(&authenticator->thread, dcli_authenticator_serve, authenticator);
    if (code != 0)
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "pthread_create: %s; expected one more thread for checking who connects; raise "
                         "`ulimit -u`",
                         strerror(code));
    pthread_setname_np(authenticator->thread, "dcl-auth");
    return DCL_OK;
}

static dcl_status open_authenticator(dcli_authenticator *authenticator, dcli_net *net)
{
    authenticator->stop_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (authenticator->stop_fd < 0)
        return dcli_net_fail(DCL_ERR_NETWORK, "eventfd", "raise the limit of open descriptors with `ulimit -n`");
    dcl_status status = bind_handler(authenticator, net);
    if (status != DCL_OK)
        goto close_fd;
    status = start_thread(authenticator);
    if (status != DCL_OK)
        goto close_handler;
    return DCL_OK;

close_handler:
    zmq_close(authenticator->handler);
close_fd:
    close(authenticator->stop_fd);
    return status;
}

dcl_status dcli_authenticator_open(dcli_net *net, const dcli_log *log, dcli_authenticator **authenticator_out)
{
    dcli_authenticator *authenticator = dcli_calloc(1, sizeof *authenticator);
    if (authenticator == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_init(&authenticator->lock, NULL);
    authenticator->has_keys = zmq_has("curve") != 0;
    dcl_status status = open_authenticator(authenticator, net);
    if (status != DCL_OK) {
        pthread_mutex_destroy(&authenticator->lock);
        dcli_free(authenticator);
        return status;
    }
    status = dcli_authenticator_prove(authenticator, net);
    if (status != DCL_OK) {
        dcli_authenticator_close(authenticator);
        return status;
    }
    pthread_mutex_lock(&authenticator->lock);
    authenticator->log = log; /* set only now: the self-test causes refusals that must not be logged */
    authenticator->stray.refused = 0;
    pthread_mutex_unlock(&authenticator->lock);
    *authenticator_out = authenticator;
    return DCL_OK;
}

static void free_domain(dcli_domain *domain)
{
    explicit_bzero(domain->password, sizeof domain->password);
    explicit_bzero(domain->host_password, sizeof domain->host_password);
    dcli_free(domain->key);
    dcli_free(domain);
}

void dcli_authenticator_close(dcli_authenticator *authenticator)
{
    if (authenticator == NULL)
        return;
    uint64_t one = 1;
    while (write(authenticator->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(authenticator->thread, NULL);
    /* Closing the socket alone frees the name only after some time. */
    zmq_unbind(authenticator->handler, "inproc://zeromq.zap.01");
    zmq_close(authenticator->handler);
    close(authenticator->stop_fd);
    while (authenticator->domains != NULL) {
        dcli_domain *domain = authenticator->domains;
        authenticator->domains = domain->next;
        free_domain(domain);
    }
    pthread_mutex_destroy(&authenticator->lock);
    dcli_free(authenticator);
}

bool dcli_authenticator_has_keys(const dcli_authenticator *authenticator) { return authenticator->has_keys; }

/* ---- domains ---- */

dcli_domain *dcli_authenticator_find(dcli_authenticator *authenticator, const void *name, size_t length)
{
    for (dcli_domain *domain = authenticator->domains; domain != NULL; domain = domain->next)
        if (strlen(domain->name) == length && memcmp(domain->name, name, length) == 0)
            return domain;
    return NULL;
}

static dcli_domain *find(dcli_authenticator *authenticator, const char *name)
{
    return dcli_authenticator_find(authenticator, name, strlen(name));
}

/** Add a domain. @param domain  taken over, also on failure. */
static dcl_status enter(dcli_authenticator *authenticator, dcli_domain *domain)
{
    pthread_mutex_lock(&authenticator->lock);
    bool taken = find(authenticator, domain->name) != NULL;
    if (!taken) {
        domain->next = authenticator->domains;
        authenticator->domains = domain;
    }
    pthread_mutex_unlock(&authenticator->lock);
    if (!taken)
        return DCL_OK;
    dcl_status status = DCLI_FAIL(
        DCL_ERR_INVALID, "there is a domain \"%s\" already; expected a new name; choose another", domain->name);
    free_domain(domain);
    return status;
}

static dcl_status check_length(const char *what, const char *text, size_t bytes)
{
    size_t length = strlen(text);
    if (length > 0 && length < bytes)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID, "%s has %zu characters; expected 1..%zu; choose another", what, length,
                     bytes - 1);
}

dcl_status dcli_authenticator_add_password(dcli_authenticator *authenticator, const char *name, const char *password)
{
    dcl_status status = check_length("the name of a domain", name, DCLI_DOMAIN_BYTES);
    if (status == DCL_OK)
        status = check_length("a password", password, DCLI_PASSWORD_BYTES);
    if (status != DCL_OK)
        return status;
    dcli_domain *domain = dcli_calloc(1, sizeof *domain);
    if (domain == NULL)
        return DCL_ERR_NOMEM;
    strcpy(domain->name, name);
    strcpy(domain->password, password);
    return enter(authenticator, domain);
}

dcl_status dcli_authenticator_add_host(dcli_authenticator *authenticator, const char *name, const char *password)
{
    dcl_status status = check_length("a password", password, DCLI_PASSWORD_BYTES);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&authenticator->lock);
    dcli_domain *domain = find(authenticator, name);
    bool fits = domain != NULL && !domain->keys;
    if (fits)
        strcpy(domain->host_password, password);
    pthread_mutex_unlock(&authenticator->lock);
    return fits ? DCL_OK
                : DCLI_FAIL(DCL_ERR_INVALID, "the domain \"%s\" %s; expected one with a password; add it first", name,
                            domain == NULL ? "is unknown" : "has keys");
}

dcl_status dcli_authenticator_add_keys(dcli_authenticator *authenticator, const char *name)
{
    dcl_status status = check_length("the name of a domain", name, DCLI_DOMAIN_BYTES);
    if (status != DCL_OK)
        return status;
    if (!authenticator->has_keys)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "this libzmq has no CURVE; expected one built with it, for keys; install one "
                         "(with libsodium), or listen on loopback only, without keys");
    dcli_domain *domain = dcli_calloc(1, sizeof *domain);
    if (domain == NULL)
        return DCL_ERR_NOMEM;
    strcpy(domain->name, name);
    domain->keys = true;
    return enter(authenticator, domain);
}

void dcli_authenticator_remove(dcli_authenticator *authenticator, const char *name)
{
    pthread_mutex_lock(&authenticator->lock);
    dcli_domain *domain = find(authenticator, name);
    if (domain != NULL) {
        dcli_domain **link = &authenticator->domains;
        while (*link != domain)
            link = &(*link)->next;
        *link = domain->next;
    }
    pthread_mutex_unlock(&authenticator->lock);
    if (domain != NULL)
        free_domain(domain);
}

int64_t dcli_authenticator_refused(dcli_authenticator *authenticator, const char *name)
{
    pthread_mutex_lock(&authenticator->lock);
    const dcli_domain *domain = name != NULL ? find(authenticator, name) : &authenticator->stray;
    int64_t refused = domain != NULL ? domain->refused : 0;
    pthread_mutex_unlock(&authenticator->lock);
    return refused;
}

/* ---- keys of a domain ---- */

int64_t dcli_domain_find_key(const dcli_domain *domain, const void *key)
{
    for (int64_t i = 0; i < domain->key_count; i++)
        if (memcmp(domain->key[i], key, DCLI_AUTHENTICATOR_KEY) == 0)
            return i;
    return -1;
}

static bool decode(const char key[DCLI_KEY_Z85], unsigned char bytes_out[DCLI_AUTHENTICATOR_KEY])
{
    return strnlen(key, DCLI_KEY_Z85) == DCLI_KEY_Z85 - 1 && zmq_z85_decode(bytes_out, key) != NULL;
}

/** Add a key to a domain; one that is there already is not added again. The lock is held. */
static dcl_status allow(dcli_domain *domain, const char *name, const unsigned char key[DCLI_AUTHENTICATOR_KEY])
{
    if (domain == NULL || !domain->keys)
        return DCLI_FAIL(DCL_ERR_INVALID, "the domain \"%s\" %s; expected one with keys; add it first", name,
                         domain == NULL ? "is unknown" : "has a password");
    if (dcli_domain_find_key(domain, key) >= 0)
        return DCL_OK;
    if (domain->key_count == DCLI_MOST_ALLOWED)
        return DCLI_FAIL(DCL_ERR_INVALID, "the domain \"%s\" has %d keys; expected no more; forbid some", name,
                         DCLI_MOST_ALLOWED);
    if (dcli_grow(&domain->key, domain->key_count, &domain->key_capacity, sizeof domain->key[0]) != 0)
        return DCL_ERR_NOMEM;
    memcpy(domain->key[domain->key_count++], key, DCLI_AUTHENTICATOR_KEY);
    return DCL_OK;
}

dcl_status dcli_authenticator_allow(dcli_authenticator *authenticator, const char *name, const char key[DCLI_KEY_Z85])
{
    unsigned char bytes[DCLI_AUTHENTICATOR_KEY];
    if (!decode(key, bytes))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the key to allow is malformed; expected %d characters of Z85; take it from "
                         "dcli_key_read() or dcli_key_parse()",
                         DCLI_KEY_Z85 - 1);
    pthread_mutex_lock(&authenticator->lock);
    dcl_status status = allow(find(authenticator, name), name, bytes);
    pthread_mutex_unlock(&authenticator->lock);
    return status;
}

void dcli_authenticator_forbid(dcli_authenticator *authenticator, const char *name, const char key[DCLI_KEY_Z85])
{
    unsigned char bytes[DCLI_AUTHENTICATOR_KEY];
    if (!decode(key, bytes))
        return;
    pthread_mutex_lock(&authenticator->lock);
    dcli_domain *domain = find(authenticator, name);
    int64_t at = domain != NULL ? dcli_domain_find_key(domain, bytes) : -1;
    if (at >= 0)
        memcpy(domain->key[at], domain->key[--domain->key_count], DCLI_AUTHENTICATOR_KEY);
    pthread_mutex_unlock(&authenticator->lock);
}

/* ---- sockets ---- */

static dcl_status set_text(void *socket, int option, const char *text)
{
    if (zmq_setsockopt(socket, option, text, strlen(text)) == 0)
        return DCL_OK;
    return dcli_net_fail(DCL_ERR_NETWORK, "zmq_setsockopt", "this libzmq is not fit for DCL: use 4.3 or newer");
}

static dcl_status check_key(const char *what, const char key[DCLI_KEY_Z85])
{
    unsigned char bytes[DCLI_AUTHENTICATOR_KEY];
    bool sound = decode(key, bytes);
    explicit_bzero(bytes, sizeof bytes);
    if (sound)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "%s key is malformed; expected %d characters of Z85; read it with dcli_keys_read() or "
                     "dcli_key_read()",
                     what, DCLI_KEY_Z85 - 1);
}

static dcl_status check_domain(dcli_authenticator *authenticator, const char *name, bool keys)
{
    pthread_mutex_lock(&authenticator->lock);
    const dcli_domain *domain = find(authenticator, name);
    bool there = domain != NULL, fits = there && domain->keys == keys;
    pthread_mutex_unlock(&authenticator->lock);
    if (fits)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "the domain \"%s\" %s; expected one with %s; add it first, and give a key pair where "
                     "it has keys",
                     name, there ? "is of the other kind" : "is unknown", keys ? "keys" : "a password");
}

dcl_status dcli_authenticator_guard_socket(dcli_authenticator *authenticator, void *socket, const char *name,
                                           const dcli_keypair *own)
{
    dcl_status status = check_domain(authenticator, name, own != NULL);
    if (status == DCL_OK && own != NULL)
        status = check_key("the listener's secret", own->secret_key);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_ZAP_DOMAIN, name);
    if (status == DCL_OK)
        status = dcli_wire_option(socket, ZMQ_HANDSHAKE_IVL, DCLI_HANDSHAKE_MS);
    if (status == DCL_OK)
        status = dcli_wire_option(socket, own != NULL ? ZMQ_CURVE_SERVER : ZMQ_PLAIN_SERVER, 1);
    if (status == DCL_OK && own != NULL)
        status = set_text(socket, ZMQ_CURVE_SECRETKEY, own->secret_key);
    return status;
}

dcl_status dcli_present_password(void *socket, const char *password)
{
    return dcli_present_password_as(socket, DCLI_AUTHENTICATOR_USER, password);
}

dcl_status dcli_present_password_as(void *socket, const char *user, const char *password)
{
    dcl_status status = check_length("a password", password, DCLI_PASSWORD_BYTES);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_PLAIN_USERNAME, user);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_PLAIN_PASSWORD, password);
    return status;
}

dcl_status dcli_present_key(void *socket, const dcli_keypair *own, const char server_key[DCLI_KEY_Z85])
{
    dcl_status status = check_key("the listener's public", server_key);
    if (status == DCL_OK)
        status = check_key("the own public", own->public_key);
    if (status == DCL_OK)
        status = check_key("the own secret", own->secret_key);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_CURVE_SERVERKEY, server_key);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_CURVE_PUBLICKEY, own->public_key);
    if (status == DCL_OK)
        status = set_text(socket, ZMQ_CURVE_SECRETKEY, own->secret_key);
    return status;
}
