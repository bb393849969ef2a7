/* cli/region_write.c - a program with calls in place of its regions. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/region.h"

/* Behind the program's own macros of the kind _GNU_SOURCE, before its first header. */
static const char prelude[] =
    "#include <pthread.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "\n"
    "#include <dcl.h>\n"
    "\n"
    "/* The cluster of all regions of this file: of the default settings, opened at the first region. */\n"
    "static dcl_cluster *dcl_region_cluster;\n"
    "static pthread_once_t dcl_region_once = PTHREAD_ONCE_INIT;\n"
    "\n"
    "static void dcl_region_close(void) { dcl_close(dcl_region_cluster); }\n"
    "\n"
    "static void dcl_region_open(void)\n"
    "{\n"
    "    dcl_region_cluster = dcl_open(NULL);\n"
    "    if (dcl_region_cluster == NULL)\n"
    "        fprintf(stderr, \"dcl: all loops run as written: %s\\n\", dcl_error());\n"
    "    else\n"
    "        atexit(dcl_region_close);\n"
    "}\n"
    "\n"
    "static int dcl_region_ready(void)\n"
    "{\n"
    "    pthread_once(&dcl_region_once, dcl_region_open);\n"
    "    return dcl_region_cluster != NULL;\n"
    "}\n"
    "\n"
    "/* Whether a region has run. If it has not, its reason is told once; its memory is unchanged then, or the "
    "program\n"
    " * ends: dcl_error() contains \"undefined contents\" if memory may have been changed. */\n"
    "static int dcl_region_ran(dcl_status status, const char *where, int *told)\n"
    "{\n"
    "    if (status == DCL_OK)\n"
    "        return 1;\n"
    "    if (strstr(dcl_error(), \"undefined contents\") != NULL) {\n"
    "        fprintf(stderr, \"%s: the results are lost, so the program ends: %s\\n\", where, dcl_error());\n"
    "        exit(EXIT_FAILURE);\n"
    "    }\n"
    "    if (!*told)\n"
    "        fprintf(stderr, \"%s: these loops run as written: %s\\n\", where, dcl_error());\n"
    "    *told = 1;\n"
    "    return 0;\n"
    "}\n"
    "\n"
    "/* Whether memory is a row of so many elements: of an array of arrays. */\n"
    "__attribute__((unused)) static int dcl_region_fits(int fits, const char *where, const char *name, int *told)\n"
    "{\n"
    "    if (!fits && !*told)\n"
    "        fprintf(stderr, \"%s: these loops run as written: the rows of %s have another length than its clause \"\n"
    "                        \"says\\n\", where, name);\n"
    "    *told |= !fits;\n"
    "    return fits;\n"
    "}\n"
    "\n";

static void put_escaped(FILE *out, char c)
{
    if (c == '\n')
        fputs("\\n", out);
    else if (c == '\\' || c == '"' || c == '?') /* ?: no trigraphs */
        fprintf(out, "\\%c", c);
    else if (iscntrl((unsigned char)c) && c != '\t')
        fprintf(out, "\\%03o", (unsigned)(unsigned char)c);
    else
        fputc(c, out);
}

static void put_path(FILE *out, const char *path)
{
    for (; *path != '\0'; path++)
        fprintf(out, *path == '\\' || *path == '"' ? "\\%c" : "%c", *path);
}

static void put_line(FILE *out, const char *path, int line)
{
    fprintf(out, "#line %d \"", line);
    put_path(out, path);
    fputs("\"\n", out);
}

static void put_part(FILE *out, const cli_part *part)
{
    for (int t = 0; t < part->count; t++)
        fprintf(out, "%s%.*s", t > 0 ? " " : "", part->token[t].length, part->token[t].start);
}

/* Put a type without const. */
static void put_type(FILE *out, const cli_part *type)
{
    bool begun = false;
    for (int t = 0; t < type->count; t++)
        if (!cli_token_is(&type->token[t], "const")) {
            fprintf(out, "%s%.*s", begun ? " " : "", type->token[t].length, type->token[t].start);
            begun = true;
        }
}

static void put_name(FILE *out, const cli_token *name) { fprintf(out, "%.*s", name->length, name->start); }

/* The loops as a string. */
static void put_text(FILE *out, const char *path, const cli_region *region)
{
    fputs("    static const char dcl_region_text[] =\n        \"#line ", out);
    int first = 1; /* line of the loops: after the pragma, which may be continued */
    for (const char *at = region->pragma->start; at < region->text; at++)
        first += *at == '\n';
    fprintf(out, "%d \\\"", region->pragma->line + first - 1);
    for (const char *at = path; *at != '\0'; at++) { /* escaped for #line, and again for the string */
        if (*at == '\\' || *at == '"')
            fputs("\\\\", out);
        put_escaped(out, *at);
    }
    fputs("\\\"\\n\"", out);
    for (const char *at = region->text, *end = at + region->length; at < end;) {
        fputs("\n        \"", out);
        do
            put_escaped(out, *at++);
        while (at < end && at[-1] != '\n');
        fputc('"', out);
    }
    fputs(";\n", out);
}

/* Have the compiler compare the types of a clause with those of the program. */
static void put_checks(FILE *out, const char *path, const cli_region *region)
{
    int line = region->pragma->line;
    for (int a = 0; a < region->array_count; a++) {
        const cli_region_array *array = &region->array[a];
        put_line(out, path, line);
        fputs("    _Static_assert(_Generic(&(", out);
        put_name(out, &array->name);
        fputs(")", out);
        for (int d = 0; d < (array->is_flat ? 1 : array->rank); d++)
            fputs("[0]", out);
        fputs(", ", out);
        put_type(out, &array->type);
        fputs(" *: 1, ", out);
        if (array->access == DCL_ACCESS_IN) {
            fputs("const ", out);
            put_type(out, &array->type);
            fputs(" *: 1, ", out);
        }
        fputs("default: 0), \"", out);
        put_name(out, &array->name);
        fputs(" has another type than its clause says\");\n", out);
    }
    for (int v = 0; v < region->value_count; v++) {
        const cli_region_value *value = &region->value[v];
        if (value->type.count == 0)
            continue;
        put_line(out, path, line);
        fputs("    _Static_assert(_Generic((", out);
        put_name(out, &value->name);
        fputs("), ", out);
        put_type(out, &value->type);
        fputs(": 1, default: 0), \"", out);
        put_name(out, &value->name);
        fputs(" has another type than its clause says\");\n", out);
    }
}

/* Put a test that the rows of the arrays are as long as their clauses say, and no pointers. */
static void put_fits(FILE *out, const cli_region *region)
{
    for (int a = 0; a < region->array_count; a++) {
        const cli_region_array *array = &region->array[a];
        for (int d = 1; d < array->rank && !array->is_flat; d++) {
            fputs(" && dcl_region_fits(sizeof (", out);
            put_name(out, &array->name);
            fputs(")", out);
            for (int k = 0; k < d; k++)
                fputs("[0]", out);
            fputs(" == sizeof (", out);
            put_type(out, &array->type);
            fputs(")", out);
            for (int k = d; k < array->rank; k++) {
                fputs(" * (size_t)(", out);
                put_part(out, &array->extent[k]);
                fputs(")", out);
            }
            fputs(", dcl_region_where, \"", out);
            put_name(out, &array->name);
            fputs("\", &dcl_region_told)", out);
        }
    }
}

static void put_call(FILE *out, const cli_region *region)
{
    fputs(" && dcl_region_ran(dcl_loops(dcl_region_cluster, dcl_region_text", out);
    for (int a = 0; a < region->array_count; a++) {
        const cli_region_array *array = &region->array[a];
        fprintf(out, ", DCL_HOST_%s_AS(\"",
                array->access == DCL_ACCESS_IN      ? "IN"
                : array->access == DCL_ACCESS_INOUT ? "INOUT"
                                                    : "OUT");
        put_name(out, &array->name);
        fputs("\", &(", out);
        put_name(out, &array->name);
        fputs(")", out);
        for (int d = 0; d < (array->is_flat ? 1 : array->rank); d++)
            fputs("[0]", out);
        for (int d = 0; d < array->rank; d++) {
            fputs(", (", out);
            put_part(out, &array->extent[d]);
            fputs(")", out);
        }
        fputs(")", out);
    }
    for (int v = 0; v < region->value_count; v++) {
        fputs(", DCL_VALUE_AS(\"", out);
        put_name(out, &region->value[v].name);
        fputs("\", ", out);
        put_name(out, &region->value[v].name);
        fputs(")", out);
    }
    fputs("), dcl_region_where, &dcl_region_told)", out);
}

static void put_region(FILE *out, const char *path, const cli_region *region)
{
    int loops = region->pragma->line;
    for (const char *at = region->pragma->start; at < region->text; at++)
        loops += *at == '\n';
    put_line(out, path, region->pragma->line);
    fputs("{ /* #pragma dcl loops */\n    static int dcl_region_told;\n    static const char dcl_region_where[] = \"",
          out);
    for (const char *at = path; *at != '\0'; at++)
        put_escaped(out, *at);
    fprintf(out, ":%d\";\n", region->pragma->line);
    put_text(out, path, region);
    put_checks(out, path, region);
    put_line(out, path, region->pragma->line); /* the call is one line, so that compilers name the pragma's */
    fputs("    if (dcl_region_ready()", out);
    put_fits(out, region);
    put_call(out, region);
    fputs(") {\n", out);
    cli_region_write_counters(out, region, "        ");
    fputs("    } else {\n", out);
    put_line(out, path, loops);
    fwrite(region->text, 1, (size_t)region->length, out);
    put_line(out, path, region->end->line);
    fputs("    }\n}\n", out);
}

/* The macros that headers look at must be defined before the first header. */
static void put_prelude(FILE *out, const cli_source *source)
{
    fputs("/* Written by `dcl loops` from ", out);
    for (const char *at = source->path; *at != '\0'; at++)
        fputc(*at == '*' || iscntrl((unsigned char)*at) ? '?' : *at, out);
    fputs(". */\n", out);
    for (int t = 0; t < source->count; t++) {
        const cli_token *token = &source->token[t];
        if (token->kind == CLI_TOKEN_DIRECTIVE && cli_directive_is(token, "#include"))
            break;
        const char *name = token->start + strcspn(token->start, "d") + strlen("define");
        if (token->kind == CLI_TOKEN_DIRECTIVE && cli_directive_is(token, "#define") &&
            name[strspn(name, " \t")] == '_')
            fprintf(out, "%.*s\n", token->length, token->start);
    }
    fputs(prelude, out);
}

/* The begin of the line of a token. */
static const char *begin_of_line(const cli_source *source, const cli_token *token)
{
    const char *at = token->start;
    while (at > source->text && at[-1] != '\n')
        at--;
    return at;
}

void cli_regions_write(FILE *out, const cli_source *source, int count, const cli_region region[])
{
    const char *at = source->text;
    put_prelude(out, source);
    put_line(out, source->path, 1);
    for (int r = 0; r < count; r++) {
        const char *begin = begin_of_line(source, region[r].pragma);
        fwrite(at, 1, (size_t)(begin - at), out);
        put_region(out, source->path, &region[r]);
        at = region[r].end->start + region[r].end->length;
        int next = region[r].end->line + 1;
        for (const char *c = region[r].end->start; c < at; c++)
            next += *c == '\n'; /* an end that is continued */
        at += strcspn(at, "\n");
        at += *at == '\n';
        put_line(out, source->path, next);
    }
    fputs(at, out);
}
