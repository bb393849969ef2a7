/* kernel/names.h - names that a body and its parameters may use. */
#ifndef DCLI_KERNEL_NAMES_H
#define DCLI_KERNEL_NAMES_H

#include "kernel/body.h"

/** The number of an index name (i = 0, j = 1, ... p = 7); -1: it is not one. */
int dcli_name_index(const char *name, size_t length);
/** The name of an index by its number: "i" for 0 ... "p" for 7. */
const char *dcli_index_name(int index);

/** Whether a name (of given length) is a type or a qualifier of OpenCL C, which can begin a declaration. */
bool dcli_name_is_type(const char *name, size_t length);

/** Why a word must not be in a body; NULL: it may. Refused are words that leave the body (return, goto), that
 *  work-items execute collectively (barrier), that identify the work-item, and names reserved for generated code. */
const char *dcli_name_refused(const char *name, size_t length);

/** Check declared parameters: names, types, ranks, at least one output. @param tile_kernel  index names are ordinary
 *  names there. @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_params_check(int count, const dcli_param params[], bool tile_kernel);

/** As dcli_params_check(), for a reduction along axes, whose arguments' names come before those of indices. */
dcl_status dcli_along_params_check(int count, const dcli_param params[]);

/** The name of an access macro: "DCL_OUT" ... "DCL_IN_FUNCTION". */
const char *dcli_access_name(dcl_access access);

/** Check the name and the neutral element of an operator of the program. @param number  its parameter. @return DCL_OK or
 *  DCL_ERR_INVALID. */
dcl_status dcli_operator_check(int number, const dcli_param params[]);
/** Whether a word stands in a text, be it in a comment. @param word  "" stands in none. */
bool dcli_has_word(const char *text, const char *word);
/** Check that the neutral elements of the operators are known: numbers, names that the prelude defines, or
 *  names without small letters that are no arguments, such as INFINITY, which OpenCL C may define. @return DCL_OK or DCL_ERR_INVALID. */
dcl_status dcli_neutrals_check(int count, const dcli_param params[], const char *prelude);
/** Take the name of an operator apart, dcli_param.name. @param word_out  the function. @return the neutral element. */
const char *dcli_operator_split(const char *name, char word_out[64]);

#endif
