/* net/authenticator_serve.c - the thread of an authenticator: answers libzmq's requests about every new connection.
 * A request has the frames version, request id, domain, address, routing id, mechanism, credentials...; the reply has
 * version, request id, status code, status text, user id, metadata. libzmq sends one request per connection, over
 * inproc.
 * Source: RFC 27/ZAP. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "net/authenticator_inside.h"
#include "net/endpoint.h"
#include "net/token.h"

enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, ROUTING_ID, MECHANISM, CREDENTIALS, MOST_FRAMES = CREDENTIALS + 2 };

typedef struct request {
    zmq_msg_t frame[MOST_FRAMES];
    int count; /* number of frames received, which may exceed the number stored */
} request;

/** The answer to a request, and what to log about it. */
typedef struct verdict {
    bool let_in;
    char user[DCLI_KEY_HEX];
    const char *mechanism; /* the request's mechanism if it is a known one */
    char why[80];          /* why it was refused; "": it was not */
} verdict;

static bool frame_is(zmq_msg_t *frame, const char *text)
{
    return zmq_msg_size(frame) == strlen(text) && memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

/* ---- deciding ---- */

static void refuse(verdict *verdict, const char *why) { snprintf(verdict->why, sizeof verdict->why, "%s", why); }

/** Compare a frame with the password. A frame may contain '\0'; then it is not equal. */
static bool password_fits(zmq_msg_t *frame, const char *password)
{
    char given[DCLI_PASSWORD_BYTES];
    size_t length = zmq_msg_size(frame);
    if (length >= sizeof given || memchr(zmq_msg_data(frame), '\0', length) != NULL)
        return false;
    memcpy(given, zmq_msg_data(frame), length);
    given[length] = '\0';
    bool fits = dcli_token_equal(given, password);
    explicit_bzero(given, sizeof given);
    return fits;
}

static void judge_password(const dcli_domain *domain, request *asked, verdict *verdict)
{
    if (asked->count != CREDENTIALS + 2 || domain->keys) {
        refuse(verdict, domain->keys ? "a password where keys are expected" : "malformed");
        return;
    }
    bool host = domain->host_password[0] != '\0' && frame_is(&asked->frame[CREDENTIALS], DCLI_AUTHENTICATOR_HOST);
    const char *password = host ? domain->host_password : domain->password;
    if ((!host && !frame_is(&asked->frame[CREDENTIALS], DCLI_AUTHENTICATOR_USER)) ||
        !password_fits(&asked->frame[CREDENTIALS + 1], password))
        refuse(verdict, host ? "wrong password of the host" : "wrong password");
    else
        verdict->let_in = true;
    snprintf(verdict->user, sizeof verdict->user, "%s", host ? DCLI_AUTHENTICATOR_HOST : DCLI_AUTHENTICATOR_USER);
}

static void judge_key(const dcli_domain *domain, request *asked, verdict *verdict)
{
    zmq_msg_t *credentials = &asked->frame[CREDENTIALS];
    if (asked->count != CREDENTIALS + 1 || zmq_msg_size(credentials) != DCLI_AUTHENTICATOR_KEY || !domain->keys) {
        refuse(verdict, domain->keys ? "malformed" : "a key where a password is expected");
        return;
    }
    char key[DCLI_KEY_Z85];
    zmq_z85_encode(key, zmq_msg_data(credentials), DCLI_AUTHENTICATOR_KEY);
    dcli_key_text(key, verdict->user);
    verdict->let_in = dcli_domain_find_key(domain, zmq_msg_data(credentials)) >= 0;
    if (!verdict->let_in)
        snprintf(verdict->why, sizeof verdict->why, "key %.*s... is not allowed", DCLI_FINGERPRINT - 1, verdict->user);
}

static void judge(const dcli_domain *domain, request *asked, verdict *verdict)
{
    *verdict = (struct verdict){.mechanism = "no known mechanism"};
    if (asked->count < CREDENTIALS || asked->count > MOST_FRAMES || !frame_is(&asked->frame[VERSION], "1.0")) {
        refuse(verdict, "malformed");
    } else if (frame_is(&asked->frame[MECHANISM], "PLAIN")) {
        verdict->mechanism = "PLAIN";
    } else if (frame_is(&asked->frame[MECHANISM], "CURVE")) {
        verdict->mechanism = "CURVE";
    } else {
        verdict->mechanism = frame_is(&asked->frame[MECHANISM], "NULL") ? "NULL" : verdict->mechanism;
        refuse(verdict, "neither password nor key");
    }
    if (verdict->why[0] == '\0' && domain == NULL)
        refuse(verdict, "no such domain");
    if (verdict->why[0] != '\0')
        return;
    if (verdict->mechanism[0] == 'P')
        judge_password(domain, asked, verdict);
    else
        judge_key(domain, asked, verdict);
}

/* ---- telling ---- */

/** Count a refusal; the lock is held. @return number of refusals since the last log line; -1: log nothing now. */
static int64_t count_refusal(dcli_domain *domain)
{
    int64_t now = dcli_monotonic_ns(), untold = domain->untold;
    domain->refused++;
    if (domain->told_ns != 0 && now - domain->told_ns < 1000000000) {
        domain->untold++;
        return -1;
    }
    domain->told_ns = now;
    domain->untold = 0;
    return untold;
}

/** Copy the address for the log, without characters that could be harmful there. */
static void copy_address(request *asked, char text_out[64])
{
    size_t length = 0;
    if (asked->count > ADDRESS && asked->count <= MOST_FRAMES) {
        const char *bytes = zmq_msg_data(&asked->frame[ADDRESS]);
        for (size_t i = 0; i < zmq_msg_size(&asked->frame[ADDRESS]) && length < 63; i++)
            text_out[length++] = bytes[i] > ' ' && bytes[i] <= '~' ? bytes[i] : '?';
    }
    text_out[length] = '\0';
    if (length == 0)
        snprintf(text_out, 64, "a process of this machine");
}

static void tell(const dcli_log *log, request *asked, const char *domain, const verdict *verdict, int64_t untold)
{
    char address[64], others[80] = "";
    copy_address(asked, address);
    if (untold > 0)
        snprintf(others, sizeof others, "; %" PRId64 " more were refused since the last such line", untold);
    DCLI_LOG(log, DCLI_LOG_WARN, "refused %s at \"%s\", %s: %s%s", address, domain, verdict->mechanism, verdict->why,
             others);
}

/* ---- serving ---- */

/** Receive a request. @return false if there is none after all. */
static bool receive(void *handler, request *asked)
{
    *asked = (request){0};
    for (bool more = true; more; asked->count++) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, handler, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&frame);
            return false;
        }
        more = zmq_msg_more(&frame) != 0;
        if (asked->count < MOST_FRAMES) {
            zmq_msg_init(&asked->frame[asked->count]);
            zmq_msg_move(&asked->frame[asked->count], &frame);
        }
        zmq_msg_close(&frame);
    }
    return true;
}

static void release(request *asked)
{
    for (int i = 0; i < asked->count && i < MOST_FRAMES; i++)
        zmq_msg_close(&asked->frame[i]);
}

static void reply(void *handler, request *asked, const verdict *verdict)
{
    zmq_send(handler, "1.0", 3, ZMQ_SNDMORE);
    bool has_id = asked->count > REQUEST_ID;
    zmq_send(handler, has_id ? zmq_msg_data(&asked->frame[REQUEST_ID]) : "",
             has_id ? zmq_msg_size(&asked->frame[REQUEST_ID]) : 0, ZMQ_SNDMORE);
    zmq_send(handler, verdict->let_in ? "200" : "400", 3, ZMQ_SNDMORE);
    const char *text = verdict->let_in ? "" : "refused"; /* the reason is only logged here, not sent to the client */
    zmq_send(handler, text, strlen(text), ZMQ_SNDMORE);
    const char *user = verdict->let_in ? verdict->user : "";
    zmq_send(handler, user, strlen(user), ZMQ_SNDMORE);
    zmq_send(handler, "", 0, 0);
}

static void answer(dcli_authenticator *authenticator, request *asked)
{
    verdict verdict;
    char name[DCLI_DOMAIN_BYTES] = "";
    int64_t untold = -1;
    pthread_mutex_lock(&authenticator->lock);
    dcli_domain *domain = NULL;
    if (asked->count > DOMAIN)
        domain = dcli_authenticator_find(authenticator, zmq_msg_data(&asked->frame[DOMAIN]),
                                         zmq_msg_size(&asked->frame[DOMAIN]));
    judge(domain, asked, &verdict);
    if (!verdict.let_in)
        untold = count_refusal(domain != NULL ? domain : &authenticator->stray);
    if (domain != NULL)
        strcpy(name, domain->name);
    const dcli_log *log = authenticator->log;
    pthread_mutex_unlock(&authenticator->lock);
    reply(authenticator->handler, asked, &verdict);
    if (untold >= 0)
        tell(log, asked, name, &verdict, untold);
}

/** Pause after zmq_poll() has failed; this is logged unless `again`. @return whether to stop: the authenticator was
 *  closed, or its context has ended. */
static bool pause_for(dcli_authenticator *authenticator, int code, bool again)
{
    enum { PAUSE_MS = 100 };
    struct pollfd stop = {.fd = authenticator->stop_fd, .events = POLLIN};
    pthread_mutex_lock(&authenticator->lock);
    const dcli_log *log = authenticator->log;
    pthread_mutex_unlock(&authenticator->lock);
    if (!again)
        DCLI_LOG(log, DCLI_LOG_WARN, "who connects cannot be checked at present: zmq_poll: %s; trying on",
                 zmq_strerror(code));
    return code == ETERM || poll(&stop, 1, PAUSE_MS) > 0;
}

void *dcli_authenticator_serve(void *argument)
{
    dcli_authenticator *authenticator = argument;
    zmq_pollitem_t item[] = {{authenticator->handler, 0, ZMQ_POLLIN, 0}, {NULL, authenticator->stop_fd, ZMQ_POLLIN, 0}};
    for (bool failed = false;;) {
        int ready = zmq_poll(item, 2, -1); /* stop_fd ends the wait */
        int code = ready < 0 ? zmq_errno() : 0;
        if (code == EINTR)
            continue;
        if (ready < 0 ? pause_for(authenticator, code, failed) : (item[1].revents & ZMQ_POLLIN) != 0)
            return NULL;
        failed = ready < 0;
        request asked;
        if (!failed && receive(authenticator->handler, &asked))
            answer(authenticator, &asked);
        if (!failed)
            release(&asked);
    }
}
