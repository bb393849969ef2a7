/* store/npy_save.c - write the header of a new .npy file, and a node's part into it.
 *
 * Nodes write at the same time, and no node touches another node's bytes. So a node writes run by run with pwrite(),
 * which returns errors, where a store into a mapped file would raise a signal. This is slow for short runs; for these
 * the program writes the file (see dcli_layout_run()). The disk blocks are reserved first, so a full disk is detected
 * before anything is written. */
#include "store/npy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "segment/box.h"
#include "store/npy_header.h"
#include "store/store.h"

struct save {
    const char *path;
    const dcl_npy_info *info;
    dcli_device *device;
    dcli_memory *memory;
    int fd;
    char *buffer; /* memory for a slab */
    size_t bytes; /* bytes of an element */
};

/* Copy a piece into the buffer, packed in the order and byte order of the file. */
static dcl_status fetch_piece(const struct save *save, const dcli_region *part, const dcli_region *packed)
{
    dcl_status status = dcli_store_pack(save->device, save->memory, part, save->buffer, packed, save->bytes);
    if (status == DCL_OK && save->info->swapped)
        dcli_npy_swap(save->buffer, dcli_box_elements(&part->box), save->bytes);
    return status;
}

static dcl_status write_piece(const struct save *save, const dcli_npy_slab *slab, const dcli_region *part,
                              const dcli_region *file)
{
    dcli_region packed = dcli_npy_packed(slab->walk, &file->box);
    dcli_npy_runs runs = dcli_npy_runs_of(slab->walk, file);
    int64_t bytes = (int64_t)save->bytes;
    const char *at = save->buffer;
    dcl_status status = fetch_piece(save, part, &packed);
    bool more = true;
    while (status == DCL_OK && more) {
        status = dcli_npy_pwrite(save->fd, save->path, at, (size_t)(runs.length * bytes),
                                 slab->start_bytes + runs.offset * bytes);
        at += runs.length * bytes;
        more = dcli_npy_next_run(&runs);
    }
    return status;
}

static dcl_status save_slab(void *user, const dcli_npy_slab *slab)
{
    const struct save *save = user;
    dcl_status status = DCL_OK;
    dcli_region part, file;
    for (int64_t at = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &at, &part, &file);)
        status = write_piece(save, slab, &part, &file);
    return status;
}

dcl_status dcli_npy_save(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                         const dcli_region_list *regions, dcli_device *device, dcli_memory *memory,
                         const dcli_npy_progress *progress)
{
    struct save save = {.fd = fd, .path = path, .info = info, .device = device, .memory = memory};
    save.bytes = dcl_type_bytes(info->grid.type);
    save.buffer = dcli_malloc(DCLI_NPY_SLAB_BYTES);
    dcli_npy_walk walk = {0};
    dcl_status status = save.buffer == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK)
        status = dcli_npy_walk_begin(info, origin, regions, progress, &walk);
    if (status == DCL_OK)
        status = dcli_npy_walk_slabs(&walk, save_slab, &save);
    dcli_npy_walk_end(&walk);
    dcli_free(save.buffer);
    return status;
}

static dcl_status reserve(int fd, const char *path, int64_t total)
{
    int code;
    do
        code = posix_fallocate(fd, 0, total);
    while (code == EINTR);
    if (code == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_FILE, "%" PRId64 " bytes for \"%s\" cannot be reserved: %s; free some space there", total,
                     path, strerror(code));
}

dcl_status dcli_npy_begin(int fd, const char *path, const dcl_grid *grid, bool fortran_order, dcl_npy_info *info_out,
                          int64_t *bytes_out)
{
    dcl_status status = dcli_grid_check(grid);
    if (status != DCL_OK)
        return status;
    dcl_npy_info info = {.grid = dcl_grid_nd(grid->type, grid->rank, grid->extent, NULL),
                         .fortran_order = fortran_order,
                         .swapped = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__};
    dcli_text header = {0};
    dcli_npy_print_header(&info, &header);
    info.data_start = (int64_t)header.length;
    int64_t total;
    if (!dcli_add(info.data_start, dcl_grid_count(&info.grid) * (int64_t)dcl_type_bytes(grid->type), &total))
        total = INT64_MAX; /* so large that no disk has room */
    status = header.failed ? DCL_ERR_NOMEM : reserve(fd, path, total);
    if (status == DCL_OK)
        status = dcli_npy_pwrite(fd, path, header.bytes, header.length, 0);
    dcli_text_free(&header);
    if (status != DCL_OK)
        return status;
    *info_out = info;
    *bytes_out = total;
    return DCL_OK;
}
