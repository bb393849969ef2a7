/* runtime/array.c - making, querying, filling, exchanging and releasing arrays. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/config.h"
#include "device/device.h"
#include "resmap/map_text.h"
#include "runtime/cluster.h"

/* Check an element type: half and double are allowed only if every device has them. */
static dcl_status check_type(const dcl_cluster *cluster, dcl_type type)
{
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++) {
        if (cluster->lost[n])
            continue;
        const dcl_device_info *info = dcli_node_device(cluster, n);
        if ((type == DCL_HALF && !info->has_half) || (type == DCL_DOUBLE && !info->has_double))
            return DCLI_FAIL(DCL_ERR_UNSUPPORTED,
                             "node %d (%s) has no %s; use another element type, or choose devices that "
                             "have it (DCL_DEVICES, see `dcl devices`)",
                             n, info->name, dcl_type_name(type));
    }
    return DCL_OK;
}

/* Name the items of a map's list, for the error that the list is too long. */
static const char *list_of(const dcli_map_rule *rule)
{
    if (rule->kind == DCLI_MAP_BOXES)
        return "boxes";
    return rule->kind == DCLI_MAP_DEALT ? "pieces, or pieces whose neighbours have one owner" : "runs";
}

/* Describe a storage. The map's text contains its list of nodes; a map over the first nodes contains their number. */
dcl_status dcli_describe_storage(const dcl_array *array, char **map_out, dcli_msg_operation *descriptor_out)
{
    dcli_map_rule with_lines = array->layout.rule; /* nodes learn of reserved lines as of those of a map */
    with_lines.overlap = array->layout.around;
    const dcli_map_rule *rule = &with_lines;
    const dcl_grid *grid = &array->layout.grid;
    size_t length = dcli_map_rule_print(rule, NULL, 0);
    if (length >= DCLI_MOST_MAP_TEXT)
        return DCLI_FAIL(
            DCL_ERR_INVALID,
            "the map is a list of %zu bytes as text (dcl_map_print()); expected at most %d for arrays; use "
            "fewer and larger %s",
            length, DCLI_MOST_MAP_TEXT - 1, list_of(rule));
    char *map = dcli_malloc(length + 1);
    if (map == NULL)
        return DCL_ERR_NOMEM;
    dcli_map_rule_print(rule, map, length + 1);
    *map_out = map;
    *descriptor_out = (dcli_msg_operation){.kind = DCLI_OP_CREATE,
                                           .type = grid->type,
                                           .rank = grid->rank,
                                           .map = map,
                                           .map_nodes = rule->range_count == 0 ? rule->node_count : 0,
                                           .tile_bytes = rule->tile_bytes,
                                           .block_bytes = rule->block_bytes,
                                           .small_bytes = rule->small_bytes};
    memcpy(descriptor_out->origin, grid->origin, sizeof descriptor_out->origin);
    memcpy(descriptor_out->extent, grid->extent, sizeof descriptor_out->extent);
    return DCL_OK;
}

static dcl_status create_storage(dcl_array *array, bool unset)
{
    char *map;
    dcli_msg_operation descriptor;
    dcl_status status = dcli_describe_storage(array, &map, &descriptor);
    if (status != DCL_OK)
        return status;
    descriptor.unset = unset;
    status = dcli_cluster_issue_one(array, &descriptor, NULL, false, NULL, NULL);
    dcli_free(map);
    return status;
}

/* Refuse a map that was made before a node was lost and still uses it. */
static dcl_status check_nodes(const dcl_cluster *cluster, const dcli_layout *layout)
{
    for (int n = 0; n < cluster->node_count && !cluster->plan_only; n++)
        if (cluster->lost[n] && dcli_layout_place(layout, n) >= 0 && dcli_layout_storage(layout, n) > 0)
            return DCLI_FAIL(
                DCL_ERR_NODE_LOST,
                "the map lays the grid over node %d, which is lost; make the map anew: it is then over the "
                "nodes that are left",
                n);
    return DCL_OK;
}

void dcli_array_link(dcl_array *array)
{
    dcl_array **list = array->base != NULL ? &array->cluster->views : &array->cluster->arrays;
    array->after = *list;
    if (*list != NULL)
        (*list)->before = array;
    *list = array;
}

/* Make the handle of an array, without storage. */
static dcl_status make_handle(dcl_cluster *cluster, dcl_map *map, dcli_layout *layout, int64_t id,
                              dcl_array **array_out)
{
    dcl_array *array = dcli_calloc(1, sizeof *array);
    dcli_storage_state *state = array != NULL ? dcli_calloc(1, sizeof *state) : NULL;
    if (state == NULL) {
        dcli_free(array);
        dcli_layout_release(layout);
        return DCL_ERR_NOMEM;
    }
    *state = (dcli_storage_state){.id = id};
    *array = (dcl_array){.cluster = cluster, .map = dcl_map_retain(map), .layout = *layout, .state = state};
    dcli_array_link(array);
    *array_out = array;
    return DCL_OK;
}

/* Whether nodes reserve lines around their parts. Not for GPUs, which have no waves (lower/wave.h), nor for nodes that
 * differ, which should be able to lend: operations that use the lines are not divided into batches. */
static bool reserves_lines(const dcl_cluster *cluster)
{
    int first = -1;
    if (cluster->plan_only || cluster->config.lines == 0 ||
        dcli_config_steal(&cluster->config).policy == DCL_STEAL_ALWAYS)
        return false;
    for (int n = 0; n < cluster->node_count; n++) {
        if (cluster->lost[n])
            continue;
        first = first < 0 ? n : first;
        if (dcli_node_is_gpu(cluster, n) || strcmp(dcli_node_kind(cluster, n), dcli_node_kind(cluster, first)) != 0)
            return false;
    }
    return true;
}

dcl_status dcli_array_bind(dcl_cluster *cluster, const dcl_grid *grid, const dcl_map *map, dcli_layout *layout_out)
{
    dcl_status status = dcli_layout_bind(&map->rule, grid, layout_out);
    if (status == DCL_OK && reserves_lines(cluster))
        dcli_layout_reserve(layout_out, (int64_t)cluster->config.lines);
    return status;
}

dcl_status dcli_array_imagine(dcl_cluster *cluster, const dcl_grid *grid, dcl_map *map, int number,
                              dcl_array **array_out)
{
    dcli_layout layout;
    dcl_status status = dcli_array_bind(cluster, grid, map, &layout);
    return status == DCL_OK ? make_handle(cluster, map, &layout, cluster->storages + number, array_out) : status;
}

dcl_status dcli_array_make(dcl_cluster *cluster, const dcl_grid *grid, dcl_map *map, bool unset, dcl_array **array_out)
{
    dcli_layout layout;
    dcl_status status = dcli_grid_check(grid);
    if (status == DCL_OK)
        status = check_type(cluster, grid->type);
    if (status == DCL_OK)
        status = dcli_array_bind(cluster, grid, map, &layout);
    if (status != DCL_OK)
        return status;
    /* Storages are created in the order of their numbers; one that is not created is not listed. */
    if (!cluster->plan_only)
        status = dcli_cluster_await_room(cluster);
    if (status == DCL_OK)
        status = check_nodes(cluster, &layout);
    if (status != DCL_OK) {
        dcli_layout_release(&layout);
        return status;
    }
    dcl_array *array;
    status = make_handle(cluster, map, &layout, cluster->storages + 1, &array);
    if (status != DCL_OK)
        return status;
    cluster->storages++;
    status = cluster->plan_only ? DCL_OK : create_storage(array, unset);
    if (status != DCL_OK) {
        dcli_array_free(array);
        return status;
    }
    *array_out = array;
    return DCL_OK;
}

void dcli_array_note_name(dcl_array *array, const char *name)
{
    dcl_array *base = dcli_array_base(array);
    if (name != NULL && (array == base || base->name[0] == '\0') && strcmp(base->name, name) != 0)
        snprintf(base->name, sizeof base->name, "%s", name);
}

dcl_array *dcl_agile(dcl_grid grid, dcl_map *map)
{
    dcli_error_enter_constructor(__func__);
    if (map == NULL)
        return NULL; /* the constructor's error is still the current one */
    dcl_cluster *cluster = map->cluster;
    dcl_array *array = NULL;
    pthread_mutex_lock(&cluster->lock);
    dcli_cluster_end_call(cluster, dcli_array_make(cluster, &grid, map, false, &array));
    return array; /* with DCL_SYNC it exists even if its operation failed */
}

dcl_status dcli_array_end(dcl_array *array)
{
    dcl_cluster *cluster = array->cluster;
    dcl_status status = DCL_OK;
    if (!cluster->plan_only && cluster->broken == DCL_OK) {
        dcli_msg_operation descriptor = {.kind = DCLI_OP_RELEASE};
        status = dcli_cluster_issue_one(array, &descriptor, NULL, false, NULL, NULL);
    }
    dcli_array_free(array);
    return status;
}

void dcl_array_release(dcl_array *array)
{
    dcli_error_enter(__func__);
    if (array == NULL)
        return;
    dcl_cluster *cluster = array->cluster;
    pthread_mutex_lock(&cluster->lock);
    dcl_status status = DCL_OK;
    if (array->base != NULL)
        status = dcli_view_release(array);
    else if (array->view_count > 0)
        array->released = true;
    else
        status = dcli_array_end(array);
    dcli_cluster_end_call(cluster, status);
}

dcl_grid dcl_grid_of(const dcl_array *array) { return array != NULL ? *dcli_array_grid(array) : (dcl_grid){.rank = 0}; }

const dcl_map *dcl_map_of(const dcl_array *array) { return array != NULL ? dcli_array_base(array)->map : NULL; }

dcl_cluster *dcl_cluster_of(const dcl_array *array) { return array != NULL ? array->cluster : NULL; }

static dcl_status fill(dcl_array *array, const void *element)
{
    dcl_type type = dcli_array_grid(array)->type;
    if (element == NULL)
        return DCLI_FAIL(DCL_ERR_INVALID, "element is NULL; expected the address of one %s", dcl_type_name(type));
    dcl_status status = dcli_view_writable(array);
    if (status == DCL_OK)
        status = dcli_array_whole(array, "fill");
    if (status != DCL_OK)
        return status;
    dcli_msg_operation descriptor = {.kind = DCLI_OP_FILL};
    memcpy(&descriptor.element, element, dcl_type_bytes(type));
    return dcli_cluster_issue_one(array, &descriptor, NULL, false, NULL, NULL);
}

dcl_status dcl_fill(dcl_array *array, const void *element)
{
    dcli_error_enter(__func__);
    dcl_status status = dcli_array_check(array);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    return dcli_cluster_end_call(array->cluster, fill(array, element));
}

static dcl_status swap(dcl_array *a, dcl_array *b)
{
    if (a->base != NULL || b->base != NULL)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "%s is a view; expected two arrays made by dcl_agile(); exchange the arrays behind the views: "
                         "these follow",
                         a->base != NULL ? "a" : "b");
    if (a->cluster != b->cluster)
        return DCLI_FAIL(DCL_ERR_INVALID, "the arrays are of different clusters; expected two of one");
    if (!dcli_grid_equal(&a->layout.grid, &b->layout.grid) || !dcl_map_equal(a->map, b->map))
        return DCLI_FAIL(DCL_ERR_INVALID, "the arrays differ in grid, type or map; expected equal ones; copy with "
                                          "dcl_copy() instead, or dcl_remap() one of them");
    if (a->layout.around != b->layout.around) { /* a node of another kind joined, or was lost, before one was made */
        dcl_status status = dcli_cluster_replicas_settle(a->cluster); /* noted operations refer to the layouts */
        if (status != DCL_OK)
            return status;
        int64_t lines = a->layout.around; /* they are part of the storage */
        dcli_layout_set_lines(&a->layout, b->layout.around);
        dcli_layout_set_lines(&b->layout, lines);
    }
    dcli_storage_state *state = a->state;
    a->state = b->state;
    b->state = state;
    return DCL_OK;
}

dcl_status dcl_swap(dcl_array *a, dcl_array *b)
{
    dcli_error_enter(__func__);
    if (a == NULL && b == NULL)
        return DCLI_FAIL_NULL("a and b are NULL; expected two arrays made by dcl_agile()");
    dcl_cluster *cluster = a != NULL ? a->cluster : b->cluster;
    pthread_mutex_lock(&cluster->lock);
    dcli_cluster_turn(cluster);
    dcl_status status = a != NULL && b != NULL ? swap(a, b)
                                               : DCLI_FAIL_NULL("%s is NULL; expected an array made by dcl_agile()",
                                                                a == NULL ? "a" : "b");
    return dcli_cluster_end_call(cluster, status);
}
