/* loop/cut.c - cut loops where a statement meets the elements that it reads.
 *
 * A statement such as A[i][j] = f(A[i][j], A[i][k], A[k][j]), in loops over i and j inside of one over k, writes row k and column k, which
 * its other iterations read. So they depend on each other in a cycle, and none of the loops is parallel. If the loop over j is cut into
 * j < k, j = k and j > k, and the loop over i alike, each part is a statement of its own, and parts depend on each other in one direction
 * only. The order of the iterations does not change.
 * Source: M. Griebl, P. Feautrier, C. Lengauer, "Index set splitting", Int. J. of Parallel Programming 28 (2000). */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "loop/tree.h"

enum { MOST_PARTS = 16 }; /* most statements of a tree that was cut: planning takes time with their square */

/* A loop, and the value of its counter, by those of the loops around it, at which it is cut. */
struct place {
    int loop;
    dcli_loops_linear value;
};

/* ---- where ---------------------------------------------------------------------------------------------------------- */

static bool subtract(const dcli_loops_linear *a, const dcli_loops_linear *b, int64_t sign, dcli_loops_linear *out)
{
    int64_t difference;
    bool fits = dcli_sub(a->constant, b->constant, &difference) && dcli_mul(difference, sign, &out->constant);
    for (int d = 0; d < DCLI_LOOPS_DEPTH && fits; d++)
        fits = dcli_sub(a->coef[d], b->coef[d], &difference) && dcli_mul(difference, sign, &out->coef[d]);
    return fits;
}

static bool uses_from(const dcli_loops_linear *linear, int depth)
{
    for (int d = depth; d < DCLI_LOOPS_DEPTH; d++)
        if (linear->coef[d] != 0)
            return true;
    return false;
}

/* Find the value of a loop's counter for which a statement writes the element that it reads. The subscript of the read element may contain
 * only counters of loops around this loop. @return false: there is none. */
static bool meet(const dcli_loops_tree *tree, const dcli_loops_statement *statement, const dcli_loops_linear *written,
                 const dcli_loops_linear *read, struct place *out)
{
    int depth = statement->depth - 1;
    while (depth >= 0 && written->coef[depth] == 0)
        depth--;
    if (depth < 0 || (written->coef[depth] != 1 && written->coef[depth] != -1) || uses_from(read, depth))
        return false;
    dcli_loops_linear rest = *written;
    rest.coef[depth] = 0;
    out->loop = statement->loop[depth];
    int64_t step = tree->loop[out->loop].step;
    return (step == 1 || step == -1) && subtract(read, &rest, written->coef[depth], &out->value);
}

/* Whether a loop contains variables: copies of statements would share them. */
static bool has_variables(const dcli_loops_tree *tree, int loop)
{
    int depth = tree->loop[loop].depth;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        if (depth >= statement->depth || statement->loop[depth] != loop)
            continue;
        if (!statement->target.is_array)
            return true;
        for (int r = 0; r < statement->read_count; r++)
            if (!statement->read[r].is_array)
                return true;
    }
    return false;
}

/* Find the outermost loop that can be cut. @param done  [loop_count] loops that are not cut any more */
static bool find_place(const dcli_loops_tree *tree, const bool done[], struct place *out)
{
    bool found = false;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_statement *statement = &tree->statement[s];
        for (int a = 0; a < statement->read_count && statement->target.is_array; a++) {
            const dcli_loops_access *read = &statement->read[a];
            for (int r = 0;
                 read->is_array && read->symbol == statement->target.symbol && r < tree->name[read->symbol].grid.rank;
                 r++) {
                struct place place;
                if (!meet(tree, statement, &statement->target.subscript[r], &read->subscript[r], &place) ||
                    done[place.loop] || has_variables(tree, place.loop) ||
                    (found && tree->loop[place.loop].depth >= tree->loop[out->loop].depth))
                    continue;
                *out = place;
                found = true;
            }
        }
    }
    return found;
}

/* ---- cutting -------------------------------------------------------------------------------------------------------- */

static bool copy_tests(dcli_loops_tree *tree, int count, dcli_loops_test test[], const int other[])
{
    for (int t = 0; t < count; t++) {
        test[t].condition = dcli_loops_expr_copy(tree, test[t].condition, NULL, other);
        if (test[t].condition == NULL)
            return false;
    }
    return true;
}

/* Copy a statement to other loops. @param node  its new node */
static bool copy_statement(dcli_loops_tree *tree, int s, dcli_loops_node *node, const int other[])
{
    if (tree->statement_count == MOST_PARTS)
        return false;
    dcli_loops_statement *made = &tree->statement[tree->statement_count];
    *made = tree->statement[s];
    made->node = node;
    node->number = tree->statement_count++;
    for (int d = 0; d < made->depth; d++)
        made->loop[d] = other[made->loop[d]];
    bool done = copy_tests(tree, made->test_count, made->test, other) &&
                copy_tests(tree, made->target.test_count, made->target.test, other);
    for (int r = 0; r < made->read_count && done; r++)
        done = copy_tests(tree, made->read[r].test_count, made->read[r].test, other);
    made->target_expr = done ? dcli_loops_expr_copy(tree, made->target_expr, NULL, other) : NULL;
    made->value = done ? dcli_loops_expr_copy(tree, made->value, NULL, other) : NULL;
    return made->target_expr != NULL && made->value != NULL;
}

/* Copy a node with all nodes inside of it. @param other  [DCLI_LOOPS_MOST] the copy of each loop; loops that are copied here are added
 * @return NULL: no memory, or too many statements or loops. */
static dcli_loops_node *copy_node(dcli_loops_tree *tree, const dcli_loops_node *node, int other[])
{
    dcli_loops_node *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = *node;
    made->first = made->next = NULL;
    made->made = tree->nodes;
    tree->nodes = made;
    if (node->kind == DCLI_LOOPS_NODE_ASSIGN)
        return copy_statement(tree, node->number, made, other) ? made : NULL;
    if (node->kind == DCLI_LOOPS_NODE_IF && !copy_tests(tree, 1, &made->test, other))
        return NULL;
    if (node->kind == DCLI_LOOPS_NODE_LOOP) {
        if (tree->loop_count == DCLI_LOOPS_MOST)
            return NULL;
        int number = tree->loop_count++;
        dcli_loops_loop *loop = &tree->loop[number];
        *loop = tree->loop[node->number];
        loop->node = made;
        loop->parent = loop->parent >= 0 ? other[loop->parent] : -1;
        other[node->number] = made->number = number;
        loop->first = dcli_loops_expr_copy(tree, loop->first, NULL, other);
        loop->limit = dcli_loops_expr_copy(tree, loop->limit, NULL, other);
        if (loop->first == NULL || loop->limit == NULL)
            return NULL;
    }
    dcli_loops_node **end = &made->first;
    for (const dcli_loops_node *inside = node->first; inside != NULL; inside = inside->next) {
        *end = copy_node(tree, inside, other);
        if (*end == NULL)
            return NULL;
        end = &(*end)->next;
    }
    return made;
}

/* Restrict a loop to values of at least, or at most, a linear form and a number. */
static bool restrict_loop(dcli_loops_loop *loop, bool high, const dcli_loops_linear *value, int64_t more)
{
    int *count = high ? &loop->high_count : &loop->low_count;
    if (*count == DCLI_LOOPS_BOUNDS)
        return false;
    dcli_loops_linear *bound = &(high ? loop->high : loop->low)[(*count)++];
    *bound = *value;
    return dcli_add(value->constant, more, &bound->constant);
}

/* Replace a loop by three: for the values before the value at which it is cut, for this value, and for those after it;
 * in the other order if the loop counts down. */
static bool cut(dcli_loops_tree *tree, const struct place *place, bool done[])
{
    enum { PARTS = 3 };
    int part[PARTS] = {place->loop};
    dcli_loops_node *last = tree->loop[place->loop].node;
    for (int p = 1; p < PARTS; p++) {
        int other[DCLI_LOOPS_MOST];
        for (int l = 0; l < DCLI_LOOPS_MOST; l++)
            other[l] = l;
        dcli_loops_node *made = copy_node(tree, tree->loop[place->loop].node, other);
        if (made == NULL)
            return false;
        made->next = last->next;
        last->next = made;
        last = made;
        part[p] = made->number;
    }
    bool down = tree->loop[place->loop].step < 0, fits = true;
    for (int p = 0; p < PARTS; p++) {
        dcli_loops_loop *loop = &tree->loop[part[p]];
        int side = down ? 1 - p : p - 1; /* below, at, above the value */
        fits = fits && (side > 0 || restrict_loop(loop, true, &place->value, side)) &&
               (side < 0 || restrict_loop(loop, false, &place->value, side));
        done[part[p]] = true;
    }
    return fits;
}

bool dcli_loops_tree_cut(dcli_loops_tree *tree)
{
    bool done[DCLI_LOOPS_MOST] = {false};
    struct place place = {.loop = -1};
    int count = tree->statement_count;
    while (find_place(tree, done, &place))
        if (!cut(tree, &place, done))
            return false;
    tree->node_count = dcli_loops_number_nodes(tree->first, 0);
    return tree->statement_count > count;
}
