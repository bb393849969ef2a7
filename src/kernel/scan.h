/* kernel/scan.h - scans: parses the statement of a scan, and generates the tile kernels that carry it out. Pure functions on
 * text.
 *
 * The scanned axis is divided into leaves of equal length, which depends on the grid only. The first kernel computes the
 * totals of the leaves. The second one combines the totals before a leaf, and continues through the leaf. So every result is
 * made of the same combinations in the same order, however the elements are distributed. */
#ifndef DCLI_KERNEL_SCAN_H
#define DCLI_KERNEL_SCAN_H

#include "kernel/body.h"

/** The names of the arguments that the kernels have besides the program's. */
#define DCLI_SCAN_PREFIX "scan_"
#define DCLI_SCAN_TOTALS "scan_totals" /* the array of the leaves' totals */
#define DCLI_SCAN_LEAF "scan_leaf"     /* a long: the length of a leaf */
#define DCLI_SCAN_ORIGIN "scan_origin" /* a long: the first index of the scanned axis */

/** Most lines that a work-item computes at once, if they are neighbours along the contiguous axis. */
#define DCLI_SCAN_STRIP 128

/** The parsed statement of a scan: `P(i, ...) OP value;`. */
typedef struct dcli_scan {
    int output, input;       /* parameters: P, and the first input that the value reads at P's subscripts; -1: none */
    int rank, axis;          /* of P; the scanned axis */
    int index[DCL_MAX_RANK]; /* the name of the index along each axis: 0 = i, ... */
    dcl_type type;           /* of P */
    dcli_fold fold;
    char combine[64]; /* OWN: the function, and its neutral element */
    char neutral[64];
    bool exclusive;
    bool plain; /* the value reads arrays at P's subscripts only, at least one, and uses indices for nothing else; no
                    macro of the prelude changes it or the generated text */
    char *each; /* the body `P(i, ...) = value;`: the operator is replaced and named in a comment, all columns remain */
    char *value; /* the text of the value */
} dcli_scan;

/** Parse the statement of a scan. What the value contains is checked when `each` is parsed as a body.
 *  @param prelude  of the program: its macros decide whether the scan is plain.
 *  @param params   [count] of the program; one of them is DCL_OUT.
 *  @param along    the name of the scanned index.
 *  @return DCL_OK, DCL_ERR_BODY, DCL_ERR_INVALID, DCL_ERR_NOMEM. End it with dcli_scan_free() in any case. */
dcl_status dcli_scan_parse(const char *text, const char *prelude, int count, const dcli_param params[],
                           const char *along, dcli_scan *scan);
void dcli_scan_free(dcli_scan *scan);

/** Which kernel of a scan to generate. */
typedef struct dcli_scan_form {
    bool totals; /* the one that computes the leaves' totals, which is its first output; else the one that computes P */
    bool
        known; /* P: the totals are an input; else each tile contains its axis whole, and they are computed in passing */
    int inner; /* the axis along which P and the inputs are contiguous */
    int items; /* work-items of a tile */
} dcli_scan_form;

/** Generate the functions that the kernels of a scan call, a prelude. @param streams  store P without caching, where possible.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_scan_functions(const dcli_scan *scan, bool streams);
/** Generate a tile kernel of a plain scan, to be run with `items` work-items along dimension 0 and one along the others. The
 *  inputs are the smallest boxes that contain, for each index of a tile, all elements from the beginning of its leaf on.
 *  @return the text, freed with dcli_free(); NULL: DCL_ERR_NOMEM. */
char *dcli_scan_source(const dcli_scan *scan, const dcli_param params[], const dcli_scan_form *form);

#endif
