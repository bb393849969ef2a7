/* cli/sim_print.c - print simulated runs: a table for people, JSON for programs, charts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/amount.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/sim.h"

enum { MOST_OF_PROGRAM = 3 }; /* curves of a program in a chart */

static bool is_weak(const cli_sim_request *request) { return strcmp(request->scaling, "weak") == 0; }

/* Per step: per_node() gives the mean of a figure over the nodes, per_step() a figure of the program. */
static double per_node(const cli_sim_request *request, const cli_sim_run *run, int64_t figure)
{
    return (double)figure / request->settings.steps / run->nodes;
}

static double per_step(const cli_sim_request *request, int64_t figure)
{
    return (double)figure / request->settings.steps;
}

static double share_of_bound(const cli_sim_run *run)
{
    return run->figures.step_ns > 0 ? 100 * (double)run->figures.bound_ns / (double)run->figures.step_ns : 100;
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static void print_setting(const cli_sim_request *request, char *text, size_t capacity)
{
    const dcl_sim_settings *settings = &request->settings;
    static const char units[] = " KMGT";
    char latency[CLI_TIME_BYTES];
    double size = request->size;
    int u = 0;
    for (; size >= 1000 && u < 4; u++)
        size /= 1000;
    snprintf(text, capacity, "%s scaling, %.4g%.*s elements%s, %d step%s; %g ns per element, links of %g GB/s and %s",
             request->scaling, size, u > 0, &units[u], is_weak(request) ? " per node" : "", settings->steps,
             settings->steps == 1 ? "" : "s", settings->element_ns, 1e-9 * settings->bandwidth,
             cli_time(settings->latency_ns, latency));
    for (int n = 0; n < settings->slow_count; n++) {
        size_t length = strlen(text);
        snprintf(text + length, capacity - length, "; node %d takes %g times as long", settings->slow[n].node,
                 settings->slow[n].factor);
    }
}

static void print_row(const cli_sim_request *request, const cli_sim_run *run)
{
    const dcl_sim_figures *figures = &run->figures;
    char step[CLI_TIME_BYTES], bound[CLI_TIME_BYTES], balanced[CLI_TIME_BYTES], moved[CLI_AMOUNT_BYTES],
        sent[CLI_AMOUNT_BYTES];
    printf("%6d  %8s  %8s %4.0f %%  %8s  %8.1f  %8s  %8.1f  %8s  %5" PRId64 "  %7.1f  %7.1f  %6.1f\n", run->nodes,
           cli_time(figures->step_ns, step), cli_time(figures->bound_ns, bound), share_of_bound(run),
           cli_time(figures->balanced_ns, balanced), per_node(request, run, figures->control.messages),
           cli_amount((int64_t)per_node(request, run, figures->data.bytes), moved),
           per_step(request, figures->host_out.messages + figures->host_in.messages),
           cli_amount((int64_t)per_step(request, figures->host_out.bytes + figures->host_in.bytes), sent),
           figures->pairs_most, figures->plan_us, figures->plan_most_us, figures->again_us);
}

/* Print the counters of lending below the row of the run. */
static void print_loans(const cli_sim_request *request, const cli_sim_run *run)
{
    const dcl_sim_loans *loans = &run->figures.loans;
    if (run->steal == DCL_STEAL_NEVER)
        return;
    printf("        --steal %s: per step %.1f questions, %.1f batches lent, %.1f of them in use, %.1f taken back\n",
           cli_sim_steals[run->steal - DCL_STEAL_NEVER], per_step(request, loans->questions),
           per_step(request, loans->lent), per_step(request, loans->won), per_step(request, loans->taken_back));
}

void cli_sim_table(const cli_sim_request *request, const cli_sim_run runs[])
{
    int count = cli_sim_series(request) * request->node_count;
    char text[1024];
    print_setting(request, text, sizeof text);
    printf("%s\n", text);
    for (int n = 0; n < count; n++) {
        if (n % request->node_count == 0)
            printf("\n%-9s time of a step                          node and step         program, per step   "
                   "planning of a node, us\n"
                   " nodes  simulated    bound         balanced   control     moved  messages     bytes  pairs      "
                   "new     most   again\n",
                   cli_sim_programs[runs[n].program]);
        print_row(request, &runs[n]);
        print_loans(request, &runs[n]);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static void json_traffic(const char *name, const dcl_sim_traffic *traffic)
{
    printf(", \"%s_messages\": %" PRId64 ", \"%s_bytes\": %" PRId64, name, traffic->messages, name, traffic->bytes);
}

static void json_run(const cli_sim_run *run)
{
    const dcl_sim_figures *figures = &run->figures;
    printf("  {\"program\": \"%s\", \"steal\": \"%s\", \"nodes\": %d, \"elements\": %" PRId64,
           cli_sim_programs[run->program], cli_sim_steals[run->steal - DCL_STEAL_NEVER], run->nodes, figures->elements);
    printf(", \"first_ns\": %" PRId64 ", \"step_ns\": %" PRId64 ", \"bound_ns\": %" PRId64
           ", \"balanced_ns\": %" PRId64,
           figures->first_ns, figures->step_ns, figures->bound_ns, figures->balanced_ns);
    printf(", \"questions\": %" PRId64 ", \"refusals\": %" PRId64 ", \"lent\": %" PRId64 ", \"won\": %" PRId64
           ", \"taken_back\": %" PRId64 ", \"in_vain_bytes\": %" PRId64,
           figures->loans.questions, figures->loans.refusals, figures->loans.lent, figures->loans.won,
           figures->loans.taken_back, figures->loans.in_vain);
    json_traffic("control", &figures->control);
    json_traffic("data", &figures->data);
    json_traffic("program_sent", &figures->host_out);
    json_traffic("program_received", &figures->host_in);
    printf(", \"node_control_most\": %" PRId64 ", \"pairs_most\": %" PRId64 ", \"plans\": %" PRId64,
           figures->control_most, figures->pairs_most, figures->plans);
    printf(", \"plan_us\": %.3f, \"plan_most_us\": %.3f, \"again_us\": %.3f, \"events\": %" PRId64 "}",
           figures->plan_us, figures->plan_most_us, figures->again_us, figures->events);
}

/* Print a map as a JSON field. @param map  NULL: the usual one of each program. */
static void json_map(const char *name, const char *map)
{
    printf(", \"%s\": ", name);
    if (map != NULL)
        cli_json_string(stdout, map);
    else
        printf("null");
}

/* The settings that only some programs or nodes have. */
static void json_special(const dcl_sim_settings *settings, const char *cost)
{
    printf(", \"jitter_percent\": %.17g, \"tiles\": %d, \"cost\": \"%s\"", 100 * settings->jitter, settings->tiles,
           cost);
    json_map("map", settings->map);
    json_map("to_map", settings->other_map);
    printf(", \"slow\": [");
    for (int n = 0; n < settings->slow_count; n++)
        printf("%s{\"node\": %d, \"factor\": %.17g}", n > 0 ? ", " : "", settings->slow[n].node,
               settings->slow[n].factor);
    printf("]");
}

void cli_sim_json(const cli_sim_request *request, const cli_sim_run runs[])
{
    int count = cli_sim_series(request) * request->node_count;
    const dcl_sim_settings *settings = &request->settings;
    printf("{\"scaling\": \"%s\", \"size\": %.17g, \"steps\": %d, \"element_ns\": %.17g, \"bandwidth\": %.17g, "
           "\"latency_ns\": %" PRId64 ", \"message_ns\": %" PRId64 ", \"launch_ns\": %" PRId64 ", \"plan_ns\": %" PRId64
           ", \"copy_rate\": %.17g, \"fanout\": %d, \"seed\": %" PRIu64,
           request->scaling, request->size, settings->steps, settings->element_ns, settings->bandwidth,
           settings->latency_ns, settings->message_ns, settings->launch_ns, settings->plan_ns, settings->copy_rate,
           settings->fanout, settings->seed);
    json_special(settings, request->cost);
    printf(", \"runs\": [\n");
    for (int n = 0; n < count; n++) {
        json_run(&runs[n]);
        printf("%s\n", n + 1 < count ? "," : "");
    }
    printf("]}\n");
}

/* ---- charts -------------------------------------------------------------------------------------------------------- */

/* Choose a unit of time in which the numbers of a chart are neither very large nor very small. */
static double unit_of(const cli_sim_request *request, const cli_sim_run runs[], const char **label_out)
{
    static const struct {
        double ns;
        const char *label;
    } units[] = {{1e9, "time of a step, s"}, {1e6, "time of a step, ms"}, {1e3, "time of a step, us"}};
    int64_t most = 0;
    int u = 0;
    for (int n = 0; n < cli_sim_series(request) * request->node_count; n++)
        most = runs[n].figures.step_ns > most ? runs[n].figures.step_ns : most;
    while (u < 2 && (double)most < units[u].ns)
        u++;
    *label_out = units[u].label;
    return units[u].ns;
}

static cli_curve *add_curve(cli_chart *chart, const char *name, const char *what)
{
    cli_curve *curve = &chart->curve[chart->count++];
    snprintf(curve->name, sizeof curve->name, "%s%s", name, what);
    return curve;
}

static void add_point(cli_curve *curve, double x, double y)
{
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

/* Elements per ns. With weak scaling the number of elements grows with that of nodes, so times alone do not compare. */
static double rate_of(const cli_sim_run *run)
{
    return (double)run->figures.elements / fmax(1, (double)run->figures.step_ns);
}

/* The values of a run in a chart, for up to three curves of its program; 0: there is no such curve. */
static void values_of(const cli_sim_request *request, const cli_sim_run *run, const cli_sim_run *first, double unit,
                      double value_out[MOST_OF_PROGRAM])
{
    const dcl_sim_figures *figures = &run->figures;
    const char *chart = request->chart;
    value_out[1] = value_out[2] = 0;
    if (strcmp(chart, "time") == 0) {
        bool is_uneven = run->program == DCL_SIM_UNEVEN || request->settings.slow_count > 0;
        value_out[0] = (double)figures->step_ns / unit;
        if (run->steal == request->steal[0]) { /* once per program */
            value_out[1] = run->steal == DCL_STEAL_NEVER ? (double)figures->bound_ns / unit : 0;
            value_out[2] = is_uneven ? (double)figures->balanced_ns / unit : 0;
        }
    } else if (strcmp(chart, "speedup") == 0) {
        value_out[0] = rate_of(run) / rate_of(first) * first->nodes;
    } else if (strcmp(chart, "share") == 0) {
        value_out[0] = share_of_bound(run);
    } else if (strcmp(chart, "messages") == 0) {
        value_out[0] = per_node(request, run, figures->control.messages);
        value_out[1] = per_step(request, figures->host_out.messages + figures->host_in.messages);
    } else if (strcmp(chart, "bytes") == 0) {
        value_out[0] = per_node(request, run, figures->control.bytes);
        value_out[1] = per_step(request, figures->host_out.bytes + figures->host_in.bytes);
    } else {
        value_out[0] = figures->plan_us;
    }
}

static void set_labels(const cli_sim_request *request, const cli_sim_run runs[], cli_chart *chart, double *unit_out)
{
    static const struct {
        const char *name, *title, *y_label;
        bool log_y;
        double least_top;
    } charts[] = {{"time", "Time of a step", NULL, false, 0},
                  {"speedup", "Speed-up", "speed-up over one node", true, 0},
                  {"share", "How much of the time is the bound of devices and links", "percent", false, 100},
                  {"messages", "Control messages", "messages per step", true, 0},
                  {"bytes", "Control bytes", "bytes per step", true, 0},
                  {"planning", "Planning of a new operation, measured", "us per node", false, 0}};
    int c = 0;
    while (strcmp(charts[c].name, request->chart) != 0)
        c++;
    chart->title = charts[c].title;
    chart->y_label = charts[c].y_label;
    chart->log_y = charts[c].log_y;
    chart->least_top = charts[c].least_top;
    chart->x_label = "nodes";
    *unit_out = 1;
    if (c == 0)
        *unit_out = unit_of(request, runs, &chart->y_label);
    if (strcmp(request->chart, "speedup") == 0 && runs[0].nodes > 1) {
        static char label[64];
        snprintf(label, sizeof label, "speed-up, if %d nodes have %d", runs[0].nodes, runs[0].nodes);
        chart->y_label = label;
    }
}

/* Add the curves of a series. Its descriptors and watermarks are as many as those of any other program, so the chart of
 * messages names them once. @param runs  [request->node_count] its runs. */
static void add_curves(const cli_sim_request *request, const cli_sim_run runs[], double unit, cli_chart *chart)
{
    bool is_time = strcmp(request->chart, "time") == 0, is_messages = strcmp(request->chart, "messages") == 0;
    bool has_two = is_messages || strcmp(request->chart, "bytes") == 0; /* of a node and of the program */
    bool is_last = runs[0].program == request->program[request->program_count - 1];
    static const char *const stealing[] = {"", ", stealing", ", always stealing"};
    char name[CLI_SIM_LABEL + CLI_CURVE_NAME / 2];
    const char *const what[MOST_OF_PROGRAM] = {has_two ? ", a node" : "", is_time ? ", bound" : ", the program",
                                               ", work at will"};
    double value[MOST_OF_PROGRAM];
    for (int c = 0; c < MOST_OF_PROGRAM; c++) {
        bool is_shared = is_messages && c == 1;
        values_of(request, &runs[0], &runs[0], unit, value);
        if (value[c] == 0 || chart->count == CLI_MOST_CURVES || (is_shared && !is_last))
            continue;
        snprintf(name, sizeof name, "%s%s", cli_sim_programs[runs[0].program],
                 c == 0 ? stealing[runs[0].steal - DCL_STEAL_NEVER] : "");
        cli_curve *curve = add_curve(chart, is_shared ? "the program" : name, is_shared ? "" : what[c]);
        curve->is_reference = c > 0;
        for (int n = 0; n < request->node_count; n++) {
            values_of(request, &runs[n], &runs[0], unit, value);
            add_point(curve, runs[n].nodes, value[c]);
        }
    }
}

int cli_sim_draw(const cli_sim_request *request, const cli_sim_run runs[])
{
    static cli_chart chart;
    char note[1024];
    double unit;
    set_labels(request, runs, &chart, &unit);
    print_setting(request, note, sizeof note);
    chart.note = note;
    for (int s = 0; s < cli_sim_series(request); s++)
        add_curves(request, &runs[s * request->node_count], unit, &chart);
    if (strcmp(request->chart, "speedup") == 0 && chart.count < CLI_MOST_CURVES) {
        cli_curve *ideal = add_curve(&chart, "ideal", "");
        ideal->is_reference = true;
        for (int n = 0; n < request->node_count; n++)
            add_point(ideal, request->nodes[n], request->nodes[n]);
    }
    return cli_chart_draw(&chart, request->svg);
}
