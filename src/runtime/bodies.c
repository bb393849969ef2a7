/* runtime/bodies.c - cache of the program's bodies: parsed once, compiled at the first call by one node of each kind of
 * device, evicted least recently used when they take too much memory. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/gather.h"
#include "kernel/inside.h"
#include "kernel/leaves.h"
#include "kernel/space.h"
#include "kernel/tile_kernel.h"
#include "runtime/trace.h"

enum {
    MOST_BYTES = 24 << 20, /* limit for all copies of all bodies in this process */
    LEAST_BYTES = 1 << 20  /* limit for one copy of all bodies, whatever the number of thread nodes: more bodies than
                              compiled programs are cached */
};

void dcli_bodies_limit(dcl_cluster *cluster, int copies)
{
    cluster->bodies.most_bytes = (size_t)dcli_max(MOST_BYTES / copies, LEAST_BYTES);
}

/* Whether an argument is a parameter that the body is parsed with. The parser adds that of the partial results. */
static bool is_parsed(const dcl_arg *arg) { return dcli_arg_is_param(arg) && !dcli_arg_is_partials(arg); }

static bool has_array(const dcl_arg *arg) { return dcli_arg_has_array(arg) && is_parsed(arg); }

/* The access without what belongs to a single call: whether replicas are retained, and to which node elements move. */
static dcl_access access_of(const dcl_arg *arg)
{
    return arg->access == DCL_ACCESS_IN_KEPT || arg->access == DCL_ACCESS_MOVE ? DCL_ACCESS_IN : arg->access;
}

/* A result that is an array, or an element of one, has its rank in width_count: see dcli_reduction_start(). */
static int rank_of(const dcl_arg *arg)
{
    if (dcli_arg_is_result(arg))
        return arg->width_count;
    return has_array(arg) ? dcli_array_grid(arg->array)->rank : 0;
}

/* The axis along which elements are contiguous, counted back from the last one: 0 except in views; -1: there is none.
 * Kernels are compiled for it. */
static int turned_of(const dcl_arg *arg)
{
    if (dcli_arg_is_result(arg))
        return arg->width_count > 0 && arg->width[0] == DCLI_INTO_ELEMENT;
    if (!has_array(arg) || arg->array->base == NULL)
        return 0;
    const dcli_transform *view = &arg->array->view;
    int last = view->base_rank - 1;
    return view->axis[last] >= 0 && view->step[last] == 1 ? view->grid.rank - 1 - view->axis[last] : -1;
}

static dcl_type type_of(const dcl_arg *arg)
{
    bool scalar = arg->access == DCL_ACCESS_VALUE || arg->access == DCL_ACCESS_OPERATOR || dcli_arg_is_result(arg);
    return has_array(arg) ? dcli_array_grid(arg->array)->type : scalar ? arg->type : (dcl_type)0;
}

/* The sizes of DCL_GROUP and DCL_ITEMS. Omitted sizes are 1; without DCL_GROUP the library chooses, without DCL_ITEMS
 * the tile. */
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

static uint64_t hash_call(const char *text, dcli_text_kind kind, int count, const dcl_arg args[])
{
    dcli_items items = items_of(count, args);
    uint64_t hash = dcli_hash_word(dcli_hash_bytes(DCLI_HASH_START, text, strlen(text)), kind);
    hash = dcli_hash_bytes(hash, &items, sizeof items);
    for (int k = 0; k < count; k++) {
        if (args[k].access == DCL_ACCESS_STEALING)
            continue;
        const char *name = args[k].name != NULL ? args[k].name : ""; /* DCL_GROUP and DCL_ITEMS need no name */
        hash = dcli_hash_bytes(hash, name, strlen(name));
        hash = dcli_hash_word(hash, (uint64_t)(turned_of(&args[k]) + 1) << 24 | (uint64_t)access_of(&args[k]) << 16 |
                                        (uint64_t)type_of(&args[k]) << 8 | (uint64_t)rank_of(&args[k]));
    }
    return hash;
}

/* Whether preludes equal those of a parsed body, which stores them in one string, each followed by a line feed. */
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

/* The text of DCL_OVER; "": there is none. */
static const char *over_of(int count, const dcl_arg args[])
{
    for (int k = 0; k < count; k++)
        if (args[k].access == DCL_ACCESS_OVER)
            return args[k].name;
    return "";
}

static bool is_fast(dcli_text_kind kind, int count, const dcl_arg args[])
{
    bool fast = false;
    for (int k = 0; k < count && kind == DCLI_TEXT_ALONG; k++)
        fast |= args[k].access == DCL_ACCESS_FAST;
    return fast;
}

static dcli_text_kind kind_of(const dcli_body *body)
{
    return body->tile_kernel ? DCLI_TEXT_TILES : body->along ? DCLI_TEXT_ALONG : DCLI_TEXT_BODY;
}

static bool same_call(const dcli_body *body, const char *text, dcli_text_kind kind, int count, const dcl_arg args[])
{
    int p = 0;
    if (strcmp(body->text, text) != 0) /* first, because it is what differs */
        return false;
    dcli_items items = items_of(count, args);
    if (kind_of(body) != kind || body->fast != is_fast(kind, count, args) ||
        memcmp(&body->items, &items, sizeof items) != 0)
        return false;
    for (int k = 0; k < count; k++) {
        if (!is_parsed(&args[k]))
            continue;
        if (p == dcli_body_declared(body))
            return false;
        const dcli_param *param = &body->params[p++];
        if (param->access != access_of(&args[k]) || param->type != type_of(&args[k]) ||
            param->rank != rank_of(&args[k]) || param->turned != turned_of(&args[k]) ||
            strcmp(param->name, args[k].name) != 0)
            return false;
    }
    return p == dcli_body_declared(body) && same_preludes(body->prelude, count, args) &&
           strcmp(body->over != NULL ? body->over : "", over_of(count, args)) == 0;
}

static dcl_status make_params(int count, const dcl_arg args[], dcli_param params[], int *count_out, dcli_text *prelude)
{
    int p = 0;
    for (int k = 0; k < count; k++) {
        const dcl_arg *arg = &args[k];
        if (arg->access == DCL_ACCESS_PRELUDE)
            dcli_text_put(prelude, "%s\n", arg->name);
        if (!is_parsed(arg))
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

static dcl_status parse_call(const char *text, dcli_text_kind kind, int count, const dcl_arg args[],
                             dcli_body **body_out)
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
        status = kind == DCLI_TEXT_TILES
                     ? dcli_tile_kernel_parse(text, prelude_text, param_count, params, &items, body_out)
                     : dcli_over_parse(kind == DCLI_TEXT_ALONG, is_fast(kind, count, args), text, prelude_text,
                                       over_of(count, args), param_count, params, body_out);
    dcli_free(prelude_text);
    return status;
}

dcl_status dcli_body_leaves(const char *text, int count, const dcl_arg args[], dcli_leaves *out)
{
    dcli_param params[DCLI_MAX_PARAMS];
    int param_count = 0;
    dcli_text prelude = {0};
    *out = (dcli_leaves){0};
    dcl_status status = make_params(count, args, params, &param_count, &prelude);
    char *prelude_text = dcli_text_take(&prelude);
    if (status == DCL_OK)
        status = prelude_text != NULL
                     ? dcli_leaves_parse(text, prelude_text, over_of(count, args), param_count, params, out)
                     : DCL_ERR_NOMEM;
    dcli_free(prelude_text);
    return status;
}

/* Parse a reduction to values, into elements or by keys as an outline. @param body_out  NULL after a failure. */
static dcl_status parse_outline(const char *text, int count, const dcl_arg args[], dcli_body **body_out)
{
    dcli_param params[DCLI_MAX_PARAMS];
    int param_count = 0;
    dcli_text prelude = {0};
    *body_out = NULL;
    dcl_status status = make_params(count, args, params, &param_count, &prelude);
    char *prelude_text = dcli_text_take(&prelude);
    if (status == DCL_OK)
        status = prelude_text != NULL
                     ? dcli_outline_parse(text, prelude_text, over_of(count, args), param_count, params, body_out)
                     : DCL_ERR_NOMEM;
    dcli_free(prelude_text);
    return status;
}

dcl_status dcli_body_home(const char *text, int count, const dcl_arg args[], int *home_out)
{
    dcli_body *body;
    dcl_status status = parse_outline(text, count, args, &body);
    if (status != DCL_OK)
        return status;
    if (body->own_space)
        status = dcli_refuse_own_space(body);
    else
        *home_out = body->owner;
    dcli_body_free(body);
    return status;
}

dcl_status dcli_body_space(const char *text, int count, const dcl_arg args[], const dcl_box *box, bool always,
                           bool *own_space_out, dcl_grid *space_out, unsigned *indices_out)
{
    const dcl_grid *grids[DCLI_MAX_PARAMS] = {NULL};
    dcli_scalar values[DCLI_MAX_PARAMS] = {{0}};
    dcli_body *body;
    int p = 0;
    *own_space_out = false;
    dcl_status status = parse_outline(text, count, args, &body);
    if (status != DCL_OK)
        return status;
    for (int k = 0; k < count; k++) {
        if (!is_parsed(&args[k]))
            continue;
        bool output = dcli_arg_is_result(&args[k]) && args[k].array != NULL;
        grids[p] = output || has_array(&args[k]) ? dcli_array_grid(args[k].array) : NULL;
        values[p++].u = args[k].access == DCL_ACCESS_VALUE ? args[k].value.u : 0;
    }
    *own_space_out = body->own_space;
    *indices_out = body->indices;
    if (body->own_space || always)
        status = dcli_space_find(body, grids, values, box, space_out);
    dcli_body_free(body);
    return status;
}

/* ---- what errors quote --------------------------------------------------------------------------------------------- */

void dcli_body_show(dcli_known_body *known, const char *text)
{
    if (known->shown != NULL && strcmp(known->shown, text) == 0)
        return;
    dcli_free(known->shown);
    known->shown = dcli_strdup(text);
}

/* The first line of a text, without the blanks before it. */
static const char *first_line(const char *text, int *length_out)
{
    text += strspn(text, " \t\r\n");
    *length_out = (int)strcspn(text, "\r\n");
    return text;
}

const char *dcli_body_shown(const dcl_cluster *cluster, const char *line, int *length_out)
{
    int length;
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (const dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next) {
            const char *own = first_line(known->body->text, &length);
            if (known->shown != NULL && (size_t)length == strlen(line) && memcmp(own, line, (size_t)length) == 0)
                return first_line(known->shown, length_out);
        }
    *length_out = (int)strlen(line);
    return line;
}

/* ---- forgetting --------------------------------------------------------------------------------------------------- */

static void free_known(dcli_known_body *known)
{
    dcli_body_free(known->body);
    dcli_free(known->text);
    dcli_free(known->shown);
    dcli_free(known);
}

/* Whether a body can be evicted: no call holds it, no compilation of it is awaited, every operation that runs it is
 * complete, and it has not caused the loss of a node. */
static bool is_idle(const dcl_cluster *cluster, const dcli_known_body *known)
{
    return known->holds == 0 && known->answers_due == 0 && known->last_operation <= cluster->complete && !known->blamed;
}

/* The least recently used idle body; NULL: all are in use. */
static dcli_known_body **oldest_body(dcl_cluster *cluster)
{
    dcli_known_body **oldest = NULL;
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (dcli_known_body **at = &cluster->bodies.known[b]; *at != NULL; at = &(*at)->next)
            if (is_idle(cluster, *at) && (oldest == NULL || (*at)->used < (*oldest)->used))
                oldest = at;
    return oldest;
}

/* Remember an evicted body's number for the next KERNEL message. Until then the workers keep the body, which takes no
 * more memory than before. */
static dcl_status forget_number(dcli_bodies *bodies, int64_t number)
{
    if (dcli_grow(&bodies->forgotten, bodies->forgotten_count, &bodies->forgotten_capacity, sizeof number) != 0)
        return DCL_ERR_NOMEM;
    bodies->forgotten[bodies->forgotten_count++] = number;
    return DCL_OK;
}

static dcl_status forget_body(dcl_cluster *cluster, dcli_known_body **at)
{
    dcli_known_body *known = *at;
    dcl_status status = dcli_cluster_replicas_end_body(cluster, known->body);
    if (status == DCL_OK && known->number > 0)
        status = forget_number(&cluster->bodies, known->number);
    if (status != DCL_OK)
        return status;
    *at = known->next;
    for (int r = 0; r < DCLI_RECENT_BODIES; r++)
        if (cluster->bodies.recent[r] == known)
            cluster->bodies.recent[r] = NULL;
    cluster->bodies.bytes -= known->bytes;
    free_known(known);
    return DCL_OK;
}

/* Evict bodies beyond the limit. A lack of memory here only delays evicting; the call succeeds. */
static void forget_many(dcl_cluster *cluster)
{
    const dcli_bodies *bodies = &cluster->bodies;
    dcl_status status = DCL_OK;
    while (status == DCL_OK && bodies->bytes > bodies->most_bytes) {
        dcli_known_body **oldest = oldest_body(cluster);
        if (oldest == NULL)
            return;
        status = forget_body(cluster, oldest);
    }
}

/* The oldest incomplete operation whose end makes a body idle; 0: none. */
static int64_t operation_in_the_way(const dcl_cluster *cluster)
{
    int64_t first = 0;
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        for (const dcli_known_body *known = cluster->bodies.known[b]; known != NULL; known = known->next)
            if (known->holds == 0 && !known->blamed && known->last_operation > cluster->complete &&
                (first == 0 || known->last_operation < first))
                first = known->last_operation;
    return first;
}

/* Make room for one more body: wait until operations that run others have ended. The lock is released while waiting. */
static dcl_status await_room(dcl_cluster *cluster)
{
    const dcli_bodies *bodies = &cluster->bodies;
    dcl_status status = DCL_OK;
    for (;;) {
        forget_many(cluster);
        int64_t first = bodies->bytes > bodies->most_bytes ? operation_in_the_way(cluster) : 0;
        if (first == 0 || status != DCL_OK)
            return status;
        status = dcli_cluster_wait(cluster, first, false, -1);
    }
}

/* ---- finding ------------------------------------------------------------------------------------------------------ */

/* Whether the elements of an array on its first node are in several regions. */
static bool is_dealt(const dcl_array *array)
{
    bool one;
    dcli_region region;
    return dcli_layout_one_region(&dcli_array_base((dcl_array *)array)->layout, 0, &one, &region) == DCL_OK && !one;
}

/* Whether an access is at the plain indices, in their order. */
static bool is_at_indices(const dcli_body *body, int a)
{
    int rank = body->params[body->access[a].param].rank;
    bool plain = rank == body->space_rank;
    for (int d = 0; d < rank && plain; d++) {
        const dcli_affine *sum = dcli_inside_subscript(body, a, d);
        plain = sum->boundary == 0 && sum->count == 1 && sum->term[0].index == body->index_of_axis[d] &&
                sum->term[0].factor == 1 && sum->term[0].scalars == 0;
    }
    return plain;
}

/* Whether the nodes of a call may gather inputs: some are read across or beside the node's own elements, and these elements are in
 * many pieces, or others are at other nodes. The answer decides only which kernels are compiled at first. */
static bool may_gather(const dcl_cluster *cluster, const dcli_body *body, int count, const dcl_arg args[])
{
    const dcl_array *array[DCLI_MAX_PARAMS] = {NULL};
    for (int k = 0, p = 0; k < count; k++)
        if (is_parsed(&args[k]))
            array[p++] = has_array(&args[k]) ? args[k].array : NULL;
    if (!dcli_gathers(body) || array[body->owner] == NULL)
        return false;
    const dcl_array *owner = array[body->owner];
    bool may = false;
    for (int a = 0; a < body->access_count && !may; a++) {
        const dcl_array *input = array[body->access[a].param];
        if (!dcli_may_gather(body, a) || input == NULL)
            continue;
        bool alike = owner->base == NULL && input->base == NULL && dcli_layout_same(&owner->layout, &input->layout) &&
                     is_at_indices(body, a);
        may = !alike && (cluster->node_count > 1 || is_dealt(owner) || is_dealt(input));
    }
    return may;
}

static dcl_status add_body(dcl_cluster *cluster, uint64_t hash, const char *text, dcli_text_kind kind, int count,
                           const dcl_arg args[], dcli_known_body **known_out)
{
    dcli_body *body;
    dcl_status status = parse_call(text, kind, count, args, &body);
    if (status != DCL_OK)
        return status;
    int storages = DCLI_CHECKED_CALLS * body->param_count;
    size_t bytes = sizeof(dcli_known_body) + (size_t)storages * sizeof(int64_t);
    dcli_known_body *known = dcli_malloc(bytes);
    if (known == NULL) {
        dcli_body_free(body);
        return DCL_ERR_NOMEM;
    }
    dcli_bodies *bodies = &cluster->bodies;
    *known =
        (dcli_known_body){.hash = hash,
                          .body = body,
                          .prints = strstr(body->text, "printf") != NULL || strstr(body->prelude, "printf") != NULL,
                          .gathers = may_gather(cluster, body, count, args),
                          .bytes = bytes + dcli_body_bytes(body),
                          .next = bodies->known[hash % DCLI_BODY_BUCKETS]};
    for (int k = 0; k < body->param_count; k++)
        known->scalars_in_subscripts |= dcli_body_subscripts_use(body, k);
    for (int c = 0; c < storages; c++)
        known->checked[c] = INT64_MIN; /* matches no storage and no scalar */
    bodies->known[hash % DCLI_BODY_BUCKETS] = known;
    bodies->bytes += known->bytes;
    *known_out = known;
    return DCL_OK;
}

/* Find the body of a call among the last ones that were called: mostly the same few calls recur, and comparing them
 * costs less than the hash. NULL: it is not among them. */
static dcli_known_body *find_recent(const dcl_cluster *cluster, const char *text, dcli_text_kind kind, int count,
                                    const dcl_arg args[])
{
    for (int r = 0; r < DCLI_RECENT_BODIES; r++) {
        dcli_known_body *known = cluster->bodies.recent[r];
        if (known != NULL && same_call(known->body, text, kind, count, args))
            return known;
    }
    return NULL;
}

/* Find the body of a call, or add it. */
static dcl_status find_body(dcl_cluster *cluster, const char *text, dcli_text_kind kind, int count,
                            const dcl_arg args[], dcli_known_body **known_out, bool *fresh_out)
{
    dcli_bodies *bodies = &cluster->bodies;
    uint64_t hash = hash_call(text, kind, count, args);
    dcli_known_body *known = bodies->known[hash % DCLI_BODY_BUCKETS];
    while (known != NULL && !(known->hash == hash && same_call(known->body, text, kind, count, args)))
        known = known->next;
    *fresh_out = known == NULL;
    dcl_status status = *fresh_out ? add_body(cluster, hash, text, kind, count, args, &known) : DCL_OK;
    if (status == DCL_OK)
        bodies->recent[bodies->next_recent++ % DCLI_RECENT_BODIES] = known;
    *known_out = known;
    return status;
}

dcl_status dcli_body_of_call(dcl_cluster *cluster, const char *text, dcli_text_kind kind, int count,
                             const dcl_arg args[], dcli_known_body **known_out)
{
    bool fresh = false;
    dcli_known_body *known = find_recent(cluster, text, kind, count, args);
    dcl_status status = known == NULL ? find_body(cluster, text, kind, count, args, &known, &fresh) : DCL_OK;
    if (status != DCL_OK)
        return status;
    known->used = ++cluster->bodies.clock;
    known->holds++;
    if (fresh)
        forget_many(cluster);
    *known_out = known;
    return DCL_OK;
}

void dcli_body_let_go(dcli_known_body *known)
{
    if (known != NULL)
        known->holds--;
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
    int count = dcli_body_declared(body);
    for (int k = 0; k < count; k++)
        parameters[k] = (dcli_msg_parameter){.name = body->params[k].name,
                                             .access = body->params[k].access,
                                             .type = body->params[k].type,
                                             .rank = body->params[k].rank,
                                             .turned = body->params[k].turned};
    dcli_msg_kernel kernel = {.kernel = known->number,
                              .text = body->text,
                              .prelude = body->prelude,
                              .parameter_count = count,
                              .parameter = parameters,
                              .along = body->along,
                              .fast = body->fast,
                              .gathers = known->gathers,
                              .over = body->over != NULL ? body->over : ""};
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
    return dcli_host_message(cluster->worker[cluster->host], node, &message);
}

/* Put numbers of evicted bodies into a message: the last ones of the list, as many as fit. The caller removes them from the
 * list when the message is sent. */
static void tell_forgotten(const dcli_bodies *bodies, dcli_msg_kernel *kernel)
{
    kernel->forgotten_count = (int)dcli_min(bodies->forgotten_count, DCLI_MOST_FORGOTTEN);
    kernel->forgotten = bodies->forgotten + bodies->forgotten_count - kernel->forgotten_count;
}

/* Announce a body: every peer parses it, also the host's worker; one node of each kind compiles it now. */
static dcl_status announce(dcl_cluster *cluster, dcli_known_body *known)
{
    dcli_msg_parameter parameters[DCLI_MAX_PARAMS];
    dcli_message message = {.kind = DCLI_MSG_KERNEL, .kernel = describe(known, parameters)};
    dcli_msg_kernel *kernel = &message.kernel;
    int64_t builders[cluster->node_count];
    int answers = 0;
    for (int n = 0; n < cluster->node_count; n++)
        if (dcli_body_builder(cluster, n))
            builders[answers++] = n;
    kernel->builder_count = answers;
    kernel->builder = builders;
    kernel->kernel = cluster->bodies.numbers + 1;
    tell_forgotten(&cluster->bodies, kernel);
    dcl_status status = dcli_host_message(cluster->worker[cluster->host], DCL_ALL_NODES, &message);
    if (status == DCL_OK) {
        known->number = ++cluster->bodies.numbers;
        known->answers_due = answers;
        cluster->bodies.forgotten_count -= kernel->forgotten_count;
    }
    return status;
}

/* Announce a body after making room; meanwhile another thread may have announced it. */
static dcl_status announce_in_room(dcl_cluster *cluster, dcli_known_body *known)
{
    dcl_status status = await_room(cluster);
    return status == DCL_OK && known->number == 0 ? announce(cluster, known) : status;
}

/* Handle a failed compilation. A wrong text stays wrong. Any other error may not occur again: the next call announces
 * the body under a new number, and waits for its result before anything runs. */
static dcl_status fail_build(dcl_cluster *cluster, dcli_known_body *known)
{
    dcl_status status = DCLI_FAIL(known->status, "%s", known->text != NULL ? known->text : "the body does not compile");
    if (status != DCL_ERR_BODY && known->number > 0 && forget_number(&cluster->bodies, known->number) == DCL_OK) {
        known->status = DCL_OK;
        dcli_free(known->text);
        known->text = NULL;
        known->number = 0;
    }
    return status;
}

/* Record that the program has waited for a compilation. */
static void trace_wait(dcl_cluster *cluster, int64_t began_ns)
{
    int builder = 0;
    while (builder < cluster->node_count && !dcli_body_builder(cluster, builder))
        builder++;
    dcli_trace_add(cluster->trace->peer[cluster->host].ring,
                   &(dcli_trace_event){.kind = DCLI_TRACE_WAIT,
                                       .begin_ns = began_ns,
                                       .end_ns = dcli_monotonic_ns(),
                                       .part = -1,
                                       .peer = builder < cluster->node_count ? builder : DCLI_TRACE_NOBODY});
}

dcl_status dcli_body_build(dcl_cluster *cluster, dcli_known_body *known)
{
    dcl_status status = DCL_OK;
    bool waits = known->number == 0 || known->answers_due > 0;
    int64_t began_ns = waits && cluster->trace != NULL ? dcli_monotonic_ns() : 0;
    while (status == DCL_OK && (known->number == 0 || known->answers_due > 0) && cluster->broken == DCL_OK)
        if (known->number == 0) /* it was not announced yet; or it failed, and another thread that waited here has
                                   made it new */
            status = announce_in_room(cluster, known);
        else
            dcli_cluster_sleep(cluster, cluster->operations + 1);
    if (began_ns != 0)
        trace_wait(cluster, began_ns);
    if (status == DCL_OK && cluster->broken != DCL_OK)
        status = dcli_error_adopt(cluster->broken, cluster->broken_text);
    if (status == DCL_OK && known->status != DCL_OK)
        status = fail_build(cluster, known);
    return status;
}

void dcli_bodies_free(dcl_cluster *cluster)
{
    for (int b = 0; b < DCLI_BODY_BUCKETS; b++)
        while (cluster->bodies.known[b] != NULL) {
            dcli_known_body *known = cluster->bodies.known[b];
            cluster->bodies.known[b] = known->next;
            free_known(known);
        }
    dcli_free(cluster->bodies.forgotten);
}
