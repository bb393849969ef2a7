/* runtime/operations.c - number and issue operations, and record the state of storages. */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "runtime/cluster.h"

/* ---- books -------------------------------------------------------------------------------------------------------- */

bool dcli_books_failed(const dcli_books *books)
{
    return books->lost || (books->failed_at > 0 && books->failed_at >= books->overwritten_at);
}

void dcli_books_fail(dcli_books *books, int64_t operation, dcl_status status, const char *text)
{
    bool failed = dcli_books_failed(books);
    if (operation < books->overwritten_at || (failed && books->text != NULL && books->text[0] != '\0'))
        return; /* overwritten since, or its first cause is known already */
    books->failed_at = dcli_max(operation, books->failed_at);
    books->status = status;
    dcli_free(books->text);
    books->text = text != NULL ? dcli_strdup(text) : NULL;
}

/* Find the cause of a storage's failure. Nodes report failures in any order; when this is called, all causes before the
 * failure are known. */
static const dcli_outcome *cause_of(const dcl_cluster *cluster, const dcli_books *books)
{
    const dcli_outcome *cause = cluster->causes, *found = NULL;
    for (; cause != NULL; cause = cause->next)
        if (cause->operation <= books->failed_at && (found == NULL || cause->operation > found->operation))
            found = cause;
    return found;
}

dcl_status dcli_array_whole(const dcl_array *array, const char *use)
{
    const dcli_books *books = dcli_array_books(array);
    if (!books->lost)
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_NODE_LOST,
                     "cannot %s an array with a part on a node that is lost (%s); make a new one, with a map made "
                     "after the loss",
                     use, books->text != NULL ? books->text : "see the log");
}

dcl_status dcli_array_usable(const dcl_array *array, const char *use)
{
    const dcli_books *books = dcli_array_books(array);
    if (!dcli_books_failed(books))
        return DCL_OK;
    if (books->lost)
        return dcli_array_whole(array, use);
    if (array->cluster->interrupted) /* a call that has ended because of closing may have left it so */
        return DCLI_FAIL(array->cluster->broken, "%s", array->cluster->broken_text);
    const dcli_outcome *cause = books->text == NULL ? cause_of(array->cluster, books) : NULL;
    const char *text = cause != NULL ? cause->text : books->text;
    return DCLI_FAIL(cause != NULL ? cause->status : books->status,
                     "cannot %s an array whose contents have failed (%s); overwrite all of it first", use,
                     text != NULL ? text : "what it was computed from had failed");
}

void dcli_books_stray(dcli_books *books, int64_t operation, const char *text)
{
    if (operation < books->overwritten_at || dcli_books_has_strayed(books))
        return; /* overwritten since, or its first report is known already */
    books->strayed_at = operation;
    dcli_free(books->stray);
    books->stray = text != NULL ? dcli_strdup(text) : NULL;
}

bool dcli_books_has_strayed(const dcli_books *books)
{
    return books->strayed_at > 0 && books->strayed_at >= books->overwritten_at;
}

dcl_status dcli_books_strayed(const dcli_books *books, const char *done)
{
    if (!dcli_books_has_strayed(books))
        return DCL_OK;
    return DCLI_FAIL(DCL_ERR_RANGE,
                     "%s, but the operation that computed them went outside (%s); overwrite the array, or accept the "
                     "elements by dcl_clear_error()",
                     done, books->stray != NULL ? books->stray : "see the log");
}

void dcli_array_spoil(dcl_array *array, dcl_status status)
{
    dcli_books *books = dcli_array_books(array);
    if (!dcli_books_failed(books)) {
        dcli_free(books->text);
        books->text = NULL;
    }
    dcli_books_fail(books, dcli_max(array->cluster->operations, 1), status, dcl_error());
}

dcl_status dcli_array_check(const dcl_array *array)
{
    if (array == NULL)
        return DCLI_FAIL_NULL("array is NULL; expected one made by dcl_agile(); see the error of that call");
    if (!array->cluster->plan_only)
        return DCL_OK;
    dcl_status status =
        DCLI_FAIL(DCL_ERR_UNSUPPORTED, "this cluster only plans (dcl_open_plan()); use dcl_open() for data");
    dcli_cluster_refused(array->cluster);
    return status;
}

/* ---- issuing ------------------------------------------------------------------------------------------------------ */

static void note_books(const dcli_operation *operation, dcli_books *const books[])
{
    for (int k = 0; k < operation->operand_count; k++) {
        if (books[k] == NULL)
            continue;
        books[k]->last_use = operation->number;
        if (operation->operand[k].overwrites)
            books[k]->overwritten_at = operation->number;
    }
}

static dcl_status expect_outcome(dcl_cluster *cluster, int64_t operation, void *memory, dcli_lent **lent_out)
{
    dcli_outcome *outcome = dcli_calloc(1, sizeof *outcome);
    if (outcome == NULL)
        return DCL_ERR_NOMEM;
    outcome->operation = operation;
    if (memory != NULL && (outcome->lent = dcli_lend(memory)) == NULL) {
        dcli_free(outcome);
        return DCL_ERR_NOMEM;
    }
    *lent_out = outcome->lent;
    outcome->next = cluster->outcomes;
    cluster->outcomes = outcome;
    return DCL_OK;
}

dcl_status dcli_cluster_await_room(dcl_cluster *cluster)
{
    for (;;) {
        dcli_cluster_turn(cluster);
        if (cluster->broken != DCL_OK)
            return dcli_error_adopt(cluster->broken, cluster->broken_text);
        int64_t least = cluster->operations + 1 - (int64_t)cluster->config.window;
        if (cluster->complete >= least)
            return DCL_OK;
        dcl_status status = dcli_cluster_wait_silently(cluster, least);
        if (status != DCL_OK)
            return status;
    }
}

dcl_status dcli_cluster_issue(dcl_cluster *cluster, dcli_msg_operation *descriptor, dcli_operation *operation,
                              dcli_books *const books[], bool waited, void *memory, const int64_t strides[])
{
    dcl_status status = dcli_cluster_await_room(cluster);
    if (status != DCL_OK)
        return status;
    operation->number = descriptor->number = cluster->operations + 1;
    dcli_lent *lent = NULL;
    if (waited && expect_outcome(cluster, operation->number, memory, &lent) != DCL_OK)
        return DCL_ERR_NOMEM;
    status = dcli_cluster_replicas_note(cluster, operation, books);
    if (status == DCL_OK)
        status = dcli_host_operation(cluster->worker[cluster->host], descriptor, lent, strides);
    if (status != DCL_OK) {
        dcli_cluster_outcome(cluster, operation->number); /* nobody will ask */
        dcli_cluster_replicas_fail(cluster);
        return status;
    }
    cluster->operations++;
    note_books(operation, books);
    return DCL_OK;
}

static dcl_status issue_on(dcl_array *array, const dcli_layout *layout, dcli_msg_operation *descriptor,
                           const dcl_box *box, bool waited, void *memory, const int64_t strides[])
{
    dcli_msg_operand operand = {.storage = array->books->id};
    dcli_operation operation = {.kind = (dcli_op_kind)descriptor->kind,
                                .operand_count = 1,
                                .box = box != NULL ? *box : dcl_box_of(&layout->grid)};
    operation.operand[0] =
        (dcli_operand){.storage = array->books->id, .layout = layout, .reshaped = layout != &array->layout};
    dcli_operation_resolve(&operation);
    descriptor->operand_count = 1;
    descriptor->operand = &operand;
    if (box != NULL) {
        descriptor->box_rank = box->rank;
        descriptor->box = *box;
    }
    dcli_books *books = array->books;
    return dcli_cluster_issue(array->cluster, descriptor, &operation, &books, waited, memory, strides);
}

/* Issue an operation on a view as one on its base. */
static dcl_status issue_on_base(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                void *memory, const int64_t strides[])
{
    const dcli_layout *layout;
    dcl_status status = dcli_array_layout(array, &layout);
    if (status != DCL_OK)
        return status;
    dcl_box seen = box != NULL ? *box : dcl_box_of(&array->view.grid), base;
    int64_t steps[DCL_MAX_RANK] = {0};
    memory = dcli_view_place(array, &seen, memory, strides != NULL ? strides : steps, &base, steps);
    bool all = box == NULL && dcli_transform_covers(&array->view, &layout->grid);
    dcli_transform as_it_is = dcli_transform_of(&layout->grid);
    dcli_msg_view shape = dcli_view_describe(0, &as_it_is, &layout->grid);
    descriptor->view = &shape;
    descriptor->view_count = array->reshaped && !all;
    status = issue_on(array->base, layout, descriptor, all ? NULL : &base, waited, memory, steps);
    descriptor->view = NULL;
    return status;
}

dcl_status dcli_cluster_issue_one(dcl_array *array, dcli_msg_operation *descriptor, const dcl_box *box, bool waited,
                                  void *memory, const int64_t strides[])
{
    dcl_status status = dcli_cluster_await_room(array->cluster); /* storages may be exchanged while waiting, not
                                                                    later */
    if (status != DCL_OK)
        return status;
    return array->base != NULL ? issue_on_base(array, descriptor, box, waited, memory, strides)
                               : issue_on(array, &array->layout, descriptor, box, waited, memory, strides);
}

dcl_status dcli_cluster_end_call(dcl_cluster *cluster, dcl_status status)
{
    if (status != DCL_OK) {
        dcli_cluster_failed_call(cluster, status);
    } else if (cluster->config.sync) {
        status = dcli_cluster_wait(cluster, cluster->operations, false, -1);
        if (status == DCL_OK && cluster->fresh != DCL_OK)
            status = dcli_error_adopt(cluster->fresh, cluster->fresh_text);
    }
    cluster->fresh = DCL_OK;
    return status;
}
