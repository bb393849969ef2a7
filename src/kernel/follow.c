/* kernel/follow.c - finds reads at a constant distance from other reads (followers), and emits them. */
#include "kernel/follow.h"

#include <inttypes.h>

#include "kernel/affine.h"
#include "kernel/inside.h"

/* The term of the index in subscript d of an access, if the subscript is +index or -index plus terms without an
 * index, and no other subscript of the access contains this index; NULL otherwise. */
static const dcli_term *lone_index(const dcli_body *body, int a, int d)
{
    const dcli_term *found = NULL;
    const dcli_affine *sum = dcli_inside_subscript(body, a, d);
    for (int t = 0; t < sum->count; t++) {
        const dcli_term *term = &sum->term[t];
        if (term->index < 0)
            continue;
        if (found != NULL || term->index >= DCL_MAX_RANK || term->scalars > 0 ||
            (term->factor != 1 && term->factor != -1))
            return NULL;
        found = term;
    }
    for (int x = 0; x < body->params[body->access[a].param].rank && found != NULL; x++)
        if (x != d && dcli_affine_uses(dcli_inside_subscript(body, a, x), found->index))
            return NULL;
    return found;
}

bool dcli_follows(const dcli_body *body, int a, int b, dcli_follower *out)
{
    const dcli_body_access *x = &body->access[a], *y = &body->access[b];
    *out = (dcli_follower){.leader = a};
    if (x->param != y->param || x->written || y->written || x->reach != DCLI_REACH_AFFINE || y->reach != x->reach ||
        body->inside->access_inner_count[a] > 0 || body->inside->access_inner_count[b] > 0)
        return false;
    for (int d = 0; d < body->params[x->param].rank; d++) {
        dcli_affine apart = *dcli_inside_subscript(body, b, d);
        if (apart.boundary != 0 || dcli_inside_subscript(body, a, d)->boundary != 0 ||
            !dcli_affine_add(&apart, dcli_inside_subscript(body, a, d), -1) || apart.count > 1 ||
            (apart.count == 1 && (apart.term[0].index >= 0 || apart.term[0].scalars > 0)))
            return false;
        const dcli_term *index = lone_index(body, a, d);
        if (apart.count == 0)
            continue;
        if (index == NULL || body->inside->axis_of_index[index->index] < 0)
            return false;
        out->distance[body->inside->axis_of_index[index->index]] = apart.term[0].factor * index->factor;
    }
    return true;
}

static dcli_follower follower_of(const dcli_body *body, int b)
{
    dcli_follower found;
    for (int a = 0; a < b; a++)
        if (dcli_follows(body, a, b, &found))
            return found;
    return (dcli_follower){.leader = -1};
}

int dcli_count_followers(const dcli_body *body)
{
    int count = 0;
    for (int b = 0; b < body->access_count; b++)
        count += follower_of(body, b).leader >= 0;
    return count;
}

/* Whether dcl_unit treats the step of an access along an axis as 1. */
static bool has_unit(const dcli_body *body, int a, int m)
{
    return m == body->space_rank - 1 && body->access[a].unit_axis == m;
}

/* Emit the distance of a follower from its leader, in elements of memory. */
static void put_distance(dcli_text *out, const dcli_body *body, const dcli_follower *follower)
{
    for (int m = 0; m < body->space_rank; m++)
        if (follower->distance[m] != 0 && has_unit(body, follower->leader, m))
            dcli_text_put(out, " + %" PRId64, follower->distance[m]);
        else if (follower->distance[m] != 0)
            dcli_text_put(out, " + %" PRId64 " * dcl_s%d_%d", follower->distance[m], follower->leader, m);
}

void dcli_emit_followers_test(const dcli_nest *nest)
{
    const dcli_body *body = nest->body;
    for (int b = 0; b < body->access_count; b++) {
        dcli_follower follower = follower_of(body, b);
        int a = follower.leader;
        if (a < 0)
            continue;
        dcli_text_put(nest->out, "\n        && dcl_p%d == dcl_p%d && dcl_x%d_%d == dcl_x%d_%d", b, a, b, nest->level[b],
                      a, nest->level[a]);
        put_distance(nest->out, body, &follower);
        for (int m = 0; m < body->space_rank; m++)
            if (dcli_inside_depends(body, a, m) && !has_unit(body, a, m))
                dcli_text_put(nest->out, " && dcl_s%d_%d == dcl_s%d_%d", b, m, a, m);
    }
}

void dcli_put_follower(const dcli_nest *nest, int b)
{
    dcli_follower follower = follower_of(nest->body, b);
    int a = follower.leader < 0 ? b : follower.leader;
    char offset[96];
    dcli_nest_offset(nest, a, nest->innermost, offset, sizeof offset);
    dcli_text_put(nest->out, "dcl_p%d[%s", a, offset);
    if (a != b)
        put_distance(nest->out, nest->body, &follower);
    dcli_text_put(nest->out, "]");
}

void dcli_emit_followers(const dcli_nest *nest)
{
    for (int b = 0; b < nest->body->access_count; b++) {
        if (follower_of(nest->body, b).leader < 0)
            continue;
        dcli_text_put(nest->out, "#undef dcl_a%d\n#define dcl_a%d ", b, b);
        dcli_put_follower(nest, b);
        dcli_text_put(nest->out, "\n");
    }
}
