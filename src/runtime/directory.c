/* runtime/directory.c - the program's record of replicas. Nodes maintain their own record with every operation. Here
 * operations are only noted; they are planned for all nodes when somebody asks what an operation would move. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/report.h"
#include "segment/declared.h"

enum { MOST_NOTED = 64 };

/* Let all nodes drop their replicas of an array, if there may be any. Replicas of a lost array disappear with it. */
static dcl_status drop(dcl_array *array)
{
    if (!array->state->had_replicas || array->state->lost)
        return DCL_OK;
    dcli_msg_operation descriptor = {.kind = DCLI_OP_DROP};
    dcl_status status = dcli_cluster_issue_one(array, &descriptor, NULL, false, NULL, NULL);
    if (status == DCL_OK)
        array->state->had_replicas = false;
    return status;
}

dcl_status dcl_keep(dcl_array *array, bool keep)
{
    dcli_error_enter(__func__);
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    dcl_array *base = dcli_array_base(array);
    pthread_mutex_lock(&array->cluster->lock);
    base->keeps = keep;
    if (!keep)
        return dcli_cluster_end_call(array->cluster, drop(base));
    pthread_mutex_unlock(&array->cluster->lock);
    return DCL_OK;
}

dcl_status dcl_steal(dcl_array *array, dcl_steal_policy policy)
{
    dcli_error_enter(__func__);
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    if ((int)policy < DCL_STEAL_DEFAULT || policy > DCL_STEAL_ALWAYS)
        return DCLI_FAIL(DCL_ERR_INVALID, "the policy is %d; expected DCL_STEAL_DEFAULT, NEVER, PAYS or ALWAYS",
                         (int)policy);
    pthread_mutex_lock(&array->cluster->lock);
    dcli_array_base(array)->steal = policy;
    pthread_mutex_unlock(&array->cluster->lock);
    return DCL_OK;
}

void dcli_cluster_replicas_fail(dcl_cluster *cluster) { cluster->replicas.generation++; }

/* Apply one noted operation. A node whose plan is refused makes no replicas; if there is no memory to plan the operation,
 * none are recorded. In both cases all replicas are treated as invalid, also those that other nodes make. */
static dcl_status settle_one(dcl_cluster *cluster, const dcli_operation *operation)
{
    dcl_status status = DCL_OK;
    dcli_directory_begin(&cluster->replicas.directory, operation, NULL, NULL);
    for (int n = 0; n < cluster->node_count && status == DCL_OK && dcli_makes_replicas(operation); n++) {
        dcli_plan *plan;
        if (cluster->lost[n])
            continue;
        if (dcli_plan_for_report(cluster, operation, n, false, &plan) != DCL_OK) {
            dcli_cluster_replicas_fail(cluster);
            break;
        }
        status = dcli_directory_add(&cluster->replicas.directory, n, operation, plan);
        dcli_plan_free(plan);
    }
    dcli_directory_write(&cluster->replicas.directory, operation, NULL, NULL);
    return status;
}

dcl_status dcli_cluster_replicas_settle(dcl_cluster *cluster)
{
    dcli_replica_notes *notes = &cluster->replicas;
    dcl_status status = DCL_OK;
    for (int o = 0; o < notes->count; o++) {
        if (status == DCL_OK)
            status = settle_one(cluster, notes->noted[o].operation);
        dcli_free(notes->noted[o].operation);
    }
    notes->count = 0;
    if (status != DCL_OK)
        dcli_cluster_replicas_fail(cluster); /* the noted operations are not applied */
    return status;
}

dcl_status dcli_cluster_replicas_end_body(dcl_cluster *cluster, const dcli_body *body)
{
    const dcli_replica_notes *notes = &cluster->replicas;
    for (int o = 0; o < notes->count; o++)
        if (notes->noted[o].operation->body == body)
            return dcli_cluster_replicas_settle(cluster);
    return DCL_OK;
}

static bool same_operand(const dcli_operation *a, const dcli_operation *b, int k)
{
    const dcli_operand *x = &a->operand[k], *y = &b->operand[k];
    bool value = x->storage >= 0 || !dcli_body_subscripts_use(a->body, k) || a->value[k].u == b->value[k].u;
    return x->storage == y->storage && x->layout == y->layout && x->view == y->view && x->generation == y->generation &&
           x->keeps == y->keeps && value && dcli_declared_equal(&x->declared, &y->declared);
}

static bool same_operation(const dcli_operation *a, const dcli_operation *b)
{
    if (a->kind != DCLI_OP_FORALL || a->kind != b->kind || a->body != b->body || !dcli_box_equal(&a->box, &b->box))
        return false;
    for (int k = 0; k < a->operand_count; k++)
        if (!same_operand(a, b, k))
            return false;
    return true;
}

/* Copy an operation so that it outlives the call, with its declarations stored after it. */
static dcli_operation *copy_operation(const dcli_operation *operation)
{
    size_t numbers = 0;
    for (int k = 0; k < operation->operand_count; k++)
        numbers += (size_t)operation->operand[k].declared.count;
    dcli_operation *copy = dcli_malloc(sizeof *copy + numbers * sizeof(int64_t));
    if (copy == NULL)
        return NULL;
    memcpy(copy, operation, sizeof *copy);
    int64_t *next = (int64_t *)(copy + 1);
    for (int k = 0; k < copy->operand_count; k++) {
        dcli_declared *declared = &copy->operand[k].declared;
        if (declared->count == 0)
            continue;
        memcpy(next, declared->number, (size_t)declared->count * sizeof *next);
        declared->number = next;
        next += declared->count;
    }
    return copy;
}

static dcl_status note(dcl_cluster *cluster, const dcli_operation *operation, bool drops)
{
    dcli_replica_notes *notes = &cluster->replicas;
    dcl_status status = notes->count == MOST_NOTED ? dcli_cluster_replicas_settle(cluster) : DCL_OK;
    if (status != DCL_OK)
        return status;
    if (notes->noted == NULL)
        notes->noted = dcli_calloc(MOST_NOTED, sizeof *notes->noted);
    dcli_operation *copy = notes->noted != NULL ? copy_operation(operation) : NULL;
    if (copy == NULL)
        return DCL_ERR_NOMEM;
    notes->noted[notes->count++] = (dcli_noted){.operation = copy, .drops = drops};
    return DCL_OK;
}

/* Whether the same operation was noted before and nothing was dropped since: then it makes no replicas. */
static bool is_repeated(const dcli_replica_notes *notes, const dcli_operation *operation)
{
    for (int o = notes->count - 1; o >= 0 && !notes->noted[o].drops; o--)
        if (same_operation(notes->noted[o].operation, operation))
            return true;
    return false;
}

dcl_status dcli_cluster_replicas_note(dcl_cluster *cluster, const dcli_operation *operation,
                                      dcli_storage_state *const states[])
{
    bool makes = false, drops = false;
    for (int k = 0; k < operation->operand_count; k++)
        if (states[k] != NULL && dcli_operand_makes_replicas(&operation->operand[k]))
            states[k]->had_replicas = makes = true;
    for (int k = 0; k < operation->operand_count; k++)
        if (states[k] != NULL && states[k]->had_replicas)
            drops |= operation->operand[k].writes || operation->kind == DCLI_OP_DROP;
    if (!drops && (!makes || is_repeated(&cluster->replicas, operation)))
        return DCL_OK;
    return note(cluster, operation, drops);
}

void dcli_cluster_replicas_free(dcl_cluster *cluster)
{
    for (int o = 0; o < cluster->replicas.count; o++)
        dcli_free(cluster->replicas.noted[o].operation);
    dcli_free(cluster->replicas.noted);
    dcli_directory_free(&cluster->replicas.directory);
    cluster->replicas = (dcli_replica_notes){.generation = 0};
}
