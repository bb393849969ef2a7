/* cli/commands.h - the commands. Each gets the arguments after its name and returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cli_eval(int count, char **list);
int cli_map(int count, char **list);
int cli_sim(int count, char **list);
int cli_trace(int count, char **list);
int cli_loops(int count, char **list);
int cli_devices(int count, char **list);
int cli_worker(int count, char **list);
int cli_workers(int count, char **list);
int cli_keys(int count, char **list);
int cli_help(int count, char **list);

/** Print the text about a subject ("" is the overview) to stdout. @return the exit status. */
int cli_help_about(const char *subject);

#endif
