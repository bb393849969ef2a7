/* processes/members.c - a program whose worker processes are killed, stopped and added at chosen moments: members SCENE
 *
 * It finds its worker processes by itself. Ends with `end`; WRONG and what was found where something is. */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { ELEMENTS = 5000, MOST_PROCESSES = 16, DEADLINE_MS = 60000 };

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void check(dcl_status status, const char *what)
{
    if (status != DCL_OK)
        wrong(what);
}

static void sleep_ms(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

/* ---- worker processes --------------------------------------------------------------------------------------------- */

struct processes {
    int count;
    int pid[MOST_PROCESSES]; /* in the order in which they were started */
};

static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

/* Children belong to the thread that has started them. */
static void find(struct processes *found)
{
    char path[300], text[4096];
    DIR *folder = opendir("/proc/self/task");
    found->count = 0;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/children", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (char *at = text, *end; found->count < MOST_PROCESSES; at = end) {
            long pid = strtol(at, &end, 10);
            if (end == at)
                break;
            found->pid[found->count++] = (int)pid;
        }
    }
    if (folder != NULL)
        closedir(folder);
    qsort(found->pid, (size_t)found->count, sizeof found->pid[0], compare);
}

static void await_count(int count, struct processes *found)
{
    for (int waited = 0; find(found), found->count != count; waited++) {
        if (waited == DEADLINE_MS) {
            printf("WRONG worker processes: %d; expected %d\n", found->count, count);
            fflush(stdout);
            _Exit(EXIT_FAILURE);
        }
        sleep_ms(1);
    }
}

/* ---- clusters ----------------------------------------------------------------------------------------------------- */

static dcl_array *make_long(dcl_cluster *cluster, int64_t elements)
{
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, elements), map);
    dcl_map_release(map);
    return array;
}

static dcl_array *make(dcl_cluster *cluster) { return make_long(cluster, ELEMENTS); }

static void await_loss(const dcl_cluster *cluster, int node)
{
    for (int waited = 0; dcl_node_is_alive(cluster, node); waited++) {
        if (waited == DEADLINE_MS)
            wrong("the loss is not noticed");
        sleep_ms(1);
    }
}

/* What is made now can be filled and read. */
static void use(dcl_cluster *cluster, const char *what)
{
    static int32_t found[ELEMENTS];
    dcl_array *array = make(cluster);
    if (array == NULL || dcl_fill(array, &(int32_t){7}) != DCL_OK || dcl_read(array, NULL, found, NULL) != DCL_OK)
        wrong(what);
    for (int e = 0; e < ELEMENTS; e++)
        if (found[e] != 7)
            wrong("elements");
    dcl_release(array);
}

/* Every call fails, and says so at once. */
static void expect_the_end(dcl_cluster *cluster, dcl_array *array)
{
    static int32_t found[ELEMENTS];
    if (dcl_fill(array, &(int32_t){1}) == DCL_OK)
        wrong("dcl_fill succeeded without a node");
    if (dcl_write(array, NULL, found, NULL) == DCL_OK || dcl_read(array, NULL, found, NULL) == DCL_OK)
        wrong("dcl_write or dcl_read succeeded without a node");
    if (make(cluster) != NULL)
        wrong("dcl_agile succeeded without a node");
    if (dcl_add_workers(cluster, "local:1") == DCL_OK)
        wrong("dcl_add_workers succeeded without a node");
    if (strstr(dcl_error(), "no node is left") == NULL)
        wrong("the sentence");
}

/* ---- scenes ------------------------------------------------------------------------------------------------------- */

static dcl_cluster *open_some(const char *workers, int32_t silence_ms)
{
    dcl_config config;
    check(dcl_config_read(&config), "dcl_config_read");
    config.workers = workers;
    config.spare = 4;
    if (silence_ms > 0)
        config.silence_ms = (size_t)silence_ms;
    dcl_cluster *cluster = dcl_open(&config);
    if (cluster == NULL)
        wrong("dcl_open");
    return cluster;
}

static void *kill_the_first(void *unused)
{
    struct processes found;
    (void)unused;
    await_count(2, &found);
    kill(found.pid[0], SIGKILL);
    return NULL;
}

/* The only node dies while a newcomer starts. Either all goes on with the newcomer, or nothing does and the call says so. */
static void replace_the_last(void)
{
    static const int32_t some[ELEMENTS];
    pthread_t killer;
    dcl_cluster *cluster = open_some("local:1", 0);
    dcl_array *array = make(cluster);
    check(dcl_fill(array, &(int32_t){3}), "dcl_fill");
    check(dcl_wait(cluster), "dcl_wait");
    if (pthread_create(&killer, NULL, kill_the_first, NULL) != 0)
        wrong("pthread_create");
    dcl_status status = dcl_add_workers(cluster, "local:1");
    pthread_join(killer, NULL);
    await_loss(cluster, 0);
    if (status == DCL_OK) {
        dcl_clear_error(cluster);
        use(cluster, "the newcomer is the only node");
        if (dcl_fill(array, &(int32_t){1}) == DCL_OK || dcl_write(array, NULL, some, NULL) == DCL_OK)
            wrong("dcl_fill or dcl_write succeeded with a part lost");
        dcl_wait(cluster);
        dcl_clear_error(cluster);
        check(dcl_close(cluster), "dcl_close");
        return;
    }
    expect_the_end(cluster, array);
    dcl_close(cluster);
}

static void lose_the_last(void)
{
    struct processes found;
    dcl_cluster *cluster = open_some("local:1", 0);
    dcl_array *array = make(cluster);
    check(dcl_wait(cluster), "dcl_wait");
    await_count(1, &found);
    kill(found.pid[0], SIGKILL);
    await_loss(cluster, 0);
    expect_the_end(cluster, array);
    if (dcl_close(cluster) != DCL_ERR_NODE_LOST)
        wrong("dcl_close");
}

static void *add_two(void *cluster)
{
    static dcl_status status;
    status = dcl_add_workers(cluster, "local:2");
    return &status;
}

/* Two are to join; while earlier operations are waited for, the second one dies. The first one does not stay, either. */
static void join_in_part(void)
{
    struct processes found;
    pthread_t thread;
    void *status;
    dcl_cluster *cluster = open_some("local:1", DEADLINE_MS);
    dcl_array *array = make(cluster);
    check(dcl_wait(cluster), "dcl_wait");
    await_count(1, &found);
    kill(found.pid[0], SIGSTOP); /* so that what is called now does not end */
    check(dcl_fill(array, &(int32_t){3}), "dcl_fill");
    if (pthread_create(&thread, NULL, add_two, cluster) != 0)
        wrong("pthread_create");
    await_count(3, &found);
    sleep_ms(
        1500); /* they have described their devices by then; if not, the call fails earlier, which must do the same */
    kill(found.pid[2], SIGKILL);
    struct processes left;
    await_count(2, &left);
    sleep_ms(200);
    kill(found.pid[0], SIGCONT);
    pthread_join(thread, &status);
    if (*(dcl_status *)status == DCL_OK)
        wrong("dcl_add_workers succeeded with one newcomer of two");
    if (dcl_node_is_alive(cluster, 1) || dcl_node_is_alive(cluster, 2) || !dcl_node_is_alive(cluster, 0))
        wrong("who is alive");
    await_count(1, &left); /* the newcomers' processes have ended */
    dcl_clear_error(cluster);
    use(cluster, "the one that was there before");
    check(dcl_add_workers(cluster, "local:1"), "another newcomer");
    use(cluster, "with another newcomer");
    check(dcl_close(cluster), "dcl_close");
}

/* The sum of elements (i % 1000) / 3, whose bits do not depend on the nodes. */
static double sum_of_thirds(dcl_cluster *cluster, int nodes)
{
    double sum = 0;
    int64_t count = 0;
    dcl_array *array = make(cluster);
    if (array == NULL || dcl_forall(cluster, "array(i) = i % 1000;", DCL_OUT(array)) != DCL_OK ||
        dcl_reduce(cluster, "sum += array(i) / 3.0; count += 1;", DCL_RESULT(sum), DCL_RESULT(count), DCL_IN(array)) !=
            DCL_OK)
        wrong("a reduction");
    if (count != ELEMENTS || dcl_node_count(cluster) != nodes)
        wrong("the elements or nodes of a reduction");
    dcl_release(array);
    return sum;
}

/* Reductions on two nodes, while one of them is lost, on the one that is left, and with a newcomer. */
static void reductions(void)
{
    struct processes found;
    dcl_cluster *cluster = open_some("local:2", 0);
    dcl_array *array = make(cluster);
    double before = sum_of_thirds(cluster, 2), sum = -1;
    check(dcl_fill(array, &(int32_t){1}), "dcl_fill");
    check(dcl_sum(array, &sum), "dcl_sum");
    if (sum != ELEMENTS)
        wrong("the sum");
    await_count(2, &found);
    kill(found.pid[1], SIGKILL);
    sum = -1;
    if (dcl_sum(array, &sum) != DCL_ERR_NODE_LOST || sum != -1)
        wrong("dcl_sum of an array with a lost part");
    await_loss(cluster, dcl_node_is_alive(cluster, 0) ? 1 : 0);
    if (dcl_sum(array, &sum) != DCL_ERR_NODE_LOST || sum != -1)
        wrong("dcl_sum after the loss");
    dcl_clear_error(cluster);
    if (sum_of_thirds(cluster, 2) != before)
        wrong("the bits after a loss");
    dcl_array *left = make(cluster);
    check(dcl_fill(left, &(int32_t){2}), "dcl_fill");
    check(dcl_add_workers(cluster, "local:1"), "dcl_add_workers");
    check(dcl_sum(left, &sum), "dcl_sum of an array without the newcomer");
    if (sum != 2 * ELEMENTS || sum_of_thirds(cluster, 3) != before)
        wrong("the bits with a newcomer");
    dcl_close(cluster);
}

/* More large arrays than there are descriptors: some fail, and say why; all others, and both nodes, go on. */
static void many_arrays(void)
{
    enum { MOST = 130, LONG = 1 << 20 /* 2 MB a node: each part has a descriptor of its own */ };
    static const char body[] = "B(i) = A(1048575 - i) + 1;"; /* what is read lies at the other node */
    static int32_t found[LONG];
    static dcl_array *array[MOST];
    dcl_cluster *cluster = open_some("local:2", 0);
    dcl_array *B = make_long(cluster, LONG);
    int good = 0, failed = 0;
    dcl_array *first = make_long(cluster, LONG);
    check(dcl_forall(cluster, body, DCL_OUT(B), DCL_IN_AS("A", first)), "a body"); /* compiled, and B has its memory */
    check(dcl_wait(cluster), "dcl_wait");
    for (int a = 0; a < MOST; a++) {
        array[a] = make_long(cluster, LONG);
        if (array[a] == NULL || dcl_fill(array[a], &a) != DCL_OK)
            wrong("an array");
    }
    for (int a = 0; a < MOST; a++) {
        dcl_status status = dcl_forall(cluster, body, DCL_OUT(B), DCL_IN_AS("A", array[a]));
        if (status == DCL_OK)
            status = dcl_read(B, NULL, found, NULL);
        for (int e = 0; status == DCL_OK && e < LONG; e++)
            if (found[e] != a + 1)
                wrong("elements");
        good += status == DCL_OK;
        failed += status == DCL_ERR_NOMEM && strstr(dcl_error(), "ulimit -n") != NULL;
        if (good + failed <= a)
            wrong("how an array failed");
    }
    if (good < 20 || failed < 20 || !dcl_node_is_alive(cluster, 0) || !dcl_node_is_alive(cluster, 1)) {
        printf("WRONG %d arrays can be used and %d have failed\n", good, failed);
        fflush(stdout);
        _Exit(EXIT_FAILURE);
    }
    for (int a = 0; a < MOST; a++)
        dcl_release(array[a]);
    dcl_wait(cluster);
    dcl_clear_error(cluster);
    use(cluster, "when the others are released");
    dcl_release(first);
    dcl_release(B);
    check(dcl_close(cluster), "dcl_close");
}

int main(int count, char **list)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {{"many-arrays", many_arrays},
                  {"replace-the-last", replace_the_last},
                  {"lose-the-last", lose_the_last},
                  {"reductions", reductions},
                  {"join-in-part", join_in_part}};
    for (size_t s = 0; count == 2 && s < sizeof scenes / sizeof scenes[0]; s++)
        if (strcmp(scenes[s].name, list[1]) == 0) {
            scenes[s].play();
            printf("end\n");
            return EXIT_SUCCESS;
        }
    fprintf(stderr, "usage: members SCENE\n");
    return 2;
}
