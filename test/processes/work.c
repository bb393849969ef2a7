/* processes/work.c - a program that computes until its seconds are over: work SEED SECONDS [FILE [MORE]]
 *
 * Random calls on groups of arrays, each group over its own map and some over some of the nodes only. What they must
 * hold is computed beside them. It speaks in lines:
 *
 *   ready N              the cluster is open and has N nodes
 *   lost NS NS C NS SENTENCE  when the log said so, and when a call did (CLOCK_MONOTONIC); 1 if that call had to wait for
 *                        a compiler, else 0; the longest time that such a call took before the loss
 *   kept N failed M      after it: so many arrays hold what they must, so many have failed, as they must or may
 *   again                new arrays over the nodes that are left are right
 *   noticed NS           the log said that a node is lost, and only dcl_close() said so
 *   end STATUS           dcl_close() gave this; nothing was WRONG
 *
 * After a loss it goes on. FILE: arrays are saved there now and then. MORE, "local:1": now and then a node joins. One
 * that is killed before it has joined costs nothing but that call: the line is `refused NS SENTENCE`. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shadow.h"

enum { MOST_BODIES = 256 };

typedef struct work {
    dcl_cluster *cluster;
    uint64_t random;
    int groups;
    const char *file, *more;
    history history;
    _Atomic int64_t noticed_ns; /* when the log said that a node is lost; 0: not yet */
    char body[MOST_BODIES][96]; /* that have been used */
    int body_count;
    bool compiled;       /* the last call had to wait for a compiler */
    int64_t compiler_ns; /* the longest time of such a call before the loss */
} work;

static uint64_t draw(work *work, uint64_t below)
{
    work->random ^= work->random << 13;
    work->random ^= work->random >> 7;
    work->random ^= work->random << 17;
    return (work->random >> 11) % below;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static shadow *shadow_of(work *work, int number) { return &work->history.shadow[number]; }

/* By a thread of the library. */
static void hear_log(void *user, int level, const char *line)
{
    work *work = user;
    int64_t never = 0;
    if (strstr(line, " is lost: ") != NULL)
        atomic_compare_exchange_strong(&work->noticed_ns, &never, now_ns());
    fprintf(stderr, "log %d: %s\n", level, line);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

/* Over nodes that are alive, all or some. */
static dcl_map *draw_map(work *work)
{
    static const char *const texts[] = {
        "block", "cyclic", "block,*", "rows:cyclic(3x5)", "columns:block(4x4)", "cyclic(3),cyclic(2)"};
    dcl_map *all = dcl_map_parse(work->cluster, texts[draw(work, sizeof texts / sizeof texts[0])]);
    int count = dcl_map_node_count(all), some[64], chosen = 0;
    if (count < 2 || draw(work, 3) == 0)
        return all;
    for (int place = 0; place < count && chosen < 64; place++)
        if (draw(work, 2) == 0)
            some[chosen++] = dcl_map_node(all, place);
    if (chosen == 0)
        some[chosen++] = dcl_map_node(all, (int)draw(work, (uint64_t)count));
    dcl_map *map = dcl_map_on(all, chosen, some);
    dcl_map_release(all);
    return map;
}

static void drop_group(work *work, int group)
{
    for (int n = 0; n < PER_GROUP; n++)
        dcl_release(shadow_of(work, group * PER_GROUP + n)->array);
}

/* @return false: a node of the map was lost meanwhile. */
static bool try_group(work *work, int group, int64_t extent, dcl_map *map)
{
    bool whole = true;
    for (int n = 0; n < PER_GROUP; n++) {
        shadow *made = shadow_of(work, group * PER_GROUP + n);
        memset(made, 0, sizeof *made);
        snprintf(made->name, sizeof made->name, "%c%d", 'a' + n, group);
        made->extent = extent;
        made->array = dcl_agile(dcl_grid_2d(DCL_INT32, extent, extent), map);
        if (made->array == NULL && dcl_status_of(NULL) != DCL_ERR_NODE_LOST)
            wrong("an array cannot be made: %s", dcl_error());
        whole &= made->array != NULL;
    }
    if (!whole)
        drop_group(work, group);
    return whole;
}

static void make_group(work *work, int group)
{
    int64_t extent = draw(work, 2) == 0 ? 32 : 8 + (int64_t)draw(work, MOST_EXTENT - 8);
    for (int attempt = 0; attempt < 3; attempt++) {
        dcl_map *map = draw_map(work);
        if (map == NULL)
            wrong("a map over the nodes that are left cannot be made: %s", dcl_error());
        bool made = try_group(work, group, extent, map);
        dcl_map_release(map);
        if (made)
            return;
    }
    wrong("an array over the nodes that are left cannot be made: %s", dcl_error());
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* Only the loss of a node may refuse a call. */
static bool succeeded(dcl_status status, event *event)
{
    if (status == DCL_OK)
        return true;
    if (event != NULL)
        event->refused = true;
    if (status != DCL_ERR_NODE_LOST)
        wrong("a call gave %s: %s", dcl_status_name(status), dcl_error());
    return false;
}

static void check_all_alive(work *work, const shadow *shadow)
{
    if (!shadow->may_fail && dcl_status_of(work->cluster) == DCL_OK)
        wrong("%s was refused, but no node is lost: %s", shadow->name, dcl_error());
}

static bool is_new(work *work, const char *body)
{
    for (int b = 0; b < work->body_count; b++)
        if (strcmp(work->body[b], body) == 0)
            return false;
    if (work->body_count < MOST_BODIES)
        snprintf(work->body[work->body_count++], sizeof work->body[0], "%s", body);
    return true;
}

static void compute(work *work, int x, int y, int z)
{
    static const char *const forms[] = {
        "%1$s(i,j) = %2$s(i,j) + v;",
        "%1$s(i,j) = %2$s(j,i) * 3 + %3$s(i,j);",
        "%1$s(i,j) = i > 0 ? %2$s(i-1,j) - %3$s(i,j) : v;",
        "%1$s(i,j) = %2$s(i,j) ^ v; %3$s(j,i) = i + j * v;",
    };
    char body[96];
    int form = (int)draw(work, 4), v = (int)draw(work, 1000);
    shadow *X = shadow_of(work, x), *Y = shadow_of(work, y), *Z = shadow_of(work, z);
    snprintf(body, sizeof body, forms[form], X->name, Y->name, Z->name);
    dcl_arg args[] = {DCL_OUT_AS(X->name, X->array), DCL_IN_AS(Y->name, Y->array),
                      form == 3 ? DCL_OUT_AS(Z->name, Z->array) : DCL_IN_AS(Z->name, Z->array), DCL_VALUE(v)};
    event *event = note_event(&work->history, x, form == 3 ? z : -1);
    event->in[0] = y;
    event->in[1] = form == 1 || form == 2 ? z : -1;
    event->overwrites = true;
    X->is_named = Y->is_named = true;
    Z->is_named |= form != 0;
    if (form == 0) /* Z is not in it */
        args[2] = args[3];
    work->compiled = is_new(work, body);
    succeeded(dcl_forall_n(work->cluster, body, form == 0 ? 3 : 4, args), event);
    int64_t n = X->extent;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            uint32_t there = (uint32_t)Y->value[i * n + j], other = (uint32_t)Z->value[i * n + j], value = 0;
            if (form == 0)
                value = there + (uint32_t)v;
            else if (form == 1)
                value = (uint32_t)Y->value[j * n + i] * 3 + other;
            else if (form == 2)
                value = i > 0 ? (uint32_t)Y->value[(i - 1) * n + j] - other : (uint32_t)v;
            else
                value = there ^ (uint32_t)v;
            X->value[i * n + j] = (int32_t)value;
        }
    for (int64_t i = 0; i < n && form == 3; i++)
        for (int64_t j = 0; j < n; j++)
            Z->value[j * n + i] = (int32_t)(i + j * v);
}

static void read_all(work *work, int x)
{
    static int32_t found[MOST_EXTENT * MOST_EXTENT];
    shadow *X = shadow_of(work, x);
    if (succeeded(dcl_read(X->array, NULL, found, NULL), NULL))
        compare(X, found, "read");
    else
        check_all_alive(work, X);
}

/* With DCL_FANOUT=2, partial results of three nodes are combined up a tree. */
static void sum(work *work, int x)
{
    shadow *X = shadow_of(work, x);
    int64_t total = 0, expected = 0;
    char body[96];
    for (int64_t e = 0; e < X->extent * X->extent; e++)
        expected += X->value[e];
    snprintf(body, sizeof body, "total += (long)%s(i,j);", X->name);
    X->is_named = true;
    work->compiled = is_new(work, body);
    if (!succeeded(dcl_reduce(work->cluster, body, DCL_RESULT(total), DCL_IN_AS(X->name, X->array)), NULL))
        check_all_alive(work, X);
    else if (total != expected)
        wrong("the sum of %s is %" PRId64 "; expected %" PRId64, X->name, total, expected);
}

static void write_box(work *work, int x)
{
    static int32_t source[MOST_EXTENT * MOST_EXTENT];
    shadow *X = shadow_of(work, x);
    int64_t n = X->extent, low[2], count[2];
    for (int d = 0; d < 2; d++) {
        low[d] = draw(work, 3) == 0 ? 0 : (int64_t)draw(work, (uint64_t)n);
        count[d] = low[d] == 0 ? n : 1 + (int64_t)draw(work, (uint64_t)(n - low[d]));
    }
    for (int64_t e = 0; e < count[0] * count[1]; e++)
        source[e] = (int32_t)draw(work, 100000);
    dcl_box box = dcl_box_nd(2, low, count);
    event *event = note_event(&work->history, x, -1);
    event->overwrites = count[0] == n && count[1] == n;
    succeeded(dcl_write(X->array, &box, source, NULL), event);
    for (int64_t i = 0; i < count[0]; i++)
        memcpy(&X->value[(low[0] + i) * n + low[1]], &source[i * count[1]], (size_t)count[1] * sizeof source[0]);
}

static void fill(work *work, int x)
{
    shadow *X = shadow_of(work, x);
    int32_t value = (int32_t)draw(work, 1000);
    event *event = note_event(&work->history, x, -1);
    event->overwrites = true;
    succeeded(dcl_fill(X->array, &value), event);
    for (int64_t e = 0; e < X->extent * X->extent; e++)
        X->value[e] = value;
}

/* What is read at that node afterwards may be a copy; elements stay what they are. */
static void move(work *work, int x)
{
    shadow *X = shadow_of(work, x);
    int64_t low[2], count[2];
    for (int d = 0; d < 2; d++) {
        low[d] = (int64_t)draw(work, (uint64_t)X->extent);
        count[d] = 1 + (int64_t)draw(work, (uint64_t)(X->extent - low[d]));
    }
    dcl_box box = dcl_box_nd(2, low, count);
    bool all = draw(work, 2) == 0;
    int node = (int)draw(work, (uint64_t)dcl_node_count(work->cluster));
    if (dcl_node_is_alive(work->cluster, node))
        succeeded(dcl_move(X->array, all ? NULL : &box, node), NULL);
}

static void swap(work *work, int x, int y)
{
    static int32_t kept[MOST_EXTENT * MOST_EXTENT];
    shadow *X = shadow_of(work, x), *Y = shadow_of(work, y);
    event *event = note_event(&work->history, x, y);
    event->swaps = true;
    if (!succeeded(dcl_swap(X->array, Y->array), event))
        return;
    memcpy(kept, X->value, sizeof kept);
    memcpy(X->value, Y->value, sizeof kept);
    memcpy(Y->value, kept, sizeof kept);
}

static void save(work *work, int x)
{
    shadow *X = shadow_of(work, x);
    if (work->file != NULL && !succeeded(dcl_save_npy(X->array, work->file), NULL))
        check_all_alive(work, X);
}

static bool wait_all(work *work)
{
    bool complete = succeeded(dcl_wait(work->cluster), NULL);
    if (complete)
        forget_events(&work->history);
    return complete;
}

static bool is_of_newcomer(const char *sentence)
{
    return strstr(sentence, "did not start") != NULL || strstr(sentence, "before it had joined") != NULL;
}

static void let_join(work *work)
{
    int nodes = dcl_node_count(work->cluster);
    dcl_status status = work->more != NULL ? dcl_add_workers(work->cluster, work->more) : DCL_ERR_UNSUPPORTED;
    if (status == DCL_OK && dcl_node_count(work->cluster) != nodes + 1)
        wrong("a node has joined %d, but there are %d", nodes, dcl_node_count(work->cluster));
    if (status == DCL_ERR_UNSUPPORTED && dcl_node_count(work->cluster) > nodes)
        wrong("a node was refused, but there are more: %s", dcl_error());
    if (status == DCL_OK)
        return;
    if (status == DCL_ERR_UNSUPPORTED)
        work->more = NULL; /* no number is free */
    else if (is_of_newcomer(dcl_error()))
        printf("refused %" PRId64 " %s\n", now_ns(), dcl_error());
    else if (status != DCL_ERR_NODE_LOST)
        wrong("a node could not join: %s: %s", dcl_status_name(status), dcl_error());
    if (status == DCL_ERR_UNSUPPORTED || is_of_newcomer(dcl_error()))
        dcl_clear_error(work->cluster);
    fflush(stdout);
}

static void renew(work *work, int group)
{
    drop_group(work, group);
    make_group(work, group);
}

/* A call on a group, now and then one that reads another group of the same extent. */
static void step(work *work)
{
    int group = (int)draw(work, (uint64_t)work->groups), first = group * PER_GROUP;
    int x = first + (int)draw(work, PER_GROUP), y = first + (x - first + 1) % PER_GROUP,
        z = first + (x - first + 2) % PER_GROUP;
    int other = (int)draw(work, MOST_GROUPS * 4);
    if (other < work->groups && other != group &&
        shadow_of(work, other * PER_GROUP)->extent == shadow_of(work, x)->extent)
        y = other * PER_GROUP;
    int choice = (int)draw(work, 22);
    if (work->more != NULL && draw(work, 30) == 0)
        let_join(work);
    else if (choice < 9)
        compute(work, x, y, z);
    else if (choice < 10)
        read_all(work, x);
    else if (choice < 12)
        write_box(work, x);
    else if (choice < 13)
        fill(work, x);
    else if (choice < 14)
        swap(work, x, z);
    else if (choice < 15)
        save(work, x);
    else if (choice < 19)
        move(work, x);
    else if (choice < 21)
        sum(work, x);
    else if (wait_all(work) && draw(work, 2) == 0)
        renew(work, group);
}

/* ---- losses ------------------------------------------------------------------------------------------------------- */

/* The sentence names the arrays that bodies have named and that had a part on the node, and no others. */
static void check_names(work *work, const char *sentence)
{
    const char *list = strstr(sentence, "have failed: ");
    for (int n = 0; n < work->history.shadow_count; n++) {
        const shadow *shadow = shadow_of(work, n);
        bool told = list != NULL && strstr(list, shadow->name) != NULL;
        bool lost = has_lost_part(work->cluster, shadow->array);
        if (shadow->is_named && lost && !told)
            wrong("%s had a part on the node, but is not named: %s", shadow->name, sentence);
        if (told && !lost)
            wrong("%s is named, but had no part on the node: %s", shadow->name, sentence);
    }
}

static void check_arrays(work *work)
{
    static int32_t found[MOST_EXTENT * MOST_EXTENT];
    int kept = 0, failed = 0;
    for (int n = 0; n < work->history.shadow_count; n++) {
        shadow *shadow = shadow_of(work, n);
        dcl_status status = dcl_read(shadow->array, NULL, found, NULL);
        if (status == DCL_OK && !shadow->may_fail) /* else a refused call may have left it as it was before */
            compare(shadow, found, "after the loss");
        bool lost = has_lost_part(work->cluster, shadow->array);
        if (status != DCL_OK && status != DCL_ERR_NODE_LOST)
            wrong("%s gives %s after the loss: %s", shadow->name, dcl_status_name(status), dcl_error());
        if (status != DCL_OK && !shadow->may_fail)
            wrong("%s has no part on the lost node and was computed from none, but: %s", shadow->name, dcl_error());
        if (status == DCL_OK && lost)
            wrong("%s has a part on the lost node, but can be read", shadow->name);
        kept += status == DCL_OK;
        failed += status != DCL_OK;
    }
    printf("kept %d failed %d\n", kept, failed);
    fflush(stdout);
}

/* Groups with a part on the lost node are made anew; others that have failed are healed by overwriting. */
static void repair(work *work)
{
    for (int group = 0; group < work->groups; group++) {
        bool lost = has_lost_part(work->cluster, shadow_of(work, group * PER_GROUP)->array);
        if (lost)
            renew(work, group);
        for (int n = group * PER_GROUP; n < (group + 1) * PER_GROUP; n++) {
            shadow *shadow = shadow_of(work, n);
            dcl_status status = dcl_write(shadow->array, NULL, shadow->value, NULL);
            if (status != DCL_OK)
                wrong("%s cannot be overwritten: %s", shadow->name, dcl_error());
            shadow->may_fail = false;
        }
    }
    for (int group = 0; group < work->groups; group++) {
        int first = group * PER_GROUP;
        compute(work, first, first + 1, first + 2);
        read_all(work, first);
    }
}

static void attend_loss(work *work)
{
    char sentence[4096];
    snprintf(sentence, sizeof sentence, "%s", dcl_error());
    for (char *at = sentence; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    printf("lost %" PRId64 " %" PRId64 " %d %" PRId64 " %s\n", atomic_exchange(&work->noticed_ns, 0), now_ns(),
           work->compiled, work->compiler_ns, sentence);
    fflush(stdout);
    check_names(work, sentence);
    follow_loss(&work->history, work->cluster);
    check_arrays(work);
    dcl_wait(work->cluster);
    dcl_clear_error(work->cluster); /* of what was under way, and of the reads that had to be refused */
    repair(work);
    if (dcl_wait(work->cluster) != DCL_OK)
        wrong("after the loss a new error: %s", dcl_error());
    forget_events(&work->history);
    printf("again\n");
    fflush(stdout);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void run(work *work, double seconds)
{
    int64_t end = now_ns() + (int64_t)(seconds * 1e9);
    while (now_ns() < end) {
        int64_t begin_ns = now_ns();
        work->compiled = false;
        step(work);
        if (work->history.event_count > MOST_EVENTS - 64)
            wait_all(work);
        dcl_status status = dcl_status_of(work->cluster);
        if (status == DCL_ERR_NODE_LOST)
            attend_loss(work);
        else if (work->compiled && now_ns() - begin_ns > work->compiler_ns)
            work->compiler_ns = now_ns() - begin_ns;
        if (status != DCL_OK && status != DCL_ERR_NODE_LOST)
            wrong("the cluster has %s: %s", dcl_status_name(status), dcl_error());
    }
}

int main(int count, char **list)
{
    static work work;
    if (count < 3) {
        fprintf(stderr, "usage: work SEED SECONDS [FILE [MORE]]\n");
        return 2;
    }
    work.random = strtoull(list[1], NULL, 10) * 2 + 0x9e3779b97f4a7c15u;
    work.file = count > 3 ? list[3] : NULL;
    work.more = count > 4 ? list[4] : NULL;
    dcl_config config;
    if (dcl_config_read(&config) == DCL_OK) {
        config.log = "warn";
        config.log_fn = hear_log;
        config.log_user = &work;
        work.cluster = dcl_open(&config);
    }
    if (work.cluster == NULL) {
        printf("closed %s\n", dcl_error());
        return 3;
    }
    printf("ready %d\n", dcl_node_count(work.cluster));
    fflush(stdout);
    work.groups = 2 + (int)draw(&work, MOST_GROUPS - 1);
    work.history.shadow_count = work.groups * PER_GROUP;
    for (int group = 0; group < work.groups; group++)
        make_group(&work, group);
    run(&work, strtod(list[2], NULL));
    for (int group = 0; group < work.groups; group++)
        drop_group(&work, group);
    dcl_status status = dcl_close(work.cluster);
    if (status == DCL_ERR_NODE_LOST && work.noticed_ns != 0)
        printf("noticed %" PRId64 "\n", work.noticed_ns);
    printf("end %s\n", dcl_status_name(status));
    return status == DCL_OK || status == DCL_ERR_NODE_LOST ? EXIT_SUCCESS : EXIT_FAILURE;
}
