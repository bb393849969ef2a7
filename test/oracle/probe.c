/* oracle/probe.c - says where maps put the elements of grids, and whether it agrees with itself: probe < lines
 *
 * A line has nodes, type, origins, extents and the map's text between tabs, numbers per axis between commas. The answer
 * is one line: `refused`, or `wrong` and a sentence, or `laid` and between tabs the owners and the offsets of all
 * elements by rows (-1: stored nowhere), and what each node must be able to store. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { MOST_NODES = 16, MOST_TEXT = 8192 };

struct probe {
    dcl_grid grid;
    dcl_map *map;
    int nodes;
    int64_t total;
    int *owner;
    int64_t *offset;
    int64_t storage[MOST_NODES];
    int *seen; /* by how many boxes */
    int64_t last_offset;
    int node; /* whose boxes are visited */
    char wrong[1024];
};

static dcl_cluster *clusters[MOST_NODES + 1]; /* by number of nodes */

static dcl_cluster *cluster_of(int nodes)
{
    if (clusters[nodes] == NULL)
        clusters[nodes] = dcl_open_plan(nodes);
    return clusters[nodes];
}

__attribute__((format(printf, 2, 3))) static dcl_status found(struct probe *probe, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (probe->wrong[0] == '\0')
        vsnprintf(probe->wrong, sizeof probe->wrong, format, list);
    va_end(list);
    return DCL_ERR_INTERNAL;
}

static void index_of(const dcl_grid *grid, int64_t e, int64_t index_out[])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        index_out[d] = grid->origin[d] + e % grid->extent[d];
        e /= grid->extent[d];
    }
}

static int64_t element_of(const dcl_grid *grid, const int64_t index[])
{
    int64_t e = 0;
    for (int d = 0; d < grid->rank; d++) {
        int64_t x = index[d] - grid->origin[d];
        if (x < 0 || x >= grid->extent[d])
            return -1;
        e = e * grid->extent[d] + x;
    }
    return e;
}

/* ---- what the library says ---------------------------------------------------------------------------------------- */

static bool next_in_box(const dcl_box *box, int64_t at[])
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if (++at[d] < box->count[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static dcl_status visit(void *user, const dcl_box *box)
{
    struct probe *probe = user;
    int64_t at[DCL_MAX_RANK] = {0}, index[DCL_MAX_RANK], first = -1;
    for (int d = 0; d < box->rank; d++)
        if (box->count[d] < 1 || box->stride[d] < 1)
            return found(probe, "node %d has a box of %" PRId64 " elements with stride %" PRId64, probe->node,
                         box->count[d], box->stride[d]);
    do {
        for (int d = 0; d < box->rank; d++)
            index[d] = box->start[d] + at[d] * box->stride[d];
        int64_t e = element_of(&probe->grid, index);
        if (e < 0)
            return found(probe, "node %d has a box outside of the grid", probe->node);
        if (probe->owner[e] != probe->node)
            return found(probe, "element %" PRId64 " lies in a box of node %d; its owner is %d", e, probe->node,
                         probe->owner[e]);
        if (probe->seen[e]++ > 0)
            return found(probe, "element %" PRId64 " lies in two boxes of node %d", e, probe->node);
        if (first < 0)
            first = probe->offset[e];
    } while (next_in_box(box, at));
    if (first <= probe->last_offset)
        return found(probe, "boxes of node %d: one that begins at offset %" PRId64 " follows one at %" PRId64,
                     probe->node, first, probe->last_offset);
    probe->last_offset = first;
    return DCL_OK;
}

static void locate_all(struct probe *probe)
{
    int64_t index[DCL_MAX_RANK];
    for (int64_t e = 0; e < probe->total && probe->wrong[0] == '\0'; e++) {
        index_of(&probe->grid, e, index);
        probe->owner[e] = -7; /* no node, and not DCL_NOWHERE */
        probe->offset[e] = -7;
        if (dcl_map_locate(probe->map, &probe->grid, index, &probe->owner[e], &probe->offset[e]) != DCL_OK)
            found(probe, "element %" PRId64 ": %s", e, dcl_error());
    }
}

static void visit_all(struct probe *probe)
{
    for (int node = 0; node < probe->nodes && probe->wrong[0] == '\0'; node++) {
        probe->node = node;
        probe->last_offset = -1;
        if (dcl_map_storage(probe->map, &probe->grid, node, &probe->storage[node]) != DCL_OK ||
            dcl_map_boxes(probe->map, &probe->grid, node, visit, probe) != DCL_OK)
            found(probe, "node %d: %s", node, dcl_error());
    }
    for (int64_t e = 0; e < probe->total && probe->wrong[0] == '\0'; e++)
        if (probe->seen[e] != (probe->owner[e] >= 0))
            found(probe, "element %" PRId64 " of node %d lies in no box", e, probe->owner[e]);
}

/* Every element has a place of its own in its owner's storage. */
static void check_places(struct probe *probe)
{
    for (int node = 0; node < probe->nodes && probe->wrong[0] == '\0'; node++) {
        char *taken = calloc(1, (size_t)probe->storage[node] + 1);
        for (int64_t e = 0; e < probe->total; e++) {
            if (probe->owner[e] != node)
                continue;
            if (probe->offset[e] < 0 || probe->offset[e] >= probe->storage[node])
                found(probe, "element %" PRId64 " has offset %" PRId64 "; node %d stores %" PRId64, e, probe->offset[e],
                      node, probe->storage[node]);
            else if (taken[probe->offset[e]]++)
                found(probe, "element %" PRId64 " has offset %" PRId64 " of node %d, as another has", e,
                      probe->offset[e], node);
        }
        free(taken);
    }
}

static void check_outside(struct probe *probe)
{
    for (int d = 0; d < probe->grid.rank; d++)
        for (int side = 0; side < 2; side++) {
            int64_t index[DCL_MAX_RANK], offset = -5;
            int node = -5;
            index_of(&probe->grid, 0, index);
            index[d] += side == 0 ? -1 : probe->grid.extent[d];
            if (dcl_map_locate(probe->map, &probe->grid, index, &node, &offset) != DCL_ERR_RANGE || node != -5 ||
                offset != -5)
                found(probe, "index %" PRId64 " of axis %d is not refused", index[d], d);
        }
}

/* What is printed is read back as the same map, and printed alike. */
static void check_text(struct probe *probe, dcl_cluster *cluster)
{
    static char text[MOST_TEXT], again[MOST_TEXT];
    dcl_map_print(probe->map, text, sizeof text);
    dcl_map *read = dcl_map_parse(cluster, text);
    dcl_map_print(read, again, sizeof again);
    if (read == NULL)
        found(probe, "printed as %.300s, which is refused: %s", text, dcl_error());
    else if (!dcl_map_equal(read, probe->map) || strcmp(text, again) != 0)
        found(probe, "printed as %.300s, which is read back as another map, %.300s", text, again);
    dcl_release(read);
}

/* ---- a line ------------------------------------------------------------------------------------------------------- */

static void answer(struct probe *probe)
{
    if (probe->wrong[0] != '\0') {
        printf("wrong\t%s\n", probe->wrong);
        return;
    }
    fputs("laid", stdout);
    for (int64_t e = 0; e < probe->total; e++)
        printf("%c%d", e == 0 ? '\t' : ',', probe->owner[e]);
    for (int64_t e = 0; e < probe->total; e++)
        printf("%c%" PRId64, e == 0 ? '\t' : ',', probe->offset[e]);
    for (int node = 0; node < probe->nodes; node++)
        printf("%c%" PRId64, node == 0 ? '\t' : ',', probe->storage[node]);
    putchar('\n');
}

static void probe_map(struct probe *probe, dcl_cluster *cluster)
{
    size_t count = (size_t)probe->total + 1;
    probe->owner = malloc(count * sizeof *probe->owner);
    probe->offset = malloc(count * sizeof *probe->offset);
    probe->seen = calloc(count, sizeof *probe->seen);
    check_text(probe, cluster);
    locate_all(probe);
    if (probe->wrong[0] == '\0')
        visit_all(probe);
    check_places(probe);
    check_outside(probe);
    answer(probe);
    free(probe->owner);
    free(probe->offset);
    free(probe->seen);
}

static int numbers(char *text, int64_t out[DCL_MAX_RANK])
{
    int count = 0;
    for (char *end; count < DCL_MAX_RANK && *text != '\0'; text = *end == ',' ? end + 1 : end)
        out[count++] = strtoll(text, &end, 10);
    return count;
}

static bool take_line(char *line)
{
    char *field[5], *rest = line;
    for (int n = 0; n < 5; n++)
        if ((field[n] = strsep(&rest, "\t")) == NULL)
            return false;
    int64_t extent[DCL_MAX_RANK], origin[DCL_MAX_RANK];
    struct probe probe = {.nodes = (int)strtol(field[0], NULL, 10)};
    numbers(field[2], origin);
    probe.grid = dcl_grid_nd(dcl_type_named(field[1]), numbers(field[3], extent), extent, origin);
    probe.total = dcl_grid_count(&probe.grid);
    if (probe.nodes < 1 || probe.nodes > MOST_NODES || probe.total < 1)
        return false;
    dcl_cluster *cluster = cluster_of(probe.nodes);
    probe.map = dcl_map_parse(cluster, field[4]);
    int64_t storage; /* says whether map and grid fit */
    if (probe.map == NULL || dcl_map_storage(probe.map, &probe.grid, 0, &storage) != DCL_OK)
        printf("refused\t%s\n", dcl_error());
    else
        probe_map(&probe, cluster);
    dcl_release(probe.map);
    return true;
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    int code = EXIT_SUCCESS;
    for (ssize_t length; code == EXIT_SUCCESS && (length = getline(&line, &capacity, stdin)) > 0;) {
        line[length - 1] = '\0';
        if (!take_line(line)) {
            fprintf(stderr, "probe: a line is not as it should be\n");
            code = EXIT_FAILURE;
        }
        fflush(stdout);
    }
    free(line);
    for (int nodes = 1; nodes <= MOST_NODES; nodes++)
        dcl_close(clusters[nodes]);
    return code;
}
