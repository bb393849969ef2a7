/* test/resmap/fake_cluster.h - a cluster that is a number of nodes: all that maps ask of one. */
#ifndef TEST_RESMAP_FAKE_CLUSTER_H
#define TEST_RESMAP_FAKE_CLUSTER_H

#include <dcl/cluster.h>

/** A cluster of 1..4096 nodes with default settings; lives as long as the program. */
dcl_cluster *test_cluster(int nodes);
/** From now on a node of it (0..63) is lost: new maps are laid over the others. */
void test_cluster_lose(dcl_cluster *cluster, int node);
/** The settings of all, to be changed by a test (each test is a process of its own). */
dcl_config *test_cluster_config(void);

#endif
