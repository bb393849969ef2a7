/* test/resmap/fake_cluster.c - stands in for the runtime: maps need its node count and settings only. */
#include "resmap/fake_cluster.h"

#include "base/config.h"
#include "resmap/layout.h"

struct dcl_cluster {
    int nodes;
};

dcl_cluster *test_cluster(int nodes)
{
    static struct dcl_cluster clusters[4097];
    clusters[nodes].nodes = nodes;
    return &clusters[nodes];
}

dcl_config *test_cluster_config(void)
{
    static dcl_config config;
    if (config.struct_size == 0)
        dcli_config_defaults(&config);
    return &config;
}

int dcl_node_count(const dcl_cluster *cluster) { return cluster != NULL ? cluster->nodes : 0; }

const dcl_config *dcli_cluster_config(const dcl_cluster *cluster)
{
    (void)cluster;
    return test_cluster_config();
}

void dcli_cluster_refused(dcl_cluster *cluster) { (void)cluster; }
