/* runtime/front_random.c - random numbers: dcl_random_to() runs a body, which calls the functions of DCL_RANDOM. They call public
 * functions, which resolve the handles.
 *
 * A block of Philox has four words, of which an element uses one or two: so an element's numbers do not depend on its
 * neighbours, and a tile may begin anywhere. */
#include <dcl/random.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kernel/names.h"
#include "runtime/front.h"

/* Ten rounds. The multipliers and the steps of the key are those of Salmon et al., SC'11, section 4.3. */
static const char functions[] = "uint4 random_bits(ulong seed, ulong number, ulong stream)\n"
                                "{\n"
                                "    uint a = (uint)number, b = (uint)(number >> 32);\n"
                                "    uint c = (uint)stream, d = (uint)(stream >> 32);\n"
                                "    uint k = (uint)seed, l = (uint)(seed >> 32);\n"
                                "    for (int round = 0; round < 10; round++) {\n"
                                "        ulong p = 0xD2511F53UL * a, q = 0xCD9E8D57UL * c;\n"
                                "        a = (uint)(q >> 32) ^ b ^ k;\n"
                                "        b = (uint)q;\n"
                                "        c = (uint)(p >> 32) ^ d ^ l;\n"
                                "        d = (uint)p;\n"
                                "        k += 0x9E3779B9U;\n"
                                "        l += 0xBB67AE85U;\n"
                                "    }\n"
                                "    return (uint4)(a, b, c, d);\n"
                                "}\n"
                                "ulong random_long(ulong seed, ulong number)\n"
                                "{\n"
                                "    uint4 bits = random_bits(seed, number, 0);\n"
                                "    return (ulong)bits.y << 32 | bits.x;\n"
                                "}\n"
                                "float random_float(ulong seed, ulong number)\n"
                                "{\n"
                                "    return (float)(random_bits(seed, number, 0).x >> 8) * 0x1p-24f;\n"
                                "}\n";

const char *dcl_random_functions(void) { return functions; }

/* The number that an element gets. */
static const char *value_of(dcl_type type)
{
    switch (type) {
    case DCL_HALF:
        return "(float)(random_bits(seed, element, 0).x >> 21) * 0x1p-11f";
    case DCL_FLOAT:
        return "random_float(seed, element)";
    case DCL_DOUBLE:
        return "(double)(random_long(seed, element) >> 11) * 0x1p-53";
    case DCL_INT64:
    case DCL_UINT64:
        return "random_long(seed, element)";
    default:
        return "random_bits(seed, element, 0).x";
    }
}

dcl_status dcl_random_to(dcl_arg output, uint64_t seed)
{
    dcl_array *array = output.array;
    if (output.access != DCL_ACCESS_OUT)
        return DCLI_FAIL(DCL_ERR_INVALID, "the argument has access %d; expected DCL_OUT: dcl_random(A, seed)",
                         (int)output.access);
    if (array == NULL)
        return DCLI_FAIL_NULL("the array to fill is NULL; expected one made by dcl_agile()");
    dcl_cluster *cluster = dcl_cluster_of(array);
    if (cluster == NULL)
        return dcli_error_status();
    dcl_grid grid = dcl_grid_of(array);
    dcl_arg args[3 + 2 * DCL_MAX_RANK];
    char names[2][DCL_MAX_RANK][24];
    dcli_text text = {0};
    int count = 0;
    args[count++] = DCL_OUT_AS("array", array);
    args[count++] = dcl_arg_unsigned("seed", DCL_UINT64, seed);
    args[count++] = DCL_RANDOM;
    dcli_text_put(&text, "ulong element = 0;");
    for (int d = 0; d < grid.rank; d++) {
        snprintf(names[0][d], sizeof names[0][d], "origin%d", d);
        snprintf(names[1][d], sizeof names[1][d], "extent%d", d);
        args[count++] = dcl_arg_signed(names[0][d], DCL_INT64, grid.origin[d]);
        args[count++] = dcl_arg_signed(names[1][d], DCL_INT64, grid.extent[d]);
        dcli_text_put(&text, " element = element * (ulong)%s + (ulong)(%s - %s);", names[1][d], dcli_index_name(d),
                      names[0][d]);
    }
    dcli_text_put(&text, " array");
    for (int d = 0; d < grid.rank; d++)
        dcli_text_put(&text, "%c%s", d == 0 ? '(' : ',', dcli_index_name(d));
    dcli_text_put(&text, ") = %s;", value_of(grid.type));
    char *body = dcli_text_take(&text);
    dcl_status status = body != NULL ? dcl_forall_n(cluster, body, count, args) : DCL_ERR_NOMEM;
    dcli_free(body);
    return status;
}
