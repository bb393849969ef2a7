/* worker/process_data.c - open and close the data that the peers of one process share. */
#include "worker/process_data.h"

#include "base/alloc.h"

dcli_process_data *dcli_process_data_open(int peers)
{
    dcli_process_data *process_data = dcli_calloc(1, sizeof *process_data);
    if (process_data == NULL)
        return NULL;
    process_data->peers = peers;
    dcli_layouts_init(&process_data->layouts);
    dcli_parsed_init(&process_data->bodies);
    dcli_plan_cache_init(&process_data->plans);
    process_data->helpers = dcli_helpers_open(dcli_helpers_usual(1));
    process_data->device = dcli_calloc((size_t)peers, sizeof(dcli_device *));
    if (process_data->helpers != NULL && process_data->device != NULL)
        return process_data;
    dcli_process_data_close(process_data);
    return NULL;
}

void dcli_process_data_serve(dcli_process_data *process_data, int devices)
{
    dcli_helpers_serve(process_data->helpers, devices);
}

void dcli_process_data_close(dcli_process_data *process_data)
{
    if (process_data == NULL)
        return;
    dcli_plan_cache_free(&process_data->plans);
    dcli_parsed_free(&process_data->bodies);
    dcli_layouts_free(&process_data->layouts);
    dcli_helpers_close(process_data->helpers);
    dcli_free(process_data->device);
    dcli_free(process_data);
}
