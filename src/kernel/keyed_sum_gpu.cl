/* kernel/keyed_sum_gpu.cl - adds values of type dcl_T, float or double, by keys to result number DCL_R on GPUs. The partial results are
 * sums that do not depend on the order (kernel/sum.cl).
 *
 * A group has tables of slots in local memory, whose bins its work-items change by atomic additions. The top of a slot is constant
 * while they do so: a number that is too large for it asks for a higher one; then, with all work-items at a barrier, such slots are added to the
 * node's sums, and the tile is run once more (dcl_round is 1) for the numbers that asked. */
#ifndef DCL_SLOT
#define DCL_SLOT
#define DCL_SLOT_ADDITIONS 40     /* of a work-item within a tile, of at most 2^49 units each: 256 work-items add less than 2^63 - 2^59 */
#define DCL_SLOT_FULL (1UL << 59) /* units from which on a slot is added to the node's sum; DCL_KEYED_COPIES slots have less than 2^63 */
struct dcl_slot {
    double dcl_r0;        /* the constant that rounds to the unit of the top bin; 0: there is no top yet */
    ulong dcl_next;       /* the bits of the next such constant: these integers have the order of the constants */
    ulong dcl_b0, dcl_b1; /* units of the top bin and of the next lower one, modulo 2^64 */
};
struct dcl_asked {
    int dcl_left;   /* additions that the work-item may still do */
    bool dcl_again; /* a number was too large */
};

/* Add units of the bins of a slot whose constant is dcl_r0. */
static void dcl_slot_share(const double dcl_r0, const ulong dcl_b0, const ulong dcl_b1, volatile __global long *dcl_p)
{
    if (dcl_r0 != 0 && (dcl_b0 | dcl_b1) != 0) {
        const long dcl_exponent = (as_long(dcl_r0) >> 52) - 1023;
        dcl_sum_share(dcl_p, 0, DCL_SUM_UNIT + (dcl_exponent - 52) / DCL_SUM_WIDTH, (long)dcl_b0, (long)dcl_b1);
    }
}

static void dcl_slot_empty(volatile __local struct dcl_slot *dcl_s, __global long *dcl_p)
{
    dcl_slot_share(dcl_s->dcl_r0, dcl_s->dcl_b0, dcl_s->dcl_b1, dcl_p);
    dcl_s->dcl_b0 = dcl_s->dcl_b1 = 0;
}

/* Ask for the top that a number needs. Tops whose numbers must be scaled are not used in slots. @return whether the number waits
 * for the second round. */
static bool dcl_slot_ask(volatile __local struct dcl_slot *dcl_s, const int dcl_round, __global long *dcl_p,
                         const double dcl_x)
{
    const long dcl_top = dcl_x != 0 && isfinite(dcl_x) ? dcl_sum_top(fabs(dcl_x)) : 0;
    if (dcl_top == 0 || dcl_sum_scale(dcl_top) != 1) {
        if (dcl_round == 0)
            dcl_sum_share_one(dcl_p, dcl_x);
        return false;
    }
    const ulong dcl_want = as_ulong(dcl_sum_rounder(dcl_top, dcl_top));
    for (ulong dcl_old = dcl_s->dcl_next; dcl_old < dcl_want;) {
        const ulong dcl_seen = atom_cmpxchg(&dcl_s->dcl_next, dcl_old, dcl_want);
        dcl_old = dcl_seen == dcl_old ? dcl_want : dcl_seen;
    }
    return true;
}
#endif

/* Add a value to element number dcl_at. */
DCL_KEYED_INLINE void DCL_KEYED(dcl_put_)(const bool dcl_has_own, volatile __local struct dcl_slot *dcl_own,
                                          const int dcl_round, struct dcl_asked *dcl_asked, __global long *dcl_out,
                                          const ulong dcl_at, const dcl_T dcl_v)
{
    const double dcl_x = dcl_v;
    __global long *const dcl_p = dcl_out + 6 * dcl_at;
    if (!dcl_has_own) {
        if (dcl_round == 0)
            dcl_sum_share_one(dcl_p, dcl_x);
        return;
    }
    volatile __local struct dcl_slot *const dcl_s = dcl_own + dcl_at;
    double dcl_r0 = dcl_s->dcl_r0;
    if (fabs(dcl_x) * 12 < dcl_r0) { /* dcl_r0 is 12 times the first number that is too large */
        if (dcl_round != 0)
            return;
    } else {
        if (!dcl_slot_ask(dcl_s, dcl_round, dcl_p, dcl_x))
            return;
        if (dcl_round == 0) {
            dcl_asked->dcl_again = true;
            return;
        }
        dcl_r0 = as_double(dcl_s->dcl_next);
    }
    if (dcl_asked->dcl_left == 0) {
        dcl_sum_share_one(dcl_p, dcl_x);
        return;
    }
    dcl_asked->dcl_left--;
    const double dcl_z = dcl_x + dcl_r0, dcl_r1 = dcl_r0 * 0x1p-50;
    const ulong dcl_u0 = as_ulong(dcl_z) - as_ulong(dcl_r0);
    const ulong dcl_u1 = as_ulong(dcl_x + (dcl_r0 - dcl_z) + dcl_r1) - as_ulong(dcl_r1);
    if (dcl_u0 != 0)
        atom_add(&dcl_s->dcl_b0, dcl_u0);
    if (dcl_u1 != 0)
        atom_add(&dcl_s->dcl_b1, dcl_u1);
}

static void DCL_KEYED(dcl_begin_)(volatile __local struct dcl_slot *dcl_room, const uint dcl_count, const uint dcl_me,
                                  const uint dcl_size)
{
    for (uint dcl_at = dcl_me; dcl_at < dcl_count; dcl_at += dcl_size) {
        dcl_room[dcl_at].dcl_r0 = 0;
        dcl_room[dcl_at].dcl_next = dcl_room[dcl_at].dcl_b0 = dcl_room[dcl_at].dcl_b1 = 0;
    }
}

/* Before a second round: add the slots that get a higher top to the node's. */
static void DCL_KEYED(dcl_raise_)(volatile __local struct dcl_slot *dcl_room, __global long *dcl_out, const uint dcl_n,
                                  const uint dcl_copies, const uint dcl_me, const uint dcl_size)
{
    for (uint dcl_at = dcl_me; dcl_at < dcl_n * dcl_copies; dcl_at += dcl_size)
        if (dcl_room[dcl_at].dcl_next != as_ulong(dcl_room[dcl_at].dcl_r0))
            dcl_slot_empty(dcl_room + dcl_at, dcl_out + 6 * (dcl_at % dcl_n));
}

/* After a tile: set the new tops, and add slots that could overflow in the next tile to the node's. */
static void DCL_KEYED(dcl_settle_)(volatile __local struct dcl_slot *dcl_room, __global long *dcl_out, const uint dcl_n,
                                   const uint dcl_copies, const uint dcl_me, const uint dcl_size)
{
    for (uint dcl_at = dcl_me; dcl_at < dcl_n * dcl_copies; dcl_at += dcl_size) {
        volatile __local struct dcl_slot *const dcl_s = dcl_room + dcl_at;
        dcl_s->dcl_r0 = as_double(dcl_s->dcl_next);
        if (dcl_s->dcl_b0 + DCL_SLOT_FULL > 2 * DCL_SLOT_FULL || dcl_s->dcl_b1 + DCL_SLOT_FULL > 2 * DCL_SLOT_FULL)
            dcl_slot_empty(dcl_s, dcl_out + 6 * (dcl_at % dcl_n));
    }
}

/* Add the group's tables to the node's: of an element, the slots with the highest top at once. */
static void DCL_KEYED(dcl_end_)(volatile __local struct dcl_slot *dcl_room, __global long *dcl_out, const uint dcl_n,
                                const uint dcl_copies, const uint dcl_me, const uint dcl_size)
{
    const uint dcl_from = (uint)((ulong)dcl_n * get_group_id(0) / get_num_groups(0));
    for (uint dcl_k = dcl_me; dcl_k < dcl_n; dcl_k += dcl_size) {
        const uint dcl_at = dcl_k + dcl_from < dcl_n ? dcl_k + dcl_from : dcl_k + dcl_from - dcl_n;
        double dcl_r0 = 0;
        ulong dcl_b0 = 0, dcl_b1 = 0;
        for (uint dcl_c = 0; dcl_c < dcl_copies; dcl_c++)
            dcl_r0 = fmax(dcl_r0, dcl_room[dcl_c * dcl_n + dcl_at].dcl_r0);
        for (uint dcl_c = 0; dcl_c < dcl_copies; dcl_c++) {
            volatile __local struct dcl_slot *const dcl_s = dcl_room + dcl_c * dcl_n + dcl_at;
            if (dcl_s->dcl_r0 == dcl_r0) {
                dcl_b0 += dcl_s->dcl_b0;
                dcl_b1 += dcl_s->dcl_b1;
            } else {
                dcl_slot_empty(dcl_s, dcl_out + 6 * dcl_at);
            }
        }
        dcl_slot_share(dcl_r0, dcl_b0, dcl_b1, dcl_out + 6 * dcl_at);
    }
}
