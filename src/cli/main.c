/* cli/main.c - the dcl command: runs the named command and checks that all output was written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/report.h"

static const char *const names[] = {"eval",    "map",    "loops",   "sim",  "trace",
                                    "devices", "worker", "workers", "keys", "help"};
static int (*const commands[])(int count, char **list) = {cli_eval,    cli_map,    cli_loops,   cli_sim,  cli_trace,
                                                          cli_devices, cli_worker, cli_workers, cli_keys, cli_help};

enum { COMMANDS = sizeof names / sizeof names[0] };

static int version(void)
{
    printf("dcl %s\n", DCL_VERSION);
    if (strcmp(dcl_version(), DCL_VERSION) != 0)
        printf("with library %s\n", dcl_version());
    return CLI_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage(
            "", "no command was given; expected eval, map, loops, sim, trace, devices, worker, workers, keys or help");
    for (int c = 0; c < COMMANDS; c++)
        if (strcmp(argv[1], names[c]) == 0)
            return commands[c](argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0)
        return version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return cli_help_about("");
    return cli_usage("",
                     "'%s' is not a command; expected eval, map, loops, sim, trace, devices, worker, workers, keys, "
                     "help or --version; "
                     "the nearest is %s",
                     argv[1], names[cli_nearest(argv[1], COMMANDS, names)]);
}

int main(int argc, char **argv)
{
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_fail("standard output cannot be written: %s; expected room for the result", strerror(errno));
    return status;
}
