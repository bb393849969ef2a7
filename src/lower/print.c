/* lower/print.c - print plans and lowered batches. */
#include "lower/print.h"

#include <inttypes.h>

#include "base/check.h"

/* Name of a space: "own part", "peer", "stage", "replica", "chunk". */
static const char *space_name(dcli_space_kind kind)
{
    static const char *const names[] = {[DCLI_SPACE_OWN] = "own part",
                                        [DCLI_SPACE_PEER] = "peer",
                                        [DCLI_SPACE_STAGE] = "stage",
                                        [DCLI_SPACE_REPLICA] = "replica",
                                        [DCLI_SPACE_CHUNK] = "chunk"};
    return names[kind];
}

/* Name of a dcli_via: "bound", "gathered", "by host", "by kernel", "by wire". */
static const char *via_name(dcli_via via)
{
    static const char *const names[DCLI_VIA_COUNT] = {[DCLI_VIA_BINDING] = "bound",
                                                      [DCLI_VIA_GATHER] = "gathered",
                                                      [DCLI_VIA_HOST] = "by host",
                                                      [DCLI_VIA_KERNEL] = "by kernel",
                                                      [DCLI_VIA_WIRE] = "by wire"};
    return names[via];
}

/* Name of an operand: that of the body's parameter, or "the array" for operations without a body. */
static const char *name_of(const dcli_operation *operation, int operand)
{
    return operation->body != NULL ? operation->body->params[operand].name : "the array";
}

/* Print a space and its number. @param number  not printed if it is negative, or if the space is the own part. */
static void put_space(dcli_text *text, dcli_space_kind kind, int64_t number)
{
    dcli_text_put(text, "%s", space_name(kind));
    if (kind != DCLI_SPACE_OWN && number >= 0)
        dcli_text_put(text, " %" PRId64, number);
}

static void put_box(dcli_text *text, const dcl_box *box)
{
    char box_text[200];
    dcli_box_print(box, box_text, sizeof box_text);
    dcli_text_put(text, "%s", box_text);
}

/* After the first `most` lines of a list of `count`: print how many were left out, if any. */
static void put_more(dcli_text *text, int64_t count, int64_t most, const char *what)
{
    if (count > most)
        dcli_text_put(text, "and %" PRId64 " more %s\n", count - most, what);
}

/* ---- plans -------------------------------------------------------------------------------------------------------- */

static void put_work(const dcli_operation *operation, const dcli_plan *plan, const dcli_work *work, dcli_text *text)
{
    const dcli_body *body = operation->body;
    dcli_text_put(text, "  work ");
    put_box(text, &work->box);
    if (work->panel_count > 0)
        dcli_text_put(text, " panel %" PRId64 "+%" PRId64, work->panel_first, work->panel_count);
    dcli_text_put(text, work->checked ? " checked:" : ":");
    for (int a = 0; a < body->access_count; a++) {
        const dcli_binding *binding = &plan->binding[work->first_binding + a];
        dcli_text_put(text, "%s %s in ", a > 0 ? "," : "", name_of(operation, body->access[a].param));
        put_space(text, binding->kind, binding->where);
        dcli_text_put(text, " at %" PRId64, binding->offset);
    }
    dcli_text_put(text, "\n");
}

static void put_pieces(const dcli_plan *plan, int64_t first, int64_t count, const char *word, dcli_text *text)
{
    enum { MOST = 16 };
    for (int64_t p = first; p < first + dcli_min(count, MOST); p++) {
        dcli_text_put(text, "%s ", p > first ? "," : word);
        put_box(text, &plan->piece[p].region.box);
        dcli_text_put(text, " ");
        put_space(text, plan->piece[p].kind, plan->piece[p].where);
    }
    if (count > MOST)
        dcli_text_put(text, " and %" PRId64 " more", count - MOST);
}

static void put_stage(const dcli_operation *operation, const dcli_plan *plan, int64_t s, dcli_text *text)
{
    static const char *const kinds[] = {[DCLI_STAGE_TEMPORARY] = "stage",
                                        [DCLI_STAGE_NEW_REPLICA] = "new replica",
                                        [DCLI_STAGE_REPLICA] = "replica",
                                        [DCLI_STAGE_AROUND] = "lines around"};
    const dcli_stage *stage = &plan->stage[s];
    dcli_text_put(text, "  %s %" PRId64 " of %s ", kinds[stage->kind], s, name_of(operation, stage->operand));
    put_box(text, &stage->box);
    dcli_text_put(text, stage->fill_first ? ", filled first" : "");
    dcli_text_put(text, stage->early ? ", early" : "");
    put_pieces(plan, stage->first_in, stage->in_count, ", from", text);
    put_pieces(plan, stage->first_out, stage->out_count, ", to", text);
    dcli_text_put(text, "\n");
}

static void put_batch(const dcli_operation *operation, const dcli_plan *plan, int64_t b, int64_t most, dcli_text *text)
{
    const dcli_batch *batch = &plan->batch[b];
    dcli_text_put(text, "batch %" PRId64 ": %" PRId64 " tiles\n", b, batch->tile_count);
    for (int64_t w = 0; w < dcli_min(batch->work_count, most); w++)
        put_work(operation, plan, &plan->work[batch->first_work + w], text);
    put_more(text, batch->work_count, most, "works");
    for (int64_t s = 0; s < dcli_min(batch->stage_count, most); s++)
        put_stage(operation, plan, batch->first_stage + s, text);
    put_more(text, batch->stage_count, most, "stages");
}

void dcli_plan_print(const dcli_operation *operation, const dcli_plan *plan, int64_t most, dcli_text *text)
{
    for (int64_t b = 0; b < dcli_min(plan->batch_count, most); b++)
        put_batch(operation, plan, b, most, text);
    put_more(text, plan->batch_count, most, "batches");
    for (int64_t c = 0; c < dcli_min(plan->chunk_count, most); c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        dcli_text_put(text, "chunk %" PRId64 " %s peer %d: %" PRId64 " bytes\n", c, chunk->written ? "to" : "from",
                      chunk->peer, chunk->bytes);
    }
    put_more(text, plan->chunk_count, most, "chunks");
}

/* ---- lowered batches ---------------------------------------------------------------------------------------------- */

static void put_route(const dcli_operation *operation, const dcli_route *route, dcli_text *text)
{
    dcli_text_put(text, "%s from ", name_of(operation, route->operand));
    put_space(text, route->from.kind, route->from.kind == DCLI_SPACE_STAGE ? -1 : route->from.number);
    dcli_text_put(text, " to ");
    put_space(text, route->to.kind, route->to.kind == DCLI_SPACE_STAGE ? -1 : route->to.number);
    dcli_text_put(text, " %s: %" PRId64 " elements in %" PRId64 "\n", via_name(route->via), route->elements,
                  route->transfers.count);
}

static void put_launch(const dcli_operation *operation, const dcli_launch *launch, dcli_text *text)
{
    const dcli_body *body = operation->body;
    dcli_text_put(text, "%s:",
                  launch->multiplies ? "OpenBLAS"
                  : launch->mixed
                      ? dcli_variant_kernel(DCLI_FORM_GPU, DCLI_VARIANT_MIXED)
                      : dcli_variant_kernel(DCLI_FORM_CPU, launch->streams ? DCLI_VARIANT_STREAMED : launch->variant));
    for (int a = 0; a < body->access_count; a++) {
        dcli_text_put(text, "%s %s %s", a > 0 ? "," : "", name_of(operation, body->access[a].param),
                      via_name(launch->via[a]));
        if (launch->via[a] == DCLI_VIA_BINDING) {
            dcli_text_put(text, " in ");
            put_space(text, launch->space[a].kind,
                      launch->space[a].kind == DCLI_SPACE_STAGE ? -1 : launch->space[a].number);
        }
        if (launch->mixed && launch->there[a].kind != launch->space[a].kind) {
            dcli_text_put(text, " and ");
            put_space(text, launch->there[a].kind, launch->there[a].number);
        }
    }
    dcli_text_put(text, "; %" PRId64 " rows", launch->row_count);
    if (launch->set_count > 0 && launch->row_count > 1)
        dcli_text_put(text, " in %" PRId64 " sets", launch->set_count);
    if (launch->gathers)
        dcli_text_put(text, " in %" PRId64 " groups of %" PRId64 " pieces", launch->group_count, launch->piece.count);
    dcli_text_put(text, "\n");
}

void dcli_lowered_print(const dcli_operation *operation, const dcli_lowered *lowered, int64_t most, dcli_text *text)
{
    for (int64_t r = 0; r < dcli_min(lowered->routes.count, most); r++)
        put_route(operation, &lowered->routes.route[r], text);
    put_more(text, lowered->routes.count, most, "routes");
    for (int64_t l = 0; l < dcli_min(lowered->launch_count, most); l++)
        put_launch(operation, &lowered->launch[l], text);
    put_more(text, lowered->launch_count, most, "launches");
    if (lowered->arena_bytes > 0)
        dcli_text_put(text, "arena of %" PRId64 " bytes\n", lowered->arena_bytes);
}
