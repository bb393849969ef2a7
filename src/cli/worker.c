/* cli/worker.c - dcl worker: offer this host's devices; also what the processes of a session are started as. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"

int cli_worker(int count, char **list)
{
    if (count == 2 && strcmp(list[0], "--process") == 0)
        return dcl_worker_process(list[1]) == DCL_OK ? CLI_OK : cli_library_failed();
    return cli_usage("worker", "not yet");
}
