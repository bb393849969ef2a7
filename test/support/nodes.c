/* test/support/nodes.c - clusters of real nodes for tests of the public interface. */
#include "support/nodes.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cluster.h"

/* Ask PoCL for a number of devices, which it reads once per process. A value that the user has set is kept. So a test that
 * asks for more later would be skipped unnoticed: it fails. */
static void ask_for_devices(int nodes)
{
    static int asked;
    if (asked == 0 && getenv("POCL_DEVICES") != NULL)
        return;
    cr_assert(asked == 0 || nodes <= asked, "%d nodes after %d: open the cluster with most nodes first", nodes, asked);
    if (asked > 0)
        return;
    asked = nodes;
    char devices[TEST_MOST_NODES * 8] = "";
    for (int n = 0; n < nodes; n++)
        strcat(devices, n == 0 ? "pthread" : " pthread");
    setenv("POCL_DEVICES", devices, 0);
}

static bool is_wanted(const dcl_device_info *info, bool defaults)
{
    return defaults ? info->is_default : strcmp(info->kind, "cpu") == 0;
}

/* List the numbers of the first `nodes` devices, separated by commas. @return how many there are. */
static int list_devices(const dcl_device_info info[], int count, bool defaults, int nodes, char *list)
{
    int found = 0;
    list[0] = '\0';
    for (int d = 0; d < count && found < nodes; d++)
        if (is_wanted(&info[d], defaults))
            sprintf(list + strlen(list), "%s%d", found++ == 0 ? "" : ",", info[d].number);
    return found;
}

dcl_config test_config(int nodes)
{
    enum { MOST_DEVICES = 64 };
    static dcl_device_info info[MOST_DEVICES];
    static char list[TEST_MOST_NODES * 8];
    int count = 0;
    ask_for_devices(nodes);
    TEST_OK(dcl_device_list(MOST_DEVICES, info, &count));
    count = count < MOST_DEVICES ? count : MOST_DEVICES;
    if (list_devices(info, count, true, nodes, list) < nodes && list_devices(info, count, false, nodes, list) < nodes)
        cr_skip_test("%d OpenCL devices of one kind are wanted; this host has %d in all", nodes, count);
    dcl_config config;
    TEST_OK(dcl_config_read(&config));
    config.devices = list;
    return config;
}

dcl_cluster *test_open(const dcl_config *config)
{
    dcl_cluster *cluster = dcl_open(config);
    cr_assert_not_null(cluster, "%s", dcl_error());
    return cluster;
}

void test_fault(const char *fault)
{
    if (fault != NULL)
        setenv("DCL_FAULT", fault, 1);
    else
        unsetenv("DCL_FAULT");
}

dcl_cluster *open_nodes(int nodes)
{
    dcl_config config = test_config(nodes);
    return test_open(&config);
}

dcl_array *test_array(dcl_cluster *cluster, const char *map, dcl_grid grid)
{
    dcl_map *parsed = dcl_map_parse(cluster, map);
    dcl_array *array = dcl_agile(grid, parsed);
    dcl_release(parsed);
    cr_assert_not_null(array, "%s: %s", map, dcl_error());
    return array;
}

dcl_counters test_counters(dcl_cluster *cluster, int node)
{
    dcl_counters counters;
    TEST_OK(dcl_stats(cluster, node, &counters));
    return counters;
}

dcl_status test_shift(dcl_array *C, dcl_array *A, int s, int t, int u)
{
    return dcl_forall(dcl_cluster_of(C), TEST_SHIFT, DCL_OUT(C), DCL_IN(A), DCL_VALUE(s), DCL_VALUE(t), DCL_VALUE(u));
}

void test_count_up(dcl_array *array, int64_t start, int64_t step)
{
    dcl_grid grid = dcl_grid_of(array);
    int64_t count = dcl_grid_count(&grid);
    cr_assert(grid.type == DCL_INT32 || grid.type == DCL_FLOAT);
    void *elements = malloc((size_t)count * 4 + 1);
    for (int64_t e = 0; e < count; e++)
        if (grid.type == DCL_FLOAT)
            ((float *)elements)[e] = (float)(start + e * step);
        else
            ((int32_t *)elements)[e] = (int32_t)(start + e * step);
    dcl_status status = dcl_write(array, NULL, elements, NULL);
    free(elements);
    TEST_OK(status);
}

void test_fail(dcl_array *array)
{
    dcl_cluster *cluster = TEST_INSIDE(dcl_cluster_of(array));
    pthread_mutex_lock(&cluster->lock);
    DCLI_FAIL(DCL_ERR_DEVICE, "failed by the test");
    dcli_array_spoil(TEST_INSIDE(array), DCL_ERR_DEVICE);
    pthread_mutex_unlock(&cluster->lock);
}

/* When a process was started, in clock ticks since the host was; -1: it has ended. */
static long long start_of(int pid)
{
    char path[40], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return -1;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *at = strrchr(text, ')'); /* the end of field 2, the name; field 22 is wanted */
    for (int field = 2; field < 22 && at != NULL; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoll(at, NULL, 10) : -1;
}

/* Ids of processes may wrap around. Those that a thread has started within one tick are listed in the order of their start. */
int test_child(bool last)
{
    char path[300], text[4096];
    int found = 0;
    long long started = 0;
    DIR *folder = opendir("/proc/self/task");
    cr_assert_not_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/children", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        for (char *at = text, *end;; at = end) {
            int pid = (int)strtol(at, &end, 10);
            if (end == at)
                break;
            long long start = start_of(pid);
            if (start < 0 || (found != 0 && (last ? start < started : start >= started)))
                continue;
            found = pid;
            started = start;
        }
    }
    closedir(folder);
    return found;
}
