/* worker/commons.c - open and close the data that the peers of one process share. */
#include "worker/commons.h"

#include "base/alloc.h"

dcli_commons *dcli_commons_open(int peers)
{
    dcli_commons *commons = dcli_calloc(1, sizeof *commons);
    if (commons == NULL)
        return NULL;
    commons->peers = peers;
    dcli_layouts_init(&commons->layouts);
    dcli_parsed_init(&commons->bodies);
    dcli_plan_cache_init(&commons->plans);
    commons->helpers = dcli_helpers_open(dcli_helpers_usual());
    commons->device = dcli_calloc((size_t)peers, sizeof(dcli_device *));
    if (commons->helpers != NULL && commons->device != NULL)
        return commons;
    dcli_commons_close(commons);
    return NULL;
}

void dcli_commons_close(dcli_commons *commons)
{
    if (commons == NULL)
        return;
    dcli_plan_cache_free(&commons->plans);
    dcli_parsed_free(&commons->bodies);
    dcli_layouts_free(&commons->layouts);
    dcli_helpers_close(commons->helpers);
    dcli_free(commons->device);
    dcli_free(commons);
}
