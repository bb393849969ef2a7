/* base/ways.h - the way in which a node gets elements that another node owns. It is chosen for each pair of nodes, by
 * arithmetic on a few facts per node that every process of a session knows, so that all processes choose alike. */
#ifndef DCLI_BASE_WAYS_H
#define DCLI_BASE_WAYS_H

#include <stdbool.h>
#include <stdint.h>

/** The ways, the best last. */
typedef enum dcli_way {
    DCLI_WAY_SEND,  /* in messages: packed into memory of the owner, which the transport carries or copies */
    DCLI_WAY_SLOTS, /* in messages whose data stays in the slot into which the owner's device wrote it; both sides
                       map this memory */
    DCLI_WAY_PLACE  /* not sent: the reader's kernels read the owner's part in place */
} dcli_way;

/** Abilities of a node, as bits. */
typedef enum dcli_ability {
    DCLI_CAN_READ = 1,      /* its device uses host memory in place, including memory of other nodes of its group */
    DCLI_CAN_SHOW = 2,      /* its parts lie in host memory that other nodes of its group can map */
    DCLI_CAN_SHARE = 4,     /* the messages that it sends lie in host memory that other nodes of its group can map */
    DCLI_CAN_READ_GPUS = 8, /* its device is a GPU that can read memory of other GPUs over the links between them */
    DCLI_CAN_SHOW_GPU = 16, /* its parts lie in GPU memory that other GPUs can read in this way */
    DCLI_CAN_REGISTER = 32, /* its device has memory of its own and copies fast from and to host memory that it has
                                registered: others of its group let it map their messages for writing */
    DCLI_CAN_READ_ANY = DCLI_CAN_READ | DCLI_CAN_READ_GPUS,
    DCLI_CAN_ALL = 63
} dcli_ability;

/** What the choice of a way needs to know about a node. {0}: the node exchanges messages with all others. */
typedef struct dcli_node_ways {
    uint8_t can;   /* dcli_ability, without those that a setting excludes */
    int16_t group; /* nodes with the same group can map each other's host memory */
} dcli_node_ways;

/** The way in which `reader` gets elements that `owner` owns. Elements that a node writes for their owner are always
 *  sent. */
static inline dcli_way dcli_way_between(const dcli_node_ways *reader, const dcli_node_ways *owner)
{
    if (reader->group != owner->group)
        return DCLI_WAY_SEND;
    if (((reader->can & DCLI_CAN_READ) != 0 && (owner->can & DCLI_CAN_SHOW) != 0) ||
        ((reader->can & DCLI_CAN_READ_GPUS) != 0 && (owner->can & DCLI_CAN_SHOW_GPU) != 0))
        return DCLI_WAY_PLACE;
    return (reader->can & owner->can & DCLI_CAN_SHARE) != 0 ? DCLI_WAY_SLOTS : DCLI_WAY_SEND;
}

/** Whether the messages between two nodes lie in memory that both map. */
static inline bool dcli_ways_share(const dcli_node_ways *a, const dcli_node_ways *b)
{
    return a->group == b->group && (a->can & b->can & DCLI_CAN_SHARE) != 0;
}

/** The abilities that follow from the device: whether it uses host memory in place, and whether it reads memory of
 *  other GPUs. */
uint8_t dcli_ways_of_device(bool in_place, bool reads_gpus);
/** The abilities that the setting DCL_TRANSFER allows. @param setting  as dcl_config.transfer. @param processes  nodes
 *  are worker processes, not threads. */
uint8_t dcli_ways_allowed(const char *setting, bool processes);
/** The name of a way in DCL_TRANSFER. */
const char *dcli_way_name(dcli_way way);
/** If the setting demands one way ("place", "slots"), find the first pair of nodes that cannot use it.
 *  @param ways  [count] without the abilities that the setting excludes. @return false: there is none. */
bool dcli_ways_find_unmet(const char *setting, const dcli_node_ways ways[], int count, int *reader_out, int *owner_out);

#endif
