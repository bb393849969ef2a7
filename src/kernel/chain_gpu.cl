/* kernel/chain_gpu.cl - multiplies tiles of matrices of type dcl_T (float or double) by chains of fused multiply-adds, for GPUs. DCL_WORDS
 * is the size of dcl_T in words of 4 bytes.
 *
 * A group of 16 x 16 work-items computes a tile of DCL_TILE x DCL_TILE elements of C. A work-item has DCL_SIDE rows and as many
 * columns of it, in two halves: work-items read neighbouring vectors, so each row of a factor is read from local memory without
 * conflicts. A factor's block lies in local memory with the reduced index outside. */
#define DCL_DEPTH 16 /* of the reduced index in a block */
#if DCL_WORDS == 1
#define DCL_SIDE 8
#define DCL_V float4
#define DCL_SAVE vstore4
#define DCL_LOAD vload4
#define DCL_ROWS(X) \
    X(0, dcl_a.s0) X(1, dcl_a.s1) X(2, dcl_a.s2) X(3, dcl_a.s3) X(4, dcl_b.s0) X(5, dcl_b.s1) X(6, dcl_b.s2) X(7, dcl_b.s3)
#else
#define DCL_SIDE 4
#define DCL_V double2
#define DCL_SAVE vstore2
#define DCL_LOAD vload2
#define DCL_ROWS(X) X(0, dcl_a.s0) X(1, dcl_a.s1) X(2, dcl_b.s0) X(3, dcl_b.s1)
#endif
#define DCL_HALF (DCL_SIDE / 2)
#define DCL_TILE (16 * DCL_SIDE)
#define DCL_PITCH (DCL_TILE + DCL_HALF) /* vectors stay aligned */

/* Row or column number n of a work-item whose number in that direction is `at`. */
#define DCL_CHAIN_AT(n, at) ((n) / DCL_HALF * (DCL_TILE / 2) + (at) * DCL_HALF + (n) % DCL_HALF)

/* The sums of a work-item, row by row: dcl_x<n> has the first half of row n, dcl_y<n> the second. */
#define DCL_CHAIN_BEGIN(n, x) DCL_V dcl_x##n = DCL_LOAD(0, dcl_c + n * DCL_SIDE), dcl_y##n = DCL_LOAD(1, dcl_c + n * DCL_SIDE);
#define DCL_CHAIN_FMA(n, x)                          \
    dcl_x##n = fma((DCL_V)(x), dcl_v, dcl_x##n); \
    dcl_y##n = fma((DCL_V)(x), dcl_w, dcl_y##n);
#define DCL_CHAIN_END(n, x)                    \
    DCL_SAVE(dcl_x##n, 0, dcl_c + n * DCL_SIDE); \
    DCL_SAVE(dcl_y##n, 1, dcl_c + n * DCL_SIDE);

#define DCL_CHAIN_VECTOR(from, k, at) *(__local const DCL_V *)((from) + (k) * DCL_PITCH + (at))
/* Add the products of number k of the reduced index. */
#define DCL_CHAIN_STEP(k)                                                                            \
    {                                                                                                \
        const DCL_V dcl_a = DCL_CHAIN_VECTOR(dcl_low, k, dcl_row * DCL_HALF);                        \
        const DCL_V dcl_b = DCL_CHAIN_VECTOR(dcl_low, k, dcl_row * DCL_HALF + DCL_TILE / 2);         \
        const DCL_V dcl_v = DCL_CHAIN_VECTOR(dcl_panel, k, dcl_column * DCL_HALF);                   \
        const DCL_V dcl_w = DCL_CHAIN_VECTOR(dcl_panel, k, dcl_column * DCL_HALF + DCL_TILE / 2);    \
        DCL_ROWS(DCL_CHAIN_FMA)                                                                      \
    }
