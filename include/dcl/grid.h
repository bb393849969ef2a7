/* dcl/grid.h - element types, grids and boxes: plain values. */
#ifndef DCL_GRID_H
#define DCL_GRID_H

#include <dcl/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. Their numbers are part of the protocol and do not change. */
typedef enum dcl_type {
    DCL_INT8 = 1,
    DCL_INT16,
    DCL_INT32,
    DCL_INT64,
    DCL_UINT8,
    DCL_UINT16,
    DCL_UINT32,
    DCL_UINT64,
    DCL_HALF, /**< IEEE 754 binary16; only where every device of the cluster has it */
    DCL_FLOAT,
    DCL_DOUBLE
} dcl_type;

/** Bytes of one element; 0 for a number that is no type. */
DCL_API size_t dcl_type_bytes(dcl_type type);
/** "int8" ... "uint64", "half", "float", "double"; "?" for a number that is no type. Static storage. */
DCL_API const char *dcl_type_name(dcl_type type);
/** The type called `name` (as dcl_type_name() prints it), or 0. */
DCL_API dcl_type dcl_type_named(const char *name);

/** The shape of an array: an element type, and per axis the first index and the number of elements. A plain value. In
 *  memory the last axis is fastest. An extent of 0 is allowed: the grid then has no elements. Functions that use a grid
 *  check it; those that make one do not. */
typedef struct dcl_grid {
    dcl_type type;
    int rank;                     /**< 1..DCL_MAX_RANK */
    int64_t origin[DCL_MAX_RANK]; /**< first index of each axis */
    int64_t extent[DCL_MAX_RANK]; /**< elements along each axis, >= 0 */
} dcl_grid;

/** A grid of rank 1 with origin 0. */
DCL_API dcl_grid dcl_grid_1d(dcl_type type, int64_t n0);
/** A grid of rank 2 (n0 rows of n1) with origin 0. */
DCL_API dcl_grid dcl_grid_2d(dcl_type type, int64_t n0, int64_t n1);
/** A grid of rank 3 with origin 0. */
DCL_API dcl_grid dcl_grid_3d(dcl_type type, int64_t n0, int64_t n1, int64_t n2);
/** A grid of any rank.
 *  @param extent  [rank]. @param origin  [rank], or NULL for zeros. */
DCL_API dcl_grid dcl_grid_nd(dcl_type type, int rank, const int64_t extent[], const int64_t origin[]);
/** Number of elements; -1 if the grid is not valid or the number exceeds INT64_MAX. */
DCL_API int64_t dcl_grid_count(const dcl_grid *grid);

/** A regular set of indices: along each axis `count` of them, start, start + stride, ... Stride >= 1. `start` is an index of
 *  the grid: it includes the grid's origin. Every part of a grid in these headers is one box or a list of boxes. */
typedef struct dcl_box {
    int rank;
    int64_t start[DCL_MAX_RANK];
    int64_t count[DCL_MAX_RANK];
    int64_t stride[DCL_MAX_RANK];
} dcl_box;

/** The box that has all indices of a grid. */
DCL_API dcl_box dcl_box_of(const dcl_grid *grid);
/** A box with stride 1. @param start [rank] @param count [rank] */
DCL_API dcl_box dcl_box_nd(int rank, const int64_t start[], const int64_t count[]);

#ifdef __cplusplus
}
#endif
#endif
