/* loop/lines.c - generate the tile kernel of an operation on lines: each thread computes whole lines of the outputs, along one axis.
 *
 * Other operations compute one element per thread, so a recurrence along rows is an operation per column. If tiles contain rows as a
 * whole, a thread runs the recurrence of a row in a loop, and reads elements that it has written in earlier steps from memory.
 *
 * A work-item of a CPU computes strips of lines that are neighbours along the last of the other axes, the lane axis. It runs the loop
 * along the lines once for a strip; inside of it, an innermost loop goes through the lines. So the operations of the lines,
 * each of which waits for the one before in its line, overlap, and compilers make vectors of them where lines lie side by side.
 *
 * Names, besides those of loop/emit.c: q_s is a strip, q_low and q_end its first line and the one after its last one, q the first line of
 * those that are computed together and q_index its index, q_w the number of a line among these, p<r> the position along another axis r. All are positions in
 * the tile. */
#include <stdio.h>
#include <string.h>

#include "loop/writer.h"

static const char letters[] = "ijklmnop";

/* The last axis of the threads. */
static int lane_axis(const dcli_loops_operation *operation)
{
    return operation->along == operation->rank - 1 ? operation->rank - 2 : operation->rank - 1;
}

static bool is_written(const dcli_loops_operation *operation, int array)
{
    for (int k = 0; k < operation->output_count; k++)
        if (operation->output[k] == array)
            return true;
    return false;
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* Note that a statement reads an input. */
static void note_reader(dcli_loops_writer *writer, int read, int operand)
{
    dcli_loops_operation *operation = writer->operation;
    for (int n = 0; n < operation->reach_count; n++)
        if (operation->reader[n].statement == writer->statement && operation->reader[n].read == read)
            return;
    operation->reader[operation->reach_count++] = (dcli_loops_reader){writer->statement, read, operand};
}

void dcli_loops_put_line_element(dcli_loops_writer *writer, const dcli_loops_access *access, int read)
{
    dcli_loops_operation *operation = writer->operation;
    const dcli_loops_name *name = &writer->tree->name[access->symbol];
    const int *loop = writer->tree->statement[writer->statement].loop;
    bool written = is_written(operation, access->symbol);
    if (!written) {
        dcli_loops_operand *operand =
            dcli_loops_add_operand(writer, "a", access->symbol, name->name, DCL_ACCESS_IN, access->symbol, 0);
        if (operand == NULL)
            return;
        if (operand->place.line == 0)
            operand->place = access->place;
        note_reader(writer, read, (int)(operand - operation->operand));
    }
    dcli_text_put(writer->out, "a%d_%s", access->symbol, name->name);
    for (int d = 0; d < name->grid.rank; d++) {
        dcli_text_put(writer->out, d > 0 ? ", " : "(");
        if (written && d == lane_axis(operation)) {
            dcli_text_put(writer->out, writer->in_lanes ? "q + q_w" : "q");
        } else if (written && d != operation->along) {
            dcli_text_put(writer->out, "p%d", d);
        } else {
            dcli_loops_put_counters(writer, &access->subscript[d], loop);
            dcli_text_put(writer->out, " - a%d_%s_first(%d)", access->symbol, name->name, d);
        }
    }
    dcli_text_put(writer->out, ")");
}

/* ---- strips -------------------------------------------------------------------------------------------------------- */

/* Whether a node is, or contains, a loop that each thread runs in order. */
static bool runs_in_order(const dcli_loops_writer *writer, const dcli_loops_node *node)
{
    if (!dcli_loops_holds(writer, node))
        return false;
    if (node->kind == DCLI_LOOPS_NODE_LOOP && writer->operation->run[node->number].way == DCLI_LOOPS_FREE)
        return true;
    for (const dcli_loops_node *inside = node->first; inside != NULL; inside = inside->next)
        if (runs_in_order(writer, inside))
            return true;
    return false;
}

/* Put the index of a thread along an axis. */
static void put_index(dcli_loops_writer *writer, int axis, const char *position)
{
    int first = writer->operation->output[0];
    dcli_text_put(writer->out, "const long %c = a%d_%s_at(%d, %s);\n", letters[axis], first,
                  writer->tree->name[first].name, axis, position);
}

/* Put nodes so that a loop that runs in order is around the loop over the lines of a strip. @return false: that is not
 * possible, because a condition around such a loop may differ between lines. */
static bool put_strip(dcli_loops_writer *writer, const dcli_loops_node *node)
{
    while (node != NULL) {
        bool in_order = runs_in_order(writer, node);
        if (!dcli_loops_holds(writer, node)) {
            node = node->next;
        } else if (in_order && node->kind == DCLI_LOOPS_NODE_LOOP) {
            const dcli_loops_loop *loop = &writer->tree->loop[node->number];
            bool free = writer->operation->run[node->number].way == DCLI_LOOPS_FREE;
            if (free)
                dcli_loops_put_head(writer, node->number, dcli_loops_step_run(loop));
            size_t length = writer->out->length;
            dcli_loops_put_bounds(writer, node->number);
            if (writer->out->length != length || !put_strip(writer, node->first))
                return false;
            dcli_text_put(writer->out, free ? "}\n" : "");
            node = node->next;
        } else if (in_order) {
            return false;
        } else {
            dcli_text_put(writer->out, "for (int q_w = 0; q_w < %d; q_w++) {\nconst long %c = q_index + q_w;\n",
                          DCLI_LOOPS_LANES, letters[lane_axis(writer->operation)]);
            for (; node != NULL && !runs_in_order(writer, node); node = node->next)
                dcli_loops_put_node(writer, node);
            dcli_text_put(writer->out, "}\n");
        }
    }
    return true;
}

static void put_scalars(dcli_loops_writer *writer)
{
    const dcli_loops_tree *tree = writer->tree;
    for (int v = 0; v < tree->scalar_count; v++)
        if (dcli_loops_uses_variable(writer, v)) {
            dcli_text_put(writer->out, "%s t%d_%s", tree->scalar[v].type, v, tree->scalar[v].name);
            if (writer->in_lanes)
                dcli_text_put(writer->out, "[%d]", DCLI_LOOPS_LANES);
            dcli_text_put(writer->out, ";\n");
        }
}

/* Put the text for a whole strip, if there can be one. With it, indices of neighbouring lines are known to be neighbours, so that
 * compilers read them as vectors. @param first  name of the first output */
static void put_lanes(dcli_loops_writer *writer, const char *first)
{
    dcli_text strip = {0}, *out = writer->out;
    writer->out = &strip;
    writer->in_lanes = true;
    put_scalars(writer);
    bool possible = put_strip(writer, writer->tree->first);
    writer->in_lanes = false;
    writer->out = out;
    out->failed |= strip.failed;
    int lane = lane_axis(writer->operation);
    if (possible && strip.bytes != NULL && !strip.failed)
        dcli_text_put(out,
                      "if (q_end - q_low == %d && %s_step(%d) == 1) {\n"
                      "const long q = q_low, q_index = %s_first(%d) + q;\n%s} else\n",
                      DCLI_LOOPS_LANES, first, lane, first, lane, strip.bytes);
    dcli_text_free(&strip);
}

void dcli_loops_put_lines(dcli_loops_writer *writer)
{
    dcli_loops_operation *operation = writer->operation;
    dcli_text *out = writer->out;
    int lane = lane_axis(operation);
    char first[64] = "";
    for (int k = 0; k < operation->output_count; k++) {
        int array = operation->output[k];
        dcli_loops_operand *operand =
            dcli_loops_add_operand(writer, "a", array, writer->tree->name[array].name, DCL_ACCESS_INOUT, array, 0);
        if (operand == NULL)
            return;
        operand->place = dcli_loops_place_of_output(writer, array);
        operand->gathered = (operation->gathered >> k & 1) != 0 ? operation->along + 1 : 0;
        if (k == 0)
            memcpy(first, operand->name, sizeof first);
    }
    dcli_text_put(out, "const long q_n = %s_count(%d), q_strips = (q_n + q_lanes - 1) / q_lanes, q_all = q_strips",
                  first, lane);
    for (int r = 0; r < operation->rank; r++)
        if (r != lane && r != operation->along)
            dcli_text_put(out, " * %s_count(%d)", first, r);
    dcli_text_put(out, ", q_g = get_global_id(0);\n"
                       "for (long q_s = q_g * q_all / q_items; q_s < (q_g + 1) * q_all / q_items; q_s++) {\n");
    if (operation->rank > 2)
        dcli_text_put(out, "long q_o = q_s / q_strips;\n");
    for (int r = operation->rank - 1; r >= 0; r--)
        if (r != lane && r != operation->along) {
            char position[16];
            snprintf(position, sizeof position, "p%d", r);
            dcli_text_put(out, "const long p%d = q_o %% %s_count(%d);\nq_o /= %s_count(%d);\n", r, first, r, first, r);
            put_index(writer, r, position);
        }
    dcli_text_put(out, "const long q_low = q_s %% q_strips * q_lanes, q_end = min(q_low + q_lanes, q_n);\n");
    put_lanes(writer, first);
    dcli_text_put(out, "for (long q = q_low; q < q_end; q++) {\n");
    put_index(writer, lane, "q");
    put_scalars(writer);
    dcli_loops_put_nodes(writer, writer->tree->first);
    dcli_text_put(out, "}\n}\n");
}

/* ---- elements read -------------------------------------------------------------------------------------------------- */

bool dcli_loops_plan_has_lines(const dcli_loops_plan *plan)
{
    for (int o = 0; o < plan->operation_count; o++)
        if (plan->operation[o]->along >= 0)
            return true;
    return false;
}

/* Find the first and the last subscript along an axis, within the grid. @return false: there is none */
static bool find_range(const dcli_loops_span *span, const dcl_box *box, int64_t origin, int64_t extent,
                       int64_t *first_out, int64_t *last_out)
{
    int64_t low = span->low, high = span->high;
    for (int r = 0; r < box->rank; r++) {
        int64_t first = box->start[r], last = first + (box->count[r] - 1) * box->stride[r];
        low += span->index[r] * (span->index[r] > 0 ? first : last);
        high += span->index[r] * (span->index[r] > 0 ? last : first);
    }
    *first_out = low > origin ? low : origin;
    *last_out = high < origin + extent - 1 ? high : origin + extent - 1;
    return *first_out <= *last_out;
}

bool dcli_loops_lines_read(const dcli_loops_call *call, int operand, const dcl_grid *grid, const dcl_box *box,
                           dcl_box *reads_out)
{
    bool any = false;
    for (int n = 0; n < call->reach_count; n++) {
        const dcli_loops_reach *reach = &call->reach[n];
        int64_t first[DCL_MAX_RANK], last[DCL_MAX_RANK];
        bool reads = reach->operand == operand && !reach->empty;
        for (int d = 0; d < grid->rank && reads; d++)
            reads = find_range(&reach->span[d], box, grid->origin[d], grid->extent[d], &first[d], &last[d]);
        if (!reads)
            continue;
        for (int d = 0; d < grid->rank; d++) {
            int64_t before = any ? reads_out->start[d] : first[d];
            int64_t end = any ? before + reads_out->count[d] - 1 : last[d];
            reads_out->start[d] = before < first[d] ? before : first[d];
            reads_out->count[d] = (end > last[d] ? end : last[d]) - reads_out->start[d] + 1;
            reads_out->stride[d] = 1;
        }
        reads_out->rank = grid->rank;
        any = true;
    }
    return any;
}
