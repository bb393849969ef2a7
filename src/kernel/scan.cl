/* kernel/scan.cl - combines blocks of 16 values, for the kernels of a scan. Before it are defined: scan_T, the type; scan_T16, 16 of
 * them; SCAN_NONE, a value that changes nothing; SCAN_CHUNK, elements at once along the contiguous axis; SCAN_STRIP, lines at once
 * across it; SCAN_EXCLUSIVE, 0 or 1; and the functions scan_join() and scan_join16(), which combine a left and a right value.
 *
 * A block is combined in four steps: each value with the one 1 before it, then 2, 4 and 8 before it (W. D. Hillis and G. L. Steele,
 * "Data Parallel Algorithms", Communications of the ACM 29, 1986). */

/* Values at even places, and those that follow them. */
static scan_T16 scan_pairs(const scan_T16 a, const scan_T16 b)
{
    return scan_join16((scan_T16)(a.even, b.even), (scan_T16)(a.odd, b.odd));
}

static scan_T16 scan_quads(const scan_T *v)
{
    return scan_pairs(scan_pairs(vload16(0, v), vload16(1, v)), scan_pairs(vload16(2, v), vload16(3, v)));
}

/* Combine what precedes with 16 blocks, from left to right. */
static scan_T scan_total(const scan_T *v, scan_T s)
{
    scan_T t[16];
    vstore16(scan_pairs(scan_pairs(scan_quads(v), scan_quads(v + 64)),
                        scan_pairs(scan_quads(v + 128), scan_quads(v + 192))),
             0, t);
    for (int n = 0; n < 16; n++)
        s = scan_join(s, t[n]);
    return s;
}

/* Turn n values into results. o: what all leaves before have given; s: this leaf before these values, in and out; last: the
 * result before these. Values up to the next multiple of 16 are SCAN_NONE. */
static void scan_blocks(scan_T *v, const int n, const scan_T o, scan_T *s, scan_T *last)
{
    scan_T carry = *s, before = *last;
    for (int at = 0; at < n; at += 16) {
        scan_T16 x = vload16(0, v + at);
        x = scan_join16((scan_T16)(SCAN_NONE, x.s01234567, x.s89ab, x.scd, x.se), x);
        x = scan_join16((scan_T16)(SCAN_NONE, SCAN_NONE, x.s01234567, x.s89ab, x.scd), x);
        x = scan_join16((scan_T16)(SCAN_NONE, SCAN_NONE, SCAN_NONE, SCAN_NONE, x.s01234567, x.s89ab), x);
        x = scan_join16((scan_T16)(SCAN_NONE, SCAN_NONE, SCAN_NONE, SCAN_NONE, SCAN_NONE, SCAN_NONE, SCAN_NONE,
                                   SCAN_NONE, x.lo),
                        x);
        scan_T16 y = scan_join16((scan_T16)(o), scan_join16((scan_T16)(carry), x));
        carry = scan_join(carry, x.sf);
        if (SCAN_EXCLUSIVE) {
            const scan_T next = y.sf;
            y = (scan_T16)(before, y.s01234567, y.s89ab, y.scd, y.se);
            before = next;
        }
        vstore16(y, 0, v + at);
    }
    *s = carry;
    *last = before;
}

/* Store n results. */
static void scan_store(__global scan_T *p, const long stride, const scan_T *v, const int n)
{
#ifdef __clang__
    if (SCAN_STREAMS && stride == 1 && n == SCAN_CHUNK && ((ulong)p & (sizeof(scan_T16) - 1)) == 0) {
        for (int at = 0; at < SCAN_CHUNK; at += 16)
            __builtin_nontemporal_store(vload16(0, v + at), (__global scan_T16 *)(p + at));
        return;
    }
#endif
    if (stride == 1)
        for (int at = 0; at < n; at++)
            p[at] = v[at];
    else
        for (int at = 0; at < n; at++)
            p[at * stride] = v[at];
}

/* Combine the values of each of c columns: 16 rows, SCAN_STRIP values apart. */
static void scan_columns(scan_T *v, const int c)
{
    for (int d = 1; d < 16; d *= 2)
        for (int r = 15; r >= d; r--)
            for (int j = 0; j < c; j++)
                v[r * SCAN_STRIP + j] = scan_join(v[(r - d) * SCAN_STRIP + j], v[r * SCAN_STRIP + j]);
}

/* The same, of which only the last row is needed. */
static void scan_column_totals(scan_T *v, const int c)
{
    for (int d = 1; d < 16; d *= 2)
        for (int r = 2 * d - 1; r < 16; r += 2 * d)
            for (int j = 0; j < c; j++)
                v[r * SCAN_STRIP + j] = scan_join(v[(r - d) * SCAN_STRIP + j], v[r * SCAN_STRIP + j]);
}
