/* device/list.c - the public list of devices. */
#include "device/device.h"

#include "base/error.h"
#include "base/handle.h"

dcl_status dcl_device_list(int capacity, dcl_device_info info_out[], int *count_out)
{
    dcli_error_enter("dcl_device_list");
    if (count_out == NULL || capacity < 0 || (capacity > 0 && info_out == NULL))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "capacity is %d, info_out %s, count_out %s; expected a place for the count, and for `capacity` "
            "devices",
            capacity, info_out == NULL ? "NULL" : "given", count_out == NULL ? "NULL" : "given");
    dcl_status status = dcli_handle_process();
    return status != DCL_OK ? status : dcli_device_enumerate(capacity, info_out, count_out);
}
