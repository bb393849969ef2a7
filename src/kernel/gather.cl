/* kernel/gather.cl - copies pieces of inputs of type dcl_T into scratch memory, transposed if the kernel reads them
 * across their contiguous axis. The table that kernel/gather.h describes gives a place (dcl_q) and a shape (dcl_z) for
 * each piece; constants DCL_PIECE_... are DCLI_SHAPE_... there. */

/* Copy a line of dcl_n elements, whose distance is dcl_d in the target and dcl_p in the source. */
static void DCL_OF(dcl_line_)(__global dcl_T *dcl_t, const long dcl_d, __global const dcl_T *dcl_s, const long dcl_p,
                              const long dcl_n)
{
    long dcl_k = 0;
    if (dcl_d == 1 && dcl_p == 1)
        for (; dcl_k + 8 <= dcl_n; dcl_k += 8)
            vstore8(vload8(0, dcl_s + dcl_k), 0, dcl_t + dcl_k);
    else if (dcl_d == 1 && dcl_p == 2)
        for (; dcl_k + 8 < dcl_n; dcl_k += 8)
            vstore8(vload16(0, dcl_s + 2 * dcl_k).even, 0, dcl_t + dcl_k);
    for (; dcl_k < dcl_n; dcl_k++)
        dcl_t[dcl_k * dcl_d] = dcl_s[dcl_k * dcl_p];
}

/* Copy one piece. A square is transposed in registers. Otherwise its last two axes are transposed, or copied line by
 * line. Up to 128 elements of the line after next are prefetched in cache lines of 64 bytes. */
static void DCL_OF(dcl_gather_)(__global dcl_T *dcl_d, __global const ulong *dcl_from, __global const long *dcl_q,
                                __global const long *dcl_z)
{
    __global const long *const dcl_n = dcl_z + DCL_PIECE_COUNTS;
    __global const long *const dcl_e = dcl_z + DCL_PIECE_TO;
    __global const long *const dcl_f = dcl_z + DCL_PIECE_FROM;
    __global const dcl_T *const dcl_s = (__global const dcl_T *)dcl_from[dcl_q[2]] + dcl_q[1];
    const long dcl_to = dcl_e[3], dcl_line = dcl_e[2], dcl_pace = dcl_f[2], dcl_pitch = dcl_f[3];
    dcl_d += dcl_q[0];
    if (dcl_z[1] == DCL_PIECE_SQUARE) {
        DCL_OF(dcl_square_)(dcl_s, dcl_pitch, (dcl_T *)(ulong)dcl_d, dcl_line);
        return;
    }
    for (long dcl_u = 0; dcl_u < dcl_n[0]; dcl_u++)
        for (long dcl_v = 0; dcl_v < dcl_n[1]; dcl_v++) {
            __global dcl_T *const dcl_t = dcl_d + dcl_u * dcl_e[0] + dcl_v * dcl_e[1];
            __global const dcl_T *const dcl_o = dcl_s + dcl_u * dcl_f[0] + dcl_v * dcl_f[1];
            for (long dcl_r = 0; dcl_v + 1 < dcl_n[1] && dcl_r < dcl_min(dcl_n[3], 16L); dcl_r++)
                DCL_AHEAD(dcl_o + dcl_f[1] + dcl_r * dcl_pitch + dcl_n[2] - 1);
            if (dcl_z[1] == DCL_PIECE_TURNED)
                DCL_OF(dcl_turn_)(dcl_o, dcl_pitch, (dcl_T *)(ulong)dcl_t, dcl_line, dcl_n[2], dcl_n[3]);
            else
                for (long dcl_w = 0; dcl_w < dcl_n[2]; dcl_w++) {
                    for (long dcl_r = 0; dcl_r < dcl_min(dcl_n[3] * dcl_pitch, 128L); dcl_r += 64 / (long)sizeof(dcl_T))
                        DCL_AHEAD(dcl_o + (dcl_w + 2) * dcl_pace + dcl_r);
                    DCL_OF(dcl_line_)(dcl_t + dcl_w * dcl_line, dcl_to, dcl_o + dcl_w * dcl_pace, dcl_pitch, dcl_n[3]);
                }
        }
}

/* Prefetch the first lines of a later piece, because the hardware cannot predict where it lies. */
static void DCL_OF(dcl_ahead_)(__global const ulong *dcl_from, __global const long *dcl_q, __global const long *dcl_z)
{
    __global const dcl_T *const dcl_s = (__global const dcl_T *)dcl_from[dcl_q[2]] + dcl_q[1];
    const long dcl_n = dcl_min(dcl_z[DCL_PIECE_COUNTS + 3], 8L), dcl_pitch = dcl_z[DCL_PIECE_FROM + 3];
    for (long dcl_k = 0; dcl_k < dcl_n; dcl_k++)
        DCL_AHEAD(dcl_s + dcl_k * dcl_pitch);
}
