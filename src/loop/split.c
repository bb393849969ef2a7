/* loop/split.c - change how statements share variables.
 *
 * Every operation computes the variables that it uses itself. So statements that use one variable must be one
 * operation, unless each has its own: assignments to variables are repeated, under other names, for the second of
 * these statements and all later ones. A variable that carries values from one operation to another is replaced by its
 * value, if that is computed of numbers and arguments only. Otherwise it becomes an array, with an element for each
 * iteration of the loops around its declaration. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "loop/tree.h"

enum { MOST_EXPRESSIONS = 64 }; /* of a value that takes the place of a variable */

/* A set of variables: bit v is variable v. */
typedef uint32_t variables;

static variables read_by(const dcli_loops_statement *statement)
{
    variables all = 0;
    for (int r = 0; r < statement->read_count; r++)
        if (!statement->read[r].is_array)
            all |= (variables)1 << statement->read[r].symbol;
    return all;
}

/* The variables that a statement uses: those that it reads, and those of which these are computed. */
static variables used_by(const dcli_loops_tree *tree, int count, int s)
{
    variables used = read_by(&tree->statement[s]), before;
    do {
        before = used;
        for (int t = 0; t < count; t++)
            if (!tree->statement[t].target.is_array && (used >> tree->statement[t].target.symbol & 1) != 0)
                used |= read_by(&tree->statement[t]);
    } while (used != before);
    return used;
}

dcli_loops_expr *dcli_loops_expr_copy(dcli_loops_tree *tree, const dcli_loops_expr *expr, const int variable[],
                                      const int loop[])
{
    dcli_loops_expr *made = dcli_calloc(1, sizeof *made), **end;
    if (made == NULL)
        return NULL;
    *made = *expr;
    made->first = made->next = NULL;
    made->made = tree->exprs;
    tree->exprs = made;
    if (made->kind == DCLI_LOOPS_EXPR_SCALAR && variable != NULL)
        made->symbol = variable[made->symbol];
    if (made->kind == DCLI_LOOPS_EXPR_COUNTER && loop != NULL)
        made->symbol = loop[made->symbol];
    end = &made->first;
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next) {
        *end = dcli_loops_expr_copy(tree, item, variable, loop);
        if (*end == NULL)
            return NULL;
        end = &(*end)->next;
    }
    return made;
}

/* Let a statement read other variables. @return false: no memory. */
static bool rename_reads(dcli_loops_tree *tree, dcli_loops_statement *statement, const int other[])
{
    for (int r = 0; r < statement->read_count; r++)
        if (!statement->read[r].is_array)
            statement->read[r].symbol = other[statement->read[r].symbol];
    statement->value = dcli_loops_expr_copy(tree, statement->value, other, NULL);
    return statement->value != NULL;
}

/* Insert a copy of an assignment after it, with another variable as target. @return false: no memory. */
static bool repeat(dcli_loops_tree *tree, int t, const int other[])
{
    dcli_loops_statement *statement = &tree->statement[tree->statement_count];
    dcli_loops_node *node = dcli_calloc(1, sizeof *node);
    if (node == NULL)
        return false;
    *statement = tree->statement[t];
    *node = *statement->node;
    node->made = tree->nodes;
    tree->nodes = node;
    tree->statement[t].node->next = node;
    node->number = tree->statement_count++;
    statement->node = node;
    statement->target.symbol = other[statement->target.symbol];
    return rename_reads(tree, statement, other);
}

int dcli_loops_number_nodes(dcli_loops_node *node, int order)
{
    for (; node != NULL; node = node->next) {
        node->order = order++;
        order = dcli_loops_number_nodes(node->first, order);
    }
    return order;
}

/* Give statement s copies of some variables for itself. @return false: no memory, or too many statements or
 * variables. */
static bool own_variables(dcli_loops_tree *tree, int count, int s, variables used)
{
    int other[DCLI_LOOPS_SCALARS], scalars = tree->scalar_count;
    for (int v = 0; v < scalars; v++) {
        other[v] = v;
        if ((used >> v & 1) == 0)
            continue;
        if (tree->scalar_count == DCLI_LOOPS_SCALARS)
            return false;
        other[v] = tree->scalar_count;
        tree->scalar[tree->scalar_count++] = tree->scalar[v];
    }
    for (int t = 0; t < count; t++) {
        const dcli_loops_access *target = &tree->statement[t].target;
        if (target->is_array || target->symbol >= scalars || (used >> target->symbol & 1) == 0)
            continue;
        if (tree->statement_count == DCLI_LOOPS_STATEMENTS || !repeat(tree, t, other))
            return false;
    }
    return rename_reads(tree, &tree->statement[s], other);
}

bool dcli_loops_tree_split(dcli_loops_tree *tree)
{
    variables taken = 0;
    int count = tree->statement_count;
    for (int s = 0; s < count; s++) {
        variables used = tree->statement[s].target.is_array ? used_by(tree, count, s) : 0;
        if ((used & taken) != 0 && !own_variables(tree, count, s, used))
            return false;
        taken |= used;
    }
    tree->node_count = dcli_loops_number_nodes(tree->first, 0);
    return tree->statement_count > count;
}

/* ---- variables as expressions --------------------------------------------------------------------------------------- */

static bool is_constant(const dcli_loops_tree *tree, int variable, int *left);

/* The only assignment to a variable. @return NULL: there are several, or none */
static const dcli_loops_statement *definition_of(const dcli_loops_tree *tree, int variable)
{
    const dcli_loops_statement *found = NULL;
    for (int s = 0; s < tree->statement_count; s++) {
        const dcli_loops_access *target = &tree->statement[s].target;
        if (target->is_array || target->symbol != variable)
            continue;
        if (found != NULL)
            return NULL;
        found = &tree->statement[s];
    }
    return found;
}

/* Whether a value is computed of numbers and arguments by a few operators: functions may take long, and each thread would call
 * them. @param left  number of expressions that it may have; reduced by those that it has, with the values of its variables. */
static bool is_computed_quickly(const dcli_loops_tree *tree, const dcli_loops_expr *expr, int *left)
{
    if (--*left < 0 || expr->kind == DCLI_LOOPS_EXPR_COUNTER || expr->kind == DCLI_LOOPS_EXPR_ELEMENT ||
        expr->kind == DCLI_LOOPS_EXPR_CALL ||
        (expr->kind == DCLI_LOOPS_EXPR_SCALAR && !is_constant(tree, expr->symbol, left)))
        return false;
    for (const dcli_loops_expr *item = expr->first; item != NULL; item = item->next)
        if (!is_computed_quickly(tree, item, left))
            return false;
    return true;
}

static bool is_constant(const dcli_loops_tree *tree, int variable, int *left)
{
    const dcli_loops_statement *definition = definition_of(tree, variable);
    if (definition == NULL || definition->depth > 0 || definition->test_count > 0 || definition->reads_target)
        return false;
    for (int s = 0; s < tree->statement_count; s++)
        if ((read_by(&tree->statement[s]) >> variable & 1) != 0 &&
            tree->statement[s].node->order <= definition->node->order)
            return false;
    return is_computed_quickly(tree, definition->value, left);
}

bool dcli_loops_tree_is_constant(const dcli_loops_tree *tree, int variable)
{
    int left = MOST_EXPRESSIONS;
    return is_constant(tree, variable, &left);
}

/* Put the values of variables into an expression, with the conversion of their assignments. @return false: no memory */
static bool insert_values(dcli_loops_tree *tree, dcli_loops_expr *expr, variables constants)
{
    if (expr->kind == DCLI_LOOPS_EXPR_SCALAR && (constants >> expr->symbol & 1) != 0) {
        dcli_loops_expr *value = dcli_loops_expr_copy(tree, definition_of(tree, expr->symbol)->value, NULL, NULL);
        if (value == NULL || !insert_values(tree, value, ~(variables)0)) /* it is computed of constants only */
            return false;
        snprintf(expr->text, sizeof expr->text, "%s", tree->scalar[expr->symbol].type);
        expr->kind = DCLI_LOOPS_EXPR_CAST;
        expr->read = -1;
        expr->first = value;
        return true;
    }
    for (dcli_loops_expr *item = expr->first; item != NULL; item = item->next)
        if (!insert_values(tree, item, constants))
            return false;
    return true;
}

/* @param number  [DCLI_LOOPS_READS] by read: its new number. */
static void renumber_reads(dcli_loops_expr *expr, const int number[])
{
    if ((expr->kind == DCLI_LOOPS_EXPR_ELEMENT || expr->kind == DCLI_LOOPS_EXPR_SCALAR) && expr->read >= 0)
        expr->read = number[expr->read];
    for (dcli_loops_expr *item = expr->first; item != NULL; item = item->next)
        renumber_reads(item, number);
}

bool dcli_loops_tree_fold(dcli_loops_tree *tree, uint32_t constants)
{
    for (int s = 0; s < tree->statement_count; s++) {
        dcli_loops_statement *statement = &tree->statement[s];
        dcli_loops_expr *value = (dcli_loops_expr *)statement->value;
        int number[DCLI_LOOPS_READS], count = 0;
        if (!insert_values(tree, value, constants))
            return false;
        for (int r = 0; r < statement->read_count; r++) {
            number[r] = count;
            if (statement->read[r].is_array || (constants >> statement->read[r].symbol & 1) == 0)
                statement->read[count++] = statement->read[r];
        }
        statement->read_count = count;
        renumber_reads(value, number);
    }
    return true;
}

/* ---- variables as arrays -------------------------------------------------------------------------------------------- */

static dcl_type type_of(const char *name)
{
    static const struct {
        const char *name;
        dcl_type type;
    } types[] = {{"char", DCL_INT8},   {"short", DCL_INT16},   {"int", DCL_INT32},   {"long", DCL_INT64},
                 {"uchar", DCL_UINT8}, {"ushort", DCL_UINT16}, {"uint", DCL_UINT32}, {"ulong", DCL_UINT64},
                 {"float", DCL_FLOAT}, {"double", DCL_DOUBLE}};
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (strcmp(name, types[k].name) == 0)
            return types[k].type;
    return (dcl_type)0;
}

/* Add a subscript: the counter of a loop, or 0. @return false: no memory. */
static bool add_subscript(dcli_loops_tree *tree, dcli_loops_expr *element, int loop)
{
    dcli_loops_expr *made = dcli_calloc(1, sizeof *made), **end = &element->first;
    if (made == NULL)
        return false;
    *made = (dcli_loops_expr){.kind = loop < 0 ? DCLI_LOOPS_EXPR_NUMBER : DCLI_LOOPS_EXPR_COUNTER,
                              .place = element->place,
                              .symbol = loop,
                              .read = -1,
                              .made = tree->exprs};
    snprintf(made->text, sizeof made->text, "%.31s", loop < 0 ? "0" : tree->loop[loop].name);
    tree->exprs = made;
    while (*end != NULL)
        end = &(*end)->next;
    *end = made;
    return true;
}

/* Let expressions read an array instead of a variable. @return false: no memory. */
static bool read_element(dcli_loops_tree *tree, dcli_loops_expr *expr, int variable, int array)
{
    const dcli_loops_scalar *scalar = &tree->scalar[variable];
    bool done = true;
    if (expr->kind == DCLI_LOOPS_EXPR_SCALAR && expr->symbol == variable) {
        expr->kind = DCLI_LOOPS_EXPR_ELEMENT;
        expr->symbol = array;
        expr->first = NULL;
        for (int d = 0; d < scalar->depth && done; d++)
            done = add_subscript(tree, expr, scalar->loop[d]);
        return scalar->depth > 0 ? done : add_subscript(tree, expr, -1);
    }
    for (dcli_loops_expr *item = expr->first; item != NULL && done; item = item->next)
        done = read_element(tree, item, variable, array);
    return done;
}

static void become_element(dcli_loops_access *access, int variable, int array, int depth)
{
    if (access->is_array || access->symbol != variable)
        return;
    access->is_array = true;
    access->symbol = array;
    memset(access->subscript, 0, sizeof access->subscript);
    for (int d = 0; d < depth; d++)
        access->subscript[d].coef[d] = 1;
}

bool dcli_loops_tree_own_names(dcli_loops_tree *tree)
{
    if (tree->own_names != NULL)
        return true;
    tree->own_names = dcli_calloc((size_t)(tree->name_count + DCLI_LOOPS_SCALARS), sizeof *tree->own_names);
    if (tree->own_names == NULL)
        return false;
    memcpy(tree->own_names, tree->name, (size_t)tree->name_count * sizeof *tree->name);
    tree->name = tree->own_names;
    return true;
}

bool dcli_loops_tree_expand(dcli_loops_tree *tree, uint32_t scalars, const dcl_grid grids[])
{
    if (!dcli_loops_tree_own_names(tree))
        return false;
    for (int v = 0; v < tree->scalar_count; v++) {
        if ((scalars >> v & 1) == 0)
            continue;
        dcl_type type = type_of(tree->scalar[v].type);
        if (type == (dcl_type)0 || tree->scalar[v].depth > DCL_MAX_RANK)
            return false;
        int array = tree->name_count++;
        dcli_loops_name *name = &tree->own_names[array];
        *name = (dcli_loops_name){.access = DCL_ACCESS_INOUT, .type = type, .grid = grids[v]};
        name->grid.type = type;
        memcpy(name->name, tree->scalar[v].name, sizeof name->name);
        for (int s = 0; s < tree->statement_count; s++) {
            dcli_loops_statement *statement = &tree->statement[s];
            become_element(&statement->target, v, array, tree->scalar[v].depth);
            for (int r = 0; r < statement->read_count; r++)
                become_element(&statement->read[r], v, array, tree->scalar[v].depth);
            if (!read_element(tree, (dcli_loops_expr *)statement->value, v, array))
                return false;
        }
    }
    return true;
}
