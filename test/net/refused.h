/* test/net/refused.h - expecting refusals. */
#ifndef TEST_NET_REFUSED_H
#define TEST_NET_REFUSED_H

#include <criterion/criterion.h>
#include <string.h>

#include <dcl/base.h>

/** Expect a call to be refused, with a sentence that has these words. */
#define EXPECT_REFUSED(call, status, words)                                                       \
    do {                                                                                          \
        cr_expect_eq((call), (status), "not refused, or with another status: %s", #call);         \
        cr_expect(strstr(dcl_error(), (words)) != NULL, "\"%s\" not in: %s", words, dcl_error()); \
    } while (0)

#endif
