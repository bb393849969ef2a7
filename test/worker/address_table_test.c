/* Parts of other processes on the address table: many in one memory, which stays mapped as long as one of them is
 * there. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "worker/address_table.h"

enum { PAGES = 4, BYTES = PAGES * 4096 };

static void *map(void)
{
    void *address = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(address, MAP_FAILED);
    return address;
}

static bool is_mapped(void *address)
{
    unsigned char resident[PAGES];
    return mincore(address, BYTES, resident) == 0;
}

static void put(dcli_address_table *addresses, int node, int64_t memfd, int64_t storage, int64_t offset)
{
    dcli_msg_part part = {.storage = storage, .bytes = 100, .memfd = memfd, .offset = offset};
    cr_assert_eq(dcli_address_table_put_part(addresses, node, &part), DCL_OK, "%s", dcl_error());
}

static void *address_of(dcli_address_table *addresses, int64_t storage, int node, size_t bytes)
{
    dcli_memory_place place;
    return dcli_address_table_get(addresses, storage, node, bytes, &place) ? place.host : NULL;
}

Test(address_table, memory_is_unmapped_once_it_has_ended_and_is_empty)
{
    dcli_address_table *addresses = dcli_address_table_open();
    char *address = map();
    void *found;
    size_t bytes;
    cr_assert_eq(dcli_address_table_add_memory(addresses, 1, 7, address, BYTES, -1), DCL_OK);
    put(addresses, 1, 7, 10, 0);
    put(addresses, 1, 7, 11, 8192);
    cr_expect_eq(address_of(addresses, 11, 1, 100), address + 8192);
    cr_expect_null(address_of(addresses, 11, 1, 101), "it is not so long");
    dcli_address_table_drop(addresses, 10, -1);
    dcli_address_table_drop(addresses, 11, -1);
    cr_expect(is_mapped(address), "more parts may come");
    put(addresses, 1, 7, 12, 4096);
    dcli_address_table_end_memory(addresses, 1, 7);
    cr_expect_eq(address_of(addresses, 12, 1, 100), address + 4096);
    dcli_address_table_drop(addresses, 12, 1);
    cr_expect_not(is_mapped(address));
    cr_expect_not(dcli_address_table_find_memory(addresses, 1, 7, &found, &bytes));
    dcli_address_table_end_memory(addresses, 1, 7); /* not there any more */
    dcli_address_table_close(addresses);
}

/* The parts that are asked about, and no others, are dropped once their memory has ended. */
Test(address_table, parts_in_ended_memory_are_dropped)
{
    dcli_address_table *addresses = dcli_address_table_open();
    char *address[2];
    for (int n = 0; n < 2; n++) {
        address[n] = map();
        cr_assert_eq(dcli_address_table_add_memory(addresses, n, 7, address[n], BYTES, -1), DCL_OK);
        put(addresses, n, 7, 10, 0);
        put(addresses, n, 7, 11, 4096);
    }
    dcli_address_table_drop_ended(addresses, 10);
    cr_expect_eq(address_of(addresses, 10, 1, 4), address[1], "no memory has ended");
    dcli_address_table_end_memory(addresses, 1, 7);
    dcli_address_table_drop_ended(addresses, 10);
    cr_expect_eq(address_of(addresses, 10, 0, 4), address[0]);
    cr_expect_null(address_of(addresses, 10, 1, 4));
    cr_expect_eq(address_of(addresses, 11, 1, 4), address[1] + 4096, "another storage");
    dcli_address_table_drop_ended(addresses, 11);
    void *found;
    size_t bytes;
    cr_expect_not(dcli_address_table_find_memory(addresses, 1, 7, &found, &bytes), "it is empty: unmapped");
    dcli_address_table_close(addresses);
}

Test(address_table, memories_are_each_nodes_own)
{
    dcli_address_table *addresses = dcli_address_table_open();
    char *address[3] = {map(), map(), map()};
    void *found;
    size_t bytes;
    for (int node = 0; node < 3; node++)
        cr_assert_eq(dcli_address_table_add_memory(addresses, node, 1 + node / 2, address[node], BYTES, -1), DCL_OK);
    cr_expect_eq(dcli_address_table_add_memory(addresses, 1, 1, NULL, 0, -1), DCL_ERR_PROTOCOL);
    cr_expect_not_null(strstr(dcl_error(), "node 1 shows memory 1 again"), "%s", dcl_error());
    put(addresses, 2, 2, 5, 0);
    cr_assert(dcli_address_table_find_memory(addresses, 1, 1, &found, &bytes));
    cr_expect(found == address[1] && bytes == BYTES);
    cr_expect_not(dcli_address_table_find_memory(addresses, 1, 2, &found, &bytes));
    dcli_address_table_end_memory(addresses, 1, 0); /* a node that is lost */
    dcli_address_table_end_memory(addresses, 2, 0);
    cr_expect(is_mapped(address[0]));
    cr_expect_not(is_mapped(address[1]));
    cr_expect(is_mapped(address[2]), "a part in it is left");
    dcli_address_table_close(addresses);
    cr_expect_not(is_mapped(address[0]));
    cr_expect_not(is_mapped(address[2]));
}

Test(address_table, memory_that_could_not_be_mapped_is_there_without_an_address)
{
    dcli_address_table *addresses = dcli_address_table_open();
    void *found = addresses;
    size_t bytes = 1;
    cr_assert_eq(dcli_address_table_add_memory(addresses, 0, 3, NULL, 0, -1), DCL_OK);
    cr_expect(dcli_address_table_find_memory(addresses, 0, 3, &found, &bytes));
    cr_expect(found == NULL && bytes == 0);
    dcli_address_table_end_memory(addresses, 0, 3);
    cr_expect_not(dcli_address_table_find_memory(addresses, 0, 3, &found, &bytes));
    dcli_address_table_close(addresses);
}

/* Every piece of peer memory that a part lies in stays, not only the first. */
Test(address_table, pieces_last_as_long_as_the_parts_in_them)
{
    enum { PIECES = 3, PIECE_BYTES = 8192 };
    dcli_address_table *addresses = dcli_address_table_open();
    dcli_memory_place place;
    int descriptor[PIECES];
    for (int n = 0; n < PIECES; n++) {
        descriptor[n] = memfd_create("piece", MFD_CLOEXEC);
        cr_assert_eq(dcli_address_table_add_memory(addresses, 1, 7 + n, NULL, SIZE_MAX, descriptor[n]), DCL_OK);
    }
    dcli_msg_part part = {.storage = 5, .bytes = 2 * PIECE_BYTES + 1, .memfd = 7, .piece_bytes = PIECE_BYTES};
    cr_assert_eq(dcli_address_table_put_part(addresses, 1, &part), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < PIECES; n++)
        dcli_address_table_end_memory(addresses, 1, 7 + n);
    cr_assert(dcli_address_table_get(addresses, 5, 1, (size_t)part.bytes, &place));
    cr_expect_eq(place.piece_count, PIECES);
    for (int n = 0; n < PIECES; n++) {
        cr_expect_eq(place.descriptors[n], descriptor[n]);
        cr_expect_geq(fcntl(descriptor[n], F_GETFD), 0, "piece %d is closed", n);
    }
    dcli_address_table_drop(addresses, 5, -1);
    for (int n = 0; n < PIECES; n++)
        cr_expect_lt(fcntl(descriptor[n], F_GETFD), 0, "piece %d is left", n);
    dcli_address_table_close(addresses);
}

Test(address_table, parts_whose_pieces_were_not_shown_are_not_there)
{
    dcli_address_table *addresses = dcli_address_table_open();
    dcli_memory_place place;
    cr_assert_eq(dcli_address_table_add_memory(addresses, 1, 7, NULL, SIZE_MAX, memfd_create("piece", MFD_CLOEXEC)),
                 DCL_OK);
    dcli_msg_part part = {.storage = 5, .bytes = 8193, .memfd = 7, .piece_bytes = 8192},
                  unsized = {.storage = 6, .bytes = 100, .memfd = 7};
    cr_expect_eq(dcli_address_table_put_part(addresses, 1, &part), DCL_OK);
    cr_expect_eq(dcli_address_table_put_part(addresses, 1, &unsized), DCL_OK);
    cr_expect_not(dcli_address_table_get(addresses, 5, 1, 1, &place));
    cr_expect_not(dcli_address_table_get(addresses, 6, 1, 1, &place));
    dcli_address_table_close(addresses);
}
