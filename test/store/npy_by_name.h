/* test/store/npy_by_name.h - .npy files made, loaded and saved by name: tests open and close them around each step. */
#ifndef TEST_STORE_NPY_BY_NAME_H
#define TEST_STORE_NPY_BY_NAME_H

#include <criterion/criterion.h>

#include <fcntl.h>
#include <unistd.h>

#include "store/files.h"
#include "store/npy.h"

static inline dcl_status test_npy_inspect(const char *path, dcl_npy_info *info_out)
{
    int fd = dcli_files_open(&dcli_files_everywhere, path, false, NULL);
    dcl_status status = fd < 0 ? DCL_ERR_FILE : dcli_npy_inspect(fd, path, info_out);
    close(fd);
    return status;
}

static inline dcl_status test_npy_create(const char *path, const dcl_grid *grid, bool fortran_order,
                                         dcl_npy_info *info_out)
{
    int64_t bytes;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    cr_assert(fd >= 0, "%s cannot be made", path);
    dcl_status status = dcli_npy_begin(fd, path, grid, fortran_order, info_out, &bytes);
    close(fd);
    return status;
}

static inline dcl_status test_npy_load(const char *path, const dcl_npy_info *info, const int64_t origin[],
                                       const dcli_region_list *regions, dcli_device *device, dcli_memory *memory)
{
    int fd = dcli_files_open(&dcli_files_everywhere, path, false, NULL);
    dcli_helpers *helpers = dcli_helpers_open(2);
    dcl_status status = fd < 0 ? DCL_ERR_FILE : DCL_ERR_NOMEM;
    if (fd >= 0 && helpers != NULL)
        status = dcli_npy_load(fd, path, info, origin, regions, device, memory, helpers, NULL);
    dcli_helpers_close(helpers);
    close(fd);
    return status;
}

static inline dcl_status test_npy_save(const char *path, const dcl_npy_info *info, const int64_t origin[],
                                       const dcli_region_list *regions, dcli_device *device, dcli_memory *memory)
{
    int fd = dcli_files_open(&dcli_files_everywhere, path, true, NULL);
    dcl_status status = fd < 0 ? DCL_ERR_FILE : dcli_npy_save(fd, path, info, origin, regions, device, memory, NULL);
    close(fd);
    return status;
}

#endif
