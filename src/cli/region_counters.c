/* cli/region_counters.c - the values that C's loops leave in their counters, as statements: the loops without their
 * assignments, and the innermost ones by arithmetic. */
#include "cli/region.h"

enum { DEEPEST = 100 /* statements inside of each other; deeper ones are refused as nests */ };

typedef struct writer {
    FILE *out;
    const cli_region *region;
    const char *indent;
    int depth;
} writer;

/* The parts of `for (first; limit; step)`. */
typedef struct header {
    cli_part all, first, limit, step;
    const cli_token *body;
} header;

/* Write tokens in one line. */
static void put(const writer *writer, const cli_part *part)
{
    for (int t = 0; t < part->count; t++)
        fprintf(writer->out, "%s%.*s", t > 0 ? " " : "", part->token[t].length, part->token[t].start);
}

static void begin_line(const writer *writer) { fprintf(writer->out, "%s%*s", writer->indent, 4 * writer->depth, ""); }

static bool is_counter(const cli_region *region, const cli_token *name)
{
    for (int c = 0; c < region->counter_count; c++)
        if (cli_token_same(&region->counter[c], name))
            return true;
    return false;
}

/* Whether tokens contain a loop whose counter is declared outside of the region. */
static bool counts(const writer *writer, const cli_token *at, const cli_token *end)
{
    for (; at + 2 < end; at++)
        if (cli_token_is(at, "for") && cli_token_is(&at[1], "(") && is_counter(writer->region, &at[2]))
            return true;
    return false;
}

/* The token after the bracket that closes the one at `at`. */
static const cli_token *after_bracket(const writer *writer, const cli_token *at)
{
    int inside = 0;
    for (; at < writer->region->end; at++) {
        inside += cli_token_in(at, "( {") - cli_token_in(at, ") }");
        if (inside == 0)
            return at + 1;
    }
    return at;
}

static header read_header(const writer *writer, const cli_token *at)
{
    header header = {.all = {&at[1], 0}, .body = after_bracket(writer, &at[1])};
    cli_part *parts[] = {&header.first, &header.limit, &header.step};
    int part = 0;
    header.all.count = (int)(header.body - header.all.token);
    for (const cli_token *token = &at[2]; token + 1 < header.body && part < 3; token++) {
        if (cli_token_is(token, ";")) {
            part++;
            continue;
        }
        if (parts[part]->count++ == 0)
            parts[part]->token = token;
    }
    return header;
}

static const cli_token *after_statement(const writer *writer, const cli_token *at, int depth)
{
    const cli_token *end = writer->region->end;
    while (at < end && at->kind == CLI_TOKEN_DIRECTIVE)
        at++;
    if (at >= end || depth > DEEPEST)
        return end;
    if (cli_token_is(at, "{"))
        return after_bracket(writer, at);
    if (cli_token_is(at, "for") && cli_token_is(&at[1], "("))
        return after_statement(writer, after_bracket(writer, &at[1]), depth + 1);
    if (cli_token_is(at, "if") && cli_token_is(&at[1], "(")) {
        at = after_statement(writer, after_bracket(writer, &at[1]), depth + 1);
        return at < end && cli_token_is(at, "else") ? after_statement(writer, at + 1, depth + 1) : at;
    }
    while (at < end && !cli_token_is(at, ";"))
        at = cli_token_in(at, "( {") ? after_bracket(writer, at) : at + 1;
    return at < end ? at + 1 : end;
}

/* The step of a loop, always above 0, without its sign. @return false: it has an unusual form. */
static bool find_step(const header *header, bool rises, cli_part *step_out)
{
    const cli_token *token = header->step.token;
    int count = header->step.count;
    *step_out = (cli_part){0};
    if (count == 2)
        return cli_token_is(&token[0], rises ? "++" : "--") || cli_token_is(&token[1], rises ? "++" : "--");
    if (count >= 3 && cli_token_is(&token[1], rises ? "+=" : "-=")) {
        *step_out = (cli_part){&token[2], count - 2};
        return true;
    }
    if (count == 5 && cli_token_is(&token[1], "=") && cli_token_same(&token[0], &token[2]) &&
        cli_token_is(&token[3], rises ? "+" : "-")) {
        *step_out = (cli_part){&token[4], 1};
        return true;
    }
    return false;
}

/* Write what an innermost loop leaves in its counter. */
static void write_innermost(const writer *writer, const header *header)
{
    static const cli_token none = {.kind = CLI_TOKEN_END};
    const cli_token *name = &header->first.token[0],
                    *relation = header->limit.count >= 3 ? &header->limit.token[1] : &none;
    bool rises = cli_token_in(relation, "< <="), open = cli_token_in(relation, "< >");
    cli_part limit = {relation + 1, header->limit.count - 2}, step;
    begin_line(writer);
    if (!cli_token_in(relation, "< <= > >=") || !cli_token_same(name, &header->limit.token[0]) ||
        !find_step(header, rises, &step)) {
        fputs("for ", writer->out);
        put(writer, &header->all);
        fputs("\n", writer->out);
        begin_line(writer);
        fputs("    ;\n", writer->out);
        return;
    }
    put(writer, &header->first);
    fprintf(writer->out, ";\n");
    begin_line(writer);
    fputs("if (", writer->out);
    put(writer, &header->limit);
    fputs(")\n", writer->out);
    begin_line(writer);
    fprintf(writer->out, "    %.*s %s= (", name->length, name->start, rises ? "+" : "-");
    if (!rises)
        fprintf(writer->out, "%.*s - ", name->length, name->start);
    fputs("(", writer->out);
    put(writer, &limit);
    fputs(")", writer->out);
    if (rises)
        fprintf(writer->out, " - %.*s", name->length, name->start);
    fputs(open ? " - 1)" : ")", writer->out);
    if (step.count > 0) {
        fputs(" / (", writer->out);
        put(writer, &step);
        fputs(") * (", writer->out);
        put(writer, &step);
        fputs(") + (", writer->out);
        put(writer, &step);
        fputs(");\n", writer->out);
    } else {
        fputs(" + 1;\n", writer->out);
    }
}

static const cli_token *write_statement(writer *writer, const cli_token *at);

static void write_inside(writer *writer, const cli_token *body)
{
    fputs(" {\n", writer->out);
    writer->depth++;
    write_statement(writer, body);
    writer->depth--;
    begin_line(writer);
    fputs("}", writer->out);
}

static void write_loop(writer *writer, const cli_token *at, const cli_token *end)
{
    header header = read_header(writer, at);
    bool inside = counts(writer, header.body, end);
    if (!inside && header.first.count > 0 && is_counter(writer->region, header.first.token))
        write_innermost(writer, &header);
    if (!inside)
        return;
    begin_line(writer);
    fputs("for ", writer->out);
    if (header.first.count > 0 && !cli_region_is_type(header.first.token) &&
        !is_counter(writer->region, header.first.token)) { /* declared before, in the region */
        fputs("(long ", writer->out);
        header.all.token++;
        header.all.count--;
    }
    put(writer, &header.all);
    write_inside(writer, header.body);
    fputs("\n", writer->out);
}

static void write_if(writer *writer, const cli_token *at, const cli_token *end)
{
    const cli_token *yes = after_bracket(writer, &at[1]), *no = after_statement(writer, yes, 0);
    begin_line(writer);
    fputs("if ", writer->out);
    put(writer, &(cli_part){&at[1], (int)(yes - &at[1])});
    write_inside(writer, yes);
    if (no + 1 < end && cli_token_is(no, "else")) {
        fputs(" else", writer->out);
        write_inside(writer, no + 1);
    }
    fputs("\n", writer->out);
}

/* Write what is left of a statement. @return what follows it. */
static const cli_token *write_statement(writer *writer, const cli_token *at)
{
    const cli_token *end = after_statement(writer, at, 0);
    while (at < end && at->kind == CLI_TOKEN_DIRECTIVE)
        at++;
    if (at >= end || writer->depth > DEEPEST || !counts(writer, at, end))
        return end;
    if (cli_token_is(at, "{")) {
        for (at++; at + 1 < end;)
            at = write_statement(writer, at);
    } else if (cli_token_is(at, "for")) {
        write_loop(writer, at, end);
    } else if (cli_token_is(at, "if")) {
        write_if(writer, at, end);
    }
    return end;
}

void cli_region_write_counters(FILE *out, const cli_region *region, const char *indent)
{
    writer writer = {out, region, indent, 0};
    for (const cli_token *at = region->pragma + 1; at < region->end;)
        at = write_statement(&writer, at);
}
