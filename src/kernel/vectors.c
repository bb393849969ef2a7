/* kernel/vectors.c - finds which accesses of a block use vectors, and emits these.
 *
 * On an H200, a five-point stencil of 16384 x 16384 floats takes 0.52 ms with vectors, which is the time of a copy,
 * and without them 0.61 to 0.64 ms with the best of 20 shapes of blocks. */
#include "kernel/vectors.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "kernel/affine.h"
#include "kernel/follow.h"
#include "kernel/inside.h"

/* ---- finding ------------------------------------------------------------------------------------------------------ */

static bool is_vector(const dcli_body *body, int a)
{
    const dcli_body_access *access = &body->access[a];
    if (access->reach != DCLI_REACH_AFFINE || access->unit_axis != body->space_rank - 1 ||
        body->inside->access_inner_count[a] > 0)
        return false;
    for (int d = 0; d < body->params[access->param].rank; d++)
        if (dcli_inside_subscript(body, a, d)->boundary != 0)
            return false;
    return true;
}

/* The first subscript of an access that contains the index of the innermost axis; NULL: none. */
static const dcli_affine *along_line(const dcli_body *body, int a)
{
    for (int d = 0; d < body->params[body->access[a].param].rank; d++)
        if (dcli_affine_uses(dcli_inside_subscript(body, a, d), body->index_of_axis[body->space_rank - 1]))
            return dcli_inside_subscript(body, a, d);
    return NULL;
}

/* Find how many elements further along its line an access is than the first output. @return false: that is not
 * constant. */
static bool find_distance(const dcli_body *body, int a, int64_t *out)
{
    const dcli_affine *line = along_line(body, a), *home = along_line(body, body->home);
    if (line == NULL || home == NULL)
        return false;
    dcli_affine apart = *line;
    if (!dcli_affine_add(&apart, home, -1) || apart.count > 1 ||
        (apart.count == 1 && (apart.term[0].index >= 0 || apart.term[0].scalars > 0)))
        return false;
    *out = apart.count == 1 ? apart.term[0].factor : 0;
    return true;
}

static bool are_in_one_line(const dcli_body *body, int a, int b)
{
    dcli_follower follower;
    if (!dcli_follows(body, a, b, &follower))
        return false;
    for (int m = 0; m < body->space_rank - 1; m++)
        if (follower.distance[m] != 0)
            return false;
    return true;
}

/* Drop the vector of a line of reads if it might extend beyond the array. It consists of the elements at distance 0,
 * and these surely exist only if the body reads at some distance <= 0 and at some distance >= 0. The reads of the
 * line then read each element alone. */
static void drop_beyond(const dcli_body *body, dcli_vectors *vectors)
{
    for (int first = 0; first < body->access_count; first++) {
        if (vectors->of[first].first != first || body->access[first].written)
            continue;
        int64_t least = INT64_MAX, most = INT64_MIN;
        for (int a = first; a < body->access_count; a++)
            if (vectors->of[a].first == first) {
                least = dcli_min(least, vectors->of[a].at);
                most = dcli_max(most, vectors->of[a].at);
            }
        for (int a = first; a < body->access_count && (least > 0 || most < 0); a++)
            if (vectors->of[a].first == first)
                vectors->of[a].first = -1;
    }
}

dcli_vectors dcli_vectors_find(const dcli_body *body, int length)
{
    dcli_vectors vectors = {.length = length};
    if (!body->access[body->home].written || !is_vector(body, body->home))
        return (dcli_vectors){0};
    for (int a = 0; a < body->access_count; a++) {
        const dcli_body_access *access = &body->access[a];
        int64_t at = 0;
        bool found = is_vector(body, a) && find_distance(body, a, &at);
        if (body->params[access->param].type == DCL_HALF || (access->written && !found))
            return (dcli_vectors){0};
        vectors.of[a].first = found ? a : -1;
        vectors.of[a].at = at;
        for (int b = 0; b < a && found && vectors.of[a].first == a; b++)
            if (vectors.of[b].first == b && are_in_one_line(body, b, a))
                vectors.of[a].first = b;
    }
    drop_beyond(body, &vectors);
    return vectors;
}

/* ---- emitting ----------------------------------------------------------------------------------------------------- */

static const char *type_of(const dcli_body *body, int a)
{
    return dcli_kernel_type(body->params[body->access[a].param].type);
}

void dcli_emit_vectors_shift(const dcli_nest *nest, const dcli_vectors *vectors)
{
    dcli_text_put(nest->out, "(dcl_x%d_%d & %d)", nest->body->home, nest->level[nest->body->home], vectors->length - 1);
}

void dcli_emit_vectors_test(const dcli_nest *nest, const dcli_vectors *vectors)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++) {
        if (vectors->of[a].first != a)
            continue;
        dcli_text_put(nest->out, "\n        && ((ulong)dcl_p%d & %d) == 0", a,
                      vectors->length * (int)dcl_type_bytes(body->params[body->access[a].param].type) - 1);
        if (a != body->home)
            dcli_text_put(nest->out, " && ((dcl_x%d_%d - dcl_x%d_%d - (%" PRId64 ")) & %d) == 0", a, nest->level[a],
                          body->home, nest->level[body->home], vectors->of[a].at, vectors->length - 1);
        for (int m = 0; m < body->space_rank - 1; m++)
            if (dcli_inside_depends(body, a, m))
                dcli_text_put(nest->out, " && (dcl_s%d_%d & %d) == 0", a, m, vectors->length - 1);
    }
}

/* Emit the vector dcl_w<a> of access a, and for an output the array dcl_y<a> of its elements. dcl_a<a> is still the
 * element in memory. */
static void emit_vector(const dcli_nest *nest, const dcli_vectors *vectors, int a)
{
    const dcli_body *body = nest->body;
    const dcli_body_access *access = &body->access[a];
    const char *type = type_of(body, a);
    int n = vectors->length;
    if (!access->written) {
        dcli_text_put(nest->out, "    const %s%d dcl_w%d = *(__global const %s%d *)(&dcl_a%d - (%" PRId64 "));\n", type,
                      n, a, type, n, a, vectors->of[a].at);
        return;
    }
    dcli_text_put(nest->out, "    __global %s%d *const dcl_w%d = (__global %s%d *)&dcl_a%d;\n    %s dcl_y%d[%d];\n",
                  type, n, a, type, n, a, type, a, n);
    if (access->read || access->conditional)
        for (int k = 0; k < n; k++)
            dcli_text_put(nest->out, "    dcl_y%d[%d] = dcl_w%d->s%d;\n", a, k, a, k);
}

/* Emit element dcl_k of a read: taken from the vector, or read alone if it is beyond the vector's ends. */
static void put_element(const dcli_nest *nest, const dcli_vectors *vectors, int a)
{
    int n = vectors->length, first = vectors->of[a].first;
    char k[48];
    snprintf(k, sizeof k, "(dcl_k + (%" PRId64 "))", vectors->of[a].at);
    dcli_text_put(nest->out, "(%s >= 0 && %s < %d ? ", k, k, n);
    for (int e = 0; e < n - 1; e++)
        dcli_text_put(nest->out, "%s == %d ? dcl_w%d.s%d : ", k, e, first, e);
    dcli_text_put(nest->out, "dcl_w%d.s%d : ", first, n - 1);
    dcli_put_follower(nest, a);
    dcli_text_put(nest->out, ")");
}

void dcli_emit_vectors(const dcli_nest *nest, const dcli_vectors *vectors)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++)
        if (vectors->of[a].first == a)
            emit_vector(nest, vectors, a);
    for (int a = 0; a < body->access_count; a++) {
        if (vectors->of[a].first < 0)
            continue;
        dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d ", a, a);
        if (body->access[a].written)
            dcli_text_put(nest->out, "dcl_y%d[dcl_k]", a);
        else
            put_element(nest, vectors, a);
        dcli_text_put(nest->out, "\n");
    }
}

void dcli_emit_vectors_end(const dcli_nest *nest, const dcli_vectors *vectors)
{
    const dcli_body *body = nest->body;
    for (int a = 0; a < body->access_count; a++) {
        if (!body->access[a].written)
            continue;
        dcli_text_put(nest->out, "    *dcl_w%d = (%s%d)(", a, type_of(body, a), vectors->length);
        for (int k = 0; k < vectors->length; k++)
            dcli_text_put(nest->out, "%sdcl_y%d[%d]", k > 0 ? ", " : "", a, k);
        dcli_text_put(nest->out, ");\n");
    }
}
