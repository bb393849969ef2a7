/* runtime/transfer.h - reads that the program does not wait for. */
#ifndef DCLI_RUNTIME_TRANSFER_H
#define DCLI_RUNTIME_TRANSFER_H

#include "runtime/cluster.h"

/** Start to read an array of one element. Takes the lock.
 *  @param target         lent until dcli_array_finish_reading().
 *  @param written_out    the last operation that used the array before: for dcli_array_finish_reading().
 *  @param operation_out  the read itself: for dcli_array_finish_reading(); 0: nothing was started. */
dcl_status dcli_array_start_reading(dcl_array *array, void *target, int64_t *written_out, int64_t *operation_out);
/** Wait until such a read has ended. Takes the lock. @return as of dcl_read(): with DCL_ERR_RANGE, the element was
 *  read. */
dcl_status dcli_array_finish_reading(dcl_array *array, int64_t written, int64_t operation);

#endif
