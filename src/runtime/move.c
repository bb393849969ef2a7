/* runtime/move.c - the local global view: visiting an array's tiles, and prefetching elements to a node. */
#include <dcl/explain.h>
#include <dcl/local.h>

#include "runtime/report.h"

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

dcl_status dcl_tiles(const dcl_array *array, int node, dcl_tile_fn *visit, void *user)
{
    dcli_error_enter(__func__);
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    dcl_cluster *cluster = array->cluster;
    if (node != DCL_ALL_NODES && (node < 0 || node >= cluster->node_count))
        return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d, or DCL_ALL_NODES", node,
                         cluster->node_count - 1);
    if (visit == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "visit is NULL; expected a function to call with every tile");
    dcli_layout layout;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = dcli_array_own_layout(array, &layout);
    dcli_transform view = array->view;
    pthread_mutex_unlock(&cluster->lock);
    if (status != DCL_OK)
        return status;
    status = dcli_layout_visit_tiles(&layout, array->base != NULL ? &view : NULL, node, visit, user);
    dcli_layout_release(&layout);
    return status;
}

/* ---- moves -------------------------------------------------------------------------------------------------------- */

static dcl_status check_move(const dcl_array *array, const dcl_box *box, int node)
{
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    if (node < 0 || node >= array->cluster->node_count)
        return DCLI_FAIL(DCL_ERR_INVALID, "node is %d; expected 0..%d", node, array->cluster->node_count - 1);
    return box != NULL ? dcli_box_check(box, dcli_array_grid(array)) : DCL_OK;
}

/* Check what requires the lock. */
static dcl_status check_state(const dcl_array *array, int node)
{
    if (array->reshaped)
        return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "the array is a view of another shape than the array behind it; expected "
                                              "one of the same; move a box of the array behind the view");
    if (array->cluster->lost[node])
        return DCLI_FAIL(DCL_ERR_NODE_LOST, "node %d is lost; expected one that is there (dcl_node_is_alive())", node);
    return dcli_array_usable(array, "move");
}

static void fill_move(const dcl_array *array, const dcl_box *box, int node, dcli_operation *operation)
{
    const dcl_array *base = dcli_array_base(array);
    dcl_box seen = box != NULL ? *box : dcl_box_of(dcli_array_grid(array));
    *operation = (dcli_operation){.kind = DCLI_OP_MOVE, .operand_count = 1, .box = seen, .node = node};
    if (array->base != NULL)
        dcli_transform_box(&array->view, &seen, &operation->box);
    operation->operand[0] = (dcli_operand){
        .storage = base->state->id, .layout = &base->layout, .generation = array->cluster->replicas.generation + 1};
    dcli_operation_resolve(operation);
}

/* Prepare a move so that it can be planned with the replicas that exist after all earlier calls. */
static dcl_status prepare_move(dcl_array *array, const dcl_box *box, int node, dcli_operation *operation)
{
    dcl_cluster *cluster = array->cluster;
    dcl_status status = check_state(array, node);
    if (status == DCL_OK)
        status = dcli_cluster_replicas_settle(cluster);
    if (status != DCL_OK)
        return status;
    fill_move(array, box, node, operation);
    dcli_directory_begin(&cluster->replicas.directory, operation, NULL, NULL);
    return DCL_OK;
}

static dcl_status issue_move(dcl_array *array, dcli_operation *operation)
{
    const dcli_operand *moved = &operation->operand[0];
    dcli_msg_operand operand = {.storage = moved->storage, .generation = moved->generation};
    dcli_msg_operation descriptor = {.kind = DCLI_OP_MOVE,
                                     .operand_count = 1,
                                     .operand = &operand,
                                     .box_rank = operation->box.rank,
                                     .box = operation->box,
                                     .node = operation->node};
    dcli_storage_state *state = dcli_array_state(array);
    return dcli_cluster_issue(array->cluster, &descriptor, operation, &state, false, NULL, NULL);
}

/* Start a move, unless nothing has to be moved. The lock is held from planning to starting, so what fits when planned
 * also fits when started. */
static dcl_status move(dcl_array *array, const dcl_box *box, int node)
{
    dcli_operation operation;
    dcli_plan *plan;
    dcl_status status = dcli_cluster_await_room(array->cluster);
    if (status == DCL_OK)
        status = prepare_move(array, box, node, &operation);
    if (status == DCL_OK)
        status = dcli_plan_for_report(array->cluster, &operation, node, false, &plan);
    if (status != DCL_OK)
        return status;
    bool needed = plan->batch_count > 0;
    dcli_plan_free(plan);
    return needed ? issue_move(array, &operation) : DCL_OK;
}

dcl_status dcl_move(dcl_array *array, const dcl_box *box, int node)
{
    dcli_error_enter(__func__);
    dcl_status status = check_move(array, box, node);
    if (array == NULL || (status == DCL_OK && (status = dcli_array_check(array)) != DCL_OK))
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    if (status == DCL_OK)
        status = move(array, box, node);
    return dcli_cluster_end_call(array->cluster, status);
}

static dcl_status look_at(dcl_array *array, const dcl_box *box, int node, const dcli_look *look)
{
    dcl_array *base = dcli_array_base(array);
    const char *name = base->name[0] != '\0' ? base->name : "array";
    dcli_operation operation;
    dcl_status status = prepare_move(array, box, node, &operation);
    if (status != DCL_OK)
        return status;
    return look->on(look->user,
                    &(dcli_planned){.cluster = array->cluster, .operation = &operation, .array = &base, .name = &name});
}

dcl_status dcli_move_look(dcl_array *array, const dcl_box *box, int node, const dcli_look *look)
{
    dcl_status status = check_move(array, box, node);
    if (status == DCL_OK)
        status = look->check(array->cluster, look->user);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    status = look_at(array, box, node, look);
    pthread_mutex_unlock(&array->cluster->lock);
    return status;
}
