/* worker/exec_combine.c - combines the partial results of a reduction without a launch.
 *
 * The second operation of `rho(0) += ...` is a body that merges a few hundred longs into one element. Its kernel takes 5 us. Starting it
 * and noticing its end takes much longer, above all if the device's threads go on with the next kernel before the thread that
 * serves the node has told the peers, which wait for the element. So that thread merges the longs, by the functions that compute the same bits
 * for variables of the program (kernel/fold.h). */
#include "worker/exec_combine.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/element.h"
#include "kernel/fold.h"
#include "worker/account.h"
#include "worker/exec_prepare.h"

/* The accesses of the body, in the order in which the text names them. */
enum { WORDS, ELEMENT, ACCESSES };

/* Where the kernel of a batch would find the elements of an access. */
struct view {
    char *bytes;                    /* the memory that is the kernel's argument */
    int64_t offset, step, low, end; /* index e, low <= e < end, is element offset + (e - low) * step */
};

static dcli_memory *memory_of(const dcli_job *job, const dcli_launch *launch, int a, dcli_memory *arena)
{
    dcli_known_storage *held = job->entry->held[job->entry->kernel->body->access[a].param];
    return launch->space[a].kind == DCLI_SPACE_STAGE ? arena : held->memory;
}

static struct view view_of(const dcli_job *job, const dcli_launch *launch, int a, dcli_memory *arena)
{
    const dcli_body *body = job->entry->kernel->body;
    const int64_t *row = launch->row;
    struct view view = {.bytes = dcli_memory_host(memory_of(job, launch, a, arena)),
                        .offset = row[dcli_row_at(body, DCLI_ROW_OFFSET, a)]};
    if (a == WORDS) {
        view.step = row[dcli_row_at(body, DCLI_ROW_STEP, a)];
        view.low = row[dcli_row_at(body, DCLI_ROW_LOW, a)];
        view.end = view.low + row[dcli_row_at(body, DCLI_ROW_EXTENT, a)];
    }
    return view;
}

/* Word number e of the partial results. @return false: the batch does not have it. */
static bool read_word(const struct view *words, int64_t e, int64_t *word_out)
{
    if (e < words->low || e >= words->end)
        return false;
    memcpy(word_out, words->bytes + (words->offset + (e - words->low) * words->step) * (int64_t)sizeof *word_out,
           sizeof *word_out);
    return true;
}

/* Merge the partial results with the right stamp. @return false: one is missing or invalid, or the runtime does not pass such
 * scalars. */
static bool merge(const dcli_job *job, const struct view *words, dcl_type type, dcli_partial *all_out)
{
    const dcli_scalar *value = job->entry->operation.value;
    const dcli_fold fold = job->entry->kernel->combines.fold;
    const int64_t first = value[DCLI_ELEMENT_PARAM_FIRST].i, step = value[DCLI_ELEMENT_PARAM_STEP].i,
                  count = value[DCLI_ELEMENT_PARAM_COUNT].i;
    if (step < 1 || first < 0 || first > step - DCLI_PARTIAL_LONGS || count > words->end / step)
        return false;
    *all_out = (dcli_partial){.word = {0}};
    for (int64_t n = 0; n < count; n++) {
        dcli_partial one;
        int64_t stamp;
        if (!read_word(words, n * step, &stamp))
            return false;
        if (stamp != value[DCLI_ELEMENT_PARAM_STAMP].i)
            continue;
        for (int k = 0; k < DCLI_PARTIAL_LONGS; k++)
            if (!read_word(words, first + n * step + k, &one.word[k]))
                return false;
        if (!dcli_partial_is_valid(fold, type, &one))
            return false;
        dcli_partial_merge(fold, type, all_out, &one);
    }
    return true;
}

static void store(dcl_type type, dcli_scalar value, char *at)
{
    const float narrow = (float)value.f;
    if (type == DCL_FLOAT)
        memcpy(at, &narrow, sizeof narrow);
    else if (type == DCL_DOUBLE)
        memcpy(at, &value.f, sizeof value.f);
    else
        memcpy(at, &value.i, dcl_type_bytes(type)); /* little-endian, as all devices that work in host memory */
}

bool dcli_combine_is_possible(const dcli_worker *worker, const dcli_job *job, const dcli_prepared *prepared)
{
    const dcli_as_node *own = worker->as_node;
    const dcli_kernel *kernel = job->entry->kernel;
    const dcli_lowered *lowered = &prepared->lowered;
    const dcli_launch *launch = lowered->launch;
    if (!kernel->combines.known || job->borrowed != NULL || prepared->count != 1 || lowered->launch_count != 1 ||
        job->batch->made_count > 0 || !dcli_device_in_place(own->device) || own->slow_times > 0 ||
        worker->terms.check_access)
        return false;
    if (launch->row_count != 1 || launch->set_count > 0 || launch->gathers || launch->mixed ||
        launch->space[ELEMENT].kind != DCLI_SPACE_OWN ||
        (launch->space[WORDS].kind != DCLI_SPACE_OWN && launch->space[WORDS].kind != DCLI_SPACE_STAGE))
        return false;
    for (int a = 0; a < ACCESSES; a++) {
        dcli_memory *memory = memory_of(job, launch, a, NULL);
        bool stage = launch->space[a].kind == DCLI_SPACE_STAGE;
        if (!stage &&
            (memory == NULL || dcli_memory_host(memory) == NULL || !dcli_memory_is_settled(memory, a == ELEMENT)))
            return false;
    }
    return true;
}

dcl_status dcli_combine_run(dcli_worker *worker, const dcli_job *job, const dcli_prepared *prepared, bool *done_out)
{
    const dcli_lowered *lowered = &prepared->lowered;
    const dcli_launch *launch = lowered->launch;
    const dcl_type type = job->entry->kernel->body->params[DCLI_ELEMENT_PARAM_ELEMENT].type;
    dcli_memory *arena = NULL;
    dcli_partial all;
    *done_out = false;
    dcl_status status = DCL_OK;
    if (lowered->arena_bytes > 0)
        status = dcli_account_check(worker, DCLI_USE_STAGES, (size_t)lowered->arena_bytes,
                                    "what a batch of a loop body stages");
    if (lowered->arena_bytes > 0 && status == DCL_OK)
        status = dcli_memory_scratch(worker->as_node->device, (size_t)lowered->arena_bytes, &arena);
    if (status == DCL_OK)
        status = dcli_exec_fill_stages(worker, job, lowered->stage_at, &lowered->routes, arena);
    if (status == DCL_OK) {
        const struct view words = view_of(job, launch, WORDS, arena), element = view_of(job, launch, ELEMENT, arena);
        if (merge(job, &words, type, &all)) {
            dcli_scalar value = dcli_partial_value(job->entry->kernel->combines.fold, type, &all);
            *done_out = type < DCL_HALF || !isnan(value.f); /* a NaN has the bits that the device's compiler gives it */
            if (*done_out)
                store(type, value, element.bytes + element.offset * (int64_t)dcl_type_bytes(type));
        }
    }
    dcli_memory_release(arena);
    dcli_watch_tick(worker->terms.watch);
    return status;
}
