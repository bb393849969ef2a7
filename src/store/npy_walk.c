/* store/npy_walk.c - iterate over a part of an array in the order of its file.
 *
 * The bounding box of the regions is cut into slabs, ranges of the file of a few MB. Each slab is processed once, with
 * all pieces of the part that lie in it. The pieces are computed when needed and not stored, because a map that deals
 * single elements has as many pieces as elements. */
#include "store/npy_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/search.h"

/* A box of indices counted from 0, as the file has them: lo inclusive, hi exclusive. */
struct span {
    int64_t lo[DCL_MAX_RANK], hi[DCL_MAX_RANK];
};

void dcli_npy_axes(const dcl_npy_info *info, int axis_out[], int64_t pitch_out[])
{
    int rank = info->grid.rank;
    int64_t pitch = 1;
    for (int k = rank - 1; k >= 0; k--) {
        int d = info->fortran_order ? rank - 1 - k : k;
        axis_out[k] = d;
        pitch_out[d] = pitch;
        pitch *= info->grid.extent[d];
    }
}

/* Last index of a region along an axis. */
static int64_t last_of(const dcli_region *region, int d)
{
    return region->box.start[d] + (region->box.count[d] - 1) * region->box.stride[d];
}

static struct span bound(const dcli_npy_walk *walk)
{
    struct span span = {{0}, {0}};
    for (int d = 0; d < walk->info->grid.rank; d++) {
        span.lo[d] = INT64_MAX;
        span.hi[d] = INT64_MIN;
        for (int64_t n = 0; n < walk->count; n++) {
            span.lo[d] = dcli_min(span.lo[d], walk->region[n].box.start[d] - walk->origin[d]);
            span.hi[d] = dcli_max(span.hi[d], last_of(&walk->region[n], d) - walk->origin[d] + 1);
        }
    }
    return span;
}

struct start {
    int64_t start, region;
};

static int by_start(const void *a, const void *b)
{
    const struct start *first = a, *second = b;
    return (first->start > second->start) - (first->start < second->start);
}

/* List the regions that are not empty in the order of their start along the slowest axis (`order`), each with the
 * largest end up to it (`reach`), so that two binary searches find those of a slab. */
static dcl_status sort_regions(dcli_npy_walk *walk, int64_t count)
{
    struct start *starts = dcli_malloc((size_t)count * sizeof *starts);
    walk->order = dcli_malloc((size_t)count * sizeof *walk->order);
    walk->reach = dcli_malloc((size_t)count * sizeof *walk->reach);
    if (starts == NULL || walk->order == NULL || walk->reach == NULL) {
        dcli_free(starts);
        return DCL_ERR_NOMEM;
    }
    int slowest = walk->axis[0];
    for (int64_t n = 0; n < count; n++)
        if (!dcli_box_is_empty(&walk->region[n].box))
            starts[walk->count++] = (struct start){walk->region[n].box.start[slowest], n};
    qsort(starts, (size_t)walk->count, sizeof *starts, by_start);
    for (int64_t n = 0; n < walk->count; n++) {
        int64_t last = last_of(&walk->region[starts[n].region], slowest);
        walk->order[n] = starts[n].region;
        walk->reach[n] = n == 0 ? last : dcli_max(walk->reach[n - 1], last);
    }
    dcli_free(starts);
    return DCL_OK;
}

static bool ends_before(const void *walk, int64_t i, int64_t index)
{
    return ((const dcli_npy_walk *)walk)->reach[i] < index;
}

static bool begins_until(const void *user, int64_t i, int64_t index)
{
    const dcli_npy_walk *walk = user;
    return walk->region[walk->order[i]].box.start[walk->axis[0]] <= index;
}

/* Find the regions that may contain indices first..last of the slowest axis. */
static void find_regions(const dcli_npy_walk *walk, int64_t first, int64_t last, dcli_npy_slab *slab)
{
    slab->first_region = dcli_lower_bound(walk, walk->count, first, ends_before);
    slab->end_region = dcli_lower_bound(walk, walk->count, last, begins_until);
}

bool dcli_npy_next_piece(const dcli_npy_slab *slab, int64_t *at, dcli_region *part_out, dcli_region *file_out)
{
    const dcli_npy_walk *walk = slab->walk;
    while (*at < slab->end_region) {
        const dcli_region *region = &walk->region[walk->order[(*at)++]];
        if (dcli_region_cut(region, &slab->file.box, part_out) &&
            dcli_region_cut(&slab->file, &part_out->box, file_out))
            return true;
    }
    return false;
}

static int64_t last_offset(const dcli_region *file)
{
    int64_t offset = file->offset;
    for (int d = 0; d < file->box.rank; d++)
        offset += (file->box.count[d] - 1) * file->step[d];
    return offset;
}

/* Count the needed elements of a slab, and shrink the slab to them. */
static void survey(dcli_npy_slab *slab)
{
    dcli_region part, file;
    int64_t first = INT64_MAX, last = -1;
    for (int64_t at = slab->first_region; dcli_npy_next_piece(slab, &at, &part, &file);) {
        int64_t elements = dcli_box_elements(&file.box);
        slab->needed += elements;
        slab->runs += elements / dcli_npy_runs_of(slab->walk, &file).length;
        first = dcli_min(first, file.offset);
        last = dcli_max(last, last_offset(&file));
    }
    int64_t bytes = (int64_t)slab->walk->bytes;
    if (slab->needed == 0)
        return;
    slab->start_bytes += first * bytes;
    slab->bytes = (last - first + 1) * bytes;
    slab->file.offset -= first;
}

static dcl_status visit_span(const dcli_npy_walk *walk, const struct span *span, dcli_npy_slab_fn *visit, void *user)
{
    int rank = walk->info->grid.rank, slowest = walk->axis[0];
    dcli_npy_slab slab = {.walk = walk, .file.box.rank = rank};
    int64_t start = 0;
    for (int d = 0; d < rank; d++) {
        slab.file.box.start[d] = span->lo[d] + walk->origin[d];
        slab.file.box.count[d] = span->hi[d] - span->lo[d];
        slab.file.box.stride[d] = 1;
        slab.file.step[d] = walk->pitch[d];
        start += span->lo[d] * walk->pitch[d];
    }
    slab.start_bytes = walk->info->data_start + start * (int64_t)walk->bytes;
    find_regions(walk, span->lo[slowest] + walk->origin[slowest], span->hi[slowest] - 1 + walk->origin[slowest], &slab);
    survey(&slab);
    dcl_status status = slab.needed == 0 ? DCL_OK : visit(user, &slab);
    if (walk->progress != NULL)
        walk->progress->fn(walk->progress->user);
    return status;
}

/* Length in the file of a span, from its first to its last element, over the axes from `level` on. */
static int64_t stretch(const dcli_npy_walk *walk, const struct span *span, int level)
{
    int64_t elements = 1;
    for (int k = level; k < walk->info->grid.rank; k++) {
        int d = walk->axis[k];
        elements += (span->hi[d] - span->lo[d] - 1) * walk->pitch[d];
    }
    return elements;
}

/* Cut a span into slabs that are short enough. The span has one index along each axis before `level`. */
static dcl_status walk_span(const dcli_npy_walk *walk, const struct span *span, int level, dcli_npy_slab_fn *visit,
                            void *user)
{
    int64_t most = DCLI_NPY_SLAB_BYTES / (int64_t)walk->bytes;
    if (stretch(walk, span, level) <= most)
        return visit_span(walk, span, visit, user);
    int d = walk->axis[level];
    int64_t inner = stretch(walk, span, level + 1);
    int64_t together = inner > most ? 1 : (most - inner) / walk->pitch[d] + 1;
    dcl_status status = DCL_OK;
    for (int64_t lo = span->lo[d]; lo < span->hi[d] && status == DCL_OK; lo += together) {
        struct span part = *span;
        part.lo[d] = lo;
        part.hi[d] = dcli_min(lo + together, span->hi[d]);
        status = inner > most ? walk_span(walk, &part, level + 1, visit, user) : visit_span(walk, &part, visit, user);
    }
    return status;
}

dcl_status dcli_npy_walk_begin(const dcl_npy_info *info, const int64_t origin[], const dcli_region_list *regions,
                               const dcli_npy_progress *progress, dcli_npy_walk *walk)
{
    *walk = (dcli_npy_walk){
        .info = info, .region = regions->region, .bytes = dcl_type_bytes(info->grid.type), .progress = progress};
    int64_t end;
    if (!dcli_add(info->data_start, dcl_grid_count(&info->grid) * (int64_t)walk->bytes, &end))
        return DCLI_FAIL(DCL_ERR_FILE,
                         "the elements begin at byte %" PRId64 "; expected them to end before 2 to the 63rd",
                         info->data_start);
    memcpy(walk->origin, origin, (size_t)info->grid.rank * sizeof origin[0]);
    dcli_npy_axes(info, walk->axis, walk->pitch);
    return sort_regions(walk, regions->count);
}

dcl_status dcli_npy_walk_slabs(const dcli_npy_walk *walk, dcli_npy_slab_fn *visit, void *user)
{
    if (walk->count == 0)
        return DCL_OK;
    struct span span = bound(walk);
    return walk_span(walk, &span, 0, visit, user);
}

void dcli_npy_walk_end(dcli_npy_walk *walk)
{
    dcli_free(walk->order);
    dcli_free(walk->reach);
}

dcli_npy_runs dcli_npy_runs_of(const dcli_npy_walk *walk, const dcli_region *file)
{
    dcli_npy_runs runs = {.length = 1, .offset = file->offset};
    int k = file->box.rank - 1;
    for (; k >= 0; k--) {
        int d = walk->axis[k];
        if (file->box.count[d] == 1)
            continue;
        if (file->step[d] != runs.length)
            break;
        runs.length *= file->box.count[d];
    }
    for (int outer = 0; outer <= k; outer++) {
        int d = walk->axis[outer];
        runs.count[runs.outer] = file->box.count[d];
        runs.step[runs.outer++] = file->step[d];
    }
    return runs;
}

bool dcli_npy_next_run(dcli_npy_runs *runs)
{
    for (int d = runs->outer - 1; d >= 0; d--) {
        runs->offset += runs->step[d];
        if (++runs->at[d] < runs->count[d])
            return true;
        runs->offset -= runs->count[d] * runs->step[d];
        runs->at[d] = 0;
    }
    return false;
}

dcli_region dcli_npy_packed(const dcli_npy_walk *walk, const dcl_box *box)
{
    dcli_region packed = {.box = *box};
    int64_t step = 1;
    for (int k = box->rank - 1; k >= 0; k--) {
        packed.step[walk->axis[k]] = step;
        step *= box->count[walk->axis[k]];
    }
    return packed;
}
