/* processes/moves.c - random moves of elements to nodes, and bodies that use them, against plain C: moves SEED CASES
 *
 * A case makes three cubes with maps of their own, and moves, reads, writes, keeps, drops, exchanges and remaps them, one
 * call after the other. In every second case all calls are explained before, and nothing waits: at the end, what every
 * node has counted is the sum of that. In the others few are: then many calls have made and ended copies since somebody
 * asked last. At its end the arrays are compared with tables. Prints `right ...` with the number of calls and of moves
 * refused for want of budget, or `WRONG ...` with the case. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl.h>

enum {
    MOST_RANK = 3,
    MOST_SIDE = 8,
    MOST_ELEMENTS = MOST_SIDE * MOST_SIDE * MOST_SIDE,
    MOST_NODES = 8,
    STEPS = 24 /* twice as many where few are explained */
};

static uint64_t state;
static int64_t the_case, calls, refused;

/* Source: splitmix64, Steele, Lea, Flood, OOPSLA 2014. */
static int64_t pick(int64_t lo, int64_t hi)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return lo + (int64_t)((z ^ (z >> 31)) % (uint64_t)(hi - lo + 1));
}

static void fail(const char *what, const char *why)
{
    printf("WRONG case %lld: %s: %s\n", (long long)the_case, what, why);
    fflush(stdout);
    exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        fail(what, dcl_error());
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

/* An array of side^rank elements, the same seen with its axes in reverse, and what both must hold. */
struct cube {
    dcl_array *array, *turned;
    int32_t value[MOST_ELEMENTS];
};

struct world {
    dcl_cluster *cluster;
    int nodes, rank;
    int64_t side, count;
    struct cube cube[3];
    bool all_asked, asks; /* whether all calls are explained before; this one */
    dcl_counters before[MOST_NODES], planned[MOST_NODES];
};

static dcl_map *random_map(struct world *w)
{
    static const char *const axes[MOST_RANK][4] = {
        {"block", "cyclic", "cyclic(2)", "block;nodes=0"},
        {"block,*", "*,block", "block,cyclic(2)", "cyclic(2),block;block=2x1"},
        {"block,*,*", "*,*,cyclic", "*,block,cyclic(2)", "block,block,*"}};
    static const char *const dealt[MOST_RANK][3] = {{"rows:cyclic(3)", "rows:hash(2)", "rows:cyclic(2);tile=4"},
                                                    {"rows:cyclic(3x2)", "rows:hash(2x2)", "columns:cyclic(2x3)"},
                                                    {"rows:cyclic(2x3x2)", "rows:hash(3x2x2)", "rows:cyclic(4x4x4)"}};
    static const char *const others[] = {"replicated", "replicated(2)"};
    static const char *const halos[MOST_RANK][2] = {{"block;halo=1", "rows:cyclic(3);halo=2:1"},
                                                    {"block,*;halo=1", "rows:cyclic(3x2);halo=1"},
                                                    {"block,block,*;halo=1,0,1", "rows:cyclic(2x3x2);halo=1"}};
    int64_t kind = pick(0, 10);
    const char *text = kind < 4   ? axes[w->rank - 1][kind]
                       : kind < 7 ? dealt[w->rank - 1][kind - 4]
                       : kind < 9 ? others[kind - 7]
                                  : halos[w->rank - 1][kind - 9];
    dcl_map *map = dcl_map_parse(w->cluster, text);
    if (map == NULL)
        fail(text, dcl_error());
    return map;
}

static void note(struct world *w, int node, const dcl_counters *planned)
{
    w->planned[node].bytes_moved += planned->bytes_moved;
    w->planned[node].blocks_moved += planned->blocks_moved;
    w->planned[node].messages_planned += planned->messages_planned;
    w->planned[node].tasks += planned->tasks;
}

static void view(struct world *w, struct cube *cube)
{
    int axes[MOST_RANK];
    for (int d = 0; d < w->rank; d++)
        axes[d] = w->rank - 1 - d;
    cube->turned = dcl_permute(cube->array, axes);
    if (cube->turned == NULL)
        fail("dcl_permute", dcl_error());
}

static void write_all(struct world *w, struct cube *cube)
{
    for (int64_t e = 0; e < w->count; e++)
        cube->value[e] = (int32_t)pick(0, 999);
    check(dcl_write(cube->array, NULL, cube->value, NULL), "dcl_write");
}

static void make(struct world *w, struct cube *cube, dcl_map *map)
{
    int64_t extent[] = {w->side, w->side, w->side};
    cube->array = dcl_agile(dcl_grid_nd(DCL_INT32, w->rank, extent, NULL), map);
    if (cube->array == NULL)
        fail("dcl_agile", dcl_error());
    view(w, cube);
    write_all(w, cube);
}

static int64_t at(const struct world *w, const int64_t index[], bool turned)
{
    int64_t number = 0;
    for (int d = 0; d < w->rank; d++)
        number = number * w->side + index[turned ? w->rank - 1 - d : d];
    return number;
}

static dcl_box random_box(const struct world *w)
{
    dcl_box box = {.rank = w->rank};
    for (int d = 0; d < w->rank; d++) {
        box.start[d] = pick(0, w->side - 1);
        box.stride[d] = pick(0, 3) == 0 ? 2 : 1;
        box.count[d] = pick(1, (w->side - 1 - box.start[d]) / box.stride[d] + 1);
    }
    return box;
}

static bool next_index(const dcl_box *box, int64_t index[])
{
    for (int d = box->rank - 1; d >= 0; d--) {
        if ((index[d] += box->stride[d]) < box->start[d] + box->count[d] * box->stride[d])
            return true;
        index[d] = box->start[d];
    }
    return false;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* What is explained as too much is refused, and nothing else. */
static void try_move(struct world *w)
{
    struct cube *cube = &w->cube[pick(0, 2)];
    dcl_array *array = pick(0, 2) == 0 ? cube->turned : cube->array;
    dcl_box box = random_box(w);
    const dcl_box *what = pick(0, 3) == 0 ? NULL : &box;
    int node = (int)pick(0, w->nodes - 1);
    dcl_counters planned = {0};
    dcl_status explained =
                   w->asks ? dcl_call_explain(DCL_CALL_MOVE(array, what, node), DCL_ALL_NODES, &planned) : DCL_OK,
               status = dcl_move(array, what, node);
    if ((w->asks && explained != status) || (status != DCL_OK && status != DCL_ERR_NOMEM))
        fail("dcl_move", dcl_error());
    if (status == DCL_OK)
        note(w, node, &planned);
    else
        dcl_clear_error(w->cluster);
    refused += status != DCL_OK;
}

static const char *const sums[MOST_RANK] = {
    "C(i) = (A(a0*i + b0) + 2*B(c0 - i)) % 1000;",
    "C(i,j) = (A(a0*i + b0, a1*j + b1) + 2*B(c0 - j, i)) % 1000;",
    "C(i,j,k) = (A(a0*i + b0, a1*j + b1, a2*k + b2) + 2*B(k, c0 - j, i)) % 1000;",
};

static const char *const steps[MOST_RANK] = {
    "C(i) = 3*A(i) % 1000;",
    "C(i,j) = 3*A(j,i) % 1000;",
    "C(i,j,k) = 3*A(j,k,i) % 1000;",
};

static void run(struct world *w, const dcl_box *box, const char *body, int count, const dcl_arg args[])
{
    for (int node = 0; w->asks && node < w->nodes; node++) {
        dcl_counters planned;
        check(dcl_call_explain(DCL_CALL_BODY_N(w->cluster, box, body, count, args), node, &planned), "dcl_explain");
        note(w, node, &planned);
    }
    check(dcl_call_run(DCL_CALL_BODY_N(w->cluster, box, body, count, args)), body);
}

static dcl_arg input(const char *name, dcl_array *array)
{
    dcl_arg arg = DCL_IN_AS(name, array);
    if (pick(0, 3) == 0)
        arg.access = DCL_ACCESS_IN_KEPT;
    return arg;
}

/* Subscripts that stay inside: the index, the index in reverse, or one number. */
static void try_sum(struct world *w)
{
    static const char *const a_names[] = {"a0", "a1", "a2"}, *const b_names[] = {"b0", "b1", "b2"};
    int64_t order = pick(0, 2);
    struct cube *C = &w->cube[order], *A = &w->cube[(order + 1) % 3], *B = &w->cube[(order + 2) % 3];
    bool turned = pick(0, 2) == 0;
    int64_t a[MOST_RANK], b[MOST_RANK];
    dcl_arg args[3 + 2 * MOST_RANK + 1] = {DCL_OUT_AS("C", C->array), input("A", turned ? A->turned : A->array),
                                           input("B", B->array)};
    int count = 3;
    for (int d = 0; d < w->rank; d++) {
        a[d] = pick(-1, 1);
        b[d] = a[d] == 0 ? pick(0, w->side - 1) : a[d] < 0 ? w->side - 1 : 0;
        args[count++] = DCL_VALUE_AS(a_names[d], a[d]);
        args[count++] = DCL_VALUE_AS(b_names[d], b[d]);
    }
    args[count++] = DCL_VALUE_AS("c0", w->side - 1);
    dcl_box box = random_box(w), all = random_box(w);
    for (int d = 0; d < w->rank; d++)
        all.start[d] = 0, all.count[d] = w->side, all.stride[d] = 1;
    const dcl_box *over = pick(0, 1) == 0 ? &all : &box;
    run(w, over, sums[w->rank - 1], count, args);
    int64_t index[MOST_RANK], from[MOST_RANK], other[MOST_RANK];
    memcpy(index, over->start, sizeof index);
    do {
        for (int d = 0; d < w->rank; d++) {
            from[d] = a[d] * index[d] + b[d];
            other[d] = index[w->rank - 1 - d];
        }
        int reversed = w->rank == 2 ? 0 : w->rank / 2;
        other[reversed] = w->side - 1 - other[reversed];
        C->value[at(w, index, false)] = (A->value[at(w, from, turned)] + 2 * B->value[at(w, other, false)]) % 1000;
    } while (next_index(over, index));
}

static void try_step(struct world *w)
{
    int64_t order = pick(0, 2);
    struct cube *C = &w->cube[order], *A = &w->cube[(order + 1) % 3];
    dcl_arg args[] = {DCL_OUT_AS("C", C->array), input("A", A->array)};
    int64_t index[MOST_RANK] = {0}, from[MOST_RANK];
    dcl_box all = {.rank = w->rank};
    for (int d = 0; d < w->rank; d++)
        all.count[d] = w->side, all.stride[d] = 1;
    run(w, NULL, steps[w->rank - 1], 2, args);
    do {
        for (int d = 0; d < w->rank; d++)
            from[d] = index[(d + 1) % w->rank];
        C->value[at(w, index, false)] = 3 * A->value[at(w, from, false)] % 1000;
    } while (next_index(&all, index));
}

static const char *const neighbours[MOST_RANK] = {
    "C(i) = i > 0 ? (A(i-1) + A(i)) % 1000 : A(i);",
    "C(i,j) = i > 0 ? (A(i-1, j) + A(i,j)) % 1000 : A(i,j);",
    "C(i,j,k) = i > 0 ? (A(i-1, j, k) + A(i,j,k)) % 1000 : A(i,j,k);",
};

static void try_neighbours(struct world *w)
{
    int64_t order = pick(0, 2);
    struct cube *C = &w->cube[order], *A = &w->cube[(order + 1) % 3];
    dcl_arg args[] = {DCL_OUT_AS("C", C->array), input("A", A->array)};
    dcl_box box = random_box(w);
    int64_t index[MOST_RANK], before[MOST_RANK];
    run(w, &box, neighbours[w->rank - 1], 2, args);
    memcpy(index, box.start, sizeof index);
    do {
        memcpy(before, index, sizeof before);
        before[0]--;
        int32_t sum = A->value[at(w, index, false)] + (index[0] > 0 ? A->value[at(w, before, false)] : 0);
        C->value[at(w, index, false)] = sum % 1000;
    } while (next_index(&box, index));
}

static void try_write(struct world *w)
{
    struct cube *cube = &w->cube[pick(0, 2)];
    if (pick(0, 3) == 0) {
        int32_t element = (int32_t)pick(0, 999);
        check(dcl_fill(cube->array, &element), "dcl_fill");
        for (int64_t e = 0; e < w->count; e++)
            cube->value[e] = element;
        return;
    }
    bool turned = pick(0, 1) == 0;
    dcl_box box = random_box(w);
    int32_t source[MOST_ELEMENTS];
    int64_t index[MOST_RANK], e = 0;
    memcpy(index, box.start, sizeof index);
    do
        cube->value[at(w, index, turned)] = source[e++] = (int32_t)pick(0, 999);
    while (next_index(&box, index));
    check(dcl_write(turned ? cube->turned : cube->array, &box, source, NULL), "dcl_write");
}

static void try_remap(struct world *w)
{
    dcl_array *array = w->cube[pick(0, 2)].array;
    dcl_map *map = random_map(w);
    for (int node = 0; w->asks && node < w->nodes; node++) {
        dcl_counters planned;
        check(dcl_call_explain(DCL_CALL_REMAP(array, map, 0), node, &planned), "explain remap");
        note(w, node, &planned);
    }
    check(dcl_remap(array, map), "dcl_remap");
    dcl_map_release(map);
}

static void try_swap(struct world *w)
{
    struct cube *a = &w->cube[0], *b = &w->cube[1];
    if (!dcl_map_equal(dcl_map_of(a->array), dcl_map_of(b->array)))
        return;
    int32_t old[MOST_ELEMENTS];
    check(dcl_swap(a->array, b->array), "dcl_swap");
    memcpy(old, a->value, sizeof old);
    memcpy(a->value, b->value, sizeof old);
    memcpy(b->value, old, sizeof old);
}

static void try_copy(struct world *w)
{
    struct cube *from = &w->cube[pick(0, 1)], *to = &w->cube[2];
    for (int node = 0; w->asks && node < w->nodes; node++) {
        dcl_counters planned;
        check(dcl_call_explain(DCL_CALL_COPY(from->array, to->array), node, &planned), "explain copy");
        note(w, node, &planned);
    }
    check(dcl_copy(from->array, to->array), "dcl_copy");
    memcpy(to->value, from->value, sizeof to->value);
}

/* ---- counters ------------------------------------------------------------------------------------------------------ */

static void begin_counts(struct world *w)
{
    memset(w->planned, 0, sizeof w->planned);
    for (int node = 0; node < w->nodes; node++)
        check(dcl_stats(w->cluster, node, &w->before[node]), "dcl_stats");
}

static void compare_counts(struct world *w)
{
    for (int node = 0; node < w->nodes; node++) {
        dcl_counters now;
        char why[200];
        const dcl_counters *before = &w->before[node], *planned = &w->planned[node];
        check(dcl_stats(w->cluster, node, &now), "dcl_stats");
        if (now.bytes_moved - before->bytes_moved == planned->bytes_moved &&
            now.blocks_moved - before->blocks_moved == planned->blocks_moved &&
            now.messages_planned - before->messages_planned == planned->messages_planned &&
            now.tasks - before->tasks == planned->tasks)
            continue;
        snprintf(why, sizeof why, "%lld bytes, %lld blocks; explained %lld, %lld",
                 (long long)(now.bytes_moved - before->bytes_moved),
                 (long long)(now.blocks_moved - before->blocks_moved), (long long)planned->bytes_moved,
                 (long long)planned->blocks_moved);
        fail("a node's counters", why);
    }
}

/* ---- cases -------------------------------------------------------------------------------------------------------- */

static void call(struct world *w)
{
    int64_t kind = pick(0, 99);
    if (kind < (w->all_asked ? 40 : 10)) /* a move brings the books up to date, too */
        try_move(w);
    else if (kind < (w->all_asked ? 67 : 20))
        try_sum(w);
    else if (kind < 73)
        try_step(w);
    else if (kind < 79)
        try_neighbours(w);
    else if (kind < 86)
        try_write(w);
    else if (kind < 92)
        check(dcl_keep(w->cube[pick(0, 2)].array, pick(0, 2) == 0), "dcl_keep");
    else if (kind < 94)
        try_remap(w);
    else if (kind < 97)
        try_swap(w);
    else
        try_copy(w);
}

static void step(struct world *w)
{
    w->asks = w->all_asked || pick(0, 5) == 0;
    if (w->asks && !w->all_asked)
        begin_counts(w);
    call(w);
    if (w->asks && !w->all_asked)
        compare_counts(w);
    calls++;
}

static void compare_values(struct world *w)
{
    int32_t found[MOST_ELEMENTS];
    for (int n = 0; n < 3; n++) {
        check(dcl_read(w->cube[n].array, NULL, found, NULL), "dcl_read");
        if (memcmp(found, w->cube[n].value, (size_t)w->count * sizeof *found) != 0)
            fail("dcl_read", "the elements are others");
    }
}

static void run_case(dcl_cluster *cluster)
{
    struct world w = {.cluster = cluster, .nodes = dcl_node_count(cluster)};
    w.all_asked = the_case % 2 == 0;
    w.rank = (int)pick(1, MOST_RANK);
    w.side = pick(w.rank == 3 ? 2 : 4, MOST_SIDE);
    w.count = 1;
    for (int d = 0; d < w.rank; d++)
        w.count *= w.side;
    dcl_map *map = random_map(&w), *other = random_map(&w);
    for (int n = 0; n < 3; n++)
        make(&w, &w.cube[n], n == 2 || pick(0, 1) == 0 ? map : other);
    dcl_map_release(map);
    dcl_map_release(other);
    begin_counts(&w);
    for (int s = 0; s < (w.all_asked ? STEPS : 2 * STEPS); s++)
        step(&w);
    if (w.all_asked)
        compare_counts(&w);
    compare_values(&w);
    for (int n = 0; n < 3; n++) {
        dcl_release(w.cube[n].turned);
        dcl_release(w.cube[n].array);
    }
}

int main(int argc, char **argv)
{
    int64_t seed = argc > 1 ? atoll(argv[1]) : 1, cases = argc > 2 ? atoll(argv[2]) : 100;
    dcl_cluster *cluster = dcl_open(NULL);
    check(dcl_status_of(cluster), "dcl_open");
    if (dcl_node_count(cluster) > MOST_NODES)
        fail("dcl_open", "more nodes than this program takes");
    for (the_case = seed; the_case < seed + cases; the_case++) {
        state = (uint64_t)the_case;
        run_case(cluster);
    }
    printf("right %lld calls, %lld refused\n", (long long)calls, (long long)refused);
    check(dcl_close(cluster), "dcl_close");
    return EXIT_SUCCESS;
}
