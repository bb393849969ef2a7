/* kernel/turn.cl - blocks of an input of type dcl_T, read across and turned. */

/* A square of 8 x 8 in 3 rounds of interleaving: row r with row r + 4. */
#define DCL_ZIP(to, low, high, half) \
    DCL_VECTOR(8) to;                \
    to.even = low.half;              \
    to.odd = high.half;
#define DCL_ROUND(to, from)              \
    DCL_ZIP(to##0, from##0, from##4, lo) \
    DCL_ZIP(to##1, from##0, from##4, hi) \
    DCL_ZIP(to##2, from##1, from##5, lo) \
    DCL_ZIP(to##3, from##1, from##5, hi) \
    DCL_ZIP(to##4, from##2, from##6, lo) \
    DCL_ZIP(to##5, from##2, from##6, hi) \
    DCL_ZIP(to##6, from##3, from##7, lo) \
    DCL_ZIP(to##7, from##3, from##7, hi)

static void DCL_OF(dcl_square_)(__global const dcl_T *dcl_s, const long dcl_pitch, dcl_T *dcl_d, const long dcl_line)
{
    const DCL_VECTOR(8) dcl_0_0 = vload8(0, dcl_s);
    const DCL_VECTOR(8) dcl_0_1 = vload8(0, dcl_s + 1 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_2 = vload8(0, dcl_s + 2 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_3 = vload8(0, dcl_s + 3 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_4 = vload8(0, dcl_s + 4 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_5 = vload8(0, dcl_s + 5 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_6 = vload8(0, dcl_s + 6 * dcl_pitch);
    const DCL_VECTOR(8) dcl_0_7 = vload8(0, dcl_s + 7 * dcl_pitch);
    DCL_ROUND(dcl_1_, dcl_0_)
    DCL_ROUND(dcl_2_, dcl_1_)
    DCL_ROUND(dcl_3_, dcl_2_)
    vstore8(dcl_3_0, 0, dcl_d);
    vstore8(dcl_3_1, 0, dcl_d + 1 * dcl_line);
    vstore8(dcl_3_2, 0, dcl_d + 2 * dcl_line);
    vstore8(dcl_3_3, 0, dcl_d + 3 * dcl_line);
    vstore8(dcl_3_4, 0, dcl_d + 4 * dcl_line);
    vstore8(dcl_3_5, 0, dcl_d + 5 * dcl_line);
    vstore8(dcl_3_6, 0, dcl_d + 6 * dcl_line);
    vstore8(dcl_3_7, 0, dcl_d + 7 * dcl_line);
}
#undef DCL_ROUND
#undef DCL_ZIP

static void DCL_OF(dcl_turn_)(__global const dcl_T *dcl_s, const long dcl_pitch, dcl_T *dcl_d, const long dcl_line,
                              const long dcl_height, const long dcl_width)
{
    const long dcl_h = dcl_height / 8 * 8, dcl_w = dcl_width / 8 * 8;
    const bool dcl_competes = dcl_pitch * (long)sizeof(dcl_T) % 4096 == 0; /* for the sets of the cache (kernel/block.c) */
    for (long dcl_v = 0; dcl_v < dcl_w; dcl_v += 8) {
        for (long dcl_r = 16; !dcl_competes && dcl_v + dcl_r < dcl_min(dcl_w, dcl_v + 24); dcl_r++)
            DCL_AHEAD(dcl_s + (dcl_v + dcl_r) * dcl_pitch + dcl_height - 1);
        for (long dcl_u = 0; dcl_u < dcl_h; dcl_u += 8)
            DCL_OF(dcl_square_)(dcl_s + dcl_v * dcl_pitch + dcl_u, dcl_pitch, dcl_d + dcl_u * dcl_line + dcl_v, dcl_line);
    }
    for (long dcl_v = 0; dcl_v < dcl_width; dcl_v++)
        for (long dcl_u = dcl_v < dcl_w ? dcl_h : 0; dcl_u < dcl_height; dcl_u++)
            dcl_d[dcl_u * dcl_line + dcl_v] = dcl_s[dcl_v * dcl_pitch + dcl_u];
}
