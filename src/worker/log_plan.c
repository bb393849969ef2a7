/* worker/log_plan.c - write plans and lowered batches to the log. */
#include "worker/log_plan.h"

#include <inttypes.h>
#include <string.h>

#include "lower/print.h"
#include "worker/peer.h"

/* Lines per list: enough to see how an operation is carried out, whatever its size. */
enum { MOST_LINES = 24 };

static bool is_wanted(const dcli_worker *worker)
{
    return worker->terms.log != NULL && worker->terms.log->level >= DCLI_LOG_DEBUG;
}

/* Whether there is nothing to log for a plan: on most nodes many operations have nothing to do. */
static bool is_empty(const dcli_plan *plan)
{
    int64_t parts = plan->chunk_count;
    for (int64_t b = 0; b < plan->batch_count; b++)
        parts += plan->batch[b].work_count + plan->batch[b].stage_count;
    return parts == 0;
}

/* Log each line with the node's number, since lines of several nodes may be mixed. Frees the text. */
static void put_lines(const dcli_worker *worker, dcli_text *text)
{
    char *rest = text->bytes;
    for (char *line; !text->failed && (line = strsep(&rest, "\n")) != NULL && rest != NULL;)
        dcli_log_write(worker->terms.log, DCLI_LOG_DEBUG, "node %d: %s", worker->terms.self, line);
    dcli_text_free(text);
}

void dcli_log_plan(const dcli_worker *worker, const dcli_operation *operation, const dcli_plan *plan)
{
    dcli_text text = {0};
    if (!is_wanted(worker) || is_empty(plan))
        return;
    dcli_log_write(worker->terms.log, DCLI_LOG_DEBUG,
                   "node %d: plan of operation %" PRId64 " (%s):", worker->terms.self, operation->number,
                   operation->body != NULL ? operation->body->text : "elements that move");
    dcli_plan_print(operation, plan, MOST_LINES, &text);
    put_lines(worker, &text);
}

void dcli_log_lowered(const dcli_worker *worker, const dcli_operation *operation, int64_t batch,
                      const dcli_lowered *lowered)
{
    dcli_text text = {0};
    if (!is_wanted(worker))
        return;
    dcli_log_write(worker->terms.log, DCLI_LOG_DEBUG,
                   "node %d: batch %" PRId64 " of operation %" PRId64 " as its device runs it:", worker->terms.self,
                   batch, operation->number);
    dcli_lowered_print(operation, lowered, MOST_LINES, &text);
    put_lines(worker, &text);
}
