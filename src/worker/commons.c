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
    return commons;
}

void dcli_commons_close(dcli_commons *commons)
{
    if (commons == NULL)
        return;
    dcli_plan_cache_free(&commons->plans);
    dcli_parsed_free(&commons->bodies);
    dcli_layouts_free(&commons->layouts);
    dcli_free(commons);
}
