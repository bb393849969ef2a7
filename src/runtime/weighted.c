/* runtime/weighted.c - maps by shares of the nodes, and shares measured by timing a body on every node. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "runtime/cluster.h"

enum {
    SCALE = 10000,      /* weight of the largest share in the text of a map */
    MOST_NAMES = 16,    /* most arrays of a body that is timed */
    ELEMENTS = 1 << 20, /* about how many elements each of them has */
    ROUNDS = 3          /* rounds that are timed, after one that is not */
};

/* Measured shares of a body on the nodes that were alive. */
struct dcli_measured {
    char *body;
    int count;
    int *node;     /* [count] node numbers */
    double *share; /* [count] share of each node; their sum is 1 */
    struct dcli_measured *next;
};

void dcli_measured_free(struct dcli_measured *measured)
{
    while (measured != NULL) {
        struct dcli_measured *next = measured->next;
        dcli_free(measured->body);
        dcli_free(measured->node);
        dcli_free(measured->share);
        dcli_free(measured);
        measured = next;
    }
}

/* ---- the arrays of a body ----------------------------------------------------------------------------------------- */

struct names {
    int count;
    char name[MOST_NAMES][DCLI_MOST_NAME + 1];
    const char *pointer[MOST_NAMES];
};

static dcl_status add_name(struct names *names, const char *at, size_t length)
{
    for (int k = 0; k < names->count; k++)
        if (strlen(names->name[k]) == length && memcmp(names->name[k], at, length) == 0)
            return DCL_OK;
    if (names->count == MOST_NAMES || length > DCLI_MOST_NAME)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the body to be timed has %s; expected at most %d arrays, with names of at most %d letters",
                         length > DCLI_MOST_NAME ? "a longer name" : "more arrays", MOST_NAMES, DCLI_MOST_NAME);
    memcpy(names->name[names->count], at, length);
    names->name[names->count][length] = '\0';
    names->pointer[names->count] = names->name[names->count];
    names->count++;
    return DCL_OK;
}

/* Find words that begin with a capital letter before "(". */
static dcl_status find_names(const char *body, struct names *names)
{
    dcl_status status = DCL_OK;
    for (const char *at = body; *at != '\0' && status == DCL_OK;) {
        const char *end = at;
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        const char *next = end;
        while (isspace((unsigned char)*next))
            next++;
        if (end > at && isupper((unsigned char)*at) && *next == '(')
            status = add_name(names, at, (size_t)(end - at));
        at = end > at ? end : at + 1;
    }
    if (status == DCL_OK && names->count == 0)
        status =
            DCLI_FAIL(DCL_ERR_INVALID,
                      "the body to be timed names no array; expected names that begin with a capital letter, as in "
                      "\"C(i) = A(i);\"");
    return status;
}

/* ---- timing ------------------------------------------------------------------------------------------------------- */

static double now(void) { return 1e-9 * (double)dcli_monotonic_ns(); }

static dcl_array *make_array(dcl_map *map, int rank)
{
    int64_t extent[DCL_MAX_RANK];
    for (int d = 0; d < rank; d++)
        extent[d] = dcli_max(1, (int64_t)llround(pow(ELEMENTS, 1.0 / rank)));
    return dcl_agile(dcl_grid_nd(DCL_FLOAT, rank, extent, NULL), map);
}

static dcl_status make_arguments(const char *body, const struct names *names, dcl_map *map, dcl_arg args[])
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < names->count && status == DCL_OK; k++) {
        dcl_use use;
        status = dcl_body_use(body, names->count, names->pointer, names->name[k], &use);
        if (status != DCL_OK)
            break;
        args[k].name = names->name[k];
        args[k].access = !use.written ? DCL_ACCESS_IN : use.read ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT;
        args[k].array = make_array(map, dcli_max(use.rank, 1));
        status = args[k].array != NULL ? DCL_OK : dcli_error_status();
    }
    return status;
}

/* Wait for the arrays of the body. Errors of other calls, earlier or of other threads, do not count. */
static dcl_status wait_for_arrays(int count, const dcl_arg args[])
{
    dcl_status status = DCL_OK;
    for (int k = 0; k < count && status == DCL_OK; k++)
        status = dcl_wait_for(args[k].array, -1);
    return status;
}

/* Time a few rounds; the shortest counts, except the first one, which compiles and allocates. */
static dcl_status time_rounds(dcl_cluster *cluster, const char *body, int count, const dcl_arg args[],
                              double *seconds_out)
{
    dcl_status status = DCL_OK;
    double best = INFINITY;
    for (int r = 0; r <= ROUNDS && status == DCL_OK; r++) {
        double start = now();
        status = dcl_forall_n(cluster, body, count, args);
        if (status == DCL_OK)
            status = wait_for_arrays(count, args);
        if (r > 0)
            best = fmin(best, now() - start);
    }
    *seconds_out = best;
    return status;
}

static dcl_status time_node(dcl_cluster *cluster, const char *body, const struct names *names, int node,
                            double *seconds_out)
{
    dcl_map *all = dcli_map_new_block(cluster), *map = dcl_map_on(all, 1, &node);
    dcl_arg args[MOST_NAMES] = {{.name = NULL}};
    dcl_status status = map != NULL ? make_arguments(body, names, map, args) : dcli_error_status();
    if (status == DCL_OK)
        status = time_rounds(cluster, body, names->count, args, seconds_out);
    for (int k = 0; k < names->count; k++)
        dcl_array_release(args[k].array);
    dcl_map_release(map);
    dcl_map_release(all);
    return status;
}

/* ---- remembering -------------------------------------------------------------------------------------------------- */

/* List the nodes that are alive; nodes may join and be lost at any time. @param nodes  [cluster->host], the most there
 * can be. */
static int list_alive(const dcl_cluster *cluster, int nodes[])
{
    int count = 0;
    for (int n = 0; n < dcl_node_count(cluster); n++)
        if (dcl_node_is_alive(cluster, n))
            nodes[count++] = n;
    return count;
}

static bool are_alive(const dcl_cluster *cluster, int count, const int nodes[])
{
    int same = 0;
    for (int n = 0; n < dcl_node_count(cluster); n++)
        if (dcl_node_is_alive(cluster, n) && (same == count || nodes[same++] != n))
            return false;
    return same == count;
}

static const struct dcli_measured *remembered(dcl_cluster *cluster, const char *body, int count, const int nodes[])
{
    pthread_mutex_lock(&cluster->lock);
    const struct dcli_measured *measured = cluster->measured;
    while (measured != NULL && !(measured->count == count && strcmp(measured->body, body) == 0 &&
                                 memcmp(measured->node, nodes, (size_t)count * sizeof nodes[0]) == 0))
        measured = measured->next;
    pthread_mutex_unlock(&cluster->lock);
    return measured; /* the measurement remains until the cluster ends */
}

static dcl_status measure(dcl_cluster *cluster, const char *body, struct dcli_measured *measured)
{
    struct names names = {.count = 0};
    dcl_status status = find_names(body, &names);
    double total = 0;
    for (int k = 0; k < measured->count && status == DCL_OK; k++) {
        double seconds = 1;
        status = time_node(cluster, body, &names, measured->node[k], &seconds);
        measured->share[k] = 1 / fmax(seconds, 1e-9);
        total += measured->share[k];
    }
    for (int k = 0; k < measured->count && status == DCL_OK; k++)
        measured->share[k] /= total;
    return status;
}

static dcl_status measure_and_remember(dcl_cluster *cluster, const char *body, int count, const int nodes[],
                                       const struct dcli_measured **out)
{
    struct dcli_measured *measured = dcli_calloc(1, sizeof *measured);
    if (measured == NULL)
        return DCL_ERR_NOMEM;
    measured->count = count;
    measured->body = dcli_strdup(body);
    measured->node = dcli_calloc((size_t)count, sizeof measured->node[0]);
    measured->share = dcli_calloc((size_t)count, sizeof measured->share[0]);
    dcl_status status = DCL_ERR_NOMEM;
    if (measured->body != NULL && measured->node != NULL && measured->share != NULL) {
        memcpy(measured->node, nodes, (size_t)count * sizeof nodes[0]);
        status = measure(cluster, body, measured);
    }
    if (status != DCL_OK) {
        dcli_measured_free(measured);
        return status;
    }
    pthread_mutex_lock(&cluster->lock);
    measured->next = cluster->measured;
    cluster->measured = measured;
    pthread_mutex_unlock(&cluster->lock);
    *out = measured;
    return DCL_OK;
}

/* ---- maps --------------------------------------------------------------------------------------------------------- */

static dcl_status check_shares(int count, const double shares[])
{
    double most = 0;
    for (int k = 0; k < count; k++) {
        if (!(shares[k] >= 0) || isinf(shares[k]))
            return DCLI_FAIL(DCL_ERR_INVALID, "shares[%d] is %g; expected a number of at least 0; shares are relative",
                             k, shares[k]);
        most = fmax(most, shares[k]);
    }
    if (most == 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "all %d shares are 0; expected one that is not", count);
    return DCL_OK;
}

/* Make a map that divides the first axis by shares, in steps of a ten-thousandth of the largest; other axes are
 * whole. */
static dcl_map *make_map(dcl_cluster *cluster, int count, const double shares[])
{
    if (check_shares(count, shares) != DCL_OK)
        return NULL;
    double most = 0;
    for (int k = 0; k < count; k++)
        most = fmax(most, shares[k]);
    size_t capacity = 16 + (size_t)count * 8;
    char *text = dcli_malloc(capacity);
    if (text == NULL)
        return NULL;
    size_t length = (size_t)snprintf(text, capacity, "weighted");
    for (int k = 0; k < count; k++) {
        long weight = lround(shares[k] / most * SCALE);
        length += (size_t)snprintf(text + length, capacity - length, "%c%ld", k == 0 ? '(' : ':',
                                   weight == 0 && shares[k] > 0 ? 1 : weight);
    }
    snprintf(text + length, capacity - length, ")");
    dcl_map *map = dcl_map_parse(cluster, text);
    dcli_free(text);
    return map;
}

dcl_map *dcl_map_weighted(dcl_cluster *cluster, int count, const double shares[])
{
    dcli_error_enter_constructor(__func__);
    if (cluster == NULL)
        return NULL;
    int *nodes = dcli_calloc((size_t)cluster->host, sizeof nodes[0]);
    int alive = nodes != NULL ? list_alive(cluster, nodes) : 0;
    dcl_map *map = NULL;
    if (nodes != NULL && count != alive)
        DCLI_FAIL(DCL_ERR_INVALID, "count is %d; expected %d, a share for each node alive", count, alive);
    else if (nodes != NULL && shares == NULL)
        DCLI_FAIL(DCL_ERR_INVALID, "shares is NULL; expected one for each node alive; dcl_measure_shares() finds them");
    else if (nodes != NULL)
        map = make_map(cluster, count, shares);
    if (map == NULL)
        dcli_error_made_null();
    dcli_free(nodes);
    return map;
}

/* ---- shares ------------------------------------------------------------------------------------------------------- */

static dcl_status check_measure(const dcl_cluster *cluster, int capacity, const double shares_out[],
                                const int *count_out)
{
    if (cluster->plan_only)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                         "this cluster only plans (dcl_open_plan()): nothing can be timed; expected one of dcl_open()");
    if (count_out == NULL || (shares_out == NULL && capacity > 0))
        return DCLI_FAIL(DCL_ERR_INVALID, "%s is NULL; expected memory to fill",
                         count_out == NULL ? "count_out" : "shares_out");
    return DCL_OK;
}

/* Measure, and again if a node joined or was lost meanwhile. @param nodes  [cluster->host] */
static dcl_status measure_alive(dcl_cluster *cluster, const char *body, int nodes[],
                                const struct dcli_measured **measured_out)
{
    for (;;) {
        int count = list_alive(cluster, nodes);
        dcl_status status = DCL_OK;
        *measured_out = remembered(cluster, body, count, nodes);
        if (*measured_out == NULL)
            status = measure_and_remember(cluster, body, count, nodes, measured_out);
        if (are_alive(cluster, count, nodes))
            return status;
    }
}

dcl_status dcl_measure_shares(dcl_cluster *cluster, const char *body, int capacity, double shares_out[], int *count_out)
{
    static const char usual[] = "C(i) = 2.5f * A(i) + B(i);";
    dcli_error_enter(__func__);
    if (cluster == NULL)
        return DCLI_FAIL_NULL("cluster is NULL; expected one made by dcl_open()");
    const struct dcli_measured *measured = NULL;
    int *nodes = NULL;
    dcl_status status = check_measure(cluster, capacity, shares_out, count_out);
    if (status == DCL_OK && (nodes = dcli_calloc((size_t)cluster->host, sizeof nodes[0])) == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = measure_alive(cluster, body != NULL ? body : usual, nodes, &measured);
    dcli_free(nodes);
    if (status != DCL_OK) {
        dcli_cluster_record_refusal(cluster);
        return status;
    }
    *count_out = measured->count;
    for (int k = 0; k < dcli_min(capacity, measured->count); k++)
        shares_out[k] = measured->share[k];
    return DCL_OK;
}
