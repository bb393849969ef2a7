/* test/support/simplan.c - compare plans of one operation that are made in different ways. */
#include "support/simplan.h"

#include <stdlib.h>
#include <string.h>

#include "workqueue/partners.h"

/* Compare regions; steps matter only with more than one element. */
static bool same_regions(const dcli_region *a, const dcli_region *b)
{
    bool same = a->offset == b->offset && dcli_box_equal(&a->box, &b->box);
    for (int d = 0; d < a->box.rank && same; d++)
        same = a->box.count[d] <= 1 || a->step[d] == b->step[d];
    return same;
}

/* Whether two plans have equal chunks. @param batches  compare also the batches that use them. */
static bool same_chunks(const dcli_plan *a, const dcli_plan *b, bool batches)
{
    for (int64_t c = 0; c < a->chunk_count; c++) {
        const dcli_chunk *x = &a->chunk[c], *y = &b->chunk[c];
        if (x->written != y->written || x->peer != y->peer || x->number != y->number || x->bytes != y->bytes ||
            x->first_item != y->first_item || x->item_count != y->item_count)
            return false;
        if (batches && (x->first_batch != y->first_batch || x->last_batch != y->last_batch))
            return false;
    }
    return true;
}

static bool same_items(const dcli_plan *a, const dcli_plan *b)
{
    for (int64_t i = 0; i < a->item_count; i++) {
        const dcli_item x = dcli_plan_item(a, i), y = dcli_plan_item(b, i);
        if (x.operand != y.operand || x.chunk != y.chunk || x.byte_offset != y.byte_offset ||
            !same_regions(&x.region, &y.region))
            return false;
    }
    return true;
}

static bool same_batches(const dcli_plan *a, const dcli_plan *b, bool streams)
{
    for (int64_t t = 0; t < a->batch_count; t++) {
        dcli_batch x = a->batch[t], y = b->batch[t];
        if (x.first_chunk != y.first_chunk || x.chunk_count != y.chunk_count || x.made_count != y.made_count ||
            (x.made_count > 0 && x.first_made != y.first_made))
            return false;
        if (!streams &&
            (x.first_tile != y.first_tile || x.tile_count != y.tile_count || x.first_work != y.first_work ||
             x.work_count != y.work_count || x.first_stage != y.first_stage || x.stage_count != y.stage_count))
            return false;
    }
    return true;
}

static bool same_works(const dcli_plan *a, const dcli_plan *b)
{
    for (int64_t w = 0; w < a->work_count; w++)
        if (!dcli_box_equal(&a->work[w].box, &b->work[w].box) || a->work[w].checked != b->work[w].checked ||
            a->work[w].first_binding != b->work[w].first_binding)
            return false;
    return true;
}

static bool same_bindings(const dcli_plan *a, const dcli_plan *b)
{
    for (int64_t n = 0; n < a->binding_count; n++) {
        const dcli_binding *x = &a->binding[n], *y = &b->binding[n];
        if (x->kind != y->kind || x->where != y->where || x->offset != y->offset ||
            memcmp(x->step, y->step, sizeof x->step) != 0 || (x->limits == NULL) != (y->limits == NULL))
            return false;
    }
    return true;
}

static bool same_stages(const dcli_plan *a, const dcli_plan *b)
{
    for (int64_t s = 0; s < a->stage_count; s++) {
        const dcli_stage *x = &a->stage[s], *y = &b->stage[s];
        if (x->operand != y->operand || x->elements != y->elements || x->fill_first != y->fill_first ||
            x->kind != y->kind || x->policy != y->policy || x->unfinished != y->unfinished ||
            x->in_count != y->in_count || x->out_count != y->out_count ||
            (x->in_count > 0 && x->first_in != y->first_in) || !dcli_box_equal(&x->box, &y->box))
            return false;
    }
    return true;
}

static bool same_pieces(const dcli_plan *a, const dcli_plan *b)
{
    for (int64_t p = 0; p < a->piece_count; p++) {
        const dcli_piece *x = &a->piece[p], *y = &b->piece[p];
        if (x->kind != y->kind || x->where != y->where || x->byte_offset != y->byte_offset ||
            !same_regions(&x->region, &y->region))
            return false;
    }
    return true;
}

/* The next replica that a plan makes, from number *at on. */
static const dcli_stage *next_new_replica(const dcli_plan *plan, int64_t *at)
{
    while (*at < plan->stage_count)
        if (plan->stage[(*at)++].kind == DCLI_STAGE_NEW_REPLICA)
            return &plan->stage[*at - 1];
    return NULL;
}

static bool same_copies(const dcli_plan *a, const dcli_plan *b)
{
    const dcli_stage *x, *y;
    for (int64_t i = 0, j = 0;;) {
        x = next_new_replica(a, &i);
        y = next_new_replica(b, &j);
        if (x == NULL || y == NULL)
            return x == y;
        if (x->operand != y->operand || x->policy != y->policy || !dcli_box_equal(&x->box, &y->box))
            return false;
    }
}

const char *sim_plans_differ(const dcli_plan *a, const dcli_plan *b, bool streams, bool regrouped)
{
    if (a->status != b->status || strcmp(a->problem, b->problem) != 0 || a->local != b->local)
        return "status";
    if (a->live_bytes != b->live_bytes)
        return "bytes that live at once";
    bool exchanges = a->chunk_count > 0 || b->chunk_count > 0; /* else peers do not look at the batches */
    bool batches = !streams || (exchanges && !regrouped);
    if (batches && (a->batch_count != b->batch_count || !same_batches(a, b, streams)))
        return "batches";
    if (a->chunk_count != b->chunk_count || !same_chunks(a, b, batches))
        return "chunks";
    if (a->item_count != b->item_count || !same_items(a, b))
        return "items";
    if (!same_copies(a, b))
        return "copies";
    if (streams)
        return NULL;
    if (a->work_count != b->work_count || !same_works(a, b))
        return "works";
    if (a->binding_count != b->binding_count || !same_bindings(a, b))
        return "bindings";
    if (a->stage_count != b->stage_count || !same_stages(a, b))
        return "stages";
    if (a->piece_count != b->piece_count || !same_pieces(a, b))
        return "pieces";
    return memcmp(&a->counters, &b->counters, sizeof a->counters) != 0 ? "counters" : NULL;
}

const char *sim_plan_differs(const dcli_plan *plan, const dcli_operation *operation, int self,
                             const dcli_plan_terms *terms)
{
    const char *difference = NULL;
    for (int way = 0; way < 3 && difference == NULL; way++) {
        dcli_plan_terms other = *terms;
        dcli_plan *again = NULL;
        other.streams = way > 0;
        other.planner = NULL;
        if (other.streams && terms->node_count == 1)
            break; /* there are no peers */
        other.no_points = way != 1;
        if (dcli_plan_make(operation, self, &other, &again) != DCL_OK)
            abort();
        difference = sim_plans_differ(plan, again, other.streams, terms->local_bytes > 0 || plan->fine_count > 0);
        for (int q = 0; q <= terms->node_count && difference == NULL; q++)
            difference = dcli_node_list_has(&plan->reads, q) != dcli_node_list_has(&again->reads, q)
                             ? "peers whose parts are read"
                             : NULL;
        dcli_plan_free(again);
    }
    return difference;
}

/* ---- what a pair exchanges ---------------------------------------------------------------------------------------- */

static bool names(const dcli_plan *plan, int peer)
{
    for (int64_t c = 0; c < plan->chunk_count; c++)
        if (plan->chunk[c].peer == peer)
            return true;
    return dcli_node_list_has(&plan->reads, peer);
}

static bool same_chunk(const dcli_plan *whole, const dcli_chunk *x, const dcli_plan *pair, const dcli_chunk *y)
{
    bool same = x->peer == y->peer && x->written == y->written && x->number == y->number && x->bytes == y->bytes &&
                x->item_count == y->item_count;
    for (int64_t i = 0; i < x->item_count && same; i++) {
        const dcli_item a = dcli_plan_item(whole, x->first_item + i), b = dcli_plan_item(pair, y->first_item + i);
        same = a.operand == b.operand && a.byte_offset == b.byte_offset && same_regions(&a.region, &b.region);
    }
    return same;
}

/* Compare the plan of a pair with what the whole plan, made without looking for partners, says about the peer. */
static const char *pair_differs(const dcli_plan *whole, const dcli_plan *pair, int peer)
{
    int64_t next = 0;
    for (int64_t c = 0; c < whole->chunk_count; c++) {
        if (whole->chunk[c].peer != peer)
            continue;
        if (next == pair->chunk_count || !same_chunk(whole, &whole->chunk[c], pair, &pair->chunk[next++]))
            return "chunks of a pair";
    }
    if (next != pair->chunk_count)
        return "number of chunks of a pair";
    bool reads = dcli_node_list_has(&pair->reads, peer);
    return dcli_node_list_has(&whole->reads, peer) != reads || pair->reads.count != reads ? "reads of a pair" : NULL;
}

const char *sim_pair_differs(const dcli_plan *plan, const dcli_operation *operation, int self, int peer,
                             const dcli_plan_terms *terms)
{
    dcli_plan_terms pair_terms = *terms;
    dcli_plan *pair = NULL;
    dcli_node_list partners = {0};
    const char *difference = NULL;
    if (plan->local) /* nobody plans it for others */
        return names(plan, peer) ? "locality" : NULL;
    dcli_subscripts own[DCLI_MAX_ACCESSES], base[DCLI_MAX_ACCESSES];
    for (int a = 0; operation->kind == DCLI_OP_FORALL && a < operation->body->access_count; a++)
        if (dcli_operation_subscripts(operation, a, &own[a], &base[a]) != DCL_OK)
            abort();
    if (dcli_find_partners(operation, own, base, peer, terms->node_count, NULL, &partners) != DCL_OK)
        abort();
    bool found = dcli_node_list_has(&partners, self);
    if (names(plan, peer) && !found && peer != terms->node_count)
        difference = "partners";
    pair_terms.streams = pair_terms.pair = true;
    pair_terms.with = peer;
    if (difference == NULL && dcli_plan_make(operation, self, &pair_terms, &pair) != DCL_OK)
        abort();
    if (difference == NULL)
        difference = pair_differs(plan, pair, peer);
    dcli_plan_free(pair);
    dcli_node_list_free(&partners);
    return difference;
}
