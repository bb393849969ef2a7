/* cli/sim_request.c - parse the command line of sim. */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/sim.h"

const char *const cli_sim_programs[DCL_SIM_PROGRAMS + 1] = {
    [DCL_SIM_ADD] = "add",     [DCL_SIM_TRANSPOSE] = "transpose", [DCL_SIM_STENCIL] = "stencil",
    [DCL_SIM_REMAP] = "remap", [DCL_SIM_UNEVEN] = "uneven",       [DCL_SIM_PROGRAMS] = NULL};

const char *const cli_sim_steals[CLI_SIM_STEALS + 1] = {"never", "pays", "always", NULL};

/* ---- numbers with units -------------------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    double factor;
};

static const struct unit of_numbers[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {NULL, 0}};
static const struct unit of_times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};

/* Read a number with one of the units. @return false: it is none, or not in least..most. */
static bool read_number(const char *text, const struct unit units[], double least, double most, double *out)
{
    char *end;
    errno = 0;
    double value = isdigit((unsigned char)text[0]) || text[0] == '.' ? strtod(text, &end) : -1;
    if (value < 0 || errno != 0)
        return false;
    for (; units->name != NULL; units++)
        if (strcmp(end, units->name) == 0) {
            *out = value * units->factor;
            return *out >= least && *out <= most;
        }
    return false;
}

static int take_time(const char *name, const char *text, double most_ns, double *out)
{
    if (read_number(text, of_times, 0, most_ns, out))
        return CLI_OK;
    return cli_usage("sim", "--%s is '%s'; expected a time of at most %g s with its unit, such as 5us or 0.1ns", name,
                     text, 1e-9 * most_ns);
}

static int take_whole_time(const char *name, const char *text, int64_t *out)
{
    double ns = 0;
    int status = take_time(name, text, 1e12, &ns);
    *out = (int64_t)ns;
    return status;
}

static int take_rate(const char *name, const char *text, double *out)
{
    if (read_number(text, of_numbers, 1e3, 1e15, out))
        return CLI_OK;
    return cli_usage("sim", "--%s is '%s'; expected bytes per second from 1K to 1000T, such as 12.5G", name, text);
}

static int take_bandwidth(void *request, char *text)
{
    return take_rate("bandwidth", text, &((cli_sim_request *)request)->settings.bandwidth);
}

static int take_copy(void *request, char *text)
{
    return take_rate("copy", text, &((cli_sim_request *)request)->settings.copy_rate);
}

static int take_element(void *request, char *text)
{
    return take_time("element", text, 1e12, &((cli_sim_request *)request)->settings.element_ns);
}

static int take_latency(void *request, char *text)
{
    return take_whole_time("latency", text, &((cli_sim_request *)request)->settings.latency_ns);
}

static int take_message(void *request, char *text)
{
    return take_whole_time("message", text, &((cli_sim_request *)request)->settings.message_ns);
}

static int take_launch(void *request, char *text)
{
    return take_whole_time("launch", text, &((cli_sim_request *)request)->settings.launch_ns);
}

static int take_plan(void *request, char *text)
{
    return take_whole_time("plan", text, &((cli_sim_request *)request)->settings.plan_ns);
}

static int take_size(void *request, char *text)
{
    double *size = &((cli_sim_request *)request)->size;
    if (read_number(text, of_numbers, 1, 1e15, size))
        return CLI_OK;
    return cli_usage("sim", "--size is '%s'; expected elements from 1 to 1000T, such as 4M", text);
}

static int take_jitter(void *request, char *text)
{
    double percent;
    if (!read_number(text, of_numbers, 0, 10000, &percent))
        return cli_usage("sim", "--jitter is '%s'; expected percent of a batch's time, 0 to 10000", text);
    ((cli_sim_request *)request)->settings.jitter = percent / 100;
    return CLI_OK;
}

static int take_seed(void *request, char *text)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0)
        return cli_usage("sim", "--seed is '%s'; expected a whole number that is not negative", text);
    ((cli_sim_request *)request)->settings.seed = seed;
    return CLI_OK;
}

static int take_slow(void *request, char *text)
{
    dcl_sim_settings *settings = &((cli_sim_request *)request)->settings;
    char *end;
    double factor = 0;
    errno = 0;
    long node = strtol(text, &end, 10);
    bool right = isdigit((unsigned char)text[0]) && *end == ':' && errno == 0 && node < DCL_SIM_MOST_NODES;
    if (!right || !read_number(end + 1, of_numbers, 0.001, 1e6, &factor))
        return cli_usage("sim",
                         "--slow is '%s'; expected NODE:FACTOR, such as 0:2 for a node 0 that takes twice as long; "
                         "factors are 0.001 to 1000000",
                         text);
    if (settings->slow_count == DCL_SIM_MOST_SLOW)
        return cli_usage("sim", "--slow is given more than %d times; expected at most that many slow nodes",
                         DCL_SIM_MOST_SLOW);
    settings->slow[settings->slow_count++] = (dcl_sim_slow){(int)node, factor};
    return CLI_OK;
}

/* ---- lists --------------------------------------------------------------------------------------------------------- */

/* Take words of a list, each once. @param words  [count] in the order of the numbers that are noted
 * @param expected  in words */
static int take_words(const char *option, char *text, const char *const words[], int count, const char *expected,
                      int number_out[], int *count_out)
{
    *count_out = 0;
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        int w = 0;
        while (w < count && strcmp(word, words[w]) != 0)
            w++;
        if (w == count)
            return cli_usage("sim", "--%s is '%s'; expected %s, several separated by commas; the nearest is %s", option,
                             word, expected, words[cli_nearest(word, count, words)]);
        for (int n = 0; n < *count_out; n++)
            if (number_out[n] == w)
                return cli_usage("sim", "--%s names %s twice; expected each once", option, word);
        number_out[(*count_out)++] = w;
    }
    return *count_out > 0 ? CLI_OK : cli_usage("sim", "--%s is empty; expected %s", option, expected);
}

static int take_programs(void *target, char *text)
{
    cli_sim_request *request = target;
    int program[DCL_SIM_PROGRAMS];
    int status = take_words("program", text, cli_sim_programs, DCL_SIM_PROGRAMS,
                            "add, transpose, stencil, remap or uneven", program, &request->program_count);
    for (int n = 0; n < request->program_count && status == CLI_OK; n++)
        request->program[n] = (dcl_sim_program)program[n];
    return status;
}

static int take_steal(void *target, char *text)
{
    cli_sim_request *request = target;
    int steal[CLI_SIM_STEALS];
    int status = take_words("steal", text, cli_sim_steals, CLI_SIM_STEALS, "never, pays or always", steal,
                            &request->steal_count);
    for (int n = 0; n < request->steal_count && status == CLI_OK; n++)
        request->steal[n] = (dcl_steal_policy)(DCL_STEAL_NEVER + steal[n]);
    return status;
}

static int wrong_nodes(const char *word)
{
    return cli_usage("sim",
                     "--nodes has '%s'; expected ascending numbers of nodes from 1 to %d, such as 2,10,100, or 4-64 "
                     "for 4, 8, 16, 32, 64; at most %d of them",
                     word, DCL_SIM_MOST_NODES, CLI_MOST_SIZES);
}

static bool add_nodes(cli_sim_request *request, long nodes)
{
    int before = request->node_count > 0 ? request->nodes[request->node_count - 1] : 0;
    if (nodes <= before || nodes > DCL_SIM_MOST_NODES || request->node_count == CLI_MOST_SIZES)
        return false;
    request->nodes[request->node_count++] = (int)nodes;
    return true;
}

static int take_nodes(void *target, char *text)
{
    cli_sim_request *request = target;
    request->node_count = 0;
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        char *end;
        errno = 0;
        long first = isdigit((unsigned char)word[0]) ? strtol(word, &end, 10) : 0, last = first;
        if (first > 0 && *end == '-' && isdigit((unsigned char)end[1]))
            last = strtol(end + 1, &end, 10);
        if (first < 1 || *end != '\0' || errno != 0 || last < first || last > DCL_SIM_MOST_NODES)
            return wrong_nodes(word);
        for (long nodes = first; nodes <= last; nodes = nodes < last && 2 * nodes > last ? last : 2 * nodes)
            if (!add_nodes(request, nodes))
                return wrong_nodes(word);
    }
    return request->node_count > 0 ? CLI_OK : wrong_nodes(text);
}

/* ---- the command line ---------------------------------------------------------------------------------------------- */

static int take_plain(void *request, char *text)
{
    (void)request;
    return cli_usage("sim", "'%s' is not an option; expected only options", text);
}

static const char *const scalings[] = {"weak", "strong", NULL},
                         *const costs[] = {"ramp", "zipf", "zipf-sorted", "even", NULL},
                         *const charts[] = {"time", "speedup", "share", "messages", "bytes", "planning", NULL};

#define FIELD(name) .field = offsetof(cli_sim_request, name)
#define SETTING(name) .field = offsetof(cli_sim_request, settings.name)
static const cli_option options[] = {
    {"nodes", "LIST", CLI_BY_FUNCTION, .take = take_nodes},
    {"program", "LIST", CLI_BY_FUNCTION, .take = take_programs},
    {"scaling", "weak|strong", CLI_WORD, FIELD(scaling), .words = scalings},
    {"size", "ELEMENTS", CLI_BY_FUNCTION, .take = take_size},
    {"steps", "N", CLI_INT, SETTING(steps), .least = 1, .most = DCL_SIM_MOST_STEPS},
    {"map", "MAP", CLI_TEXT, SETTING(map)},
    {"to-map", "MAP", CLI_TEXT, SETTING(other_map)},
    {"tiles", "N", CLI_INT, SETTING(tiles), .least = 1, .most = 4096},
    {"cost", "ramp|zipf|zipf-sorted|even", CLI_WORD, FIELD(cost), .words = costs},
    {"slow", "NODE:FACTOR", CLI_BY_FUNCTION, .take = take_slow},
    {"steal", "LIST", CLI_BY_FUNCTION, .take = take_steal},
    {"jitter", "PERCENT", CLI_BY_FUNCTION, .take = take_jitter},
    {"seed", "N", CLI_BY_FUNCTION, .take = take_seed},
    {"bandwidth", "RATE", CLI_BY_FUNCTION, .take = take_bandwidth},
    {"latency", "TIME", CLI_BY_FUNCTION, .take = take_latency},
    {"element", "TIME", CLI_BY_FUNCTION, .take = take_element},
    {"launch", "TIME", CLI_BY_FUNCTION, .take = take_launch},
    {"message", "TIME", CLI_BY_FUNCTION, .take = take_message},
    {"plan", "TIME", CLI_BY_FUNCTION, .take = take_plan},
    {"copy", "RATE", CLI_BY_FUNCTION, .take = take_copy},
    {"fanout", "N", CLI_INT, SETTING(fanout), .least = 1, .most = 256},
    {"chart", "WHAT", CLI_WORD, FIELD(chart), .words = charts},
    {"svg", "FILE", CLI_TEXT, FIELD(svg)},
    {"json", NULL, CLI_FLAG, FIELD(json)},
    {NULL},
};

static bool simulates(const cli_sim_request *request, dcl_sim_program program)
{
    for (int p = 0; p < request->program_count; p++)
        if (request->program[p] == program)
            return true;
    return false;
}

/* Refuse options that no program uses. */
static int check_programs(const cli_sim_request *request)
{
    const struct {
        const char *option;
        bool given;
        dcl_sim_program program;
    } options_of[] = {{"to-map", request->settings.other_map != NULL, DCL_SIM_REMAP},
                      {"tiles", request->settings.tiles != 0, DCL_SIM_UNEVEN},
                      {"cost", request->cost != NULL, DCL_SIM_UNEVEN}};
    for (size_t o = 0; o < sizeof options_of / sizeof options_of[0]; o++)
        if (options_of[o].given && !simulates(request, options_of[o].program)) {
            const char *program = cli_sim_programs[options_of[o].program];
            return cli_usage("sim", "--%s is given, but it is for the program %s only; expected --program %s as well",
                             options_of[o].option, program, program);
        }
    return CLI_OK;
}

int cli_sim_parse(int count, char **list, cli_sim_request *request_out)
{
    const cli_arguments arguments = {"sim", options, take_plain, count, list};
    *request_out = (cli_sim_request){.program_count = 1,
                                     .program = {DCL_SIM_STENCIL},
                                     .steal_count = 1,
                                     .steal = {DCL_STEAL_NEVER},
                                     .node_count = 5,
                                     .nodes = {4, 8, 16, 32, 64},
                                     .scaling = "weak"};
    dcl_sim_defaults(&request_out->settings);
    int usual_tiles = request_out->settings.tiles;
    request_out->settings.tiles = 0;
    int status = cli_parse(&arguments, request_out);
    if (status == CLI_OK)
        status = check_programs(request_out);
    if (status != CLI_OK)
        return status;
    if (request_out->settings.tiles == 0)
        request_out->settings.tiles = usual_tiles;
    if (request_out->cost == NULL)
        request_out->cost = "ramp";
    if (request_out->size == 0)
        request_out->size = strcmp(request_out->scaling, "weak") == 0 ? 4e6 : 64e6;
    for (int c = 0; costs[c] != NULL; c++)
        if (strcmp(request_out->cost, costs[c]) == 0)
            request_out->settings.cost = (dcl_sim_cost)c;
    if (request_out->chart != NULL && request_out->svg == NULL)
        return cli_usage("sim", "--chart is given without --svg; expected --svg FILE, into which it is drawn");
    if (request_out->svg != NULL && request_out->json)
        return cli_usage("sim", "--svg and --json are given; expected one of them");
    if (request_out->chart == NULL)
        request_out->chart = "time";
    return CLI_OK;
}
