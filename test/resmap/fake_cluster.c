/* test/resmap/fake_cluster.c - stands in for the runtime: maps need its node count and settings only. */
#include "resmap/fake_cluster.h"

#include <stdbool.h>

#include "base/config.h"
#include "resmap/layout.h"

enum { LOSABLE = 64 };

struct dcl_cluster {
    dcli_map_host for_maps;
    int nodes;
    bool lost[LOSABLE];
};

void test_cluster_lose(dcl_cluster *cluster, int node) { cluster->lost[node] = true; }

dcl_config *test_cluster_config(void)
{
    static dcl_config config;
    if (config.struct_size == 0)
        dcli_config_defaults(&config);
    return &config;
}

static int node_count(const dcl_cluster *cluster) { return cluster->nodes; }

static int live(const dcl_cluster *cluster, int capacity, dcli_node_range ranges[])
{
    int count = 0;
    bool inside = false;
    for (int node = 0; node < cluster->nodes; node++) {
        bool alive = node >= LOSABLE || !cluster->lost[node];
        if (alive && !inside && count++ < capacity)
            ranges[count - 1] = (dcli_node_range){.first = node};
        if (alive && count <= capacity)
            ranges[count - 1].count++;
        inside = alive;
    }
    return count;
}

static const dcl_config *config(const dcl_cluster *cluster)
{
    (void)cluster;
    return test_cluster_config();
}

dcl_cluster *test_cluster(int nodes)
{
    static struct dcl_cluster clusters[4097];
    clusters[nodes].for_maps = (dcli_map_host){config, node_count, live};
    clusters[nodes].nodes = nodes;
    return &clusters[nodes];
}
