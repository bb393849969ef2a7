/* support/host.h - a host's worker whose queue is never processed. */
#ifndef TEST_SUPPORT_HOST_H
#define TEST_SUPPORT_HOST_H

#include "worker/worker.h"

dcli_worker *test_make_host(int nodes);
void test_free_host(dcli_worker *host);

#endif
