/* store/store.h - moving elements between a device's memory, host memory and files, by regions. */
#ifndef DCLI_STORE_STORE_H
#define DCLI_STORE_STORE_H

#include <dcl/array.h>

#include "device/device.h"
#include "segment/region.h"

/* All functions run in order with launches (they wait for kernels that use the memory where they must), take element
 * size in bytes (1, 2, 4, 8), offsets and steps of regions in elements, and are complete when they return unless said
 * otherwise. Regions given in pairs have equal counts. */

/** device memory -> host memory. */
dcl_status dcli_store_pack(dcli_device *device, dcli_memory *memory, const dcli_region *region, void *host,
                           const dcli_region *host_region, size_t bytes);
/** host memory -> device memory. The host's elements are taken when it returns. */
dcl_status dcli_store_unpack(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *host,
                             const dcli_region *host_region, size_t bytes);
/** device memory -> device memory of the same device. May be only started when it returns (in order with launches). */
dcl_status dcli_store_copy(dcli_device *device, dcli_memory *target, const dcli_region *target_region,
                           dcli_memory *source, const dcli_region *source_region, size_t bytes);
dcl_status dcli_store_fill(dcli_device *device, dcli_memory *memory, const dcli_region *region, const void *element,
                           size_t bytes);

#endif
