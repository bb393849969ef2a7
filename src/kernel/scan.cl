/* kernel/scan.cl - combines blocks of 16 values, for the kernels of a scan. Before it are defined: scan_T, the type; scan_T16, 16 of
 * them; scan_none, a value that changes nothing; scan_chunk, elements at once along the contiguous axis; scan_strip, lines at once
 * across it; scan_exclusive, 0 or 1; and the functions scan_join() and scan_join16(), which combine a left and a right value.
 *
 * A block is combined in four steps: each value with the one 1 before it, then 2, 4 and 8 before it (W. D. Hillis and G. L. Steele,
 * "Data Parallel Algorithms", Communications of the ACM 29, 1986).
 *
 * All names begin with scan_, because the text follows the program's prelude, whose macros do not. */
#define scan_min(scan_x, scan_y) ((scan_y) < (scan_x) ? (scan_y) : (scan_x))
#define scan_max(scan_x, scan_y) ((scan_x) < (scan_y) ? (scan_y) : (scan_x))

/* Values at even places, and those that follow them. */
static scan_T16 scan_pairs(const scan_T16 scan_a, const scan_T16 scan_b)
{
    return scan_join16((scan_T16)(scan_a.even, scan_b.even), (scan_T16)(scan_a.odd, scan_b.odd));
}

/* Combine 64 values to 16, and what precedes with 16 blocks, from left to right; for values in private and in global memory. */
#define SCAN_DEFINE_TOTAL(scan_space, scan_quads, scan_total)                                                   \
    static scan_T16 scan_quads(const scan_space scan_T *scan_v)                                                 \
    {                                                                                                           \
        return scan_pairs(scan_pairs(vload16(0, scan_v), vload16(1, scan_v)),                                   \
                          scan_pairs(vload16(2, scan_v), vload16(3, scan_v)));                                  \
    }                                                                                                           \
    static scan_T scan_total(const scan_space scan_T *scan_v, scan_T scan_s)                                    \
    {                                                                                                           \
        scan_T scan_t[16];                                                                                      \
        vstore16(scan_pairs(scan_pairs(scan_quads(scan_v), scan_quads(scan_v + 64)),                            \
                            scan_pairs(scan_quads(scan_v + 128), scan_quads(scan_v + 192))),                    \
                 0, scan_t);                                                                                    \
        for (int scan_n = 0; scan_n < 16; scan_n++)                                                             \
            scan_s = scan_join(scan_s, scan_t[scan_n]);                                                         \
        return scan_s;                                                                                          \
    }
SCAN_DEFINE_TOTAL(__private, scan_quads, scan_total)
SCAN_DEFINE_TOTAL(__global, scan_quads_there, scan_total_there)

/* Turn a block into results. scan_carry: this leaf before it, in and out. scan_before: the result before it. */
static scan_T16 scan_block(scan_T16 scan_x, const scan_T scan_o, scan_T *scan_carry, scan_T *scan_before)
{
    scan_x = scan_join16((scan_T16)(scan_none, scan_x.s01234567, scan_x.s89ab, scan_x.scd, scan_x.se), scan_x);
    scan_x = scan_join16((scan_T16)(scan_none, scan_none, scan_x.s01234567, scan_x.s89ab, scan_x.scd), scan_x);
    scan_x = scan_join16((scan_T16)(scan_none, scan_none, scan_none, scan_none, scan_x.s01234567, scan_x.s89ab), scan_x);
    scan_x = scan_join16((scan_T16)(scan_none, scan_none, scan_none, scan_none, scan_none, scan_none, scan_none,
                                    scan_none, scan_x.lo),
                         scan_x);
    scan_T16 scan_y = scan_join16((scan_T16)(scan_o), scan_join16((scan_T16)(*scan_carry), scan_x));
    *scan_carry = scan_join(*scan_carry, scan_x.sf);
    if (scan_exclusive) {
        const scan_T scan_next = scan_y.sf;
        scan_y = (scan_T16)(*scan_before, scan_y.s01234567, scan_y.s89ab, scan_y.scd, scan_y.se);
        *scan_before = scan_next;
    }
    return scan_y;
}

/* Turn scan_n values into results. scan_o: what all leaves before have given; scan_s: this leaf before these values, in and out;
 * scan_last: the result before these. Values up to the next multiple of 16 are scan_none. */
static void scan_blocks(scan_T *scan_v, const int scan_n, const scan_T scan_o, scan_T *scan_s, scan_T *scan_last)
{
    scan_T scan_carry = *scan_s, scan_before = *scan_last;
    for (int scan_at = 0; scan_at < scan_n; scan_at += 16)
        vstore16(scan_block(vload16(0, scan_v + scan_at), scan_o, &scan_carry, &scan_before), 0, scan_v + scan_at);
    *scan_s = scan_carry;
    *scan_last = scan_before;
}

/* Whether a vector of results can be stored at this address in the way chosen. */
#define SCAN_FITS(scan_p) (!scan_streams || ((ulong)(scan_p) & (sizeof(scan_T16) - 1)) == 0)

/* Turn scan_chunk values into results as scan_blocks() does, without a copy: memory is read and written while blocks are combined. */
static void scan_through(__global const scan_T *scan_i, __global scan_T *scan_p, const scan_T scan_o, scan_T *scan_s,
                         scan_T *scan_last)
{
    scan_T scan_carry = *scan_s, scan_before = *scan_last;
    for (int scan_at = 0; scan_at < scan_chunk; scan_at += 16) {
        const scan_T16 scan_y = scan_block(vload16(0, scan_i + scan_at), scan_o, &scan_carry, &scan_before);
#ifdef __clang__
        if (scan_streams)
            __builtin_nontemporal_store(scan_y, (__global scan_T16 *)(scan_p + scan_at));
        else
#endif
            vstore16(scan_y, 0, scan_p + scan_at);
    }
    *scan_s = scan_carry;
    *scan_last = scan_before;
}

/* Store scan_n results. */
static void scan_store(__global scan_T *scan_p, const long scan_stride, const scan_T *scan_v, const int scan_n)
{
#ifdef __clang__
    if (scan_streams && scan_stride == 1 && scan_n == scan_chunk && ((ulong)scan_p & (sizeof(scan_T16) - 1)) == 0) {
        for (int scan_at = 0; scan_at < scan_chunk; scan_at += 16)
            __builtin_nontemporal_store(vload16(0, scan_v + scan_at), (__global scan_T16 *)(scan_p + scan_at));
        return;
    }
#endif
    if (scan_stride == 1)
        for (int scan_at = 0; scan_at < scan_n; scan_at++)
            scan_p[scan_at] = scan_v[scan_at];
    else
        for (int scan_at = 0; scan_at < scan_n; scan_at++)
            scan_p[scan_at * scan_stride] = scan_v[scan_at];
}

/* Combine the values of each of scan_c columns: 16 rows, scan_strip values apart. */
static void scan_columns(scan_T *scan_v, const int scan_c)
{
    for (int scan_d = 1; scan_d < 16; scan_d *= 2)
        for (int scan_r = 15; scan_r >= scan_d; scan_r--)
            for (int scan_j = 0; scan_j < scan_c; scan_j++)
                scan_v[scan_r * scan_strip + scan_j] = scan_join(scan_v[(scan_r - scan_d) * scan_strip + scan_j],
                                                                 scan_v[scan_r * scan_strip + scan_j]);
}

/* The same, of which only the last row is needed. */
static void scan_column_totals(scan_T *scan_v, const int scan_c)
{
    for (int scan_d = 1; scan_d < 16; scan_d *= 2)
        for (int scan_r = 2 * scan_d - 1; scan_r < 16; scan_r += 2 * scan_d)
            for (int scan_j = 0; scan_j < scan_c; scan_j++)
                scan_v[scan_r * scan_strip + scan_j] = scan_join(scan_v[(scan_r - scan_d) * scan_strip + scan_j],
                                                                 scan_v[scan_r * scan_strip + scan_j]);
}
