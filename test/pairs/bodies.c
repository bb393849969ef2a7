/* pairs/bodies.c - see bodies.h. */
#include "pairs/bodies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs/counts.h"

enum { MOST_ARGS = 16 };

/* One call: its text, its arguments, what it reads and writes of which array, element by element. */
struct call {
    test_pair *pair;
    test_body body;
    const dcl_box *box;
    int rank, arg_count;
    char text[640], names[MOST_ARGS][8];
    dcl_arg args[MOST_ARGS];
    int64_t by[DCL_MAX_RANK]; /* SHIFTED */
    test_counts counts;
};

/* ---- the text ----------------------------------------------------------------------------------------------------- */

int test_axis(int rank, int d)
{
    static const int axes[5][4] = {{0}, {0}, {1, 0}, {2, 0, 1}, {3, 1, 0, 2}};
    return axes[rank][d];
}

dcl_grid test_permuted_grid(const dcl_grid *grid)
{
    dcl_grid permuted = *grid;
    for (int d = 0; d < grid->rank; d++) {
        permuted.extent[d] = grid->extent[test_axis(grid->rank, d)];
        permuted.origin[d] = grid->origin[test_axis(grid->rank, d)];
    }
    return permuted;
}

enum subscripts { PLAIN, PERMUTED, SHIFTED, LOCAL };

static void append_access(struct call *call, char name, enum subscripts subscripts)
{
    char *end = call->text + strlen(call->text);
    end += sprintf(end, "%c(", name);
    for (int d = 0; subscripts == LOCAL && d < call->rank; d++)
        end += sprintf(end, "%sdcl_item(%d)", d > 0 ? ", " : "", d);
    for (int d = 0; subscripts != LOCAL && d < call->rank; d++) {
        end += sprintf(end, "%s%c", d > 0 ? ", " : "", "ijkl"[subscripts == PERMUTED ? test_axis(call->rank, d) : d]);
        if (subscripts == SHIFTED)
            end += sprintf(end, " - s%d", d);
    }
    strcpy(end, ")");
}

static void append(struct call *call, const char *text) { strcat(call->text, text); }

static void append_guard(struct call *call)
{
    for (int d = 0; d < call->rank; d++) {
        char index = "ijkl"[d];
        sprintf(call->text + strlen(call->text), "%s%c - s%d >= from%d && %c - s%d < to%d", d > 0 ? " && " : "", index,
                d, d, index, d, d);
    }
}

static void make_text(struct call *call)
{
    append_access(call, 'C', call->body == TEST_TILES ? LOCAL : PLAIN);
    append(call, " = ");
    switch (call->body) {
    case TEST_ADD:
        append_access(call, 'A', PLAIN);
        append(call, " + ");
        append_access(call, 'D', PLAIN);
        break;
    case TEST_PERMUTED:
        append_access(call, 'D', PLAIN);
        append(call, " - ");
        append_access(call, 'B', PERMUTED);
        break;
    case TEST_SHIFTED:
        append_guard(call);
        append(call, " ? ");
        append_access(call, 'A', SHIFTED);
        append(call, " : 5");
        break;
    case TEST_SCATTERED:
        append_access(call, 'A', PLAIN);
        append(call, " + 1; ");
        append_access(call, 'E', PERMUTED);
        append(call, " = 2 * ");
        append_access(call, 'A', PLAIN);
        break;
    case TEST_TILES:
        append_access(call, 'A', LOCAL);
        append(call, " - ");
        append_access(call, 'D', LOCAL);
    }
    append(call, ";");
}

/* ---- the arguments ------------------------------------------------------------------------------------------------ */

static void pass_array(struct call *call, dcl_access access, const test_model *model)
{
    call->args[call->arg_count++] = dcl_arg_array(access, model->name, model->array);
}

static void pass_number(struct call *call, const char *name, int d, int64_t value)
{
    char *text = call->names[call->arg_count];
    snprintf(text, sizeof call->names[0], "%s%d", name, d);
    call->args[call->arg_count++] = dcl_arg_signed(text, DCL_INT64, value);
}

static void pass_arguments(struct call *call)
{
    test_pair *pair = call->pair;
    pass_array(call, DCL_ACCESS_OUT, &pair->c);
    if (call->body == TEST_SCATTERED)
        pass_array(call, DCL_ACCESS_OUT, &pair->e);
    if (call->body != TEST_PERMUTED)
        pass_array(call, DCL_ACCESS_IN, &pair->a);
    else
        pass_array(call, DCL_ACCESS_IN, &pair->b);
    if (call->body == TEST_ADD || call->body == TEST_PERMUTED)
        pass_array(call, DCL_ACCESS_IN, &pair->d);
    if (call->body == TEST_TILES)
        call->args[call->arg_count++] = dcl_arg_move("C", pair->d.name, pair->d.array);
    for (int d = 0; call->body == TEST_SHIFTED && d < call->rank; d++) {
        const dcl_grid *grid = &pair->a.grid;
        call->by[d] = test_between(&pair->random, -2, 2);
        pass_number(call, "s", d, call->by[d]);
        pass_number(call, "from", d, grid->origin[d]);
        pass_number(call, "to", d, grid->origin[d] + grid->extent[d]);
    }
}

/* ---- the same in plain loops -------------------------------------------------------------------------------------- */

/* The element of an array that is meant at an index; -1: there is none. */
static int64_t element_at(const struct call *call, const test_model *model, enum subscripts subscripts,
                          const int64_t index[])
{
    int64_t at[DCL_MAX_RANK];
    for (int d = 0; d < call->rank; d++)
        at[d] =
            index[subscripts == PERMUTED ? test_axis(call->rank, d) : d] - (subscripts == SHIFTED ? call->by[d] : 0);
    return test_element(&model->grid, at);
}

static void do_element(struct call *call, int64_t e, const int64_t index[])
{
    test_pair *pair = call->pair;
    int computes = pair->c.owner[e]; /* what it reads or writes elsewhere moves; no element is meant twice */
    if (computes < 0)
        return; /* what is stored nowhere is not computed */
    int64_t same = element_at(call, &pair->a, PLAIN, index), other;
    switch (call->body) {
    case TEST_ADD:
        pair->c.value[e] = pair->a.value[same] + pair->d.value[same];
        test_counts_element(&call->counts, computes, &pair->a, same);
        test_counts_element(&call->counts, computes, &pair->d, same);
        break;
    case TEST_PERMUTED:
        other = element_at(call, &pair->b, PERMUTED, index);
        pair->c.value[e] = pair->d.value[same] - pair->b.value[other];
        test_counts_element(&call->counts, computes, &pair->d, same);
        test_counts_element(&call->counts, computes, &pair->b, other);
        break;
    case TEST_SHIFTED:
        other = element_at(call, &pair->a, SHIFTED, index);
        pair->c.value[e] = other >= 0 ? pair->a.value[other] : 5;
        test_counts_element(&call->counts, computes, &pair->a, other);
        break;
    case TEST_SCATTERED:
        other = element_at(call, &pair->e, PERMUTED, index);
        pair->c.value[e] = pair->a.value[same] + 1;
        pair->e.value[other] = 2 * pair->a.value[same];
        test_counts_element(&call->counts, computes, &pair->a, same);
        test_counts_element(&call->counts, computes, &pair->e, other);
        break;
    case TEST_TILES:
        pair->c.value[e] = pair->a.value[same] - pair->d.value[same];
        test_counts_element(&call->counts, computes, &pair->a, same);
        test_counts_element(&call->counts, computes, &pair->d, same);
    }
}

static void do_all(struct call *call)
{
    const dcl_grid *grid = &call->pair->c.grid;
    for (int64_t e = 0; e < call->pair->c.total; e++) {
        int64_t index[DCL_MAX_RANK];
        test_index(grid, e, index);
        if (call->box == NULL || test_box_has(call->box, index))
            do_element(call, e, index);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static dcl_status explain_node(struct call *call, int node, dcl_counters *planned)
{
    dcl_cluster *cluster = call->pair->cluster;
    return call->body == TEST_TILES
               ? dcl_call_explain(DCL_CALL_TILES_N(cluster, call->box, call->text, call->arg_count, call->args), node,
                                  planned)
               : dcl_call_explain(DCL_CALL_BODY_N(cluster, call->box, call->text, call->arg_count, call->args), node,
                                  planned);
}

static dcl_report *explain_all(struct call *call)
{
    dcl_cluster *cluster = call->pair->cluster;
    return call->body == TEST_TILES
               ? dcl_call_report(DCL_CALL_TILES_N(cluster, call->box, call->text, call->arg_count, call->args),
                                 DCL_ALL_NODES)
               : dcl_call_report(DCL_CALL_BODY_N(cluster, call->box, call->text, call->arg_count, call->args),
                                 DCL_ALL_NODES);
}

static bool explain(struct call *call)
{
    bool good = true;
    for (int n = 0; good && n <= call->counts.nodes; n++)
        good = test_done("dcl_call_explain",
                         explain_node(call, test_counts_node(&call->counts, n), &call->counts.planned[n]));
    dcl_report *report = good ? explain_all(call) : NULL;
    good = good && test_counts_report(&call->counts, report);
    dcl_report_release(report);
    return good;
}

static dcl_status start(const struct call *call)
{
    dcl_cluster *cluster = call->pair->cluster;
    if (call->body == TEST_TILES)
        return call->box != NULL
                   ? dcl_call_run(DCL_CALL_TILES_N(cluster, call->box, call->text, call->arg_count, call->args))
                   : dcl_call_run(DCL_CALL_TILES_N(cluster, NULL, call->text, call->arg_count, call->args));
    return call->box != NULL
               ? dcl_call_run(DCL_CALL_BODY_N(cluster, call->box, call->text, call->arg_count, call->args))
               : dcl_forall_n(cluster, call->text, call->arg_count, call->args);
}

bool test_run_body(test_pair *pair, test_body body, const dcl_box *box)
{
    struct call call = {.pair = pair, .body = body, .box = box, .rank = pair->c.grid.rank};
    call.counts = test_counts_begin(pair->cluster);
    make_text(&call);
    pass_arguments(&call);
    do_all(&call);
    return explain(&call) && test_counts_before(&call.counts) && test_done("dcl_forall", start(&call)) &&
           test_done("dcl_wait", dcl_wait(pair->cluster)) && test_counts_agree(&call.counts);
}
