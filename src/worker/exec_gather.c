/* worker/exec_gather.c - start launches that gather their inputs: first write the addresses of the source parts into
 * the arena, then start the kernels. */
#include "worker/exec_gather.h"

/* Get the memory of a source part. */
static dcl_status find_source(dcli_worker *worker, const dcli_entry *entry, const dcli_source_part *source,
                              dcli_memory **memory_out)
{
    dcli_known_storage *held = entry->held[source->operand];
    if (source->node != worker->terms.self)
        return dcli_exec_peer_memory(worker, held, source->node, memory_out);
    *memory_out = held->memory != NULL ? held->memory : worker->as_node->nothing;
    return DCL_OK;
}

dcl_status dcli_gather_start(dcli_worker *worker, const dcli_entry *entry, const dcli_lowered *lowered,
                             dcli_memory *arena)
{
    dcl_status status = DCL_OK;
    for (int64_t n = 0; n < lowered->source_count && status == DCL_OK; n++) {
        dcli_memory *memory;
        status = find_source(worker, entry, &lowered->source[n], &memory);
        if (status == DCL_OK)
            ((uint64_t *)dcli_memory_host(arena))[n] = (uintptr_t)dcli_memory_host(memory);
    }
    return status;
}

dcl_status dcli_gather_launch(dcli_worker *worker, const dcli_entry *entry, const dcli_prepared *prepared, int64_t l,
                              dcli_argument arguments[], int count)
{
    const dcli_launch *launch = &prepared->lowered.launch[l];
    size_t global = dcli_device_shares(worker->as_node->device), local = 1;
    dcli_argument report = arguments[count];
    arguments[count] = (dcli_argument){.memory = prepared->table[l]};
    arguments[count + 1] = (dcli_argument){.value = &launch->group_count, .bytes = sizeof launch->group_count};
    dcli_claims_turn turn = dcli_claims_begin(&worker->as_node->claims, entry->operation.body, launch->group_count);
    arguments[count + 2] = (dcli_argument){.value = &turn.at, .bytes = sizeof turn.at};
    arguments[count + 3] = (dcli_argument){.value = &turn.number, .bytes = sizeof turn.number};
    arguments[count + 4] = report;
    for (int a = 0; a < entry->operation.body->access_count; a++)
        arguments[a].written |= launch->via[a] == DCLI_VIA_GATHER;
    worker->counters.launches++;
    worker->counters.bytes_copied += launch->gathered_bytes;
    dcl_status status =
        dcli_exec_launch(worker, entry->kernel, launch->variant, count + 5, arguments, 1, &global, &local);
    for (int64_t n = 0; n < prepared->lowered.source_count && status == DCL_OK; n++) {
        dcli_memory *memory;
        status = find_source(worker, entry, &prepared->lowered.source[n], &memory);
        if (status == DCL_OK)
            dcli_device_reads(memory);
    }
    return status;
}
