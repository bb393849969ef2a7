/* runtime/report_balance.c - advise on a map that divides the work evenly, if other nodes compute a node's batches again and
 * again. The nodes are asked for the times that they have measured. */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/config.h"
#include "base/text.h"
#include "resmap/map_text.h"
#include "runtime/report.h"

/* ---- asking ------------------------------------------------------------------------------------------------------- */

static bool lends(const dcl_cluster *cluster)
{
    return !cluster->plan_only && cluster->host > 1 && dcli_steal_lends(dcli_config_steal(&cluster->config));
}

static int64_t number_of(const dcl_cluster *cluster, const dcli_body *body)
{
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (const dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next)
            if (known->body == body)
                return known->number;
    return 0;
}

dcl_status dcli_report_find_body(void *user, const dcli_planned *planned)
{
    bool is_body = planned->operation->body != NULL && !planned->operation->body->tile_kernel;
    *(int64_t *)user = is_body && lends(planned->cluster) ? number_of(planned->cluster, planned->operation->body) : 0;
    return DCL_OK;
}

dcl_status dcli_report_ask(dcl_cluster *cluster, int64_t kernel, dcli_times **times_out)
{
    dcli_times *times = dcli_times_make(cluster->host, kernel);
    if (times == NULL)
        return DCL_ERR_NOMEM;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_cluster_wait_silently(cluster, cluster->operations);
    bool asks = status == DCL_OK && cluster->broken == DCL_OK && cluster->times == NULL; /* else another thread asks */
    if (asks)
        cluster->times = times;
    pthread_mutex_unlock(&cluster->lock);
    if (asks) {
        status = dcli_host_count(cluster->worker[cluster->host], kernel);
        pthread_mutex_lock(&cluster->lock);
        cluster->times = NULL;
        pthread_mutex_unlock(&cluster->lock);
    }
    if (asks && status == DCL_OK)
        *times_out = times;
    else
        dcli_free(times);
    return status;
}

/* ---- saying ------------------------------------------------------------------------------------------------------- */

/* The text of a map that gives each place length[place] indices of an axis, in ten-thousandths of the greatest length;
 * other axes are whole. @return NULL: no memory. */
static char *print_map(int rank, int axis, int places, const int64_t length[])
{
    enum { SCALE = 10000 };
    dcli_text text = {0};
    int64_t most = 1;
    for (int p = 0; p < places; p++)
        most = length[p] > most ? length[p] : most;
    for (int d = 0; d < rank; d++) {
        dcli_text_put(&text, "%s%s", d > 0 ? "," : "", d == axis ? "weighted(" : "*");
        for (int p = 0; p < places && d == axis; p++) {
            int64_t share = most <= SCALE ? length[p] : (int64_t)((double)length[p] / (double)most * SCALE + 0.5);
            dcli_text_put(&text, "%s%" PRId64, p > 0 ? ":" : "", share == 0 && length[p] > 0 ? 1 : share);
        }
        dcli_text_put(&text, "%s", d == axis ? ")" : "");
    }
    return dcli_text_take(&text);
}

static dcl_status say(dcli_report *report, const dcli_planned *planned, const dcli_balance *balance,
                      const dcli_map_rule *rule)
{
    char names[256], better[DCLI_REPORT_MAP_TEXT], moved[128] = "";
    int64_t bytes;
    dcl_status status = dcli_report_try_for_all(report, planned, rule, names, sizeof names, &bytes);
    if (status != DCL_OK)
        return status;
    size_t capacity = dcli_map_rule_print(rule, NULL, 0) + 1;
    char *text = dcli_malloc(capacity);
    if (text == NULL)
        return DCL_ERR_NOMEM;
    dcli_map_rule_print(rule, text, capacity);
    report->seen.balanced_map = dcli_report_keep(report, text);
    dcli_free(text);
    if (report->seen.balanced_map == NULL)
        return DCL_ERR_NOMEM;
    dcli_report_print_map(rule, better);
    if (bytes >= 0 && bytes != report->seen.planned.bytes_moved)
        snprintf(moved, sizeof moved, "; %" PRId64 " instead of %" PRId64 " bytes would move", bytes,
                 report->seen.planned.bytes_moved);
    report->seen.balanced_ns = (int64_t)balance->then_ns;
    report->seen.unbalanced_ns = (int64_t)balance->now_ns;
    return dcli_report_say(
        report,
        "node %d has more to do than others: in %d of the last %d calls other nodes have computed "
        "batches for it, %.0f %% of its work; by the times measured, a call would take %.3g instead of "
        "%.3g ms, without stealing, with '%s' for %s%s",
        balance->victim, balance->stolen, balance->seen, 100 * balance->lent, balance->then_ns / 1e6,
        balance->now_ns / 1e6, better, names, moved);
}

static dcl_status advise(dcli_report *report, const dcli_planned *planned, int nodes[], int64_t length[])
{
    int first = planned->operation->body->owner;
    const dcli_layout *layout = planned->operation->operand[first].layout;
    int axis = dcli_layout_divided_axis(layout), places = layout->node_count;
    dcli_balance balance;
    dcli_map_rule rule;
    for (int p = 0; p < places; p++)
        nodes[p] = dcli_layout_node(layout, p);
    dcl_status status = dcli_balance_find(report->times, axis, layout->grid.origin[axis], layout->grid.extent[axis],
                                          places, nodes, &balance, length);
    if (status != DCL_OK)
        return status == DCL_ERR_INVALID ? DCL_OK : status;
    char *text = print_map(layout->grid.rank, axis, places, length);
    if (text == NULL)
        return DCL_ERR_NOMEM;
    status =
        dcli_map_rule_parse_over(text, planned->cluster->node_count, &dcl_map_of(planned->array[first])->rule, &rule);
    dcli_free(text);
    if (status != DCL_OK)
        return DCL_OK; /* too long, for example */
    dcli_report_keep_edges(layout, &rule);
    status = say(report, planned, &balance, &rule);
    dcli_map_rule_release(&rule);
    return status;
}

dcl_status dcli_report_advise_balance(dcli_report *report, const dcli_planned *planned)
{
    const dcli_operand *first = &planned->operation->operand[planned->operation->body->owner];
    const dcli_layout *layout = first->layout;
    if (report->times == NULL || report->seen.node >= 0 || first->view != NULL || first->reshaped || layout->partial ||
        layout->empty || layout->rule.copies > 0 || layout->node_count < 2)
        return DCL_OK;
    int *nodes = dcli_calloc((size_t)layout->node_count, sizeof *nodes);
    int64_t *length = dcli_calloc((size_t)layout->node_count, sizeof *length);
    dcl_status status = nodes != NULL && length != NULL ? advise(report, planned, nodes, length) : DCL_ERR_NOMEM;
    dcli_free(nodes);
    dcli_free(length);
    return status;
}
