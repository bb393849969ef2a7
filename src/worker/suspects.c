/* worker/suspects.c - decide which nodes are declared lost: those whose connection to the host has ended; and of nodes
 * that report that they cannot reach each other, few: first the one whose loss settles the most reports. */
#include "worker/suspects.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "worker/members.h"

enum {
    NEWS_MS = 300, /* time for the process monitor or a listener to report how a process ended */
    GATHER_MS =
        500 /* connections that cannot be made fail at about the same time; connections that break later do so within
               a quarter of DCL_SILENCE_MS */
};

dcl_status dcli_suspects_open(dcli_worker *host)
{
    size_t nodes = (size_t)host->terms.node_count;
    host->as_host->suspects.node = dcli_calloc(nodes, sizeof *host->as_host->suspects.node);
    host->as_host->suspects.at_odds = dcli_calloc(nodes * nodes, sizeof *host->as_host->suspects.at_odds);
    host->as_host->suspects.next_ns = INT64_MAX;
    return host->as_host->suspects.node != NULL && host->as_host->suspects.at_odds != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

void dcli_suspects_close(dcli_worker *host)
{
    dcli_free(host->as_host->suspects.node);
    dcli_free(host->as_host->suspects.at_odds);
}

static bool is_lost(const dcli_worker *host, int node) { return host->gone[node] && !host->absent[node]; }

static bool *odds_of(dcli_worker *host, int one, int other)
{
    int low = one < other ? one : other, high = one < other ? other : one;
    return &host->as_host->suspects.at_odds[(size_t)low * (size_t)host->terms.node_count + (size_t)high];
}

/* ---- complaints --------------------------------------------------------------------------------------------------- */

static bool is_remote(const dcli_worker *host) { return host->terms.fleet != NULL && host->terms.fleet->is_remote; }

void dcli_suspects_notice(dcli_worker *host, int node, const char *seen)
{
    dcli_doubt *doubt = &host->as_host->suspects.node[node];
    if (is_lost(host, node) || doubt->due_ns != 0)
        return;
    doubt->due_ns = dcli_monotonic_ns() + NEWS_MS * (int64_t)1000000;
    snprintf(doubt->seen, sizeof doubt->seen, "%s", seen);
    host->as_host->suspects.next_ns = dcli_min(host->as_host->suspects.next_ns, doubt->due_ns);
}

void dcli_suspects_complain(dcli_worker *host, int from, int about, const char *sentence)
{
    if (from == about || is_lost(host, from) || is_lost(host, about))
        return;
    bool *odds = odds_of(host, from, about);
    dcli_doubt *accuser = &host->as_host->suspects.node[from], *accused = &host->as_host->suspects.node[about];
    if (!*odds) {
        accuser->parties++;
        accused->parties++;
        accuser->at_odds++;
        accused->at_odds++;
    }
    *odds = true;
    if (accused->told[0] == '\0' || !accused->is_accused)
        snprintf(accused->told, sizeof accused->told, "%s", sentence);
    accused->is_accused = true;
    if (accuser->told[0] == '\0')
        snprintf(accuser->told, sizeof accuser->told, "it cannot reach others: %s", sentence);
    if (host->as_host->suspects.gathered_ns != 0)
        return;
    int64_t gather_ms = GATHER_MS + (is_remote(host) ? (int64_t)host->terms.config->silence_ms / 4 : 0);
    host->as_host->suspects.gathered_ns = dcli_monotonic_ns() + gather_ms * 1000000;
    host->as_host->suspects.next_ns = dcli_min(host->as_host->suspects.next_ns, host->as_host->suspects.gathered_ns);
}

/* Forget the complaints about a node, and those that it made. The node's own sentence stays, because the
 * caller may still read it. */
void dcli_suspects_forget(dcli_worker *host, int node)
{
    dcli_doubt *doubt = &host->as_host->suspects.node[node];
    doubt->due_ns = 0;
    for (int other = 0; other < host->terms.node_count && doubt->at_odds > 0; other++) {
        bool *odds = odds_of(host, node, other);
        if (!*odds)
            continue;
        *odds = false;
        doubt->at_odds--;
        dcli_doubt *rest = &host->as_host->suspects.node[other];
        if (--rest->at_odds == 0) {
            rest->is_accused = false;
            rest->told[0] = '\0';
        }
    }
}

/* ---- decisions ---------------------------------------------------------------------------------------------------- */

/* Whether a node is worse than another: the worse one's loss settles more complaints; if equal, it has had complaints
 * with more nodes so far; if equal, it is the accused one. */
static bool is_worse(const dcli_doubt *one, const dcli_doubt *other)
{
    if (one->at_odds != other->at_odds)
        return one->at_odds > other->at_odds;
    if (one->parties != other->parties)
        return one->parties > other->parties;
    return one->is_accused || !other->is_accused; /* of two equal ones the later, unless only the other is accused */
}

/* Find the worst node. @return -1: no two connected nodes complain about each other. */
static int find_worst(const dcli_worker *host)
{
    const dcli_doubt *doubt = host->as_host->suspects.node;
    int worst = -1;
    for (int node = 0; node < host->terms.node_count; node++)
        if (doubt[node].at_odds > 0 && (worst < 0 || is_worse(&doubt[node], &doubt[worst])))
            worst = node;
    return worst;
}

static dcl_status settle_complaints(dcli_worker *host)
{
    dcl_status status = DCL_OK;
    host->as_host->suspects.gathered_ns = 0;
    for (int node; status == DCL_OK && (node = find_worst(host)) >= 0;)
        status = dcli_host_lose(host, node, host->as_host->suspects.node[node].told);
    return status;
}

static int64_t earliest(const dcli_worker *host)
{
    int64_t next = host->as_host->suspects.gathered_ns != 0 ? host->as_host->suspects.gathered_ns : INT64_MAX;
    for (int node = 0; node < host->terms.node_count; node++)
        if (host->as_host->suspects.node[node].due_ns != 0)
            next = dcli_min(next, host->as_host->suspects.node[node].due_ns);
    return next;
}

dcl_status dcli_suspects_decide(dcli_worker *host)
{
    if (host->as_host->suspects.next_ns == INT64_MAX)
        return DCL_OK;
    int64_t now = dcli_monotonic_ns();
    if (now < host->as_host->suspects.next_ns)
        return DCL_OK;
    dcl_status status = DCL_OK;
    for (int node = 0; node < host->terms.node_count && status == DCL_OK; node++) {
        dcli_doubt *doubt = &host->as_host->suspects.node[node];
        if (doubt->due_ns == 0 || now < doubt->due_ns)
            continue;
        doubt->due_ns = 0;
        status = dcli_host_lose(host, node, doubt->seen);
    }
    if (status == DCL_OK && host->as_host->suspects.gathered_ns != 0 && now >= host->as_host->suspects.gathered_ns)
        status = settle_complaints(host);
    host->as_host->suspects.next_ns = earliest(host);
    return status;
}

int dcli_suspects_wait_ms(const dcli_worker *host)
{
    if (host->as_host->suspects.next_ns == INT64_MAX)
        return -1;
    int64_t left_ms = (host->as_host->suspects.next_ns - dcli_monotonic_ns()) / 1000000 + 1;
    return left_ms <= 0 ? 0 : left_ms < 1000 ? (int)left_ms : 1000;
}
