/* fuzz/expected.c - looks into the state machine's books for what it waits for. */
#include "fuzz/expected.h"

#include "workqueue/node_inside.h"

enum { MOST = 64 };

struct choice {
    const struct dcli_open_op *op;
    int peer;
    bool written;
    const dcli_chunk *chunk;
};

/* Chunks of a peer's output, the next one of each stream. */
static int add_written(const struct dcli_open_op *op, struct choice choices[], int count)
{
    for (int64_t n = 0; n < op->exchange_count && count < MOST; n++) {
        const struct dcli_exchange *exchange = &op->exchange[n];
        if (exchange->receive.granted < exchange->receive.total)
            choices[count++] = (struct choice){
                op, exchange->peer, true, &exchange->plan->chunk[exchange->receive.chunk[exchange->receive.granted]]};
    }
    return count;
}

/* Chunks that were granted and have not come. */
static int add_read(const struct dcli_open_op *op, struct choice choices[], int count)
{
    for (int64_t c = 0; c < op->own->chunk_count && count < MOST; c++) {
        const dcli_chunk *chunk = &op->own->chunk[c];
        const struct dcli_exchange *exchange = dcli_exchange_of(op, chunk->peer);
        if (!chunk->written && !op->arrived[c] && exchange != NULL && chunk->number < exchange->grant_told)
            choices[count++] = (struct choice){op, chunk->peer, false, chunk};
    }
    return count;
}

bool fuzz_expected_chunk(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_chunk *chunk_out,
                         size_t *bytes_out)
{
    struct choice choices[MOST];
    int count = 0;
    for (int64_t n = node != NULL ? node->first : 1; node != NULL && n <= node->seen; n++) {
        count = add_written(dcli_op_find(node, n), choices, count);
        count = add_read(dcli_op_find(node, n), choices, count);
    }
    if (count == 0)
        return false;
    const struct choice *choice = &choices[fuzz_below(input, count)];
    *from_out = choice->peer;
    *chunk_out =
        (dcli_msg_chunk){.operation = choice->op->number, .stream = choice->written, .chunk = choice->chunk->number};
    *bytes_out = (size_t)choice->chunk->bytes;
    return true;
}

bool fuzz_expected_grant(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_grant *grant_out)
{
    struct choice choices[MOST];
    int count = 0;
    for (int64_t n = node != NULL ? node->first : 1; node != NULL && n <= node->seen; n++) {
        const struct dcli_open_op *op = dcli_op_find(node, n);
        for (int64_t x = 0; x < op->exchange_count && count < MOST; x++)
            if (op->exchange[x].send.granted < op->exchange[x].send.total)
                choices[count++] = (struct choice){.op = op, .peer = op->exchange[x].peer};
    }
    if (count == 0)
        return false;
    const struct choice *choice = &choices[fuzz_below(input, count)];
    const struct dcli_stream *send = &dcli_exchange_of(choice->op, choice->peer)->send;
    *from_out = choice->peer;
    *grant_out = (dcli_msg_grant){.operation = choice->op->number,
                                  .chunks = send->granted + 1 + fuzz_byte(input) % (send->total - send->granted)};
    return true;
}

bool fuzz_expected_credit(const dcli_node *node, fuzz_input *input, int *from_out, dcli_msg_credit *credit_out)
{
    int start = node != NULL ? fuzz_below(input, node->peers) : 0;
    for (int n = 0; node != NULL && n < node->peers; n++) {
        int q = (start + n) % node->peers;
        int64_t outstanding = dcli_peer_seen(node, q)->outbox.outstanding;
        if (outstanding < 1)
            continue;
        *from_out = q;
        credit_out->chunks = 1 + fuzz_byte(input) % outstanding;
        return true;
    }
    return false;
}

void fuzz_say_notices(int nodes, fuzz_input *input, dcli_msg_risen *risen)
{
    static int64_t notice[2];
    notice[1] = fuzz_below(input, 3);
    if (notice[1] == 0)
        return;
    notice[0] = fuzz_below(input, nodes);
    risen->notice = notice;
    risen->notice_count = 2;
}
