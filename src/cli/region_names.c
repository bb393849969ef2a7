/* cli/region_names.c - which names the loops of a region use. */
#include <string.h>

#include "cli/region.h"

enum { MOST_LOCALS = 64 };

/* The names that a region declares. */
typedef struct locals {
    int count;
    cli_token name[MOST_LOCALS];
} locals;

static bool contains(int count, const cli_token names[], const cli_token *name)
{
    for (int n = 0; n < count; n++)
        if (cli_token_same(&names[n], name))
            return true;
    return false;
}

static bool is_word(const cli_token *token)
{
    return cli_region_is_type(token) ||
           cli_token_in(token, "for if else while do switch case default return goto break continue sizeof static "
                               "extern register volatile struct union enum typedef void uchar ushort uint ulong bool");
}

static void add_local(locals *locals, const cli_token *name)
{
    if (locals->count < MOST_LOCALS && !contains(locals->count, locals->name, name))
        locals->name[locals->count++] = *name;
}

/* Note the names of a declaration. @param at  its first name, after the type. */
static void note_declaration(locals *locals, const cli_token *at, const cli_token *end)
{
    bool expected = true;
    for (int inside = 0; at < end && !cli_token_is(at, ";") && inside >= 0; at++) {
        if (expected && at->kind == CLI_TOKEN_NAME)
            add_local(locals, at);
        inside += cli_token_in(at, "( [ {") - cli_token_in(at, ") ] }");
        expected = inside == 0 && cli_token_is(at, ",");
    }
}

/* Find declared names, and counters that are not declared in the region. */
static void find_locals(cli_region *region, locals *locals)
{
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (cli_region_is_type(token) && token[1].kind == CLI_TOKEN_NAME && !is_word(&token[1]))
            note_declaration(locals, token + 1, region->end);
    for (const cli_token *token = region->pragma + 1; token + 3 < region->end; token++)
        if (cli_token_is(token, "for") && cli_token_is(&token[1], "(") && token[2].kind == CLI_TOKEN_NAME &&
            !is_word(&token[2]) && region->counter_count < CLI_REGION_COUNTERS &&
            !contains(region->counter_count, region->counter, &token[2]))
            region->counter[region->counter_count++] = token[2];
}

static cli_region_array *find_array(cli_region *region, const cli_token *name)
{
    for (int a = 0; a < region->array_count; a++)
        if (cli_token_same(&region->array[a].name, name))
            return &region->array[a];
    return NULL;
}

/* Whether the program writes one subscript for an array of several axes. */
static void count_subscripts(cli_region_array *array, const cli_token *at, const cli_token *end)
{
    int inside = 0, count = 0;
    for (; at < end; at++) {
        if (inside == 0 && !cli_token_is(at, "["))
            break;
        count += inside == 0;
        inside += cli_token_is(at, "[") - cli_token_is(at, "]");
    }
    array->is_flat |= count == 1 && array->rank > 1;
}

static bool is_in_size(const cli_region *region, const cli_token *name)
{
    for (int a = 0; a < region->array_count; a++)
        for (int d = 0; d < region->array[a].rank; d++)
            if (contains(region->array[a].extent[d].count, region->array[a].extent[d].token, name))
                return true;
    return false;
}

/* Check a macro: it must stand for a number. */
static bool check_constant(cli_source *source, const cli_token *name, const cli_constants *constants,
                           const cli_constant *constant)
{
    cli_number value;
    if (constant->token == NULL || cli_constant_value(constants, constant, &value))
        return true;
    return cli_source_error(source, name, "macro", "write out what it stands for",
                            "%.*s is a macro that stands for no number", name->length, name->start);
}

/* Add a scalar that is in no clause. */
static bool add_value(cli_source *source, cli_region *region, const cli_token *name)
{
    for (int v = 0; v < region->value_count; v++)
        if (cli_token_same(&region->value[v].name, name))
            return true;
    if (region->value_count == CLI_REGION_VALUES)
        return cli_source_error(source, name, "too-large", NULL, "the region has more than %d scalars",
                                CLI_REGION_VALUES);
    region->value[region->value_count++] = (cli_region_value){.element = DCL_INT64, .name = *name};
    return true;
}

static bool visit_name(cli_source *source, cli_region *region, const locals *locals, const cli_constants *constants,
                       const cli_token *name)
{
    const cli_constant *constant = cli_constants_find(constants, name);
    bool called = cli_token_is(&name[1], "(");
    if (is_word(name) || cli_token_in(&name[-1], ". ->"))
        return true;
    if (constant != NULL && constant->token != NULL && called)
        return cli_source_error(source, name, "macro", "write out what it stands for", "%.*s is a macro", name->length,
                                name->start);
    cli_region_array *array = find_array(region, name);
    if (array != NULL) {
        count_subscripts(array, &name[1], region->end);
        return true;
    }
    if (called || contains(locals->count, locals->name, name) || contains(region->counter_count, region->counter, name))
        return true;
    for (int v = 0; v < region->value_count; v++)
        if (cli_token_same(&region->value[v].name, name))
            return true;
    if (constant != NULL ? check_constant(source, name, constants, constant) : is_in_size(region, name))
        return add_value(source, region, name);
    if (constant != NULL)
        return false;
    return cli_source_error(source, name, "unknown-name",
                            "add it to a clause, as value(int n) or in(double A[n][m]), or declare it in the region",
                            "%.*s is in no clause of the region", name->length, name->start);
}

bool cli_region_names(cli_source *source, cli_region *region, const cli_constants *constants)
{
    locals locals = {0};
    int before = source->errors;
    find_locals(region, &locals);
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (token->kind == CLI_TOKEN_NAME)
            visit_name(source, region, &locals, constants, token);
    return source->errors == before;
}
