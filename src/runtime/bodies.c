/* runtime/bodies.c - the bodies a program uses: parsed once, compiled once per kind of device. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/tile_kernel.h"
#include "runtime/cluster.h"

enum { BUCKETS = 256 };

static bool has_array(const dcl_arg *arg) { return arg->access != DCL_ACCESS_VALUE && dcli_arg_is_param(arg); }

/* As the body has it: whether copies are kept, and for whom it moves, is the call's business. */
static dcl_access access_of(const dcl_arg *arg)
{
    return arg->access == DCL_ACCESS_IN_KEPT || arg->access == DCL_ACCESS_MOVE ? DCL_ACCESS_IN : arg->access;
}

static int rank_of(const dcl_arg *arg) { return has_array(arg) ? dcli_array_grid(arg->array)->rank : 0; }

/* Kernels are made for the axis along which elements are neighbours in memory: in views another one than the last. */
static int turned_of(const dcl_arg *arg)
{
    if (!has_array(arg) || arg->array->base == NULL)
        return 0;
    const dcli_transform *view = &arg->array->view;
    int last = view->base_rank - 1;
    return view->axis[last] >= 0 && view->step[last] == 1 ? view->grid.rank - 1 - view->axis[last] : -1;
}

static dcl_type type_of(const dcl_arg *arg)
{
    return has_array(arg)                    ? dcli_array_grid(arg->array)->type
           : arg->access == DCL_ACCESS_VALUE ? arg->type
                                             : (dcl_type)0;
}

/* Sizes that are not given are 1; without DCL_GROUP the library chooses, without DCL_ITEMS the tile. */
static dcli_items items_of(int count, const dcl_arg args[])
{
    dcli_items items = {.group = {0}};
    for (int k = 0; k < count; k++)
        for (int d = 0; d < DCLI_ITEM_DIMENSIONS; d++) {
            int64_t size = d < args[k].width_count ? args[k].width[d] : 1;
            if (args[k].access == DCL_ACCESS_GROUP)
                items.group[d] = size;
            else if (args[k].access == DCL_ACCESS_ITEMS)
                items.count[d] = size;
        }
    return items;
}

static uint64_t hash_call(const char *text, bool tiles, int count, const dcl_arg args[])
{
    dcli_items items = items_of(count, args);
    uint64_t hash = dcli_hash_word(dcli_hash_bytes(DCLI_HASH_START, text, strlen(text)), tiles);
    hash = dcli_hash_bytes(hash, &items, sizeof items);
    for (int k = 0; k < count; k++) {
        const char *name = args[k].name != NULL ? args[k].name : ""; /* DCL_GROUP and DCL_ITEMS need none */
        hash = dcli_hash_bytes(hash, name, strlen(name));
        hash = dcli_hash_word(hash, (uint64_t)(turned_of(&args[k]) + 1) << 24 | (uint64_t)access_of(&args[k]) << 16 |
                                        (uint64_t)type_of(&args[k]) << 8 | (uint64_t)rank_of(&args[k]));
    }
    return hash;
}

/* Preludes follow each other in the parsed body's `prelude`, a line feed after each. */
static bool same_preludes(const char *kept, int count, const dcl_arg args[])
{
    for (int k = 0; k < count; k++) {
        if (args[k].access != DCL_ACCESS_PRELUDE)
            continue;
        size_t length = strlen(args[k].name);
        if (strncmp(kept, args[k].name, length) != 0 || kept[length] != '\n')
            return false;
        kept += length + 1;
    }
    return *kept == '\0';
}

static bool same_call(const dcli_body *body, const char *text, bool tiles, int count, const dcl_arg args[])
{
    int p = 0;
    dcli_items items = items_of(count, args);
    if (body->tile_kernel != tiles || memcmp(&body->items, &items, sizeof items) != 0)
        return false;
    for (int k = 0; k < count; k++) {
        if (!dcli_arg_is_param(&args[k]))
            continue;
        if (p == body->param_count)
            return false;
        const dcli_param *param = &body->params[p++];
        if (param->access != access_of(&args[k]) || param->type != type_of(&args[k]) ||
            param->rank != rank_of(&args[k]) || param->turned != turned_of(&args[k]) ||
            strcmp(param->name, args[k].name) != 0)
            return false;
    }
    return p == body->param_count && strcmp(body->text, text) == 0 && same_preludes(body->prelude, count, args);
}

static dcl_status make_params(int count, const dcl_arg args[], dcli_param params[], int *count_out, dcli_text *prelude)
{
    int p = 0;
    for (int k = 0; k < count; k++) {
        const dcl_arg *arg = &args[k];
        if (arg->access == DCL_ACCESS_PRELUDE)
            dcli_text_put(prelude, "%s\n", arg->name);
        if (!dcli_arg_is_param(arg))
            continue;
        if (strlen(arg->name) >= sizeof params[p].name)
            return DCLI_FAIL(DCL_ERR_INVALID, "argument %d has a name of %zu letters; expected at most %zu", k,
                             strlen(arg->name), sizeof params[p].name - 1);
        params[p] = (dcli_param){
            .access = access_of(arg), .type = type_of(arg), .rank = rank_of(arg), .turned = turned_of(arg)};
        strcpy(params[p++].name, arg->name);
    }
    *count_out = p;
    return DCL_OK;
}

static dcl_status parse_call(const char *text, bool tiles, int count, const dcl_arg args[], dcli_body **body_out)
{
    dcli_param params[DCLI_MAX_PARAMS];
    dcli_items items = items_of(count, args);
    int param_count = 0;
    dcli_text prelude = {0};
    dcl_status status = make_params(count, args, params, &param_count, &prelude);
    char *prelude_text = dcli_text_take(&prelude);
    if (status == DCL_OK && prelude_text == NULL)
        status = DCL_ERR_NOMEM;
    if (status == DCL_OK)
        status = tiles ? dcli_tile_kernel_parse(text, prelude_text, param_count, params, &items, body_out)
                       : dcli_body_parse(text, prelude_text, param_count, params, body_out);
    dcli_free(prelude_text);
    return status;
}

dcl_status dcli_body_of_call(dcl_cluster *cluster, const char *text, bool tiles, int count, const dcl_arg args[],
                             dcli_known_body **known_out)
{
    uint64_t hash = hash_call(text, tiles, count, args);
    dcli_known_body *known = cluster->known[hash % BUCKETS];
    while (known != NULL && !(known->hash == hash && same_call(known->body, text, tiles, count, args)))
        known = known->next;
    if (known == NULL) {
        dcli_body *body;
        dcl_status status = parse_call(text, tiles, count, args, &body);
        if (status != DCL_OK)
            return status;
        known = dcli_calloc(1, sizeof *known);
        if (known == NULL) {
            dcli_body_free(body);
            return DCL_ERR_NOMEM;
        }
        *known = (dcli_known_body){
            .hash = hash, .number = ++cluster->bodies, .body = body, .next = cluster->known[hash % BUCKETS]};
        cluster->known[hash % BUCKETS] = known;
    }
    *known_out = known;
    return DCL_OK;
}

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

bool dcli_body_builder(const dcl_cluster *cluster, int node)
{
    for (int n = 0; n < node; n++)
        if (!cluster->lost[n] && strcmp(dcli_node_kind(cluster, n), dcli_node_kind(cluster, node)) == 0)
            return false;
    return !cluster->lost[node];
}

static dcli_msg_kernel describe(const dcli_known_body *known, dcli_msg_parameter parameters[DCLI_MAX_PARAMS])
{
    const dcli_body *body = known->body;
    for (int k = 0; k < body->param_count; k++)
        parameters[k] = (dcli_msg_parameter){.name = body->params[k].name,
                                             .access = body->params[k].access,
                                             .type = body->params[k].type,
                                             .rank = body->params[k].rank,
                                             .turned = body->params[k].turned};
    dcli_msg_kernel kernel = {.kernel = known->number,
                              .text = body->text,
                              .prelude = body->prelude,
                              .parameter_count = body->param_count,
                              .parameter = parameters};
    for (int d = 0; d < DCLI_ITEM_DIMENSIONS && body->tile_kernel; d++) {
        kernel.item_count = DCLI_MSG_ITEMS;
        kernel.items[d] = body->items.group[d];
        kernel.items[DCLI_ITEM_DIMENSIONS + d] = body->items.count[d];
    }
    return kernel;
}

dcl_status dcli_body_tell(dcl_cluster *cluster, const dcli_known_body *known, int node)
{
    dcli_msg_parameter parameters[DCLI_MAX_PARAMS];
    dcli_message message = {.kind = DCLI_MSG_KERNEL, .kernel = describe(known, parameters)};
    return dcli_host_message(cluster->worker[cluster->host], node, &message, -1);
}

/* Every peer parses the body, the host's worker too; one node of each kind compiles it now. */
static dcl_status announce(dcl_cluster *cluster, dcli_known_body *known)
{
    dcli_msg_parameter parameters[DCLI_MAX_PARAMS];
    dcli_msg_kernel kernel = describe(known, parameters);
    int64_t builders[cluster->node_count];
    int answers = 0;
    for (int n = 0; n < cluster->node_count; n++)
        if (dcli_body_builder(cluster, n))
            builders[answers++] = n;
    kernel.builder_count = answers;
    kernel.builder = builders;
    dcl_status status = dcli_host_kernel(cluster->worker[cluster->host], &kernel);
    if (status == DCL_OK) {
        known->announced = true;
        known->answers_due = answers;
    }
    return status;
}

/* A text that is wrong stays wrong; anything else may go well the next time: the next call announces the body anew, under
 * another number, and is refused in its turn before anything runs. */
static dcl_status fail_build(dcl_cluster *cluster, dcli_known_body *known)
{
    dcl_status status = DCLI_FAIL(known->status, "%s", known->text != NULL ? known->text : "the body does not compile");
    if (status != DCL_ERR_BODY) {
        known->status = DCL_OK;
        dcli_free(known->text);
        known->text = NULL;
        known->announced = false;
        known->number = ++cluster->bodies;
    }
    return status;
}

dcl_status dcli_body_build(dcl_cluster *cluster, dcli_known_body *known)
{
    dcl_status status = DCL_OK;
    while (status == DCL_OK && (!known->announced || known->answers_due > 0) && cluster->broken == DCL_OK)
        if (!known->announced) /* or not any more: another thread that waited here has seen it fail */
            status = announce(cluster, known);
        else
            dcli_cluster_sleep(cluster, cluster->operations + 1);
    if (status == DCL_OK && cluster->broken != DCL_OK)
        status = dcli_error_adopt(cluster->broken, cluster->broken_text);
    if (status == DCL_OK && known->status != DCL_OK)
        status = fail_build(cluster, known);
    return status;
}

void dcli_bodies_free(dcl_cluster *cluster)
{
    for (int b = 0; b < BUCKETS; b++)
        while (cluster->known[b] != NULL) {
            dcli_known_body *known = cluster->known[b];
            cluster->known[b] = known->next;
            dcli_body_free(known->body);
            dcli_free(known->text);
            dcli_free(known);
        }
}
