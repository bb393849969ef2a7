/* net/address_test.c - names are looked up within a time, and never by who serves others. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/net.h"
#include "net/wire_address.h"

enum { SECONDS = 60 };

TestSuite(address, .timeout = SECONDS);

/* ---- a name server that does not answer --------------------------------------------------------------------------- */

static atomic_int asked; /* for names */

/* Stands before the system's. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list_out)
{
    int (*ask)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&ask = dlsym(RTLD_NEXT, "getaddrinfo");
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) == 0) {
        atomic_fetch_add(&asked, 1);
        if (strcmp(host, "slow.invalid") == 0)
            sleep(5);
    }
    return ask(host, service, hints, list_out);
}

static dcli_address parse(const char *text)
{
    dcli_address address = {.port = 0};
    cr_assert_eq(dcli_address_parse(text, DCLI_TO_CALL, &address), DCL_OK, "%s", dcl_error());
    return address;
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

Test(address, a_look_up_has_a_deadline)
{
    dcli_address address = parse("tcp://slow.invalid:7700");
    dcli_resolved resolved;
    int64_t begin = dcli_monotonic_ns();
    cr_expect_eq(dcli_address_resolve_within(&address, 200, &resolved), DCL_ERR_TIMEOUT, "%s", dcl_error());
    cr_expect_lt(dcli_monotonic_ns() - begin, (int64_t)4000000000, "it waited for the answer");
    cr_expect(strstr(dcl_error(), "host \"slow.invalid\" of the address tcp://slow.invalid:7700 could not be looked up "
                                  "within 0.2 s") != NULL,
              "%s", dcl_error());
}

Test(address, numbers_are_not_asked_about)
{
    static const char *const texts[] = {"tcp://127.0.0.1:7700", "tcp://10.1.2.3:7700", "tcp://[fd00::3]:7700"};
    for (size_t n = 0; n < sizeof texts / sizeof texts[0]; n++) {
        dcli_address address = parse(texts[n]);
        dcli_resolved resolved;
        cr_expect_eq(dcli_address_resolve_within(&address, 0, &resolved), DCL_OK, "%s", dcl_error());
        cr_expect_eq(dcli_address_resolve(&address, &resolved), DCL_OK, "%s", dcl_error());
    }
    cr_expect_eq(atomic_load(&asked), 0, "%d look-ups", atomic_load(&asked));
}

/* A peer whose address is a name is refused at once: the host is to send numbers. */
Test(address, who_serves_looks_nothing_up)
{
    dcli_net *net;
    dcli_endpoint *endpoint;
    char password[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    cr_assert_eq(dcli_net_open_io(1, &net), DCL_OK, "%s", dcl_error());
    dcli_wire_terms terms = {.net = net,
                             .self = 2,
                             .peer_count = 3,
                             .domain = "session",
                             .password = password,
                             .silence_ms = 1000,
                             .most_message_bytes = 1000};
    cr_assert_eq(dcli_endpoint_open_wire(&terms, &endpoint), DCL_OK, "%s", dcl_error());
    int64_t begin = dcli_monotonic_ns();
    cr_expect_eq(dcli_endpoint_meet(endpoint, 0, "tcp://slow.invalid:7700", ""), DCL_ERR_INVALID);
    cr_expect(strstr(dcl_error(), "is a name; expected the number of its address") != NULL, "%s", dcl_error());
    cr_expect_lt(dcli_monotonic_ns() - begin, (int64_t)4000000000);
    cr_expect_eq(atomic_load(&asked), 0, "%d look-ups", atomic_load(&asked));
    dcli_endpoint_close(endpoint);
    dcli_net_close(net);
}

Test(address, the_way_to_oneself_is_loopback)
{
    dcli_address address = parse("tcp://127.0.0.1:7700");
    dcli_resolved resolved, own;
    cr_assert_eq(dcli_address_resolve(&address, &resolved), DCL_OK, "%s", dcl_error());
    cr_assert(dcli_address_on_way_to(&resolved, &own));
    cr_expect(own.loopback);
    cr_expect_str_eq(own.host, "127.0.0.1");
}
