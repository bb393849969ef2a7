/* runtime/reduce.c - reductions to values of the program.
 *
 * Each node reduces the elements that it owns of one input into partial results of its own, in its part of an array that the
 * library makes. The program reads the parts of the nodes that own any, and merges the partial results, in any order
 * (kernel/fold.h). */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/fold.h"
#include "runtime/partials.h"
#include "runtime/report.h"

const char dcli_partials_name[] = "dcl_partials";

/* Length of a node's part: all nodes have the same. */
static int64_t part_longs(const dcl_cluster *cluster, int results)
{
    int64_t slots = DCLI_PARTIAL_SLOTS;
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++)
        if (dcli_node_is_gpu(cluster, n))
            slots = DCLI_GROUP_SLOTS;
    return slots * dcli_slot_longs(results);
}

static dcl_grid partials_grid(const dcl_cluster *cluster, const dcl_map *map, int results)
{
    return dcl_grid_1d(DCL_INT64, map->rule.node_count * part_longs(cluster, results));
}

int64_t dcli_partials_step(const dcl_cluster *cluster, const dcl_array *partials, int results)
{
    const dcli_layout *layout = &partials->layout;
    bool gpus = !cluster->plan_only;
    for (int n = 0; n < cluster->node_count && gpus; n++)
        gpus = dcli_layout_place(layout, n) < 0 || dcli_node_is_gpu(cluster, n);
    return gpus ? layout->grid.extent[0] / layout->rule.node_count : dcli_slot_longs(results);
}

static void drop(struct dcli_partials *partials)
{
    for (int n = 0; n < 2 * DCLI_MAX_RESULTS; n++)
        if (partials->level[n / 2][n % 2] != NULL)
            dcli_array_end(partials->level[n / 2][n % 2]);
    if (partials->array != NULL)
        dcli_array_end(partials->array);
    dcli_free(partials);
}

/* Whether an operation on these arrays has failed: later ones would not overwrite all of them. */
static bool has_failed(const struct dcli_partials *partials)
{
    bool failed = dcli_storage_state_failed(dcli_array_state(partials->array));
    for (int n = 0; n < 2 * DCLI_MAX_RESULTS; n++)
        failed |= partials->level[n / 2][n % 2] != NULL &&
                  dcli_storage_state_failed(dcli_array_state(partials->level[n / 2][n % 2]));
    return failed;
}

/* Take an array for this many results out of the list. Those with another map are of no use any more: nodes were lost, or have
 * joined. NULL: there is none. */
static struct dcli_partials *take_kept(dcl_cluster *cluster, const dcl_map *map, int results)
{
    struct dcli_partials *found = NULL;
    for (struct dcli_partials **at = &cluster->partials, *next; *at != NULL;) {
        bool current = dcl_map_equal((*at)->array->map, map) && !has_failed(*at);
        if (current && (found != NULL || (*at)->results != results)) {
            at = &(*at)->next;
            continue;
        }
        next = (*at)->next;
        if (current)
            found = *at;
        else
            drop(*at);
        *at = next;
    }
    return found;
}

void dcli_partials_free(dcl_cluster *cluster)
{
    while (cluster->partials != NULL) {
        struct dcli_partials *next = cluster->partials->next;
        dcli_free(cluster->partials);
        cluster->partials = next;
    }
}

static dcl_status get(dcl_cluster *cluster, dcl_map *map, int results, struct dcli_partials **partials_out)
{
    struct dcli_partials *partials = take_kept(cluster, map, results);
    if (partials == NULL)
        partials = dcli_calloc(1, sizeof *partials);
    *partials_out = partials;
    if (partials == NULL)
        return DCL_ERR_NOMEM;
    partials->stamp++;
    if (partials->array != NULL)
        return DCL_OK;
    dcl_grid grid = partials_grid(cluster, map, results);
    partials->results = results;
    dcl_status status = dcli_array_make(cluster, &grid, map, false, &partials->array);
    if (status == DCL_OK)
        partials->array->hidden = true;
    return status;
}

dcl_status dcli_partials_get(dcl_cluster *cluster, int results, struct dcli_partials **partials_out)
{
    *partials_out = NULL;
    dcl_map *map = dcli_map_new_block(cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_status status = get(cluster, map, results, partials_out);
    dcl_map_release(map);
    return status;
}

void dcli_partials_args(dcl_array *array, int64_t stamp, dcl_arg args_out[DCLI_PARTIALS_ADDED])
{
    args_out[0] = dcl_arg_array(DCL_ACCESS_INOUT, dcli_partials_name, array);
    args_out[1] = dcl_arg_signed(dcli_partials_name, DCL_INT64, stamp);
}

void dcli_partials_put(dcl_cluster *cluster, struct dcli_partials *partials, dcl_status status)
{
    if (partials != NULL && status == DCL_OK) {
        partials->next = cluster->partials;
        cluster->partials = partials;
    } else if (partials != NULL) {
        drop(partials);
    }
}

/* Store a value in a variable of a type. */
static void store(dcl_type type, dcli_scalar value, void *variable)
{
    float single = (float)value.f;
    int64_t integer = value.i;
    size_t bytes = dcl_type_bytes(type);
    switch (type) {
    case DCL_FLOAT:
        memcpy(variable, &single, bytes);
        break;
    case DCL_DOUBLE:
        memcpy(variable, &value.f, bytes);
        break;
    case DCL_INT8:
    case DCL_UINT8:
        *(int8_t *)variable = (int8_t)integer;
        break;
    case DCL_INT16:
    case DCL_UINT16:
        *(int16_t *)variable = (int16_t)integer;
        break;
    case DCL_INT32:
    case DCL_UINT32:
        *(int32_t *)variable = (int32_t)integer;
        break;
    default:
        *(int64_t *)variable = integer;
        break;
    }
}

/* Store the index that has a number: in the grid, its last axis fastest. */
static dcl_status store_index(const dcl_grid *grid, const dcl_arg *arg, int64_t place, int64_t index_out[])
{
    if (place < 0 || (place != INT64_MAX && place >= dcl_grid_count(grid)))
        return DCLI_FAIL(DCL_ERR_PROTOCOL,
                         "a node has sent %" PRId64 " as the number of the index of %s, which has %" PRId64
                         " indices; is it another version of the library?",
                         place, arg->name, dcl_grid_count(grid));
    for (int d = grid->rank - 1; d >= 0; d--) {
        index_out[d] = place == INT64_MAX ? -1 : grid->origin[d] + place % grid->extent[d];
        place = place == INT64_MAX ? place : place / grid->extent[d];
    }
    return DCL_OK;
}

/* Slots that were read. */
struct slots {
    int64_t *words; /* NULL: there was no memory */
    int64_t count, step;
};

/* Merge what the nodes have found, and store the values. @param grid  of the input that gives the indices. */
static dcl_status store_results(const dcli_result reduced[], const dcl_grid *grid, const struct dcli_partials *partials,
                                int count, const dcl_arg args[], const struct slots *slots)
{
    int r = 0;
    for (int k = 0; k < count; k++) {
        if (!dcli_arg_is_result(&args[k]))
            continue;
        dcli_fold fold = reduced[r].fold;
        dcli_partial all = {{0}}, one;
        for (int64_t s = 0; s < slots->count; s++) {
            const int64_t *slot = slots->words + s * slots->step;
            if (slot[0] != partials->stamp)
                continue;
            memcpy(&one, slot + 1 + (int64_t)r * DCLI_PARTIAL_LONGS, sizeof one);
            if (!dcli_partial_is_valid(fold, args[k].type, &one))
                return DCLI_FAIL(DCL_ERR_PROTOCOL,
                                 "a node has sent a partial result of %s that no kernel computes; is it "
                                 "another version of the library?",
                                 args[k].name);
            dcli_partial_merge(fold, args[k].type, &all, &one);
        }
        dcl_status status = DCL_OK;
        if (args[k].result == NULL) { /* an element of an array */
            r++;
            continue;
        }
        if (reduced[r].placed)
            status = store_index(grid, &args[k], dcli_partial_place(&all), args[k + 1].result);
        if (status != DCL_OK)
            return status;
        store(args[k].type, dcli_partial_value(fold, args[k].type, &all), args[k].result);
        r++;
    }
    return DCL_OK;
}

static int count_results(int count, const dcl_arg args[])
{
    int results = 0;
    for (int k = 0; k < count; k++)
        results += dcli_arg_is_result(&args[k]);
    return results;
}

/* The box of the partial results of some nodes, and of those between them: what other nodes have is all 0.
 * @param step  distance of slots. */
static dcl_box box_of_parts(const struct dcli_partials *partials, const dcli_node_list *nodes, int64_t step)
{
    const dcli_layout *layout = &partials->array->layout;
    int64_t part = layout->grid.extent[0] / layout->rule.node_count;
    int64_t behind = step - dcli_slot_longs(partials->results); /* the last slot */
    dcl_box box = dcl_box_of(&layout->grid);
    if (nodes->count == 0) {
        box.count[0] = part - behind; /* no node has any: those of one are as good as all */
        return box;
    }
    int64_t first = dcli_layout_place(layout, nodes->node[0]),
            last = dcli_layout_place(layout, nodes->node[nodes->count - 1]);
    assert(first >= 0 && first <= last);
    box.start[0] = first * part;
    box.count[0] = (last + 1 - first) * part - behind;
    return box;
}

/* Read the slots of all nodes that have some. */
static dcl_status read_parts(const struct dcli_partials *partials, const dcli_node_list *computing,
                             struct slots *slots_out)
{
    const int64_t one = 1;
    int64_t step = dcli_partials_step(partials->array->cluster, partials->array, partials->results);
    dcl_box parts = box_of_parts(partials, computing, step);
    *slots_out = (struct slots){.words = dcli_malloc((size_t)parts.count[0] * sizeof(int64_t)),
                                .count = (parts.count[0] - 1) / step + 1,
                                .step = step};
    return slots_out->words != NULL ? dcli_array_read(partials->array, &parts, slots_out->words, &one) : DCL_ERR_NOMEM;
}

/* Read the results of all trees, and put them together as the results of a single slot. */
static dcl_status read_top(const struct dcli_partials *partials, dcl_array *const top[], struct slots *slots_out)
{
    int64_t length = dcli_slot_longs(1), row[1 + DCLI_PARTIAL_LONGS];
    const int64_t strides[] = {length, 1};
    dcl_box box = dcl_box_nd(2, (int64_t[]){0, 0}, (int64_t[]){1, length});
    int64_t step = dcli_slot_longs(partials->results), *words = dcli_calloc((size_t)step, sizeof *words);
    dcl_status status = words != NULL ? DCL_OK : DCL_ERR_NOMEM;
    *slots_out = (struct slots){.words = words, .count = 1, .step = step};
    for (int r = 0; r < partials->results && status == DCL_OK; r++) {
        status = dcli_array_read(top[r], &box, row, strides);
        if (status == DCL_OK) {
            words[0] = row[0];
            memcpy(words + 1 + (int64_t)r * DCLI_PARTIAL_LONGS, row + 1, sizeof row - sizeof row[0]);
        }
    }
    return status;
}

dcl_status dcli_partials_read(const struct dcli_partials *partials, const dcli_node_list *computing,
                              const dcl_grid *grid, const dcli_result reduced[], int count, const dcl_arg args[],
                              dcl_array *const top[])
{
    dcl_array *array = partials->array;
    struct slots slots;
    dcl_status status = top != NULL ? read_top(partials, top, &slots) : read_parts(partials, computing, &slots);
    if (dcli_storage_state_failed(dcli_array_state(array)))
        status = dcli_array_usable(array, "reduce into");
    dcl_status strayed = DCL_OK;
    if (status == DCL_OK)
        strayed = dcli_storage_state_strayed(dcli_array_state(array), "the values were computed");
    if (status == DCL_OK)
        status = store_results(reduced, grid, partials, count, args, &slots);
    dcli_free(slots.words);
    return status == DCL_OK ? strayed : status;
}

/* Combine all results up a tree. */
static dcl_status combine(const dcli_tree *tree, const dcli_result reduced[], int count, const dcl_arg args[],
                          dcl_array *level[][2], dcl_array *top_out[])
{
    dcl_status status = DCL_OK;
    for (int k = 0, r = 0; k < count && status == DCL_OK; k++)
        if (dcli_arg_is_result(&args[k])) {
            status = dcli_tree_combine(tree, r, &reduced[r], args[k].type, level[r], &top_out[r]);
            r++;
        }
    return status;
}

/* Run a checked reduction and wait. The lock is held. A read outside an array is reported, but gives values. */
static dcl_status reduce(dcl_cluster *cluster, const dcl_box *box, const char *text, int count, const dcl_arg args[],
                         struct dcli_partials *partials)
{
    dcli_result reduced[DCLI_MAX_RESULTS];
    dcl_array *top[DCLI_MAX_RESULTS];
    dcl_grid grid;
    dcli_node_list computing = {0};
    dcl_arg added[DCLI_PARTIALS_ADDED];
    dcli_partials_args(partials->array, partials->stamp, added);
    dcl_status status =
        dcli_reduction_start(cluster, box, text, count, args, DCLI_PARTIALS_ADDED, added, reduced, &grid, &computing);
    bool tree = status == DCL_OK && dcli_tree_steps(cluster, computing.count) > 0;
    if (tree)
        status = combine(&(dcli_tree){cluster, partials->array, partials->results, partials->stamp, NULL}, reduced,
                         count, args, partials->level, top);
    if (status == DCL_OK)
        status = dcli_partials_read(partials, &computing, &grid, reduced, count, args, tree ? top : NULL);
    dcli_node_list_free(&computing);
    return status;
}

/* As reduce(), with an array for partial results that it takes from the cluster's. */
static dcl_status reduce_with(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                              const dcl_arg args[])
{
    struct dcli_partials *partials;
    dcl_status status = dcli_partials_get(cluster, count_results(count, args), &partials);
    if (status == DCL_OK)
        status = reduce(cluster, box, text, count, args, partials);
    dcli_partials_put(cluster, partials, status);
    return status;
}

dcl_status dcli_reduction_run(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                              const dcl_arg args[])
{
    dcl_status status = dcli_reduction_check(cluster, text, count, args);
    if (cluster == NULL)
        return status;
    pthread_mutex_lock(&cluster->lock);
    if (status == DCL_OK && cluster->plan_only)
        status = DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    if (status == DCL_OK)
        status = reduce_with(cluster, box, text, count, args);
    return dcli_cluster_end_call(cluster, status);
}

dcl_status dcli_partials_imagine(dcl_cluster *cluster, int results, dcl_array **array_out)
{
    *array_out = NULL;
    dcl_map *map = dcli_map_new_block(cluster);
    if (map == NULL)
        return dcli_error_status();
    dcl_grid grid = partials_grid(cluster, map, results);
    dcl_status status = dcli_array_imagine(cluster, &grid, map, 1, array_out);
    dcl_map_release(map);
    return status;
}

dcl_status dcli_reduction_look(dcl_cluster *cluster, const dcl_box *box, const char *text, int count,
                               const dcl_arg args[], const dcli_look *look)
{
    dcl_status status = cluster != NULL ? look->check(cluster, look->user) : DCL_OK;
    if (status == DCL_OK)
        status = dcli_reduction_check(cluster, text, count, args);
    if (status != DCL_OK)
        return status;
    dcl_array *partials, *level[DCLI_MAX_RESULTS][2] = {{NULL}}, *top[DCLI_MAX_RESULTS];
    dcli_result reduced[DCLI_MAX_RESULTS];
    dcli_node_list computing = {0};
    int results = count_results(count, args);
    pthread_mutex_lock(&cluster->lock);
    status = dcli_partials_imagine(cluster, results, &partials);
    dcl_arg added[DCLI_PARTIALS_ADDED];
    dcli_partials_args(partials, 1, added);
    if (status == DCL_OK)
        status = dcli_reduction_planned(cluster, box, text, count, args, DCLI_PARTIALS_ADDED, added, reduced,
                                        &computing, look->on, look->user);
    if (status == DCL_OK && dcli_tree_steps(cluster, computing.count) > 0)
        status = combine(&(dcli_tree){cluster, partials, results, 1, look}, reduced, count, args, level, top);
    for (int n = 0; n < 2 * DCLI_MAX_RESULTS; n++)
        if (level[n / 2][n % 2] != NULL)
            dcli_array_free(level[n / 2][n % 2]);
    dcli_node_list_free(&computing);
    if (partials != NULL)
        dcli_array_free(partials);
    pthread_mutex_unlock(&cluster->lock);
    return status;
}
