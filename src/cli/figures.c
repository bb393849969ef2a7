/* cli/figures.c - one table of counters, printed in two formats. */
#include "cli/figures.h"

#include <inttypes.h>

#include "cli/eval_results.h"
#include "cli/json.h"

static const struct counter {
    const char *key;
    size_t place; /* offset of an int64_t in dcl_counters */
    bool planned; /* known before the body runs */
} counters[] = {
    {"tasks", offsetof(dcl_counters, tasks), true},
    {"blocks_moved", offsetof(dcl_counters, blocks_moved), true},
    {"bytes_moved", offsetof(dcl_counters, bytes_moved), true},
    {"messages_planned", offsetof(dcl_counters, messages_planned), true},
    {"approximate", offsetof(dcl_counters, approximate), true},
    {"bytes_sent", offsetof(dcl_counters, bytes_sent), false},
    {"bytes_copied", offsetof(dcl_counters, bytes_copied), false},
    {"messages_sent", offsetof(dcl_counters, messages_sent), false},
    {"launches", offsetof(dcl_counters, launches), false},
    {"kernels_built", offsetof(dcl_counters, kernels_built), false},
    {"storage_bytes", offsetof(dcl_counters, storage_bytes), false},
    {"loans_asked", offsetof(dcl_counters, loans_asked), false},
    {"loans_refused", offsetof(dcl_counters, loans_refused), false},
    {"loans_won", offsetof(dcl_counters, loans_won), false},
    {"loans_taken_back", offsetof(dcl_counters, loans_taken_back), false},
    {"loan_bytes", offsetof(dcl_counters, loan_bytes), false},
    {"loan_bytes_in_vain", offsetof(dcl_counters, loan_bytes_in_vain), false},
};

enum { COUNTERS = sizeof counters / sizeof counters[0] };

static int64_t value_of(const dcl_counters *of, const struct counter *counter)
{
    return *(const int64_t *)(const void *)((const char *)of + counter->place);
}

void cli_figures_lines(const cli_figures *figures, FILE *file)
{
    if (!figures->planned)
        fprintf(file, "seconds=%.9f\nload_seconds=%.9f\nsave_seconds=%.9f\nrepeat=%d\n", figures->seconds,
                figures->load_seconds, figures->save_seconds, figures->repeat);
    fprintf(file, "nodes=%d\n", figures->nodes);
    for (int c = 0; c < COUNTERS; c++)
        if (!figures->planned || counters[c].planned)
            fprintf(file, "%s=%" PRId64 "\n", counters[c].key, value_of(&figures->total, &counters[c]));
    if (figures->balanced_map != NULL)
        fprintf(file, "balanced_map=%s\nbalanced_seconds=%.9f\nunbalanced_seconds=%.9f\n", figures->balanced_map,
                figures->balanced_seconds, figures->unbalanced_seconds);
}

static void json_counters(const dcl_counters *of, FILE *file)
{
    for (int c = 0; c < COUNTERS; c++)
        fprintf(file, ", \"%s\": %" PRId64, counters[c].key, value_of(of, &counters[c]));
}

void cli_figures_json(const cli_figures *figures, const cli_request *request, FILE *file)
{
    fprintf(file, "{\"seconds\": %.9f, \"load_seconds\": %.9f, \"save_seconds\": %.9f, \"repeat\": %d, ",
            figures->seconds, figures->load_seconds, figures->save_seconds, figures->repeat);
    fprintf(file, "\"nodes\": %d", figures->nodes);
    json_counters(&figures->total, file);
    if (figures->balanced_map != NULL) {
        fputs(", \"balanced_map\": ", file);
        cli_json_string(file, figures->balanced_map);
        fprintf(file, ", \"balanced_seconds\": %.9f, \"unbalanced_seconds\": %.9f", figures->balanced_seconds,
                figures->unbalanced_seconds);
    }
    if (request->result_count > 0) {
        fputs(", ", file);
        cli_results_json(request, file);
    }
    fputs(", \"per_node\": [", file);
    for (int n = 0; n < figures->nodes; n++) {
        fprintf(file, "%s{\"node\": %d, \"name\": ", n > 0 ? ", " : "", n);
        cli_json_string(file, figures->name[n]);
        json_counters(&figures->node[n], file);
        fputc('}', file);
    }
    fputs("]}\n", file);
}
