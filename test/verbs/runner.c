/* verbs/runner.c - calls of verbs, compared with plain loops: runner < lines
 *
 * A line is one case, made by verbs_test.py: fields NAME=VALUE between tabs.
 *
 *   workers=-        DCL_WORKERS; -: threads of this program
 *   devices=0,1      DCL_DEVICES; likewise move=, tile= (bytes, 0: the default), steal=
 *   fault=partials   DCL_FAULT: reductions along axes are computed where an input is stored, whatever moves less; -: none
 *   verb=            forall, value, along, scan, keyed, element
 *   op=, second=     an operator before `=`; one within the expression, `none`: there is one input
 *   flags=           of letters: i (out is read, too), x (exclusive), f (DCL_FAST), b (in a box), c (contraction),
 *                    o (some keys are outside), t (the index, too), w (a loop over a window of b along its first axis),
 *                    m (value: another result counts the indices), e (value: a is copied into an output beside the results)
 *   along=1          scan: number of the index
 *   space=0:5,-3:8   first value and extent of each index
 *   out=TYPE|AXES|SHIFTS|MAP    AXES: the number of the index along each axis, SHIFTS: what is added to it, between commas;
 *                               MAP ending in ;rest=N: what reads as N has no owner
 *   a=, b=           likewise; b may be followed by |BOUNDS, a letter per axis: - none, c clamp, n min, x max, w wrapped by %, r reflect, s symmetric,
 *                   z constant;
 *                    a - for b: there is none
 *   keys=            keyed: likewise, integers; the last index of space= is then the key's range
 *   element=5        element: the constant; the last index of space= is then the output's
 *   over=            a range (DCL_OVER) as in test_range: low, high (0 or 1), x, y, slope, least, most, below, above; -: none
 *   seed=, spread=   of the values
 *
 * `good`, or `wrong` and what was found, between tabs, answer each line, and last the text that was run.
 *
 * Everything but DCL_FAST has to have the same bits as the plain loops. What was explained has to be what is counted. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/oracle.h"

enum { MOST_CLUSTERS = 8, MOST_NODES = 8 };

static char wrong[1024]; /* the first thing that went wrong */

__attribute__((format(printf, 1, 2))) static bool failed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (wrong[0] == '\0')
        vsnprintf(wrong, sizeof wrong, format, list);
    va_end(list);
    return false;
}

static bool done(const char *call, dcl_status status)
{
    return status == DCL_OK || failed("%s: %s: %s", call, dcl_status_name(status), dcl_error());
}

/* ---- a line --------------------------------------------------------------------------------------------------------- */

/* An array of a case, and the memory of its operand. */
struct held {
    test_operand *operand;
    const char *name, *map;
    dcl_array *array;
    bool partial;
    int *owner;
};

struct run {
    char *workers, *devices, *move, *steal, *fault;
    size_t tile;
    test_call call;
    bool fast, outside, counts, copies;
    int64_t many; /* the indices, as the call counts them */
    dcl_array *copy;
    int64_t where[DCL_MAX_RANK];
    dcl_array *at;  /* of a reduction along axes */
    char over[120]; /* the text of DCL_OVER */
    char own[300];  /* of the program: its prelude */
    struct held out, a, b, keys;
    test_spread spread;
    uint64_t random;
    char text[400];
    dcl_cluster *cluster;
};

static char *field(char *line, const char *name)
{
    size_t length = strlen(name);
    for (char *at = line; at != NULL; at = strchr(at, '\t'), at += at != NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    fprintf(stderr, "runner: a line has no %s=\n", name);
    exit(2);
}

static int integers(const char *text, int most, int out[])
{
    int count = 0;
    for (char *end; count < most && (*text == '-' || (*text >= '0' && *text <= '9'));
         text = *end == ',' ? end + 1 : end)
        out[count++] = (int)strtol(text, &end, 10);
    return count;
}

static void read_space(char *text, test_call *call)
{
    for (int *x = &call->indices; *x < TEST_MOST_INDICES && text != NULL && *text != '\0'; ++*x) {
        call->start[*x] = call->first[*x] = strtoll(text, &text, 10);
        call->extent[*x] = call->count[*x] = strtoll(text + 1, &text, 10);
        call->step[*x] = 1;
        call->key = call->verb == TEST_KEYED || call->verb == TEST_ELEMENT ? *x : -1;
        text = *text == ',' ? text + 1 : NULL;
    }
    call->indices -= call->key >= 0;
}

static void read_range(const char *text, test_range *range)
{
    int low, high;
    range->some =
        sscanf(text, "%d,%d,%d,%d,%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64, &low, &high, &range->x,
               &range->y, &range->slope, &range->least, &range->most, &range->below, &range->above) == 9;
    range->low = range->some && low != 0;
    range->high = range->some && high != 0;
}

static void read_operand(char *text, const test_call *call, const char *name, test_operand *operand, struct held *held)
{
    *held = (struct held){.operand = operand, .name = name};
    if (*text == '-')
        return;
    char *type = strsep(&text, "|"), *axes = strsep(&text, "|"), *shifts = strsep(&text, "|");
    char *map = strsep(&text, "|");
    int64_t extent[DCL_MAX_RANK], origin[DCL_MAX_RANK];
    operand->type = dcl_type_named(type);
    operand->rank = integers(axes, DCL_MAX_RANK, operand->index);
    integers(shifts, DCL_MAX_RANK, operand->shift);
    for (int d = 0; d < operand->rank; d++) {
        extent[d] =
            call->extent[operand->index[d]] + (call->window && d == 0 && operand == &call->b ? TEST_WINDOW - 1 : 0);
        operand->bound[d] = text != NULL && text[d] != '-' ? text[d] : '\0';
        origin[d] = call->start[operand->index[d]] + (operand->bound[d] == '\0' ? operand->shift[d] : 0);
    }
    operand->grid = operand->rank > 0 ? dcl_grid_nd(operand->type, operand->rank, extent, origin) : (dcl_grid){0};
    held->map = map;
}

static test_verb verb_named(const char *name)
{
    static const char *const names[] = {"forall", "value", "along", "scan", "keyed", "element"};
    int verb = 0;
    while (verb < TEST_ELEMENT && strcmp(names[verb], name) != 0)
        verb++;
    return (test_verb)verb;
}

static void read_line(char *line, struct run *run)
{
    *run = (struct run){.spread = TEST_SMALL};
    static const char *const names[] = {"workers", "devices", "move",  "tile",    "steal", "verb", "op",
                                        "second",  "flags",   "along", "space",   "out",   "a",    "b",
                                        "seed",    "spread",  "keys",  "element", "over",  "fault"};
    enum { FIELDS = sizeof names / sizeof names[0] };
    char *value[FIELDS];
    for (int n = 0; n < FIELDS; n++)
        value[n] = field(line, names[n]);
    for (char *at = line; *at != '\0'; at++)
        *at = *at == '\t' ? '\0' : *at;
    run->workers = value[0], run->devices = value[1], run->move = value[2], run->steal = value[4];
    run->fault = value[19];
    run->tile = strtoull(value[3], NULL, 10);
    run->call.verb = verb_named(value[5]);
    run->call.op = test_operator_named(value[6]);
    run->call.second = test_operator_named(value[7]);
    run->call.inout = strchr(value[8], 'i') != NULL;
    run->call.exclusive = strchr(value[8], 'x') != NULL;
    run->call.boxed = strchr(value[8], 'b') != NULL;
    run->call.chain = strchr(value[8], 'c') != NULL;
    run->fast = strchr(value[8], 'f') != NULL;
    run->call.placed = strchr(value[8], 't') != NULL;
    run->call.window = strchr(value[8], 'w') != NULL;
    run->counts = strchr(value[8], 'm') != NULL;
    run->copies = strchr(value[8], 'e') != NULL;
    run->outside = strchr(value[8], 'o') != NULL;
    run->call.along = atoi(value[9]);
    read_space(value[10], &run->call);
    read_operand(value[11], &run->call, "P", &run->call.out, &run->out);
    read_operand(value[12], &run->call, "A", &run->call.a, &run->a);
    read_operand(value[13], &run->call, "B", &run->call.b, &run->b);
    run->random = strtoull(value[14], NULL, 10);
    run->spread = (test_spread)atoi(value[15]);
    read_operand(value[16], &run->call, "K", &run->call.keys, &run->keys);
    run->call.element = atoll(value[17]);
    read_range(value[18], &run->call.range);
}

/* ---- the text ------------------------------------------------------------------------------------------------------- */

static void add(struct run *run, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    size_t length = strlen(run->text);
    vsnprintf(run->text + length, sizeof run->text - length, format, list);
    va_end(list);
}

static void add_operand(struct run *run, const struct held *held);

static void add_key(struct run *run)
{
    if (run->call.verb == TEST_KEYED)
        add_operand(run, &run->keys);
    else
        add(run, "element");
}

/* The names of the scalars of a subscript with a bound: its limits, or its period. */
static const char low_names[DCL_MAX_RANK][4] = {"l_0", "l_1", "l_2", "l_3"},
                  high_names[DCL_MAX_RANK][4] = {"h_0", "h_1", "h_2", "h_3"};

static void add_operand(struct run *run, const struct held *held)
{
    static const char before[] = "cnxwrsz";
    static const char *const begin[] = {"clamp(", "min(", "max(", "(", "reflect(", "symmetric(", "constant("};
    add(run, "%s", held->name);
    for (int d = 0; d < held->operand->rank; d++) {
        char bound = held->operand->bound[d];
        add(run, d == 0 ? "(" : ",");
        if (held->operand->index[d] == run->call.key) {
            add_key(run);
            continue;
        }
        if (bound != '\0')
            add(run, "%s", begin[strchr(before, bound) - before]);
        add(run, "%c", 'i' + held->operand->index[d]);
        if (held->operand->shift[d] != 0)
            add(run, "%+d", held->operand->shift[d]);
        if (run->call.window && held == &run->b && d == 0)
            add(run, "+w");
        if (bound != '\0' && strchr("crsz", bound) != NULL)
            add(run, bound == 'z' ? ",%s,%s,3)" : ",%s,%s)", low_names[d], high_names[d]);
        else if (bound == 'n')
            add(run, ",%s)", high_names[d]);
        else if (bound == 'x')
            add(run, ",%s)", low_names[d]);
        else if (bound == 'w')
            add(run, " + 2 * %s) %% %s", high_names[d], high_names[d]);
    }
    add(run, held->operand->rank > 0 ? ")" : "");
}

static void add_term(struct run *run, test_operator op, const struct held *a, const struct held *b)
{
    bool most = op == TEST_MIN || op == TEST_MAX;
    add_operand(run, a);
    if (op == TEST_OPERATORS)
        return;
    add(run, " %s ", op == TEST_MIN ? "<" : op == TEST_MAX ? ">" : test_operator_text[op]);
    add_operand(run, b);
    if (!most)
        return;
    add(run, " ? ");
    add_operand(run, a);
    add(run, " : ");
    add_operand(run, b);
}

/* A type in OpenCL C. */
static const char *name_of(dcl_type type)
{
    static const char *const names[] = {"char", "uchar", "short", "ushort", "int",
                                        "uint", "long",  "ulong", "float",  "double"};
    static const dcl_type types[] = {DCL_INT8,   DCL_UINT8, DCL_INT16,  DCL_UINT16, DCL_INT32,
                                     DCL_UINT32, DCL_INT64, DCL_UINT64, DCL_FLOAT,  DCL_DOUBLE};
    int n = 0;
    while (types[n] != type)
        n++;
    return names[n];
}

static void write_text(struct run *run)
{
    const test_call *call = &run->call;
    if (call->window) {
        add(run, "%s sum = 0; for (int w = 0; w < %d; w++) sum += (", name_of(test_promoted(call->a.type)),
            TEST_WINDOW);
        add_term(run, call->second, &run->a, &run->b);
        add(run, "); ");
    }
    add_operand(run, &run->out);
    if (call->verb == TEST_FORALL) {
        add(run, " = ");
        if (call->window) {
            add(run, "sum;");
            return;
        }
        if (call->inout)
            add_term(run, call->op, &run->out, &run->a);
        else
            add_term(run, call->second, &run->a, &run->b);
    } else {
        add(run, " %s= ", test_operator_text[call->op]);
        add_term(run, call->second, &run->a, &run->b);
    }
    add(run, run->counts ? "; many += 1;" : ";");
    if (!run->copies)
        return;
    struct held copy = {.operand = &run->call.a, .name = " Z"};
    add_operand(run, &copy);
    add(run, " = ");
    add_operand(run, &run->a);
    add(run, ";");
}

/* The function of TEST_OWN. */
static void write_operator(struct run *run)
{
    dcl_type type = run->call.out.type;
    const char *name = name_of(type);
    if (test_is_floating(type))
        snprintf(
            run->own, sizeof run->own,
            "int is_zero(%s x) { return x == 0 && signbit(x) == 0; }\n%s combine(%s a, %s b) { return is_zero(a) ? b : "
            "is_zero(b) ? a : a * (%s)0.5 + b; }",
            name, name, name, name, name);
    else
        snprintf(run->own, sizeof run->own,
                 "%s combine(%s a, %s b) { return a == 0 ? b : b == 0 ? a : (%s)((a >> 1) ^ b); }", name, name, name,
                 name);
}

static void write_range(struct run *run)
{
    const test_range *range = &run->call.range;
    char low[40] = "least", high[40] = "most", x = (char)('i' + range->x), y = (char)('i' + range->y);
    if (range->low)
        snprintf(low, sizeof low, "max(least, %" PRId64 " * %c - below)", range->slope, y);
    if (range->high)
        snprintf(high, sizeof high, "min(%" PRId64 " * %c + above, most)", range->slope, y);
    snprintf(run->over, sizeof run->over, "%s <= %c <= %s", low, x, high);
}

/* ---- clusters ------------------------------------------------------------------------------------------------------- */

static struct place {
    dcl_cluster *cluster;
    char settings[300];
} places[MOST_CLUSTERS];
static int place_count;
static bool close_failed;

static void close_first(void)
{
    close_failed |= dcl_close(places[0].cluster) != DCL_OK;
    memmove(places, places + 1, (size_t)--place_count * sizeof places[0]);
}

static dcl_cluster *open_cluster(const struct run *run)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        return NULL;
    bool threads = strcmp(run->workers, "-") == 0;
    config.workers = threads ? NULL : run->workers;
    config.devices = threads ? run->devices : config.devices;
    config.program = getenv("TEST_DCL");
    config.transfer = run->move;
    config.tile_bytes = run->tile > 0 ? run->tile : config.tile_bytes;
    config.steal = run->steal;
    if (strcmp(run->fault, "-") != 0)
        setenv("DCL_FAULT", run->fault, 1);
    dcl_cluster *cluster = dcl_open(&config);
    unsetenv("DCL_FAULT");
    return cluster;
}

/* Clusters of worker processes are closed when another one is used. */
static dcl_cluster *cluster_of(const struct run *run)
{
    char text[sizeof places[0].settings];
    snprintf(text, sizeof text, "%s %s %s %zu %s %s", run->workers, run->devices, run->move, run->tile, run->steal,
             run->fault);
    for (int n = 0; n < place_count; n++)
        if (strcmp(places[n].settings, text) == 0 && dcl_status_of(places[n].cluster) == DCL_OK)
            return places[n].cluster;
    int most = text[0] == '-' ? MOST_CLUSTERS : 1;
    while (place_count >= most)
        close_first();
    dcl_cluster *cluster = open_cluster(run);
    if (cluster != NULL) {
        strcpy(places[place_count].settings, text);
        places[place_count++].cluster = cluster;
    }
    return cluster;
}

/* ---- arrays --------------------------------------------------------------------------------------------------------- */

static test_value rest_of(dcl_type type, const char *map)
{
    const char *rest = strstr(map, ";rest=");
    int64_t value = rest != NULL ? atoll(rest + 6) : 0;
    return test_convert((test_value){.i = value}, DCL_INT64, type);
}

/* A key of an element of out; perhaps one that is next to those. */
static test_value draw_key(struct run *run)
{
    const test_call *call = &run->call;
    uint64_t more = run->outside ? 1 : 0, count = (uint64_t)call->extent[call->key] + 2 * more;
    return (test_value){.i = call->start[call->key] - (int64_t)more + (int64_t)(test_next(&run->random) % count)};
}

/* Which elements are stored, and their values. */
static bool draw(struct run *run, struct held *held, dcl_map *map, test_spread spread)
{
    test_operand *operand = held->operand;
    int64_t total = dcl_grid_count(&operand->grid);
    operand->values = calloc((size_t)total + 1, sizeof *operand->values);
    held->owner = calloc((size_t)total + 1, sizeof *held->owner);
    operand->values[total] = test_convert((test_value){.i = 3}, DCL_INT64, operand->type);
    for (int64_t e = 0; e < total; e++) {
        int64_t index[DCL_MAX_RANK], offset, left = e;
        for (int d = operand->rank - 1; d >= 0; d--) {
            index[d] = operand->grid.origin[d] + left % operand->grid.extent[d];
            left /= operand->grid.extent[d];
        }
        if (!done("dcl_map_locate", dcl_map_locate(map, &operand->grid, index, &held->owner[e], &offset)))
            return false;
        held->partial |= held->owner[e] < 0;
        operand->values[e] = held->owner[e] < 0   ? rest_of(operand->type, held->map)
                             : held == &run->keys ? draw_key(run)
                                                  : test_draw(operand->type, spread, &run->random);
    }
    return true;
}

/* Write what is stored of the elements of a box. */
struct writer {
    struct held *held;
    char *bytes;
};

static dcl_status write_box(void *user, const dcl_box *box)
{
    struct writer *writer = user;
    const dcl_grid *grid = &writer->held->operand->grid;
    int64_t stride[DCL_MAX_RANK], first = 0, size = 1;
    for (int d = grid->rank - 1; d >= 0; d--) {
        stride[d] = size * box->stride[d];
        first += (box->start[d] - grid->origin[d]) * size;
        size *= grid->extent[d];
    }
    return dcl_write(writer->held->array, box, writer->bytes + first * (int64_t)dcl_type_bytes(grid->type), stride);
}

static bool write_values(struct held *held, const dcl_map *map)
{
    const test_operand *operand = held->operand;
    int64_t total = dcl_grid_count(&operand->grid);
    size_t size = dcl_type_bytes(operand->type);
    struct writer writer = {held, malloc((size_t)total * size + 1)};
    for (int64_t e = 0; e < total; e++)
        test_store(operand->type, writer.bytes + (size_t)e * size, operand->values[e]);
    bool good = true;
    if (!held->partial)
        good = done("dcl_write", dcl_write(held->array, NULL, writer.bytes, NULL));
    for (int n = 0; good && held->partial && n < dcl_map_node_count(map); n++)
        good = done("dcl_map_boxes", dcl_map_boxes(map, &operand->grid, dcl_map_node(map, n), write_box, &writer));
    free(writer.bytes);
    return good;
}

static bool make_array(struct run *run, struct held *held, test_spread spread, bool written)
{
    test_operand *operand = held->operand;
    if (operand->rank == 0)
        return true;
    dcl_map *map = dcl_map_parse(run->cluster, held->map);
    held->array = dcl_agile(operand->grid, map);
    bool good = (held->array != NULL || failed("array %s: %s", held->name, dcl_error())) &&
                draw(run, held, map, spread) && (!written || write_values(held, map));
    for (int64_t e = 0; good && !written && e < dcl_grid_count(&operand->grid); e++)
        if (held->owner[e] >= 0)
            operand->values[e] = (test_value){0};
    dcl_release(map);
    return good;
}

static double largest(const test_operand *operand)
{
    double most = 0;
    for (int64_t e = 0; operand->values != NULL && e < dcl_grid_count(&operand->grid); e++) {
        test_value value = test_convert(operand->values[e], operand->type, DCL_DOUBLE);
        most = fabs(value.f) > most ? fabs(value.f) : most;
    }
    return most;
}

/* Sums in any order (DCL_FAST) are near to that in one order. */
static bool is_near(const struct run *run, test_value found, test_value right)
{
    double expected = right.f, a = largest(&run->call.a), b = largest(&run->call.b);
    double total = (double)dcl_grid_count(&run->call.a.grid),
           magnitude = run->call.second == TEST_TIMES ? a * b : a + b;
    double bound = magnitude * total * total * (run->call.out.type == DCL_FLOAT ? 0x1p-23 : 0x1p-52);
    return fabs(found.f - expected) <= bound || test_same(run->call.out.type, found, right) || !isfinite(expected) ||
           !isfinite(magnitude);
}

static bool compare(struct run *run, struct held *held, const char *what)
{
    const test_operand *operand = held->operand;
    int64_t total = dcl_grid_count(&operand->grid);
    size_t size = dcl_type_bytes(operand->type);
    char *bytes = malloc((size_t)total * size + 1), found[40], expected[40];
    bool good = done("dcl_read", dcl_read(held->array, NULL, bytes, NULL));
    for (int64_t e = 0; good && e < total; e++) {
        test_value value = test_load(operand->type, bytes + (size_t)e * size);
        bool near = run->fast && held == &run->out && test_is_floating(operand->type);
        if (!test_same(operand->type, value, operand->values[e]) && !(near && is_near(run, value, operand->values[e])))
            good = failed("%s: element %" PRId64 " of %s (of node %d) is %s; expected %s", what, e, held->name,
                          held->owner[e], test_print(operand->type, value, found),
                          test_print(operand->type, operand->values[e], expected));
    }
    free(bytes);
    return good;
}

static void end_array(struct held *held)
{
    dcl_release(held->array);
    free(held->operand->values);
    free(held->owner);
}

/* ---- the call ------------------------------------------------------------------------------------------------------- */

/* Narrow the indices of a call to a box of an operand. */
static dcl_box draw_box(struct run *run, const test_operand *operand)
{
    dcl_box box = {.rank = operand->rank};
    for (int d = 0; d < box.rank; d++) {
        int64_t extent = operand->grid.extent[d];
        int64_t skipped = (int64_t)(test_next(&run->random) % (uint64_t)extent);
        int x = operand->index[d];
        box.stride[d] = test_next(&run->random) % 3 == 0 ? 2 : 1;
        int64_t most = (extent - 1 - skipped) / box.stride[d] + 1;
        box.count[d] = 1 + (int64_t)(test_next(&run->random) % (uint64_t)most);
        box.start[d] = operand->grid.origin[d] + skipped;
        run->call.first[x] = run->call.start[x] + skipped;
        run->call.step[x] = box.stride[d];
        run->call.count[x] = box.count[d];
    }
    return box;
}

static bool count(struct run *run, dcl_counters counters[])
{
    bool good = true;
    int nodes = dcl_node_count(run->cluster);
    for (int n = 0; good && n <= nodes; n++)
        good = done("dcl_stats", dcl_stats(run->cluster, n < nodes ? n : DCL_ALL_NODES, &counters[n]));
    return good;
}

static bool equal(int node, const char *what, int64_t planned, int64_t counted)
{
    return planned == counted ||
           failed("node %d: %s: explained are %" PRId64 ", counted %" PRId64, node, what, planned, counted);
}

static bool equal_counters(struct run *run, const dcl_counters plan[], const dcl_counters before[])
{
    dcl_counters after[MOST_NODES + 1];
    bool good = count(run, after);
    for (int n = 0; good && n <= dcl_node_count(run->cluster); n++)
        good = equal(n, "approximate", plan[n].approximate, after[n].approximate - before[n].approximate) &&
               equal(n, "blocks_moved", plan[n].blocks_moved, after[n].blocks_moved - before[n].blocks_moved) &&
               equal(n, "bytes_moved", plan[n].bytes_moved, after[n].bytes_moved - before[n].bytes_moved) &&
               equal(n, "messages_planned", plan[n].messages_planned,
                     after[n].messages_planned - before[n].messages_planned) &&
               equal(n, "tasks", plan[n].tasks, after[n].tasks - before[n].tasks);
    return good;
}

static bool explain(struct run *run, const dcl_call *call, dcl_counters plan[])
{
    int nodes = dcl_node_count(run->cluster);
    bool good = true;
    for (int n = 0; good && n <= nodes; n++)
        good = done("dcl_call_explain", dcl_call_explain(call, n < nodes ? n : DCL_ALL_NODES, &plan[n]));
    return good;
}

static int list_range(struct run *run, dcl_arg args[])
{
    test_range *range = &run->call.range;
    int n = 0;
    if (!range->some)
        return 0;
    args[n++] = DCL_OVER(run->over);
    args[n++] = DCL_VALUE_AS("least", range->least);
    args[n++] = DCL_VALUE_AS("most", range->most);
    if (range->low)
        args[n++] = DCL_VALUE_AS("below", range->below);
    if (range->high)
        args[n++] = DCL_VALUE_AS("above", range->above);
    return n;
}

/* The scalars of subscripts with bounds. */
static int list_bounds(const test_operand *b, dcl_arg args[])
{
    int n = 0;
    for (int d = 0; d < b->rank; d++) {
        int64_t first = b->grid.origin[d], last = first + b->grid.extent[d] - 1;
        if (b->bound[d] != '\0' && strchr("cxrsz", b->bound[d]) != NULL)
            args[n++] = dcl_arg_signed(low_names[d], DCL_INT64, first);
        if (b->bound[d] != '\0' && strchr("cnrsz", b->bound[d]) != NULL)
            args[n++] = dcl_arg_signed(high_names[d], DCL_INT64, last);
        if (b->bound[d] == 'w')
            args[n++] = dcl_arg_signed(high_names[d], DCL_INT64, b->grid.extent[d]);
    }
    return n;
}

static int list_arguments(struct run *run, dcl_arg args[], void *result)
{
    const test_call *call = &run->call;
    static const char *const letters[] = {"i", "j", "k", "l", "m", "n"};
    int n = 0;
    if (call->verb == TEST_VALUE)
        args[n++] = dcl_arg_result("P", call->out.type, result);
    if (call->placed && call->verb == TEST_VALUE)
        args[n++] = DCL_RESULT_AT(run->where);
    if (run->counts)
        args[n++] = dcl_arg_result("many", DCL_INT64, &run->many);
    if (run->copies)
        args[n++] = dcl_arg_array(DCL_ACCESS_INOUT, "Z", run->copy);
    if (call->verb != TEST_VALUE)
        args[n++] = dcl_arg_array(call->inout ? DCL_ACCESS_INOUT : DCL_ACCESS_OUT, "P", run->out.array);
    if (call->placed && (call->verb == TEST_ALONG || call->verb == TEST_KEYED))
        args[n++] = DCL_RESULT_AT(run->at);
    args[n++] = dcl_arg_array(DCL_ACCESS_IN, "A", run->a.array);
    if (run->b.array != NULL)
        args[n++] = dcl_arg_array(DCL_ACCESS_IN, "B", run->b.array);
    if (run->keys.array != NULL)
        args[n++] = dcl_arg_array(DCL_ACCESS_IN, "K", run->keys.array);
    if (call->verb == TEST_ELEMENT)
        args[n++] = DCL_VALUE_AS("element", call->element);
    if (call->verb == TEST_SCAN)
        args[n++] = dcl_arg_array(DCL_ACCESS_ALONG, letters[call->along], NULL);
    if (call->exclusive)
        args[n++] = DCL_EXCLUSIVE;
    if (run->fast)
        args[n++] = DCL_FAST;
    if (call->op == TEST_OWN) {
        args[n++] = DCL_OPERATOR("combine", "0");
        args[n++] = DCL_PRELUDE(run->own);
    }
    n += list_bounds(&call->b, args + n);
    return n + list_range(run, args + n);
}

static bool compare_result(const struct run *run, const void *result)
{
    char found[40], expected[40];
    dcl_type type = run->call.out.type;
    test_value value = test_load(type, result);
    for (int d = 0; run->call.placed && d < run->call.a.rank; d++)
        if (run->where[d] != run->call.where[d])
            return failed("the result is at %" PRId64 " of axis %d; expected %" PRId64, run->where[d], d,
                          run->call.where[d]);
    if (test_same(type, value, run->call.out.values[0]) ||
        (run->fast && test_is_floating(type) && is_near(run, value, run->call.out.values[0])))
        return true;
    return failed("the result is %s; expected %s", test_print(type, value, found),
                  test_print(type, run->call.out.values[0], expected));
}

static const char *const maps[] = {"block", "cyclic", "rows:cyclic", "rows:hash"};

static bool make_copy(struct run *run)
{
    if (!run->copies)
        return true;
    dcl_map *map = dcl_map_parse(run->cluster, maps[test_next(&run->random) % 4]);
    run->copy = dcl_agile(run->call.a.grid, map);
    dcl_release(map);
    return run->copy != NULL || failed("array of the copy: %s", dcl_error());
}

/* Compare the number of indices, and the copy of a: 0 where the body is not run. */
static bool compare_extras(struct run *run)
{
    const test_operand *a = &run->call.a;
    int64_t total = dcl_grid_count(&a->grid), many = 0;
    size_t size = dcl_type_bytes(a->type);
    char *bytes = calloc((size_t)total + 1, size), found[40], expected[40];
    bool good = !run->copies || done("dcl_read", dcl_read(run->copy, NULL, bytes, NULL));
    for (int64_t e = 0; good && e < total; e++) {
        int64_t index[TEST_MOST_INDICES] = {0}, left = e;
        for (int d = a->rank - 1; d >= 0; d--) {
            index[a->index[d]] = a->grid.origin[d] + left % a->grid.extent[d];
            left /= a->grid.extent[d];
        }
        bool runs = test_runs_at(&run->call, index);
        test_value value = test_load(a->type, bytes + (size_t)e * size), right = runs ? a->values[e] : (test_value){0};
        many += runs;
        if (run->copies && !test_same(a->type, value, right))
            good = failed("element %" PRId64 " of Z is %s; expected %s", e, test_print(a->type, value, found),
                          test_print(a->type, right, expected));
    }
    free(bytes);
    if (good && run->counts && run->many != many)
        return failed("the number of indices is %" PRId64 "; expected %" PRId64, run->many, many);
    return good;
}

/* Make the array for the indices of a reduction along axes or by keys, and room for the right ones. */
static bool make_places(struct run *run)
{
    test_call *call = &run->call;
    dcl_grid grid = call->out.grid;
    int64_t total = dcl_grid_count(&grid);
    if (!call->placed || (call->verb != TEST_ALONG && call->verb != TEST_KEYED))
        return true;
    grid.type = test_next(&run->random) % 2 == 0 ? DCL_INT32 : DCL_INT64;
    call->inner = call->indices - (grid.rank - (call->key >= 0));
    for (int x = 0; x < call->indices; x++)
        if (llabs(call->start[x]) > INT32_MAX / 2)
            grid.type = DCL_INT64;
    if (call->inner > 1) {
        grid.origin[grid.rank] = 0;
        grid.extent[grid.rank++] = call->inner;
    }
    dcl_map *map = dcl_map_parse(run->cluster, maps[test_next(&run->random) % 4]);
    run->at = dcl_agile(grid, map);
    dcl_release(map);
    call->places = malloc((size_t)(total * call->inner + 1) * sizeof *call->places);
    for (int64_t n = 0; n < total * call->inner; n++)
        call->places[n] = -1;
    return run->at != NULL || failed("array of indices: %s", dcl_error());
}

static bool compare_places(struct run *run)
{
    if (run->at == NULL)
        return true;
    const dcl_grid grid = dcl_grid_of(run->at);
    int64_t total = dcl_grid_count(&grid);
    size_t size = dcl_type_bytes(grid.type);
    char *bytes = malloc((size_t)total * size + 1);
    bool good = done("dcl_read", dcl_read(run->at, NULL, bytes, NULL));
    for (int64_t e = 0; good && e < total; e++) {
        test_value value = test_load(grid.type, bytes + (size_t)e * size);
        if (value.i != run->call.places[e] && (run->out.owner[e / run->call.inner] >= 0))
            good = failed("index %" PRId64 " is %" PRId64 "; expected %" PRId64, e, value.i, run->call.places[e]);
    }
    free(bytes);
    return good;
}

/* The input that gives the indices, the first one whose subscripts are all of them; NULL: the output does. */
static const struct held *input_of(const struct run *run)
{
    const test_operand *keys = &run->call.keys;
    if (run->call.verb != TEST_VALUE && run->call.key < 0)
        return NULL;
    bool shifted = false;
    for (int d = 0; d < keys->rank; d++)
        shifted |= keys->shift[d] != 0;
    return keys->rank == run->call.indices && !shifted ? &run->keys : &run->a;
}

/* Keys outside are reported. */
static bool wait_for(struct run *run)
{
    dcl_status status = dcl_wait(run->cluster);
    if (!run->call.outside)
        return done("dcl_wait", status);
    dcl_clear_error(run->cluster);
    return status == DCL_ERR_RANGE || failed("dcl_wait: %s; expected a key outside", dcl_status_name(status));
}

static bool run_call(struct run *run)
{
    test_call *call = &run->call;
    dcl_counters plan[MOST_NODES + 1], before[MOST_NODES + 1];
    char result[16] = {0};
    dcl_arg args[32];
    const struct held *input = input_of(run);
    dcl_box box, *where = NULL;
    if (call->boxed) {
        box = draw_box(run, input != NULL ? input->operand : &call->out);
        where = &box;
    }
    int args_count = list_arguments(run, args, result);
    dcl_call described = call->verb == TEST_FORALL ? dcl_call_body(run->cluster, where, run->text, args_count, args)
                         : call->verb == TEST_SCAN
                             ? dcl_call_scan(run->cluster, run->text, args_count, args)
                             : dcl_call_reduction(run->cluster, where, run->text, args_count, args);
    if (!explain(run, &described, plan) || !count(run, before))
        return false;
    if (!test_compute_call(call))
        return failed("no memory");
    if (!done("run", dcl_call_run(&described)) || !wait_for(run) || !equal_counters(run, plan, before))
        return false;
    if (call->verb == TEST_VALUE)
        return compare_result(run, result) && compare_extras(run);
    int64_t total = dcl_grid_count(&call->out.grid);
    for (int64_t e = 0; e < total; e++)
        if (run->out.owner[e] < 0)
            call->out.values[e] = rest_of(call->out.type, run->out.map);
    return compare(run, &run->out, "result") && compare_places(run);
}

static bool run_case(struct run *run)
{
    run->cluster = cluster_of(run);
    if (run->cluster == NULL)
        return failed("dcl_open: %s", dcl_error());
    write_text(run);
    write_range(run);
    write_operator(run);
    test_spread other = run->spread == TEST_SMALL ? TEST_FACTOR : run->spread;
    bool good = make_array(run, &run->a, run->spread, true) && make_array(run, &run->b, other, true) &&
                make_array(run, &run->keys, run->spread, true) &&
                make_array(run, &run->out, run->spread, run->call.inout);
    if (run->call.verb == TEST_VALUE)
        run->call.out.values = calloc(1, sizeof *run->call.out.values);
    good = good && compare(run, &run->a, "input") && make_places(run) && make_copy(run) && run_call(run);
    dcl_release(run->at);
    dcl_release(run->copy);
    free(run->call.places);
    end_array(&run->a);
    end_array(&run->b);
    end_array(&run->keys);
    end_array(&run->out);
    if (!good)
        dcl_clear_error(run->cluster);
    return good;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        struct run run;
        read_line(line, &run);
        wrong[0] = '\0';
        bool good = run_case(&run);
        for (char *at = wrong; *at != '\0'; at++)
            *at = *at == '\t' || *at == '\n' ? ' ' : *at;
        if (good)
            printf("good\t%s\n", run.text);
        else
            printf("wrong\t%s\t%s%s%s\n", wrong, run.text, run.call.range.some ? " over " : "",
                   run.call.range.some ? run.over : "");
        fflush(stdout);
    }
    free(line);
    while (place_count > 0)
        close_first();
    return close_failed ? 1 : 0;
}
