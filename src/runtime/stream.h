/* runtime/stream.h - loop nests on memory of the program that is larger than the memory of the nodes: each operation is split into
 * steps, whose elements are copied to the nodes, computed and copied back while other steps do the same. */
#ifndef DCLI_RUNTIME_STREAM_H
#define DCLI_RUNTIME_STREAM_H

#include "loop/plan.h"
#include "runtime/host_array.h"

typedef struct dcli_stream dcli_stream;

/** Memory of a node for buffers: three quarters of the device's memory, or of the node's limit if that is less. CPU nodes of
 *  one host divide its memory among themselves. The cluster has devices (it is not only planned). */
int64_t dcli_stream_bytes_of_node(const dcl_cluster *cluster, int node);
/** Whether the arrays of a nest have to be streamed, because they do not fit the nodes. */
bool dcli_stream_is_needed(const dcl_cluster *cluster, int host_count, const dcli_host_array host[]);
/** Begin. @param plan  borrowed: of the nest. @param host  [host_count] borrowed; their arrays are made without storage. */
dcl_status dcli_stream_open(dcl_cluster *cluster, const dcli_loops_plan *plan, int host_count, dcli_host_array host[],
                            dcli_stream **stream_out);
/** Check all of an operation that can be known before it is run; as dcli_stream_run(). */
dcl_status dcli_stream_check(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                             const int host_of[]);
/** Run an operation, or keep it, with a copy of its arguments, to run it together with the next ones. Its results are
 *  in the program's memory when later operations, or dcli_stream_close(), need them there.
 *  @param args     [operation->operand_count] its arguments.
 *  @param host_of  [operation->operand_count] the number in `host` of each argument; -1: none.
 *  @return DCL_OK; DCL_ERR_NOMEM: even the smallest step does not fit; DCL_ERR_UNSUPPORTED; or the failure of an
 *          operation that was kept. */
dcl_status dcli_stream_run(dcli_stream *stream, const dcli_loops_call *operation, const dcl_arg args[],
                           const int host_of[]);
/** Wait for all results, and end. @return status, or that of a transfer; if it is a failure after results were copied back, the error
 *  contains "undefined contents". */
dcl_status dcli_stream_close(dcli_stream *stream, dcl_status status);

#endif
