/* test/runtime/handle_test.c - what the program has given back is refused with a sentence, whatever it does with it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "support/nodes.h"

TestSuite(handle_on_device, .timeout = TEST_SECONDS);

enum { N = 60 };

static dcl_array *new_array(dcl_cluster *cluster) { return test_array(cluster, "block", dcl_grid_1d(DCL_INT32, N)); }

/* Every function that takes an array. */
static void expect_refused(dcl_cluster *cluster, dcl_array *A, dcl_array *alive, const char *words)
{
    int32_t elements[N] = {0};
    dcl_counters counters;
    dcl_map *map = alive != NULL ? dcl_map_block(cluster) : NULL;
    TEST_REFUSED(dcl_fill(A, elements), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_write(A, NULL, elements, NULL), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_read(A, NULL, elements, NULL), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_wait_for(A, 1), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_keep(A, true), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_swap(A, A), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_move(A, NULL, 0), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_call_explain(DCL_CALL_MOVE(A, NULL, 0), DCL_ALL_NODES, &counters), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_load_npy(A, "a.npy"), DCL_ERR_INVALID, words);
    TEST_REFUSED(dcl_save_npy(A, "a.npy"), DCL_ERR_INVALID, words);
    if (alive != NULL) {
        TEST_REFUSED(dcl_copy(A, alive), DCL_ERR_INVALID, words);
        TEST_REFUSED(dcl_copy(alive, A), DCL_ERR_INVALID, words);
        TEST_REFUSED(dcl_remap(A, map), DCL_ERR_INVALID, words);
        TEST_REFUSED(dcl_forall_n(cluster, "C(i) = A(i);", 2, (dcl_arg[]){DCL_OUT_AS("C", alive), DCL_IN_AS("A", A)}),
                     DCL_ERR_INVALID, words);
        cr_expect(strstr(dcl_error(), "dcl_forall: A ") != NULL, "the argument is not named: %s", dcl_error());
        cr_expect_eq(dcl_status_of(cluster), DCL_ERR_INVALID, "the cluster has not kept the error");
        dcl_clear_error(cluster);
    }
    cr_expect_null(dcl_transpose(A));
    cr_expect(strstr(dcl_error(), words) != NULL, "%s", dcl_error());
    cr_expect_null(dcl_map_of(A));
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_INT32, N), NULL));
    cr_expect(strncmp(dcl_error(), "dcl_map_of: ", 12) == 0, "the NULL is not explained: %s", dcl_error());
    cr_expect_null(dcl_cluster_of(A));
    TEST_REFUSED(dcl_wait(NULL), DCL_ERR_INVALID, "dcl_cluster_of: ");
    cr_expect_eq(dcl_grid_of(A).rank, 0);
    dcl_clear_error(NULL);
    dcl_release(A);
    cr_expect(strstr(dcl_error(), words) != NULL, "%s", dcl_error());
    dcl_release(map);
}

Test(handle_on_device, of_a_released_array_is_refused)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *A = new_array(cluster), *B = new_array(cluster), *view = dcl_transpose(B), *other = dcl_transpose(B);
    dcl_release(A);
    expect_refused(cluster, A, B, "has been released (dcl_release())");
    dcl_release(view);
    expect_refused(cluster, view, B, "has been released (dcl_release())");
    dcl_release(B); /* lives on behind its view; the handle does not */
    TEST_REFUSED(dcl_wait_for(B, 1), DCL_ERR_INVALID, "has been released (dcl_release())");
    test_count_up(other, 0, 1);
    dcl_release(other);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(handle_on_device, that_was_used_again_is_not_the_old_one)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *old = new_array(cluster), *base = new_array(cluster);
    dcl_release(old);
    for (int n = 0; n < 3000; n++) {
        dcl_array *view = dcl_transpose(base);
        cr_assert_neq(view, old);
        if (n % 500 == 0)
            TEST_REFUSED(dcl_wait_for(old, 1), DCL_ERR_INVALID, "array has been released");
        dcl_release(view);
    }
    dcl_close(cluster);
}

Test(handle_on_device, of_something_else_is_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_map *map = dcl_map_block(cluster);
    int mine = 0;
    TEST_REFUSED(dcl_wait_for((dcl_array *)&mine, 1), DCL_ERR_INVALID, "array is not an array that DCL has made");
    TEST_REFUSED(dcl_wait_for((dcl_array *)map, 1), DCL_ERR_INVALID, "array is not an array that DCL has made");
    TEST_REFUSED(dcl_wait((dcl_cluster *)map), DCL_ERR_INVALID, "cluster is not a cluster that DCL has made");
    TEST_REFUSED(dcl_wait((dcl_cluster *)-1), DCL_ERR_INVALID, "cluster is not a cluster that DCL has made");
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(handle_on_device, of_a_released_map_is_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    char text[64];
    dcl_map *map = dcl_map_block(cluster);
    cr_expect_eq(dcl_map_retain(map), map);
    dcl_release(map); /* one hold is left */
    dcl_array *A = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
    cr_assert_not_null(A, "%s", dcl_error());
    dcl_release(map);
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_INT32, N), map));
    cr_expect(strstr(dcl_error(), "dcl_agile: map has been released") != NULL, "%s", dcl_error());
    cr_expect_eq(dcl_map_print(map, text, sizeof text), 0);
    cr_expect_eq(dcl_map_node(map, 0), -1);
    cr_expect_eq(dcl_map_node_count(map), 0);
    cr_expect_not(dcl_map_equal(map, map));
    cr_expect(strstr(dcl_error(), "dcl_map_equal: a has been released") != NULL, "%s", dcl_error());
    cr_expect_null(dcl_map_retain(map));
    dcl_release(map);
    cr_expect(strstr(dcl_error(), "dcl_map_release: map has been released") != NULL, "%s", dcl_error());
    cr_expect_gt(dcl_map_print(dcl_map_of(A), text, sizeof text), 0, "the array's map has gone: %s", dcl_error());
    const dcl_map *lent = dcl_map_of(A);
    dcl_release(A);
    cr_expect_eq(dcl_map_print(lent, text, sizeof text), 0, "the array's map is still there");
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

Test(handle_on_device, of_a_closed_cluster_is_refused)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_map *map = dcl_map_block(cluster);
    dcl_array *A = new_array(cluster);
    dcl_counters counters;
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
    expect_refused(cluster, A, NULL, "has been closed (dcl_close())");
    TEST_REFUSED(dcl_wait(cluster), DCL_ERR_INVALID, "cluster has been closed (dcl_close())");
    TEST_REFUSED(dcl_close(cluster), DCL_ERR_INVALID, "cluster has been closed (dcl_close())");
    TEST_REFUSED(dcl_status_of(cluster), DCL_ERR_INVALID, "cluster has been closed (dcl_close())");
    TEST_REFUSED(dcl_stats(cluster, 0, &counters), DCL_ERR_INVALID, "cluster has been closed (dcl_close())");
    TEST_REFUSED(dcl_add_workers(cluster, "local:1"), DCL_ERR_INVALID, "cluster has been closed (dcl_close())");
    TEST_REFUSED(dcl_forall_n(cluster, "C(i) = 1;", 1, (dcl_arg[]){DCL_OUT_AS("C", A)}), DCL_ERR_INVALID,
                 "cluster has been closed (dcl_close())");
    cr_expect_eq(dcl_node_count(cluster), 0);
    cr_expect_null(dcl_map_block(cluster));
    cr_expect_null(dcl_agile(dcl_grid_1d(DCL_INT32, N), map));
    cr_expect(strstr(dcl_error(), "the cluster of map has been closed") != NULL, "%s", dcl_error());
    dcl_clear_error(NULL);
    dcl_release(map); /* is the program's own */
    cr_expect_eq(dcl_status_of(NULL), DCL_OK, "%s", dcl_error());
}

/* ---- closing while others call ------------------------------------------------------------------------------------- */

static dcl_status close_now(void *user, const dcl_tile *tile)
{
    (void)tile;
    TEST_REFUSED(dcl_close(user), DCL_ERR_INVALID, "return from that one first");
    return DCL_OK;
}

Test(handle_on_device, is_not_closed_from_inside)
{
    dcl_cluster *cluster = open_nodes(1);
    dcl_array *A = new_array(cluster);
    TEST_OK(dcl_tiles(A, DCL_ALL_NODES, close_now, cluster));
    TEST_OK(dcl_wait(cluster));
    dcl_close(cluster);
}

struct caller {
    dcl_cluster *cluster;
    dcl_array *A, *B;
    int way;
    atomic_bool began;
    char text[256];
};

/* Calls until one fails. */
static void *call_on(void *argument)
{
    struct caller *caller = argument;
    int32_t elements[N] = {0}, one = 1;
    dcl_status status = DCL_OK;
    while (status == DCL_OK) {
        switch (caller->way) {
        case 0:
            status = dcl_read(caller->A, NULL, elements, NULL);
            break;
        case 1:
            status = dcl_fill(caller->B, &one);
            break;
        case 2:
            status = test_shift(caller->A, caller->B, 1, 0, 1);
            break;
        case 3: {
            dcl_map *map = dcl_map_block(caller->cluster);
            dcl_array *C = dcl_agile(dcl_grid_1d(DCL_INT32, N), map);
            status = C != NULL ? DCL_OK : DCL_ERR_INVALID;
            dcl_release(C);
            dcl_release(map);
            break;
        }
        case 4:
            status = dcl_write(caller->B, NULL, elements, NULL);
            break;
        default:
            status = dcl_wait(caller->cluster);
        }
        atomic_store(&caller->began, true);
    }
    snprintf(caller->text, sizeof caller->text, "%s", dcl_error());
    return NULL;
}

Test(handle_on_device, is_closed_while_other_threads_call)
{
    enum { WAYS = 6, ROUNDS = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        dcl_cluster *cluster = open_nodes(2);
        dcl_array *A = new_array(cluster), *B = new_array(cluster);
        struct caller caller[WAYS];
        pthread_t thread[WAYS];
        TEST_OK(test_shift(A, B, 1, 0, 1));
        for (int w = 0; w < WAYS; w++) {
            caller[w] = (struct caller){.cluster = cluster, .A = A, .B = B, .way = w};
            cr_assert_eq(pthread_create(&thread[w], NULL, call_on, &caller[w]), 0);
        }
        for (int w = 0; w < WAYS; w++)
            while (!atomic_load(&caller[w].began))
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
        for (int w = 0; w < WAYS; w++) {
            pthread_join(thread[w], NULL);
            cr_expect(strstr(caller[w].text, "clos") != NULL || caller[w].way == 3, "way %d: %s", w, caller[w].text);
        }
    }
}

/* An array lives as long as a call of another thread uses it. */
Test(handle_on_device, is_released_while_other_threads_call)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_array *B = new_array(cluster);
    for (int round = 0; round < 20; round++) {
        struct caller caller[2];
        pthread_t thread[2];
        dcl_array *A = new_array(cluster);
        for (int w = 0; w < 2; w++) {
            caller[w] = (struct caller){.cluster = cluster, .A = A, .B = w == 0 ? B : A, .way = w};
            cr_assert_eq(pthread_create(&thread[w], NULL, call_on, &caller[w]), 0);
        }
        while (!atomic_load(&caller[0].began) || !atomic_load(&caller[1].began))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        dcl_release(A);
        for (int w = 0; w < 2; w++) {
            pthread_join(thread[w], NULL);
            cr_expect(strstr(caller[w].text, "array has been released") != NULL, "%s", caller[w].text);
        }
    }
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

/* What a thread located with last is no answer for another handle. */
Test(handle_on_device, of_a_map_is_refused_between_others)
{
    dcl_cluster *cluster = open_nodes(2);
    dcl_map *map = dcl_map_block(cluster), *ended = dcl_map_block(cluster);
    dcl_grid grid = dcl_grid_1d(DCL_INT32, N);
    int node;
    int64_t index = 1, offset;
    dcl_release(ended);
    for (int round = 0; round < 2; round++) {
        TEST_OK(dcl_map_locate(map, &grid, &index, &node, &offset));
        TEST_REFUSED(dcl_map_locate(ended, &grid, &index, &node, &offset), DCL_ERR_INVALID, "map has been released");
        for (int time = 0; time < 2; time++)
            TEST_REFUSED(dcl_map_locate(NULL, &grid, &index, &node, &offset), DCL_ERR_INVALID, "map is NULL");
        dcl_clear_error(cluster);
    }
    dcl_release(map);
    cr_expect_eq(dcl_close(cluster), DCL_OK, "%s", dcl_error());
}

struct locator {
    dcl_map *map;
    atomic_int *ready;
    bool rests; /* between calls */
    int count;  /* of calls that found the owner */
    char text[256];
};

/* Locate an element until that is refused. */
static void *locate_until_refused(void *argument)
{
    struct locator *locator = argument;
    dcl_grid grid = dcl_grid_1d(DCL_INT32, N);
    int node;
    int64_t index = 1, offset;
    while (dcl_map_locate(locator->map, &grid, &index, &node, &offset) == DCL_OK && node == 0 && offset == 1) {
        if (locator->count++ == 0)
            atomic_fetch_add(locator->ready, 1);
        if (locator->rests)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    snprintf(locator->text, sizeof locator->text, "%s", dcl_error());
    return NULL;
}

/* Which is asked without pinning the map: it lives until nobody looks at it. Threads beyond those that can look pin. */
static void locate_while(dcl_map *map, int threads, void (*end)(dcl_map *), const char *words)
{
    enum { MOST = 300 };
    static struct locator locator[MOST];
    pthread_t thread[MOST];
    atomic_int ready = 0;
    for (int t = 0; t < threads; t++) {
        locator[t] = (struct locator){.map = map, .ready = &ready, .rests = threads > 2};
        cr_assert_eq(pthread_create(&thread[t], NULL, locate_until_refused, &locator[t]), 0);
    }
    while (atomic_load(&ready) < threads)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    end(map);
    for (int t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        cr_expect(locator[t].count > 0 && strstr(locator[t].text, words) != NULL, "%d of %d, after %d: %s", t, threads,
                  locator[t].count, locator[t].text);
    }
}

static void release_map(dcl_map *map) { dcl_release(map); }

static dcl_cluster *closing;
static void close_cluster(dcl_map *map)
{
    (void)map;
    cr_expect_eq(dcl_close(closing), DCL_OK, "%s", dcl_error());
}

Test(handle_on_device, of_a_map_is_released_while_other_threads_locate)
{
    dcl_cluster *cluster = closing = open_nodes(2);
    for (int round = 0; round < 30; round++)
        locate_while(dcl_map_block(cluster), 2, release_map, "map has been released");
    locate_while(dcl_map_block(cluster), 300, release_map, "map has been released");
    dcl_map *map = dcl_map_block(cluster);
    locate_while(map, 2, close_cluster, "has been closed");
    dcl_release(map);
}
