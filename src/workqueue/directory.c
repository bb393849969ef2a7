/* workqueue/directory.c - the directory of replicas. A replica exists until an operation writes into its box or drops
 * it, or until the host begins a new generation because an operation that may have been making replicas failed. */
#include "workqueue/directory.h"

#include <assert.h>

#include "base/alloc.h"
#include "segment/image.h"
#include "workqueue/plan.h"

bool dcli_makes_replicas(const dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++)
        if (dcli_operand_makes_replicas(&operation->operand[k]))
            return true;
    return false;
}

dcli_policy dcli_policy_of(const dcli_operand *operand, int node, bool near)
{
    if (near)
        return DCLI_POLICY_HALO;
    if (!operand->keeps)
        return DCLI_POLICY_NONE;
    bool by_map = operand->layout->rule.copies > 0 && dcli_layout_holds(operand->layout, node);
    return by_map ? DCLI_POLICY_MAP : DCLI_POLICY_KEEP;
}

bool dcli_policy_may(const dcli_operand *operand, int node)
{
    return dcli_operand_makes_replicas(operand) &&
           (operand->layout->rule.copies == 0 || dcli_layout_holds(operand->layout, node));
}

static bool uses_copies(const dcli_operation *operation)
{
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].generation > 0)
            return true;
    return false;
}

const dcli_replica *dcli_directory_next(const dcli_directory *directory, int node, const dcli_operand *operand,
                                        const dcli_replica *after)
{
    if (directory == NULL || directory->node == NULL || operand->generation == 0)
        return NULL;
    const dcli_node_replicas *copies = &directory->node[node];
    const dcli_replica *copy = after != NULL ? after + 1 : copies->copy;
    for (const dcli_replica *end = copies->copy + copies->count; copy < end; copy++)
        if (copy->storage == operand->storage)
            return copy;
    return NULL;
}

int64_t dcli_directory_bytes(const dcli_directory *directory, int node)
{
    return directory != NULL && directory->node != NULL ? directory->node[node].bytes : 0;
}

static dcl_status add_number(dcli_directory_state *state, int64_t number)
{
    if (dcli_grow(&state->number, state->count, &state->capacity, sizeof number) != 0)
        return DCL_ERR_NOMEM;
    state->number[state->count++] = number;
    return DCL_OK;
}

static dcl_status add_copy(dcli_directory_state *state, int operand, const dcl_box *box)
{
    dcl_status status = add_number(state, operand);
    for (int d = 0; d < box->rank && status == DCL_OK; d++) {
        status = add_number(state, box->start[d]);
        if (status == DCL_OK)
            status = add_number(state, box->count[d]);
        if (status == DCL_OK)
            status = add_number(state, box->stride[d]);
    }
    return status;
}

dcl_status dcli_directory_describe(const dcli_directory *directory, int node, const dcli_operation *operation,
                                   dcli_directory_state *state_out)
{
    state_out->count = 0;
    if (directory == NULL || directory->node == NULL || !uses_copies(operation))
        return DCL_OK;
    dcl_status status = DCL_OK;
    if (dcli_makes_replicas(operation)) /* the plan also depends on how much of the budget is left */
        status = add_number(state_out, directory->node[node].bytes);
    for (int k = 0; k < operation->operand_count && status == DCL_OK; k++) {
        const dcli_replica *copy = NULL;
        while (status == DCL_OK && (copy = dcli_directory_next(directory, node, &operation->operand[k], copy)) != NULL)
            status = add_copy(state_out, k, &copy->box);
    }
    return status;
}

static bool is_there(const dcli_node_replicas *copies, int64_t storage, const dcl_box *box)
{
    for (int64_t c = copies->count - 1; c >= 0; c--)
        if (copies->copy[c].storage == storage && dcli_box_equal(&copies->copy[c].box, box))
            return true;
    return false;
}

dcl_status dcli_directory_add(dcli_directory *directory, int node, const dcli_operation *operation,
                              const dcli_plan *plan)
{
    for (int64_t s = 0; s < plan->stage_count; s++) {
        const dcli_stage *stage = &plan->stage[s];
        if (stage->kind != DCLI_STAGE_NEW_REPLICA)
            continue;
        if (directory->node == NULL)
            directory->node = dcli_calloc((size_t)directory->node_count, sizeof *directory->node);
        if (directory->node == NULL)
            return DCL_ERR_NOMEM;
        const dcli_operand *operand = &operation->operand[stage->operand];
        dcli_node_replicas *copies = &directory->node[node];
        if (is_there(copies, operand->storage, &stage->box))
            continue; /* already recorded: the array has two names in the body, or several batches fill the replica */
        if (dcli_grow(&copies->copy, copies->count, &copies->capacity, sizeof *copies->copy) != 0)
            return DCL_ERR_NOMEM;
        dcli_replica *copy = &copies->copy[copies->count++];
        *copy = (dcli_replica){.storage = operand->storage,
                               .box = stage->box,
                               .bytes =
                                   dcli_box_elements(&stage->box) * (int64_t)dcl_type_bytes(operand->layout->grid.type),
                               .policy = stage->policy};
        copies->bytes += dcli_policy_counts(copy->policy) ? copy->bytes : 0;
    }
    return DCL_OK;
}

/* Bound the elements that a written access of a loop body may write: a box of the operand's array, or the whole array
 * if the subscripts cannot be computed. Whether the access is written is not checked. @return false: for the
 * operation's loop indices the access writes nothing in the grid. */
static bool written_box(const dcli_operation *operation, int a, dcl_box *box_out)
{
    const dcli_operand *operand = &operation->operand[operation->body->access[a].param];
    dcli_subscripts own, base;
    dcl_box seen;
    bool cut;
    *box_out = dcl_box_of(&operand->layout->grid);
    if (dcli_operation_subscripts(operation, a, &own, &base) != DCL_OK)
        return true; /* the body will be refused; until then assume that it writes everything */
    return dcli_transform_footprint(operand->view, &operand->layout->grid, &own, &operation->box, &seen, box_out, &cut);
}

/* Drop the replicas of an operand that intersect a box. If the operand is reshaped, the box cannot be compared with
 * those of replicas, and all replicas of the storage are dropped. */
static void strike(dcli_directory *directory, const dcli_operand *operand, const dcl_box *box, dcli_dropped_fn *dropped,
                   void *user)
{
    for (int n = 0; n < directory->node_count; n++) {
        dcli_node_replicas *copies = &directory->node[n];
        int64_t left = 0;
        for (int64_t c = 0; c < copies->count; c++) {
            const dcli_replica *copy = &copies->copy[c];
            if (copy->storage != operand->storage ||
                !(operand->reshaped || dcli_images_meet(&copy->box, &operand->layout->grid, box))) {
                copies->copy[left++] = *copy;
                continue;
            }
            copies->bytes -= dcli_policy_counts(copy->policy) ? copy->bytes : 0;
            assert(copies->bytes >= 0);
            if (dropped != NULL)
                dropped(user, n, copy);
        }
        copies->count = left;
    }
}

void dcli_directory_begin(dcli_directory *directory, const dcli_operation *operation, dcli_dropped_fn *dropped,
                          void *user)
{
    int64_t generation = 0;
    for (int k = 0; k < operation->operand_count; k++)
        generation = operation->operand[k].generation > generation ? operation->operand[k].generation : generation;
    if (generation <= directory->generation)
        return;
    directory->generation = generation;
    for (int n = 0; directory->node != NULL && n < directory->node_count; n++) {
        for (int64_t c = 0; dropped != NULL && c < directory->node[n].count; c++)
            dropped(user, n, &directory->node[n].copy[c]);
        directory->node[n].count = directory->node[n].bytes = 0;
    }
}

void dcli_directory_write(dcli_directory *directory, const dcli_operation *operation, dcli_dropped_fn *dropped,
                          void *user)
{
    if (directory->node == NULL)
        return;
    for (int k = 0; k < operation->operand_count && operation->kind != DCLI_OP_FORALL; k++) {
        const dcli_operand *operand = &operation->operand[k];
        if (operand->storage < 0 || !(operand->writes || operation->kind == DCLI_OP_DROP))
            continue;
        bool part = operation->kind == DCLI_OP_WRITE || operation->kind == DCLI_OP_FILL;
        dcl_box all = dcl_box_of(&operand->layout->grid);
        strike(directory, operand, part ? &operation->box : &all, dropped, user);
    }
    for (int a = 0; operation->kind == DCLI_OP_FORALL && a < operation->body->access_count; a++) {
        dcl_box box;
        if (operation->body->access[a].written && written_box(operation, a, &box))
            strike(directory, &operation->operand[operation->body->access[a].param], &box, dropped, user);
    }
}

void dcli_directory_free(dcli_directory *directory)
{
    for (int n = 0; directory->node != NULL && n < directory->node_count; n++)
        dcli_free(directory->node[n].copy);
    dcli_free(directory->node);
    directory->node = NULL;
}
