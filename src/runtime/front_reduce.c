/* runtime/front_reduce.c - public functions that reduce whole arrays without a body: dcl_sum() and others. They call public
 * functions, which resolve the handles. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/emit.h"
#include "kernel/names.h"
#include "runtime/front.h"

/* "(i,j,k)" */
static void subscripts(int rank, char text_out[2 * DCL_MAX_RANK + 2])
{
    char *at = text_out;
    for (int d = 0; d < rank; d++) {
        *at++ = d == 0 ? '(' : ',';
        *at++ = dcli_index_name(d)[0];
    }
    *at++ = ')';
    *at = '\0';
}

/* Return the error of a call that was refused. It becomes the cluster's, as that of dcl_reduce() does. */
static dcl_status refuse(const char *function, const dcl_array *array, dcl_status status)
{
    dcli_call call;
    dcli_call_begin_operation(&call, function);
    dcli_call_array(&call, "array", array);
    call.status = status;
    return dcli_call_end(&call, status);
}

static dcl_status check_result(const dcl_arg *result)
{
    if (result->access != DCL_ACCESS_RESULT || result->type < DCL_INT8 || result->type > DCL_DOUBLE)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the result is an argument of access %d and type number %d; expected the address of "
                         "a variable: dcl_sum(A, &sum), or DCL_RESULT",
                         (int)result->access, (int)result->type);
    return DCL_OK;
}

/* Check the arguments that the texts below are made of; the reduction checks the others. @param function  the public one. */
static dcl_status check(const char *function, const dcl_array *array, const dcl_arg *result)
{
    dcli_error_enter(function);
    if (array == NULL)
        return DCLI_FAIL_NULL("the array to reduce is NULL; expected one made by dcl_agile()");
    if (dcl_cluster_of(array) == NULL)
        return dcli_error_status();
    dcli_error_enter(function); /* dcl_cluster_of() has set another one */
    dcl_status status = check_result(result);
    return status == DCL_OK ? status : refuse(function, array, status);
}

/* Check the arrays of a product. */
static dcl_status check_factors(const dcl_array *array, const dcl_array *other)
{
    dcl_grid grid = dcl_grid_of(array), its = dcl_grid_of(other);
    dcli_error_enter("dcl_dot");
    for (int d = 0; d < grid.rank || d < its.rank; d++)
        if (grid.rank != its.rank || grid.extent[d] != its.extent[d] || grid.origin[d] != its.origin[d])
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "the arrays of a product differ in axis %d: rank %d, extent %" PRId64
                             ", first index %" PRId64 " and rank %d, extent %" PRId64 ", first index %" PRId64
                             "; expected arrays of the same elements; use a part of the larger one: dcl_sub()",
                             d, grid.rank, d < grid.rank ? grid.extent[d] : 0, d < grid.rank ? grid.origin[d] : 0,
                             its.rank, d < its.rank ? its.extent[d] : 0, d < its.rank ? its.origin[d] : 0);
    return DCL_OK;
}

/* Reduce the elements x, and y if there is another array, by a statement such as "result += x * y;". */
static dcl_status reduce(dcl_array *array, dcl_array *other, const char *operation, const char *product, dcl_arg result)
{
    char at[2 * DCL_MAX_RANK + 2], text[160];
    const char *type = dcli_kernel_type(result.type);
    subscripts(dcl_grid_of(array).rank, at);
    if (product == NULL)
        snprintf(text, sizeof text, "result %s (%s)x%s;", operation, type, at);
    else
        snprintf(text, sizeof text, "result %s (%s)x%s * (%s)%s%s;", operation, type, at, type, product, at);
    result.name = "result";
    dcl_cluster *cluster = dcl_cluster_of(array);
    if (other == NULL)
        return dcl_reduce(cluster, text, result, DCL_IN_AS("x", array));
    return dcl_reduce(cluster, text, result, DCL_IN_AS("x", array), DCL_IN_AS("y", other));
}

dcl_status dcl_sum_to(dcl_array *array, dcl_arg result)
{
    dcl_status status = check("dcl_sum", array, &result);
    return status == DCL_OK ? reduce(array, NULL, "+=", NULL, result) : status;
}

dcl_status dcl_min_to(dcl_array *array, dcl_arg result)
{
    dcl_status status = check("dcl_min", array, &result);
    return status == DCL_OK ? reduce(array, NULL, "min=", NULL, result) : status;
}

dcl_status dcl_max_to(dcl_array *array, dcl_arg result)
{
    dcl_status status = check("dcl_max", array, &result);
    return status == DCL_OK ? reduce(array, NULL, "max=", NULL, result) : status;
}

dcl_status dcl_dot_to(dcl_array *array, dcl_array *other, dcl_arg result)
{
    dcl_status status = check("dcl_dot", array, &result);
    if (status != DCL_OK)
        return status;
    if (other == NULL)
        return DCLI_FAIL_NULL("the other array of the product is NULL; expected one made by dcl_agile()");
    status = check_factors(array, other);
    return status == DCL_OK ? reduce(array, other, "+=", "y", result) : refuse("dcl_dot", array, status);
}

dcl_status dcl_norm2_to(dcl_array *array, dcl_arg result)
{
    double squares;
    dcl_status status = check("dcl_norm2", array, &result);
    if (status == DCL_OK && (result.type < DCL_FLOAT || result.result == NULL))
        return refuse("dcl_norm2", array,
                      DCLI_FAIL(DCL_ERR_INVALID,
                                "the norm has a result of type number %d at %p; expected a float or double",
                                (int)result.type, result.result));
    if (status == DCL_OK)
        status = reduce(array, NULL, "+=", "x", dcl_arg_result("result", DCL_DOUBLE, &squares));
    if (status != DCL_OK && status != DCL_ERR_RANGE)
        return status;
    double norm = sqrt(squares);
    float single = (float)norm;
    memcpy(result.result, result.type == DCL_FLOAT ? (void *)&single : (void *)&norm, dcl_type_bytes(result.type));
    return status;
}
