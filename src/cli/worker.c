/* cli/worker.c - `dcl worker`: offer this host's devices; also the entry of worker processes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/report.h"
#include "runtime/entrance.h"

enum option {
    LISTEN,
    PORTS,
    PEER_PORTS,
    FILES,
    DEVICES,
    KEYS,
    TOKEN,
    QUOTA,
    SESSIONS,
    SESSIONS_PER_KEY,
    MOST_KERNEL,
    GRACE,
    IO_THREADS,
    CACHE,
    CONTAIN,
    LOG
};

static const cli_option options[] = {
    [LISTEN] = {"listen", "ADDRESS"},
    [PORTS] = {"ports", "A-B"},
    [PEER_PORTS] = {"peer-ports", "A-B"},
    [FILES] = {"files", "DIR"},
    [DEVICES] = {"devices", "S"},
    [KEYS] = {"keys", "DIR"},
    [TOKEN] = {"token", "FILE"},
    [QUOTA] = {"quota", "BYTES"},
    [SESSIONS] = {"sessions", "N"},
    [SESSIONS_PER_KEY] = {"sessions-per-key", "N"},
    [MOST_KERNEL] = {"most-kernel-ms", "N"},
    [GRACE] = {"grace", "SECONDS"},
    [IO_THREADS] = {"io-threads", "N"},
    [CACHE] = {"cache", "DIR"},
    [CONTAIN] = {"contain", "HOW"},
    [LOG] = {"log", "LEVEL"},
    {NULL, NULL},
};

enum { MOST_SESSIONS = 1024, MOST_IO_THREADS = 64, LAST_PORT = 65535, MOST_KERNEL_MS = 864000000 };

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

static int set_containment(dcl_worker_config *config, const char *text)
{
    static const char *const ways[] = {"auto", "strict", "off"};
    enum { WAYS = sizeof ways / sizeof ways[0] };
    for (int w = 0; w < WAYS; w++)
        if (strcmp(ways[w], text) == 0) {
            config->contain = text;
            return CLI_OK;
        }
    return cli_usage("worker", "--contain is '%s'; expected auto, strict or off; the nearest is %s", text,
                     ways[cli_nearest(text, WAYS, ways)]);
}

static int set_log(dcl_worker_config *config, const char *text)
{
    static const char *const levels[] = {"off", "warn", "info", "debug"};
    enum { LEVELS = sizeof levels / sizeof levels[0] };
    for (int l = 0; l < LEVELS; l++)
        if (strcmp(text, levels[l]) == 0) {
            config->log = text;
            return CLI_OK;
        }
    return cli_usage("worker", "--log is '%s'; expected off, warn, info or debug; the nearest is %s", text,
                     levels[cli_nearest(text, LEVELS, levels)]);
}

static int set_sessions(dcl_worker_config *config, const char *text)
{
    long sessions = 1;
    int status = cli_number("worker", "--sessions", text, 1, MOST_SESSIONS, &sessions);
    config->most_sessions = (int)sessions;
    return status;
}

static int set_sessions_per_key(dcl_worker_config *config, const char *text)
{
    long sessions = 1;
    int status = cli_number("worker", "--sessions-per-key", text, 1, MOST_SESSIONS, &sessions);
    config->most_sessions_per_key = (int)sessions;
    return status;
}

static int set_most_kernel_ms(dcl_worker_config *config, const char *text)
{
    long most = 1;
    int status = cli_number("worker", "--most-kernel-ms", text, 1, MOST_KERNEL_MS, &most);
    config->most_kernel_ms = (size_t)most;
    return status;
}

static int set_grace(dcl_worker_config *config, const char *text)
{
    enum { MOST_SECONDS = 86400 };
    long seconds = 0;
    int status = cli_number("worker", "--grace", text, 0, MOST_SECONDS, &seconds);
    config->grace_ms = (size_t)seconds * 1000;
    return status;
}

static int set_io_threads(dcl_worker_config *config, const char *text)
{
    long threads = 1;
    int status = cli_number("worker", "--io-threads", text, 1, MOST_IO_THREADS, &threads);
    config->io_threads = (size_t)threads;
    return status;
}

static int take_text(dcl_worker_config *config, int option, const char *value)
{
    const char **fields[] = {
        [LISTEN] = &config->listen, [FILES] = &config->files, [DEVICES] = &config->devices,
        [KEYS] = &config->keys,     [TOKEN] = &config->token, [CACHE] = &config->cache,
    };
    *fields[option] = value;
    return CLI_OK;
}

static int take(dcl_worker_config *config, int option, const char *value)
{
    switch (option) {
    case LISTEN:
    case FILES:
    case DEVICES:
    case KEYS:
    case TOKEN:
    case CACHE:
        return take_text(config, option, value);
    case PORTS:
        return set_ports("--ports", value, &config->first_port, &config->last_port);
    case PEER_PORTS:
        return set_ports("--peer-ports", value, &config->first_peer_port, &config->last_peer_port);
    case QUOTA:
        return cli_bytes("worker", "--quota", value, &config->quota_bytes);
    case SESSIONS:
        return set_sessions(config, value);
    case SESSIONS_PER_KEY:
        return set_sessions_per_key(config, value);
    case MOST_KERNEL:
        return set_most_kernel_ms(config, value);
    case GRACE:
        return set_grace(config, value);
    case IO_THREADS:
        return set_io_threads(config, value);
    case CONTAIN:
        return set_containment(config, value);
    case LOG:
        return set_log(config, value);
    case CLI_PLAIN:
        return cli_usage("worker", "argument '%s' was given; expected options only; an address is given as --listen %s",
                         value, value);
    case CLI_HELP:
        return CLI_HELP;
    }
    return CLI_USAGE; /* cli_next() has printed the reason */
}

static int parse(int count, char **list, dcl_worker_config *config)
{
    cli_arguments arguments = {.command = "worker", .options = options, .count = count, .list = list};
    for (;;) {
        char *value = NULL;
        int option = cli_next(&arguments, &value);
        if (option == CLI_END)
            break;
        int status = take(config, option, value);
        if (status != CLI_OK)
            return status;
    }
    if (config->listen == NULL)
        return cli_usage("worker", "there is no address; expected --listen ADDRESS such as --listen "
                                   "tcp://127.0.0.1:7700");
    return CLI_OK;
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
