/* store/npy_flight.h - stretches of a file that helpers read into slots, for a device with memory of its own. */
#ifndef DCLI_STORE_NPY_FLIGHT_H
#define DCLI_STORE_NPY_FLIGHT_H

#include "base/helpers.h"
#include "store/npy_file.h"

enum { DCLI_NPY_FLIGHTS = 5 };

/** A file that is being loaded. */
typedef struct dcli_npy_flights {
    int fd;
    const char *path;
    dcli_device *device;
    dcli_memory *memory; /* memory of the part */
    dcli_helpers *helpers;
    bool swapped;
    size_t bytes;                                     /* bytes of an element */
    struct dcli_npy_flight *flight[DCLI_NPY_FLIGHTS]; /* [first .. first + count) of this ring */
    int first, count;
} dcli_npy_flights;

/** Start to read what the part needs of a stretch. If all flights are in use, waits for the oldest. */
dcl_status dcli_npy_take_off(dcli_npy_flights *flights, const dcli_npy_slab *slab);
/** Wait until everything is read. What was read is copied to the device's memory, in order with launches, unless
 *  `status` is an error.
 *  @return `status`, or the first failure found here. */
dcl_status dcli_npy_land(dcli_npy_flights *flights, dcl_status status);

#endif
