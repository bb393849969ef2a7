/* base/ways.c - which ways between nodes their abilities and the setting DCL_TRANSFER allow. */
#include "base/ways.h"

#include <string.h>

static const char *const names[] = {[DCLI_WAY_SEND] = "send", [DCLI_WAY_SLOTS] = "slots", [DCLI_WAY_PLACE] = "place"};

uint8_t dcli_ways_of_device(bool in_place, bool reads_gpus)
{
    if (in_place)
        return DCLI_CAN_READ | DCLI_CAN_SHOW | DCLI_CAN_SHARE;
    return DCLI_CAN_SHARE | DCLI_CAN_REGISTER | (reads_gpus ? DCLI_CAN_READ_GPUS | DCLI_CAN_SHOW_GPU : 0);
}

uint8_t dcli_ways_allowed(const char *setting, bool processes)
{
    if (strcmp(setting, "send") == 0)
        return 0;
    if (strcmp(setting, "slots") == 0)
        return DCLI_CAN_SHARE | DCLI_CAN_REGISTER;
    /* "auto": GPUs of one process do not read each other's memory, because drivers were seen to fail then. The setting
     * "place" allows it. */
    return strcmp(setting, "place") == 0 || processes ? DCLI_CAN_ALL
                                                      : DCLI_CAN_ALL & ~(DCLI_CAN_READ_GPUS | DCLI_CAN_SHOW_GPU);
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
