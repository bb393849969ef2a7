/* store/store.h - copy elements between device memory, host memory and files, by regions. */
#ifndef DCLI_STORE_STORE_H
#define DCLI_STORE_STORE_H

#include <dcl/array.h>

#include "device/device.h"
#include "segment/region.h"

/* All functions run in order with launches (if necessary they wait for kernels that use the memory). Element sizes are
 * in bytes (1, 2, 4, 8), offsets and steps of regions in elements. The functions are complete when they return unless
 * said otherwise. Two regions of a call have equal counts. */

/** Pack: copy a region of device memory to host memory. */
dcl_status dcli_store_pack(dcli_device *device, dcli_memory *memory, const dcli_region *region, void *host,
                           const dcli_region *host_region, size_t bytes);
/** Unpack: copy host memory to a region of device memory. When it returns, the host memory may be reused. */
dcl_status dcli_store_unpack(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *host,
                             const dcli_region *host_region, size_t bytes);
/** Copy between regions of the same device's memory. When it returns, the copy may only be started (in order with
 *  launches). */
dcl_status dcli_store_copy(dcli_device *device, dcli_memory *target, const dcli_region *target_region,
                           dcli_memory *source, const dcli_region *source_region, size_t bytes);
dcl_status dcli_store_fill(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *element,
                           size_t bytes);

#endif
