/* kernel/keyed_sum.cl - adds values of type dcl_T, float or double, by keys to result number DCL_R, whose partial results are sums
 * that do not depend on the order (kernel/sum.cl).
 *
 * A work-item's own partial result (a slot) has one addition per bin: integers that do not carry. The carries are done in the
 * node's partial results, to which slots are added before they can overflow. Neighbouring values that are added to neighbouring slots
 * are added as vectors; therefore a table of slots consists of three arrays. */
#ifndef DCL_SLOT
#define DCL_SLOT
#define DCL_SLOT_ADDITIONS 4096   /* of at most 2^49 units each */
#define DCL_SLOT_FULL (1UL << 61) /* from this many units on, a slot might overflow before its next check */
struct dcl_slots {
    double dcl_r0[DCL_SLOTS];                    /* the constant that rounds to the unit of the top bin; 0: there is no top yet */
    ulong dcl_b0[DCL_SLOTS], dcl_b1[DCL_SLOTS]; /* units of the top bin and of the next lower one, modulo 2^64 */
};

static void dcl_slot_share(struct dcl_slots *dcl_own, const ulong dcl_at, volatile __global long *dcl_p)
{
    if (dcl_own->dcl_r0[dcl_at] != 0) {
        const long dcl_exponent = (as_long(dcl_own->dcl_r0[dcl_at]) >> 52) - 1023;
        dcl_sum_share(dcl_p, 0, DCL_SUM_UNIT + (dcl_exponent - 52) / DCL_SUM_WIDTH, (long)dcl_own->dcl_b0[dcl_at],
                      (long)dcl_own->dcl_b1[dcl_at]);
    }
    dcl_own->dcl_b0[dcl_at] = dcl_own->dcl_b1[dcl_at] = 0;
}

/* Add a number that is too large for a slot's top. Tops whose numbers must be scaled are not used in slots. */
static void dcl_slot_raise(struct dcl_slots *dcl_own, const ulong dcl_at, __global long *dcl_out, const double dcl_x)
{
    const long dcl_top = dcl_x != 0 && isfinite(dcl_x) ? dcl_sum_top(fabs(dcl_x)) : 0;
    dcl_sum_share_one(dcl_out, dcl_x);
    if (dcl_top == 0 || dcl_sum_scale(dcl_top) != 1)
        return;
    const double dcl_r0 = dcl_sum_rounder(dcl_top, dcl_top);
    if (dcl_r0 <= dcl_own->dcl_r0[dcl_at])
        return;
    dcl_slot_share(dcl_own, dcl_at, dcl_out);
    dcl_own->dcl_r0[dcl_at] = dcl_r0;
}

/* Add a number to a slot whose top it does not exceed. */
DCL_KEYED_INLINE void dcl_slot_add(struct dcl_slots *dcl_own, const ulong dcl_at, const double dcl_x)
{
    const double dcl_r0 = dcl_own->dcl_r0[dcl_at], dcl_z = dcl_x + dcl_r0, dcl_r1 = dcl_r0 * 0x1p-50;
    dcl_own->dcl_b0[dcl_at] += as_ulong(dcl_z) - as_ulong(dcl_r0);
    dcl_own->dcl_b1[dcl_at] += as_ulong(dcl_x + (dcl_r0 - dcl_z) + dcl_r1) - as_ulong(dcl_r1);
}

/* Negative if a number does not exceed a slot's top: dcl_r0 is 12 times the first number that does. Not if it is not a number, since fabs() clears the sign. */
DCL_KEYED_INLINE long dcl_slot_fits(const struct dcl_slots *dcl_own, const ulong dcl_at, const double dcl_x)
{
    return as_long(fabs(dcl_x) * 12 - dcl_own->dcl_r0[dcl_at]);
}

/* Negative if a number may be added to a slot, which may be empty: as before, or 0. */
DCL_KEYED_INLINE long dcl_slot_takes(const struct dcl_slots *dcl_own, const ulong dcl_at, const double dcl_x)
{
    return dcl_slot_fits(dcl_own, dcl_at, dcl_x) | -(long)(dcl_x == 0);
}

DCL_KEYED_INLINE void dcl_slot_clear(struct dcl_slots *dcl_own, const ulong dcl_at)
{
    dcl_own->dcl_r0[dcl_at] = 0;
    dcl_own->dcl_b0[dcl_at] = dcl_own->dcl_b1[dcl_at] = 0;
}

/* Add any number to a slot, whose partial result of the node is dcl_p. */
static void dcl_slot_any(struct dcl_slots *dcl_own, const ulong dcl_at, volatile __global long *dcl_p, const double dcl_x)
{
    if (dcl_slot_takes(dcl_own, dcl_at, dcl_x) < 0) {
        dcl_slot_add(dcl_own, dcl_at, dcl_x);
        return;
    }
    const long dcl_top = isfinite(dcl_x) ? dcl_sum_top(fabs(dcl_x)) : 0;
    if (dcl_top == 0 || dcl_sum_scale(dcl_top) != 1) {
        dcl_sum_share_one(dcl_p, dcl_x);
        return;
    }
    dcl_slot_share(dcl_own, dcl_at, dcl_p);
    dcl_own->dcl_r0[dcl_at] = dcl_sum_rounder(dcl_top, dcl_top);
    dcl_slot_add(dcl_own, dcl_at, dcl_x);
}
#endif

/* Add to the node's sums every slot that could overflow within the next DCL_SLOT_ADDITIONS additions. */
static void DCL_KEYED(dcl_settle_)(struct dcl_slots *dcl_own, __global long *dcl_out, const ulong dcl_n)
{
    for (ulong dcl_at = 0; dcl_at < dcl_n; dcl_at++)
        if (dcl_own->dcl_b0[dcl_at] + DCL_SLOT_FULL > 2 * DCL_SLOT_FULL ||
            dcl_own->dcl_b1[dcl_at] + DCL_SLOT_FULL > 2 * DCL_SLOT_FULL)
            dcl_slot_share(dcl_own, dcl_at, dcl_out + 6 * dcl_at);
}

/* Add a value to element number dcl_at. @param dcl_left  additions before dcl_settle. */
DCL_KEYED_INLINE void DCL_KEYED(dcl_put_)(const bool dcl_has_own, struct dcl_slots *dcl_own, int *dcl_left,
                                          __global long *dcl_out, const ulong dcl_n, const ulong dcl_at,
                                          const dcl_T dcl_v)
{
    const double dcl_x = dcl_v;
    if (!dcl_has_own) {
        dcl_sum_share_one(dcl_out + 6 * dcl_at, dcl_x);
        return;
    }
    if (fabs(dcl_x) * 12 < dcl_own->dcl_r0[dcl_at])
        dcl_slot_add(dcl_own, dcl_at, dcl_x);
    else
        dcl_slot_raise(dcl_own, dcl_at, dcl_out + 6 * dcl_at, dcl_x);
    if (--*dcl_left == 0) {
        DCL_KEYED(dcl_settle_)(dcl_own, dcl_out, dcl_n);
        *dcl_left = DCL_SLOT_ADDITIONS;
    }
}

DCL_KEYED_INLINE void DCL_KEYED(dcl_begin_)(struct dcl_slots *dcl_own, const ulong dcl_n)
{
    for (ulong dcl_at = 0; dcl_at < dcl_n; dcl_at++) {
        dcl_own->dcl_r0[dcl_at] = 0;
        dcl_own->dcl_b0[dcl_at] = dcl_own->dcl_b1[dcl_at] = 0;
    }
}

static void DCL_KEYED(dcl_end_)(struct dcl_slots *dcl_own, __global long *dcl_out, const ulong dcl_n)
{
    for (ulong dcl_at = 0; dcl_at < dcl_n; dcl_at++)
        dcl_slot_share(dcl_own, dcl_at, dcl_out + 6 * dcl_at);
}
