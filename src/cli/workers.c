/* cli/workers.c - `dcl workers`: which workers answer, and what they offer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/settings.h"

struct request {
    const char *workers, *keys; /* NULL: those of the environment */
    int wait_seconds;           /* repeat until all workers answer, at most for this time; 0: ask once */
    bool json;
};

/* An answer lists at most MOST_DEVICES devices. */
enum { MOST_DEVICES = sizeof((dcl_worker_info *)0)->device / sizeof(dcl_device_info), FIRST_GUESS = 64 };
enum { MOST_WAIT_SECONDS = 86400, PAUSE_NS = 100000000 /* limit of --wait; pause between two rounds */ };

/* ---- the command line ---- */

static int take_plain(void *request, char *text)
{
    (void)request;
    return cli_usage("workers", "argument '%s' was given; expected options only; addresses are given as --workers %s",
                     text, text);
}

#define FIELD(name) .field = offsetof(struct request, name)
static const cli_option options[] = {
    {"workers", "ADDRESSES|FILE", CLI_TEXT, FIELD(workers)},
    {"keys", "DIR", CLI_TEXT, FIELD(keys)},
    {"wait", "SECONDS", CLI_INT, FIELD(wait_seconds), 1, MOST_WAIT_SECONDS},
    {"json", NULL, CLI_FLAG, FIELD(json)},
    {NULL},
};

/* ---- asking ---- */

/* Ask all workers. The list is enlarged once the number of addresses is known. */
static int ask(const dcl_config *config, dcl_worker_info **workers_out, int *count_out)
{
    dcl_worker_info *workers = NULL;
    int capacity = 0, count = FIRST_GUESS;
    while (count > capacity) {
        free(workers);
        capacity = count;
        workers = cli_alloc((size_t)capacity, sizeof *workers);
        if (dcl_worker_list(config, capacity, workers, &count) != DCL_OK) {
            free(workers);
            return cli_library_failed();
        }
    }
    *workers_out = workers;
    *count_out = count;
    return CLI_OK;
}

static int count_silent(const dcl_worker_info workers[], int count)
{
    int silent = 0;
    for (int w = 0; w < count; w++)
        silent += workers[w].status != DCL_OK;
    return silent;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Ask repeatedly until all answer or the time is over. */
static int ask_until_all_answer(const dcl_config *config, int seconds, dcl_worker_info **workers_out, int *count_out)
{
    double end = now() + seconds;
    for (;;) {
        int status = ask(config, workers_out, count_out);
        if (status != CLI_OK || now() >= end || count_silent(*workers_out, *count_out) == 0)
            return status;
        free(*workers_out);
        *workers_out = NULL;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

static int devices_shown(const dcl_worker_info *worker)
{
    return worker->device_count < MOST_DEVICES ? worker->device_count : MOST_DEVICES;
}

/* ---- a table for people ---- */

static void print_device(const dcl_device_info *device)
{
    printf("    device %d: %s, %.1f GiB, %s\n", device->number, device->kind, (double)device->memory_bytes / (1 << 30),
           device->name);
}

static void print_worker(const dcl_worker_info *worker, int width)
{
    if (worker->status != DCL_OK) {
        printf("%-*s  no answer\n    %s\n", width, worker->address, worker->problem);
        return;
    }
    printf("%-*s  answers   %8d %9d %5d %% %7.0f us  %-5s  %s\n", width, worker->address, worker->sessions,
           worker->processes, worker->load_percent, worker->round_trip_us, worker->files ? "yes" : "-",
           worker->program);
    for (int d = 0; d < devices_shown(worker); d++)
        print_device(&worker->device[d]);
    if (worker->device_count > MOST_DEVICES)
        printf("    and %d more\n", worker->device_count - MOST_DEVICES);
}

static void print_table(const dcl_worker_info workers[], int count)
{
    int width = (int)strlen("address");
    for (int w = 0; w < count; w++)
        if ((int)strlen(workers[w].address) > width)
            width = (int)strlen(workers[w].address);
    printf("%-*s  %-9s %8s %9s %7s %10s  %-5s  %s\n", width, "address", "state", "sessions", "processes", "load",
           "round trip", "files", "version");
    for (int w = 0; w < count; w++)
        print_worker(&workers[w], width);
}

/* ---- JSON for programs ---- */

static void print_text(const char *key, const char *text)
{
    printf("\"%s\": ", key);
    cli_json_string(stdout, text);
}

static void json_device(const dcl_device_info *device)
{
    printf("{\"number\": %d, ", device->number);
    print_text("name", device->name);
    fputs(", ", stdout);
    print_text("kind", device->kind);
    printf(", \"compute_units\": %d, \"memory_bytes\": %lld}", device->compute_units, (long long)device->memory_bytes);
}

static void json_worker(const dcl_worker_info *worker)
{
    fputs("{", stdout);
    print_text("address", worker->address);
    printf(", \"answers\": %s, ", worker->status == DCL_OK ? "true" : "false");
    print_text("status", dcl_status_name(worker->status));
    fputs(", ", stdout);
    if (worker->status != DCL_OK) {
        print_text("problem", worker->problem);
    } else {
        print_text("version", worker->program);
        printf(", \"sessions\": %d, \"processes\": %d, \"load_percent\": %d, \"round_trip_us\": %.1f, \"files\": %s, "
               "\"device_count\": %d, \"devices\": [",
               worker->sessions, worker->processes, worker->load_percent, worker->round_trip_us,
               worker->files ? "true" : "false", worker->device_count);
        for (int d = 0; d < devices_shown(worker); d++) {
            fputs(d > 0 ? ", " : "", stdout);
            json_device(&worker->device[d]);
        }
        fputs("]", stdout);
    }
    fputs("}", stdout);
}

static void print_json(const dcl_worker_info workers[], int count)
{
    fputs("{\"workers\": [", stdout);
    for (int w = 0; w < count; w++) {
        fputs(w > 0 ? ",\n " : "", stdout);
        json_worker(&workers[w]);
    }
    puts("]}");
}

static int show(const struct request *request, const dcl_worker_info workers[], int count)
{
    int silent = count_silent(workers, count);
    if (request->json)
        print_json(workers, count);
    else
        print_table(workers, count);
    if (silent > 0)
        return cli_fail("%d of %d workers did not answer; expected an answer from each", silent, count);
    return CLI_OK;
}

int cli_workers(int count, char **list)
{
    struct request request = {0};
    cli_arguments arguments = {"workers", options, take_plain, count, list};
    int status = cli_parse(&arguments, &request);
    if (status == CLI_HELP)
        return cli_help_about("workers");
    dcl_config config;
    if (status == CLI_OK)
        status = cli_settings_read(request.workers, request.keys, &config);
    if (status != CLI_OK)
        return status;
    if (config.workers == NULL || config.workers[0] == '\0')
        return cli_usage("workers", "no worker is named; expected --workers ADDRESSES such as --workers "
                                    "tcp://127.0.0.1:7700, a file of such lines, or the same in DCL_WORKERS");
    dcl_worker_info *workers = NULL;
    status = ask_until_all_answer(&config, request.wait_seconds, &workers, &count);
    if (status == CLI_OK)
        status = show(&request, workers, count);
    free(workers);
    return status;
}
