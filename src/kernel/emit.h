/* kernel/emit.h - generates the parts of a program that all kinds of devices have. */
#ifndef DCLI_KERNEL_EMIT_H
#define DCLI_KERNEL_EMIT_H

#include "base/text.h"
#include "kernel/body.h"

/** The variant of dcl_checked in watched programs (DCL_CHECK=access), which checks writes, too. */
#define DCLI_VARIANT_WATCHED DCLI_VARIANT_MOST

/** An element type in OpenCL C: "char" ... "double". */
const char *dcli_kernel_type(dcl_type type);

/** Emit the beginning of a program: the pragmas and the prelude. */
void dcli_emit_opening(dcli_text *out, const dcli_body *body);

/** Emit the functions and macros that all programs for CPUs have. */
void dcli_emit_cpu_opening(dcli_text *out);

/** Emit "__kernel void NAME(" and the parameters that kernels of all forms have: arrays and scalars, each followed by a
 *  comma. */
void dcli_emit_signature(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant);

/** Emit the parameters of dcli_emit_signature() alone. */
void dcli_emit_parameters(dcli_text *out, const dcli_body *body);
/** Where a text contains several bodies: hide macros that have the names of a body's parameters and indices, or (hide
 *  false) restore them after it. For compilers that know `#pragma push_macro`: Clang, GCC. */
void dcli_emit_hidden_names(dcli_text *out, const dcli_body *body, bool hide);

/** Whether the kernel of a variant reads access a (an output: writes it) through a checking function. */
bool dcli_emit_is_checked(const dcli_body *body, int a, dcli_variant variant);

/** Emit the definition of the macro `dcl_a<a>`, by which the body's text names access a.
 *  @param element  for an affine access its offset, as an expression of type long. */
void dcli_emit_element(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant, int a,
                       const char *element);

/** As dcli_emit_element(), for an affine access that is not checked because it stays inside the array; its limits do take effect. */
void dcli_emit_plain_element(dcli_text *out, const dcli_body *body, dcli_form form, dcli_variant variant, int a,
                             const char *element);

/** Emit what the inner axes of an affine access add to its offset: " + COUNTER * STEP" for each but inner axis number `but`. */
void dcli_emit_inner_offsets(dcli_text *out, const dcli_body *body, dcli_variant variant, int a, int but);

/** Whether kernels for CPUs run a line of the innermost axis in a loop that only notes whether a declared read violates its declaration,
 *  and run it again with reports if there was one. Then the body has no effect but to write elements that it does not read. */
bool dcli_body_looks(const dcli_body *body);
/** Emit the variables that a loop which only notes violations (dcli_body_looks()) needs: the limits of declared reads.
 *  Without variables, compilers would load them from the row in each iteration. */
void dcli_emit_look_limits(dcli_text *out, const dcli_body *body, dcli_form form);
/** Emit, after these, the lows and counts of the indices that may be read at all indices of the line, and the beginning of an `if` whose
 *  block is executed if there are such indices. */
void dcli_emit_look_lows(dcli_text *out, const dcli_body *body);
/** Emit the end of this `if`: dcl_bad becomes negative if a declared read violated its declaration, or if the block was not executed. */
void dcli_emit_look_end(dcli_text *out, const dcli_body *body);
/** As dcli_emit_element(), for an access with a declared reach in a loop that only notes violations. */
void dcli_emit_look(dcli_text *out, const dcli_body *body, int a);
/** Emit the conditions ` && ...` on steps and strides under which a loop that only notes violations can be run. */
void dcli_emit_look_steps(dcli_text *out, const dcli_body *body);
/** The loop axis whose index determines axis d of access a's declared reach; -1: none. */
int dcli_declared_axis(const dcli_body *body, int a, int d);

/** Emit number n of a field of the current row, in the way in which kernels of this form get rows (table, argument). */
void dcli_emit_number(dcli_text *out, const dcli_body *body, dcli_form form, dcli_row_field field, int a, int n);

/** Emit the user's statements as a block. */
void dcli_emit_text(dcli_text *out, const dcli_body *body);
/** Emit the user's statements for indices at which all guards have their usual values (kernel/guard.h). */
void dcli_emit_usual_text(dcli_text *out, const dcli_body *body);
/** Emit the user's statements for a stretch (kernel/stretch.h). */
void dcli_emit_held_text(dcli_text *out, const dcli_body *body);
/** Emit the end of all definitions of dcl_a<a>. */
void dcli_emit_elements_end(dcli_text *out, const dcli_body *body);
/** Emit the user's statements as a block, and after it the end of all definitions of dcl_a<a>. */
void dcli_emit_statements(dcli_text *out, const dcli_body *body);

/** Emit the kernels of a body for CPUs. @param checked  the variant of its checking kernel. @param names  of the kernels, by
 *  variant; NULL: not this one. */
void dcli_emit_cpu(dcli_text *out, const dcli_body *body, dcli_variant checked,
                   const char *const names[DCLI_VARIANT_MOST]);
/** Emit the kernels of a body for GPUs. @param checked  the variant of its checking kernel. */
void dcli_emit_gpu(dcli_text *out, const dcli_body *body, dcli_variant checked, bool mixed);

/** Emit the whole program of a tile kernel: dcl_unit and dcl_any, and dcl_checked if it is watched. */
void dcli_emit_tiles(dcli_text *out, const dcli_body *body, bool watched);

#endif
