/* runtime/nest_plans.c - keep plans of loop nests. A plan has a context of isl, which one thread may use at a time. So
 * a plan is taken out of the list while it is used; a second call of the same nest at the same time makes a plan of its
 * own. */
#include "runtime/nest_plans.h"

#include <string.h>

#include "base/alloc.h"
#include "segment/box.h"

enum { MOST_IDLE = 16 }; /* plans that are kept, each of up to some MB */

/* A plan with what it was made of. */
typedef struct dcli_nest_plan {
    char *text;
    int count;
    dcli_loops_name *names; /* [count] */
    dcli_loops_plan *plan;
    bool taken;
    struct dcli_nest_plan *next; /* the plan that was used before this plan */
} dcli_nest_plan;

static void free_kept(dcli_nest_plan *kept)
{
    dcli_loops_plan_free(kept->plan);
    dcli_free(kept->names);
    dcli_free(kept->text);
    dcli_free(kept);
}

/* Whether plans for two arguments are the same. Values of scalars that are no integers are not used by plans. */
static bool same_name(const dcli_loops_name *a, const dcli_loops_name *b)
{
    bool array = a->access != DCL_ACCESS_VALUE, real = a->type == DCL_FLOAT || a->type == DCL_DOUBLE;
    return strcmp(a->name, b->name) == 0 && a->access == b->access && a->type == b->type &&
           (array ? a->whole == b->whole && a->gather == b->gather && a->any_shape == b->any_shape &&
                        dcli_grid_same_shape(&a->grid, &b->grid)
                  : real || a->value == b->value);
}

static bool is_of(const dcli_nest_plan *kept, const char *text, int count, const dcli_loops_name names[])
{
    bool same = kept->count == count && strcmp(kept->text, text) == 0;
    for (int k = 0; k < count && same; k++)
        same = same_name(&kept->names[k], &names[k]);
    return same;
}

/* Take an idle plan out of the list. @return NULL: there is none */
static dcli_nest_plan *take_idle(dcl_cluster *cluster, const char *text, int count, const dcli_loops_name names[])
{
    dcli_nest_plan *found = NULL;
    pthread_mutex_lock(&cluster->lock);
    for (dcli_nest_plan **at = &cluster->nest_plans; *at != NULL && found == NULL; at = &(*at)->next)
        if (!(*at)->taken && is_of(*at, text, count, names)) {
            found = *at;
            found->taken = true;
            break;
        }
    pthread_mutex_unlock(&cluster->lock);
    return found;
}

static dcl_status make(const char *text, int count, const dcli_loops_name names[], dcli_nest_plan **made_out)
{
    dcli_nest_plan *made = dcli_calloc(1, sizeof *made);
    if (made == NULL)
        return DCL_ERR_NOMEM;
    *made = (dcli_nest_plan){
        .text = dcli_strdup(text), .count = count, .names = dcli_calloc((size_t)count, sizeof *names), .taken = true};
    dcl_status status = DCL_ERR_NOMEM;
    if (made->text != NULL && made->names != NULL) {
        memcpy(made->names, names, (size_t)count * sizeof *names);
        status = dcli_loops_plan_make(made->text, count, made->names, &made->plan);
    }
    if (status != DCL_OK)
        free_kept(made);
    else
        *made_out = made;
    return status;
}

dcl_status dcli_nest_plan_take(dcl_cluster *cluster, const char *text, int count, const dcli_loops_name names[],
                               dcli_loops_plan **plan_out)
{
    dcli_nest_plan *kept = take_idle(cluster, text, count, names);
    if (kept == NULL) {
        dcl_status status = make(text, count, names, &kept);
        if (status != DCL_OK)
            return status;
        pthread_mutex_lock(&cluster->lock);
        kept->next = cluster->nest_plans;
        cluster->nest_plans = kept;
        pthread_mutex_unlock(&cluster->lock);
    }
    *plan_out = kept->plan;
    return DCL_OK;
}

void dcli_nest_plan_give(dcl_cluster *cluster, dcli_loops_plan *plan, bool keep)
{
    dcli_nest_plan *given = NULL, *dropped = NULL, **last = NULL;
    int idle = 0;
    pthread_mutex_lock(&cluster->lock);
    for (dcli_nest_plan **at = &cluster->nest_plans; *at != NULL && given == NULL;)
        if ((*at)->plan == plan) {
            given = *at;
            *at = given->next;
        } else {
            at = &(*at)->next;
        }
    if (keep) { /* the last one used is the first of the list */
        given->taken = false;
        given->next = cluster->nest_plans;
        cluster->nest_plans = given;
        for (dcli_nest_plan **at = &cluster->nest_plans; *at != NULL; at = &(*at)->next)
            if (!(*at)->taken && ++idle > MOST_IDLE)
                last = at;
        if (last != NULL) {
            dropped = *last;
            *last = dropped->next;
        }
    } else {
        dropped = given;
    }
    pthread_mutex_unlock(&cluster->lock);
    if (dropped != NULL)
        free_kept(dropped);
}

void dcli_nest_plans_free(dcl_cluster *cluster)
{
    while (cluster->nest_plans != NULL) {
        dcli_nest_plan *kept = cluster->nest_plans;
        cluster->nest_plans = kept->next;
        free_kept(kept);
    }
}
