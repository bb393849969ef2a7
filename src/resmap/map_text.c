/* resmap/map_text.c - the grammar of maps: a parser by recursive descent. */
#include "resmap/map_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "resmap/parts.h"
#include "segment/declared.h"

struct parser {
    const char *text, *at;
    const char *like; /* an example of the part that is being parsed, for error messages */
    bool seed, fill_value, halo, periodic, overlap; /* parts that were given already */
};

/* The example for axes, and for text of no known family. */
static const char like_maps[] = "a map reads like block,cyclic(2),*@2x3x1 or rows:cyclic(2x2);block=1024x1024";

static void skip_spaces(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

/* Write what stands at a position of the text, shortened, to be quoted in an error. */
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
    return DCLI_FAIL(DCL_ERR_INVALID, "map \"%.200s\": column %td: found %s; expected %s; %s", parser->text,
                     at - parser->text + 1, found, expected, parser->like);
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

/* A growing list of the numbers read so far. */
struct list {
    int64_t *value;
    int64_t count, capacity;
};

static dcl_status append(struct list *list, int64_t value)
{
    if (dcli_grow(&list->value, list->count, &list->capacity, sizeof list->value[0]) != 0)
        return DCL_ERR_NOMEM;
    list->value[list->count++] = value;
    return DCL_OK;
}

static dcl_status parse_list(struct parser *parser, char between, int64_t least, const char *expected,
                             struct list *list)
{
    dcl_status status;
    do {
        int64_t value;
        status = parse_number(parser, least, INT64_MAX, expected, &value);
        if (status == DCL_OK)
            status = append(list, value);
    } while (status == DCL_OK && accept(parser, between));
    return status;
}

/* "splits" "(" N { "," N } ")" | "weighted" "(" N { ":" N } ")"; the first word has been read */
static dcl_status parse_points(struct parser *parser, int d, dcli_map_rule *rule)
{
    bool splits = rule->axes[d].kind == DCL_AXIS_SPLITS;
    struct list list = {0};
    parser->like = splits ? "split points read like splits(3,7)" : "shares read like weighted(3:1:2)";
    if (!accept(parser, '('))
        return fail(parser, splits ? "\"(\" and split points" : "\"(\" and shares");
    dcl_status status = splits ? parse_list(parser, ',', 1, "a split point of at least 1, below 2^63", &list)
                               : parse_list(parser, ':', 0, "a share of at least 0, below 2^63", &list);
    if (status == DCL_OK && !accept(parser, ')'))
        status = fail(parser, splits ? "\",\" and another split point, or \")\"" : "\":\" and another share, or \")\"");
    if (status == DCL_OK)
        status = dcli_map_rule_set_points(rule, d, list.count, list.value);
    dcli_free(list.value);
    return status;
}

/* RULE = "block" [ "(" N ")" ] | "cyclic" [ "(" N ")" ] | "*" | POINTS */
static dcl_status parse_axis(struct parser *parser, int d, dcli_map_rule *rule)
{
    dcl_axis *axis_out = &rule->axes[d];
    *axis_out = (dcl_axis){.kind = DCL_AXIS_WHOLE};
    parser->like = like_maps;
    if (accept(parser, '*'))
        return DCL_OK;
    if (accept_word(parser, "block"))
        axis_out->kind = DCL_AXIS_BLOCK;
    else if (accept_word(parser, "cyclic"))
        axis_out->kind = DCL_AXIS_CYCLIC;
    else if (accept_word(parser, "splits"))
        axis_out->kind = DCL_AXIS_SPLITS;
    else if (accept_word(parser, "weighted"))
        axis_out->kind = DCL_AXIS_WEIGHTED;
    else
        return fail(
            parser,
            "block, cyclic, splits, weighted or *, or one of rows:, columns:, boxes: and replicated at the start");
    if (dcli_has_points(axis_out))
        return parse_points(parser, d, rule);
    if (!accept(parser, '('))
        return DCL_OK;
    dcl_status status = parse_number(parser, 1, INT64_MAX, "a size of at least 1 element, below 2^63", &axis_out->size);
    if (status != DCL_OK)
        return status;
    return accept(parser, ')') ? DCL_OK : fail(parser, "\")\" after the one size of an axis");
}

/* Parse what follows "@": one number per axis, or one per divided axis. After a single rule, one per axis of the
 * map. */
static dcl_status parse_arrangement(struct parser *parser, int listed, dcli_map_rule *rule)
{
    int64_t number[DCL_MAX_RANK];
    int count, divided = 0;
    parser->like = "an arrangement of nodes reads like block,cyclic(2),*@2x3x1";
    skip_spaces(parser);
    const char *start = parser->at;
    dcl_status status = parse_sizes(parser, INT32_MAX, "a number of nodes, at least 1 and below 2^31", &count, number);
    if (status != DCL_OK)
        return status;
    if (listed == 1) {
        bool points = dcli_has_points(&rule->axes[0]);
        for (int d = 1; d < count; d++)
            rule->axes[d] = points ? (dcl_axis){.kind = DCL_AXIS_WHOLE} : rule->axes[0];
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
        dcl_status status = parse_axis(parser, listed, rule);
        if (status != DCL_OK)
            return status;
        listed++;
    } while (accept(parser, ','));
    rule->rank = listed == 1 ? 0 : listed;
    return accept(parser, '@') ? parse_arrangement(parser, listed, rule) : DCL_OK;
}

/* DEALT = ("rows" | "columns") ":" DEAL [ "(" SIZES ")" ], the first word has been read */
static dcl_status parse_dealt(struct parser *parser, dcl_order order, dcli_map_rule *rule)
{
    rule->kind = DCLI_MAP_DEALT;
    rule->order = order;
    parser->like = "dealt pieces read like rows:cyclic(2x2) or columns:block";
    if (!accept(parser, ':'))
        return fail(parser, "\":\" after rows or columns");
    if (accept_word(parser, "cyclic"))
        rule->deal = DCL_DEAL_CYCLIC;
    else if (accept_word(parser, "block"))
        rule->deal = DCL_DEAL_BLOCK;
    else if (accept_word(parser, "hash"))
        rule->deal = DCL_DEAL_HASH;
    else if (accept_word(parser, "table"))
        rule->deal = DCL_DEAL_TABLE;
    else
        return fail(parser, "cyclic, block, hash or table after rows: or columns:");
    if (!accept(parser, '('))
        return DCL_OK;
    dcl_status status = parse_sizes(
        parser, INT64_MAX, "the elements of a piece, at least 1 along each axis, below 2^63", &rule->rank, rule->piece);
    if (status != DCL_OK)
        return status;
    return accept(parser, ')') ? DCL_OK : fail(parser, "\"x\" and another size, or \")\"");
}

/* "replicated" [ "(" N ")" ]; the word has been read. Without a number: all nodes. */
static dcl_status parse_copies(struct parser *parser, dcli_map_rule *rule)
{
    int64_t copies = -1;
    rule->kind = DCLI_MAP_AXES;
    parser->like = "copies read like replicated or replicated(2)";
    if (accept(parser, '(')) {
        dcl_status status = parse_number(parser, 1, INT32_MAX, "a number of nodes, at least 1 and below 2^31", &copies);
        if (status == DCL_OK && !accept(parser, ')'))
            status = fail(parser, "\")\" after the number of nodes");
        if (status != DCL_OK)
            return status;
    }
    rule->copies = (int)copies;
    return DCL_OK;
}

/* I: an integer that may be negative. */
static dcl_status parse_index(struct parser *parser, int64_t *out)
{
    bool negative = accept(parser, '-');
    dcl_status status = parse_number(parser, 0, INT64_MAX, "an index", out);
    *out = negative ? -*out : *out;
    return status;
}

/* "[" I ":" I { "," I ":" I } "]" "@" N */
static dcl_status parse_box(struct parser *parser, int node_count, dcl_box *box, int64_t *node_out)
{
    char expected[60];
    if (!accept(parser, '['))
        return fail(parser, "\"[\" and a box such as [0:4,0:6]@1");
    box->rank = 0;
    do {
        int d = box->rank++;
        int64_t end = 0;
        if (d == DCL_MAX_RANK)
            return fail(parser, "at most 8 axes");
        dcl_status status = parse_index(parser, &box->start[d]);
        if (status == DCL_OK && !accept(parser, ':'))
            status = fail(parser, "\":\" and the index behind the last");
        if (status == DCL_OK)
            status = parse_index(parser, &end);
        if (status != DCL_OK)
            return status;
        if (!dcli_add(end, -box->start[d], &box->count[d]) || box->count[d] < 1)
            return fail(parser, "a box that is not empty: an end above its start before this");
        box->stride[d] = 1;
    } while (accept(parser, ','));
    if (!accept(parser, ']'))
        return fail(parser, "\",\" and another axis, or \"]\"");
    if (!accept(parser, '@'))
        return fail(parser, "\"@\" and the node of the box");
    snprintf(expected, sizeof expected, "a node of the cluster, 0..%d", node_count - 1);
    return parse_number(parser, 0, node_count - 1, expected, node_out);
}

/* BOXES = "boxes:" BOX { "," BOX }, the word has been read */
static dcl_status parse_boxes(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    dcl_box *box = NULL;
    struct list nodes = {0};
    int64_t capacity = 0;
    int *node = NULL;
    parser->like = "boxes read like boxes:[0:4,0:6]@0,[4:8,0:6]@1";
    dcl_status status = accept(parser, ':') ? DCL_OK : fail(parser, "\":\" after boxes");
    rule->kind = DCLI_MAP_BOXES;
    do {
        int64_t k = nodes.count, at = 0;
        if (status == DCL_OK && dcli_grow(&box, k, &capacity, sizeof box[0]) != 0)
            status = DCL_ERR_NOMEM;
        if (status == DCL_OK)
            status = parse_box(parser, node_count, &box[k], &at);
        if (status == DCL_OK && box[k].rank != box[0].rank)
            status = fail(parser, "boxes of as many axes as the first before this");
        if (status == DCL_OK)
            status = append(&nodes, at);
    } while (status == DCL_OK && accept(parser, ','));
    node = status == DCL_OK ? dcli_calloc((size_t)nodes.count, sizeof node[0]) : NULL;
    for (int64_t k = 0; node != NULL && k < nodes.count; k++)
        node[k] = (int)nodes.value[k];
    if (node != NULL) {
        rule->rank = box[0].rank;
        status = dcli_map_rule_set_boxes(rule, nodes.count, box, node);
    } else if (status == DCL_OK) {
        status = DCL_ERR_NOMEM;
    }
    dcli_free(node);
    dcli_free(nodes.value);
    dcli_free(box);
    return status;
}

static dcl_status parse_grain(struct parser *parser, const char *expected, int *rank, int64_t size[])
{
    parser->like = "grains read like ;block=512x512;tile=256x256";
    if (*rank != 0)
        return fail(parser, "a grain that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and sizes");
    return parse_sizes(parser, INT64_MAX, expected, rank, size);
}

/* N [ "-" N ]; none of these nodes is in the rule yet. */
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
    parser->like = "nodes read like ;nodes=0-1,3";
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

static dcl_status parse_every(struct parser *parser, dcli_map_rule *rule)
{
    parser->like = "steps read like ;every=2x3";
    if (rule->every_rank != 0)
        return fail(parser, "steps that were not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and steps such as 2x3");
    dcl_status status = parse_sizes(parser, INT64_MAX, "a step of at least 1 along each axis, below 2^63",
                                    &rule->every_rank, rule->every);
    dcli_every_settle(rule);
    return status;
}

static dcl_status parse_fill_value(struct parser *parser, dcli_map_rule *rule)
{
    const char *end;
    parser->like = "a rest reads like ;rest=-1.5";
    if (parser->fill_value)
        return fail(parser, "a rest that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and a number");
    parser->fill_value = true;
    skip_spaces(parser);
    double fill_value = dcli_fill_value_parse(parser->at, &end);
    if (end == parser->at)
        return fail(parser, "a number, what elements that are stored nowhere read as");
    parser->at = end;
    rule->fill_value = fill_value;
    return DCL_OK;
}

/* WIDTHS = WIDTH { "," WIDTH }, WIDTH = N [ ":" N ] */
static dcl_status parse_halo(struct parser *parser, dcli_map_rule *rule)
{
    static const char expected[] = "the width of a halo, 0 or more elements, at most 2^40";
    parser->like = "a halo reads like ;halo=1 or ;halo=1:2,0";
    if (parser->halo)
        return fail(parser, "a halo that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and widths such as 1 or 1:2,0");
    parser->halo = true;
    do {
        int d = rule->halo_rank;
        if (d == DCL_MAX_RANK)
            return fail(parser, "at most 8 axes");
        dcl_status status = parse_number(parser, 0, DCLI_MOST_WIDTH, expected, &rule->halo_low[d]);
        rule->halo_high[d] = rule->halo_low[d];
        if (status == DCL_OK && accept(parser, ':'))
            status = parse_number(parser, 0, DCLI_MOST_WIDTH, expected, &rule->halo_high[d]);
        if (status != DCL_OK)
            return status;
        rule->halo_rank++;
    } while (accept(parser, ','));
    return DCL_OK;
}

/* AXES = "*" | N { "," N } */
static dcl_status parse_periodic(struct parser *parser, dcli_map_rule *rule)
{
    parser->like = "periodic axes read like ;periodic=0,1 or ;periodic=*";
    if (parser->periodic)
        return fail(parser, "periodic axes that were not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and axes such as 0,1, or *");
    parser->periodic = true;
    if (accept(parser, '*')) {
        rule->periodic = DCLI_ALL_PERIODIC;
        return DCL_OK;
    }
    do {
        int64_t axis;
        dcl_status status = parse_number(parser, 0, DCL_MAX_RANK - 1, "an axis, 0..7, or * for all", &axis);
        if (status != DCL_OK)
            return status;
        rule->periodic |= 1U << axis;
    } while (accept(parser, ','));
    return DCL_OK;
}

static dcl_status parse_overlap(struct parser *parser, dcli_map_rule *rule)
{
    parser->like = "an overlap reads like ;overlap=8";
    if (parser->overlap)
        return fail(parser, "an overlap that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and a number of lines");
    parser->overlap = true;
    return parse_number(parser, 0, DCLI_MOST_OVERLAP, "a number of lines, 0..65536", &rule->overlap);
}

static dcl_status parse_seed(struct parser *parser, dcli_map_rule *rule)
{
    parser->like = "a seed reads like ;seed=7";
    if (parser->seed)
        return fail(parser, "a seed that was not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and a number");
    parser->seed = true;
    return parse_number(parser, 0, INT32_MAX, "a seed, 0..2147483647", &rule->seed);
}

/* OWNERS = NODE [ "*" N ] { "," NODE [ "*" N ] }, NODE = N | "-" */
static dcl_status parse_owners(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    char expected[96];
    struct list list = {0};
    parser->like = "owners read like rows:table(2x2);owners=0*3,-,1*2";
    if (rule->list != NULL)
        return fail(parser, "owners that were not given before");
    if (!accept(parser, '='))
        return fail(parser, "\"=\" and the nodes of the pieces, such as 0*3,1");
    snprintf(expected, sizeof expected, "a node of the cluster, 0..%d, or - for pieces that are stored nowhere",
             node_count - 1);
    dcl_status status;
    do {
        int64_t node = DCL_NOWHERE, run = 1;
        status = accept(parser, '-') ? DCL_OK : parse_number(parser, 0, node_count - 1, expected, &node);
        if (status == DCL_OK && accept(parser, '*'))
            status = parse_number(parser, 1, INT64_MAX, "a number of pieces, at least 1, below 2^63", &run);
        if (status == DCL_OK)
            status = append(&list, run);
        if (status == DCL_OK)
            status = append(&list, node);
    } while (status == DCL_OK && accept(parser, ','));
    if (status == DCL_OK)
        status = dcli_map_rule_set_owners(rule, list.count / 2, list.value);
    dcli_free(list.value);
    return status;
}

static dcl_status parse_grains(struct parser *parser, int node_count, dcli_map_rule *rule)
{
    bool axes = rule->kind == DCLI_MAP_AXES; /* more suffixes (;block=, ;nodes=, ...) may follow */
    for (; accept(parser, ';'); axes = false) {
        dcl_status status;
        parser->like = "what follows a map reads like ;block=1024x1024, ;nodes=0-1,3 or ;halo=1";
        if (accept_word(parser, "block"))
            status = parse_grain(parser, "the elements of a block, at least 1 along each axis, below 2^63",
                                 &rule->block_rank, rule->block);
        else if (accept_word(parser, "tile"))
            status = parse_grain(parser, "the elements of a tile, at least 1 along each axis, below 2^63",
                                 &rule->tile_rank, rule->tile);
        else if (accept_word(parser, "nodes"))
            status = parse_nodes(parser, node_count, rule);
        else if (accept_word(parser, "every"))
            status = parse_every(parser, rule);
        else if (accept_word(parser, "rest"))
            status = parse_fill_value(parser, rule);
        else if (accept_word(parser, "halo"))
            status = parse_halo(parser, rule);
        else if (accept_word(parser, "periodic"))
            status = parse_periodic(parser, rule);
        else if (accept_word(parser, "overlap"))
            status = parse_overlap(parser, rule);
        else if (rule->kind == DCLI_MAP_DEALT && accept_word(parser, "seed"))
            status = parse_seed(parser, rule);
        else if (rule->kind == DCLI_MAP_DEALT && accept_word(parser, "owners"))
            status = parse_owners(parser, node_count, rule);
        else
            status =
                fail(parser, rule->kind == DCLI_MAP_DEALT
                                 ? "block=, tile=, nodes=, every=, rest=, halo=, periodic=, overlap=, seed= or owners="
                                 : "block=, tile=, nodes=, every=, rest=, halo=, periodic= or overlap=");
        if (status != DCL_OK)
            return status;
    }
    skip_spaces(parser);
    if (*parser->at == '\0')
        return DCL_OK;
    return fail(parser, axes ? "\",\", \"@\", \";\" or the end" : "\";\" or the end");
}

/* Complete the rule's list of nodes: if the text has none, copy that of `others`. `replicated` without a number gets
 * all of the list. */
static void settle_nodes(dcli_map_rule *rule, int node_count, const dcli_map_rule *others)
{
    if (rule->range_count == 0) {
        rule->node_count = others->node_count;
        rule->range_count = others->range_count;
        memcpy(rule->range, others->range, sizeof rule->range);
    }
    if (rule->copies < 0)
        rule->copies = rule->node_count;
    dcli_map_rule_end_nodes(rule, node_count);
}

dcl_status dcli_map_rule_parse_over(const char *text, int node_count, const dcli_map_rule *others,
                                    dcli_map_rule *rule_out)
{
    struct parser parser = {.text = text, .at = text, .like = like_maps};
    dcli_map_rule rule = {.node_count = 0};
    dcl_status status;
    if (accept_word(&parser, "rows"))
        status = parse_dealt(&parser, DCL_ROWS, &rule);
    else if (accept_word(&parser, "columns"))
        status = parse_dealt(&parser, DCL_COLUMNS, &rule);
    else if (accept_word(&parser, "replicated"))
        status = parse_copies(&parser, &rule);
    else if (accept_word(&parser, "boxes"))
        status = parse_boxes(&parser, node_count, &rule);
    else
        status = parse_axes(&parser, &rule);
    if (status == DCL_OK)
        status = parse_grains(&parser, node_count, &rule);
    if (status == DCL_OK) {
        settle_nodes(&rule, node_count, others);
        dcli_halo_settle(&rule);
        status = dcli_map_rule_check(&rule);
    }
    if (status == DCL_OK)
        *rule_out = rule;
    else
        dcli_map_rule_release(&rule);
    return status;
}

dcl_status dcli_map_rule_parse(const char *text, int node_count, dcli_map_rule *rule_out)
{
    return dcli_map_rule_parse_over(text, node_count, &(dcli_map_rule){.node_count = node_count}, rule_out);
}
