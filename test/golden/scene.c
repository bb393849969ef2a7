/* golden/scene.c - runs a case; see scene.h. */
#include "golden/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 24 };

struct run {
    const golden_case *scene;
    dcl_cluster *cluster;
    uint64_t random;
    dcl_array *array[GOLDEN_ARRAYS], *base[GOLDEN_ARRAYS]; /* of a plain array both are the same */
    dcl_array *other;                                      /* COPY: of another map; TWICE: exchanged with the output */
    const dcl_box *box;                                    /* of the first output's grid; NULL: all */
    dcl_box box_given;                                     /* for DCL_IN_BOX */
    int arg_count;
    dcl_arg arg[MOST_ARGS];
    golden_result *result;
};

/* One operation: how it is explained and how it is called. */
struct step {
    dcl_status (*explain)(struct run *run, const struct step *step, int node, dcl_counters *out);
    dcl_status (*start)(struct run *run, const struct step *step);
    dcl_array *array, *to;
    dcl_map *map;
    unsigned flags;
    const dcl_box *box;
    int node;
};

static void note(struct run *run, dcl_status status)
{
    if (run->result->status == DCL_OK && status != DCL_OK) {
        run->result->status = status;
        snprintf(run->result->sentence, sizeof run->result->sentence, "%s", dcl_error());
    }
    unsigned char byte = (unsigned char)status;
    run->result->bits = golden_hash(run->result->bits, &byte, 1);
}

/* ---- elements ----------------------------------------------------------------------------------------------------- */

static void set_element(void *memory, int64_t n, dcl_type type, int64_t value)
{
    switch (type) {
    case DCL_INT8:
    case DCL_UINT8:
        ((uint8_t *)memory)[n] = (uint8_t)value;
        break;
    case DCL_INT16:
    case DCL_UINT16:
        ((uint16_t *)memory)[n] = (uint16_t)value;
        break;
    case DCL_INT32:
    case DCL_UINT32:
        ((uint32_t *)memory)[n] = (uint32_t)value;
        break;
    case DCL_FLOAT:
        ((float *)memory)[n] = (float)value / 8;
        break;
    case DCL_DOUBLE:
        ((double *)memory)[n] = (double)value / 8;
        break;
    default:
        ((uint64_t *)memory)[n] = (uint64_t)value;
    }
}

/* Values that differ from case to case; an array called X has indices of A's first axis. */
static void *make_values(struct run *run, int n, int64_t count, dcl_type type)
{
    char *memory = calloc((size_t)count + 1, dcl_type_bytes(type));
    bool indices = run->scene->array[n].operand.name[0] == 'X', real = type == DCL_FLOAT || type == DCL_DOUBLE;
    int64_t rows = indices ? run->scene->array[1].grid.extent[0] : 0;
    for (int64_t e = 0; e < count && memory != NULL; e++)
        set_element(memory, e, type,
                    indices ? golden_between(&run->random, rows / 4, rows - 1 - rows / 4)
                    : real  ? golden_between(&run->random, -1000, 1000)
                            : golden_between(&run->random, type >= DCL_UINT8 && type <= DCL_UINT64 ? 0 : -9, 9));
    return memory;
}

/* Elements that are stored nowhere cannot be written, but passed over by a copy. */
static dcl_status write_by_copy(dcl_array *array, const void *values)
{
    dcl_map *map = dcl_map_block(dcl_cluster_of(array));
    dcl_array *whole = dcl_agile(dcl_grid_of(array), map);
    dcl_clear_error(dcl_cluster_of(array));
    dcl_status status = dcl_write(whole, NULL, values, NULL);
    if (status == DCL_OK)
        status = dcl_copy(whole, array);
    dcl_release(whole);
    dcl_release(map);
    return status;
}

static dcl_status write_all(struct run *run, int n)
{
    dcl_grid grid = dcl_grid_of(run->base[n]);
    void *values = make_values(run, n, dcl_grid_count(&grid), grid.type);
    dcl_status status = dcl_write(run->base[n], NULL, values, NULL);
    if (status == DCL_ERR_RANGE)
        status = write_by_copy(run->base[n], values);
    free(values);
    return status;
}

static dcl_box draw_box(uint64_t *random, const dcl_grid *grid)
{
    dcl_box box = dcl_box_of(grid);
    for (int d = 0; d < grid->rank && grid->extent[d] > 0; d++) {
        int64_t first = golden_between(random, 0, grid->extent[d] - 1);
        int64_t last = golden_between(random, first, grid->extent[d] - 1);
        box.stride[d] = golden_between(random, 1, 3);
        box.start[d] = grid->origin[d] + first;
        box.count[d] = (last - first) / box.stride[d] + 1;
    }
    return box;
}

/* Elements that are shown several times are written where they are. */
static dcl_status write_box(struct run *run, int n)
{
    const golden_array *array = &run->scene->array[n];
    bool behind = array->view == GOLDEN_BROADCAST;
    const dcl_grid *grid = behind ? &array->base : &array->grid;
    dcl_box box = draw_box(&run->random, grid);
    int64_t count = 1;
    for (int d = 0; d < box.rank; d++)
        count *= box.count[d];
    void *values = make_values(run, n, count, grid->type);
    dcl_status status = dcl_write(behind ? run->base[n] : run->array[n], &box, values, NULL);
    free(values);
    return status;
}

static void hash_array(struct run *run, dcl_array *array)
{
    dcl_grid grid = dcl_grid_of(array);
    size_t bytes = (size_t)dcl_grid_count(&grid) * dcl_type_bytes(grid.type);
    char *values = calloc(bytes + 1, 1);
    dcl_status status = dcl_read(array, NULL, values, NULL);
    note(run, status);
    if (status == DCL_OK)
        run->result->bits = golden_hash(run->result->bits, values, bytes);
    free(values);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

static dcl_map *map_of(struct run *run, const char *text)
{
    return text[0] != '\0' ? dcl_map_parse(run->cluster, text) : dcl_map_default(run->cluster);
}

/* A view whose indices begin at 0, under those of the grid. */
static dcl_array *shifted(dcl_array *array, const dcl_grid *grid)
{
    dcl_array *result = dcl_shift(array, grid->origin);
    dcl_release(array);
    return result;
}

static dcl_array *sliced(dcl_array *base, const dcl_grid *grid, int64_t step)
{
    int64_t start[DCL_MAX_RANK], stride[DCL_MAX_RANK];
    dcl_grid of = dcl_grid_of(base);
    for (int d = 0; d < grid->rank; d++) {
        start[d] = of.origin[d] + (step < 0 ? of.extent[d] - 1 : 1);
        stride[d] = step;
    }
    return shifted(dcl_slice(base, start, grid->extent, stride), grid);
}

static dcl_array *make_view(dcl_array *base, golden_view view, const dcl_grid *grid)
{
    int last = grid->rank - 1;
    int64_t by[DCL_MAX_RANK] = {0};
    switch (view) {
    case GOLDEN_TRANSPOSED:
        return dcl_transpose(base);
    case GOLDEN_REVERSED:
        return sliced(base, grid, -1);
    case GOLDEN_STRIDED:
        return sliced(base, grid, 2);
    case GOLDEN_TAKEN:
        return dcl_take(base, 0, 1);
    case GOLDEN_BROADCAST: {
        by[last] = grid->origin[last];
        dcl_array *all = dcl_broadcast(base, last, grid->extent[last]), *result = dcl_shift(all, by);
        dcl_release(all);
        return result;
    }
    default: {
        dcl_array *other = dcl_reshape(base, grid->rank, grid->extent);
        if (other == NULL) {
            dcl_clear_error(dcl_cluster_of(base));
            other = dcl_reshape_copy(base, grid->rank, grid->extent, NULL);
        }
        return shifted(other, grid);
    }
    }
}

static dcl_status make_array(struct run *run, int n)
{
    const golden_array *array = &run->scene->array[n];
    dcl_map *map = map_of(run, array->map);
    run->base[n] = dcl_agile(array->base, map);
    dcl_release(map);
    if (run->base[n] == NULL)
        return dcl_status_of(NULL);
    dcl_status status = write_all(run, n);
    if (status != DCL_OK)
        return status;
    run->array[n] = array->view == GOLDEN_PLAIN ? run->base[n] : make_view(run->base[n], array->view, &array->grid);
    return run->array[n] != NULL ? DCL_OK : dcl_status_of(NULL);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

/* Row i of the output needs row N0 - 1 - i: the body that says so has origins of 0. */
static int mirrored_rows(void *user, const dcl_box *output, int most, dcl_box inputs_out[])
{
    const dcl_grid *grid = user;
    (void)most;
    inputs_out[0] = *output;
    inputs_out[0].start[0] = grid->extent[0] - 1 - (output->start[0] + (output->count[0] - 1) * output->stride[0]);
    return 1;
}

static dcl_arg array_arg(struct run *run, int n)
{
    const golden_operand *operand = &run->scene->array[n].operand;
    dcl_array *array = run->array[n];
    const int64_t rows = run->scene->array[n].grid.extent[0];
    switch (operand->access) {
    case DCL_ACCESS_IN_HALO:
    case DCL_ACCESS_IN_CROSS:
        return dcl_arg_halo(operand->access, operand->name, array, 1, &operand->width);
    case DCL_ACCESS_IN_BOX:
        run->box_given = dcl_box_nd(2, (int64_t[]){1, 1}, (int64_t[]){4, 3});
        return dcl_arg_box(operand->name, array, &run->box_given);
    case DCL_ACCESS_IN_AT:
        return dcl_arg_at(operand->name, array, rows / 4, rows - 1 - rows / 4);
    case DCL_ACCESS_IN_FUNCTION:
        return dcl_arg_function(operand->name, array, mirrored_rows, (void *)&run->scene->array[n].grid);
    case DCL_ACCESS_MOVE:
        return dcl_arg_move("C", operand->name, array);
    default:
        return dcl_arg_array(operand->access, operand->name, array);
    }
}

static void pass(struct run *run, dcl_arg arg) { run->arg[run->arg_count++] = arg; }

static void make_arguments(struct run *run)
{
    static const char *const extents[] = {"N0", "N1", "N2", "N3"};
    const golden_body *body = run->scene->body;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"s", 1 + run->scene->number % 4}, {"t", run->scene->number / 4 % 4}, {"K", 1 + run->scene->number % 9}};
    for (int n = 0; n < run->scene->array_count; n++)
        pass(run, array_arg(run, n));
    for (int d = 0; d < body->rank; d++)
        if (golden_names(body->text, extents[d]))
            pass(run, dcl_arg_signed(extents[d], DCL_INT64, run->scene->array[0].grid.extent[d]));
    for (int n = 0; n < 3; n++)
        if (golden_names(body->text, numbers[n].name))
            pass(run, dcl_arg_signed(numbers[n].name, DCL_INT64, numbers[n].value));
    if (golden_names(body->text, "a"))
        pass(run, dcl_arg_floating("a", DCL_DOUBLE, 0.75));
    if (body->prelude != NULL)
        pass(run, dcl_arg_prelude(body->prelude));
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static dcl_call call_of(const struct run *run, const struct step *step)
{
    const golden_body *body = run->scene->body;
    return (body->tiles ? dcl_call_tiles : dcl_call_body)(run->cluster, step->box, body->text, run->arg_count,
                                                          run->arg);
}

static dcl_status explain_body(struct run *run, const struct step *step, int node, dcl_counters *out)
{
    const dcl_call call = call_of(run, step);
    return dcl_call_explain(&call, node, out);
}

static dcl_status start_body(struct run *run, const struct step *step)
{
    const dcl_call call = call_of(run, step);
    return dcl_call_run(&call);
}

static dcl_status explain_copy(struct run *run, const struct step *step, int node, dcl_counters *out)
{
    (void)run;
    return dcl_call_explain(DCL_CALL_COPY(step->array, step->to), node, out);
}

static dcl_status start_copy(struct run *run, const struct step *step)
{
    (void)run;
    return dcl_copy(step->array, step->to);
}

static dcl_status explain_remap(struct run *run, const struct step *step, int node, dcl_counters *out)
{
    (void)run;
    return dcl_call_explain(DCL_CALL_REMAP(step->array, step->map, step->flags), node, out);
}

static dcl_status start_remap(struct run *run, const struct step *step)
{
    (void)run;
    return dcl_remap_with(step->array, step->map, step->flags);
}

static dcl_status explain_move(struct run *run, const struct step *step, int node, dcl_counters *out)
{
    (void)run;
    *out = (dcl_counters){.tasks = 0};
    return node == step->node || node == DCL_ALL_NODES
               ? dcl_call_explain(DCL_CALL_MOVE(step->array, step->box, step->node), DCL_ALL_NODES, out)
               : DCL_OK;
}

static dcl_status start_move(struct run *run, const struct step *step)
{
    (void)run;
    return dcl_move(step->array, step->box, step->node);
}

/* ---- counting ----------------------------------------------------------------------------------------------------- */

/* Row `nodes` is that of all of them. */
static int row_node(const struct run *run, int row) { return row < run->scene->settings->nodes ? row : DCL_ALL_NODES; }

static void count(struct run *run, dcl_counters rows[])
{
    for (int n = 0; n <= run->scene->settings->nodes; n++)
        if (dcl_stats(run->cluster, row_node(run, n), &rows[n]) != DCL_OK)
            note(run, dcl_status_of(NULL));
}

static dcl_counters difference(const dcl_counters *a, const dcl_counters *b)
{
    return (dcl_counters){.tasks = a->tasks - b->tasks,
                          .blocks_moved = a->blocks_moved - b->blocks_moved,
                          .bytes_moved = a->bytes_moved - b->bytes_moved,
                          .messages_planned = a->messages_planned - b->messages_planned,
                          .approximate = a->approximate - b->approximate};
}

static void add(dcl_counters *sum, const dcl_counters *more)
{
    sum->tasks += more->tasks;
    sum->blocks_moved += more->blocks_moved;
    sum->bytes_moved += more->bytes_moved;
    sum->messages_planned += more->messages_planned;
    sum->approximate += more->approximate;
}

static void compare(struct run *run, int node, const dcl_counters *planned, const dcl_counters *found)
{
    if (planned->tasks != found->tasks || planned->blocks_moved != found->blocks_moved ||
        planned->bytes_moved != found->bytes_moved || planned->messages_planned != found->messages_planned ||
        planned->approximate != found->approximate)
        snprintf(run->result->wrong, sizeof run->result->wrong,
                 "node %d (%d: all): tasks, blocks, bytes, messages, approximate: explain says %" PRId64 " %" PRId64
                 " %" PRId64 " %" PRId64 " %" PRId64 ", stats say %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                 " %" PRId64,
                 node, DCL_ALL_NODES, planned->tasks, planned->blocks_moved, planned->bytes_moved,
                 planned->messages_planned, planned->approximate, found->tasks, found->blocks_moved, found->bytes_moved,
                 found->messages_planned, found->approximate);
}

static void add_counted(struct run *run, const dcl_counters before[], const dcl_counters after[],
                        const dcl_counters planned[])
{
    int nodes = run->scene->settings->nodes;
    for (int n = 0; n <= nodes; n++) {
        dcl_counters found = difference(&after[n], &before[n]);
        add(n < nodes ? &run->result->node[n] : &run->result->sum, &found);
        if (planned != NULL)
            compare(run, row_node(run, n), &planned[n], &found);
    }
}

static void wait(struct run *run)
{
    dcl_status status = dcl_wait(run->cluster);
    note(run, status);
    if (status == DCL_ERR_RANGE) /* elements outside were read as 0 */
        dcl_clear_error(run->cluster);
}

/* Explain an operation, run it and compare. */
static void do_step(struct run *run, struct step step)
{
    dcl_counters planned[GOLDEN_NODES + 1], before[GOLDEN_NODES + 1], after[GOLDEN_NODES + 1];
    dcl_status status = DCL_OK;
    for (int n = 0; n <= run->scene->settings->nodes && status == DCL_OK; n++)
        status = step.explain(run, &step, row_node(run, n), &planned[n]);
    note(run, status);
    count(run, before);
    dcl_status started = step.start(run, &step);
    note(run, started);
    if (started != DCL_OK)
        dcl_clear_error(run->cluster);
    wait(run);
    count(run, after);
    add_counted(run, before, after, status == DCL_OK && started == DCL_OK ? planned : NULL);
}

static void do_body(struct run *run, const dcl_box *box)
{
    do_step(run, (struct step){.explain = explain_body, .start = start_body, .box = box});
}

/* ---- scripts ------------------------------------------------------------------------------------------------------ */

/* An input to work on: the last one. */
static int input_of(const golden_case *scene) { return scene->array_count - 1; }

static dcl_map *another_map(struct run *run, const dcl_grid *grid)
{
    char text[GOLDEN_TEXT];
    golden_draw_map(&run->random, grid, run->scene->settings->nodes, dcl_grid_count(grid) > 4000, text);
    return map_of(run, text);
}

static void run_twice(struct run *run)
{
    dcl_counters before[GOLDEN_NODES + 1], after[GOLDEN_NODES + 1];
    const struct step body = {.box = NULL};
    dcl_array *output = run->base[0];
    run->other = dcl_agile(dcl_grid_of(output), (dcl_map *)dcl_map_of(output));
    count(run, before);
    dcl_status status[] = {start_body(run, &body), write_box(run, input_of(run->scene)), start_body(run, &body),
                           dcl_swap(output, run->other), start_body(run, &body)};
    for (int n = 0; n < 5; n++)
        note(run, status[n]);
    wait(run);
    dcl_clear_error(run->cluster);
    count(run, after);
    add_counted(run, before, after, NULL);
}

static void run_keep(struct run *run)
{
    int input = input_of(run->scene);
    note(run, dcl_keep(run->array[input], true));
    do_body(run, NULL);
    do_body(run, NULL);
    dcl_status status = write_box(run, input);
    note(run, status);
    if (status != DCL_OK)
        dcl_clear_error(run->cluster);
    do_body(run, NULL);
}

static void run_move(struct run *run)
{
    int input = input_of(run->scene), node = (int)golden_between(&run->random, 0, run->scene->settings->nodes - 1);
    dcl_box box = draw_box(&run->random, &run->scene->array[input].grid);
    do_step(run, (struct step){.explain = explain_move,
                               .start = start_move,
                               .array = run->array[input],
                               .box = golden_chance(&run->random, 70) ? &box : NULL,
                               .node = node});
    do_body(run, NULL);
    note(run, dcl_keep(run->array[input], false));
    do_body(run, NULL);
}

static void run_remap(struct run *run)
{
    int which[] = {input_of(run->scene), 0};
    for (int n = 0; n < 2; n++) {
        dcl_array *array = run->base[which[n]];
        dcl_grid grid = dcl_grid_of(array);
        dcl_map *map = another_map(run, &grid);
        do_step(run, (struct step){.explain = explain_remap,
                                   .start = start_remap,
                                   .array = array,
                                   .map = map,
                                   .flags = golden_chance(&run->random, 30) ? DCL_REMAP_RELABEL : 0});
        dcl_release(map);
        do_body(run, NULL);
    }
}

static void run_copy(struct run *run)
{
    dcl_array *array = run->array[input_of(run->scene)];
    dcl_grid grid = dcl_grid_of(array);
    dcl_map *map = another_map(run, &grid);
    run->other = dcl_agile(grid, map);
    dcl_release(map);
    do_step(run, (struct step){.explain = explain_copy, .start = start_copy, .array = array, .to = run->other});
    note(run, write_box(run, input_of(run->scene)));
    dcl_clear_error(run->cluster);
    do_step(run, (struct step){.explain = explain_copy, .start = start_copy, .array = run->other, .to = array});
    do_body(run, NULL);
}

static void run_script(struct run *run)
{
    dcl_box box = draw_box(&run->random, &run->scene->array[0].grid);
    switch (run->scene->script) {
    case GOLDEN_ONCE:
        do_body(run, NULL);
        break;
    case GOLDEN_BOX:
        do_body(run, &box);
        break;
    case GOLDEN_TWICE:
        run_twice(run);
        break;
    case GOLDEN_KEEP:
        run_keep(run);
        break;
    case GOLDEN_MOVE:
        run_move(run);
        break;
    case GOLDEN_REMAP:
        run_remap(run);
        break;
    case GOLDEN_COPY:
        run_copy(run);
        break;
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void hash_counters(struct run *run)
{
    uint64_t hash = GOLDEN_HASH;
    bool sent = strcmp(run->scene->settings->move, "send") == 0;
    for (int n = 0; n < run->scene->settings->nodes; n++) {
        const dcl_counters *row = &run->result->node[n];
        int64_t numbers[] = {row->tasks, row->blocks_moved, row->bytes_moved, row->approximate,
                             sent ? row->messages_planned : 0};
        hash = golden_hash(hash, numbers, sizeof numbers);
    }
    run->result->per_node = (uint32_t)(hash ^ hash >> 32);
}

void golden_case_run(const golden_case *scene, dcl_cluster *cluster, golden_result *out)
{
    struct run run = {.scene = scene, .cluster = cluster, .random = scene->random, .result = out};
    *out = (golden_result){.bits = GOLDEN_HASH};
    dcl_status status = DCL_OK;
    for (int n = 0; n < scene->array_count && status == DCL_OK; n++)
        status = make_array(&run, n);
    note(&run, status);
    if (status == DCL_OK) {
        make_arguments(&run);
        run_script(&run);
        for (int n = 0; n < scene->array_count; n++) {
            hash_array(&run, run.array[n]);
            if (run.base[n] != run.array[n])
                hash_array(&run, run.base[n]);
        }
        if (run.other != NULL)
            hash_array(&run, run.other);
    }
    hash_counters(&run);
    dcl_release(run.other);
    for (int n = 0; n < scene->array_count; n++) {
        if (run.array[n] != run.base[n])
            dcl_release(run.array[n]);
        dcl_release(run.base[n]);
    }
    dcl_wait(cluster);
    dcl_clear_error(cluster);
}
