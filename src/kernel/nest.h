/* kernel/nest.h - generates nested loops over a row's box, in which the offset of each access is advanced axis by axis
 * instead of being computed from all indices. */
#ifndef DCLI_KERNEL_NEST_H
#define DCLI_KERNEL_NEST_H

#include "kernel/emit.h"

enum {
    DCLI_SQUARE = 32,         /* side of the squares in which a GPU transposes inputs */
    DCLI_MOST_SQUARES = 65535 /* most squares along the axis across, because devices allow this many groups in
                                 dimensions 1 and 2 of a launch */
};

/** Whether a kernel stores outputs without caching them (dcli_is_streamed()). */
typedef enum dcli_streaming {
    DCLI_STREAM_NEVER,
    DCLI_STREAM_ALWAYS,
    DCLI_STREAM_LARGE /* if dcl_stream is true: where much is written to large arrays */
} dcli_streaming;

/** A kernel that is being generated. In its text dcl_n<m>, dcl_i<m>, dcl_d<m> are count, start and stride of loop axis
 *  m, and dcl_t<m> is its counter. dcl_s<a>_<m> is the step of access a along axis m, or from m = space_rank on along
 *  its inner axes. dcl_x<a>_<n> is the offset of access a after the n-th dcli_nest_advance(), for counters 0 of its
 *  inner axes; level[a] is the last n in which its offset was advanced. */
typedef struct dcli_nest {
    dcli_text *out;
    const dcli_body *body;
    dcli_variant variant;
    dcli_form form;
    bool gathers;  /* inputs may be gathered; then dcl_h<a> is the offset of access a's gathered inputs, 0 if it is
                      not gathered */
    bool straight; /* dcl_straight: no input is transposed, and all steps along the innermost axis are 1 */
    bool
        pointed; /* elements of unchecked kernels are addressed from pointers to the innermost axis' first ones, which compilers keep
                      in registers; otherwise, they add offsets of several rows as a vector, and take addresses from that */
    bool follows; /* in this row, followers lie in memory at their distance from their leaders (kernel/follow.h) */
    bool plain;   /* the row's reads stay inside the arrays: dcl_checked does not check them (kernel/source_edges.c) */
    dcli_streaming streams;
    bool looks;    /* declared reads are noted by dcl_look<a> rather than reported */
    int innermost; /* number of the innermost loop axis */
    int levels;    /* how many offsets (n of dcl_x<a>_<n>) have been emitted */
    int level[DCLI_MAX_ACCESSES];
} dcli_nest;

dcli_nest dcli_nest_start(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant);

/** Emit variables for the box of the row, and for offsets and steps of affine accesses. */
void dcli_nest_row(dcli_nest *nest);
/** Emit the loops over the row's box, with the body in the innermost one, for CPUs; after dcli_nest_row(). */
void dcli_emit_plain_nest(dcli_nest *nest);
/** Emit two such nests, behind the text `if (CONDITION`: one for rows in which the condition holds, one for the others. */
void dcli_emit_either_nest(dcli_nest *holds, dcli_nest *otherwise);
/** Emit the loop over the innermost axis of a reduction, in strips that fit the buffers of its results. */
void dcli_emit_reduced_line(dcli_nest *nest);
/** Emit the loops of a body for which dcli_keyed_folds() is true. */
void dcli_emit_kept(dcli_nest *nest);
/** For a reduction along axes: emit the code around the loops over the inner axes that begins the values of one element
 *  of each output (`emit`: dcli_emit_along_begin()), or ends them. */
void dcli_emit_along_elements(dcli_nest *nest, void (*emit)(dcli_text *, const dcli_body *));
/** Whether kernel dcl_checked tests each row first, and omits the checks of a row whose reads all stay inside the
 *  arrays. It does so if some subscript has limits, all accesses are affine and not periodic, and the body is no
 *  reduction along axes. */
bool dcli_edges_may_be_plain(const dcli_body *body);
/** Emit `const bool dcl_plain`: whether all reads of the row stay inside the arrays. Call it after dcli_nest_row(). */
void dcli_emit_edges_test(dcli_nest *nest);
/** Open a loop over axis m. */
void dcli_emit_loop(dcli_nest *nest, int m);
/** Emit the variable of axis m's index, computed from its counter dcl_t<m>. */
void dcli_nest_index(dcli_nest *nest, int m);
/** Emit new offsets of the accesses that depend on axis m: they add what counter dcl_t<m> contributes. */
void dcli_nest_advance(dcli_nest *nest, int m);
/** Narrow axis m by the bounds of DCL_OVER whose innermost index is one of axes first..last (kernel/source_over.c). If
 *  there are any, a block is opened in which dcl_i<m> and dcl_n<m> are the start and count of the narrowed axis.
 *  @return whether a block was opened; the caller closes it. */
bool dcli_nest_narrow(dcli_nest *nest, int m, int first, int last);
/** Emit code that narrows the counters dcl_begin<m> .. dcl_end<m> - 1 of axis m by the bounds that dcli_nest_narrow()
 *  uses. */
void dcli_emit_over_bounds(const dcli_nest *nest, int m, int first, int last);
/** Whether DCL_OVER has bounds whose innermost index is one of axes first..last. */
bool dcli_over_bounds(const dcli_body *body, int first, int last);
/** Emit ` && CONDITION` for each bound of DCL_OVER on several indices of axes 0..last. */
void dcli_emit_over_test(dcli_text *out, const dcli_body *body, int last);
/** Write the offset of affine access a as an expression: the offset emitted last, plus what counter dcl_t<m>
 *  contributes. All axes but m have been added before. @param out  [capacity] text. */
void dcli_nest_offset(const dcli_nest *nest, int a, int m, char *out, size_t capacity);

/** Emit the macros dcl_a<a> of all accesses for counter dcl_t<m> of the innermost axis. */
void dcli_emit_nest_elements(dcli_nest *nest);

/** Whether access a is an input that kernels transpose in blocks: it is contiguous along dcli_transposed_axis(), and
 *  one of the first few such inputs. */
bool dcli_is_transposed(const dcli_body *body, int a);

#endif
