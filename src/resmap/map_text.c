/* resmap/map_text.c - the grammar of maps: a parser by recursive descent, and the printer it reads back. */
#include "resmap/map_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"

struct parser {
    const char *text, *at;
};

static void skip_spaces(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

/* What stands at a place, short enough to quote. */
static void describe(const char *at, char *out, size_t capacity)
{
    enum { MOST = 20 };
    size_t length = strlen(at);
    if (length == 0)
        snprintf(out, capacity, "the end");
    else
        snprintf(out, capacity, "\"%.*s%s\"", MOST, at, length > MOST ? "..." : "");
}

static dcl_status fail_at(const struct parser *parser, const char *at, const char *expected)
{
    char found[40];
    describe(at, found, sizeof found);
    return DCLI_FAIL(DCL_ERR_INVALID,
                     "map \"%.200s\": column %td: found %s; expected %s; a map reads like block,cyclic(2),*@2x3x1 or "
                     "rows:cyclic(2x2);block=1024x1024",
                     parser->text, at - parser->text + 1, found, expected);
}

static dcl_status fail(struct parser *parser, const char *expected)
{
    skip_spaces(parser);
    return fail_at(parser, parser->at, expected);
}

static bool accept(struct parser *parser, char letter)
{
    skip_spaces(parser);
    if (*parser->at != letter)
        return false;
    parser->at++;
    return true;
}

static bool accept_word(struct parser *parser, const char *word)
{
    skip_spaces(parser);
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0 || isalnum((unsigned char)parser->at[length]))
        return false;
    parser->at += length;
    return true;
}

static dcl_status parse_number(struct parser *parser, int64_t least, int64_t most, const char *expected, int64_t *out)
{
    skip_spaces(parser);
    const char *start = parser->at;
    if (!isdigit((unsigned char)*start))
        return fail(parser, expected);
    int64_t value = 0;
    for (; isdigit((unsigned char)*parser->at); parser->at++)
        if (!dcli_mul(value, 10, &value) || !dcli_add(value, *parser->at - '0', &value))
            return fail_at(parser, start, expected);
    if (value < least || value > most)
        return fail_at(parser, start, expected);
    *out = value;
    return DCL_OK;
}

/* N { "x" N } */
static dcl_status parse_sizes(struct parser *parser, int64_t most, const char *expected, int *count_out,
                              int64_t size_out[])
{
    int count = 0;
    do {
        if (count == DCL_MAX_RANK)
            return fail(parser, "at most 8 numbers");
        dcl_status status = parse_number(parser, 1, most, expected, &size_out[count]);
        if (status != DCL_OK)
            return status;
        count++;
    } while (accept(parser, 'x'));
    *count_out = count;
    return DCL_OK;
}

/* RULE = "block" [ "(" N ")" ] | "cyclic" [ "(" N ")" ] | "*" */
static dcl_status parse_axis(struct parser *parser, dcl_axis *axis_out)
{
    *axis_out = (dcl_axis){.kind = DCL_AXIS_WHOLE};
    if (accept(parser, '*'))
        return DCL_OK;
    if (accept_word(parser, "block"))
        axis_out->kind = DCL_AXIS_BLOCK;
    else if (accept_word(parser, "cyclic"))
        axis_out->kind = DCL_AXIS_CYCLIC;
    else
        return fail(parser, "block, cyclic or *, or one of rows: and columns: at the start");
    if (!accept(parser, '('))
        return DCL_OK;
    dcl_status status = parse_number(parser, 1, INT64_MAX, "a size of at least 1 element", &axis_out->size);
    if (status != DCL_OK)
        return status;
    return accept(parser, ')') ? DCL_OK : fail(parser, "\")\" after the one size of an axis");
}

/* After "@": a number for every axis, or for those that are divided; after a single rule, for axes that all follow it. */
static dcl_status parse_arrangement(struct parser *parser, int listed, dcli_map_rule *rule)
{
    int64_t number[DCL_MAX_RANK];
    int count, divided = 0;
    skip_spaces(parser);
    const char *start = parser->at;
    dcl_status status = parse_sizes(parser, INT32_MAX, "a number of nodes, at least 1", &count, number);
    if (status != DCL_OK)
        return status;
    if (listed == 1) {
        for (int d = 1; d < count; d++)
            rule->axes[d] = rule->axes[0];
        listed = count;
    }
    rule->rank = listed;
    for (int d = 0; d < listed; d++)
        divided += rule->axes[d].kind != DCL_AXIS_WHOLE;
    if (count != listed && count != divided) {
        char expected[96];
        snprintf(expected, sizeof expected,
                 "%d numbers of nodes, one for each axis (or %d, one for each that is not *)", listed, divided);
        return fail_at(parser, start, expected);
    }
    for (int d = 0, next = 0; d < listed; d++) {
        bool given = count == listed || rule->axes[d].kind != DCL_AXIS_WHOLE;
        rule->nodes[d] = given ? (int)number[next++] : 1;
    }
    return DCL_OK;
}

/* AXES = RULE { "," RULE } [ "@" N { "x" N } ] */
static dcl_status parse_axes(struct parser *parser, dcli_map_rule *rule)
{
    int listed = 0;
    rule->kind = DCLI_MAP_AXES;
    do {
        if (listed == DCL_MAX_RANK)
            return fail(parser, "at most 8 axes");
        dcl_status status = parse_axis(parser, &rule->axes[listed]);
        if (status != DCL_OK)
            return status;
        listed++;
    } while (accept(parser, ','));
    rule->rank = listed == 1 ? 0 : listed;
    return accept(parser, '@') ? parse_arrangement(parser, listed, rule) : DCL_OK;
}

/* DEALT = ("rows" | "columns") ":" ("cyclic" | "block") [ "(" SIZES ")" ], the first word being read already */
static dcl_status parse_dealt(struct parser *parser, dcl_order order, dcli_map_rule *rule)
{
    rule->kind = DCLI_MAP_DEALT;
    rule->order = order;
    if (!accept(parser, ':'))
        return fail(parser, "\":\" after rows or columns");
    if (accept_word(parser, "cyclic"))
        rule->deal = DCL_DEAL_CYCLIC;
    else if (accept_word(parser, "block"))
        rule->deal = DCL_DEAL_BLOCK;
    else
        return fail(parser, "cyclic or block after rows: or columns:");
    if (!accept(parser, '('))
        return DCL_OK;
    dcl_status status =
        parse_sizes(parser, INT64_MAX, "the elements of a piece, at least 1 along each axis", &rule->rank, rule->piece);
    if (status != DCL_OK)
        return status;
    return accept(parser, ')') ? DCL_OK : fail(parser, "\"x\" and another size, or \")\"");
}

static dcl_status parse_grain(struct parser *parser, const char *expected, int *rank, int64_t size[])
{
    if (*rank != 0)
        return fail(parser, "a grain that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and sizes");
    return parse_sizes(parser, INT64_MAX, expected, rank, size);
}

/* N [ "-" N ], none of which is in the rule yet. */
static dcl_status parse_range(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    char expected[80];
    int64_t first, last;
    snprintf(expected, sizeof expected, "a node of the cluster, 0..%d, that was not named before", node_count - 1);
    skip_spaces(parser);
    const char *start = parser->at;
    dcl_status status = parse_number(parser, 0, node_count - 1, expected, &first);
    if (status != DCL_OK)
        return status;
    last = first;
    if (accept(parser, '-')) {
        char end[80];
        snprintf(end, sizeof end, "a node of the cluster, %d..%d", (int)first, node_count - 1);
        status = parse_number(parser, first, node_count - 1, end, &last);
    }
    if (status == DCL_OK && dcli_map_rule_lists(rule, (int)first, (int)(last - first + 1)))
        status = fail_at(parser, start, expected);
    return status == DCL_OK ? dcli_map_rule_add_nodes(rule, (int)first, (int)(last - first + 1)) : status;
}

/* NODES = N [ "-" N ] { "," N [ "-" N ] } */
static dcl_status parse_nodes(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    if (rule->range_count != 0)
        return fail(parser, "nodes that were not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and nodes such as 0-1,3");
    dcl_status status;
    do {
        status = parse_range(parser, node_count, rule);
    } while (status == DCL_OK && accept(parser, ','));
    return status;
}

static dcl_status parse_grains(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    while (accept(parser, ';')) {
        dcl_status status;
        if (accept_word(parser, "block"))
            status = parse_grain(parser, "the elements of a block, at least 1 along each axis", &rule->block_rank,
                                 rule->block);
        else if (accept_word(parser, "tile"))
            status =
                parse_grain(parser, "the elements of a tile, at least 1 along each axis", &rule->tile_rank, rule->tile);
        else if (accept_word(parser, "nodes"))
            status = parse_nodes(parser, node_count, rule);
        else
            status = fail(parser, "block=, tile= or nodes=");
        if (status != DCL_OK)
            return status;
    }
    skip_spaces(parser);
    if (*parser->at == '\0')
        return DCL_OK;
    bool axes = rule->kind == DCLI_MAP_AXES && rule->block_rank == 0 && rule->tile_rank == 0 && rule->range_count == 0;
    return fail(parser, axes ? "\",\", \"@\", \";\" or the end" : "\";\" or the end");
}

/* The list is complete, or there is none: then it is that of `others`. */
static void settle_nodes(dcli_map_rule *rule, int node_count, const dcli_map_rule *others)
{
    if (rule->range_count == 0) {
        rule->node_count = others->node_count;
        rule->range_count = others->range_count;
        memcpy(rule->range, others->range, sizeof rule->range);
    }
    dcli_map_rule_end_nodes(rule, node_count);
}

dcl_status dcli_map_rule_parse_over(const char *text, int node_count, const dcli_map_rule *others,
                                    dcli_map_rule *rule_out)
{
    struct parser parser = {.text = text, .at = text};
    dcli_map_rule rule = {.node_count = 0};
    dcl_status status;
    if (accept_word(&parser, "rows"))
        status = parse_dealt(&parser, DCL_ROWS, &rule);
    else if (accept_word(&parser, "columns"))
        status = parse_dealt(&parser, DCL_COLUMNS, &rule);
    else
        status = parse_axes(&parser, &rule);
    if (status == DCL_OK)
        status = parse_grains(&parser, node_count, &rule);
    if (status != DCL_OK)
        return status;
    settle_nodes(&rule, node_count, others);
    status = dcli_map_rule_check(&rule);
    if (status == DCL_OK)
        *rule_out = rule;
    return status;
}

dcl_status dcli_map_rule_parse(const char *text, int node_count, dcli_map_rule *rule_out)
{
    return dcli_map_rule_parse_over(text, node_count, &(dcli_map_rule){.node_count = node_count}, rule_out);
}

/* Text written as far as there is room, its whole length counted: what snprintf() promises. */
struct printer {
    char *text;
    size_t capacity, length;
};

static void put(struct printer *printer, const char *before, int64_t number, const char *after)
{
    bool room = printer->length < printer->capacity;
    char digits[24] = "";
    if (number > 0)
        snprintf(digits, sizeof digits, "%" PRId64, number);
    int length = snprintf(room ? printer->text + printer->length : NULL, room ? printer->capacity - printer->length : 0,
                          "%s%s%s", before, digits, after);
    printer->length += length > 0 ? (size_t)length : 0;
}

static void put_sizes(struct printer *printer, const char *before, int count, const int64_t size[], const char *after)
{
    for (int d = 0; d < count; d++)
        put(printer, d == 0 ? before : "x", size[d], d == count - 1 ? after : "");
}

static void put_axis(struct printer *printer, const char *before, const dcl_axis *axis)
{
    static const char *const words[] = {
        [DCL_AXIS_WHOLE] = "*", [DCL_AXIS_BLOCK] = "block", [DCL_AXIS_CYCLIC] = "cyclic"};
    put(printer, before, 0, words[axis->kind]);
    if (axis->size > 0)
        put(printer, "(", axis->size, ")");
}

static void put_axes(struct printer *printer, const dcli_map_rule *rule)
{
    int64_t nodes[DCL_MAX_RANK];
    bool arranged = false;
    for (int d = 0; d < (rule->rank == 0 ? 1 : rule->rank); d++)
        put_axis(printer, d == 0 ? "" : ",", &rule->axes[d]);
    for (int d = 0; d < rule->rank; d++) {
        nodes[d] = rule->nodes[d];
        arranged = arranged || nodes[d] != 0;
    }
    if (rule->rank == 1) { /* without its arrangement it would read as a rule for all axes of any rank */
        nodes[0] = rule->node_count;
        arranged = true;
    }
    if (arranged)
        put_sizes(printer, "@", rule->rank, nodes, "");
}

static void put_nodes(struct printer *printer, const dcli_map_rule *rule)
{
    for (int r = 0; r < rule->range_count; r++) {
        const dcli_node_range *range = &rule->range[r];
        char text[32];
        int length = snprintf(text, sizeof text, "%d", range->first);
        if (range->count > 1)
            snprintf(text + length, sizeof text - (size_t)length, "-%d", range->first + range->count - 1);
        put(printer, r == 0 ? ";nodes=" : ",", 0, text);
    }
}

size_t dcli_map_rule_print(const dcli_map_rule *rule, char *text_out, size_t capacity)
{
    struct printer printer = {.text = text_out, .capacity = capacity};
    if (rule->kind == DCLI_MAP_AXES) {
        put_axes(&printer, rule);
    } else {
        put(&printer, rule->order == DCL_ROWS ? "rows:" : "columns:", 0,
            rule->deal == DCL_DEAL_CYCLIC ? "cyclic" : "block");
        put_sizes(&printer, "(", rule->rank, rule->piece, ")");
    }
    put_sizes(&printer, ";block=", rule->block_rank, rule->block, "");
    put_sizes(&printer, ";tile=", rule->tile_rank, rule->tile, "");
    put_nodes(&printer, rule);
    return printer.length;
}
