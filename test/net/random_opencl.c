/* net/random_opencl.c - messages of sessions of the OpenCL driver with random contents, and their comparison. */
#include "net/random_opencl.h"

#include <limits.h>
#include <string.h>

enum { MOST_NUMBERS = DCLI_MOST_COMMAND_WAITS, TEXT = 64 };

static struct {
    dcli_msg_command command[DCLI_MOST_COMMANDS];
    int64_t number[3 * DCLI_MOST_COMMANDS][MOST_NUMBERS];
    dcli_msg_ended ended[DCLI_MOST_ENDED];
    dcli_msg_fact fact[DCLI_MOST_FACTS];
    int64_t word[DCLI_MOST_FACTS][8];
    char text[DCLI_MOST_FACTS][TEXT];
} pool;

static int64_t natural(test_random *random)
{
    return (int64_t)(test_random_bits(random) >> 1 >> test_random_below(random, 62));
}

static int64_t above(test_random *random, int64_t least, int64_t most)
{
    return least + natural(random) % (most - least + 1);
}

static int few(test_random *random, int most)
{
    return test_random_below(random, most + 1) >> test_random_below(random, 7);
}

static int64_t *numbers(test_random *random, int64_t list[], int count, bool positive)
{
    for (int n = 0; n < count; n++)
        list[n] = positive ? above(random, 1, INT64_MAX - 1) : (int64_t)test_random_bits(random);
    return list;
}

static const char *text(test_random *random, int place)
{
    int length = test_random_below(random, TEXT);
    for (int i = 0; i < length; i++)
        pool.text[place][i] = (char)(1 + test_random_below(random, 255));
    pool.text[place][length] = '\0';
    return pool.text[place];
}

static dcli_msg_command random_command(test_random *random, int place)
{
    dcli_msg_command command = {.kind = 1 + test_random_below(random, DCLI_MOST_COMMAND_KIND),
                                .object = natural(random),
                                .number_count = few(random, DCLI_MOST_COMMAND_NUMBERS),
                                .queue = natural(random),
                                .event = natural(random),
                                .unobserved = test_random_below(random, 2) == 1,
                                .wait_count = few(random, 40),
                                .word_count = few(random, 40),
                                .text = text(random, place)};
    command.number = numbers(random, pool.number[3 * place], command.number_count, false);
    command.wait = numbers(random, pool.number[3 * place + 1], command.wait_count, true);
    command.word = numbers(random, pool.number[3 * place + 2], command.word_count, false);
    return command;
}

static dcli_msg_fact random_fact(test_random *random, int place)
{
    dcli_msg_fact fact = {.key = natural(random),
                          .bytes = above(random, 0, 8 * DCLI_MOST_FACT_WORDS),
                          .text = text(random, place),
                          .word_count = few(random, 8)};
    fact.word = numbers(random, pool.word[place], fact.word_count, false);
    return fact;
}

static void fill_answer(test_random *random, dcli_msg_answer *answer)
{
    *answer = (dcli_msg_answer){.number = above(random, 1, INT64_MAX - 1),
                                .status = (int)test_random_bits(random),
                                .more = test_random_below(random, 2) == 1,
                                .fact_count = few(random, DCLI_MOST_FACTS),
                                .fact = pool.fact};
    for (int f = 0; f < answer->fact_count; f++)
        pool.fact[f] = random_fact(random, f);
}

static void fill_events(test_random *random, dcli_msg_events *events)
{
    *events = (dcli_msg_events){.count = few(random, DCLI_MOST_ENDED), .ended = pool.ended};
    for (int e = 0; e < events->count; e++)
        pool.ended[e] = (dcli_msg_ended){.event = above(random, 1, INT64_MAX - 1),
                                         .status = -(int)above(random, 0, INT_MAX - 1),
                                         .through = test_random_below(random, 2) == 1,
                                         .queued_ns = above(random, 0, DCLI_MOST_NS),
                                         .submit_ns = above(random, 0, DCLI_MOST_NS),
                                         .start_ns = above(random, 0, DCLI_MOST_NS),
                                         .end_ns = above(random, 0, DCLI_MOST_NS)};
}

void test_fill_opencl_message(test_random *random, dcli_message *message)
{
    switch (message->kind) {
    case DCLI_MSG_COMMANDS:
        message->commands = (dcli_msg_commands){.count = few(random, DCLI_MOST_COMMANDS), .command = pool.command};
        for (int c = 0; c < message->commands.count; c++)
            pool.command[c] = random_command(random, c);
        break;
    case DCLI_MSG_DATA:
        message->data = (dcli_msg_data){above(random, 1, INT64_MAX - 1), natural(random)};
        break;
    case DCLI_MSG_TAKEN:
        message->taken = (dcli_msg_taken){above(random, 1, INT64_MAX - 1), natural(random)};
        break;
    case DCLI_MSG_EVENTS:
        fill_events(random, &message->events);
        break;
    case DCLI_MSG_QUERY:
        message->query = (dcli_msg_query){above(random, 1, INT64_MAX - 1),
                                          1 + test_random_below(random, DCLI_ASK_BINARY), natural(random)};
        break;
    case DCLI_MSG_ANSWER:
        fill_answer(random, &message->answer);
        break;
    case DCLI_MSG_PRINTF:
        message->printf.dropped = natural(random);
        break;
    default:
        break;
    }
}

/* ---- comparing ---- */

static const char *different;
#define SAME(condition) ((condition) || (different = #condition, false))
#define EQUAL(field) SAME(a->field == b->field)
#define NUMBERS(field, count)    \
    SAME(a->count == b->count && \
         (a->count == 0 || memcmp(a->field, b->field, (size_t)a->count * sizeof a->field[0]) == 0))
#define STRINGS(field) SAME(strcmp(a->field != NULL ? a->field : "", b->field != NULL ? b->field : "") == 0)

static bool same_command(const dcli_msg_command *a, const dcli_msg_command *b)
{
    return EQUAL(kind) && EQUAL(object) && EQUAL(queue) && EQUAL(event) && NUMBERS(number, number_count) &&
           NUMBERS(wait, wait_count) && NUMBERS(word, word_count) && STRINGS(text);
}

static bool same_ended(const dcli_msg_ended *a, const dcli_msg_ended *b)
{
    return EQUAL(event) && EQUAL(status) && EQUAL(through) && EQUAL(queued_ns) && EQUAL(submit_ns) && EQUAL(start_ns) &&
           EQUAL(end_ns);
}

static bool same_fact(const dcli_msg_fact *a, const dcli_msg_fact *b)
{
    return EQUAL(key) && EQUAL(bytes) && STRINGS(text) && NUMBERS(word, word_count);
}

static bool same_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_COMMANDS:
        for (int c = 0; EQUAL(commands.count) && c < a->commands.count; c++)
            if (!same_command(&a->commands.command[c], &b->commands.command[c]))
                return false;
        return EQUAL(commands.count);
    case DCLI_MSG_DATA:
        return EQUAL(data.transfer) && EQUAL(data.offset);
    case DCLI_MSG_TAKEN:
        return EQUAL(taken.transfer) && EQUAL(taken.granted);
    case DCLI_MSG_EVENTS:
        for (int e = 0; EQUAL(events.count) && e < a->events.count; e++)
            if (!same_ended(&a->events.ended[e], &b->events.ended[e]))
                return false;
        return EQUAL(events.count);
    case DCLI_MSG_QUERY:
        return EQUAL(query.number) && EQUAL(query.kind) && EQUAL(query.object);
    case DCLI_MSG_ANSWER:
        for (int f = 0; EQUAL(answer.fact_count) && f < a->answer.fact_count; f++)
            if (!same_fact(&a->answer.fact[f], &b->answer.fact[f]))
                return false;
        return EQUAL(answer.number) && EQUAL(answer.status) && EQUAL(answer.more) && EQUAL(answer.fact_count);
    case DCLI_MSG_PRINTF:
        return EQUAL(printf.dropped);
    default:
        return true;
    }
}

bool test_same_opencl_contents(const dcli_message *a, const dcli_message *b, const char **different_out)
{
    bool same = same_contents(a, b);
    if (!same)
        *different_out = different;
    return same;
}
