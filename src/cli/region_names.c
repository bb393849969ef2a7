/* cli/region_names.c - which names the loops of a region use. */
#include <stdint.h>
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

/* Note the names of a declaration. @param at  its first name, after the type. @return false: there are too many. */
static bool note_declaration(locals *locals, const cli_token *at, const cli_token *end)
{
    bool expected = true;
    for (int inside = 0; at < end && !cli_token_is(at, ";") && inside >= 0; at++) {
        if (expected && at->kind == CLI_TOKEN_NAME && !contains(locals->count, locals->name, at)) {
            if (locals->count == MOST_LOCALS)
                return false;
            locals->name[locals->count++] = *at;
        }
        inside += cli_token_in(at, "( [ {") - cli_token_in(at, ") ] }");
        expected = inside == 0 && cli_token_is(at, ",");
    }
    return true;
}

static bool begins_declaration(const cli_token *token)
{
    return cli_region_is_type(token) && token[1].kind == CLI_TOKEN_NAME && !is_word(&token[1]);
}

/* Whether a name is declared in a block of the region that is open at `at`, not in the parentheses of a loop. */
static bool is_declared(const cli_region *region, const cli_token *at, const cli_token *name)
{
    enum { DEEPEST = 63 };
    uint64_t declared = 0; /* bit d: in the block of depth d */
    int deep = 0, inside = 0;
    for (const cli_token *token = region->pragma + 1; token < at; token++) {
        int bit = deep < DEEPEST ? deep : DEEPEST;
        locals names = {0};
        if (cli_token_is(token, "}"))
            declared &= ~((uint64_t)1 << bit);
        if (inside == 0 && begins_declaration(token) && note_declaration(&names, token + 1, region->end) &&
            contains(names.count, names.name, name))
            declared |= (uint64_t)1 << bit;
        deep += cli_token_is(token, "{") - cli_token_is(token, "}");
        inside += cli_token_is(token, "(") - cli_token_is(token, ")");
    }
    return declared != 0;
}

static bool is_counted(const cli_token *token, const cli_token *end)
{
    return token + 3 < end && cli_token_is(token, "for") && cli_token_is(&token[1], "(") &&
           token[2].kind == CLI_TOKEN_NAME && !is_word(&token[2]);
}

/* Find declared names, and counters that are not declared in the region. */
static bool find_locals(cli_source *source, cli_region *region, locals *locals)
{
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (begins_declaration(token) && !note_declaration(locals, token + 1, region->end))
            return cli_source_error(source, token, "too-large", "split the region",
                                    "the region declares more than %d names", MOST_LOCALS);
    for (const cli_token *token = region->pragma + 1; token < region->end; token++) {
        if (!is_counted(token, region->end) || contains(region->counter_count, region->counter, &token[2]) ||
            is_declared(region, token, &token[2]))
            continue;
        if (region->counter_count == CLI_REGION_COUNTERS)
            return cli_source_error(source, &token[2], "too-large", "split the region",
                                    "the region has more than %d counters", CLI_REGION_COUNTERS);
        region->counter[region->counter_count++] = token[2];
    }
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (is_counted(token, region->end) && contains(region->counter_count, region->counter, &token[2]) &&
            is_declared(region, token, &token[2]))
            return cli_source_error(source, &token[2], "twice", "choose another name for one of them",
                                    "%.*s is a counter that the region declares, and also one that is declared "
                                    "outside",
                                    token[2].length, token[2].start);
    return true;
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
    if (!find_locals(source, region, &locals))
        return false;
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (token->kind == CLI_TOKEN_NAME)
            visit_name(source, region, &locals, constants, token);
    return source->errors == before;
}
