/* support/host.c - a host's worker whose queue is never processed. */
#include "support/host.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "worker/peer.h"

static void count_nothing(void *user, int node, const dcli_msg_counts *counts)
{
    (void)user;
    (void)node;
    (void)counts;
}

dcli_worker *test_make_host(int nodes)
{
    static const dcli_host_hooks hooks = {.counted = count_nothing};
    dcli_worker *host = dcli_calloc(1, sizeof *host);
    cr_assert_not_null(host);
    host->terms = (dcli_worker_terms){.self = nodes, .node_count = nodes, .hooks = &hooks};
    host->is_host = true;
    cr_assert_eq(dcli_host_open(host), DCL_OK);
    return host;
}

void test_free_host(dcli_worker *host)
{
    dcli_host_close(host);
    dcli_free(host);
}
