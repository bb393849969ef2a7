/* resmap/relabel.c - assigns nodes to the places of a map so that as many elements as possible keep their owner. */
#include "resmap/relabel.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

/* ---- the assignment problem ----------------------------------------------------------------------------------------- */

/* The state of solving the assignment problem; the cost of a pair is minus its value, worker(w) and job(j) are
 * potentials. Invariant: cost(w, j) - worker(w) - job(j) >= 0, and 0 for assigned pairs. Jobs and workers are numbered
 * from 1; 0 stands for none. */
struct assignment {
    int n;
    const int64_t *value;
    int64_t *worker, *job; /* [n + 1] potentials of the workers and of the jobs */
    int *held_by, *before; /* [n + 1] per job: the worker it is assigned to, 0: none; the job before it on the
                              shortest path */
    int64_t *distance;     /* [n + 1] per job: length of the shortest path found so far from the worker that is being
                              assigned */
    bool *settled;         /* [n + 1] per job: its shortest distance is final */
};

static int64_t reduced_cost(const struct assignment *a, int w, int j)
{
    return -a->value[(size_t)(w - 1) * (size_t)a->n + (size_t)(j - 1)] - a->worker[w] - a->job[j];
}

/* Update the distances of all unsettled jobs by paths through `job` and its worker. @return the nearest unsettled
 * job. */
static int look_from(struct assignment *a, int job)
{
    int nearest = 0;
    for (int j = 1; j <= a->n; j++) {
        if (a->settled[j])
            continue;
        int64_t cost = reduced_cost(a, a->held_by[job], j);
        if (cost < a->distance[j]) {
            a->distance[j] = cost;
            a->before[j] = job;
        }
        if (nearest == 0 || a->distance[j] < a->distance[nearest])
            nearest = j;
    }
    return nearest;
}

/* Change the potentials of settled jobs and of their workers by `step`; the distances of all other jobs shrink by as
 * much. */
static void move_potentials(struct assignment *a, int64_t step)
{
    for (int j = 0; j <= a->n; j++)
        if (a->settled[j]) {
            a->worker[a->held_by[j]] += step;
            a->job[j] -= step;
        } else {
            a->distance[j] -= step;
        }
}

static void assign_worker(struct assignment *a, int w)
{
    for (int j = 0; j <= a->n; j++) {
        a->distance[j] = INT64_MAX / 2;
        a->settled[j] = false;
    }
    a->held_by[0] = w;
    int job = 0;
    do {
        a->settled[job] = true;
        int next = look_from(a, job);
        move_potentials(a, a->distance[next]);
        job = next;
    } while (a->held_by[job] != 0);
    for (; job != 0; job = a->before[job])
        a->held_by[job] = a->held_by[a->before[job]];
}

dcl_status dcli_assign(int n, const int64_t value[], int job_out[])
{
    size_t length = (size_t)n + 1;
    struct assignment a = {.n = n, .value = value};
    a.worker = dcli_calloc(3 * length, sizeof(int64_t));
    a.held_by = dcli_calloc(2 * length, sizeof(int));
    a.settled = dcli_calloc(length, sizeof(bool));
    if (a.worker != NULL && a.held_by != NULL && a.settled != NULL) {
        a.job = a.worker + length;
        a.distance = a.job + length;
        a.before = a.held_by + length;
        for (int w = 1; w <= n; w++)
            assign_worker(&a, w);
        for (int j = 1; j <= n; j++)
            job_out[a.held_by[j] - 1] = j - 1;
    }
    bool done = a.job != NULL;
    dcli_free(a.worker);
    dcli_free(a.held_by);
    dcli_free(a.settled);
    return done ? DCL_OK : DCL_ERR_NOMEM;
}

/* ---- overlaps ----------------------------------------------------------------------------------------------------- */

/* Add the elements of a box to the counts of their owners. @param owners, regions  scratch. */
static dcl_status count_box(const dcli_layout *from, const dcl_box *box, dcli_node_list *owners,
                            dcli_region_list *regions, int64_t elements[])
{
    dcl_status status = dcli_layout_owners(from, box, owners);
    for (int64_t n = 0; n < owners->count && status == DCL_OK; n++) {
        regions->count = 0;
        status = dcli_layout_regions(from, owners->node[n], box, regions);
        for (int64_t r = 0; r < regions->count; r++)
            elements[owners->node[n]] += dcli_box_elements(&regions->region[r].box);
    }
    return status;
}

dcl_status dcli_layout_overlap(const dcli_layout *to, int node, const dcli_layout *from, int64_t elements_out[])
{
    dcli_region_list mine = {0}, theirs = {0};
    dcli_node_list owners = {0};
    dcl_status status = dcli_layout_regions(to, node, NULL, &mine);
    memset(elements_out, 0, (size_t)from->node_end * sizeof elements_out[0]);
    for (int64_t r = 0; r < mine.count && status == DCL_OK; r++)
        status = count_box(from, &mine.region[r].box, &owners, &theirs, elements_out);
    dcli_region_list_free(&mine);
    dcli_region_list_free(&theirs);
    dcli_node_list_free(&owners);
    return status;
}

/* ---- relabelling -------------------------------------------------------------------------------------------------- */

/* Find value[place * n + k]: how many elements keep their owner if the k-th node of the map gets this place. @param
 * elements  [from->node_end] scratch. @return DCL_OK or DCL_ERR_NOMEM. */
static dcl_status fill_values(const dcli_layout *from, const dcli_layout *to, int64_t elements[], int64_t value[])
{
    int n = to->node_count;
    dcl_status status = DCL_OK;
    for (int place = 0; place < n && status == DCL_OK; place++) {
        status = dcli_layout_overlap(to, dcli_layout_node(to, place), from, elements);
        for (int k = 0; k < n && status == DCL_OK; k++) {
            int node = dcli_layout_node(to, k);
            value[(size_t)place * (size_t)n + (size_t)k] = node < from->node_end ? elements[node] : 0;
        }
    }
    return status;
}

/* Shift all values to the right if their sums could overflow. The lost bits can make the assignment slightly worse. */
static void limit_values(size_t count, int64_t value[])
{
    int64_t most = 0;
    for (size_t v = 0; v < count; v++)
        most = dcli_max(most, value[v]);
    int shift = 0;
    while (most >> shift > INT64_C(1) << 50)
        shift++;
    for (size_t v = 0; v < count; v++)
        value[v] >>= shift;
}

static bool is_better(int n, const int64_t value[], const int job[])
{
    int64_t gain = 0;
    for (int p = 0; p < n; p++)
        gain += value[(size_t)p * (size_t)n + (size_t)job[p]] - value[(size_t)p * (size_t)n + (size_t)p];
    return gain > 0;
}

/* Put the nodes of the rule into the assigned order. If that needs too many ranges, the rule stays as it is. */
static void reorder(const dcli_layout *to, const int job[], dcli_map_rule *rule)
{
    dcli_map_rule ordered = *rule;
    ordered.node_count = ordered.range_count = 0;
    for (int place = 0; place < to->node_count; place++) {
        int node = dcli_layout_node(to, job[place]);
        if (!dcli_map_rule_has_room(&ordered, node) || dcli_map_rule_add_nodes(&ordered, node, 1) != DCL_OK)
            return;
    }
    *rule = ordered;
}

/* Whether the nodes of a rule can be permuted: not if it has shares, a table of owners, or boxes. A list of nodes
 * (`;nodes=`) does not matter. */
static bool is_open(const dcli_map_rule *rule)
{
    for (int d = 0; d < DCL_MAX_RANK; d++)
        if (rule->kind == DCLI_MAP_AXES && rule->axes[d].kind == DCL_AXIS_WEIGHTED)
            return false;
    return rule->kind == DCLI_MAP_AXES || (rule->kind == DCLI_MAP_DEALT && rule->deal != DCL_DEAL_TABLE);
}

dcl_status dcli_map_rule_relabel(const dcli_layout *from, dcli_map_rule *rule)
{
    int n = rule->node_count;
    if (n < 2 || n > DCLI_MOST_RELABELLED || !is_open(rule))
        return DCL_OK;
    dcli_layout to;
    dcl_status status = dcli_layout_bind(rule, &from->grid, &to);
    if (status != DCL_OK)
        return status;
    size_t pairs = (size_t)n * (size_t)n;
    int64_t *elements = dcli_malloc((size_t)from->node_end * sizeof *elements);
    int64_t *value = dcli_malloc(pairs * sizeof *value);
    int job[DCLI_MOST_RELABELLED];
    status = elements != NULL && value != NULL ? fill_values(from, &to, elements, value) : DCL_ERR_NOMEM;
    if (status == DCL_OK) {
        limit_values(pairs, value);
        status = dcli_assign(n, value, job);
    }
    if (status == DCL_OK && is_better(n, value, job))
        reorder(&to, job, rule);
    dcli_free(elements);
    dcli_free(value);
    dcli_layout_release(&to);
    return status;
}
