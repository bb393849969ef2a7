/* store/npy_stream.c - read or write a whole .npy file in stretches. */
#include "store/npy_stream.h"

#include <string.h>

#include "base/check.h"
#include "store/npy_file.h"

/* Choose the size of a stretch so that it is contiguous in the file: as many of the fastest axes as fit are whole, and
 * the next axis is cut. */
static void cut(dcli_npy_stream *stream, int64_t most)
{
    const int64_t *extent = stream->info.grid.extent;
    int64_t inner = 1;
    int k = stream->info.grid.rank - 1;
    for (; k > 0 && extent[stream->axis[k]] <= most / inner; k--)
        inner *= extent[stream->axis[k]];
    stream->level = k;
    stream->together = dcli_min(most / inner, extent[stream->axis[k]]);
    stream->most = stream->together * inner;
}

dcli_npy_stream dcli_npy_stream_begin(int fd, const char *path, const dcl_npy_info *info, const int64_t origin[],
                                      int64_t most_bytes)
{
    dcli_npy_stream stream = {.path = path, .info = *info, .fd = fd};
    memcpy(stream.origin, origin, (size_t)info->grid.rank * sizeof origin[0]);
    dcli_npy_axes(info, stream.axis, stream.pitch);
    stream.ended = dcl_grid_count(&info->grid) == 0;
    if (!stream.ended)
        cut(&stream, dcli_max(most_bytes / (int64_t)dcl_type_bytes(info->grid.type), 1));
    return stream;
}

static void advance(dcli_npy_stream *stream)
{
    int64_t step = stream->together;
    for (int k = stream->level; k >= 0; k--, step = 1) {
        int d = stream->axis[k];
        stream->at[d] += step;
        if (stream->at[d] < stream->info.grid.extent[d])
            return;
        stream->at[d] = 0;
    }
    stream->ended = true;
}

bool dcli_npy_stream_next(dcli_npy_stream *stream, dcli_npy_stretch *stretch_out)
{
    if (stream->ended)
        return false;
    const dcl_grid *grid = &stream->info.grid;
    dcli_npy_stretch stretch = {.box = {.rank = grid->rank}, .count = 1};
    int64_t start = 0;
    for (int k = 0; k < grid->rank; k++) {
        int d = stream->axis[k];
        int64_t left = grid->extent[d] - stream->at[d];
        stretch.box.start[d] = stream->origin[d] + stream->at[d];
        stretch.box.count[d] = k < stream->level ? 1 : k > stream->level ? left : dcli_min(stream->together, left);
        stretch.box.stride[d] = 1;
        stretch.strides[d] = stream->pitch[d];
        stretch.count *= stretch.box.count[d];
        start += stream->at[d] * stream->pitch[d];
    }
    stretch.start_bytes = stream->info.data_start + start * (int64_t)dcl_type_bytes(grid->type);
    advance(stream);
    *stretch_out = stretch;
    return true;
}

dcl_status dcli_npy_stream_read(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements)
{
    size_t bytes = dcl_type_bytes(stream->info.grid.type);
    dcl_status status =
        dcli_npy_pread(stream->fd, stream->path, elements, (size_t)stretch->count * bytes, stretch->start_bytes);
    if (status == DCL_OK && stream->info.swapped)
        dcli_npy_swap(elements, stretch->count, bytes);
    return status;
}

dcl_status dcli_npy_stream_write(const dcli_npy_stream *stream, const dcli_npy_stretch *stretch, void *elements)
{
    size_t bytes = dcl_type_bytes(stream->info.grid.type);
    if (stream->info.swapped)
        dcli_npy_swap(elements, stretch->count, bytes);
    return dcli_npy_pwrite(stream->fd, stream->path, elements, (size_t)stretch->count * bytes, stretch->start_bytes);
}
