/* processes/lend.c - memory that a program gives to dcl_read() and dcl_write(), and takes away when they have returned.
 *
 *   lend kills ROUNDS  the only worker is killed at some moment while another joins; what was read or written is then made
 *                      inaccessible, so that a late access ends the program. Says `failed N`, calls with an error, and `end`.
 *   lend stuck         a kernel's call does not return (the driver is told so): says `took MS STATUS`, the time that
 *                      dcl_read() took, and `end`. */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

enum { ELEMENTS = 2000000, BYTES = ELEMENTS * 4 };

_Noreturn static void wrong(const char *what)
{
    printf("WRONG %s: %s\n", what, dcl_error());
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static void sleep_us(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }

/* The worker process of this program, which has no other child; 0: none is found. */
static pid_t find_child(void)
{
    char path[64];
    int child = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *thread; child == 0 && (thread = readdir(threads)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%.16s/children", thread->d_name);
        FILE *children = fopen(path, "re");
        if (children == NULL)
            continue;
        if (fscanf(children, "%d", &child) != 1)
            child = 0;
        fclose(children);
    }
    closedir(threads);
    return child;
}

struct killing {
    pid_t child;
    long after_us;
};

static void *kill_later(void *argument)
{
    const struct killing *killing = argument;
    sleep_us(killing->after_us);
    kill(killing->child, SIGKILL);
    return NULL;
}

static int32_t *new_memory(void)
{
    int32_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        wrong("mmap");
    for (int e = 0; e < ELEMENTS; e++)
        memory[e] = 5;
    return memory;
}

/* One call after the other, each with memory of its own, until one fails; all of it is freed at the end. */
enum { MOST_CALLS = 400 };

struct calling {
    dcl_array *array;
    int calls, failed;
    bool once; /* write and read, whatever they return */
    int32_t *memory[MOST_CALLS];
};

static void *call_on(void *argument)
{
    struct calling *calling = argument;
    while (calling->once ? calling->calls < 2 : calling->failed == 0 && calling->calls < MOST_CALLS) {
        int32_t *memory = new_memory();
        calling->memory[calling->calls++] = memory;
        bool reads = calling->calls % 2 == 0;
        dcl_status status =
            reads ? dcl_read(calling->array, NULL, memory, NULL) : dcl_write(calling->array, NULL, memory, NULL);
        for (int e = 0; status == DCL_OK && reads && e < ELEMENTS; e++)
            if (memory[e] != 5)
                wrong("dcl_read gave DCL_OK and another number");
        mprotect(memory, BYTES, PROT_NONE);
        calling->failed += status != DCL_OK;
    }
    return NULL;
}

/* @return calls that gave an error. */
static int round_of_kills(void)
{
    dcl_config config;
    if (dcl_config_read(&config) != DCL_OK)
        wrong("dcl_config_read");
    config.workers = "local:1";
    config.spare = 4;
    config.chunk_bytes = 65536; /* many: some have come and are not copied when the worker is lost */
    dcl_cluster *cluster = dcl_open(&config);
    dcl_map *map = dcl_map_parse(cluster, "block");
    static struct calling calling;
    calling = (struct calling){.array = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map)};
    int32_t five = 5;
    if (dcl_fill(calling.array, &five) != DCL_OK || dcl_wait(cluster) != DCL_OK)
        wrong("dcl_fill");
    struct killing killing = {.child = find_child(), .after_us = random() % 150000};
    pthread_t killer, caller;
    if (killing.child <= 0 || pthread_create(&killer, NULL, kill_later, &killing) != 0 ||
        pthread_create(&caller, NULL, call_on, &calling) != 0)
        wrong("no worker process to be killed, or no thread");
    dcl_add_workers(cluster, "local:1");
    static struct calling later; /* with an array on the nodes that are there now */
    dcl_map *now = dcl_map_parse(cluster, "block");
    later = (struct calling){.array = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), now), .once = true};
    dcl_fill(later.array, &five);
    call_on(&later);
    pthread_join(killer, NULL);
    pthread_join(caller, NULL);
    sleep_us(20000); /* in which a call that has ended may do harm */
    dcl_release(later.array);
    dcl_release(now);
    dcl_release(calling.array);
    dcl_release(map);
    dcl_close(cluster);
    for (int c = 0; c < calling.calls; c++)
        munmap(calling.memory[c], BYTES);
    for (int c = 0; c < later.calls; c++)
        munmap(later.memory[c], BYTES);
    return calling.failed + later.failed;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void be_stuck(void)
{
    dcl_cluster *cluster = dcl_open(NULL);
    dcl_map *map = dcl_map_parse(cluster, "block");
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, ELEMENTS), map);
    int32_t *read = new_memory();
    if (A == NULL || dcl_wait(cluster) != DCL_OK)
        wrong("dcl_agile");
    dcl_forall(cluster, "A(i) = 7;", DCL_OUT(A));
    int64_t begin = now_ms();
    dcl_status status = dcl_read(A, NULL, read, NULL);
    printf("took %" PRId64 " %s\n", now_ms() - begin, dcl_status_name(status));
    mprotect(read, BYTES, PROT_NONE);
    fflush(stdout);
    dcl_release(A);
    dcl_release(map);
    dcl_close(cluster);
    munmap(read, BYTES);
}

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "stuck") == 0) {
        be_stuck();
    } else if (count > 2 && strcmp(words[1], "kills") == 0) {
        int failed = 0;
        for (int n = atoi(words[2]); n > 0; n--)
            failed += round_of_kills();
        printf("failed %d\n", failed);
    } else {
        wrong("lend kills ROUNDS, or lend stuck");
    }
    printf("end\n");
    return 0;
}
