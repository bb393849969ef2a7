/* kernel/group.cl - partial results on GPUs: the work-items of a group merge theirs in local memory. This text is emitted once
 * per result, whose number it calls dcl_R. */
#ifndef DCL_LONGS
#define DCL_LONGS 6 /* length of a partial result */
#endif

/* Merge partial results dcl_own: of every dcl_span neighbouring work-items, those of the ones whose numbers differ by multiples
 * of dcl_apart. The first dcl_apart of them have the results. dcl_span, dcl_apart and the size of the group are powers of
 * two. dcl_room has room for all partial results: word after word, so that neighbours use different memory banks. */
static void DCL_PASTE(dcl_group_, dcl_R)(long *dcl_own, __local long *dcl_room, const uint dcl_span,
                                         const uint dcl_apart)
{
    const uint dcl_size = get_local_size(0) * get_local_size(1);
    const uint dcl_me = get_local_id(1) * get_local_size(0) + get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE); /* the room may still be in use */
    for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
        dcl_room[dcl_n * dcl_size + dcl_me] = dcl_own[dcl_n];
    for (uint dcl_half = dcl_span / 2; dcl_half >= dcl_apart; dcl_half /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((dcl_me & (dcl_span - 1)) < dcl_half) {
            long dcl_other[DCL_LONGS];
            for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
                dcl_other[dcl_n] = dcl_room[dcl_n * dcl_size + dcl_me + dcl_half];
            DCL_PASTE(dcl_merge_, dcl_R)(dcl_own, dcl_other);
            for (int dcl_n = 0; dcl_n < DCL_LONGS; dcl_n++)
                dcl_room[dcl_n * dcl_size + dcl_me] = dcl_own[dcl_n];
        }
    }
}
