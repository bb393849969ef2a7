/* runtime/report.c - report what a call would do, from the plans of all nodes. */
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "resmap/elements.h"
#include "workqueue/partners.h"

/* ---- a report's memory -------------------------------------------------------------------------------------------- */

void dcl_report_release(dcl_report *seen)
{
    dcli_report *report = (dcli_report *)seen;
    if (report == NULL)
        return;
    for (int64_t t = 0; t < report->text_count; t++)
        dcli_free(report->text[t]);
    dcli_free(report->text);
    dcli_free(report->node);
    dcli_free(report->pair);
    dcli_free(report->array);
    dcli_free(report->footprint);
    dcli_free(report->advice);
    dcli_free(report);
}

const char *dcli_report_keep(dcli_report *report, const char *text)
{
    if (dcli_grow(&report->text, report->text_count, &report->text_capacity, sizeof *report->text) != 0)
        return NULL;
    char *copy = dcli_strdup(text);
    if (copy != NULL)
        report->text[report->text_count++] = copy;
    return copy;
}

/* ---- nodes and pairs ---------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static const char *way_of(const dcli_node_ways *reader, const dcli_node_ways *owner)
{
    return dcli_way_name(dcli_way_between(reader, owner));
}

static dcl_status add_pairs(dcli_report *report, const dcli_node_ways ways[], int user, dcli_plan_detail *detail)
{
    qsort(detail->peer, (size_t)detail->peer_count, sizeof *detail->peer, by_number);
    for (int n = 0; n < detail->peer_count; n++) {
        int owner = detail->peer[n];
        const dcli_plan_pair *pair = &detail->pair[owner];
        if (dcli_grow(&report->pair, report->seen.pair_count, &report->pair_capacity, sizeof *report->pair) != 0)
            return DCL_ERR_NOMEM;
        report->pair[report->seen.pair_count++] = (dcl_report_pair){.owner = owner,
                                                                    .user = user,
                                                                    .blocks = pair->blocks,
                                                                    .bytes = pair->bytes,
                                                                    .messages = pair->messages,
                                                                    .bytes_read = pair->bytes_read,
                                                                    .bytes_written = pair->bytes_written,
                                                                    .way = way_of(&ways[user], &ways[owner])};
    }
    return DCL_OK;
}

static void add_sums(dcli_report *report, const dcli_plan_detail *detail)
{
    for (int row = 0; row < report->seen.array_count; row++)
        if (report->param[row] >= 0)
            report->array[row].bytes_moved += detail->moved[report->param[row]];
    for (int row = report->first_footprint; row < report->seen.footprint_count; row++) {
        const dcli_plan_excess *excess = &detail->excess[report->wide[row]];
        report->footprint[row].elements += excess->elements;
        report->footprint[row].read_at_most += excess->read_at_most;
    }
}

/* Add the details of a node's plan; plans of nodes with nothing to do may have none. */
static dcl_status add_detail(dcli_report *report, const dcli_node_ways ways[], int node, dcl_report_node *row,
                             dcli_plan_detail *detail)
{
    if (detail == NULL)
        return DCL_OK;
    row->elements += detail->elements;
    row->staged_bytes = dcli_max(row->staged_bytes, detail->staged_bytes);
    row->arrived_bytes = dcli_max(row->arrived_bytes, detail->arrived_bytes);
    row->copied_bytes += detail->copied_bytes;
    add_sums(report, detail);
    return add_pairs(report, ways, node, detail);
}

/* Add the row of a node to a report. @param number  of the row */
static dcl_status add_node(dcli_report *report, const dcli_planned *planned, int node, int number)
{
    dcli_plan *plan;
    dcl_status status = dcli_plan_for_report(planned->cluster, planned->operation, node, true, &plan);
    if (status != DCL_OK)
        return status;
    dcl_report_node *row = &report->node[number];
    if (number == report->seen.node_count) {
        *row = (dcl_report_node){.node = node, .name = dcli_report_keep(report, dcl_node_name(planned->cluster, node))};
        report->seen.node_count++;
    }
    dcli_counters_add(&row->planned, &plan->counters);
    dcli_counters_add(&report->seen.planned, &plan->counters);
    report->works += plan->work_count;
    status = row->name != NULL ? add_detail(report, planned->cluster->ways, node, row, plan->detail) : DCL_ERR_NOMEM;
    dcli_plan_free(plan);
    return status;
}

/* ---- arrays and accesses ------------------------------------------------------------------------------------------ */

static const char *map_text(dcli_report *report, const dcl_map *map)
{
    size_t bytes = dcl_map_print(map, NULL, 0) + 1;
    char *text = dcli_malloc(bytes);
    if (text == NULL)
        return NULL;
    dcl_map_print(map, text, bytes);
    const char *kept = dcli_report_keep(report, text);
    dcli_free(text);
    return kept;
}

static dcl_status add_array(dcli_report *report, const dcli_planned *planned, int k)
{
    const dcli_operand *operand = &planned->operation->operand[k];
    const dcli_layout *layout = operand->layout;
    bool written = operand->writes && !operand->fresh; /* lines that are received change no element */
    const char *name = planned->name != NULL ? planned->name[k] : planned->operation->body->params[k].name;
    for (int r = 0; r < report->seen.array_count && report->operations > 0; r++)
        if (strcmp(report->array[r].name, name) == 0) {
            report->array[r].read |= operand->reads;
            report->array[r].written |= written;
            report->param[r] = k;
            return DCL_OK;
        }
    if (report->seen.array_count == DCLI_MAX_PARAMS)
        return DCL_OK;
    dcl_report_array *row = &report->array[report->seen.array_count];
    *row = (dcl_report_array){.name = dcli_report_keep(report, name),
                              .map = map_text(report, dcl_map_of(planned->array[k])),
                              .read = operand->reads,
                              .written = written,
                              .stored = dcli_layout_total_storage(layout),
                              .elements = dcl_grid_count(dcli_operand_grid(operand))};
    report->param[report->seen.array_count++] = k;
    return row->name != NULL && row->map != NULL ? DCL_OK : DCL_ERR_NOMEM;
}

static dcl_status add_arrays(dcli_report *report, const dcli_planned *planned)
{
    dcl_status status = DCL_OK;
    for (int r = 0; r < report->seen.array_count; r++)
        report->param[r] = -1;
    for (int k = 0; k < planned->operation->operand_count && status == DCL_OK; k++)
        if (planned->operation->operand[k].layout != NULL)
            status = add_array(report, planned, k);
    return status;
}

static dcl_status add_footprints(dcli_report *report, const dcli_operation *operation)
{
    const dcli_body *body = operation->body;
    report->first_footprint = report->seen.footprint_count;
    for (int a = 0; body != NULL && a < body->access_count && report->seen.footprint_count < DCLI_MAX_ACCESSES; a++) {
        const dcli_body_access *access = &body->access[a];
        dcli_subscripts own, base;
        dcl_status status = dcli_operation_subscripts(operation, a, &own, &base);
        if (status != DCL_OK)
            return status;
        if (!dcli_access_is_wide(access, &own))
            continue;
        const char *name = dcli_report_keep(report, body->params[access->param].name);
        if (name == NULL)
            return DCL_ERR_NOMEM;
        report->wide[report->seen.footprint_count] = a;
        report->footprint[report->seen.footprint_count++] =
            (dcl_report_footprint){.name = name, .line = access->line, .column = access->column};
    }
    return DCL_OK;
}

/* ---- accesses of unknown reach -------------------------------------------------------------------------------------- */

/* Whether the elements that an access reads for some indices cannot be computed, or lie anywhere. */
static bool has_unknown_reach(const dcli_operation *operation, int a, const dcli_subscripts *own,
                              const dcli_subscripts base[])
{
    const dcli_body_access *access = &operation->body->access[a];
    bool mixed = own->reach == DCLI_REACH_AFFINE && !dcli_subscripts_exact(own);
    return !dcli_access_is_home(operation, base, a) &&
           (own->reach == DCLI_REACH_ALL || own->reach == DCLI_REACH_FUNCTION || mixed ||
            dcli_layout_is_shuffled(operation->operand[access->param].layout));
}

/* Subscripts of all accesses: as in the body, and for the arrays' grids. */
struct all_subscripts {
    dcli_subscripts own[DCLI_MAX_ACCESSES], base[DCLI_MAX_ACCESSES];
};

/* If a node plans its exchange with all others, and an access has an unknown reach, say so. */
static dcl_status find_reach(dcli_report *report, const dcli_planned *planned, struct all_subscripts *all)
{
    const dcli_operation *operation = planned->operation;
    const dcli_body *body = operation->body;
    const dcli_layout *space = operation->operand[body->owner].layout;
    int self = report->seen.node >= 0 ? report->seen.node : dcli_layout_node(space, 0);
    dcli_node_list partners = {0};
    dcl_status status = DCL_OK;
    bool unknown = false;
    for (int a = 0; a < body->access_count && status == DCL_OK; a++)
        status = dcli_operation_subscripts(operation, a, &all->own[a], &all->base[a]);
    for (int a = 0; a < body->access_count && status == DCL_OK; a++)
        unknown = unknown || has_unknown_reach(operation, a, &all->own[a], all->base);
    if (status != DCL_OK || !unknown) /* finding partners takes about as long as planning */
        return status;
    status = dcli_find_partners(operation, all->own, all->base, self, planned->cluster->host, NULL, &partners);
    bool every = partners.count + (dcli_layout_place(space, self) >= 0) >= space->node_count;
    dcli_node_list_free(&partners);
    for (int a = 0; a < body->access_count && status == DCL_OK && every && report->seen.all_to_all == NULL; a++) {
        char sentence[256];
        if (!has_unknown_reach(operation, a, &all->own[a], all->base))
            continue;
        snprintf(sentence, sizeof sentence,
                 "which elements of %.63s are read (line %d, column %d) is not known from the indices, so each of %d "
                 "nodes plans its exchange with all others",
                 body->params[body->access[a].param].name, body->access[a].line, body->access[a].column,
                 space->node_count);
        if ((report->seen.all_to_all = dcli_report_keep(report, sentence)) == NULL)
            status = DCL_ERR_NOMEM;
    }
    return status;
}

static dcl_status add_reach(dcli_report *report, const dcli_planned *planned)
{
    const dcli_body *body = planned->operation->body;
    if (body == NULL || planned->operation->operand[body->owner].layout->node_count < 3)
        return DCL_OK;
    struct all_subscripts *all = dcli_malloc(sizeof *all);
    dcl_status status = all != NULL ? find_reach(report, planned, all) : DCL_ERR_NOMEM;
    dcli_free(all);
    return status;
}

/* ---- several operations ----------------------------------------------------------------------------------------------- */

static int by_user(const void *a, const void *b)
{
    const dcl_report_pair *x = a, *y = b;
    return x->user != y->user ? (x->user > y->user) - (x->user < y->user)
                              : (x->owner > y->owner) - (x->owner < y->owner);
}

/* Join the pairs of several operations: one row for each two nodes. */
static void join_pairs(dcli_report *report)
{
    int64_t kept = 0;
    if (report->operations < 2 || report->seen.pair_count == 0)
        return;
    qsort(report->pair, (size_t)report->seen.pair_count, sizeof *report->pair, by_user);
    for (int64_t n = 1; n < report->seen.pair_count; n++) {
        const dcl_report_pair *pair = &report->pair[n];
        dcl_report_pair *last = &report->pair[kept];
        if (by_user(last, pair) != 0) {
            report->pair[++kept] = *pair;
            continue;
        }
        last->blocks += pair->blocks;
        last->bytes += pair->bytes;
        last->messages += pair->messages;
        last->bytes_read += pair->bytes_read;
        last->bytes_written += pair->bytes_written;
    }
    report->seen.pair_count = kept + 1;
}

/* ---- the report --------------------------------------------------------------------------------------------------- */

/* Largest / mean of a field of the rows, over the nodes of the first output's map. */
static double imbalance(const dcli_report *report, const dcli_layout *space, size_t field)
{
    int64_t largest = 0, sum = 0;
    for (int n = 0; n < report->seen.node_count; n++) {
        int64_t value = *(const int64_t *)(const void *)((const char *)&report->node[n] + field);
        largest = dcli_max(largest, value);
        sum += value;
    }
    return sum == 0 ? 1 : (double)largest * space->node_count / (double)sum;
}

static dcli_report *make_empty(const dcl_cluster *cluster, int node)
{
    dcli_report *report = dcli_calloc(1, sizeof *report);
    if (report == NULL)
        return NULL;
    report->seen.struct_size = sizeof report->seen;
    report->seen.nodes = cluster->node_count;
    report->seen.node = node;
    report->node = dcli_calloc(node >= 0 ? 1 : (size_t)cluster->node_count, sizeof *report->node);
    report->array = dcli_calloc(DCLI_MAX_PARAMS, sizeof *report->array);
    report->footprint = dcli_calloc(DCLI_MAX_ACCESSES, sizeof *report->footprint);
    if (report->node != NULL && report->array != NULL && report->footprint != NULL)
        return report;
    dcl_report_release(&report->seen);
    return NULL;
}

static void show(dcli_report *report, const dcli_operation *operation)
{
    dcl_report *seen = &report->seen;
    seen->node_row = report->node;
    seen->pair = report->pair;
    seen->array = report->array;
    seen->footprint = report->footprint;
    if (seen->node >= 0)
        return;
    seen->imbalance_elements = seen->imbalance_bytes = 1;
    if (operation->body == NULL)
        return;
    const dcli_layout *space = operation->operand[operation->body->owner].layout;
    seen->imbalance_elements = imbalance(report, space, offsetof(dcl_report_node, elements));
    seen->imbalance_bytes = imbalance(report, space, offsetof(dcl_report_node, planned.bytes_moved));
}

dcl_status dcli_report_on(void *user, const dcli_planned *planned)
{
    dcli_report_asked *asked = user;
    if (asked->report == NULL)
        asked->report = make_empty(planned->cluster, asked->node);
    dcli_report *report = asked->report;
    if (report == NULL)
        return DCL_ERR_NOMEM;
    report->times = asked->times;
    dcl_status status = add_arrays(report, planned);
    if (status == DCL_OK)
        status = add_footprints(report, planned->operation);
    if (status == DCL_OK)
        status = add_reach(report, planned);
    int first = asked->node >= 0 ? asked->node : 0, end = asked->node >= 0 ? first + 1 : planned->cluster->node_count;
    for (int n = first; n < end && status == DCL_OK; n++)
        status = add_node(report, planned, n, n - first);
    if (status == DCL_OK && report->operations++ == 0)
        status = dcli_report_describe(report, planned);
    if (status != DCL_OK)
        return status;
    join_pairs(report);
    show(report, planned->operation);
    return asked->advise ? dcli_report_advise(report, planned) : DCL_OK;
}
