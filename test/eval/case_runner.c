/* eval/case_runner.c - runs evaluations that it is told line by line, through the public interface: case_runner < lines
 *
 * A line is one case, made by generator.py. Its fields stand between tabs:
 *
 *   devices=0,1,2      DCL_DEVICES; a cluster is opened once for each distinct set of settings (of clusters of worker
 *                      processes, the last two stay open)
 *   move=send          DCL_TRANSFER; likewise tile=, chunk=, pool=, block= in bytes, 0 or left out: the default
 *   array=NAME|ACCESS|TYPE|EXTENTS|ORIGINS|MAP|HOW|PATH
 *   value=NAME|TYPE|NUMBER
 *   prelude=TEXT
 *   box=START|COUNT|STRIDE
 *   body=TEXT
 *   again=TIMES|X|Y|N  run the body again and again without waiting; if X is given, before each time X and Y are
 *                      exchanged, and if N is, X and one of N further arrays in turn
 *   rewrite=NAME|HOW|PATH
 *   read=NAME|HOW|PATH
 *   owners=NAME        have them listed, elements in row-major order
 *
 * Numbers per axis are separated by commas. HOW is `none`; `npy`, `npyf`: a .npy file (saved in Fortran order); or raw
 * bytes, last axis fastest `c`, first axis fastest `f`, or as `c` with the first axis from its end `r`; with a `b` behind,
 * the array is written or read in several strided boxes. `same`: no array of its own, PATH is the name of another.
 *
 * A line of JSON answers each case: how it ended, and for every node and in total what was planned. That what was counted
 * is the same is checked here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum { MOST_ARRAYS = 8, MOST_ARGS = 24, MOST_CLUSTERS = 64, MOST_OF_PROCESSES = 2, MOST_NODES = 16 };

struct item {
    char *field[9];
};

struct place {
    dcl_cluster *cluster;
    char settings[128];
};

struct run {
    dcl_cluster *cluster;
    int nodes;
    int array_count, arg_count;
    dcl_array *array[MOST_ARRAYS];
    const char *name[MOST_ARRAYS];
    dcl_arg args[MOST_ARGS];
    const char *body;
    bool boxed;
    dcl_box box;
    dcl_counters planned[MOST_NODES + 1], before[MOST_NODES + 1], after[MOST_NODES + 1];
    const char *step; /* what was tried last */
    dcl_status waited;
    char waited_text[1024], differs[256];
};

static struct place places[MOST_CLUSTERS];
static int place_count;
static bool close_failed;

/* ---- reading a line ----------------------------------------------------------------------------------------------- */

static struct item split(char *text, char separator)
{
    struct item item = {{NULL}};
    for (int n = 0; n < 9 && text != NULL; n++) {
        item.field[n] = text;
        text = strchr(text, separator);
        if (text != NULL)
            *text++ = '\0';
    }
    for (int n = 0; n < 9; n++)
        if (item.field[n] == NULL)
            item.field[n] = "";
    return item;
}

static int numbers(const char *text, int64_t out[DCL_MAX_RANK])
{
    int count = 0;
    for (char *end; count < DCL_MAX_RANK && *text != '\0'; text = *end == ',' ? end + 1 : end)
        out[count++] = strtoll(text, &end, 10);
    return count;
}

static dcl_access access_named(const char *name)
{
    static const struct {
        const char *name;
        dcl_access access;
    } names[] = {{"out", DCL_ACCESS_OUT},       {"in", DCL_ACCESS_IN},           {"inout", DCL_ACCESS_INOUT},
                 {"in_all", DCL_ACCESS_IN_ALL}, {"in_rows", DCL_ACCESS_IN_ROWS}, {"in_columns", DCL_ACCESS_IN_COLUMNS}};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        if (strcmp(names[n].name, name) == 0)
            return names[n].access;
    return (dcl_access)0; /* refused by the library */
}

static dcl_arg value_arg(const struct item *item)
{
    dcl_type type = dcl_type_named(item->field[1]);
    if (type == DCL_FLOAT || type == DCL_DOUBLE)
        return dcl_arg_floating(item->field[0], type, strtod(item->field[2], NULL));
    if (type >= DCL_UINT8 && type <= DCL_UINT64)
        return dcl_arg_unsigned(item->field[0], type, strtoull(item->field[2], NULL, 10));
    return dcl_arg_signed(item->field[0], type, strtoll(item->field[2], NULL, 10));
}

/* ---- clusters ----------------------------------------------------------------------------------------------------- */

struct settings {
    const char *devices, *move;
    size_t tile, chunk, pool, block;
};

static dcl_cluster *open_cluster(const struct settings *settings)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        return NULL;
    config.devices = settings->devices;
    if (settings->move[0] != '\0')
        config.transfer = settings->move;
    config.tile_bytes = settings->tile > 0 ? settings->tile : config.tile_bytes;
    config.chunk_bytes = settings->chunk > 0 ? settings->chunk : config.chunk_bytes;
    config.pool_bytes = settings->pool > 0 ? settings->pool : config.pool_bytes;
    config.block_bytes = settings->block > 0 ? settings->block : config.block_bytes;
    return dcl_open(&config);
}

/* Makes room: one that is closed with an error is told at the end. */
static void close_oldest(void)
{
    close_failed |= dcl_close(places[0].cluster) != DCL_OK;
    memmove(places, places + 1, (size_t)--place_count * sizeof places[0]);
}

static dcl_cluster *cluster_with(const struct settings *settings)
{
    char text[128];
    snprintf(text, sizeof text, "%s %s %zu %zu %zu %zu", settings->devices, settings->move, settings->tile,
             settings->chunk, settings->pool, settings->block);
    for (int n = 0; n < place_count; n++)
        if (strcmp(places[n].settings, text) == 0)
            return places[n].cluster;
    if (place_count == (getenv("DCL_WORKERS") != NULL ? MOST_OF_PROCESSES : MOST_CLUSTERS))
        close_oldest();
    dcl_cluster *cluster = open_cluster(settings);
    if (cluster != NULL) {
        strcpy(places[place_count].settings, text);
        places[place_count++].cluster = cluster;
    }
    return cluster;
}

/* ---- host memory -------------------------------------------------------------------------------------------------- */

/* A whole array in host memory. */
struct memory {
    char *bytes;
    size_t total, element;
    int64_t first; /* element of the first index */
    int64_t stride[DCL_MAX_RANK];
};

static bool take_memory(const dcl_grid *grid, char order, struct memory *memory)
{
    int64_t step = 1;
    *memory = (struct memory){.element = dcl_type_bytes(grid->type)};
    for (int n = 0; n < grid->rank; n++) {
        int d = order == 'f' ? n : grid->rank - 1 - n;
        memory->stride[d] = step;
        step *= grid->extent[d];
    }
    memory->total = (size_t)step * memory->element;
    if (order == 'r' && grid->extent[0] > 0) {
        memory->first = (grid->extent[0] - 1) * memory->stride[0];
        memory->stride[0] = -memory->stride[0];
    }
    memory->bytes = malloc(memory->total + 1);
    return memory->bytes != NULL;
}

static dcl_status move_box(dcl_array *array, const struct memory *memory, const dcl_box *box, bool write)
{
    dcl_grid grid = dcl_grid_of(array);
    int64_t strides[DCL_MAX_RANK], first = memory->first;
    for (int d = 0; d < grid.rank; d++) {
        strides[d] = memory->stride[d] * box->stride[d];
        first += (box->start[d] - grid.origin[d]) * memory->stride[d];
    }
    char *at = memory->bytes + first * (int64_t)memory->element;
    return write ? dcl_write(array, box, at, strides) : dcl_read(array, box, at, strides);
}

/* Even and odd indices of the first axis apart, those of the last axis in thirds: up to six boxes. */
static dcl_status move_boxes(dcl_array *array, const struct memory *memory, bool write)
{
    dcl_grid grid = dcl_grid_of(array);
    int last = grid.rank - 1;
    int64_t thirds = grid.rank > 1 ? 3 : 1;
    dcl_status status = DCL_OK;
    for (int64_t u = 0; u < 2; u++)
        for (int64_t v = 0; v < thirds && status == DCL_OK; v++) {
            dcl_box box = dcl_box_of(&grid);
            box.start[0] += u;
            box.stride[0] = 2;
            box.count[0] = (grid.extent[0] + 1 - u) / 2;
            if (last > 0) {
                int64_t from = grid.extent[last] * v / thirds, to = grid.extent[last] * (v + 1) / thirds;
                box.start[last] += from;
                box.count[last] = to - from;
            }
            bool empty = false;
            for (int d = 0; d < grid.rank; d++)
                empty |= box.count[d] == 0;
            if (!empty)
                status = move_box(array, memory, &box, write);
        }
    return status;
}

static dcl_status move_memory(dcl_array *array, const char *how, const struct memory *memory, bool write)
{
    if (how[1] == 'b')
        return move_boxes(array, memory, write);
    if (how[0] == 'c')
        return write ? dcl_write(array, NULL, memory->bytes, NULL) : dcl_read(array, NULL, memory->bytes, NULL);
    dcl_grid grid = dcl_grid_of(array);
    dcl_box box = dcl_box_of(&grid);
    return move_box(array, memory, &box, write);
}

static dcl_status move_raw(dcl_array *array, const char *how, const char *path, bool write)
{
    dcl_grid grid = dcl_grid_of(array);
    struct memory memory;
    FILE *file = fopen(path, write ? "rb" : "wb");
    if (file == NULL || !take_memory(&grid, how[0], &memory)) {
        fprintf(stderr, "case_runner: %s cannot be used\n", path);
        exit(2);
    }
    bool whole = !write || fread(memory.bytes, 1, memory.total, file) == memory.total;
    dcl_status status = move_memory(array, how, &memory, write);
    if (!write && status == DCL_OK)
        whole = fwrite(memory.bytes, 1, memory.total, file) == memory.total;
    if (write)
        memset(memory.bytes, 0x55, memory.total); /* may change now */
    free(memory.bytes);
    fclose(file);
    return whole ? status : DCL_ERR_FILE;
}

/* ---- a case ------------------------------------------------------------------------------------------------------- */

static dcl_array *array_named(const struct run *run, const char *name)
{
    for (int n = 0; n < run->array_count; n++)
        if (strcmp(run->name[n], name) == 0)
            return run->array[n];
    return NULL;
}

static dcl_status make_array(struct run *run, char *text)
{
    struct item item = split(text, '|');
    int64_t extent[DCL_MAX_RANK], origin[DCL_MAX_RANK] = {0};
    int rank = numbers(item.field[3], extent);
    numbers(item.field[4], origin);
    if (strcmp(item.field[6], "same") == 0) {
        dcl_array *other = array_named(run, item.field[7]);
        run->args[run->arg_count++] = dcl_arg_array(access_named(item.field[1]), item.field[0], other);
        return DCL_OK;
    }
    dcl_map *map =
        item.field[5][0] != '\0' ? dcl_map_parse(run->cluster, item.field[5]) : dcl_map_default(run->cluster);
    dcl_array *array = dcl_agile(dcl_grid_nd(dcl_type_named(item.field[2]), rank, extent, origin), map);
    dcl_release(map);
    if (array == NULL)
        return dcl_status_of(NULL);
    run->name[run->array_count] = item.field[0];
    run->array[run->array_count++] = array;
    run->args[run->arg_count++] = dcl_arg_array(access_named(item.field[1]), item.field[0], array);
    const char *how = item.field[6], *path = item.field[7];
    if (strcmp(how, "none") == 0)
        return DCL_OK;
    return strcmp(how, "npy") == 0 ? dcl_load_npy(array, path) : move_raw(array, how, path, true);
}

static dcl_status read_array(struct run *run, char *text)
{
    struct item item = split(text, '|');
    dcl_array *array = array_named(run, item.field[0]);
    const char *how = item.field[1], *path = item.field[2];
    if (strncmp(how, "npy", 3) == 0)
        return dcl_save_npy_order(array, path, how[3] == 'f');
    return move_raw(array, how, path, false);
}

static dcl_status count(struct run *run, dcl_counters counters[])
{
    dcl_status status = DCL_OK;
    for (int n = 0; n <= run->nodes && status == DCL_OK; n++)
        status = dcl_stats(run->cluster, n < run->nodes ? n : DCL_ALL_NODES, &counters[n]);
    return status;
}

/* The pairs of a user add up to what explain says of the node. */
static void compare_pairs(struct run *run, int node, const dcl_report *report)
{
    const dcl_counters *plan = &run->planned[node];
    int64_t blocks = 0, bytes = 0, messages = 0;
    for (int64_t p = 0; p < report->pair_count; p++)
        if (report->pair[p].user == node) {
            blocks += report->pair[p].blocks;
            bytes += report->pair[p].bytes;
            messages += report->pair[p].messages;
        }
    if (blocks != plan->blocks_moved || bytes != plan->bytes_moved || messages != plan->messages_planned)
        snprintf(run->differs, sizeof run->differs,
                 "node %d: explain says %" PRId64 " blocks, %" PRId64 " bytes, %" PRId64
                 " messages, pairs have %" PRId64 ", %" PRId64 ", %" PRId64,
                 node, plan->blocks_moved, plan->bytes_moved, plan->messages_planned, blocks, bytes, messages);
}

static dcl_status compare_report(struct run *run)
{
    dcl_report *report = dcl_call_report(
        DCL_CALL_BODY_N(run->cluster, run->boxed ? &run->box : NULL, run->body, run->arg_count, run->args),
        DCL_ALL_NODES);
    if (report == NULL)
        return dcl_status_of(NULL);
    for (int n = 0; n < run->nodes; n++)
        compare_pairs(run, n, report);
    dcl_report_release(report);
    return DCL_OK;
}

static dcl_status explain(struct run *run)
{
    dcl_status status = DCL_OK;
    for (int n = 0; n <= run->nodes && status == DCL_OK; n++)
        status = dcl_call_explain(
            DCL_CALL_BODY_N(run->cluster, run->boxed ? &run->box : NULL, run->body, run->arg_count, run->args),
            n < run->nodes ? n : DCL_ALL_NODES, &run->planned[n]);
    return status == DCL_OK ? compare_report(run) : status;
}

static void compare_counter(struct run *run, int node, const char *what, int64_t planned, int64_t counted)
{
    if (planned != counted)
        snprintf(run->differs, sizeof run->differs,
                 "node %d (%d: all): %s: explain says %" PRId64 ", stats say %" PRId64, node, run->nodes, what, planned,
                 counted);
}

static void compare_counters(struct run *run)
{
    for (int n = run->nodes; n >= 0; n--) {
        const dcl_counters *plan = &run->planned[n], *a = &run->after[n], *b = &run->before[n];
        compare_counter(run, n, "approximate", plan->approximate, a->approximate - b->approximate);
        compare_counter(run, n, "blocks_moved", plan->blocks_moved, a->blocks_moved - b->blocks_moved);
        compare_counter(run, n, "bytes_moved", plan->bytes_moved, a->bytes_moved - b->bytes_moved);
        compare_counter(run, n, "messages_planned", plan->messages_planned, a->messages_planned - b->messages_planned);
        compare_counter(run, n, "tasks", plan->tasks, a->tasks - b->tasks);
    }
}

static dcl_status start(struct run *run)
{
    return run->boxed ? dcl_call_run(DCL_CALL_BODY_N(run->cluster, &run->box, run->body, run->arg_count, run->args))
                      : dcl_forall_n(run->cluster, run->body, run->arg_count, run->args);
}

static dcl_status compute(struct run *run)
{
    run->step = "explain";
    dcl_status status = explain(run);
    if (status == DCL_OK)
        status = count(run, run->before);
    if (status != DCL_OK)
        return status;
    run->step = "forall";
    status = start(run);
    if (status != DCL_OK)
        return status;
    run->waited = dcl_wait(run->cluster);
    if (run->waited != DCL_OK)
        snprintf(run->waited_text, sizeof run->waited_text, "%s", dcl_error());
    if (run->waited == DCL_ERR_RANGE)
        dcl_clear_error(run->cluster); /* the elements are compared, as they are */
    run->step = "stats";
    status = count(run, run->after);
    if (status == DCL_OK)
        compare_counters(run);
    return status;
}

/* Operations follow each other without anyone waiting. */
static dcl_status run_again(struct run *run, char *text)
{
    struct item item = split(text, '|');
    dcl_array *x = array_named(run, item.field[1]), *y = array_named(run, item.field[2]), *spare[4];
    long times = strtol(item.field[0], NULL, 10), spares = strtol(item.field[3], NULL, 10);
    dcl_status status = DCL_OK;
    for (long s = 0; s < spares; s++)
        spare[s] = dcl_agile(dcl_grid_of(x), (dcl_map *)dcl_map_of(x));
    for (long n = 0; n < times && status == DCL_OK; n++) {
        if (x != NULL)
            status = dcl_swap(x, y);
        if (spares > 0 && status == DCL_OK)
            status = dcl_swap(x, spare[n % spares]);
        if (status == DCL_OK)
            status = start(run);
    }
    for (long s = 0; s < spares; s++)
        dcl_release(spare[s]);
    return status;
}

static dcl_status rewrite(struct run *run, char *text)
{
    struct item item = split(text, '|');
    return move_raw(array_named(run, item.field[0]), item.field[1], item.field[2], true);
}

static void read_setting(struct settings *settings, const char *key, const char *text)
{
    size_t number = strtoull(text, NULL, 10);
    if (strcmp(key, "devices") == 0)
        settings->devices = text;
    else if (strcmp(key, "move") == 0)
        settings->move = text;
    else if (strcmp(key, "tile") == 0)
        settings->tile = number;
    else if (strcmp(key, "chunk") == 0)
        settings->chunk = number;
    else if (strcmp(key, "pool") == 0)
        settings->pool = number;
    else if (strcmp(key, "block") == 0)
        settings->block = number;
}

static void read_box(struct run *run, char *text)
{
    struct item item = split(text, '|');
    run->boxed = true;
    run->box.rank = numbers(item.field[0], run->box.start);
    numbers(item.field[1], run->box.count);
    numbers(item.field[2], run->box.stride);
}

/* ---- the answer --------------------------------------------------------------------------------------------------- */

static void print_text(const char *key, const char *text)
{
    printf(", \"%s\": \"", key);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < ' ')
            printf("\\u%04x", (unsigned)*text);
        else
            putchar(*text);
    putchar('"');
}

static void print_owners(const struct run *run, const char *name)
{
    dcl_array *array = array_named(run, name);
    if (array == NULL)
        return;
    dcl_grid grid = dcl_grid_of(array);
    int64_t total = dcl_grid_count(&grid), index[DCL_MAX_RANK], offset;
    printf(", \"owners_%s\": [", name);
    for (int64_t e = 0; e < total; e++) {
        int64_t rest = e;
        for (int d = grid.rank - 1; d >= 0; d--) {
            index[d] = grid.origin[d] + rest % grid.extent[d];
            rest /= grid.extent[d];
        }
        int node = -1;
        dcl_map_locate(dcl_map_of(array), &grid, index, &node, &offset);
        printf("%s%d", e > 0 ? ", " : "", node);
    }
    putchar(']');
}

static void print_planned(const struct run *run)
{
    printf(", \"planned\": [");
    for (int n = 0; n <= run->nodes; n++) {
        const dcl_counters *plan = &run->planned[n];
        printf("%s[%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "]", n > 0 ? ", " : "", plan->tasks,
               plan->blocks_moved, plan->bytes_moved, plan->approximate);
    }
    putchar(']');
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Fields in their order; what is read comes behind the body. */
static dcl_status take_field(struct run *run, char *key, char *text)
{
    dcl_status status = DCL_OK;
    run->step = key;
    if (strcmp(key, "array") == 0)
        status = make_array(run, text);
    else if (strcmp(key, "value") == 0) {
        struct item item = split(text, '|');
        run->args[run->arg_count++] = value_arg(&item);
    } else if (strcmp(key, "prelude") == 0)
        run->args[run->arg_count++] = dcl_arg_prelude(text);
    else if (strcmp(key, "box") == 0)
        read_box(run, text);
    else if (strcmp(key, "body") == 0) {
        run->body = text;
        status = compute(run);
    } else if (strcmp(key, "again") == 0)
        status = run_again(run, text);
    else if (strcmp(key, "rewrite") == 0)
        status = rewrite(run, text);
    else if (strcmp(key, "read") == 0)
        status = read_array(run, text);
    else if (strcmp(key, "owners") == 0)
        print_owners(run, text);
    return status;
}

static void answer(char *line)
{
    static struct run run;
    struct settings settings = {.devices = "0", .move = ""};
    char *keys[64], *texts[64];
    int fields = 0;
    for (char *at = line; at != NULL && fields < 64; fields++) {
        keys[fields] = at;
        at = strchr(at, '\t');
        if (at != NULL)
            *at++ = '\0';
        texts[fields] = strchr(keys[fields], '=');
        if (texts[fields] == NULL)
            return;
        *texts[fields]++ = '\0';
        read_setting(&settings, keys[fields], texts[fields]);
    }
    run = (struct run){.step = "open"};
    run.cluster = cluster_with(&settings);
    run.nodes = dcl_node_count(run.cluster);
    dcl_status status = run.cluster != NULL ? DCL_OK : dcl_status_of(NULL);
    printf("{\"nodes\": %d", run.nodes);
    for (int n = 0; n < fields && status == DCL_OK; n++)
        status = take_field(&run, keys[n], texts[n]);
    print_text("status", dcl_status_name(status));
    print_text("error", status != DCL_OK ? dcl_error() : "");
    print_text("step", status != DCL_OK ? run.step : "");
    print_text("waited", dcl_status_name(run.waited));
    print_text("waited_error", run.waited_text);
    print_text("differs", run.differs);
    print_planned(&run);
    for (int n = 0; n < run.array_count; n++)
        dcl_release(run.array[n]);
    if (run.cluster != NULL) {
        dcl_wait(run.cluster);
        dcl_clear_error(run.cluster);
    }
    puts("}");
    fflush(stdout);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        answer(line);
    }
    free(line);
    while (place_count > 0)
        close_oldest();
    return close_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
