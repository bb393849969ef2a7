/* runtime/file.c - .npy files, read and written by the nodes or, where these do not see them, by the host. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/cluster.h"
#include "store/npy.h"

enum { BESIDE_BYTES = 32 }; /* longest addition to a path for the file that is written beside */

static void print_shape(const dcl_grid *grid, char *text, size_t capacity)
{
    size_t length = 0;
    text[0] = '\0';
    for (int d = 0; d < grid->rank && length < capacity; d++)
        length += (size_t)snprintf(text + length, capacity - length, "%s%lld", d > 0 ? " x " : "",
                                   (long long)grid->extent[d]);
}

static dcl_status check_file(const dcl_array *array, const char *path, const dcl_npy_info *info)
{
    const dcl_grid *grid = dcli_array_grid(array);
    if (info->grid.type != grid->type)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "%s holds elements of type %s; expected %s, the array's; make the array of the "
                         "file's type, or convert the file",
                         path, dcl_type_name(info->grid.type), dcl_type_name(grid->type));
    bool equal = info->grid.rank == grid->rank;
    for (int d = 0; d < grid->rank && equal; d++)
        equal = info->grid.extent[d] == grid->extent[d];
    if (equal)
        return DCL_OK;
    char found[256], expected[256];
    print_shape(&info->grid, found, sizeof found);
    print_shape(grid, expected, sizeof expected);
    return DCLI_FAIL(DCL_ERR_FILE,
                     "%s holds %s elements; expected %s, the array's shape; make the array of the file's "
                     "shape (dcl_npy_inspect())",
                     path, found, expected);
}

/* The nodes' processes may work in other folders than this one. */
static dcl_status make_absolute(const char *path, char absolute_out[DCLI_MOST_PATH])
{
    char folder[DCLI_MOST_PATH] = "";
    if (path[0] != '/' && getcwd(folder, sizeof folder) == NULL)
        return DCLI_FAIL(DCL_ERR_FILE, "%s: the current folder is not known: %s; give an absolute path", path,
                         strerror(errno));
    if (strlen(folder) + 1 + strlen(path) >= DCLI_MOST_PATH)
        return DCLI_FAIL(DCL_ERR_FILE,
                         "path has %zu bytes below the current folder, which has %zu; expected at most %d",
                         strlen(path), strlen(folder), DCLI_MOST_PATH - 1);
    strcat(strcpy(absolute_out, folder), path[0] != '/' ? "/" : "");
    strcat(absolute_out, path);
    return DCL_OK;
}

static dcl_status issue_and_wait(dcl_array *array, dcli_msg_operation *descriptor)
{
    dcl_status status = dcli_cluster_issue_one(array, descriptor, NULL, true, NULL, NULL);
    return status == DCL_OK ? dcli_cluster_end_of(array->cluster, descriptor->number, false) : status;
}

static dcl_status check_path(const char *path)
{
    if (path == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "path is NULL; expected the name of a .npy file");
    if (strlen(path) + BESIDE_BYTES > DCLI_MOST_PATH)
        return DCLI_FAIL(DCL_ERR_FILE, "path has %zu bytes; expected at most %d; use a shorter name", strlen(path),
                         DCLI_MOST_PATH - BESIDE_BYTES);
    return DCL_OK;
}

static dcl_status load(dcl_array *array, const char *path)
{
    dcl_npy_info info;
    char absolute[DCLI_MOST_PATH];
    bool direct = false;
    dcl_status status = check_path(path);
    if (status == DCL_OK)
        status = dcli_npy_inspect(path, &info);
    if (status == DCL_OK)
        status = check_file(array, path, &info);
    if (status == DCL_OK)
        status = make_absolute(path, absolute);
    if (status == DCL_OK)
        status = dcli_view_writable(array);
    if (status == DCL_OK && array->base == NULL) /* nodes use files for their whole parts */
        status = dcli_cluster_sees_files(array->cluster, absolute, &direct);
    if (status != DCL_OK)
        return status;
    if (!direct)
        return dcli_stream_load(array, path, &info);
    dcli_msg_operation descriptor = {.kind = DCLI_OP_LOAD,
                                     .path = absolute,
                                     .data_start = info.data_start,
                                     .fortran_order = info.fortran_order,
                                     .swapped = info.swapped};
    return issue_and_wait(array, &descriptor);
}

dcl_status dcl_load_npy(dcl_array *array, const char *path)
{
    dcli_error_enter(__func__);
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    status = load(array, path);
    status = dcli_cluster_end_call(array->cluster, status);
    pthread_mutex_unlock(&array->cluster->lock);
    return status;
}

/* A name beside `path` that no file has. Making the file is left to the store, which refuses an existing one. */
static dcl_status name_beside(const char *path, char *beside, size_t capacity)
{
    static atomic_uint names;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(beside, capacity, "%s.%ld-%u", path, (long)getpid(), atomic_fetch_add(&names, 1));
        if (access(beside, F_OK) == 0)
            continue;
        if (errno == ENOENT)
            return DCL_OK;
        break;
    }
    return DCLI_FAIL(DCL_ERR_FILE, "no new file can be made beside %s: %s; save to a folder you may write to", path,
                     strerror(errno));
}

static dcl_status save_beside(dcl_array *array, const char *beside, bool fortran_order, bool direct)
{
    dcl_npy_info info;
    char absolute[DCLI_MOST_PATH];
    dcl_grid grid = *dcli_array_grid(array);
    memset(grid.origin, 0, sizeof grid.origin);
    dcl_status status = dcli_npy_create(beside, &grid, fortran_order, &info);
    if (status == DCL_OK && !direct)
        return dcli_stream_save(array, beside, &info);
    if (status == DCL_OK)
        status = make_absolute(beside, absolute);
    dcli_msg_operation descriptor = {
        .kind = DCLI_OP_SAVE, .path = absolute, .data_start = info.data_start, .fortran_order = fortran_order};
    return status == DCL_OK ? issue_and_wait(array, &descriptor) : status;
}

static dcl_status save(dcl_array *array, const char *path, bool fortran_order)
{
    char beside[DCLI_MOST_PATH];
    bool direct = false;
    dcl_status status = check_path(path);
    if (status == DCL_OK)
        status = make_absolute(path, beside);
    if (status == DCL_OK && array->base == NULL && !array->layout.partial) /* nobody has what is stored nowhere */
        status = dcli_cluster_sees_files(array->cluster, beside, &direct);
    /* An array that is still being written may fail yet: then nothing is touched. */
    if (status == DCL_OK)
        status = dcli_cluster_wait(array->cluster, dcli_array_books(array)->last_use, false, -1);
    if (status == DCL_OK)
        status = dcli_array_usable(array, "save");
    if (status == DCL_OK)
        status = name_beside(path, beside, sizeof beside);
    if (status != DCL_OK)
        return status;
    status = save_beside(array, beside, fortran_order, direct);
    if (status == DCL_OK)
        status = dcli_array_whole(array, "save"); /* the survivors have saved their parts, a lost node has not */
    if (status == DCL_OK && rename(beside, path) != 0)
        status = DCLI_FAIL(DCL_ERR_FILE, "%s cannot be renamed to %s: %s", beside, path, strerror(errno));
    if (status != DCL_OK)
        unlink(beside);
    return status == DCL_OK ? dcli_books_strayed(dcli_array_books(array), "the file was written") : status;
}

static dcl_status save_call(dcl_array *array, const char *path, bool fortran_order)
{
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    status = dcli_cluster_end_call(array->cluster, save(array, path, fortran_order));
    pthread_mutex_unlock(&array->cluster->lock);
    return status;
}

dcl_status dcl_save_npy(dcl_array *array, const char *path)
{
    dcli_error_enter(__func__);
    return save_call(array, path, false);
}

dcl_status dcl_save_npy_order(dcl_array *array, const char *path, bool fortran_order)
{
    dcli_error_enter(__func__);
    return save_call(array, path, fortran_order);
}
