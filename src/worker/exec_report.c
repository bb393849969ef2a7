/* worker/exec_report.c - after a batch: report the stray access that its kernels found. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "kernel/names.h"
#include "segment/declared.h"
#include "worker/peer.h"

static void put_widths(dcli_text *text, const dcli_declared *declared, bool of_tile)
{
    dcli_text_put(text, "within ");
    for (int d = 0; d < declared->count; d++)
        dcli_text_put(text, "%s%" PRId64, d > 0 ? ", " : "", declared->number[d]);
    dcli_text_put(text, of_tile ? " of its tile" : " of the same index");
}

/* Describe the declaration of an access. */
static void put_declared(dcli_text *text, const dcli_operation *operation, int a)
{
    const dcli_param *param = &operation->body->params[operation->body->access[a].param];
    bool tiles = operation->body->tile_kernel;
    dcli_subscripts subscripts = {.reach = operation->body->access[a].reach,
                                  .rank = param->rank,
                                  .declared = operation->operand[operation->body->access[a].param].declared};
    dcl_box box;
    char box_text[200];
    switch (subscripts.reach) {
    case DCLI_REACH_ROWS:
        dcli_text_put(text, tiles ? "in the rows of its tile" : "in the rows of its own first index");
        break;
    case DCLI_REACH_COLUMNS:
        dcli_text_put(text, tiles ? "in the columns of its tile" : "in the columns of its own last index");
        break;
    case DCLI_REACH_HALO:
    case DCLI_REACH_CROSS:
        put_widths(text, &subscripts.declared, tiles);
        dcli_text_put(text, subscripts.reach == DCLI_REACH_CROSS ? ", along one axis at a time" : "");
        break;
    case DCLI_REACH_BOX:
        dcli_declared_box(&subscripts, NULL, &box);
        dcli_box_print(&box, box_text, sizeof box_text);
        dcli_text_put(text, "in %s", box_text);
        break;
    case DCLI_REACH_FUNCTION:
        dcli_text_put(text, "in the boxes that its function gives");
        break;
    default:
        dcli_text_put(text, tiles ? "in the box of its tile" : "where this tile was planned to");
    }
    dcli_text_put(text, " (%s)", dcli_access_name(param->access));
}

/* Describe the valid indices of a periodic array, for an index outside. */
static void put_periodic(dcli_text *text, const dcl_box *around)
{
    char box_text[200];
    dcli_box_print(around, box_text, sizeof box_text);
    dcli_text_put(text, "in %s, its grid and as far beyond periodic edges as its map's halo is wide", box_text);
}

static void put_first_line(dcli_text *text, const char *body)
{
    body += strspn(body, " \t\r\n");
    dcli_text_append(text, body, strcspn(body, "\r\n"));
}

/* List the outputs of a tile kernel: "C, D and more". Tile kernels are identified by them, since their texts begin
 * alike. */
static void put_outputs(dcli_text *text, const dcli_body *body)
{
    enum { MOST_NAMED = 3 };
    int named = 0;
    for (int a = 0; a < body->access_count; a++) {
        if (!body->access[a].written)
            continue;
        if (named == MOST_NAMED) {
            dcli_text_put(text, " and more");
            return;
        }
        dcli_text_put(text, "%s%s", named++ > 0 ? ", " : "", body->params[body->access[a].param].name);
    }
}

/* List the storages that an operation writes. @return how many there are. */
static int list_written(const dcli_operation *operation, int64_t storages[])
{
    int count = 0;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].writes)
            storages[count++] = operation->operand[k].storage;
    return count;
}

static void send_message(dcli_worker *worker, dcli_message *message)
{
    if (dcli_peer_send(worker, worker->terms.node_count, message, NULL) == DCL_OK)
        worker->as_node->notices++;
}

/* Begin a report on an element of an array. @param storages  filled here: those that the operation writes. @param index  the
 * element's. */
static dcli_message begin_report(const dcli_entry *entry, const dcli_param *param, int64_t storages[], const char *body,
                                 const int64_t index[])
{
    dcli_message message = {.kind = DCLI_MSG_REPORT,
                            .report = {.operation = entry->operation.number,
                                       .storage_count = list_written(&entry->operation, storages),
                                       .storage = storages,
                                       .array = param->name,
                                       .rank = param->rank,
                                       .body = body}};
    memcpy(message.report.index, index, (size_t)param->rank * sizeof *index);
    return message;
}

/* Report the key of an element of result r that does not exist. */
static void send_key(dcli_worker *worker, const dcli_entry *entry, int r, const int64_t index[])
{
    const dcli_body *body = entry->operation.body;
    const dcli_param *param = &body->params[body->result[r].param];
    int64_t storages[DCLI_MAX_PARAMS];
    dcli_text line = {0};
    put_first_line(&line, body->text);
    dcli_message message = begin_report(entry, param, storages, line.bytes, index);
    message.report.written = true;
    send_message(worker, &message);
    dcli_text_free(&line);
}

static void send_report(dcli_worker *worker, const dcli_entry *entry, const int64_t report[])
{
    const dcli_body *body = entry->operation.body;
    int64_t storages[DCLI_MAX_PARAMS];
    if (body->keyed && report[1] >= body->access_count && report[1] < body->access_count + body->result_count) {
        send_key(worker, entry, (int)report[1] - body->access_count, report + 2);
        return;
    }
    if (report[1] < 0 || report[1] >= body->access_count)
        return;
    int a = (int)report[1];
    const dcli_param *param = &body->params[body->access[a].param];
    dcl_grid grid = dcli_access_grid(&entry->operation, a);
    dcl_box around = dcl_box_of(&grid),
            whole = dcl_box_of(dcli_operand_grid(&entry->operation.operand[body->access[a].param]));
    dcli_text declared = {0}, line = {0}, outputs = {0};
    if (dcli_box_contains(&around, report + 2))
        put_declared(&declared, &entry->operation, a);
    else if (!dcli_box_equal(&around, &whole))
        put_periodic(&declared, &around);
    put_first_line(&line, body->text);
    if (body->tile_kernel)
        put_outputs(&outputs, body);
    dcli_message message = begin_report(entry, param, storages, line.bytes, report + 2);
    message.report.declared = declared.bytes;
    message.report.written = body->access[a].written;
    message.report.outputs = outputs.bytes;
    send_message(worker, &message);
    dcli_text_free(&declared);
    dcli_text_free(&line);
    dcli_text_free(&outputs);
}

dcl_status dcli_exec_take_report(dcli_as_node *own, dcli_memory **report_out)
{
    if (own->report_count == 0)
        return dcli_memory_create_private(own->device, DCLI_REPORT_LONGS * sizeof(int64_t), report_out);
    *report_out = own->report[--own->report_count];
    return DCL_OK;
}

void dcli_exec_drop_reports(dcli_as_node *own)
{
    while (own->report_count > 0)
        dcli_memory_release(own->report[--own->report_count]);
}

bool dcli_exec_end_report(dcli_worker *worker, const dcli_running *running)
{
    dcli_as_node *own = worker->as_node;
    int64_t report[DCLI_REPORT_LONGS];
    if (running->report == NULL)
        return false;
    dcl_status status = DCL_OK;
    if (running->report_slot != NULL) {
        if (running->status != DCL_OK || !dcli_slot_is_complete(running->report_slot, &status))
            status = DCL_ERR_DEVICE; /* the report may not have been fetched */
        memcpy(report, dcli_slot_host(running->report_slot), sizeof report);
    } else {
        status = dcli_memory_get(running->report, 0, report, sizeof report);
    }
    bool found = status == DCL_OK && (int32_t)report[0] != 0;
    if (found && running->job.borrowed == NULL)
        send_report(worker, running->job.entry, report);
    if (found || status != DCL_OK || running->status != DCL_OK || own->report_count == DCLI_MOST_REPORTS)
        dcli_memory_release(running->report);
    else
        own->report[own->report_count++] = running->report;
    return found;
}
