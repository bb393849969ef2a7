/* kernel/chain.cl - multiplies small matrices of type dcl_T (float or double) by chains of fused multiply-adds. DCL_WORDS is the size
 * of dcl_T in words of 4 bytes.
 *
 * A tile of C, of DCL_CHAIN_ROWS rows of two vectors, stays in registers while the products of a block of the reduced index are
 * added to it, one after the other. The factors lie packed, in the order in which they are read. */
#undef DCL_CHAIN_LANES
#ifdef __AVX512F__
#define DCL_CHAIN_ROWS 12
#if DCL_WORDS == 1
#define DCL_CHAIN_LANES 16
#else
#define DCL_CHAIN_LANES 8
#endif
#define DCL_CHAIN_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#else
#define DCL_CHAIN_ROWS 6
#if defined(__AVX__) == (DCL_WORDS == 2)
#define DCL_CHAIN_LANES 4
#elif defined(__AVX__)
#define DCL_CHAIN_LANES 8
#else
#define DCL_CHAIN_LANES 2
#endif
#define DCL_CHAIN_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5)
#endif
#define DCL_CHAIN_WIDE (2 * DCL_CHAIN_LANES) /* columns of a tile */
#define DCL_CHAIN_DEPTH 256                  /* longest block of the reduced index */
#define DCL_CHAIN_HIGH (192 / DCL_WORDS)     /* most rows of packed factors: they stay in the second-level cache */

/* Add dcl_n products to a tile of C, whose rows are dcl_step elements apart. @param dcl_fresh  C is 0 before, whatever it contains. */
static void dcl_chain_tile(const dcl_T *dcl_s, const dcl_T *dcl_v, const int dcl_n, dcl_T *dcl_c, const long dcl_step,
                           const bool dcl_fresh)
{
#define DCL_V DCL_VECTOR(DCL_CHAIN_LANES)
#define DCL_LOAD DCL_PASTE(vload, DCL_CHAIN_LANES)
#define DCL_SAVE DCL_PASTE(vstore, DCL_CHAIN_LANES)
#define DCL_BEGIN(m)                                                                \
    DCL_V dcl_x##m = dcl_fresh ? (DCL_V)0 : DCL_LOAD(0, dcl_c + m * dcl_step),      \
          dcl_y##m = dcl_fresh ? (DCL_V)0 : DCL_LOAD(1, dcl_c + m * dcl_step);
#define DCL_STEP(m)                                     \
    dcl_x##m = fma((DCL_V)(dcl_s[m]), dcl_p, dcl_x##m); \
    dcl_y##m = fma((DCL_V)(dcl_s[m]), dcl_q, dcl_y##m);
#define DCL_END(m)                             \
    DCL_SAVE(dcl_x##m, 0, dcl_c + m * dcl_step); \
    DCL_SAVE(dcl_y##m, 1, dcl_c + m * dcl_step);
    DCL_CHAIN_EACH(DCL_BEGIN)
    for (int dcl_k = 0; dcl_k < dcl_n; dcl_k++) {
        const DCL_V dcl_p = DCL_LOAD(0, dcl_v), dcl_q = DCL_LOAD(1, dcl_v);
        DCL_CHAIN_EACH(DCL_STEP)
        dcl_s += DCL_CHAIN_ROWS;
        dcl_v += DCL_CHAIN_WIDE;
    }
    DCL_CHAIN_EACH(DCL_END)
#undef DCL_END
#undef DCL_STEP
#undef DCL_BEGIN
#undef DCL_SAVE
#undef DCL_LOAD
#undef DCL_V
}

/* The same for a tile of which only dcl_h rows and dcl_w columns exist; its columns are dcl_across elements apart. */
static void dcl_chain_part(const dcl_T *dcl_s, const dcl_T *dcl_v, const int dcl_n, dcl_T *dcl_c, const long dcl_step,
                           const long dcl_across, const int dcl_h, const int dcl_w, const bool dcl_fresh)
{
    dcl_T dcl_t[DCL_CHAIN_ROWS * DCL_CHAIN_WIDE] __attribute__((aligned(64)));
    for (int dcl_i = 0; dcl_i < DCL_CHAIN_ROWS; dcl_i++)
        for (int dcl_j = 0; dcl_j < DCL_CHAIN_WIDE; dcl_j++)
            dcl_t[dcl_i * DCL_CHAIN_WIDE + dcl_j] =
                dcl_i < dcl_h && dcl_j < dcl_w && !dcl_fresh ? dcl_c[dcl_i * dcl_step + dcl_j * dcl_across] : 0;
    dcl_chain_tile(dcl_s, dcl_v, dcl_n, dcl_t, DCL_CHAIN_WIDE, dcl_fresh);
    for (int dcl_i = 0; dcl_i < dcl_h; dcl_i++)
        for (int dcl_j = 0; dcl_j < dcl_w; dcl_j++)
            dcl_c[dcl_i * dcl_step + dcl_j * dcl_across] = dcl_t[dcl_i * DCL_CHAIN_WIDE + dcl_j];
}
