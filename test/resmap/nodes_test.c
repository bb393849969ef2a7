/* test/resmap/nodes_test.c - lists of places and of nodes, against a table with an entry for each number. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "resmap/parts.h"
#include "segment/random.h"

enum { NUMBERS = 100000 };

/* The numbers of a list are those marked in the table, ascending, each of them once. */
static void check_list(const dcli_node_list *list, const bool listed[], const char *what, uint64_t seed)
{
    int64_t found = 0;
    for (int number = 0; number < NUMBERS; number++)
        if (listed[number]) {
            cr_assert(found < list->count && list->node[found] == number, "%s, seed %" PRIu64 ": %d is missing", what,
                      seed, number);
            found++;
        }
    cr_assert_eq(list->count, found, "%s, seed %" PRIu64 ": %" PRId64 " entries; expected %" PRId64, what, seed,
                 list->count, found);
}

/* Few and many places, near each other and far apart, below and above the number that is sorted by marking. */
static int random_limit(test_random *random)
{
    static const int limits[] = {1, 2, 64, 65, 1000, 32767, 32768, 32769, NUMBERS};
    return limits[test_between(random, 0, (int64_t)(sizeof limits / sizeof limits[0]) - 1)];
}

Test(nodes, places_are_sorted_without_duplicates)
{
    static bool listed[NUMBERS];
    for (uint64_t seed = 1; seed <= 600; seed++) {
        test_random random = seed;
        dcli_node_list list = {0};
        int limit = random_limit(&random), count = (int)test_between(&random, 0, seed % 3 == 0 ? 3000 : 20);
        memset(listed, 0, sizeof listed);
        for (int n = 0; n < count; n++) {
            int place = (int)test_between(&random, 0, limit - 1);
            listed[place] = true;
            cr_assert_eq(dcli_places_append(&list, place), DCL_OK);
        }
        dcli_places_sort(&list);
        check_list(&list, listed, "sorted", seed);
        dcli_node_list_free(&list);
    }
}

Test(nodes, lists_are_joined)
{
    static bool listed[NUMBERS];
    for (uint64_t seed = 1; seed <= 600; seed++) {
        test_random random = seed;
        dcli_node_list list = {0};
        int limit = random_limit(&random), except = (int)test_between(&random, -1, limit - 1);
        memset(listed, 0, sizeof listed);
        for (int lists = 0; lists < 4; lists++) {
            dcli_node_list more = {0};
            int count = (int)test_between(&random, 0, test_between(&random, 0, 1) == 0 ? 300 : 3);
            for (int n = 0; n < count; n++) {
                int node = (int)test_between(&random, 0, limit - 1);
                listed[node] = listed[node] || node != except;
                cr_assert_eq(dcli_node_list_add(&more, node), DCL_OK);
            }
            cr_assert_eq(dcli_node_list_add_all(&list, &more, except), DCL_OK);
            dcli_node_list_free(&more);
        }
        check_list(&list, listed, "joined", seed);
        dcli_node_list_free(&list);
    }
}
