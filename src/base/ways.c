/* base/ways.c - the setting DCL_TRANSFER and the ways between nodes. */
#include "base/ways.h"

#include <string.h>

static const char *const names[] = {[DCLI_WAY_SEND] = "send", [DCLI_WAY_SLOTS] = "slots", [DCLI_WAY_PLACE] = "place"};

uint8_t dcli_ways_allowed(const char *setting)
{
    if (strcmp(setting, "send") == 0)
        return 0;
    return strcmp(setting, "slots") == 0 ? DCLI_CAN_SHARE : DCLI_CAN_ALL;
}

const char *dcli_way_name(dcli_way way) { return names[way]; }

bool dcli_ways_find_unmet(const char *setting, const dcli_node_ways ways[], int count, int *reader_out, int *owner_out)
{
    for (int r = 0; r < count; r++)
        for (int o = 0; o < count; o++)
            if (r != o && strcmp(setting, "auto") != 0 &&
                strcmp(setting, names[dcli_way_between(&ways[r], &ways[o])]) != 0) {
                *reader_out = r;
                *owner_out = o;
                return true;
            }
    return false;
}
