/* worker/profile.c - measures how much time the parts of a loop body's work take.
 *
 * The range of indices of a node along one axis is divided into equal parts. The time of batches is divided among the parts
 * that they have elements of. A batch that another node has computed counts apart, with the time that it took there: how
 * fast that node is compared with this one follows from parts of which both have computed batches. */
#include "worker/profile.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "worker/gain.h"
#include "worker/plans.h"
#include "worker/stealing.h"

enum {
    PARTS = DCLI_MSG_WORK_PARTS,
    THIEVES = DCLI_MSG_WORK_THIEVES,
    PLANS = 8,        /* most plans of a body whose calls are told apart */
    MOST_CALLS = 32,  /* after which sums are halved */
    MOST_WORKS = 256, /* works of batches that are measured together; more would take too long */
    SHORT_NS = 10000, /* launches that end sooner are not looked at */
    NEAR = 2          /* parts between a batch and the nearest one that this node has computed, to compare times */
};

struct part {
    double own_ns, lent_ns; /* computed here, and elsewhere */
    double own, lent;       /* elements */
    /* time of an element here by the last calls, computed here, and by what others have computed; 0: not known */
    double own_each, lent_each;
};

struct thief {
    int node; /* -1: not in use */
    double ns, own_ns;
    double times; /* how many times as long as this node it has recently taken; 0: not known */
};

/* The calls with one plan. A body has an array [PLANS] of these. */
struct dcli_profile {
    uint64_t key; /* of the call and its plan */
    int axis;
    int64_t first, count;       /* indices along the axis, from the lowest to the highest of this node */
    int64_t operation;          /* number of the last call; 0: this profile is not in use */
    int64_t calls;              /* number of calls in the sums */
    int64_t seen;               /* number of all calls with this key */
    uint64_t stolen;            /* bit n: in the n-th last call, another node has computed a batch */
    int64_t began_ns, ended_ns; /* of the last call, as far as it has run */
    bool lent_near;             /* in the last call, a node of this host has computed a batch */
    dcli_gain gain;             /* by the calls before it */
    struct part part[PARTS];
    struct thief thief[THIEVES];
};

/* ---- what is measured --------------------------------------------------------------------------------------------- */

static const dcli_operand *owner_operand(const dcli_operation *operation)
{
    return &operation->operand[operation->body->owner];
}

/* The key of a plan that has works: a plan that failed has batches, but none. */
static uint64_t key_of(const dcli_operation *operation, const dcli_plan *plan)
{
    assert(plan->work_count > 0);
    const dcl_box *box = &operation->box;
    size_t bytes = (size_t)box->rank * sizeof box->start[0];
    uint64_t key = dcli_hash_word(DCLI_HASH_START, (uint64_t)plan->batch_count);
    key = dcli_hash_word(key, (uint64_t)plan->work_count);
    key = dcli_hash_bytes(key, box->start, bytes);
    key = dcli_hash_bytes(key, box->count, bytes);
    const dcl_box *work = &plan->work[0].box;
    key = dcli_hash_bytes(key, work->start, bytes);
    return dcli_hash_bytes(key, work->count, bytes);
}

static void restart(dcli_profile *profile, uint64_t key, const dcli_operation *operation, const dcli_plan *plan)
{
    *profile = (dcli_profile){.key = key, .axis = dcli_layout_divided_axis(owner_operand(operation)->layout)};
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int64_t w = 0; w < plan->work_count; w++) {
        const dcl_box *box = &plan->work[w].box;
        int d = profile->axis;
        if (dcli_box_elements(box) == 0)
            continue;
        low = dcli_min(low, box->start[d]);
        high = dcli_max(high, box->start[d] + (box->count[d] - 1) * box->stride[d]);
    }
    profile->first = low <= high ? low : 0;
    profile->count = low <= high ? high - low + 1 : 0;
    for (int t = 0; t < THIEVES; t++)
        profile->thief[t].node = -1;
}

/* Begin a call. Once MOST_CALLS calls are counted, halve the weight of the earlier ones.
 * @param began_ns  when its first batch began */
static void begin_call(dcli_profile *profile, int64_t operation, int64_t began_ns)
{
    if (profile->seen > 0)
        dcli_gain_add(&profile->gain, profile->lent_near, profile->ended_ns - profile->began_ns);
    profile->began_ns = began_ns;
    profile->lent_near = false;
    profile->operation = operation;
    profile->stolen <<= 1;
    profile->calls++;
    profile->seen++;
    if (profile->calls <= MOST_CALLS)
        return;
    profile->calls /= 2;
    double half = (double)profile->calls / (double)(2 * profile->calls + 1);
    for (int b = 0; b < PARTS; b++) {
        struct part *part = &profile->part[b];
        part->own_ns *= half;
        part->lent_ns *= half;
        part->own *= half;
        part->lent *= half;
    }
    for (int t = 0; t < THIEVES; t++) {
        profile->thief[t].ns *= half;
        profile->thief[t].own_ns *= half;
    }
}

/* The profile with a key, or the one that has not been used for longest. @param profiles  [PLANS] */
static dcli_profile *find_profile(dcli_profile *profiles, uint64_t key)
{
    dcli_profile *oldest = profiles;
    for (int n = 0; n < PLANS; n++) {
        if (profiles[n].operation > 0 && profiles[n].key == key)
            return &profiles[n];
        if (profiles[n].operation < oldest->operation)
            oldest = &profiles[n];
    }
    return oldest;
}

/* The profile to which a batch is to be added that has ended now. @param took_ns  how long it has taken. @return NULL: it is
 * not measured, or there is no memory. */
static dcli_profile *profile_of(const dcli_entry *entry, const dcli_plan *plan, int64_t took_ns)
{
    const dcli_operation *operation = &entry->operation;
    dcli_kernel *kernel = entry->kernel;
    if (kernel == NULL || operation->kind != DCLI_OP_FORALL || plan->batch_count < 2 || plan->work_count == 0 ||
        operation->body->tile_kernel || owner_operand(operation)->view != NULL || owner_operand(operation)->reshaped)
        return NULL;
    if (kernel->profile == NULL && (kernel->profile = dcli_calloc(PLANS, sizeof *kernel->profile)) == NULL)
        return NULL;
    uint64_t key = key_of(operation, plan);
    int64_t now_ns = dcli_monotonic_ns();
    dcli_profile *profile = find_profile(kernel->profile, key);
    if (profile->operation == 0 || profile->key != key)
        restart(profile, key, operation, plan);
    if (operation->number > profile->operation)
        begin_call(profile, operation->number, now_ns - took_ns);
    if (operation->number != profile->operation || profile->count == 0)
        return NULL;
    profile->ended_ns = now_ns;
    return profile;
}

/* ---- dividing ----------------------------------------------------------------------------------------------------- */

/* Add the elements of a box to the parts that they are in. */
static void spread(const dcli_profile *profile, const dcl_box *box, double elements_out[])
{
    int d = profile->axis;
    double each = (double)profile->count / PARTS;
    double low = (double)(box->start[d] - profile->first);
    double high = low + (double)((box->count[d] - 1) * box->stride[d] + 1);
    double density = (double)dcli_box_elements(box) / (high - low);
    for (int b = dcli_max(0, (int)(low / each)); b < PARTS && b * each < high; b++) {
        double from = b * each > low ? b * each : low, to = (b + 1) * each < high ? (b + 1) * each : high;
        elements_out[b] += to > from ? density * (to - from) : 0;
    }
}

/* Find how many elements of each part of the profile consecutive batches have. @return their sum; 0: they are not
 * measured. */
static double spread_batches(const dcli_profile *profile, const dcli_plan *plan, int64_t batch, int64_t count,
                             double elements_out[])
{
    double sum = 0;
    int64_t works = 0;
    memset(elements_out, 0, PARTS * sizeof elements_out[0]);
    for (int64_t b = batch; b < batch + count && works <= MOST_WORKS; b++) {
        works += plan->batch[b].work_count;
        for (int64_t w = 0; w < plan->batch[b].work_count && works <= MOST_WORKS; w++)
            spread(profile, &plan->work[plan->batch[b].first_work + w].box, elements_out);
    }
    for (int b = 0; b < PARTS && works <= MOST_WORKS; b++)
        sum += elements_out[b];
    return sum;
}

static int64_t elements_of(const dcli_running *running)
{
    int64_t elements = 0;
    for (int64_t b = running->batch; b <= running->batch + running->more; b++) {
        const dcli_batch *batch = &running->job.plan->batch[b];
        for (int64_t w = 0; w < batch->work_count; w++)
            elements += dcli_box_elements(&running->job.plan->work[batch->first_work + w].box);
    }
    return elements;
}

static bool is_measured(const dcli_running *running)
{
    return running->job.borrowed == NULL && running->job.entry != NULL && running->status == DCL_OK &&
           running->job.plan->batch_count > 1;
}

/* ---- predicting ----------------------------------------------------------------------------------------------------- */

/* Follow a measured value. A busy machine, or a driver that compiles, only adds to times: so lower values count at once, and
 * higher ones little by little. */
static void follow(double *value, double measured)
{
    const double most = 2, share = 0.25;
    if (*value <= 0 || measured < *value / most)
        *value = measured;
    else
        *value += share * ((measured < most * *value ? measured : most * *value) - *value);
}

/* The last known time of an element of a part on this node. @return 0: not known. */
static double element_ns(const dcli_profile *profile, int b)
{
    const struct part *part = &profile->part[b];
    return part->own_each > 0 ? part->own_each : part->lent_each;
}

/* As spread_batches(), but of many batches only a sample is counted, and the result is an estimate. */
static void sample_batches(const dcli_profile *profile, const dcli_plan *plan, int64_t batch, int64_t count,
                           double elements_out[])
{
    enum { SAMPLES = 64 };
    int64_t step = dcli_ceil_div(count, SAMPLES), last = dcli_min(batch + count, plan->batch_count);
    memset(elements_out, 0, PARTS * sizeof elements_out[0]);
    for (int64_t b = batch; b < last; b += step)
        for (int64_t w = 0; w < plan->batch[b].work_count; w++)
            spread(profile, &plan->work[plan->batch[b].first_work + w].box, elements_out);
    double each = (double)(last - batch) / (double)dcli_ceil_div(last - batch, step);
    for (int b = 0; b < PARTS; b++)
        elements_out[b] *= each;
}

/* The profile of a body, if it is of calls with this plan. */
static dcli_profile *known_profile(const dcli_entry *entry, const dcli_plan *plan)
{
    if (entry->kernel == NULL || entry->kernel->profile == NULL || plan->batch_count < 2 || plan->work_count == 0)
        return NULL;
    uint64_t key = key_of(&entry->operation, plan);
    dcli_profile *profile = find_profile(entry->kernel->profile, key);
    return profile->key == key && profile->count > 0 ? profile : NULL;
}

double dcli_profile_predict(const dcli_entry *entry, const dcli_plan *plan, int64_t batch, int64_t count)
{
    const dcli_profile *profile = known_profile(entry, plan);
    double elements[PARTS], ns = 0;
    if (profile == NULL || count < 1 || batch < 0 || batch + count > plan->batch_count)
        return 0;
    sample_batches(profile, plan, batch, count, elements);
    for (int b = 0; b < PARTS; b++) {
        double each = elements[b] > 0 ? element_ns(profile, b) : 0;
        if (elements[b] > 0 && each <= 0)
            return 0;
        ns += elements[b] * each;
    }
    return ns;
}

double dcli_profile_times(const dcli_entry *entry, const dcli_plan *plan, int node)
{
    const dcli_profile *profile = known_profile(entry, plan);
    for (int t = 0; profile != NULL && t < THIEVES; t++)
        if (profile->thief[t].node == node)
            return profile->thief[t].times;
    return 0;
}

/* Whether memory may limit a body: its operands have at least a byte for each nanosecond. Other bodies compute for most of
 * their time, and calls that are kept only to compare would cost them more. */
static bool may_wait_for_memory(const dcli_profile *profile, const dcli_operation *operation)
{
    double elements = 0, ns = 0, bytes = 0;
    for (int k = 0; k < operation->operand_count; k++)
        if (operation->operand[k].layout != NULL)
            bytes += (double)dcl_type_bytes(operation->operand[k].layout->grid.type);
    for (int b = 0; b < PARTS; b++) {
        elements += profile->part[b].own;
        ns += profile->part[b].own_ns;
    }
    return elements * bytes >= ns;
}

bool dcli_profile_lends(const dcli_entry *entry, const dcli_plan *plan)
{
    const dcli_profile *profile = known_profile(entry, plan);
    return profile == NULL || !may_wait_for_memory(profile, &entry->operation) || dcli_gain_lends(&profile->gain);
}

/* ---- measuring ------------------------------------------------------------------------------------------------------ */

void dcli_profile_ran(const dcli_as_node *own, int64_t first, int64_t last, int64_t took_ns)
{
    double ns = (double)took_ns, all = 0;
    if (took_ns < SHORT_NS)
        return;
    for (int64_t r = first; r <= last; r++)
        all += is_measured(&own->running[r]) ? (double)elements_of(&own->running[r]) : 0;
    for (int64_t r = first; r <= last && all > 0; r++) {
        const dcli_running *running = &own->running[r];
        dcli_profile *profile =
            is_measured(running) ? profile_of(running->job.entry, running->job.plan, took_ns) : NULL;
        double elements[PARTS];
        if (profile == NULL ||
            spread_batches(profile, running->job.plan, running->batch, 1 + running->more, elements) <= 0)
            continue;
        for (int b = 0; b < PARTS; b++) {
            profile->part[b].own += elements[b];
            profile->part[b].own_ns += ns * elements[b] / all;
            if (elements[b] > 0)
                follow(&profile->part[b].own_each, ns / all);
        }
    }
}

/* Predict how long this node would take for these elements, from the parts of which it has computed elements.
 * @param late  use the times of the last calls. @return 0: not known. */
static double own_time(const dcli_profile *profile, const double elements[], bool late)
{
    double ns = 0;
    for (int b = 0; b < PARTS; b++) {
        int near = -1;
        for (int off = 0; off <= NEAR && near < 0 && elements[b] > 0; off++)
            near = b - off >= 0 && profile->part[b - off].own > 0      ? b - off
                   : b + off < PARTS && profile->part[b + off].own > 0 ? b + off
                                                                       : -1;
        if (near >= 0)
            ns += elements[b] *
                  (late ? profile->part[near].own_each : profile->part[near].own_ns / profile->part[near].own);
        else if (elements[b] > 0)
            return 0;
    }
    return ns;
}

static struct thief *thief_of(dcli_profile *profile, int node)
{
    for (int t = 0; t < THIEVES; t++)
        if (profile->thief[t].node == node || profile->thief[t].node < 0)
            return &profile->thief[t];
    return NULL;
}

void dcli_profile_won(dcli_worker *worker, const dcli_lent_out *lent, int64_t kernel_ns)
{
    const dcli_plan *plan = dcli_entry_plan(lent->entry, worker->terms.self)->plan;
    dcli_profile *profile = profile_of(lent->entry, plan, kernel_ns);
    double elements[PARTS],
        all = profile != NULL ? spread_batches(profile, plan, lent->batch, lent->count, elements) : 0;
    if (all <= 0)
        return;
    double here_ns = own_time(profile, elements, false), late_ns = own_time(profile, elements, true), times = 0;
    struct thief *thief = thief_of(profile, lent->thief);
    if (thief != NULL && here_ns > 0) {
        thief->node = lent->thief;
        thief->ns += (double)kernel_ns;
        thief->own_ns += here_ns;
    }
    if (thief != NULL && late_ns > 0 && kernel_ns > 0)
        follow(&thief->times, (double)kernel_ns / late_ns);
    times = thief != NULL && thief->times > 0 ? thief->times : 1;
    for (int b = 0; b < PARTS; b++) {
        profile->part[b].lent += elements[b];
        profile->part[b].lent_ns += (double)kernel_ns * elements[b] / all;
        if (elements[b] > 0 && kernel_ns > 0)
            follow(&profile->part[b].lent_each, (double)kernel_ns / times / all);
    }
    profile->stolen |= 1;
    profile->lent_near |= dcli_ways_share(&worker->terms.ways[worker->terms.self], &worker->terms.ways[lent->thief]);
}

/* ---- telling ------------------------------------------------------------------------------------------------------ */

static int64_t whole(double value) { return value < 9e18 ? (int64_t)(value + 0.5) : INT64_MAX; }

/* The profile of the last call. @param profiles  [PLANS] */
static const dcli_profile *last_profile(const dcli_profile *profiles)
{
    const dcli_profile *last = profiles;
    for (int n = 1; n < PLANS; n++)
        if (profiles[n].operation > last->operation)
            last = &profiles[n];
    return last;
}

void dcli_profile_tell(const dcli_worker *worker, int64_t number, dcli_msg_counts *counts, dcli_profile_told *told)
{
    const dcli_kernel *kernel = number > 0 ? dcli_kernels_find(&worker->catalog.kernels, number) : NULL;
    const dcli_profile *profile = kernel != NULL ? kernel->profile : NULL;
    counts->kernel = number;
    if (profile == NULL)
        return;
    profile = last_profile(profile);
    counts->axis = profile->axis;
    counts->first = profile->first;
    counts->count = profile->count;
    counts->calls = profile->calls;
    counts->seen = dcli_min(profile->seen, 64);
    counts->stolen = __builtin_popcountll(profile->stolen);
    counts->work_count = 4 * PARTS;
    counts->work = told->work;
    for (int b = 0; b < PARTS; b++) {
        const struct part *part = &profile->part[b];
        const double values[4] = {part->own_ns, part->own, part->lent_ns, part->lent};
        for (int n = 0; n < 4; n++)
            told->work[4 * b + n] = whole(values[n]);
    }
    counts->thief = told->thief;
    for (int t = 0; t < THIEVES && profile->thief[t].node >= 0; t++) {
        told->thief[counts->thief_count++] = profile->thief[t].node;
        told->thief[counts->thief_count++] = whole(profile->thief[t].ns);
        told->thief[counts->thief_count++] = whole(profile->thief[t].own_ns);
    }
}
