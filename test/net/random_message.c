/* net/random_message.c - messages with random contents, and their comparison. */
#include "net/random_message.h"

#include <string.h>

#include <dcl/forall.h>

uint64_t test_random_bits(test_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int test_random_below(test_random *random, int limit) { return (int)(test_random_bits(random) % (uint64_t)limit); }

/* ---- values: of all sizes, zero often ---- */

static uint64_t bits(test_random *random)
{
    return test_random_below(random, 4) == 0 ? 0 : test_random_bits(random) >> test_random_below(random, 64);
}

static int64_t natural(test_random *random) { return (int64_t)(bits(random) & INT64_MAX); }
static int64_t any(test_random *random) { return (int64_t)bits(random) * (test_random_below(random, 2) ? 1 : -1); }
static bool flag(test_random *random) { return test_random_below(random, 2) == 1; }

static struct {
    char text[1 << 20];
    size_t used;
    dcli_msg_operation operation[DCLI_MOST_OPERATIONS];
    dcli_msg_operand operand[DCLI_MOST_OPERATIONS * DCLI_MOST_OPERANDS];
    dcli_msg_parameter parameter[DCLI_MOST_OPERANDS];
    int64_t storage[DCLI_MOST_OPERANDS];
} pool;

static const char *string(test_random *random, int most)
{
    if (test_random_below(random, 8) == 0)
        return NULL;
    int length = test_random_below(random, most + 1) >> test_random_below(random, 12);
    char *start = pool.text + pool.used;
    for (int i = 0; i < length; i++)
        start[i] = (char)(1 + test_random_below(random, 255));
    start[length] = '\0';
    pool.used += (size_t)length + 1;
    return start;
}

static int few(test_random *random, int most)
{
    return test_random_below(random, most + 1) >> test_random_below(random, 7);
}

/* ---- messages ---- */

static void fill_box(test_random *random, dcli_msg_operation *operation)
{
    operation->box.rank = operation->box_rank = test_random_below(random, DCL_MAX_RANK + 1);
    for (int d = 0; d < operation->box_rank; d++) {
        operation->box.start[d] = any(random);
        operation->box.count[d] = natural(random);
        operation->box.stride[d] = natural(random) | 1;
    }
}

static void fill_file(test_random *random, dcli_msg_operation *operation)
{
    operation->path = string(random, DCLI_MOST_PATH);
    operation->data_start = natural(random);
    operation->fortran_order = flag(random);
    operation->swapped = flag(random);
}

static void fill_grid(test_random *random, dcli_msg_operation *operation)
{
    operation->type = test_random_below(random, DCL_DOUBLE + 1);
    operation->rank = test_random_below(random, DCL_MAX_RANK + 1);
    for (int d = 0; d < operation->rank; d++) {
        operation->origin[d] = any(random);
        operation->extent[d] = natural(random);
    }
    operation->map = string(random, DCLI_MOST_MAP_TEXT);
    operation->tile_bytes = natural(random);
    operation->block_bytes = natural(random);
    operation->small_bytes = natural(random);
}

static dcli_msg_operation random_operation(test_random *random, dcli_msg_operand operand[])
{
    dcli_msg_operation operation = {.number = natural(random),
                                    .kind = 1 + test_random_below(random, DCLI_MOST_OPERATION_KIND),
                                    .kernel = natural(random),
                                    .operand_count = few(random, DCLI_MOST_OPERANDS),
                                    .operand = operand};
    for (int i = 0; i < operation.operand_count; i++)
        operand[i] = (dcli_msg_operand){natural(random) - 1, bits(random)};
    if (flag(random))
        fill_box(random, &operation);
    if (flag(random))
        operation.element = bits(random);
    if (flag(random))
        fill_file(random, &operation);
    if (flag(random))
        fill_grid(random, &operation);
    return operation;
}

static dcli_msg_operations random_operations(test_random *random)
{
    dcli_msg_operations operations = {few(random, DCLI_MOST_OPERATIONS), pool.operation};
    for (int i = 0; i < operations.count; i++)
        pool.operation[i] = random_operation(random, pool.operand + (size_t)i * DCLI_MOST_OPERANDS);
    return operations;
}

static dcli_msg_kernel random_kernel(test_random *random)
{
    dcli_msg_kernel kernel = {.kernel = natural(random),
                              .text = string(random, DCLI_MOST_TEXT),
                              .prelude = string(random, DCLI_MOST_TEXT),
                              .parameter_count = few(random, DCLI_MOST_OPERANDS),
                              .parameter = pool.parameter,
                              .build = flag(random)};
    for (int i = 0; i < kernel.parameter_count; i++) {
        pool.parameter[i].name = string(random, DCLI_MOST_NAME);
        pool.parameter[i].access = 1 + test_random_below(random, DCL_ACCESS_PRELUDE);
        pool.parameter[i].type = test_random_below(random, DCL_DOUBLE + 1);
        pool.parameter[i].rank = test_random_below(random, DCL_MAX_RANK + 1);
    }
    return kernel;
}

static dcli_msg_failed random_failed(test_random *random)
{
    dcli_msg_failed failed = {.operation = natural(random),
                              .node = test_random_below(random, DCLI_MOST_PEERS),
                              .status = test_random_below(random, DCL_ERR_INTERNAL + 1),
                              .cause = flag(random),
                              .storage_count = few(random, DCLI_MOST_OPERANDS),
                              .storage = pool.storage,
                              .sentence = string(random, DCLI_MOST_SENTENCE)};
    for (int i = 0; i < failed.storage_count; i++)
        pool.storage[i] = natural(random);
    return failed;
}

static dcli_msg_report random_report(test_random *random)
{
    dcli_msg_report report = {.operation = natural(random),
                              .array = string(random, DCLI_MOST_NAME),
                              .rank = test_random_below(random, DCL_MAX_RANK + 1)};
    for (int d = 0; d < report.rank; d++)
        report.index[d] = any(random);
    return report;
}

static dcli_msg_marks random_marks(test_random *random)
{
    dcli_msg_marks marks = {.done = natural(random), .ready = natural(random)};
    if (flag(random))
        for (int i = 0; i < DCLI_MSG_COUNTERS; i++)
            marks.counter[i] = natural(random);
    return marks;
}

dcli_message test_random_message(test_random *random, int kind)
{
    dcli_message message = {.kind = (dcli_message_kind)kind, .epoch = bits(random)};
    int status = test_random_below(random, DCL_ERR_INTERNAL + 1);
    pool.used = 0;
    switch (message.kind) {
    case DCLI_MSG_KERNEL:
        message.kernel = random_kernel(random);
        break;
    case DCLI_MSG_BUILT:
        message.built = (dcli_msg_built){natural(random), status, string(random, DCLI_MOST_SENTENCE)};
        break;
    case DCLI_MSG_OPERATIONS:
        message.operations = random_operations(random);
        break;
    case DCLI_MSG_GRANT:
        message.grant = (dcli_msg_grant){natural(random), natural(random)};
        break;
    case DCLI_MSG_CHUNK:
        message.chunk = (dcli_msg_chunk){natural(random), flag(random), natural(random), status};
        break;
    case DCLI_MSG_CREDIT:
        message.credit.chunks = natural(random);
        break;
    case DCLI_MSG_MARKS:
        message.marks = random_marks(random);
        break;
    case DCLI_MSG_FAILED:
        message.failed = random_failed(random);
        break;
    case DCLI_MSG_REPORT:
        message.report = random_report(random);
        break;
    default:
        break;
    }
    return message;
}

/* ---- comparing ---- */

static bool same_string(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0; }

static bool same_numbers(const int64_t a[], const int64_t b[], int count)
{
    return count == 0 || memcmp(a, b, (size_t)count * sizeof a[0]) == 0;
}

static const char *different; /* the first difference found */
#define SAME(condition) ((condition) || (different = #condition, false))
#define EQUAL(field) SAME(a->field == b->field)
#define STRINGS(field) SAME(same_string(a->field, b->field))
#define NUMBERS(field, count) SAME(same_numbers(a->field, b->field, a->count))

static bool same_operand(const dcli_msg_operand *a, const dcli_msg_operand *b)
{
    return EQUAL(storage) && EQUAL(value);
}

static bool same_operation(const dcli_msg_operation *a, const dcli_msg_operation *b)
{
    if (!EQUAL(number) || !EQUAL(kind) || !EQUAL(kernel) || !EQUAL(operand_count) || !EQUAL(box_rank) ||
        !EQUAL(box.rank) || !NUMBERS(box.start, box_rank) || !NUMBERS(box.count, box_rank) ||
        !NUMBERS(box.stride, box_rank) || !EQUAL(element) || !STRINGS(path) || !EQUAL(data_start) ||
        !EQUAL(fortran_order) || !EQUAL(swapped) || !EQUAL(type) || !EQUAL(rank) || !NUMBERS(origin, rank) ||
        !NUMBERS(extent, rank) || !STRINGS(map) || !EQUAL(tile_bytes) || !EQUAL(block_bytes) || !EQUAL(small_bytes))
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (!same_operand(&a->operand[i], &b->operand[i]))
            return false;
    return true;
}

static bool same_operations(const dcli_msg_operations *a, const dcli_msg_operations *b)
{
    if (!EQUAL(count))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same_operation(&a->operation[i], &b->operation[i]))
            return false;
    return true;
}

static bool same_parameter(const dcli_msg_parameter *a, const dcli_msg_parameter *b)
{
    return STRINGS(name) && EQUAL(access) && EQUAL(type) && EQUAL(rank);
}

static bool same_kernel(const dcli_msg_kernel *a, const dcli_msg_kernel *b)
{
    if (!EQUAL(kernel) || !STRINGS(text) || !STRINGS(prelude) || !EQUAL(parameter_count) || !EQUAL(build))
        return false;
    for (int i = 0; i < a->parameter_count; i++)
        if (!same_parameter(&a->parameter[i], &b->parameter[i]))
            return false;
    return true;
}

static bool same_contents(const dcli_message *a, const dcli_message *b)
{
    switch (a->kind) {
    case DCLI_MSG_KERNEL:
        return same_kernel(&a->kernel, &b->kernel);
    case DCLI_MSG_BUILT:
        return EQUAL(built.kernel) && EQUAL(built.status) && STRINGS(built.sentence);
    case DCLI_MSG_OPERATIONS:
        return same_operations(&a->operations, &b->operations);
    case DCLI_MSG_GRANT:
        return EQUAL(grant.operation) && EQUAL(grant.chunks);
    case DCLI_MSG_CHUNK:
        return EQUAL(chunk.operation) && EQUAL(chunk.stream) && EQUAL(chunk.chunk) && EQUAL(chunk.status);
    case DCLI_MSG_CREDIT:
        return EQUAL(credit.chunks);
    case DCLI_MSG_MARKS:
        return EQUAL(marks.done) && EQUAL(marks.ready) &&
               SAME(same_numbers(a->marks.counter, b->marks.counter, DCLI_MSG_COUNTERS));
    case DCLI_MSG_FAILED:
        return EQUAL(failed.operation) && EQUAL(failed.node) && EQUAL(failed.status) && EQUAL(failed.cause) &&
               EQUAL(failed.storage_count) && NUMBERS(failed.storage, failed.storage_count) && STRINGS(failed.sentence);
    case DCLI_MSG_REPORT:
        return EQUAL(report.operation) && STRINGS(report.array) && EQUAL(report.rank) &&
               NUMBERS(report.index, report.rank);
    default:
        return true;
    }
}

bool test_message_equal(const dcli_message *a, const dcli_message *b, const char **different_out)
{
    different = "nothing";
    bool equal = EQUAL(kind) && EQUAL(epoch) && same_contents(a, b);
    *different_out = different;
    return equal;
}
