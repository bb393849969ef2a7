/* cli/worker.c - `dcl worker`: offer this host's devices; also the entry of worker processes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"
#include "runtime/entrance.h"

enum {
    MOST_SESSIONS = 1024,
    MOST_IO_THREADS = 64,
    LAST_PORT = 65535,
    MOST_KERNEL_MS = 864000000,
    MOST_GRACE_S = 86400
};

/* ---- the command line ---- */

/* Take defaults from the environment variables that also apply here, except credentials: those are given explicitly. */
static int read_environment(dcl_worker_config *config_out)
{
    dcl_config environment;
    if (dcl_config_read(&environment) != DCL_OK)
        return cli_library_failed();
    dcl_worker_defaults(config_out);
    config_out->devices = environment.devices;
    config_out->io_threads = environment.io_threads;
    /* log at least the line `listening on`, which scripts wait for */
    config_out->log = strcmp(environment.log, "off") != 0 ? environment.log : "info";
    return CLI_OK;
}

/* Parse a port range: two numbers from 1 to LAST_PORT with a dash between them. */
static int set_ports(const char *name, const char *text, int *first_out, int *last_out)
{
    char *end = NULL;
    long first = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0, last = 0;
    if (end != NULL && end[0] == '-' && end[1] >= '0' && end[1] <= '9')
        last = strtol(end + 1, &end, 10);
    if (last == 0 || *end != '\0' || first < 1 || first > LAST_PORT || last > LAST_PORT)
        return cli_usage("worker", "%s is '%s'; expected A-B, two port numbers from 1 to %d, such as 7701-7716", name,
                         text, LAST_PORT);
    if (first > last)
        return cli_usage("worker", "%s is '%s', which ends before it begins; expected %ld-%ld", name, text, last,
                         first);
    *first_out = (int)first;
    *last_out = (int)last;
    return CLI_OK;
}

static int take_ports(void *request, char *text)
{
    dcl_worker_config *config = request;
    return set_ports("--ports", text, &config->first_port, &config->last_port);
}

static int take_peer_ports(void *request, char *text)
{
    dcl_worker_config *config = request;
    return set_ports("--peer-ports", text, &config->first_peer_port, &config->last_peer_port);
}

static int take_plain(void *request, char *text)
{
    (void)request;
    return cli_usage("worker", "argument '%s' was given; expected options only; an address is given as --listen %s",
                     text, text);
}

static const char *const containments[] = {"auto", "strict", "off", NULL};
static const char *const levels[] = {"off", "warn", "info", "debug", NULL};

#define FIELD(name) .field = offsetof(dcl_worker_config, name)
/* clang-format off */
static const cli_option options[] = {
    {"listen", "ADDRESS", CLI_TEXT, FIELD(listen)},
    {"ports", "A-B", .take = take_ports},
    {"peer-ports", "A-B", .take = take_peer_ports},
    {"files", "DIR", CLI_TEXT, FIELD(files)},
    {"devices", "S", CLI_TEXT, FIELD(devices)},
    {"keys", "DIR", CLI_TEXT, FIELD(keys)},
    {"token", "FILE", CLI_TEXT, FIELD(token)},
    {"quota", "BYTES", CLI_BYTES, FIELD(quota_bytes)},
    {"sessions", "N", CLI_INT, FIELD(most_sessions), 1, MOST_SESSIONS},
    {"sessions-per-key", "N", CLI_INT, FIELD(most_sessions_per_key), 1, MOST_SESSIONS},
    {"most-kernel-ms", "N", CLI_SIZE, FIELD(most_kernel_ms), 1, MOST_KERNEL_MS, 1},
    {"grace", "SECONDS", CLI_SIZE, FIELD(grace_ms), 0, MOST_GRACE_S, 1000},
    {"io-threads", "N", CLI_SIZE, FIELD(io_threads), 1, MOST_IO_THREADS, 1},
    {"cache", "DIR", CLI_TEXT, FIELD(cache)},
    {"contain", "HOW", CLI_WORD, FIELD(contain), .words = containments},
    {"log", "LEVEL", CLI_WORD, FIELD(log), .words = levels},
    {NULL},
};
/* clang-format on */

static int parse(int count, char **list, dcl_worker_config *config)
{
    cli_arguments arguments = {"worker", options, take_plain, count, list};
    int status = cli_parse(&arguments, config);
    if (status == CLI_OK && config->listen == NULL)
        return cli_usage("worker", "there is no address; expected --listen ADDRESS such as --listen "
                                   "tcp://127.0.0.1:7700");
    return status;
}

/* ---- serving ---- */

static void stop(int number)
{
    (void)number;
    dcl_worker_stop();
}

/* Stop at a signal, unless it was ignored from the start (nohup, a shell's &). */
static void stop_at(int number)
{
    struct sigaction now, then = {.sa_handler = stop, .sa_flags = SA_RESTART};
    sigfillset(&then.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaction(number, &then, NULL);
}

static void prepare_signals(void)
{
    stop_at(SIGTERM);
    stop_at(SIGINT);
    stop_at(SIGHUP);
}

int cli_worker(int count, char **list)
{
    signal(SIGPIPE, SIG_IGN); /* a reader of the log that goes away must not end the worker */
    if (count == 2 && strcmp(list[0], "--process") == 0) {
        dcl_status served = dcl_worker_process(list[1]);
        if (served == DCL_ERR_INVALID) /* only then was the process started by hand; programs learn all other errors
                                          by messages */
            return cli_library_failed();
        return served == DCL_OK ? CLI_OK : CLI_FAILURE;
    }
    dcl_worker_config config;
    int status = read_environment(&config);
    if (status == CLI_OK)
        status = parse(count, list, &config);
    if (status == CLI_HELP)
        return cli_help_about("worker");
    if (status != CLI_OK)
        return status;
    prepare_signals();
    return dcl_worker_run(&config) == DCL_OK ? CLI_OK : cli_library_failed();
}
