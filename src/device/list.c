/* device/list.c - the public list of devices. */
#include "device/device.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/sized.h"

/* Fill rows that have the size of the program's struct. */
static dcl_status list(int capacity, dcl_device_info info_out[], size_t info_bytes, int *count_out)
{
    dcl_device_info *info = dcli_calloc((size_t)dcli_max(capacity, 1), sizeof *info);
    if (info == NULL)
        return DCL_ERR_NOMEM;
    dcl_status status = dcli_device_enumerate(capacity, info, count_out);
    for (int d = 0; status == DCL_OK && d < capacity && d < *count_out; d++)
        memcpy((char *)info_out + (size_t)d * info_bytes, &info[d], info_bytes);
    dcli_free(info);
    return status;
}

dcl_status dcl_device_list_sized(int capacity, dcl_device_info info_out[], size_t info_bytes, int *count_out)
{
    dcli_error_enter("dcl_device_list");
    if (count_out == NULL || capacity < 0 || (capacity > 0 && info_out == NULL))
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "capacity is %d, info_out %s, count_out %s; expected a place for the count, and for `capacity` "
            "devices",
            capacity, info_out == NULL ? "NULL" : "given", count_out == NULL ? "NULL" : "given");
    dcl_status status = dcli_size_check("info_bytes", "dcl_device_info", info_bytes, sizeof *info_out);
    if (status == DCL_OK)
        status = dcli_handle_process();
    return status == DCL_OK ? list(capacity, info_out, info_bytes, count_out) : status;
}
