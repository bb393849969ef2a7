/* workqueue/plan_local.c - joins batches that use own parts only, and puts them before those that wait for other nodes.
 *
 * Batches are small because stages take memory. A batch with few stages may be large, which saves launches. Batches
 * that need nothing from others come first, so that remote elements arrive meanwhile. If other batches only read peers'
 * parts in place, half of the local ones follow them: peers that will write these parts then learn early that they have
 * been read. The chunks of a plan keep their order.
 *
 * A GPU that reads a large part of its elements in other GPUs' memory gets one batch, if it needs no stages and no
 * chunks: it then reads its own memory and that of others at the same time (lower/mixed.c). If it only reads a border
 * there, most of the local works are one batch before the border. The works at the edges of the arrays, which are checked
 * and take a launch of their own anyway, follow it. */
#include "workqueue/plan_local.h"

#include <string.h>

#include "base/alloc.h"
#include "base/check.h"

/* Whether a stage is filled from own parts alone, and is only read. */
static bool is_own(const dcli_plan *plan, const dcli_stage *stage)
{
    bool own = stage->kind == DCLI_STAGE_TEMPORARY && stage->out_count == 0;
    for (int64_t p = stage->first_in; p < stage->first_in + stage->in_count && own; p++)
        own = plan->piece[p].kind == DCLI_SPACE_OWN;
    return own;
}

static bool is_bound_here(const dcli_builder *builder, const dcli_work *work)
{
    const dcli_binding *binding = &builder->plan->binding[work->first_binding];
    bool here = true;
    for (int a = 0; a < builder->operation->body->access_count && here; a++)
        here = binding[a].kind == DCLI_SPACE_OWN || binding[a].kind == DCLI_SPACE_STAGE;
    return here;
}

static bool is_local(const dcli_builder *builder, const dcli_batch *batch)
{
    const dcli_plan *plan = builder->plan;
    bool local = batch->chunk_count == 0 && batch->made_count == 0;
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count && local; s++)
        local = is_own(plan, &plan->stage[s]);
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count && local; w++)
        local = is_bound_here(builder, &plan->work[w]);
    return local;
}

/* Bytes of a batch: of its part of the first output, and of its stages. */
typedef struct sizes {
    int64_t output, stages;
} sizes;

static sizes sizes_of(const dcli_builder *builder, const dcli_batch *batch)
{
    const dcli_plan *plan = builder->plan;
    sizes sizes = {0};
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count; w++)
        sizes.output += dcli_box_elements(&plan->work[w].box);
    sizes.output *= dcli_builder_bytes(builder, builder->operation->body->owner);
    for (int64_t s = batch->first_stage; s < batch->first_stage + batch->stage_count; s++)
        sizes.stages += plan->stage[s].elements * dcli_builder_bytes(builder, plan->stage[s].operand);
    return sizes;
}

/* Whether all elements that this node receives are in long rows, which are copied without kernels. Then those that it
 * sends are probably in long rows, too, and a long launch delays nothing. Otherwise the kernels that pack and unpack
 * would wait for it. */
static bool receives_rows(const dcli_builder *builder)
{
    const dcli_plan *plan = builder->plan;
    enum { MOST_ITEMS = 4, LEAST_BYTES = 256 }; /* of a chunk; of a row */
    bool rows = plan->chunk_count > 0 && plan->spot == NULL;
    for (int64_t c = 0; c < plan->chunk_count && rows; c++) {
        const dcli_chunk *chunk = &plan->chunk[c];
        rows = !chunk->written && chunk->item_count <= MOST_ITEMS;
        for (int64_t i = chunk->first_item; i < chunk->first_item + chunk->item_count && rows; i++) {
            const dcli_region *region = &plan->item[i].region;
            int last = region->box.rank - 1;
            int64_t bytes = region->box.count[last] * dcli_builder_bytes(builder, plan->item[i].operand);
            rows = region->step[last] == 1 && bytes >= LEAST_BYTES;
        }
    }
    return rows;
}

/* Elements that the works of a batch compute, and how many of them by reading a peer's part in place. */
typedef struct reading {
    int64_t all, peers;
} reading;

/* Add up what the works of a batch compute. @return false: some of their inputs are not read in place. */
static bool add_reading(const dcli_builder *builder, const dcli_batch *batch, reading *sum)
{
    const dcli_plan *plan = builder->plan;
    bool in_place = batch->stage_count == 0 && batch->chunk_count == 0 && batch->made_count == 0;
    for (int64_t w = batch->first_work; w < batch->first_work + batch->work_count && in_place; w++) {
        const dcli_binding *binding = &plan->binding[plan->work[w].first_binding];
        int64_t elements = dcli_box_elements(&plan->work[w].box);
        bool reads = false;
        for (int a = 0; a < builder->operation->body->access_count; a++) {
            reads |= binding[a].kind == DCLI_SPACE_PEER;
            in_place &=
                binding[a].kind != DCLI_SPACE_REPLICA && (binding[a].kind != DCLI_SPACE_STAGE || binding[a].where < 0);
        }
        sum->all += elements;
        sum->peers += reads ? elements : 0;
    }
    return in_place;
}

/* How batches are joined. */
enum manner {
    BY_SIZE, /* local ones, up to a size */
    APART,   /* all local ones, and all that read peers' parts: these are a border */
    AT_ONCE  /* all */
};

/* Find out how batches are joined. If a GPU reads all that it needs in place, all batches become one; but a border that
 * reads little of others stays apart: the other elements need not wait until it can be read. */
static enum manner manner_of(const dcli_builder *builder)
{
    enum { FEW = 8 }; /* fewer than an eighth of the elements are a border */
    const dcli_plan *plan = builder->plan;
    reading sum = {0};
    bool in_place = (builder->terms->ways[builder->self].can & DCLI_CAN_READ_GPUS) != 0 && plan->chunk_count == 0;
    for (int64_t b = 0; b < plan->batch_count && in_place; b++)
        in_place = add_reading(builder, &plan->batch[b], &sum);
    if (!in_place || sum.peers == 0)
        return BY_SIZE;
    return sum.peers >= sum.all / FEW ? AT_ONCE : APART;
}

static bool fits(const dcli_builder *builder, int64_t most, const sizes *a, const sizes *b)
{
    return a->output + b->output <= most && (b->stages == 0 || a->stages + b->stages <= builder->terms->batch_bytes);
}

/* Join neighbouring batches.
 * @param local_out   per new batch: whether it is local; AT_ONCE: true.
 * @param number_out  [batch_count] per old batch: the new batch that contains it.
 * @return the number of new batches. */
static int64_t join(dcli_builder *builder, enum manner manner, bool local_out[], int64_t number_out[])
{
    dcli_plan *plan = builder->plan;
    int64_t count = 0;
    int64_t most = manner != BY_SIZE || receives_rows(builder) ? INT64_MAX : builder->terms->local_bytes;
    sizes taken = {0};
    for (int64_t b = 0; b < plan->batch_count; b++) {
        dcli_batch batch = plan->batch[b];
        bool local = manner == AT_ONCE || is_local(builder, &batch);
        sizes more = local ? sizes_of(builder, &batch) : (sizes){0};
        bool alike = count > 0 && local_out[count - 1] == local && (local || manner == APART);
        if (alike && fits(builder, most, &taken, &more)) {
            dcli_batch *last = &plan->batch[count - 1];
            last->tile_count += batch.tile_count;
            last->work_count += batch.work_count;
            last->stage_count += batch.stage_count;
            taken.output += more.output;
            taken.stages += more.stages;
        } else {
            plan->batch[count] = batch;
            local_out[count++] = local;
            taken = more;
        }
        number_out[b] = count - 1;
    }
    return count;
}

/* Number of local batches that come first. */
static int64_t first_local(const dcli_plan *plan, const bool local[])
{
    int64_t count = 0;
    bool exchanges = false;
    for (int64_t b = 0; b < plan->batch_count; b++) {
        count += local[b];
        exchanges = exchanges || plan->batch[b].chunk_count > 0 || plan->batch[b].made_count > 0;
    }
    return exchanges || count == plan->batch_count ? count : (count + 1) / 2;
}

/* Reorder the batches: the first `first` local ones, those that are not local, the other local ones.
 * @param number  [before] for each batch before joining: the batch that contains it now; updated. */
static dcl_status reorder(dcli_plan *plan, const bool local[], int64_t first, int64_t before, int64_t number[])
{
    int64_t *to = dcli_malloc((size_t)plan->batch_count * sizeof *to), next = 0;
    dcli_batch *sorted = dcli_malloc((size_t)plan->batch_count * sizeof *sorted);
    dcl_status status = to == NULL || sorted == NULL ? DCL_ERR_NOMEM : DCL_OK;
    for (int turn = 0; turn < 3 && status == DCL_OK; turn++)
        for (int64_t b = 0, seen = 0; b < plan->batch_count; b++) {
            int own_turn = !local[b] ? 1 : seen < first ? 0 : 2;
            seen += local[b];
            if (own_turn == turn) {
                sorted[next] = plan->batch[b];
                to[b] = next++;
            }
        }
    for (int64_t b = 0; b < plan->batch_count && status == DCL_OK; b++)
        plan->batch[b] = sorted[b];
    for (int64_t b = 0; b < before && status == DCL_OK; b++)
        number[b] = to[number[b]];
    dcli_free(to);
    dcli_free(sorted);
    return status;
}

/* Sort the works of a batch: first those that need no checks, in their order. *unchecked_out is how many these are. */
static dcl_status sort_works(dcli_plan *plan, const dcli_batch *batch, int64_t *unchecked_out)
{
    dcli_work *sorted = dcli_malloc((size_t)batch->work_count * sizeof *sorted), *work = plan->work + batch->first_work;
    int64_t next = 0;
    if (sorted == NULL)
        return DCL_ERR_NOMEM;
    for (int checked = 0; checked < 2; checked++) {
        for (int64_t w = 0; w < batch->work_count; w++)
            if (work[w].checked == (checked == 1))
                sorted[next++] = work[w];
        if (checked == 0)
            *unchecked_out = next;
    }
    memcpy(work, sorted, (size_t)batch->work_count * sizeof *sorted);
    dcli_free(sorted);
    return DCL_OK;
}

/* Order a local batch and one that reads a border of peers, of an operation that had more of them: cut the local one in
 * two, so that the border is in the middle. Then a peer that has written the border hears early that it has been read,
 * and the next operation of the peer need not wait for the end of this one. The second part need not take longer than
 * the message. */
static dcl_status cut_local(dcli_plan *plan)
{
    dcli_batch first = plan->batch[0], border = plan->batch[1], second = first;
    int64_t works = 0;
    dcl_status status = sort_works(plan, &first, &works);
    if (works == 0 || works == first.work_count)
        works = (first.work_count + 1) / 2;
    if (status != DCL_OK || works == first.work_count)
        return status;
    first.work_count = works;
    second.first_work += works;
    second.work_count -= works;
    second.tile_count = 0; /* the tiles are counted in the first part */
    plan->batch[0] = first;
    plan->batch[1] = border;
    plan->batch[2] = second;
    plan->batch_count = 3;
    return DCL_OK;
}

dcl_status dcli_plan_local_first(dcli_builder *builder)
{
    dcli_plan *plan = builder->plan;
    int64_t before = plan->batch_count;
    if (builder->terms->local_bytes == 0 || builder->terms->streams || before < 2 ||
        builder->operation->body->tile_kernel)
        return DCL_OK;
    bool *local = dcli_malloc((size_t)before * sizeof *local);
    int64_t *number = dcli_malloc((size_t)before * sizeof *number);
    dcl_status status = local == NULL || number == NULL ? DCL_ERR_NOMEM : DCL_OK;
    if (status == DCL_OK) {
        enum manner manner = manner_of(builder);
        plan->batch_count = join(builder, manner, local, number);
        if (manner == APART && before > 2 && plan->batch_count == 2 && local[0] && !local[1])
            status = cut_local(plan);
        else
            status = reorder(plan, local, first_local(plan, local), before, number);
    }
    for (int64_t c = 0; c < plan->chunk_count && status == DCL_OK; c++) {
        plan->chunk[c].first_batch = number[plan->chunk[c].first_batch];
        plan->chunk[c].last_batch = number[plan->chunk[c].last_batch];
    }
    dcli_free(local);
    dcli_free(number);
    return status;
}
