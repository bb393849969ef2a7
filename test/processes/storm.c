/* processes/storm.c - calls while a worker process is killed: storm SEED CALLS FILE
 *
 * Joins, reads, writes and saves in random order, and a second thread that reads all the while. Memory that was given to a
 * call cannot be touched once the call has returned: whoever does it later ends the program. It speaks in lines:
 *
 *   ready            the cluster is open
 *   begin CALL       "join", "read", "write" or "save" begins now
 *   lost SENTENCE    a call has failed, and a node is lost
 *   again            nodes that are left serve right; where none is left, no call succeeds any more
 *   end STATUS       dcl_close() gave this
 *
 * One process is killed from outside, at most: a second loss, an error of any other kind, and wrong elements are WRONG.
 * An array is over all nodes, so every call on it may fail once. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <dcl.h>

enum { MOST_ELEMENTS = 300000, HELD_BUFFERS = 64, NEWCOMERS = 3 };

/* Memory for one call, which nobody may touch afterwards. */
typedef struct buffers {
    void *held[HELD_BUFFERS];
    size_t bytes[HELD_BUFFERS];
    int next;
} buffers;

typedef struct storm {
    dcl_cluster *cluster;
    uint64_t random;
    const char *file;
    dcl_array *X; /* what is read, written and saved */
    int64_t elements;
    int32_t value[MOST_ELEMENTS]; /* of X */
    int32_t saved[MOST_ELEMENTS]; /* what FILE holds */
    int64_t saved_elements;       /* -1: there is no file */
    int joins;
    bool lost; /* the one loss has been seen */
    bool over; /* no node is left */
    buffers buffers;
    atomic_bool stop; /* of the reading thread */
} storm;

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void say(const char *word, const char *rest)
{
    printf("%s%s%s\n", word, rest[0] != '\0' ? " " : "", rest);
    fflush(stdout);
}

static uint64_t draw(storm *storm, uint64_t below)
{
    storm->random ^= storm->random << 13;
    storm->random ^= storm->random >> 7;
    storm->random ^= storm->random << 17;
    return (storm->random >> 11) % below;
}

/* ---- memory that ends with the call ------------------------------------------------------------------------------- */

static int32_t *take_buffer(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        wrong("no memory");
    return memory;
}

static void end_buffer(buffers *buffers, void *memory, size_t bytes)
{
    int place = buffers->next++ % HELD_BUFFERS;
    if (mprotect(memory, bytes, PROT_NONE) != 0)
        wrong("mprotect");
    if (buffers->held[place] != NULL)
        munmap(buffers->held[place], buffers->bytes[place]);
    buffers->held[place] = memory;
    buffers->bytes[place] = bytes;
}

/* ---- losses ------------------------------------------------------------------------------------------------------- */

static int alive(const storm *storm)
{
    int count = 0;
    for (int n = 0; n < dcl_node_count(storm->cluster); n++)
        count += dcl_node_is_alive(storm->cluster, n);
    return count;
}

static bool succeeded(const storm *storm, dcl_status status, const char *what)
{
    if (status != DCL_OK && status != DCL_ERR_NODE_LOST)
        wrong(what);
    if (status != DCL_OK && storm->lost)
        wrong(what); /* the loss was told before, and nobody else was killed */
    return status == DCL_OK;
}

static dcl_array *make_array(dcl_cluster *cluster, int64_t elements)
{
    dcl_map *map = dcl_map_parse(cluster, "cyclic(1000)");
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, elements), map);
    dcl_map_release(map);
    return array;
}

static void fill_values(storm *storm)
{
    for (int64_t e = 0; e < storm->elements; e++)
        storm->value[e] = (int32_t)draw(storm, 1000000);
}

static void expect_values(storm *storm, const char *what)
{
    static int32_t found[MOST_ELEMENTS];
    if (dcl_read(storm->X, NULL, found, NULL) != DCL_OK)
        wrong(what);
    if (memcmp(found, storm->value, (size_t)storm->elements * sizeof found[0]) != 0)
        wrong("elements read are others");
}

/* A cluster without nodes is to be closed: whatever is called says so, and nothing succeeds. */
static void expect_the_end(storm *storm)
{
    dcl_array *array = make_array(storm->cluster, 10);
    if (array != NULL && dcl_fill(array, &(int32_t){5}) == DCL_OK)
        wrong("dcl_fill succeeded, but no node is left");
    dcl_release(array);
    if (dcl_add_workers(storm->cluster, "local:1") == DCL_OK)
        wrong("dcl_add_workers succeeded, but no node was left");
    storm->over = true;
}

static void begin_again(storm *storm)
{
    dcl_release(storm->X);
    storm->X = NULL;
    dcl_clear_error(storm->cluster);
    if (alive(storm) == 0) {
        expect_the_end(storm);
        return;
    }
    storm->elements = 1 + (int64_t)draw(storm, MOST_ELEMENTS - 1);
    fill_values(storm);
    storm->X = make_array(storm->cluster, storm->elements);
    if (storm->X == NULL || dcl_write(storm->X, NULL, storm->value, NULL) != DCL_OK)
        wrong("a new array after a loss");
    expect_values(storm, "a new array after a loss");
}

/* @param failed  of a call. The loss may also have passed by without anybody noticing. */
static void follow_loss(storm *storm, bool failed)
{
    if (!failed)
        return;
    char sentence[600];
    snprintf(sentence, sizeof sentence, "%s", dcl_error());
    if (alive(storm) == dcl_node_count(storm->cluster))
        wrong("a call says that a node is lost, but all are alive");
    say("lost", sentence);
    storm->lost = true;
    begin_again(storm);
    say("again", "");
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* A newcomer that was taken in serves, unless it is the one that is killed. */
static bool join(storm *storm)
{
    if (storm->joins == NEWCOMERS)
        return true;
    storm->joins++;
    int node = dcl_node_count(storm->cluster);
    if (!succeeded(storm, dcl_add_workers(storm->cluster, "local:1"), "dcl_add_workers"))
        return false;
    char text[40];
    int32_t five = 0;
    snprintf(text, sizeof text, "block;nodes=%d", node);
    dcl_map *map = dcl_map_parse(storm->cluster, text);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, 1), map);
    dcl_status status = array != NULL ? dcl_fill(array, &(int32_t){5}) : dcl_status_of(NULL);
    if (status == DCL_OK)
        status = dcl_read(array, NULL, &five, NULL);
    if (status == DCL_OK && five != 5)
        wrong("a newcomer's element is another");
    bool good = succeeded(storm, status, "a newcomer was taken in, but does not serve");
    dcl_release(array);
    dcl_map_release(map);
    return good;
}

static bool read_all(storm *storm)
{
    size_t bytes = (size_t)storm->elements * sizeof(int32_t);
    int32_t *found = take_buffer(bytes);
    memset(found, 0x5a, bytes);
    bool good = succeeded(storm, dcl_read(storm->X, NULL, found, NULL), "dcl_read");
    if (good && memcmp(found, storm->value, bytes) != 0)
        wrong("elements read are others");
    end_buffer(&storm->buffers, found, bytes);
    return good;
}

static bool write_all(storm *storm)
{
    size_t bytes = (size_t)storm->elements * sizeof(int32_t);
    int32_t *source = take_buffer(bytes);
    fill_values(storm);
    memcpy(source, storm->value, bytes);
    bool good = succeeded(storm, dcl_write(storm->X, NULL, source, NULL), "dcl_write");
    end_buffer(&storm->buffers, source, bytes);
    return good;
}

/* FILE is what was saved last, whole, whatever happened to the save after it. */
static void check_file(const storm *storm)
{
    static int32_t found[MOST_ELEMENTS];
    FILE *file = fopen(storm->file, "rb");
    if (file == NULL && storm->saved_elements < 0)
        return;
    size_t bytes = (size_t)storm->saved_elements * sizeof found[0];
    if (file == NULL || fseek(file, -(long)bytes, SEEK_END) != 0 || fread(found, 1, bytes, file) != bytes ||
        memcmp(found, storm->saved, bytes) != 0)
        wrong("the file is not what was saved last");
    fclose(file);
}

static bool save(storm *storm)
{
    bool good = succeeded(storm, dcl_save_npy(storm->X, storm->file), "dcl_save_npy");
    if (good) {
        storm->saved_elements = storm->elements;
        memcpy(storm->saved, storm->value, (size_t)storm->elements * sizeof(int32_t));
    }
    check_file(storm);
    return good;
}

/* ---- the second thread -------------------------------------------------------------------------------------------- */

static void *keep_reading(void *argument)
{
    enum { ELEMENTS = 5000 };
    storm *storm = argument;
    buffers buffers = {0};
    dcl_array *Y = make_array(storm->cluster, ELEMENTS);
    dcl_status status = Y != NULL ? DCL_OK : dcl_status_of(NULL);
    while (status == DCL_OK && !atomic_load(&storm->stop)) {
        int32_t *found = take_buffer(ELEMENTS * sizeof(int32_t));
        status = dcl_read(Y, NULL, found, NULL);
        for (int e = 0; status == DCL_OK && e < ELEMENTS; e++)
            if (found[e] != 0)
                wrong("an element of a new array is not zero");
        end_buffer(&buffers, found, ELEMENTS * sizeof(int32_t));
    }
    if (status != DCL_OK && status != DCL_ERR_NODE_LOST)
        wrong("dcl_read of the second thread");
    dcl_release(Y);
    while (!atomic_load(&storm->stop)) /* what it held is looked after to the end */
        sched_yield();
    return NULL;
}

int main(int count, char **list)
{
    static const struct {
        const char *name;
        bool (*call)(storm *storm);
    } calls[] = {{"join", join}, {"read", read_all}, {"write", write_all}, {"save", save}};
    static storm storm = {.elements = MOST_ELEMENTS, .saved_elements = -1};
    if (count != 4 || (storm.cluster = dcl_open(NULL)) == NULL) {
        fprintf(stderr, "usage: storm SEED CALLS FILE; %s\n", dcl_error());
        return 2;
    }
    storm.random = strtoull(list[1], NULL, 10) * 2654435761u + 1;
    storm.file = list[3];
    storm.X = make_array(storm.cluster, storm.elements);
    if (storm.X == NULL)
        wrong("dcl_agile");
    pthread_t thread;
    if (pthread_create(&thread, NULL, keep_reading, &storm) != 0)
        return 2;
    say("ready", "");
    for (int n = 0; n < atoi(list[2]) && !storm.over; n++) {
        int which = (int)draw(&storm, sizeof calls / sizeof calls[0]);
        say("begin", calls[which].name);
        follow_loss(&storm, !calls[which].call(&storm));
    }
    atomic_store(&storm.stop, true);
    pthread_join(thread, NULL);
    dcl_clear_error(storm.cluster); /* which the second thread may have met first */
    dcl_release(storm.X);
    printf("end %s\n", dcl_status_name(dcl_close(storm.cluster)));
    return EXIT_SUCCESS;
}
