/* runtime/report_print.c - print a report as text and as JSON: tables of the same fields in two formats.
 * Source of the JSON: RFC 8259. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/text.h"
#include "runtime/report.h"

/* A field of a row. */
typedef struct column {
    const char *name;
    enum { WHOLE, NUMBER, FLAG, STRING } kind; /* type of the field: int64_t, int, bool, const char * */
    size_t place;
} column;

#define COLUMN(kind, row, field)           \
    {                                      \
#field, kind, offsetof(row, field) \
    }
#define PLANNED(field)                               \
    {                                                \
#field, WHOLE, offsetof(dcl_counters, field) \
    }
#define PLANNED_OF_NODE(field)                                  \
    {                                                           \
#field, WHOLE, offsetof(dcl_report_node, planned.field) \
    }

static const column total_columns[] = {PLANNED(tasks), PLANNED(blocks_moved), PLANNED(bytes_moved),
                                       PLANNED(messages_planned), PLANNED(approximate)};
static const column node_columns[] = {COLUMN(NUMBER, dcl_report_node, node),
                                      PLANNED_OF_NODE(tasks),
                                      PLANNED_OF_NODE(blocks_moved),
                                      PLANNED_OF_NODE(bytes_moved),
                                      PLANNED_OF_NODE(messages_planned),
                                      PLANNED_OF_NODE(approximate),
                                      COLUMN(WHOLE, dcl_report_node, elements),
                                      COLUMN(WHOLE, dcl_report_node, staged_bytes),
                                      COLUMN(WHOLE, dcl_report_node, arrived_bytes),
                                      COLUMN(WHOLE, dcl_report_node, copied_bytes),
                                      COLUMN(STRING, dcl_report_node, name)};
static const column pair_columns[] = {
    COLUMN(NUMBER, dcl_report_pair, owner),        COLUMN(NUMBER, dcl_report_pair, user),
    COLUMN(WHOLE, dcl_report_pair, blocks),        COLUMN(WHOLE, dcl_report_pair, bytes),
    COLUMN(WHOLE, dcl_report_pair, messages),      COLUMN(WHOLE, dcl_report_pair, bytes_read),
    COLUMN(WHOLE, dcl_report_pair, bytes_written), COLUMN(STRING, dcl_report_pair, way)};
static const column array_columns[] = {
    COLUMN(STRING, dcl_report_array, name),  COLUMN(FLAG, dcl_report_array, read),
    COLUMN(FLAG, dcl_report_array, written), COLUMN(WHOLE, dcl_report_array, elements),
    COLUMN(WHOLE, dcl_report_array, stored), COLUMN(WHOLE, dcl_report_array, bytes_moved),
    COLUMN(STRING, dcl_report_array, map)};
static const column footprint_columns[] = {
    COLUMN(STRING, dcl_report_footprint, name), COLUMN(NUMBER, dcl_report_footprint, line),
    COLUMN(NUMBER, dcl_report_footprint, column), COLUMN(WHOLE, dcl_report_footprint, elements),
    COLUMN(WHOLE, dcl_report_footprint, read_at_most)};

static const column index_columns[] = {COLUMN(STRING, dcl_report_index, name), COLUMN(STRING, dcl_report_index, use),
                                       COLUMN(WHOLE, dcl_report_index, first), COLUMN(WHOLE, dcl_report_index, count)};

#define COUNT(list) ((int)(sizeof(list) / sizeof(list)[0]))

static const void *field_of(const void *row, const column *column) { return (const char *)row + column->place; }

static int64_t number_of(const void *row, const column *column)
{
    const void *field = field_of(row, column);
    return column->kind == WHOLE ? *(const int64_t *)field : *(const int *)field;
}

static const char *string_of(const void *row, const column *column)
{
    return *(const char *const *)field_of(row, column);
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

/* Write a JSON string. Bytes beyond ASCII, which device names may have, are written as the escapes \u0080 to \u00ff,
 * so the result is always valid. */
static void put_string(dcli_text *text, const char *string)
{
    dcli_text_put(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != '\0'; at++)
        if (*at == '"' || *at == '\\')
            dcli_text_put(text, "\\%c", *at);
        else if (*at < 0x20 || *at >= 0x7f)
            dcli_text_put(text, "\\u%04x", *at);
        else
            dcli_text_put(text, "%c", *at);
    dcli_text_put(text, "\"");
}

static void put_fields(dcli_text *text, const column columns[], int count, const void *row)
{
    for (int c = 0; c < count; c++) {
        dcli_text_put(text, "%s\"%s\": ", c > 0 ? ", " : "", columns[c].name);
        if (columns[c].kind == STRING)
            put_string(text, string_of(row, &columns[c]));
        else if (columns[c].kind == FLAG)
            dcli_text_put(text, "%s", *(const bool *)field_of(row, &columns[c]) ? "true" : "false");
        else
            dcli_text_put(text, "%" PRId64, number_of(row, &columns[c]));
    }
}

static void put_list(dcli_text *text, const char *name, const column columns[], int count, const void *rows,
                     size_t row_bytes, int64_t row_count)
{
    dcli_text_put(text, ", \"%s\": [", name);
    for (int64_t r = 0; r < row_count; r++) {
        dcli_text_put(text, "%s{", r > 0 ? ", " : "");
        put_fields(text, columns, count, (const char *)rows + (size_t)r * row_bytes);
        dcli_text_put(text, "}");
    }
    dcli_text_put(text, "]");
}

static void put_json(dcli_text *text, const dcl_report *report)
{
    dcli_text_put(text, "{\"nodes\": %d, ", report->nodes);
    if (report->node >= 0)
        dcli_text_put(text, "\"node\": %d, ", report->node);
    put_fields(text, total_columns, COUNT(total_columns), &report->planned);
    if (report->node < 0)
        dcli_text_put(text, ", \"imbalance_elements\": %.6g, \"imbalance_bytes\": %.6g", report->imbalance_elements,
                      report->imbalance_bytes);
    put_list(text, "per_node", node_columns, COUNT(node_columns), report->node_row, sizeof *report->node_row,
             report->node_count);
    put_list(text, "pairs", pair_columns, COUNT(pair_columns), report->pair, sizeof *report->pair, report->pair_count);
    put_list(text, "arrays", array_columns, COUNT(array_columns), report->array, sizeof *report->array,
             report->array_count);
    put_list(text, "footprints", footprint_columns, COUNT(footprint_columns), report->footprint,
             sizeof *report->footprint, report->footprint_count);
    put_list(text, "indices", index_columns, COUNT(index_columns), report->index, sizeof *report->index,
             report->index_count);
    dcli_text_put(text, ", \"method\": ");
    if (report->method != NULL)
        put_string(text, report->method);
    else
        dcli_text_put(text, "null");
    dcli_text_put(text, ", \"all_to_all\": ");
    if (report->all_to_all != NULL)
        put_string(text, report->all_to_all);
    else
        dcli_text_put(text, "null");
    dcli_text_put(text, ", \"balanced_map\": ");
    if (report->balanced_map != NULL)
        put_string(text, report->balanced_map);
    else
        dcli_text_put(text, "null");
    dcli_text_put(text, ", \"balanced_ns\": %" PRId64 ", \"unbalanced_ns\": %" PRId64, report->balanced_ns,
                  report->unbalanced_ns);
    dcli_text_put(text, ", \"advice\": [");
    for (int n = 0; n < report->advice_count; n++) {
        dcli_text_put(text, "%s", n > 0 ? ", " : "");
        put_string(text, report->advice[n]);
    }
    dcli_text_put(text, "]}\n");
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 40, MOST_COLUMNS = 16 }; /* limits of a table in the text */

static int width_of(const void *row, const column *column)
{
    if (column->kind == STRING)
        return (int)strlen(string_of(row, column));
    if (column->kind == FLAG)
        return 3;
    return snprintf(NULL, 0, "%" PRId64, number_of(row, column));
}

/* Print a row. @param label  replaces the first field; NULL: print the field. */
static void put_row(dcli_text *text, const column columns[], int count, const int width[], const void *row,
                    const char *label)
{
    if (label != NULL)
        dcli_text_put(text, "%*s", width[0], label);
    for (int c = label != NULL; c < count; c++) {
        const char *gap = c > 0 ? "  " : "";
        bool last = c == count - 1; /* the last column needs no padding */
        if (columns[c].kind == STRING)
            dcli_text_put(text, "%s%-*s", gap, last ? 0 : width[c], string_of(row, &columns[c]));
        else if (columns[c].kind == FLAG)
            dcli_text_put(text, "%s%-*s", gap, width[c], *(const bool *)field_of(row, &columns[c]) ? "yes" : "no");
        else
            dcli_text_put(text, "%s%*" PRId64, gap, width[c], number_of(row, &columns[c]));
    }
    dcli_text_put(text, "\n");
}

/* Rows, and their sum for the first `sum_count` columns, or NULL. */
struct table {
    const column *columns;
    int count;
    const void *rows;
    size_t row_bytes;
    int64_t row_count;
    const void *sum;
    int sum_count;
};

static const void *row_of(const struct table *table, int64_t r)
{
    return (const char *)table->rows + (size_t)r * table->row_bytes;
}

static int width_in(const struct table *table, int c, int64_t shown)
{
    const column *column = &table->columns[c];
    int width = (int)strlen(column->name);
    for (int64_t r = 0; r < shown; r++)
        width = (int)dcli_max(width, width_of(row_of(table, r), column));
    return table->sum != NULL && c < table->sum_count ? (int)dcli_max(width, width_of(table->sum, column)) : width;
}

/* Print the first rows of a table below its column names. */
static void put_table(dcli_text *text, const struct table *table)
{
    int width[MOST_COLUMNS];
    int64_t shown = dcli_min(table->row_count, MOST_ROWS);
    for (int c = 0; c < table->count; c++) {
        const column *column = &table->columns[c];
        bool left = column->kind == STRING || column->kind == FLAG;
        width[c] = width_in(table, c, shown);
        dcli_text_put(text, left ? "%s%-*s" : "%s%*s", c > 0 ? "  " : "", left && c == table->count - 1 ? 0 : width[c],
                      column->name);
    }
    dcli_text_put(text, "\n");
    for (int64_t r = 0; r < shown; r++)
        put_row(text, table->columns, table->count, width, row_of(table, r), NULL);
    if (table->sum != NULL)
        put_row(text, table->columns, table->sum_count, width, table->sum, "all");
    if (shown < table->row_count)
        dcli_text_put(text, "... and %" PRId64 " more\n", table->row_count - shown);
}

#define TABLE(of, list, number) \
    .columns = of, .count = COUNT(of), .rows = (list), .row_bytes = sizeof *(list), .row_count = (number)

static void put_nodes(dcli_text *text, const dcl_report *report)
{
    dcl_report_node sum = {.planned = report->planned, .name = ""};
    struct table table = {TABLE(node_columns, report->node_row, report->node_count),
                          .sum = report->node < 0 ? &sum : NULL, .sum_count = 1 + COUNT(total_columns)};
    put_table(text, &table);
    if (report->node < 0)
        dcli_text_put(text, "Largest share of a node / mean: %.2f of the elements, %.2f of the bytes moved.\n",
                      report->imbalance_elements, report->imbalance_bytes);
}

static int by_bytes(const void *a, const void *b)
{
    const dcl_report_pair *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->user != y->user ? (x->user > y->user) - (x->user < y->user)
                              : (x->owner > y->owner) - (x->owner < y->owner);
}

/* Print the pairs; if there are many, those with the most bytes. */
static void put_pairs(dcli_text *text, const dcl_report *report)
{
    size_t bytes = (size_t)report->pair_count * sizeof *report->pair;
    dcl_report_pair *sorted = dcli_malloc(bytes > 0 ? bytes : 1);
    if (sorted == NULL) {
        text->failed = true;
        return;
    }
    memcpy(sorted, report->pair, bytes);
    if (report->pair_count > MOST_ROWS)
        qsort(sorted, (size_t)report->pair_count, sizeof *sorted, by_bytes);
    dcli_text_put(text, "\nBetween nodes, %s:\n",
                  report->pair_count > MOST_ROWS ? "the pairs with the most bytes first" : "by owner of the elements");
    put_table(text, &(struct table){TABLE(pair_columns, sorted, report->pair_count)});
    dcli_free(sorted);
}

static void put_footprints(dcli_text *text, const dcl_report *report)
{
    dcli_text_put(text,
                  "\nSome subscripts mix indices or repeat one: for them the box around what is read is moved.\n");
    put_table(text, &(struct table){TABLE(footprint_columns, report->footprint, report->footprint_count)});
}

static void put_text(dcli_text *text, const dcl_report *report)
{
    if (report->index_count > 0) {
        dcli_text_put(text, "Indices:\n");
        put_table(text, &(struct table){TABLE(index_columns, report->index, report->index_count)});
        dcli_text_put(text, "%s.\n\n", report->method);
    }
    put_nodes(text, report);
    if (report->pair_count > 0)
        put_pairs(text, report);
    dcli_text_put(text, "\nArrays:\n");
    put_table(text, &(struct table){TABLE(array_columns, report->array, report->array_count)});
    if (report->footprint_count > 0)
        put_footprints(text, report);
    if (report->all_to_all != NULL)
        dcli_text_put(text, "\nAll to all: %s\n", report->all_to_all);
    if (report->advice_count > 0)
        dcli_text_put(text, "\nAdvice:\n");
    for (int n = 0; n < report->advice_count; n++)
        dcli_text_put(text, "- %s\n", report->advice[n]);
}

size_t dcl_report_print(const dcl_report *report, dcl_report_format format, char *text_out, size_t capacity)
{
    dcli_text text = {0};
    if (report == NULL)
        return 0;
    if (format == DCL_REPORT_JSON)
        put_json(&text, report);
    else
        put_text(&text, report);
    size_t length = text.failed ? 0 : text.length;
    if (capacity > 0)
        snprintf(text_out, capacity, "%s", length > 0 ? text.bytes : "");
    dcli_text_free(&text);
    return length;
}
