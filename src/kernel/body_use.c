/* kernel/body_use.c - what a body reveals before its arrays are known: which are written, their ranks, and their
 * grids. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kernel/names.h"
#include "kernel/parser.h"

/* Parse a body before its arrays are known: all names are arrays of unknown role and rank. @return DCL_OK or the
 * failure. */
static dcl_status survey(const char *text, int count, const char *const names[], dcli_body **body_out)
{
    if (text == NULL || names == NULL || count < 1 || count > DCLI_MAX_PARAMS)
        return DCLI_FAIL(DCL_ERR_INVALID, "%s; expected a text and 1 to %d names",
                         text == NULL ? "the body is NULL" : "the number of names does not fit", DCLI_MAX_PARAMS);
    dcli_param params[DCLI_MAX_PARAMS] = {0};
    for (int p = 0; p < count; p++) {
        if (names[p] == NULL || strlen(names[p]) >= sizeof params[p].name)
            return DCLI_FAIL(DCL_ERR_INVALID, "name %d is %s; expected an identifier of at most %zu letters", p,
                             names[p] == NULL ? "NULL" : "too long", sizeof params[p].name - 1);
        snprintf(params[p].name, sizeof params[p].name, "%s", names[p]);
        params[p].access = DCL_ACCESS_IN;
    }
    dcli_body *body = dcli_body_new(text, "", count, params);
    if (body == NULL)
        return dcli_error_status();
    dcl_status status = dcli_parse(body, true);
    if (status != DCL_OK)
        dcli_body_free(body);
    else
        *body_out = body;
    return status;
}

dcl_status dcl_body_use(const char *body, int count, const char *const names[], const char *name, dcl_use *use_out)
{
    dcli_error_enter("dcl_body_use");
    dcli_body *parsed = NULL;
    dcl_status status = survey(body, count, names, &parsed);
    if (status != DCL_OK)
        return status;
    dcl_use use = {0};
    int p = 0;
    while (p < count && (name == NULL || strcmp(names[p], name) != 0))
        p++;
    if (p == count)
        status = DCLI_FAIL(DCL_ERR_INVALID, "%s is none of the %d names of arrays; give it among them",
                           name == NULL ? "NULL" : name, count);
    for (int a = 0; a < parsed->access_count && p < count; a++)
        if (parsed->access[a].param == p) {
            use.read |= parsed->access[a].read;
            use.written |= parsed->access[a].written;
            use.rank = parsed->params[p].rank;
        }
    dcli_body_free(parsed);
    if (status == DCL_OK)
        *use_out = use;
    return status;
}

/* The known range of an index, and the array it comes from. */
struct range {
    bool known, by_output;
    int64_t origin, extent;
    int param, axis;
};

struct inference {
    const dcli_body *body;
    dcl_grid *grids;
    int space_rank; /* index names from this number on are ordinary names: the rank of the first array that is written,
                       or more if its subscripts are later letters, as in the reduction y(j) += A(i,j) */
    struct range range[DCL_MAX_RANK];
};

/* The index that is the whole subscript number `axis` of an occurrence; -1: the subscript is something else. */
static int lone_index(const struct inference *f, const dcli_place *place, int axis)
{
    const dcli_tokens *tokens = &f->body->inside->tokens;
    int first[DCL_MAX_RANK], end[DCL_MAX_RANK];
    dcli_token_split(tokens, place->name + 1, DCL_MAX_RANK, first, end);
    const dcli_token *token = &tokens->token[first[axis]];
    if (end[axis] - first[axis] != 1 || token->kind != DCLI_TOKEN_NAME)
        return -1;
    int index = dcli_name_index(tokens->text + token->start, (size_t)token->length);
    return index < f->space_rank ? index : -1;
}

static const dcli_place *shaping_place(const dcli_body *body, int param);

static int space_rank(const struct inference *f)
{
    struct inference letters = {.body = f->body, .space_rank = DCL_MAX_RANK};
    int p = 0, rank = 0;
    while (p < f->body->param_count && !dcli_body_writes(f->body, p))
        p++;
    const dcli_place *place = p < f->body->param_count ? shaping_place(f->body, p) : NULL;
    for (int d = 0; place != NULL && d < f->body->params[p].rank; d++) {
        int index = lone_index(&letters, place, d);
        rank = rank > d + 1 ? rank : d + 1;
        rank = rank > index + 1 ? rank : index + 1;
    }
    return rank;
}

static dcl_status check_equal(const struct inference *f, int index, const struct range *a, const struct range *b)
{
    if (a->extent == b->extent && a->origin == b->origin)
        return DCL_OK;
    const dcli_param *params = f->body->params;
    return DCLI_FAIL(DCL_ERR_BODY,
                     "index %s runs over axis %d of %s (from %" PRId64 ", %" PRId64 " elements) and over axis "
                     "%d of %s (from %" PRId64 ", %" PRId64
                     " elements); expected equal ranges; give the shape of what is "
                     "written",
                     dcli_index_name(index), a->axis, params[a->param].name, a->origin, a->extent, b->axis,
                     params[b->param].name, b->origin, b->extent);
}

/* Record the range of an index, found at an array whose grid is known. The range at an output replaces others, because
 * outputs define the index space. @return DCL_OK; DCL_ERR_BODY: two ranges differ. */
static dcl_status note_range(struct inference *f, int index, const struct range *found)
{
    struct range *range = &f->range[index];
    if (range->known && range->by_output == found->by_output)
        return check_equal(f, index, range, found);
    if (!range->known || found->by_output)
        *range = *found;
    return DCL_OK;
}

static dcl_status note_place(struct inference *f, const dcli_place *place, bool needed[])
{
    int param = f->body->access[place->access].param;
    const dcl_grid *grid = &f->grids[param];
    dcl_status status = DCL_OK;
    for (int d = 0; d < grid->rank && status == DCL_OK; d++) {
        int index = lone_index(f, place, d);
        if (index < 0 || !needed[index])
            continue;
        struct range found = {.known = true,
                              .by_output = dcli_body_writes(f->body, param),
                              .origin = grid->origin[d],
                              .extent = grid->extent[d],
                              .param = param,
                              .axis = d};
        status = note_range(f, index, &found);
    }
    return status;
}

/* The occurrence that determines the shape of an array whose grid is not given: where it is written, else its first
 * one. NULL: it does not occur. */
static const dcli_place *shaping_place(const dcli_body *body, int param)
{
    const dcli_place *first = NULL;
    for (int64_t p = 0; p < body->inside->place_count; p++) {
        const dcli_place *place = &body->inside->place[p];
        if (body->access[place->access].param != param)
            continue;
        if (body->access[place->access].written)
            return place;
        if (first == NULL)
            first = place;
    }
    return first;
}

static dcl_status check_known(const struct inference *f, int param)
{
    const dcli_param *declared = &f->body->params[param];
    if (f->grids[param].rank == declared->rank || declared->rank == 0)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_BODY, "%s has %d axes, but %d subscripts in the body; expected one subscript per axis",
                     declared->name, f->grids[param].rank, declared->rank);
}

/* Find the indices whose ranges are needed for the grids that are not given. */
static dcl_status find_needed(const struct inference *f, bool needed[])
{
    dcl_status status = DCL_OK;
    for (int p = 0; p < f->body->param_count && status == DCL_OK; p++) {
        const char *name = f->body->params[p].name;
        if (f->grids[p].rank > 0) {
            status = check_known(f, p);
            continue;
        }
        const dcli_place *place = shaping_place(f->body, p);
        if (place == NULL)
            return DCLI_FAIL(DCL_ERR_BODY, "%s does not occur in the body; its shape is unknown; give it", name);
        for (int d = 0; d < f->body->params[p].rank; d++) {
            int index = lone_index(f, place, d);
            if (index < 0)
                return dcli_token_fail(&f->body->inside->tokens, place->name,
                                       "subscript %d of %s is no plain index, so the "
                                       "shape of %s is unknown; give it",
                                       d + 1, name, name);
            needed[index] = true;
        }
    }
    return status;
}

static dcl_status shape_grid(struct inference *f, int param, dcl_type type)
{
    const dcli_place *place = shaping_place(f->body, param);
    dcl_grid grid = {.type = f->grids[param].type != 0 ? f->grids[param].type : type,
                     .rank = f->body->params[param].rank};
    for (int d = 0; d < grid.rank; d++) {
        int index = lone_index(f, place, d);
        const struct range *range = &f->range[index];
        if (!range->known)
            return dcli_token_fail(&f->body->inside->tokens, place->name,
                                   "index %s stands alone as a subscript of no "
                                   "array whose shape is known, so the shape of %s is unknown; give it",
                                   dcli_index_name(index), f->body->params[param].name);
        grid.origin[d] = range->origin;
        grid.extent[d] = range->extent;
    }
    if (grid.type == 0)
        return DCLI_FAIL(DCL_ERR_BODY, "the type of %s is unknown, as no array's is; give it",
                         f->body->params[param].name);
    f->grids[param] = grid;
    return DCL_OK;
}

static dcl_status infer(struct inference *f)
{
    bool needed[DCL_MAX_RANK] = {false}, unknown[DCLI_MAX_PARAMS];
    dcl_status status = find_needed(f, needed);
    for (int64_t p = 0; p < f->body->inside->place_count && status == DCL_OK; p++)
        status = note_place(f, &f->body->inside->place[p], needed);
    dcl_type type = (dcl_type)0;
    for (int p = 0; p < f->body->param_count; p++) {
        unknown[p] = f->grids[p].rank == 0;
        if (!unknown[p] && type == 0)
            type = f->grids[p].type;
    }
    for (int p = 0; p < f->body->param_count && status == DCL_OK; p++)
        if (unknown[p])
            status = shape_grid(f, p, type);
    return status;
}

dcl_status dcl_body_infer(const char *body, int count, const char *const names[], dcl_grid grids[])
{
    dcli_error_enter("dcl_body_infer");
    dcli_body *parsed = NULL;
    dcl_status status = survey(body, count, names, &parsed);
    if (status != DCL_OK)
        return status;
    dcl_grid work[DCLI_MAX_PARAMS];
    memcpy(work, grids, (size_t)count * sizeof *grids);
    struct inference inference = {.body = parsed, .grids = work};
    inference.space_rank = space_rank(&inference);
    status = infer(&inference);
    dcli_body_free(parsed);
    if (status == DCL_OK)
        memcpy(grids, work, (size_t)count * sizeof *grids);
    return status;
}
