/* cli/keys.c - `dcl keys`: make a key pair, and print how two hosts exchange public keys. */
#include <stdio.h>
#include <string.h>

#include <dcl.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report.h"

static int take_folder(void *request, char *text)
{
    char **folder = request;
    if (*folder != NULL)
        return cli_usage("keys", "a second folder '%s' was given; expected one", text);
    *folder = text;
    return CLI_OK;
}

static int parse(int count, char **list, char **folder_out)
{
    static const cli_option none[] = {{NULL}};
    int status = cli_parse(&(cli_arguments){"keys", none, take_folder, count, list}, folder_out);
    if (status == CLI_OK && (*folder_out == NULL || (*folder_out)[0] == '\0'))
        return cli_usage("keys", "there is no folder; expected where the keys are to be made: dcl keys DIR");
    return status;
}

static void remove_last_slashes(char *path)
{
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';)
        path[--length] = '\0';
}

static void print_next_steps(const char *folder, const char *public_key)
{
    printf("public key %s\n\n"
           "  %s/own.secret   stays here, for nobody else to read\n"
           "  %s/own.public   is for the others\n"
           "  %s/allowed      holds the public keys of the others, one file NAME.public each\n\n",
           public_key, folder, folder, folder);
    printf("Next, both ways between a worker and the programs that use it:\n"
           "  1. Where there are no keys yet: dcl keys DIR\n"
           "  2. Copy the program's own.public to the worker, as allowed/NAME.public with any NAME, and the worker's\n"
           "     to the program, as allowed/HOST.public with the HOST that addresses name: tcp://HOST:PORT.\n"
           "  3. Start the worker: dcl worker --listen tcp://HOST:PORT --keys DIR\n"
           "  4. For programs: DCL_KEYS=DIR DCL_WORKERS=tcp://HOST:PORT; here DCL_KEYS=%s\n",
           folder);
}

int cli_keys(int count, char **list)
{
    char *folder = NULL;
    int status = parse(count, list, &folder);
    if (status == CLI_HELP)
        return cli_help_about("keys");
    if (status != CLI_OK)
        return status;
    remove_last_slashes(folder);
    char public_key[65];
    if (dcl_keys_make(folder, public_key) != DCL_OK)
        return cli_library_failed();
    print_next_steps(folder, public_key);
    return CLI_OK;
}
