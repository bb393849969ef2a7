/* cli/region.c - find the regions of a program, and read their clauses. */
#include "cli/region.h"

#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "cli/report.h"

static const char pragma[] = "#pragma dcl loops", end_pragma[] = "#pragma dcl end";

/* ---- clauses ------------------------------------------------------------------------------------------------------- */

/* Clauses that are read. */
typedef struct reader {
    cli_source *source;
    cli_region *region;
    const cli_token *at;
    cli_part type; /* of the name before: `double A[n], B[n]` */
    dcl_type element;
} reader;

static bool refuse(reader *reader, const char *expected)
{
    if (reader->at->kind == CLI_TOKEN_END)
        return cli_source_error(reader->source, reader->at, "pragma", NULL, "the pragma ends here; expected %s",
                                expected);
    return cli_source_error(reader->source, reader->at, "pragma", NULL, "found %.*s; expected %s", reader->at->length,
                            reader->at->start, expected);
}

static bool take(reader *reader, const char *spelling, const char *expected)
{
    if (!cli_token_is(reader->at, spelling))
        return refuse(reader, expected);
    reader->at++;
    return true;
}

static const char type_words[] =
    "char short int long float double signed unsigned int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t "
    "uint64_t size_t const";

bool cli_region_is_type(const cli_token *token) { return cli_token_in(token, type_words); }

static int count_words(const cli_part *type, const char *word)
{
    int count = 0;
    for (int t = 0; t < type->count; t++)
        count += cli_token_is(&type->token[t], word);
    return count;
}

/* Which type some words are. */
static bool find_type(const cli_part *type, dcl_type *out)
{
    static const struct {
        const char *word;
        dcl_type type;
    } single[] = {{"float", DCL_FLOAT},     {"double", DCL_DOUBLE},   {"int8_t", DCL_INT8},   {"int16_t", DCL_INT16},
                  {"int32_t", DCL_INT32},   {"int64_t", DCL_INT64},   {"uint8_t", DCL_UINT8}, {"uint16_t", DCL_UINT16},
                  {"uint32_t", DCL_UINT32}, {"uint64_t", DCL_UINT64}, {"size_t", DCL_UINT64}};
    int words = type->count - count_words(type, "const");
    for (size_t s = 0; s < sizeof single / sizeof single[0]; s++)
        if (count_words(type, single[s].word) > 0) {
            *out = single[s].type;
            return words == 1;
        }
    bool is_unsigned = count_words(type, "unsigned") > 0;
    int size = count_words(type, "char") > 0    ? 0
               : count_words(type, "short") > 0 ? 1
               : count_words(type, "long") > 0  ? 3
                                                : 2;
    if (size == 0 && !is_unsigned && count_words(type, "signed") == 0 && (char)-1 > 0)
        is_unsigned = true;
    static const dcl_type integers[2][4] = {{DCL_INT8, DCL_INT16, DCL_INT32, DCL_INT64},
                                            {DCL_UINT8, DCL_UINT16, DCL_UINT32, DCL_UINT64}};
    *out = integers[is_unsigned][size];
    return words > 0;
}

/* Read a type, or take that of the name before. */
static bool read_type(reader *reader)
{
    cli_part type = {reader->at, 0};
    while (cli_region_is_type(&type.token[type.count]))
        type.count++;
    reader->at += type.count;
    if (type.count == 0 && reader->type.count > 0)
        return true;
    if (type.count > 0 && find_type(&type, &reader->element)) {
        reader->type = type;
        return true;
    }
    return refuse(reader, "a type, as double, float, int or long, and a name");
}

static bool is_taken(const cli_region *region, const cli_token *name)
{
    for (int a = 0; a < region->array_count; a++)
        if (cli_token_same(&region->array[a].name, name))
            return true;
    for (int v = 0; v < region->value_count; v++)
        if (cli_token_same(&region->value[v].name, name))
            return true;
    return false;
}

static bool read_name(reader *reader, cli_token *name_out)
{
    if (reader->at->kind != CLI_TOKEN_NAME)
        return refuse(reader, "a name");
    if (is_taken(reader->region, reader->at))
        return cli_source_error(reader->source, reader->at, "twice",
                                "name each array and scalar once; use inout for both", "%.*s is in two clauses",
                                reader->at->length, reader->at->start);
    *name_out = *reader->at++;
    return true;
}

static bool read_extent(reader *reader, cli_region_array *array)
{
    if (array->rank == DCL_MAX_RANK)
        return cli_source_error(reader->source, reader->at, "rank", NULL, "%.*s has more than %d axes",
                                array->name.length, array->name.start, DCL_MAX_RANK);
    cli_part *extent = &array->extent[array->rank++];
    *extent = (cli_part){++reader->at, 0};
    for (int inside = 0; reader->at->kind != CLI_TOKEN_END; reader->at++, extent->count++) {
        if (inside == 0 && cli_token_is(reader->at, "]"))
            break;
        inside += cli_token_in(reader->at, "( [") - cli_token_in(reader->at, ") ]");
    }
    if (extent->count == 0)
        return refuse(reader, "a size");
    return take(reader, "]", "] after a size");
}

static bool read_array(reader *reader, dcl_access access)
{
    cli_region *region = reader->region;
    if (region->array_count == CLI_REGION_ARRAYS)
        return cli_source_error(reader->source, reader->at, "too-large", NULL, "the region has more than %d arrays",
                                CLI_REGION_ARRAYS);
    cli_region_array *array = &region->array[region->array_count];
    *array = (cli_region_array){.access = access};
    if (!read_type(reader) || !read_name(reader, &array->name))
        return false;
    array->type = reader->type;
    array->element = reader->element;
    if (access != DCL_ACCESS_IN && count_words(&array->type, "const") > 0)
        return cli_source_error(reader->source, &array->name, "pragma", NULL, "%.*s is const and is written",
                                array->name.length, array->name.start);
    if (!cli_token_is(reader->at, "["))
        return refuse(reader, "[ and the size of an axis; scalars are in the clause value");
    while (cli_token_is(reader->at, "["))
        if (!read_extent(reader, array))
            return false;
    region->array_count++;
    return true;
}

static bool read_value(reader *reader)
{
    cli_region *region = reader->region;
    if (region->value_count == CLI_REGION_VALUES)
        return cli_source_error(reader->source, reader->at, "too-large", NULL, "the region has more than %d scalars",
                                CLI_REGION_VALUES);
    cli_region_value *value = &region->value[region->value_count];
    if (!read_type(reader) || !read_name(reader, &value->name))
        return false;
    value->type = reader->type;
    value->element = reader->element;
    if (cli_token_is(reader->at, "["))
        return refuse(reader, "a scalar; arrays are in the clauses in, inout and out");
    region->value_count++;
    return true;
}

static bool read_clause(reader *reader)
{
    static const char *const names[] = {"in", "inout", "out", "value"};
    static const dcl_access access[] = {DCL_ACCESS_IN, DCL_ACCESS_INOUT, DCL_ACCESS_OUT, DCL_ACCESS_VALUE};
    enum { CLAUSES = 4 };
    int clause = 0;
    while (clause < CLAUSES && !cli_token_is(reader->at, names[clause]))
        clause++;
    if (clause == CLAUSES) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", reader->at->length, reader->at->start);
        return cli_source_error(reader->source, reader->at, "clause",
                                "write in(double A[n][m], ...) inout(...) out(...) value(double alpha, ...)",
                                "%s is no clause; the nearest is %s", word, names[cli_nearest(word, CLAUSES, names)]);
    }
    reader->at++;
    reader->type = (cli_part){0};
    if (!take(reader, "(", "( after the name of a clause"))
        return false;
    do {
        if (access[clause] == DCL_ACCESS_VALUE ? !read_value(reader) : !read_array(reader, access[clause]))
            return false;
    } while (cli_token_is(reader->at, ",") && reader->at++);
    return take(reader, ")", ", or ) in a clause");
}

bool cli_region_clauses(cli_source *source, cli_region *region)
{
    int count;
    region->clause = cli_source_cut_directive(region->pragma, 3, &count);
    reader reader = {.source = source, .region = region, .at = region->clause};
    while (reader.at->kind != CLI_TOKEN_END) {
        if (!read_clause(&reader))
            return false;
        reader.at += cli_token_is(reader.at, ",");
    }
    return region->array_count > 0 ||
           cli_source_error(source, region->pragma, "pragma", "write in(double A[n][m], ...) inout(...) out(...)",
                            "the region names no array");
}

/* ---- regions ------------------------------------------------------------------------------------------------------- */

/* A search through a program. */
typedef struct search {
    cli_source *source;
    cli_constants constants;
    int braces; /* open here */
    cli_region_fn *found;
    void *user;
    int count;
} search;

/* A region jumps out if a jump leads out of its loops; within loops a nest has no jumps either. */
static bool check_jumps(cli_source *source, const cli_region *region)
{
    bool right = true;
    for (const cli_token *token = region->pragma + 1; token < region->end; token++)
        if (token->kind == CLI_TOKEN_NAME && cli_token_in(token, "return goto break continue"))
            right = cli_source_error(source, token, "jump",
                                     "write the condition into the bounds of the loop, or as an if; or end the region "
                                     "before it",
                                     "%.*s leaves a loop of the region, or the region", token->length, token->start);
    return right;
}

/* Check that the region is a sequence of whole statements inside of a function. */
static bool check_place(const search *search, const cli_region *region)
{
    const cli_token *before = region->pragma - 1;
    cli_source *source = search->source;
    if (search->braces == 0)
        return cli_source_error(source, region->pragma, "place", NULL, "the region is in no function");
    while (before > source->token && before->kind == CLI_TOKEN_DIRECTIVE)
        before--;
    if (before->kind != CLI_TOKEN_DIRECTIVE && !cli_token_in(before, "; { } :"))
        return cli_source_error(source, region->pragma, "place",
                                "put braces around the region, as if (...) { #pragma dcl loops ... #pragma dcl end }",
                                "the region does not begin between two statements");
    int open = 0;
    for (const cli_token *token = region->pragma + 1; token < region->end; token++) {
        open += cli_token_is(token, "{") - cli_token_is(token, "}");
        if (open < 0)
            return cli_source_error(source, token, "place", "the region must contain whole statements",
                                    "this brace is opened before the region");
    }
    return open == 0 || cli_source_error(source, region->end, "place", "the region must contain whole statements",
                                         "a brace of the region is not closed before its end");
}

/* The loops are the lines between the two directives. */
static void set_text(const search *search, cli_region *region)
{
    const char *begin = region->pragma->start + region->pragma->length, *end = region->end->start;
    begin += strcspn(begin, "\n");
    region->text = *begin == '\n' ? begin + 1 : begin;
    while (end > search->source->text && end[-1] != '\n')
        end--;
    region->length = end > region->text ? (int)(end - region->text) : 0;
}

/* Handle the region that begins at a token. @return the last token of it. */
static int visit_region(search *search, int at)
{
    cli_source *source = search->source;
    cli_region region = {.pragma = &source->token[at]};
    int end = at + 1;
    for (; source->token[end].kind != CLI_TOKEN_END; end++) {
        if (source->token[end].kind != CLI_TOKEN_DIRECTIVE)
            continue;
        if (cli_directive_is(&source->token[end], end_pragma))
            break;
        if (cli_directive_is(&source->token[end], pragma))
            cli_source_error(source, &source->token[end], "nested", "end the region before with #pragma dcl end",
                             "this region begins inside of the one of line %d", region.pragma->line);
    }
    search->count++;
    if (source->token[end].kind == CLI_TOKEN_END) {
        cli_source_error(source, region.pragma, "no-end", "write #pragma dcl end after its loops",
                         "this region has no end");
        return end - 1;
    }
    region.end = &source->token[end];
    set_text(search, &region);
    int before = source->errors;
    cli_region_clauses(source, &region);
    check_place(search, &region);
    check_jumps(source, &region);
    if (source->errors == before && cli_region_names(source, &region, &search->constants))
        search->found(search->user, &region, &search->constants);
    else
        free(region.clause);
    return end;
}

/* Handle a directive. @return the last token that belongs to it. */
static int visit_directive(search *search, int at)
{
    cli_source *source = search->source;
    const cli_token *token = &source->token[at];
    cli_constants_directive(&search->constants, token);
    if (cli_directive_is(token, pragma))
        return visit_region(search, at);
    if (cli_directive_is(token, end_pragma))
        cli_source_error(source, token, "no-begin", "write #pragma dcl loops and its clauses before the loops",
                         "no region begins before this end");
    else if (cli_directive_is(token, "#pragma dcl"))
        cli_source_error(source, token, "pragma", "write #pragma dcl loops CLAUSES, or #pragma dcl end",
                         "this is no pragma of DCL");
    return at;
}

int cli_regions_find(cli_source *source, cli_region_fn *found, void *user)
{
    search search = {.source = source, .found = found, .user = user};
    for (int at = 0; source->token[at].kind != CLI_TOKEN_END; at++) {
        const cli_token *token = &source->token[at];
        if (token->kind == CLI_TOKEN_DIRECTIVE)
            at = visit_directive(&search, at);
        else if (cli_token_is(token, "enum"))
            cli_constants_enum(&search.constants, token + 1);
        else
            search.braces += cli_token_is(token, "{") - cli_token_is(token, "}");
    }
    cli_constants_free(&search.constants);
    return search.count;
}
