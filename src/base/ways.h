/* base/ways.h - how elements get from the node that owns them to one that reads them: chosen for each pair of nodes.
 * The choice is arithmetic on a few facts per node, which every process of a session has, so that all make it alike. */
#ifndef DCLI_BASE_WAYS_H
#define DCLI_BASE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

/** The ways, the best last. */
typedef enum dcli_way {
    DCLI_WAY_SEND,  /* in messages: packed into memory of the owner, which the transport carries or copies */
    DCLI_WAY_SLOTS, /* in messages whose data stays where the owner's device has put it: memory that both sides map */
    DCLI_WAY_PLACE  /* not at all: the reader's kernels use the owner's part where it lies */
} dcli_way;

/** What a node can do; bits. */
typedef enum dcli_ability {
    DCLI_CAN_READ = 1,      /* its device uses host memory in place, also that of others */
    DCLI_CAN_SHOW = 2,      /* its parts lie in host memory that others of its group see */
    DCLI_CAN_SHARE = 4,     /* what it sends lies in host memory that others of its group see */
    DCLI_CAN_READ_GPUS = 8, /* its device is a GPU that reads memory of others over the links between them, and */
    DCLI_CAN_SHOW_GPU = 16, /* its parts lie in memory that others read so */
    DCLI_CAN_REGISTER = 32, /* its device has memory of its own and copies fast from and to host memory that it has
                                registered: others of its group let it map their messages for writing */
    DCLI_CAN_READ_ANY = DCLI_CAN_READ | DCLI_CAN_READ_GPUS,
    DCLI_CAN_ALL = 63
} dcli_ability;

/** One node. {0}: it exchanges messages with all others. */
typedef struct dcli_node_ways {
    uint8_t can;   /* dcli_ability; what a setting rules out is left out */
    int16_t group; /* nodes of equal group can map each other's host memory */
} dcli_node_ways;

/** How `reader` gets what `owner` owns. A writer of what others own sends it in any case. */
static inline dcli_way dcli_way_between(const dcli_node_ways *reader, const dcli_node_ways *owner)
{
    if (reader->group != owner->group)
        return DCLI_WAY_SEND;
    if (((reader->can & DCLI_CAN_READ) != 0 && (owner->can & DCLI_CAN_SHOW) != 0) ||
        ((reader->can & DCLI_CAN_READ_GPUS) != 0 && (owner->can & DCLI_CAN_SHOW_GPU) != 0))
        return DCLI_WAY_PLACE;
    return (reader->can & owner->can & DCLI_CAN_SHARE) != 0 ? DCLI_WAY_SLOTS : DCLI_WAY_SEND;
}

/** Whether what one of two nodes sends to the other lies in memory that both map. */
static inline bool dcli_ways_share(const dcli_node_ways *a, const dcli_node_ways *b)
{
    return a->group == b->group && (a->can & b->can & DCLI_CAN_SHARE) != 0;
}

/** What a node can do whose device uses host memory in place, or reads memory of other GPUs. */
uint8_t dcli_ways_of_device(bool in_place, bool reads_gpus);
/** What the setting DCL_TRANSFER leaves of a node's abilities. @param setting  as dcl_config.transfer.
 *  @param processes  whether nodes are worker processes instead of threads. */
uint8_t dcli_ways_allowed(const char *setting, bool processes);
/** The word for a way, as DCL_TRANSFER has it. */
const char *dcli_way_name(dcli_way way);
/** The first pair of nodes for which a setting that demands one way ("place", "slots") cannot be met.
 *  @param ways  [count] without what the setting rules out. @return false: there is none. */
bool dcli_ways_find_unmet(const char *setting, const dcli_node_ways ways[], int count, int *reader_out, int *owner_out);

#endif
