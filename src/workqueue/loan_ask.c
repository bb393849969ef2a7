/* workqueue/loan_ask.c - whom a node asks for work. */
#include "workqueue/loan_ask.h"

#include "base/check.h"
#include "base/hash.h"

enum {
    MOST_QUESTIONS = 2,     /* most open questions of a node */
    LEAST_PAUSE_NS = 50000, /* between a refusal and the next question to the same node; doubled with each further
                               refusal */
    MOST_PAUSE_NS = 10000000
};

/* The index of a node in asking->victim; asking->count if it is not listed. */
static int place_of(const dcli_asking *asking, int node)
{
    int n = 0;
    while (n < asking->count && asking->victim[n].node != node)
        n++;
    return n;
}

/* The nodes of a session, and what decides which of them node `self` may ask. */
struct nodes {
    int self, count;
    const dcli_node_ways *ways;
    const bool *absent; /* [count]; NULL: none */
};

static bool may_be_asked(const struct nodes *nodes, int node)
{
    return node != nodes->self && (nodes->absent == NULL || !nodes->absent[node]);
}

/* Add `node` to the nodes to ask if it is present and on the host of nodes->self, unless DCLI_ASK_NEAR nodes are
 * listed. */
static void add_near(dcli_asking *asking, const struct nodes *nodes, int node)
{
    if (node >= 0 && node < nodes->count && asking->count < DCLI_ASK_NEAR && may_be_asked(nodes, node) &&
        dcli_ways_share(&nodes->ways[nodes->self], &nodes->ways[node]))
        asking->victim[asking->count++].node = node;
}

void dcli_asking_choose(dcli_asking *asking, uint64_t seed, int self, int count, const dcli_node_ways ways[],
                        const bool absent[])
{
    const struct nodes nodes = {.self = self, .count = count, .ways = ways, .absent = absent};
    const dcli_asking before = *asking;
    uint64_t random = dcli_hash_word(seed, (uint64_t)self);
    int present = 0;
    for (int node = 0; node < count; node++)
        present += may_be_asked(&nodes, node);
    *asking = (dcli_asking){.question_bytes = before.question_bytes, .open = before.open};
    for (int n = 1; n <= DCLI_ASK_NEAR; n++)
        add_near(asking, &nodes, self + n);
    for (int n = 1; n <= DCLI_ASK_NEAR; n++)
        add_near(asking, &nodes, self - n);
    for (uint64_t n = 0; asking->count < dcli_min(DCLI_ASK_MOST, present); n++) {
        random = dcli_hash_word(random, n);
        int victim = (int)(random % (uint64_t)count);
        while (!may_be_asked(&nodes, victim) || place_of(asking, victim) < asking->count)
            victim = (victim + 1) % count;
        asking->victim[asking->count++].node = victim;
    }
    for (int n = 0; n < asking->count; n++) {
        int place = place_of(&before, asking->victim[n].node);
        if (place < before.count)
            asking->victim[n] = before.victim[place];
    }
}

void dcli_asking_limit(dcli_asking *asking, int64_t loan_bytes)
{
    asking->question_bytes = loan_bytes / MOST_QUESTIONS;
}

/* Ask `victim`, if it may have batches for which it was not asked yet, and its pause has passed.
 * @param few        this node has few others to ask: then `victim` is not asked while it has a loan of this node.
 * @param later_out  set to true if only the pause or a loan is in the way.
 * @return whether `victim` was asked. */
static bool try_to_ask(dcli_asked *victim, dcli_node *node, int64_t upto, int64_t bytes, int64_t now_ns, bool few,
                       bool *later_out)
{
    if (bytes < 1 || victim->refused_upto >= upto || dcli_node_is_asking(node, victim->node))
        return false;
    if (now_ns < victim->next_ns || (few && dcli_node_has_lent(node, victim->node))) {
        *later_out = true;
        return false;
    }
    bool may_get = dcli_node_may_get(node, victim->node, upto);
    if (may_get && !dcli_node_ask(node, victim->node, upto, bytes))
        return false;
    victim->refused_upto = upto; /* dcli_asking_answered() sets it to 0 if `victim` lends */
    return may_get;
}

int dcli_asking_ask(dcli_asking *asking, dcli_node *node, int64_t upto, int64_t now_ns, bool *later_out)
{
    int asked = 0;
    for (int n = 0; n < asking->count && asking->open < MOST_QUESTIONS; n++) {
        int64_t bytes = dcli_min(dcli_node_loan_room(node), asking->question_bytes);
        if (!try_to_ask(&asking->victim[(asking->next + n) % asking->count], node, upto, bytes, now_ns,
                        asking->count <= DCLI_ASK_NEAR, later_out))
            continue;
        asking->next = (asking->next + n + 1) % asking->count;
        n = -1;
        asking->open++;
        asked++;
    }
    return asked;
}

void dcli_asking_answered(dcli_asking *asking, int victim, bool lent, int64_t now_ns)
{
    int place = place_of(asking, victim);
    dcli_asked *known = &asking->victim[place];
    asking->open--;
    if (place == asking->count)
        return; /* other nodes were chosen since `victim` was asked */
    if (lent) {
        asking->next = place;
        *known = (dcli_asked){.node = victim};
        return;
    }
    known->pause_ns = dcli_min(dcli_max(2 * known->pause_ns, LEAST_PAUSE_NS), MOST_PAUSE_NS);
    known->next_ns = now_ns + known->pause_ns;
}
