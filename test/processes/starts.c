/* processes/starts.c - a program that opens and closes a cluster again and again: starts ROUNDS WARM_UP
 *
 * After the first WARM_UP rounds, each ends with no descriptor, thread or mapping and no child more than there were before
 * it. Prints `descriptors N threads N mappings N children N` after the warm-up and at the end, and
 * `open MEDIAN LONGEST close MEDIAN LONGEST` in milliseconds. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <dcl.h>

struct held {
    int descriptors, threads, mappings, children;
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    if (folder == NULL)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Of memory that is shared: the allocator maps private memory as it likes. */
static int count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[4096];
    int count = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        count += strstr(line, "memfd:") != NULL || strstr(line, "/dev/shm/") != NULL;
    if (file != NULL)
        fclose(file);
    return count;
}

static int count_children(void)
{
    char path[64], text[4096] = "";
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) != NULL)
        for (const char *at = text; *at != '\0'; at++)
            count += *at == ' ';
    fclose(file);
    return count;
}

static struct held look(void)
{
    return (struct held){count_entries("/proc/self/fd"), count_entries("/proc/self/task"), count_mappings(),
                         count_children()};
}

/* Threads that have been joined stay listed for a moment. */
static struct held look_again(struct held expected)
{
    struct held now = look();
    for (int tries = 0; tries < 100 && memcmp(&now, &expected, sizeof now) != 0; tries++) {
        usleep(1000);
        now = look();
    }
    return now;
}

static void print_held(struct held held)
{
    printf("descriptors %d threads %d mappings %d children %d\n", held.descriptors, held.threads, held.mappings,
           held.children);
    fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* An array is used, so that memory is shared too. */
static bool use(dcl_cluster *cluster)
{
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *array = dcl_agile(dcl_grid_1d(DCL_INT32, 1000), map);
    int32_t seven = 7, found[1000] = {0};
    dcl_fill(array, &seven);
    bool right = dcl_read(array, NULL, found, NULL) == DCL_OK && found[0] == 7 && found[999] == 7;
    dcl_release(array);
    dcl_release(map);
    return right;
}

static bool round_of(double *open_out, double *close_out)
{
    double begin = now_ms();
    dcl_cluster *cluster = dcl_open(NULL);
    *open_out = now_ms() - begin;
    if (cluster == NULL || !use(cluster)) {
        printf("WRONG %s\n", dcl_error());
        return false;
    }
    begin = now_ms();
    if (dcl_close(cluster) != DCL_OK) {
        printf("WRONG %s\n", dcl_error());
        return false;
    }
    *close_out = now_ms() - begin;
    return true;
}

int main(int count, char **list)
{
    int rounds = count > 2 ? atoi(list[1]) : 0, warm_up = count > 2 ? atoi(list[2]) : 0;
    double *opens = calloc((size_t)rounds + 1, sizeof *opens), *closes = calloc((size_t)rounds + 1, sizeof *closes);
    if (rounds < 1 || opens == NULL || closes == NULL) {
        fprintf(stderr, "usage: starts ROUNDS WARM_UP\n");
        return 2;
    }
    double unused;
    for (int n = 0; n < warm_up; n++)
        if (!round_of(&unused, &unused))
            return EXIT_FAILURE;
    struct held before = look();
    print_held(before);
    for (int n = 0; n < rounds; n++) {
        if (!round_of(&opens[n], &closes[n]))
            return EXIT_FAILURE;
        struct held after = look_again(before);
        if (memcmp(&after, &before, sizeof after) != 0) {
            printf("WRONG after round %d: ", n);
            print_held(after);
            return EXIT_FAILURE;
        }
    }
    print_held(look_again(before));
    qsort(opens, (size_t)rounds, sizeof *opens, compare);
    qsort(closes, (size_t)rounds, sizeof *closes, compare);
    printf("open %.1f %.1f close %.1f %.1f\n", opens[rounds / 2], opens[rounds - 1], closes[rounds / 2],
           closes[rounds - 1]);
    free(closes);
    free(opens);
    return EXIT_SUCCESS;
}
