/* cli/loops.c - `dcl loops`: report how the regions of a C program would run, print them as
 * schemes, or put calls in their place. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/nest_moved.h"
#include "cli/options.h"
#include "cli/region.h"
#include "cli/report.h"
#include "loop/describe.h"

enum {
    ASSUMED = 64 /* of sizes that are not known */,
    MOST_SET = 64,
    MOST_LISTED = 32 /* names in an error */,
    MOST_NODES = 1024
};

typedef struct request {
    const char *path, *out, *scheme;
    bool report;
    int nodes; /* 0: not given */
    int set_count;
    const char *set[MOST_SET]; /* NAME=VALUE */
} request;

/* A program that is worked at. */
typedef struct work {
    const request *request;
    cli_source source;
    int count, capacity;
    cli_region *region;  /* for -o */
    char assumed[512];   /* of the current region: "n = 64, m = 64" */
    bool used[MOST_SET]; /* by --set: a region has this name */
    int name_count;
    const cli_token *name[MOST_LISTED]; /* those that --set can choose, each once */
} work;

/* ---- the values of names ------------------------------------------------------------------------------------------- */

static void list_name(work *work, const cli_token *name)
{
    for (int n = 0; n < work->name_count; n++)
        if (work->name[n]->length == name->length &&
            memcmp(work->name[n]->start, name->start, (size_t)name->length) == 0)
            return;
    if (work->name_count < MOST_LISTED)
        work->name[work->name_count++] = name;
}

/* The value of a name by --set; else one is assumed. */
static bool value_of(void *user, const cli_token *name, cli_number *out)
{
    work *work = user;
    *out = (cli_number){.integer = ASSUMED};
    list_name(work, name);
    for (int s = 0; s < work->request->set_count; s++) {
        const char *set = work->request->set[s], *equals = strchr(set, '=');
        if (equals - set == name->length && memcmp(set, name->start, (size_t)name->length) == 0) {
            out->integer = strtoll(equals + 1, NULL, 10);
            work->used[s] = true;
            return true;
        }
    }
    char said[128];
    snprintf(said, sizeof said, "%.60s%.*s = %d", work->assumed[0] != '\0' ? ", " : "", name->length, name->start,
             ASSUMED);
    if (strstr(work->assumed, said + strspn(said, ", ")) == NULL)
        strncat(work->assumed, said, sizeof work->assumed - strlen(work->assumed) - 1);
    return true;
}

static bool copy_name(work *work, const cli_token *name, char name_out[48])
{
    if (name->length >= 48)
        return cli_source_error(&work->source, name, "syntax", NULL, "this name is longer than 47 characters");
    memcpy(name_out, name->start, (size_t)name->length);
    return true;
}

static bool describe_array(work *work, const cli_region_array *array, const cli_constants *constants,
                           dcl_nest_argument *out)
{
    *out = (dcl_nest_argument){.access = array->access, .type = array->element, .rank = array->rank};
    for (int d = 0; d < array->rank; d++) {
        cli_number size;
        if (!cli_number_of(constants, array->extent[d].token, array->extent[d].count, &size) || size.is_real)
            return cli_source_error(&work->source, array->extent[d].token, "size",
                                    "use integers, names and + - * / %; or compute the size into a variable before",
                                    "this size is no integer expression of names");
        if (size.integer < 1)
            return cli_source_error(&work->source, array->extent[d].token, "size", NULL,
                                    "this size is %lld; expected 1 or more", size.integer);
        out->extent[d] = size.integer;
    }
    return copy_name(work, &array->name, out->name);
}

static bool is_integer(dcl_type type) { return type >= DCL_INT8 && type <= DCL_UINT64; }

static bool describe_value(work *work, const cli_region_value *value, const cli_constants *constants,
                           dcl_nest_argument *out)
{
    *out = (dcl_nest_argument){.access = DCL_ACCESS_VALUE, .type = value->element};
    cli_number number = {0};
    if (is_integer(value->element) && !cli_number_of(constants, &value->name, 1, &number))
        number = (cli_number){.integer = ASSUMED};
    if (number.is_real)
        out->type = DCL_DOUBLE;
    out->value = number.integer;
    return copy_name(work, &value->name, out->name);
}

/* ---- a region ------------------------------------------------------------------------------------------------------ */

static char *text_of(const work *work, const cli_region *region)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    int line = region->pragma->line;
    for (const char *at = region->pragma->start; at < region->text; at++)
        line += *at == '\n';
    fprintf(out, "#line %d \"", line);
    for (const char *at = work->request->path; *at != '\0'; at++)
        fprintf(out, *at == '\\' || *at == '"' ? "\\%c" : "%c", *at);
    fputs("\"\n", out);
    fwrite(region->text, 1, (size_t)region->length, out);
    return fclose(out) == 0 ? text : NULL;
}

/* Print what the library says of the loops of a region: about lines of the program's file. */
static void print_refusal(work *work, const cli_region *region, dcl_status status)
{
    const char *sentence = cli_library_sentence();
    if (status != DCL_ERR_BODY)
        fprintf(stderr, "%s:%d:%d: error: ", work->request->path, region->pragma->line, region->pragma->column);
    fprintf(stderr, "%s\n", sentence);
    if (work->assumed[0] != '\0' && work->request->out == NULL)
        fprintf(stderr, "  note: for %s; --set chooses\n", work->assumed);
    work->source.errors++;
}

static void print_report(const work *work, const cli_region *region, const char *text)
{
    printf("%s:%d: region of lines %d to %d", work->request->path, region->pragma->line, region->pragma->line,
           region->end->line);
    if (work->assumed[0] != '\0')
        printf(", for %s (--set chooses)", work->assumed);
    printf("\n%s", text);
}

/* Ask the library about the loops of a region. */
static void ask(work *work, const cli_region *region, int count, const dcl_nest_argument arguments[])
{
    char *nest = text_of(work, region), *said = NULL;
    bool only_read = work->request->out != NULL && work->assumed[0] != '\0'; /* some errors depend on sizes */
    if (nest == NULL) {
        cli_fail("no memory for the loops of a region");
        work->source.errors++;
        return;
    }
    dcl_status status = dcl_nest_describe(nest, count, arguments, only_read, work->request->scheme, &said);
    if (status != DCL_OK)
        print_refusal(work, region, status);
    else if (work->request->out == NULL)
        print_report(work, region, said);
    if (status == DCL_OK && work->request->nodes > 0 &&
        (status = cli_print_moved(nest, work->request->nodes, count, arguments)) != DCL_OK)
        print_refusal(work, region, status);
    dcl_nest_forget(said);
    free(nest);
}

static void keep(work *work, const cli_region *region)
{
    if (work->count == work->capacity) {
        int capacity = work->capacity > 0 ? 2 * work->capacity : 8;
        cli_region *more = cli_alloc((size_t)capacity, sizeof *more);
        if (work->count > 0)
            memcpy(more, work->region, (size_t)work->count * sizeof *more);
        free(work->region);
        work->region = more;
        work->capacity = capacity;
    }
    work->region[work->count++] = *region;
}

static void visit(void *user, const cli_region *region, const cli_constants *constants)
{
    work *work = user;
    dcl_nest_argument arguments[CLI_REGION_ARRAYS + CLI_REGION_VALUES];
    cli_constants known = *constants;
    int count = 0;
    bool right = true;
    keep(work, region);
    work->assumed[0] = '\0';
    known.variable = value_of;
    known.user = work;
    for (int a = 0; a < region->array_count; a++)
        right &= describe_array(work, &region->array[a], &known, &arguments[count++]);
    for (int v = 0; v < region->value_count; v++)
        right &= describe_value(work, &region->value[v], &known, &arguments[count++]);
    if (right)
        ask(work, region, count, arguments);
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

/* Open a new file beside another one, whose place and mode it gets later. @param before  the other one; NULL: there is none */
static FILE *open_beside(const char *path, const struct stat *before, char beside_out[PATH_MAX])
{
    if ((size_t)snprintf(beside_out, PATH_MAX, "%s.%ld.new", path, (long)getpid()) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int file = open(beside_out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 && before != NULL && fchmod(file, before->st_mode & 0777) != 0) {
        close(file);
        unlink(beside_out);
        return NULL;
    }
    return file >= 0 ? fdopen(file, "w") : NULL;
}

/* Write the generated program. An existing file is replaced only when all has been written; a pipe or device is written directly. */
static int write_out(const work *work)
{
    const char *path = work->request->out;
    struct stat before;
    bool exists = stat(path, &before) == 0, is_file = !exists || S_ISREG(before.st_mode);
    char real[PATH_MAX], beside[PATH_MAX];
    const char *to = exists && is_file && realpath(path, real) != NULL ? real : path; /* a link stays one */
    FILE *out = is_file ? open_beside(to, exists ? &before : NULL, beside) : fopen(path, "w");
    if (out == NULL)
        return cli_fail("%s cannot be written: %s; expected a file name of a folder that is there", path,
                        strerror(errno));
    cli_regions_write(out, &work->source, work->count, work->region);
    bool failed = ferror(out) != 0;
    failed |= fclose(out) != 0;
    if (!failed && (!is_file || rename(beside, to) == 0))
        return CLI_OK;
    int status = cli_fail("%s cannot be written: %s; expected room for it", path, strerror(errno));
    if (is_file)
        unlink(beside);
    return status;
}

/* Check that each --set has chosen something. */
static int check_set(const work *work)
{
    char names[MOST_LISTED * 50] = "";
    for (int n = 0; n < work->name_count; n++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.*s", n > 0 ? ", " : "",
                 work->name[n]->length, work->name[n]->start);
    for (int s = 0; s < work->request->set_count; s++)
        if (!work->used[s] && work->name_count > 0)
            return cli_fail(
                "--set is '%s', but the regions of %s have no such size or value to choose; expected one of: %s",
                work->request->set[s], work->request->path, names);
        else if (!work->used[s])
            return cli_fail("--set is '%s', but all sizes and values of the regions of %s are known; expected no --set",
                            work->request->set[s], work->request->path);
    return CLI_OK;
}

static int run(const request *request, const char *text)
{
    work work = {.request = request};
    cli_source_cut(request->path, text, &work.source);
    int count = cli_regions_find(&work.source, visit, &work), status = CLI_OK;
    if (count == 0 && work.source.errors == 0)
        status =
            cli_fail("%s has no region; expected #pragma dcl loops ... before loops, and #pragma dcl end after them",
                     request->path);
    else if (work.source.errors > 0)
        status = CLI_FAILURE;
    else if ((status = check_set(&work)) == CLI_OK && request->out != NULL)
        status = write_out(&work);
    for (int r = 0; r < work.count; r++)
        free(work.region[r].clause);
    free(work.region);
    cli_source_free(&work.source);
    return status;
}

/* Read a whole text file. @return NULL after a sentence. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t bytes = 0, taken = 0;
    FILE *copy = open_memstream(&text, &bytes);
    char part[4096];
    while (file != NULL && copy != NULL && (taken = fread(part, 1, sizeof part, file)) > 0)
        fwrite(part, 1, taken, copy);
    bool failed = file == NULL || copy == NULL || ferror(file) != 0;
    int error = errno;
    if (file != NULL)
        fclose(file);
    if (copy != NULL)
        failed |= fclose(copy) != 0;
    if (!failed && strlen(text) == bytes)
        return text;
    free(text);
    if (failed)
        cli_fail("%s cannot be read: %s; expected a C program", path, strerror(error));
    else
        cli_fail("%s contains a byte 0; expected a C program", path);
    return NULL;
}

static int take_set(void *into, char *value)
{
    request *request = into;
    char *equals = strchr(value, '='), *end = NULL;
    if (request->set_count == MOST_SET)
        return cli_usage("loops", "--set was given more than %d times", MOST_SET);
    errno = 0;
    if (equals != NULL && equals > value)
        strtoll(equals + 1, &end, 10);
    if (end == NULL || end == equals + 1 || *end != '\0' || errno != 0)
        return cli_usage("loops", "--set is '%s'; expected NAME=VALUE with a whole number of 64 bits, such as n=1000",
                         value);
    request->set[request->set_count++] = value;
    return CLI_OK;
}

static int take_path(void *into, char *text)
{
    request *request = into;
    if (request->path != NULL)
        return cli_usage("loops", "'%s' was given beside %s; expected one file", text, request->path);
    request->path = text;
    return CLI_OK;
}

/* Whether two paths name one file. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return strcmp(a, b) == 0 || (stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
                                 first.st_ino == second.st_ino);
}

int cli_loops(int count, char **list)
{
    static const char *const schemes[] = {"en", "uk", "ru", NULL};
    static const cli_option options[] = {
        {"report", NULL, CLI_FLAG, offsetof(request, report), 0, 0, 0, NULL, NULL},
        {"output", "FILE", CLI_TEXT, offsetof(request, out), 0, 0, 0, NULL, NULL},
        {"nodes", "N", CLI_INT, offsetof(request, nodes), 1, MOST_NODES, 0, NULL, NULL},
        {"scheme", "LANGUAGE", CLI_WORD, offsetof(request, scheme), 0, 0, 0, schemes, NULL},
        {"set", "NAME=VALUE", CLI_BY_FUNCTION, 0, 0, 0, 0, NULL, take_set},
        {NULL},
    };
    static char output[] = "--output";
    request request = {0};
    for (int a = 0; a < count; a++)
        if (strcmp(list[a], "-o") == 0)
            list[a] = output;
    int status = cli_parse(&(cli_arguments){"loops", options, take_path, count, list}, &request);
    if (status != CLI_OK)
        return status == CLI_HELP ? cli_help_about("loops") : status;
    if (request.path == NULL)
        return cli_usage("loops", "no file was given; expected a C program");
    if (request.report + (request.out != NULL) + (request.scheme != NULL) != 1)
        return cli_usage("loops", "expected one of --report, --scheme LANGUAGE and -o OUT.c");
    if (request.nodes > 0 && !request.report)
        return cli_usage("loops", "--nodes was given without --report; expected both");
    if (request.out != NULL && is_same_file(request.out, request.path))
        return cli_usage("loops", "-o is the program itself; expected another file");
    char *text = read_file(request.path);
    if (text == NULL)
        return CLI_FAILURE;
    status = run(&request, text);
    free(text);
    return status;
}
