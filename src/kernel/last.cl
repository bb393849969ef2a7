/* kernel/last.cl - partial results on GPUs: the last group of a launch merges those of all groups into the node's. This text is emitted
 * once per result, whose number it calls dcl_R. The groups of a launch need not run at the same time, so none waits for another. */
#ifndef DCL_LAST
#define DCL_LAST
/* Count the calling group as ended, if dcl_ends. @param dcl_ended  the number of groups of the launch that have ended; 0 again after the
 * last one. @return whether all other groups had ended; what they wrote before can then be read */
static bool dcl_is_last(volatile __global uint *dcl_ended, __local long *dcl_room, const bool dcl_ends)
{
    barrier(CLK_LOCAL_MEM_FENCE); /* the room may still be in use */
    if (get_local_id(0) == 0 && get_local_id(1) == 0) {
        dcl_room[0] = 0;
        if (dcl_ends) {
            DCL_FENCE();
            dcl_room[0] = atomic_add(dcl_ended, 1u) + 1 == get_num_groups(0);
        }
        if (dcl_room[0])
            *dcl_ended = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (dcl_room[0])
        DCL_FENCE();
    return dcl_room[0];
}
#endif

/* Write a group's partial result where the last group will read it. */
static void DCL_PASTE(dcl_leave_, dcl_R)(const long *dcl_own, volatile __global long *dcl_left)
{
    for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
        dcl_left[dcl_n] = dcl_own[dcl_n];
}

/* Merge a work-item's share of the partial results that dcl_groups groups have left. @param dcl_apart  distance between those of two
 * groups. */
static void DCL_PASTE(dcl_collect_, dcl_R)(long *dcl_own, volatile __global const long *dcl_left, const long dcl_apart,
                                           const uint dcl_groups)
{
    const uint dcl_size = get_local_size(0) * get_local_size(1);
    const uint dcl_me = get_local_id(1) * get_local_size(0) + get_local_id(0);
    for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
        dcl_own[dcl_n] = 0;
    for (uint dcl_g = dcl_me; dcl_g < dcl_groups; dcl_g += dcl_size) {
        long dcl_other[DCL_LONGS];
        for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
            dcl_other[dcl_n] = dcl_left[dcl_g * dcl_apart + dcl_n];
        DCL_PASTE(dcl_merge_, dcl_R)(dcl_own, dcl_other);
    }
}

/* Add a partial result to the node's. */
static void DCL_PASTE(dcl_join_, dcl_R)(long *dcl_own, __global long *dcl_slot)
{
    long dcl_other[DCL_LONGS];
    for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
        dcl_other[dcl_n] = dcl_slot[dcl_n];
    DCL_PASTE(dcl_merge_, dcl_R)(dcl_own, dcl_other);
    for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
        dcl_slot[dcl_n] = dcl_own[dcl_n];
}
