/* runtime/file.c - load and save .npy files, by the nodes or, if these do not see them, by the host. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "runtime/cluster.h"
#include "store/new_file.h"
#include "store/npy.h"

enum { BESIDE_BYTES = 32 }; /* longest suffix of the temporary file's path */

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
    dcli_print_numbers(found, sizeof found, info->grid.rank, info->grid.extent, " x ");
    dcli_print_numbers(expected, sizeof expected, grid->rank, grid->extent, " x ");
    return DCLI_FAIL(DCL_ERR_FILE,
                     "%s holds %s elements; expected %s, the array's shape; make the array of the file's "
                     "shape (dcl_npy_inspect())",
                     path, found, expected);
}

/* Make a path absolute, because the nodes' processes may have other working folders. */
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

dcl_status dcli_file_check_path(const char *path, const char *expected)
{
    if (path == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "path is NULL; expected the name of %s", expected);
    if (strlen(path) + BESIDE_BYTES > DCLI_MOST_PATH)
        return DCLI_FAIL(DCL_ERR_FILE, "path has %zu bytes; expected at most %d; use a shorter name", strlen(path),
                         DCLI_MOST_PATH - BESIDE_BYTES);
    return DCL_OK;
}

/* Resolve a link: nodes open the file itself, because the link may change, or differ on other hosts. */
static void follow_link(char path[DCLI_MOST_PATH])
{
    char real[PATH_MAX];
    struct stat about;
    bool is_link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
    if (is_link && realpath(path, real) != NULL && strlen(real) < DCLI_MOST_PATH)
        strcpy(path, real);
}

/* Let the nodes load a file, and wait for them. @param absolute  path of the file for the nodes. @param named  whether
 * the file can be identified to them; false: they get 0 as its number. */
static dcl_status load_directly(dcl_array *array, int fd, const char *absolute, bool named, const dcl_npy_info *info)
{
    dcli_file_id id = {.inode = 0};
    dcl_status status = named ? dcli_files_identify(fd, absolute, &id) : DCL_OK;
    dcli_msg_operation descriptor = {.kind = DCLI_OP_LOAD,
                                     .path = absolute,
                                     .data_start = info->data_start,
                                     .fortran_order = info->fortran_order,
                                     .swapped = info->swapped,
                                     .device = id.device,
                                     .inode = id.inode};
    return status == DCL_OK ? issue_and_wait(array, &descriptor) : status;
}

static dcl_status load_file(dcl_array *array, int fd, const char *path)
{
    dcl_npy_info info;
    char absolute[DCLI_MOST_PATH];
    bool direct = false, named = false;
    dcl_status status = dcli_npy_inspect(fd, path, &info);
    if (status == DCL_OK)
        status = check_file(array, path, &info);
    if (status == DCL_OK)
        status = make_absolute(path, absolute);
    if (status == DCL_OK)
        status = dcli_view_writable(array);
    if (status != DCL_OK)
        return status;
    follow_link(absolute);
    if (array->base == NULL) /* nodes use files for whole parts only */
        status = dcli_cluster_sees_files(array->cluster, absolute, &direct, &named);
    if (status != DCL_OK)
        return status;
    return direct ? load_directly(array, fd, absolute, named, &info) : dcli_stream_load(array, fd, path, &info);
}

static dcl_status load(dcl_array *array, const char *path)
{
    dcl_status status = dcli_file_check_path(path, "a .npy file");
    int fd = status == DCL_OK ? dcli_files_open(&dcli_files_everywhere, path, false, NULL) : -1;
    if (fd < 0)
        return status == DCL_OK ? DCL_ERR_FILE : status;
    status = load_file(array, fd, path);
    close(fd);
    return status;
}

dcl_status dcl_load_npy(dcl_array *array, const char *path)
{
    dcli_error_enter(__func__);
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    return dcli_cluster_end_call(array->cluster, load(array, path));
}

/* Whether the runs of an array are long enough for the nodes to save them. Nodes write run by run; if runs are
 * short, collecting them here is faster. On one host collecting is faster up to runs of 64 KiB, because the file's
 * pages are filled in order and once, and are written to the disk meanwhile. Elements of other hosts would have to
 * be sent here. */
static bool has_long_runs(const dcl_array *array, bool fortran_order)
{
    enum { LEAST_BYTES_HERE = 64 << 10, LEAST_BYTES_ELSEWHERE = 512 };
    bool here = array->cluster->files.sees == NULL;
    int64_t least = (here ? LEAST_BYTES_HERE : LEAST_BYTES_ELSEWHERE) / (int64_t)array->layout.bytes;
    return dcli_layout_run(&array->layout, fortran_order) >= least; /* INT64_MAX: the array has no elements */
}

static dcl_status choose_way(dcl_array *array, const char *absolute, bool fortran_order, bool *direct_out)
{
    bool named;
    *direct_out = false;
    if (array->base != NULL || array->layout.partial) /* no node has the elements that are not stored */
        return DCL_OK;
    dcl_status status = dcli_cluster_sees_files(array->cluster, absolute, direct_out, &named);
    *direct_out &= array->cluster->files.way == DCLI_FILES_DIRECT || has_long_runs(array, fortran_order);
    return status;
}

dcl_status dcli_file_end(dcl_cluster *cluster, dcli_new_file *file, int64_t bytes, dcl_status status)
{
    pthread_mutex_unlock(&cluster->lock);
    status = dcli_new_file_end(file, bytes, status);
    pthread_mutex_lock(&cluster->lock);
    return status;
}

/* Write the header to the disk before nodes of other hosts write. Otherwise this host could write its copy of that page
 * later, over their elements. */
static dcl_status settle_header(const dcl_cluster *cluster, const dcli_new_file *file)
{
    if (cluster->files.sees == NULL || fdatasync(file->fd) == 0)
        return DCL_OK;
    return DCLI_FAIL(
        DCL_ERR_FILE,
        "\"%s\" cannot be written to the disk: %s; expected a disk with room that works; make room, or save elsewhere",
        file->beside_path, strerror(errno));
}

static dcl_status save_beside(dcl_array *array, const dcli_new_file *file, bool fortran_order, bool direct,
                              int64_t *bytes_out)
{
    dcl_npy_info info = {.data_start = 0};
    char absolute[DCLI_MOST_PATH];
    dcl_grid grid = *dcli_array_grid(array);
    memset(grid.origin, 0, sizeof grid.origin);
    dcl_status status = dcli_npy_begin(file->fd, file->beside_path, &grid, fortran_order, &info, bytes_out);
    if (status == DCL_OK && !direct)
        return dcli_stream_save(array, file->fd, file->beside_path, &info);
    if (status == DCL_OK)
        status = settle_header(array->cluster, file);
    if (status == DCL_OK)
        status = make_absolute(file->beside_path, absolute);
    dcli_msg_operation descriptor = {.kind = DCLI_OP_SAVE,
                                     .path = absolute,
                                     .data_start = info.data_start,
                                     .fortran_order = fortran_order,
                                     .device = file->id.device,
                                     .inode = file->id.inode};
    return status == DCL_OK ? issue_and_wait(array, &descriptor) : status;
}

static dcl_status save(dcl_array *array, const char *path, bool fortran_order)
{
    char absolute[DCLI_MOST_PATH];
    bool direct = false;
    int64_t bytes = 0;
    dcli_new_file file;
    dcl_status status = dcli_file_check_path(path, "a .npy file");
    if (status == DCL_OK)
        status = make_absolute(path, absolute);
    if (status == DCL_OK)
        status = choose_way(array, absolute, fortran_order, &direct);
    /* wait until the array is written: if that fails, no file is changed */
    if (status == DCL_OK)
        status = dcli_cluster_wait(array->cluster, dcli_array_state(array)->last_use, false, -1);
    if (status == DCL_OK)
        status = dcli_array_usable(array, "save");
    if (status == DCL_OK)
        status = dcli_new_file_make(path, &file);
    if (status != DCL_OK)
        return status;
    status = save_beside(array, &file, fortran_order, direct, &bytes);
    if (status == DCL_OK)
        status = dcli_array_whole(array, "save"); /* the remaining nodes have saved their parts, a lost node has not */
    status = dcli_file_end(array->cluster, &file, bytes, status);
    return status == DCL_OK ? dcli_storage_state_strayed(dcli_array_state(array), "the file was written") : status;
}

static dcl_status save_call(dcl_array *array, const char *path, bool fortran_order)
{
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    return dcli_cluster_end_call(array->cluster, save(array, path, fortran_order));
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
