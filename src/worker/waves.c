/* worker/waves.c - describe steps to lower/wave.h by the addresses that they access, and write its parts as steps. */
#include "worker/waves.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/sized.h"
#include "kernel/series.h"

enum {
    LIST_LONGS = 2,    /* of a list in a table: the address of its first step, the number of its steps */
    USUAL_LINE = 1024, /* elements from a line to the next one where all steps run along one axis only */
    LEAST_TABLE = 256  /* longs */
};

/** The box of a step, and how lines divide it: a line has `unit` indices of `axis`, and all of the axes after it. */
struct box {
    int64_t *row; /* as one row */
    int axis;     /* the first one with more than one index */
    bool flat;    /* it is the only one, because the box was joined to one run of elements, or is a row or column */
    int64_t unit;
};

/** The steps of a series as operations of a wave. */
struct described {
    dcli_wave_op *op;         /* [count]; 0 lines: a step that is in no wave */
    dcli_wave_access *access; /* of all steps */
    struct box *box;          /* [count] */
    int64_t *longs;           /* memory of the rows */
};

static int64_t cache_bytes(void)
{
    enum { USUAL = 512 << 10 };
#ifdef _SC_LEVEL2_CACHE_SIZE
    long found = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
    long found = 0;
#endif
    return (found > 0 ? found : USUAL) / 4 * 3; /* the rest is for what a band does not use again */
}

/* ---- description ---------------------------------------------------------------------------------------------------- */

/* Find the box of which the rows of a launch are parts. @return false: they are parts of several. */
static bool join(const dcli_body *body, const dcli_launch *launch, int64_t row_out[])
{
    int rank = body->space_rank, length = dcli_row_length(body), start = dcli_row_at(body, DCLI_ROW_START, 0),
        count = dcli_row_at(body, DCLI_ROW_COUNT, 0), stride = dcli_row_at(body, DCLI_ROW_STRIDE, 0);
    int64_t least = 0, end[DCL_MAX_RANK], elements = 0, part[length];
    for (int64_t r = 1; r < launch->row_count; r++) /* the row with the first index of all, if there is a box */
        for (int m = 0; m < rank; m++) {
            int64_t apart = launch->row[r * length + start + m] - launch->row[least * length + start + m];
            least = apart < 0 ? r : least;
            if (apart != 0)
                break;
        }
    memcpy(row_out, launch->row + least * length, (size_t)length * sizeof row_out[0]);
    memset(end, 0, sizeof end);
    for (int64_t r = 0; r < launch->row_count; r++)
        for (int m = 0; m < rank; m++) {
            const int64_t *row = launch->row + r * length;
            int64_t apart = row[start + m] - row_out[start + m], by = row_out[stride + m];
            if (row[stride + m] != by || by < 1 || apart < 0 || apart % by != 0)
                return false;
            end[m] = dcli_max(end[m], apart / by + row[count + m]);
        }
    for (int m = 0; m < rank; m++)
        row_out[count + m] = end[m];
    for (int64_t r = 0; r < launch->row_count; r++) {
        const int64_t *row = launch->row + r * length;
        int64_t low[DCL_MAX_RANK], own = 1;
        for (int m = 0; m < rank; m++) {
            low[m] = (row[start + m] - row_out[start + m]) / row_out[stride + m];
            own *= row[count + m];
        }
        elements += own;
        dcli_row_part(body, row_out, low, row + count, part);
        if (memcmp(part, row, sizeof part) != 0)
            return false;
    }
    int64_t all = 1;
    for (int m = 0; m < rank; m++)
        all *= end[m];
    return all == elements && all > 0; /* rows are disjoint */
}

static int64_t type_bytes(const dcli_body *body, int a)
{
    return (int64_t)dcl_type_bytes(body->params[body->access[a].param].type);
}

/* From an index of the axis to the next one of access a, in elements. */
static int64_t step_of(const dcli_body *body, int a, const struct box *box)
{
    return box->row[dcli_row_at(body, DCLI_ROW_STEP, a) + box->axis];
}

/* Describe access a of a step. @param address  of the memory that it accesses. */
static dcli_wave_access describe_access(const dcli_body *body, int a, const struct box *box, int64_t address)
{
    const int64_t *row = box->row, *step = row + dcli_row_at(body, DCLI_ROW_STEP, a),
                  *count = row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int64_t bytes = type_bytes(body, a), low = 0, high = 1;
    for (int m = box->axis; m < body->space_rank; m++) {
        int64_t last = (m == box->axis ? box->unit : count[m]) - 1;
        low += dcli_min(0, last * step[m]);
        high += dcli_max(0, last * step[m]);
    }
    return (dcli_wave_access){.begin = address + (row[dcli_row_at(body, DCLI_ROW_OFFSET, a)] + low) * bytes,
                              .pitch = box->unit * step_of(body, a, box) * bytes,
                              .length = (high - low) * bytes,
                              .written = body->access[a].written};
}

/* Whether the elements of a line are those that DCLI_ROW_OFFSET and DCLI_ROW_STEP say. */
static bool is_plain(const dcli_body *body)
{
    for (int a = 0; a < body->access_count; a++)
        if (dcli_body_clamps(body, a))
            return false;
    return true;
}

/* Find the axis whose indices are divided into lines. */
static void find_axis(const dcli_body *body, struct box *box)
{
    const int64_t *count = box->row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    int wide = 0;
    box->axis = body->space_rank - 1;
    for (int m = body->space_rank - 1; m >= 0; m--)
        if (count[m] > 1) {
            wide++;
            box->axis = m;
        }
    box->flat = wide <= 1;
}

/* The access that writes the first output. */
static int output_of(const dcli_body *body)
{
    int a = 0;
    while (!body->access[a].written)
        a++;
    return a;
}

/* The distance between lines, in elements: the largest step of a first output along the outermost axis of a box that
 * is not flat; USUAL_LINE if all boxes are. */
static int64_t find_line(int count, const dcli_wave_step steps[], const struct described *all)
{
    int64_t line = 0;
    for (int s = 0; s < count; s++)
        if (all->op[s].lines > 0 && !all->box[s].flat)
            line = dcli_max(line, step_of(steps[s].body, output_of(steps[s].body), &all->box[s]));
    return line > 0 ? line : USUAL_LINE;
}

/* How many indices of a box along its outermost axis make a line, so that its lines are as far apart in memory as
 * those of other boxes of the same arrays: faces, rows and columns have another outermost axis than boxes of the
 * whole grid. */
static int64_t find_unit(const dcli_body *body, const struct box *box, int64_t line)
{
    int64_t step = step_of(body, output_of(body), box);
    return step > 0 ? dcli_max(1, line / step) : 1;
}

/* The position of a box's first line: the number of the line of the array in which its first output begins. */
static int64_t find_place(const dcli_body *body, const struct box *box, int64_t line)
{
    return box->row[dcli_row_at(body, DCLI_ROW_OFFSET, output_of(body))] / line;
}

/* Describe the boxes and accesses of all steps. all->op[].lines of those that are in no wave stays 0. */
static void describe_all(int count, const dcli_wave_step steps[], struct described *all)
{
    dcli_wave_access *access = all->access;
    int64_t *row = all->longs;
    for (int s = 0; s < count; s++) {
        const dcli_body *body = steps[s].body;
        all->box[s].row = row;
        all->op[s] = (dcli_wave_op){.access = access, .access_count = body->access_count};
        if (is_plain(body) && join(body, steps[s].launch, row)) {
            find_axis(body, &all->box[s]);
            all->op[s].lines = 1;
        }
        row += dcli_row_length(body);
        access += body->access_count;
    }
    int64_t line = find_line(count, steps, all);
    access = all->access;
    for (int s = 0; s < count; s++) {
        const dcli_body *body = steps[s].body;
        struct box *box = &all->box[s];
        if (all->op[s].lines > 0) {
            box->unit = find_unit(body, box, line);
            int64_t indices = box->row[dcli_row_at(body, DCLI_ROW_COUNT, 0) + box->axis];
            all->op[s].lines = (indices + box->unit - 1) / box->unit;
            all->op[s].place = find_place(body, box, line);
            for (int a = 0; a < body->access_count; a++)
                access[a] = describe_access(body, a, box, steps[s].step[DCLI_STEP_HEAD + a]);
        }
        access += body->access_count;
    }
}

static dcl_status describe(int count, const dcli_wave_step steps[], struct described *all)
{
    size_t accesses = 0, longs = 0;
    for (int s = 0; s < count; s++) {
        accesses += (size_t)steps[s].body->access_count;
        longs += (size_t)dcli_row_length(steps[s].body);
    }
    *all = (struct described){.op = dcli_calloc((size_t)count, sizeof *all->op),
                              .access = dcli_calloc(accesses, sizeof *all->access),
                              .box = dcli_calloc((size_t)count, sizeof *all->box),
                              .longs = dcli_calloc(longs, sizeof *all->longs)};
    if (all->op == NULL || all->access == NULL || all->box == NULL || all->longs == NULL)
        return DCL_ERR_NOMEM;
    describe_all(count, steps, all);
    return DCL_OK;
}

static void forget(struct described *all)
{
    dcli_free(all->op);
    dcli_free(all->access);
    dcli_free(all->box);
    dcli_free(all->longs);
}

/* ---- tables --------------------------------------------------------------------------------------------------------- */

/* Take a spare table with room for `longs` numbers, or make one. Sizes are powers of two, so that there are few spare
 * ones. */
static dcli_wave_table *take_table(dcli_waves *waves, int64_t longs)
{
    int64_t capacity = LEAST_TABLE;
    while (capacity < longs)
        capacity *= 2;
    dcli_wave_table **at = &waves->spare;
    while (*at != NULL && (*at)->capacity < longs)
        at = &(*at)->next;
    dcli_wave_table *table = *at;
    if (table != NULL) {
        *at = table->next;
    } else {
        table = dcli_malloc(sizeof *table + (size_t)capacity * sizeof table->longs[0]);
        if (table == NULL)
            return NULL;
        table->capacity = capacity;
    }
    table->next = NULL;
    return table;
}

/* Copy a step. @return the longs after it. */
static int64_t *put_step(const dcli_wave_step *step, const int64_t *rows, int64_t row_count, int64_t *at)
{
    int64_t length = step->step[DCLI_STEP_LENGTH];
    memcpy(at, step->step, (size_t)length * sizeof *at);
    at[DCLI_STEP_TABLE] = (int64_t)(intptr_t)rows;
    at[DCLI_STEP_ROWS] = row_count;
    return at + length;
}

/* Write steps one after the other, as one list. @return the table; NULL: no memory. */
static dcli_wave_table *write_in_order(dcli_waves *waves, int count, const dcli_wave_step steps[])
{
    int64_t longs = LIST_LONGS;
    for (int s = 0; s < count; s++)
        longs += steps[s].step[DCLI_STEP_LENGTH];
    dcli_wave_table *table = take_table(waves, longs);
    if (table == NULL)
        return NULL;
    int64_t *at = table->longs + LIST_LONGS;
    table->longs[0] = (int64_t)(intptr_t)at;
    table->longs[1] = count;
    for (int s = 0; s < count; s++)
        at = put_step(&steps[s], steps[s].launch->row, steps[s].launch->row_count, at);
    return table;
}

/* Write a step alone: its rows, divided among lists. @return the table; NULL: no memory. */
static dcli_wave_table *write_alone(dcli_waves *waves, const dcli_wave_step *step, int lists)
{
    int64_t rows = step->launch->row_count, length = dcli_row_length(step->body);
    dcli_wave_table *table = take_table(waves, lists * (LIST_LONGS + step->step[DCLI_STEP_LENGTH]));
    if (table == NULL)
        return NULL;
    int64_t *at = table->longs + LIST_LONGS * lists;
    for (int l = 0; l < lists; l++) {
        int64_t first = rows * l / lists, end = rows * (l + 1) / lists;
        table->longs[LIST_LONGS * l] = (int64_t)(intptr_t)at;
        table->longs[LIST_LONGS * l + 1] = 1;
        at = put_step(step, step->launch->row + first * length, end - first, at);
    }
    return table;
}

/* Write the row of a part. */
static void write_part(const dcli_body *body, const struct box *box, const dcli_wave_part *part, int64_t row_out[])
{
    int64_t low[DCL_MAX_RANK] = {0}, count[DCL_MAX_RANK];
    const int64_t *all = box->row + dcli_row_at(body, DCLI_ROW_COUNT, 0);
    memcpy(count, all, (size_t)body->space_rank * sizeof all[0]);
    low[box->axis] = part->first * box->unit;
    count[box->axis] = dcli_min(part->count * box->unit, all[box->axis] - low[box->axis]);
    dcli_row_part(body, box->row, low, count, row_out);
}

/* Write the parts of a wave, each as a step with a row of its own. */
static dcli_wave_table *write_wave(dcli_waves *waves, const dcli_wave_step steps[], const struct box boxes[])
{
    const dcli_wave *wave = &waves->wave;
    int64_t lists = wave->list_count - 1, longs = LIST_LONGS * lists;
    for (int64_t p = 0; p < wave->part_count; p++) {
        const dcli_wave_step *step = &steps[wave->part[p].op];
        longs += step->step[DCLI_STEP_LENGTH] + dcli_row_length(step->body);
    }
    dcli_wave_table *table = take_table(waves, longs);
    if (table == NULL)
        return NULL;
    int64_t *at = table->longs + LIST_LONGS * lists;
    for (int64_t l = 0; l < lists; l++) {
        int64_t parts = wave->list[l + 1] - wave->list[l], *row = at;
        for (int64_t p = wave->list[l]; p < wave->list[l + 1];
             p++) /* the steps of a list lie together, then their rows */
            row += steps[wave->part[p].op].step[DCLI_STEP_LENGTH];
        table->longs[LIST_LONGS * l] = (int64_t)(intptr_t)at;
        table->longs[LIST_LONGS * l + 1] = parts;
        for (int64_t p = wave->list[l]; p < wave->list[l + 1]; p++) {
            const dcli_wave_part *part = &wave->part[p];
            const dcli_body *body = steps[part->op].body;
            write_part(body, &boxes[part->op], part, row);
            at = put_step(&steps[part->op], row, 1, at);
            row += dcli_row_length(body);
        }
        at = row;
    }
    return table;
}

/* ---- launching ------------------------------------------------------------------------------------------------------ */

/* Launch a table of lists in one or two phases. */
static dcl_status run_table(dcli_device *device, dcli_claims *claims, dcli_program *program,
                            const dcli_wave_table *table, const int lists[2], uint64_t now_at, int *launches)
{
    const int64_t *list = table->longs;
    dcl_status status = DCL_OK;
    for (int phase = 0; phase < 2 && status == DCL_OK; phase++) {
        if (lists[phase] == 0)
            continue;
        status = dcli_lists_launch(device, claims, program, list, lists[phase], now_at);
        list += LIST_LONGS * lists[phase];
        ++*launches;
    }
    return status;
}

/* Write the first steps: as many as one wave has, or a large step alone, or short ones that follow each other.
 *  @param lists_out  how many lists each phase has. @return the table; NULL: no memory. */
static dcli_wave_table *write_first(dcli_waves *waves, const dcli_device *device, int count,
                                    const dcli_wave_step steps[], const struct described *all, int first,
                                    int *taken_out, int lists_out[2])
{
    int units = dcli_device_about(device)->compute_units, together = 0;
    while (first + together < count && all->op[first + together].lines > 0)
        together++;
    int taken = together > 1 ? dcli_wave_arrange(together, all->op + first, units, cache_bytes(), &waves->wave) : 1;
    lists_out[0] = 1;
    lists_out[1] = 0;
    *taken_out = taken;
    if (taken < 0)
        return NULL;
    if (taken > 1) {
        memcpy(lists_out, waves->wave.lists, sizeof waves->wave.lists);
        return write_wave(waves, steps + first, all->box + first);
    }
    while (steps[first].is_short && first + *taken_out < count && steps[first + *taken_out].is_short)
        ++*taken_out;
    if (*taken_out > 1)
        return write_in_order(waves, *taken_out, steps + first);
    lists_out[0] = (int)dcli_min(steps[first].launch->row_count, (int64_t)dcli_device_shares(device));
    return write_alone(waves, &steps[first], lists_out[0]);
}

dcl_status dcli_lists_launch(dcli_device *device, dcli_claims *claims, dcli_program *program, const int64_t *lists,
                             int count, uint64_t now_at)
{
    uint64_t lists_at = (uint64_t)(uintptr_t)lists;
    dcli_claims_turn turn = dcli_claims_begin(claims, NULL, count);
    const dcli_argument arguments[DCLI_SERIES_ARGUMENTS] = {{.value = &lists_at, .bytes = sizeof lists_at},
                                                            {.value = &now_at, .bytes = sizeof now_at},
                                                            {.value = &turn.at, .bytes = sizeof turn.at},
                                                            {.value = &turn.number, .bytes = sizeof turn.number}};
    const size_t items = (size_t)count, one = 1;
    return dcli_device_launch(device, program, 0, DCLI_SERIES_ARGUMENTS, arguments, 1, &items, &one, NULL);
}

dcl_status dcli_waves_launch(dcli_waves *waves, dcli_device *device, dcli_claims *claims, dcli_program *program,
                             int count, const dcli_wave_step steps[], uint64_t now_at, dcli_wave_table **tables_out,
                             int *launches_out)
{
    struct described all;
    *tables_out = NULL;
    *launches_out = 0;
    for (int s = 1; s < count; s++) /* other lists may run other bodies than the one that tells */
        now_at = steps[s].step[DCLI_STEP_BODY] == steps[0].step[DCLI_STEP_BODY] ? now_at : 0;
    dcl_status status = describe(count, steps, &all);
    for (int first = 0, taken; first < count && status == DCL_OK; first += taken) {
        int lists[2];
        dcli_wave_table *table = write_first(waves, device, count, steps, &all, first, &taken, lists);
        if (table == NULL) {
            status = DCL_ERR_NOMEM;
            break;
        }
        table->next = *tables_out;
        *tables_out = table;
        status = run_table(device, claims, program, table, lists, now_at, launches_out);
    }
    forget(&all);
    return status;
}

void dcli_waves_give(dcli_waves *waves, dcli_wave_table *tables)
{
    while (tables != NULL) {
        dcli_wave_table *next = tables->next;
        tables->next = waves->spare;
        waves->spare = tables;
        tables = next;
    }
}

static void free_tables(dcli_wave_table *tables)
{
    while (tables != NULL) {
        dcli_wave_table *next = tables->next;
        dcli_free(tables);
        tables = next;
    }
}

void dcli_waves_free(dcli_waves *waves)
{
    free_tables(waves->spare);
    dcli_wave_free(&waves->wave);
    *waves = (dcli_waves){0};
}
