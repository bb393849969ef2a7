/* kernel/keyed_gpu.cl - reduces values of type dcl_T by keys into result number DCL_R on GPUs, whose partial results are words
 * (kernel/keyed.h) of type dcl_U. A group has tables of words in local memory, which its work-items change by atomic operations.
 * DCL_WORD(x): the word of a value; DCL_JOIN(x, y): that of two words; DCL_NATIVE(p, x): joins a word with the one at p in one
 * instruction, where there is such a one; DCL_SWAP: compares and exchanges a word. */
#ifdef DCL_NATIVE
#define DCL_JOIN_AT(p, w) DCL_NATIVE(p, w)
#else
#define DCL_JOIN_AT(p, w)                                         \
    dcl_U dcl_old = *(p);                                         \
    for (bool dcl_done = false; !dcl_done;) {                     \
        const dcl_U dcl_new = DCL_JOIN(dcl_old, w);               \
        const dcl_U dcl_seen =                                    \
            dcl_new == dcl_old ? dcl_old : DCL_SWAP(p, dcl_old, dcl_new); \
        dcl_done = dcl_seen == dcl_old;                           \
        dcl_old = dcl_seen;                                       \
    }
#endif

static void DCL_KEYED(dcl_share_)(volatile __global dcl_U *dcl_p, const dcl_U dcl_w)
{
    if (dcl_w != 0) {
        DCL_JOIN_AT(dcl_p, dcl_w);
    }
}

/* Reduce a value into element number dcl_at: in the group's words, if it has some. In a second round nothing is left to do. */
DCL_KEYED_INLINE void DCL_KEYED(dcl_put_)(const bool dcl_has_own, volatile __local dcl_U *dcl_own, const int dcl_round,
                                          __global long *dcl_out, const ulong dcl_at, const dcl_T dcl_x)
{
    const dcl_U dcl_w = DCL_WORD(dcl_x);
    if (dcl_round == 0 && dcl_has_own) {
        DCL_JOIN_AT(dcl_own + dcl_at, dcl_w);
    } else if (dcl_round == 0) {
        DCL_KEYED(dcl_share_)((volatile __global dcl_U *)(dcl_out + dcl_at), dcl_w);
    }
}

static void DCL_KEYED(dcl_begin_)(volatile __local dcl_U *dcl_room, const uint dcl_count, const uint dcl_me,
                                  const uint dcl_size)
{
    for (uint dcl_at = dcl_me; dcl_at < dcl_count; dcl_at += dcl_size)
        dcl_room[dcl_at] = 0;
}

/* Add the group's tables to the node's. Groups begin at elements of their own, so that they rarely meet. */
static void DCL_KEYED(dcl_end_)(volatile __local dcl_U *dcl_room, __global long *dcl_out, const uint dcl_n,
                                const uint dcl_copies, const uint dcl_me, const uint dcl_size)
{
    const uint dcl_from = (uint)((ulong)dcl_n * get_group_id(0) / get_num_groups(0));
    for (uint dcl_k = dcl_me; dcl_k < dcl_n; dcl_k += dcl_size) {
        const uint dcl_at = dcl_k + dcl_from < dcl_n ? dcl_k + dcl_from : dcl_k + dcl_from - dcl_n;
        dcl_U dcl_w = 0;
        for (uint dcl_c = 0; dcl_c < dcl_copies; dcl_c++)
            dcl_w = DCL_JOIN(dcl_w, dcl_room[dcl_c * dcl_n + dcl_at]);
        DCL_KEYED(dcl_share_)((volatile __global dcl_U *)(dcl_out + dcl_at), dcl_w);
    }
}
#undef DCL_JOIN_AT
