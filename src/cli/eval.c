/* cli/eval.c - `dcl eval`: run a body over arrays in files. No file is written before everything is computed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

#include "cli/body_text.h"
#include "cli/commands.h"
#include "cli/eval_request.h"
#include "cli/eval_results.h"
#include "cli/explained.h"
#include "cli/figures.h"
#include "cli/options.h" /* CLI_HELP */
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/settings.h"

/* The state of an evaluation. */
struct evaluation {
    cli_request *request;
    dcl_cluster *cluster;
    dcl_array *array[CLI_MAX_ARGUMENTS];                   /* by operand; they end with the cluster */
    dcl_arg args[CLI_MAX_ARGUMENTS + CLI_MAX_RESULTS + 3]; /* and those of --over, --scan */
    int arg_count;
    cli_figures figures;
    dcl_report *report; /* the report that --explain prints, or of which a map is printed; NULL: none */
    bool lends;         /* batches may be lent */
    const char **names;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + time.tv_nsec * 1e-9;
}

static int make_array(struct evaluation *evaluation, int n)
{
    const cli_operand *operand = &evaluation->request->operand[n];
    dcl_map *map =
        operand->map != NULL ? dcl_map_parse(evaluation->cluster, operand->map) : dcl_map_default(evaluation->cluster);
    evaluation->array[n] = dcl_agile(operand->grid, map);
    dcl_release(map);
    if (evaluation->array[n] == NULL)
        return cli_library_failed();
    evaluation->args[evaluation->arg_count++] = dcl_arg_array(operand->access, operand->name, evaluation->array[n]);
    return CLI_OK;
}

static int make_arguments(struct evaluation *evaluation)
{
    const cli_request *request = evaluation->request;
    for (int n = 0; n < request->operand_count; n++) {
        int status = make_array(evaluation, n);
        if (status != CLI_OK)
            return status;
    }
    for (int n = 0; n < request->value_count; n++)
        evaluation->args[evaluation->arg_count++] = request->value[n];
    if (request->over != NULL)
        evaluation->args[evaluation->arg_count++] = DCL_OVER(request->over);
    if (request->scan != NULL)
        evaluation->args[evaluation->arg_count++] = DCL_ALONG(request->scan);
    if (request->exclusive)
        evaluation->args[evaluation->arg_count++] = DCL_EXCLUSIVE;
    for (int r = 0; r < request->result_count; r++)
        evaluation->args[evaluation->arg_count++] = cli_result_arg(&evaluation->request->result[r]);
    return CLI_OK;
}

static double bytes_of(const cli_operand *operand)
{
    return (double)dcl_grid_count(&operand->grid) * (double)dcl_type_bytes(operand->grid.type);
}

static int load(struct evaluation *evaluation)
{
    double begin = now(), loaded = 0, all = 0;
    for (int n = 0; n < evaluation->request->operand_count; n++)
        all += evaluation->request->operand[n].load ? bytes_of(&evaluation->request->operand[n]) : 0;
    cli_progress_say("loading");
    for (int n = 0; n < evaluation->request->operand_count; n++) {
        const cli_operand *operand = &evaluation->request->operand[n];
        cli_progress_count(loaded, all, "B");
        if (operand->load && dcl_load_npy(evaluation->array[n], operand->path) != DCL_OK)
            return cli_library_failed();
        loaded += operand->load ? bytes_of(operand) : 0;
    }
    if (dcl_wait(evaluation->cluster) != DCL_OK)
        return cli_library_failed();
    evaluation->figures.load_seconds = now() - begin;
    return CLI_OK;
}

/* Report a failed body. A name that the compiler does not know is probably a forgotten value, unless it is a
 * function. */
static int body_failed(const cli_request *request)
{
    static const char unknown[] = "undeclared identifier '";
    int status = cli_library_failed();
    const char *at = strstr(dcl_error(), unknown);
    char name[CLI_NAME_BYTES];
    if (at != NULL && sscanf(at + strlen(unknown), "%63[A-Za-z0-9_]", name) == 1 &&
        cli_body_mentions(request->body, name))
        cli_fail("if %s is a value, give it with --set %s=VALUE; if it is an array, with %s=FILE", name, name, name);
    return status;
}

/* The call that eval makes. */
static dcl_call call_of(const struct evaluation *evaluation)
{
    const cli_request *request = evaluation->request;
    dcl_call call = dcl_call_body(evaluation->cluster, NULL, request->body, evaluation->arg_count, evaluation->args);
    call.kind = request->kind;
    return call;
}

static int run_once(struct evaluation *evaluation, double *seconds_out)
{
    double begin = now();
    const dcl_call call = call_of(evaluation);
    if (dcl_call_run(&call) != DCL_OK || dcl_wait(evaluation->cluster) != DCL_OK)
        return body_failed(evaluation->request);
    *seconds_out = now() - begin;
    return CLI_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(int count, double values[])
{
    qsort(values, (size_t)count, sizeof values[0], compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Get the counters of every node, then of all together. */
static int count(struct evaluation *evaluation, dcl_counters counters_out[])
{
    int nodes = evaluation->figures.nodes;
    for (int n = 0; n <= nodes; n++)
        if (dcl_stats(evaluation->cluster, n < nodes ? n : DCL_ALL_NODES, &counters_out[n]) != DCL_OK)
            return cli_library_failed();
    return CLI_OK;
}

/* Counters of a run, as the difference of two; memory is the value at the end, not a difference. */
static dcl_counters difference(const dcl_counters *after, const dcl_counters *before)
{
    return (dcl_counters){
        .tasks = after->tasks - before->tasks,
        .blocks_moved = after->blocks_moved - before->blocks_moved,
        .bytes_moved = after->bytes_moved - before->bytes_moved,
        .messages_planned = after->messages_planned - before->messages_planned,
        .approximate = after->approximate - before->approximate,
        .bytes_sent = after->bytes_sent - before->bytes_sent,
        .bytes_copied = after->bytes_copied - before->bytes_copied,
        .messages_sent = after->messages_sent - before->messages_sent,
        .kernels_built = after->kernels_built - before->kernels_built,
        .launches = after->launches - before->launches,
        .storage_bytes = after->storage_bytes,
        .loans_asked = after->loans_asked - before->loans_asked,
        .loans_refused = after->loans_refused - before->loans_refused,
        .loans_won = after->loans_won - before->loans_won,
        .loans_taken_back = after->loans_taken_back - before->loans_taken_back,
        .loan_bytes = after->loan_bytes - before->loan_bytes,
        .loan_bytes_in_vain = after->loan_bytes_in_vain - before->loan_bytes_in_vain,
    };
}

/* Run the body several times: all runs are timed, but only the first is counted. */
static int run_counted(struct evaluation *evaluation, dcl_counters before[], dcl_counters after[], double seconds[])
{
    int status = count(evaluation, before), repeat = evaluation->request->repeat;
    cli_progress_say("running");
    for (int r = 0; r < repeat && status == CLI_OK; r++) {
        if (repeat > 1)
            cli_progress_count(r, repeat, "runs");
        status = run_once(evaluation, &seconds[r]);
        if (r == 0 && status == CLI_OK)
            status = count(evaluation, after);
    }
    return status;
}

static int run(struct evaluation *evaluation)
{
    cli_figures *figures = &evaluation->figures;
    size_t rows = (size_t)figures->nodes + 1;
    double *seconds = cli_alloc((size_t)evaluation->request->repeat, sizeof *seconds);
    dcl_counters *before = cli_alloc(rows, sizeof *before), *after = cli_alloc(rows, sizeof *after);
    int status = run_counted(evaluation, before, after, seconds);
    if (status == CLI_OK) {
        for (int n = 0; n < figures->nodes; n++)
            figures->node[n] = difference(&after[n], &before[n]);
        figures->total = difference(&after[figures->nodes], &before[figures->nodes]);
        figures->seconds = median(evaluation->request->repeat, seconds);
        figures->repeat = evaluation->request->repeat;
    }
    free(after);
    free(before);
    free(seconds);
    return status;
}

static bool saves_fortran(const cli_request *request)
{
    if (request->order != CLI_ORDER_AS_INPUTS)
        return request->order == CLI_ORDER_FORTRAN;
    bool any = false;
    for (int n = 0; n < request->operand_count; n++) {
        const cli_operand *operand = &request->operand[n];
        if (operand->load && operand->grid.rank > 1) { /* for rank 1 both orders are the same */
            if (!operand->fortran)
                return false;
            any = true;
        }
    }
    return any;
}

/* Temporary path of a result until all results are complete. */
static char *waiting_path(const char *path)
{
    size_t bytes = strlen(path) + 32;
    char *waiting = cli_alloc(bytes, 1);
    snprintf(waiting, bytes, "%s.%ld.part", path, (long)getpid());
    return waiting;
}

static dcl_status save_as(dcl_array *array, const cli_operand *operand, const cli_request *request, const char *path,
                          bool fortran)
{
    if (!operand->image)
        return dcl_save_npy_order(array, path, fortran);
    dcl_image image = request->image;
    image.format = strcasecmp(strrchr(operand->path, '.'), ".png") == 0 ? DCL_IMAGE_PNG : DCL_IMAGE_PGM;
    return dcl_save_image(array, path, &image);
}

static int save_waiting(struct evaluation *evaluation, char *waiting[])
{
    bool fortran = saves_fortran(evaluation->request);
    double saved = 0, all = 0;
    for (int n = 0; n < evaluation->request->operand_count; n++)
        if (evaluation->request->operand[n].access != DCL_ACCESS_IN)
            all += bytes_of(&evaluation->request->operand[n]);
    cli_progress_say("saving");
    for (int n = 0; n < evaluation->request->operand_count; n++) {
        const cli_operand *operand = &evaluation->request->operand[n];
        if (operand->access == DCL_ACCESS_IN)
            continue;
        cli_progress_count(saved, all, "B");
        waiting[n] = waiting_path(operand->path);
        if (save_as(evaluation->array[n], operand, evaluation->request, waiting[n], fortran) != DCL_OK)
            return cli_library_failed();
        saved += bytes_of(operand);
    }
    return CLI_OK;
}

static int rename_all(const cli_request *request, char *waiting[])
{
    for (int n = 0; n < request->operand_count; n++)
        if (waiting[n] != NULL && rename(waiting[n], request->operand[n].path) != 0)
            return cli_fail("%s cannot be written: %s; expected a path that a file can have", request->operand[n].path,
                            strerror(errno));
    return CLI_OK;
}

/* Save all results or none: if one cannot be written, no file is replaced. */
static int save(struct evaluation *evaluation)
{
    double begin = now();
    char *waiting[CLI_MAX_ARGUMENTS] = {0};
    int status = save_waiting(evaluation, waiting);
    if (status == CLI_OK)
        status = rename_all(evaluation->request, waiting);
    for (int n = 0; n < evaluation->request->operand_count; n++) {
        if (status != CLI_OK && waiting[n] != NULL)
            unlink(waiting[n]);
        free(waiting[n]);
    }
    evaluation->figures.save_seconds = now() - begin;
    return status;
}

static int explain_call(struct evaluation *evaluation)
{
    const dcl_call call = call_of(evaluation);
    evaluation->report = dcl_call_report(&call, DCL_ALL_NODES);
    return evaluation->report != NULL ? CLI_OK : cli_library_failed();
}

static int explain(struct evaluation *evaluation)
{
    int status = explain_call(evaluation);
    if (status != CLI_OK)
        return status;
    evaluation->figures.planned = true;
    evaluation->figures.total = evaluation->report->planned;
    return CLI_OK;
}

/* After several runs in a session that lends: ask for a map that divides the work better. */
static int ask_for_map(struct evaluation *evaluation)
{
    cli_figures *figures = &evaluation->figures;
    const cli_request *request = evaluation->request;
    if (!evaluation->lends || request->repeat == 1 || request->kind != DCL_CALL_IS_BODY ||
        !(request->stats || request->json))
        return CLI_OK;
    int status = explain_call(evaluation);
    if (status != CLI_OK)
        return status;
    figures->balanced_map = evaluation->report->balanced_map;
    figures->balanced_seconds = 1e-9 * (double)evaluation->report->balanced_ns;
    figures->unbalanced_seconds = 1e-9 * (double)evaluation->report->unbalanced_ns;
    return CLI_OK;
}

static int work(struct evaluation *evaluation)
{
    cli_progress_say("making arrays");
    int status = make_arguments(evaluation);
    if (status == CLI_OK && evaluation->request->explain)
        return explain(evaluation);
    if (status == CLI_OK)
        status = load(evaluation);
    if (status == CLI_OK)
        status = run(evaluation);
    if (status == CLI_OK)
        status = ask_for_map(evaluation);
    if (status == CLI_OK)
        status = save(evaluation);
    return status;
}

static void print(const struct evaluation *evaluation)
{
    const cli_request *request = evaluation->request;
    if (request->explain)
        cli_report_show(evaluation->report, request->json);
    else if (request->json)
        cli_figures_json(&evaluation->figures, request, stdout);
    else
        cli_results_lines(request, stdout);
    if (request->stats)
        cli_figures_lines(&evaluation->figures, stderr);
}

static int evaluate(cli_request *request)
{
    struct evaluation evaluation = {.request = request};
    dcl_config config;
    int status = cli_settings_read(request->workers, request->keys, &config);
    if (status != CLI_OK)
        return status;
    if (request->trace != NULL)
        config.trace = request->trace;
    if (request->steal != NULL)
        config.steal = request->steal;
    evaluation.lends = strncmp(config.steal, "never", strlen("never")) != 0;
    cli_progress_begin(request->progress);
    cli_progress_say(config.workers != NULL ? "opening workers" : "opening devices");
    evaluation.cluster = dcl_open(&config);
    if (evaluation.cluster == NULL)
        return cli_library_failed();
    int nodes = dcl_node_count(evaluation.cluster);
    evaluation.names = cli_alloc((size_t)nodes, sizeof *evaluation.names);
    for (int n = 0; n < nodes; n++)
        evaluation.names[n] = dcl_node_name(evaluation.cluster, n);
    evaluation.figures = (cli_figures){.nodes = nodes, .name = evaluation.names};
    evaluation.figures.node = cli_alloc((size_t)nodes, sizeof *evaluation.figures.node);

    status = work(&evaluation);
    cli_progress_end();
    if (status == CLI_OK)
        print(&evaluation);
    dcl_report_release(evaluation.report);
    /* The results are saved by now: a node that is lost while the cluster closes is no failure, but a missing trace is. */
    bool traced = config.trace != NULL;
    if (dcl_close(evaluation.cluster) == DCL_ERR_FILE && traced && status == CLI_OK)
        status = cli_library_failed();
    free(evaluation.figures.node);
    free(evaluation.names);
    return status;
}

int cli_eval(int count, char **list)
{
    cli_request *request = cli_alloc(1, sizeof *request);
    int status = cli_request_parse(count, list, request);
    if (status == CLI_OK)
        status = cli_request_resolve(request);
    if (status == CLI_OK)
        status = evaluate(request);
    free(request);
    return status == CLI_HELP ? cli_help_about("eval") : status;
}
