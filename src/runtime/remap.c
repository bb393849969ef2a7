/* runtime/remap.c - change an array's map, and copy between arrays, with loop bodies of the library's own, so that
 * planning, counting, transfers and failures are those of any body. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dcl/remap.h>

#include "resmap/relabel.h"
#include "runtime/report.h"

/* ---- the body ----------------------------------------------------------------------------------------------------- */

/* A call of "to(i,j) = from(i,j);", with "from(i + i0, j + j0)" if the origins differ. */
struct copy {
    char body[256];
    char shift_name[DCL_MAX_RANK][3];
    int count;
    dcl_arg arg[2 + DCL_MAX_RANK];
};

static void put_subscripts(struct copy *copy, const char *array, int rank, bool shifted)
{
    size_t at = strlen(copy->body);
    for (int d = 0; d < rank; d++) {
        char index = "ijklmnop"[d];
        at += (size_t)snprintf(copy->body + at, sizeof copy->body - at, "%s%c", d == 0 ? array : ", ", index);
        if (shifted) /* the name that make_copy() uses */
            at += (size_t)snprintf(copy->body + at, sizeof copy->body - at, " + %c0", index);
    }
}

static void make_copy(dcl_array *from, dcl_array *to, struct copy *copy)
{
    const dcl_grid *source = dcli_array_grid(from), *target = dcli_array_grid(to);
    bool shifted = false;
    for (int d = 0; d < target->rank; d++)
        shifted |= source->origin[d] != target->origin[d];
    *copy = (struct copy){.count = 2, .arg = {DCL_OUT(to), DCL_IN(from)}};
    for (int d = 0; d < target->rank && shifted; d++) {
        snprintf(copy->shift_name[d], sizeof copy->shift_name[d], "%c0", "ijklmnop"[d]);
        copy->arg[copy->count++] =
            dcl_arg_signed(copy->shift_name[d], DCL_INT64, source->origin[d] - target->origin[d]);
    }
    put_subscripts(copy, "to(", target->rank, false);
    strcat(copy->body, ") = ");
    put_subscripts(copy, "from(", target->rank, shifted);
    strcat(copy->body, ");");
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static dcl_status check_shapes(const dcl_array *from, const dcl_array *to)
{
    const dcl_grid *source = dcli_array_grid(from), *target = dcli_array_grid(to);
    if (source->type != target->type)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "`from` has elements of type %s and `to` of type %s; expected one type; convert with "
                         "dcl_forall()",
                         dcl_type_name(source->type), dcl_type_name(target->type));
    if (source->rank != target->rank)
        return DCLI_FAIL(DCL_ERR_INVALID, "`from` has rank %d and `to` rank %d; expected equal ranks", source->rank,
                         target->rank);
    for (int d = 0; d < source->rank; d++)
        if (source->extent[d] != target->extent[d])
            return DCLI_FAIL(DCL_ERR_INVALID,
                             "axis %d of `from` has %" PRId64 " elements and of `to` %" PRId64
                             "; expected equal extents; "
                             "copy a part with dcl_forall_over()",
                             d, source->extent[d], target->extent[d]);
    return DCL_OK;
}

static dcl_status copy_check(const dcl_array *from, const dcl_array *to)
{
    if (from == NULL || to == NULL)
        return DCLI_FAIL_NULL("%s is NULL; expected an array made by dcl_agile(); see the error of that call",
                              from == NULL ? "`from`" : "`to`");
    if (from->cluster != to->cluster)
        return DCLI_FAIL(DCL_ERR_INVALID, "the arrays are of different clusters; expected two of one; bring elements "
                                          "over with dcl_read() and dcl_write()");
    return check_shapes(from, to);
}

/* Replace an error about the internal body by one that the caller understands. */
static dcl_status say_overlap(const dcl_array *from, const dcl_array *to, dcl_status status)
{
    if (status != DCL_ERR_BODY || dcli_array_base(from) != dcli_array_base(to) ||
        dcli_array_usable(from, "read") != DCL_OK)
        return status;
    return DCLI_FAIL(DCL_ERR_INVALID, "`from` and `to` are views of one array that have elements in common; expected "
                                      "views that have none; copy to another array first, and from there");
}

/* Start the body that copies between two arrays; an array is not copied to itself, just checked. The lock is held. */
static dcl_status start_copy(dcl_array *from, dcl_array *to)
{
    struct copy copy;
    if (from == to)
        return dcli_array_usable(from, "copy");
    make_copy(from, to, &copy);
    return say_overlap(from, to, dcli_forall_start(to->cluster, NULL, copy.body, DCLI_TEXT_BODY, copy.count, copy.arg));
}

static dcl_status copy_planned(dcl_array *from, dcl_array *to, dcli_planned_fn *look, void *user)
{
    struct copy copy;
    make_copy(from, to, &copy);
    return say_overlap(
        from, to, dcli_forall_planned(to->cluster, NULL, copy.body, DCLI_TEXT_BODY, copy.count, copy.arg, look, user));
}

dcl_status dcl_copy(dcl_array *from, dcl_array *to)
{
    dcli_error_enter(__func__);
    dcl_status status = copy_check(from, to);
    const dcl_array *any = to != NULL ? to : from;
    if (any == NULL)
        return status;
    dcl_cluster *cluster = any->cluster;
    if (status == DCL_OK && (status = dcli_array_check(to)) != DCL_OK)
        return status;
    pthread_mutex_lock(&cluster->lock);
    if (status == DCL_OK)
        status = start_copy(from, to);
    return dcli_cluster_end_call(cluster, status);
}

/* ---- another map -------------------------------------------------------------------------------------------------- */

static dcl_status remap_check(const dcl_array *array, const dcl_map *map, unsigned flags)
{
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    if (array->base != NULL)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "array is a view; expected one made by dcl_agile(); remap the array behind the "
                         "view, which then shows it as before");
    if (map == NULL)
        return DCLI_FAIL_NULL("map is NULL; expected one made by dcl_map_parse() or another dcl_map_...(); "
                              "see the error of that call");
    if (map->cluster != array->cluster)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "the map is of another cluster than the array; expected one of the same; make "
                         "it anew with the array's cluster (dcl_cluster_of())");
    if ((flags & ~(unsigned)DCL_REMAP_RELABEL) != 0)
        return DCLI_FAIL(DCL_ERR_INVALID, "flags are %u; expected 0 or DCL_REMAP_RELABEL", flags);
    return DCL_OK;
}

static dcl_status remap_choose(const dcl_array *array, dcl_map *map, unsigned flags, dcl_map **map_out)
{
    *map_out = dcl_map_retain(map);
    if ((flags & DCL_REMAP_RELABEL) == 0)
        return DCL_OK;
    dcli_map_rule rule = map->rule;
    dcl_status status = dcli_map_rule_relabel(&array->layout, &rule);
    dcli_map_rule_end_nodes(&rule, dcl_node_count(map->cluster));
    if (status == DCL_OK && dcli_map_rule_equal(&rule, &map->rule))
        return DCL_OK;
    dcl_map_release(map);
    *map_out = status == DCL_OK ? dcli_map_new(map->cluster, &rule) : NULL;
    return *map_out != NULL ? DCL_OK : dcli_error_status();
}

/* Describe an array with the new map, without storage. @param state_out  memory for its state. */
static dcl_status imagine(const dcl_array *array, dcl_map *map, dcli_storage_state *state_out, dcl_array *array_out)
{
    *state_out = (dcli_storage_state){.id = 0}; /* storages count from 1 */
    *array_out = (dcl_array){.cluster = array->cluster, .map = map, .state = state_out};
    return dcli_array_bind(array->cluster, &array->layout.grid, map, &array_out->layout);
}

static dcl_status remap_planned(dcl_array *array, dcl_map *map, dcli_planned_fn *look, void *user)
{
    dcli_storage_state state;
    dcl_array fresh;
    dcl_status status = imagine(array, map, &state, &fresh);
    if (status != DCL_OK)
        return status;
    status = copy_planned(array, &fresh, look, user);
    dcli_layout_release(&fresh.layout);
    return status;
}

/* Check that a remap's stages fit into the nodes' pools; otherwise nodes would refuse them only during the copy. If a
 * pool has room for 64 tiles, they always fit, although parts of batches in chunks may be padded to eight bytes per
 * piece. */
static dcl_status check_pool(dcl_array *array, dcl_map *map)
{
    const dcl_config *config = &array->cluster->config;
    dcli_counted counted = {.node = DCL_ALL_NODES};
    if (config->pool_bytes / 64 >= config->tile_bytes)
        return DCL_OK;
    return remap_planned(array, map, dcli_count_planned, &counted);
}

/* Release the array that reserve() has made; after exchange() it has the old storage. @return status, with its
 * sentence: an error of the release is only recorded as the cluster's. */
static dcl_status end_fresh(dcl_array *fresh, dcl_status status)
{
    char text[DCLI_ERROR_BYTES];
    snprintf(text, sizeof text, "%s", dcl_error());
    dcl_cluster *cluster = fresh->cluster;
    dcl_status dropped = dcli_array_end(fresh);
    if (dropped != DCL_OK)
        dcli_cluster_failed_call(cluster, dropped);
    return status == DCL_OK ? DCL_OK : dcli_error_adopt(status, text);
}

/* Make the new storage, and wait until every node has its part or one has reported that it cannot. The lock is released
 * meanwhile. The storage is not zeroed, because the copy writes every element. It is an array of its own until the end,
 * so that joining nodes learn of it, and it fails if a node is lost. */
static dcl_status reserve(const dcl_array *array, dcl_map *map, dcl_array **fresh_out)
{
    dcl_cluster *cluster = array->cluster;
    dcl_array *fresh;
    dcl_status status = dcli_array_make(cluster, &array->layout.grid, map, true, &fresh);
    if (status != DCL_OK)
        return status;
    memcpy(fresh->name, array->name, sizeof fresh->name);
    status = dcli_cluster_wait(cluster, fresh->state->last_use, false, -1);
    const dcli_storage_state *state = fresh->state;
    if (status == DCL_OK && dcli_storage_state_failed(state))
        status =
            DCLI_FAIL(state->status,
                      "there is no storage for the new map (%s); the array keeps its map and its contents; release "
                      "arrays, or remap to more nodes",
                      state->text != NULL ? state->text : "see the log");
    if (status == DCL_OK) {
        *fresh_out = fresh;
        return DCL_OK;
    }
    return end_fresh(fresh, status);
}

static void exchange(dcl_array *a, dcl_array *b)
{
    dcl_array old = *a;
    a->map = b->map;
    a->layout = b->layout;
    a->state = b->state;
    a->lines_known = b->lines_known;
    a->whole = b->whole;
    b->map = old.map;
    b->layout = old.layout;
    b->state = old.state;
    b->lines_known = old.lines_known;
    b->whole = old.whole;
}

/* Copy the mark of a stray access to the new storage, whose contents are equal. All such reports have arrived, because
 * the new storage was made and waited for after all earlier calls. */
static void pass_stray(dcli_storage_state *from, dcli_storage_state *to)
{
    if (dcli_storage_state_has_strayed(from))
        dcli_storage_state_stray(to, to->last_use, from->stray);
}

/* Remap. The lock is held from the start of the copy to the exchange, so later calls see only the new map. */
static dcl_status remap_to(dcl_array *array, dcl_map *map)
{
    dcl_array *fresh = NULL;
    dcl_status status = check_pool(array, map);
    if (status == DCL_OK)
        status = reserve(array, map, &fresh);
    if (status != DCL_OK)
        return status;
    status = start_copy(array, fresh);
    if (status == DCL_OK)
        status = dcli_cluster_replicas_settle(array->cluster); /* noted operations refer to the current layouts */
    if (status == DCL_OK) {
        pass_stray(array->state, fresh->state);
        exchange(array, fresh);
    }
    return end_fresh(fresh, status);
}

static dcl_status remap(dcl_array *array, dcl_map *map, unsigned flags)
{
    dcl_map *chosen;
    dcli_cluster_turn(array->cluster);
    dcl_status status = dcli_array_usable(array, "remap");
    if (status == DCL_OK)
        status = remap_choose(array, map, flags, &chosen);
    if (status != DCL_OK)
        return status;
    if (!dcl_map_equal(array->map, chosen))
        status = remap_to(array, chosen);
    dcl_map_release(chosen);
    return status;
}

static dcl_status call_remap(dcl_array *array, dcl_map *map, unsigned flags)
{
    dcl_status status = remap_check(array, map, flags);
    if (array == NULL)
        return status;
    if (status == DCL_OK && (status = dcli_array_check(array)) != DCL_OK)
        return status;
    pthread_mutex_lock(&array->cluster->lock);
    if (status == DCL_OK)
        status = remap(array, map, flags);
    return dcli_cluster_end_call(array->cluster, status);
}

dcl_status dcl_remap(dcl_array *array, dcl_map *map)
{
    dcli_error_enter(__func__);
    return call_remap(array, map, 0);
}

dcl_status dcl_remap_with(dcl_array *array, dcl_map *map, unsigned flags)
{
    dcli_error_enter(__func__);
    return call_remap(array, map, flags);
}

/* ---- without running them ----------------------------------------------------------------------------------------- */

/* Pass a copy of an array to itself, which does nothing, to `look`. The lock is held. */
static dcl_status nothing_look(dcl_array *array, const dcli_look *look)
{
    dcli_operation operation = {.kind = DCLI_OP_DROP, .operand_count = 2};
    dcli_operand *operand = operation.operand;
    dcl_status status = dcli_array_layout(array, &operand[0].layout);
    operand[0].view = array->base != NULL ? &array->view : NULL;
    operand[1] = operand[0];
    if (status != DCL_OK)
        return status;
    return look->on(look->user, &(dcli_planned){.cluster = array->cluster,
                                                .operation = &operation,
                                                .array = (dcl_array *[]){array, array},
                                                .name = (const char *[]){"to", "from"}});
}

dcl_status dcli_copy_look(dcl_array *from, dcl_array *to, const dcli_look *look)
{
    dcl_status status = copy_check(from, to);
    if (status == DCL_OK)
        status = look->check(to->cluster, look->user);
    if (status != DCL_OK)
        return status;
    pthread_mutex_lock(&to->cluster->lock);
    status = from == to ? nothing_look(to, look) : copy_planned(from, to, look->on, look->user);
    pthread_mutex_unlock(&to->cluster->lock);
    return status;
}

dcl_status dcli_remap_look(dcl_array *array, dcl_map *map, unsigned flags, const dcli_look *look)
{
    dcl_status status = remap_check(array, map, flags);
    if (status == DCL_OK)
        status = look->check(array->cluster, look->user);
    if (status != DCL_OK)
        return status;
    dcl_map *chosen = NULL;
    pthread_mutex_lock(&array->cluster->lock);
    status = remap_choose(array, map, flags, &chosen);
    if (status == DCL_OK)
        status = dcl_map_equal(array->map, chosen) ? nothing_look(array, look)
                                                   : remap_planned(array, chosen, look->on, look->user);
    dcl_map_release(chosen);
    pthread_mutex_unlock(&array->cluster->lock);
    return status;
}
