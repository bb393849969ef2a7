/* worker/exec_stage.c - fill the stages and replicas of a batch. */
#include "base/error.h"
#include "worker/exec_prepare.h"
#include "worker/exec_routes.h"
#include "worker/trace.h"

dcl_status dcli_exec_replica(dcli_worker *worker, const dcli_entry *entry, const dcli_stage *stage, dcli_memory **out)
{
    dcli_replica_memory *copy =
        dcli_replicas_find(&worker->catalog.replicas, &entry->operation, stage->operand, &stage->box);
    if (copy != NULL && copy->memory == NULL && stage->kind == DCLI_STAGE_NEW_REPLICA) {
        size_t bytes = (size_t)stage->elements * dcli_element_bytes(&entry->operation, stage->operand);
        dcl_status status = dcli_exec_create(worker, bytes, "a replica of other nodes' elements",
                                             dcli_memory_create_private, &copy->memory);
        if (status != DCL_OK)
            return status;
    }
    if (copy == NULL || copy->memory == NULL || (stage->kind == DCLI_STAGE_REPLICA && !copy->filled))
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "there is no replica of %s, because the operation that should have made it failed; call again "
                         "after that error was reported",
                         entry->kernel != NULL ? entry->kernel->body->params[stage->operand].name : "the array");
    *out = copy->memory;
    return DCL_OK;
}

static dcl_status fill_not_stored(dcli_device *device, const dcli_entry *entry, const dcli_stage *stage, int64_t at,
                                  dcli_memory *target)
{
    dcli_region whole = dcli_stage_region(&entry->operation, stage, at, &stage->box);
    return dcli_store_fill(device, target, &whole, &entry->operation.operand[stage->operand].layout->fill_value,
                           dcli_element_bytes(&entry->operation, stage->operand));
}

/* Allocate the new replicas, and write the fill value where stages and replicas have elements that are not stored. */
static dcl_status begin_stages(dcli_worker *worker, const dcli_job *job, const int64_t stage_at[], dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t s = 0; s < job->batch->stage_count && status == DCL_OK; s++) {
        const dcli_stage *stage = &job->plan->stage[job->batch->first_stage + s];
        int64_t at = stage_at != NULL ? stage_at[s] : 0;
        dcli_memory *target = arena;
        if (stage->kind == DCLI_STAGE_NEW_REPLICA)
            status = dcli_exec_replica(worker, job->entry, stage, &target);
        if (stage->fill_first && at >= 0 && status == DCL_OK)
            status = fill_not_stored(worker->as_node->device, job->entry, stage, at, target);
    }
    return status;
}

dcl_status dcli_exec_fill_stages(dcli_worker *worker, const dcli_job *job, const int64_t stage_at[],
                                 const dcli_routes *routes, dcli_memory *arena)
{
    const dcli_batch *batch = job->batch;
    dcl_status status = begin_stages(worker, job, stage_at, arena);
    if (status == DCL_OK)
        status = dcli_routes_run(worker, job, routes, arena);
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count && status == DCL_OK; s++) {
        const dcli_stage *stage = &job->plan->stage[s];
        if (stage->kind == DCLI_STAGE_NEW_REPLICA && !stage->unfinished)
            dcli_replicas_find(&worker->catalog.replicas, &job->entry->operation, stage->operand, &stage->box)->filled =
                true;
    }
    return status;
}

dcl_status dcli_exec_move(dcli_worker *worker, dcli_entry *entry, int64_t batch)
{
    const dcli_job job = dcli_own_job(worker, entry, batch);
    const dcli_traits traits = dcli_exec_traits(worker);
    dcli_routes routes = {0};
    int64_t copied = worker->counters.bytes_copied, began_ns = dcli_trace_begin(worker);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, "replicas of other nodes' elements");
    dcl_status status = dcli_routes_of_batch(&entry->operation, job.plan, job.batch, &traits, NULL, &routes);
    if (status == DCL_OK)
        status = dcli_exec_fill_stages(worker, &job, NULL, &routes, NULL);
    dcli_routes_free(&routes);
    dcli_watch_activity(worker->terms.watch, DCLI_MOVING, NULL);
    dcli_trace_end(worker, DCLI_TRACE_MOVE, began_ns, entry, batch, DCLI_TRACE_NOBODY,
                   worker->counters.bytes_copied - copied);
    return status;
}
