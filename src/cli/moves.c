/* cli/moves.c - determine what moves between nodes, from a body and the arrays of a command line. */
#include "cli/moves.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/body_text.h"
#include "cli/map_title.h"
#include "cli/report.h"

/* ---- arrays of a body ---- */

static const cli_map_array *named(const cli_map_request *request, const char *name)
{
    for (int a = 0; a < request->array_count; a++)
        if (strcmp(request->array[a].name, name) == 0)
            return &request->array[a];
    return NULL;
}

/* Whether a name is an array. From the body alone only written arrays are certain; for any other name the subscripts
 * may be invalid (it may be a function), and are checked when all arrays are known. */
static bool is_array(const cli_map_request *request, const char *name)
{
    dcl_use use = {0};
    if (isupper((unsigned char)name[0]) || named(request, name) != NULL)
        return true;
    return dcl_body_use(request->body, 1, &name, name, &use) == DCL_OK && use.written;
}

static cli_moved_array *find(cli_moves *moves, const char *name)
{
    for (int a = 0; a < moves->array_count; a++)
        if (strcmp(moves->array[a].name, name) == 0)
            return &moves->array[a];
    return NULL;
}

static int find_arrays(const cli_map_request *request, cli_moves *moves)
{
    char name[CLI_NAME_BYTES];
    for (const char *at = cli_body_next_call(request->body, name); at != NULL; at = cli_body_next_call(at, name)) {
        if (!is_array(request, name) || find(moves, name) != NULL)
            continue;
        if (moves->array_count + request->value_count == CLI_MAP_MOST)
            return cli_fail("the body has more than %d arrays and values; expected at most that many", CLI_MAP_MOST);
        strcpy(moves->array[moves->array_count++].name, name);
    }
    for (int a = 0; a < request->array_count; a++)
        if (find(moves, request->array[a].name) == NULL)
            return cli_fail("%s is named, but the body has no %s(...); expected every array to occur in the body with "
                            "subscripts; leave it out or correct the name",
                            request->array[a].name, request->array[a].name);
    for (int v = 0; v < request->value_count; v++)
        if (!cli_body_mentions(request->body, request->value_name[v]))
            return cli_fail(
                "--set %s is given, but the body has no %s; expected every value to occur in the body; leave "
                "it out or correct the name",
                request->value_name[v], request->value_name[v]);
    return CLI_OK;
}

static int is_output(const cli_moved_array *array) { return array->access != DCL_ACCESS_IN; }

/* Determine how each array is used; outputs are sorted to the front, otherwise the order is unchanged. */
static int sort_out(cli_moves *moves)
{
    const char *names[CLI_MAP_MOST];
    for (int a = 0; a < moves->array_count; a++)
        names[a] = moves->array[a].name;
    for (int a = 0; a < moves->array_count; a++) {
        dcl_use use = {0};
        if (dcl_body_use(moves->body, moves->array_count, names, names[a], &use) != DCL_OK)
            return cli_library_failed();
        moves->array[a].access = !use.written ? DCL_ACCESS_IN : use.read ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT;
        moves->array[a].grid.rank = use.rank; /* for unknown_like_first(), until the shape is known */
    }
    cli_moved_array sorted[CLI_MAP_MOST];
    int count = 0;
    for (int output = 1; output >= 0; output--)
        for (int a = 0; a < moves->array_count; a++)
            if (is_output(&moves->array[a]) == output)
                sorted[count++] = moves->array[a];
    memcpy(moves->array, sorted, (size_t)count * sizeof sorted[0]);
    if (count == 0 || !is_output(&moves->array[0]))
        return cli_fail("the body assigns to no array; expected an assignment such as C(i,j) = A(i,j) + B(j,i);");
    return CLI_OK;
}

/* ---- shapes ---- */

/* The index of an array without a shape: the one that the library's error names, if it can have the first output's
 * shape. */
static int unknown_like_first(const cli_moves *moves, const dcl_grid grids[])
{
    for (int a = 0; a < moves->array_count; a++) {
        char words[CLI_NAME_BYTES + 32];
        snprintf(words, sizeof words, "the shape of %s is unknown", moves->array[a].name);
        if (grids[a].rank == 0 && moves->array[a].grid.rank == grids[0].rank && strstr(dcl_error(), words) != NULL)
            return a;
    }
    return -1;
}

static int find_shapes(const cli_map_request *request, cli_moves *moves)
{
    const char *names[CLI_MAP_MOST];
    dcl_grid grids[CLI_MAP_MOST];
    for (int a = 0; a < moves->array_count; a++) {
        const cli_map_array *given = named(request, moves->array[a].name);
        names[a] = moves->array[a].name;
        grids[a] = given != NULL ? given->grid : (dcl_grid){0};
    }
    if (grids[0].rank == 0)
        grids[0] = request->grid;
    while (dcl_body_infer(moves->body, moves->array_count, names, grids) != DCL_OK) {
        int like = unknown_like_first(moves, grids);
        if (like < 0) {
            cli_library_failed();
            return cli_fail("shapes are given as --grid SHAPE for %s and --grid NAME=SHAPE for others", names[0]);
        }
        grids[like] = grids[0];
    }
    for (int a = 0; a < moves->array_count; a++)
        moves->array[a].grid = grids[a];
    return CLI_OK;
}

/* ---- asking the library ---- */

static int lay_out(const cli_map_request *request, dcl_cluster *cluster, cli_moved_array *array)
{
    const cli_map_array *given = named(request, array->name);
    const char *rule = given != NULL && given->map != NULL ? given->map : request->map;
    array->map = rule != NULL ? dcl_map_parse(cluster, rule) : dcl_map_default(cluster);
    array->array = dcl_agile(array->grid, array->map);
    if (array->array == NULL)
        return cli_library_failed();
    array->text = cli_map_title(array->map, rule);
    return CLI_OK;
}

static int compare(const void *a, const void *b)
{
    const cli_move *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* List the nodes that compute or send something. */
static void list_nodes(cli_moves *moves, const dcl_report *report)
{
    int *place = cli_alloc((size_t)moves->nodes, sizeof *place);
    for (int r = 0; r < report->node_count; r++)
        place[report->node_row[r].node] = report->node_row[r].elements > 0;
    for (int64_t p = 0; p < report->pair_count; p++)
        place[report->pair[p].owner] = place[report->pair[p].user] = 1;
    moves->node = cli_alloc((size_t)moves->nodes, sizeof *moves->node);
    for (int node = 0; node < moves->nodes; node++)
        if (place[node] != 0) {
            place[node] = moves->taking_part;
            moves->node[moves->taking_part++] = node;
        }
    for (int m = 0; m < moves->move_count; m++) {
        moves->move[m].from = place[moves->move[m].from];
        moves->move[m].to = place[moves->move[m].to];
    }
    free(place);
}

/* Add a move: from owner to user for reads, the other way for writes. */
static void add_move(cli_moves *moves, int from, int to, int64_t bytes)
{
    if (bytes > 0)
        moves->move[moves->move_count++] = (cli_move){from, to, bytes};
}

/* Merge moves of the same pair and direction. */
static void merge_moves(cli_moves *moves)
{
    int count = 0;
    qsort(moves->move, (size_t)moves->move_count, sizeof *moves->move, compare);
    for (int m = 0; m < moves->move_count; m++) {
        if (count > 0 && compare(&moves->move[count - 1], &moves->move[m]) == 0)
            moves->move[count - 1].bytes += moves->move[m].bytes;
        else
            moves->move[count++] = moves->move[m];
        if (moves->move[count - 1].bytes > moves->largest)
            moves->largest = moves->move[count - 1].bytes;
    }
    moves->move_count = count;
}

static void note_moves(cli_moves *moves, const dcl_report *report)
{
    moves->move = cli_alloc(2 * (size_t)report->pair_count, sizeof *moves->move);
    for (int64_t p = 0; p < report->pair_count; p++) {
        add_move(moves, report->pair[p].owner, report->pair[p].user, report->pair[p].bytes_read);
        add_move(moves, report->pair[p].user, report->pair[p].owner, report->pair[p].bytes_written);
    }
    merge_moves(moves);
    moves->bytes = report->planned.bytes_moved;
    moves->blocks = report->planned.blocks_moved;
    list_nodes(moves, report);
}

static int ask(const cli_map_request *request, dcl_cluster *cluster, cli_moves *moves)
{
    dcl_arg args[CLI_MAP_MOST];
    int count = 0;
    for (int a = 0; a < moves->array_count; a++) {
        int status = lay_out(request, cluster, &moves->array[a]);
        if (status != CLI_OK)
            return status;
        args[count++] = dcl_arg_array(moves->array[a].access, moves->array[a].name, moves->array[a].array);
    }
    for (int v = 0; v < request->value_count; v++) {
        args[count] = request->value[v];
        args[count++].name = request->value_name[v];
    }
    moves->report = dcl_call_report(DCL_CALL_BODY_N(cluster, NULL, moves->body, count, args), DCL_ALL_NODES);
    if (moves->report == NULL)
        return cli_library_failed();
    note_moves(moves, moves->report);
    return CLI_OK;
}

int cli_moves_make(const cli_map_request *request, dcl_cluster *cluster, cli_moves *moves_out)
{
    cli_moves *moves = moves_out;
    *moves = (cli_moves){.body = request->body, .nodes = request->nodes};
    int status = find_arrays(request, moves);
    if (status == CLI_OK)
        status = sort_out(moves);
    if (status == CLI_OK)
        status = find_shapes(request, moves);
    if (status == CLI_OK)
        status = ask(request, cluster, moves);
    if (status != CLI_OK)
        cli_moves_free(moves);
    return status;
}

void cli_moves_free(cli_moves *moves)
{
    for (int a = 0; a < moves->array_count; a++) {
        dcl_release(moves->array[a].array);
        dcl_release(moves->array[a].map);
        free(moves->array[a].text);
    }
    dcl_report_release(moves->report);
    free(moves->node);
    free(moves->move);
    *moves = (cli_moves){0};
}
