/* Parts of other processes on the board: many in one memory, which stays mapped as long as one of them is there. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "worker/board.h"

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

static void put(dcli_board *board, int node, int64_t memfd, int64_t storage, int64_t offset)
{
    dcli_msg_part part = {.storage = storage, .bytes = 100, .memfd = memfd, .offset = offset};
    cr_assert_eq(dcli_board_put_part(board, node, &part), DCL_OK, "%s", dcl_error());
}

Test(board, memory_is_unmapped_once_it_has_ended_and_is_empty)
{
    dcli_board *board = dcli_board_open();
    char *address = map();
    void *found;
    size_t bytes;
    cr_assert_eq(dcli_board_add_memory(board, 1, 7, address, BYTES), DCL_OK);
    put(board, 1, 7, 10, 0);
    put(board, 1, 7, 11, 8192);
    cr_expect_eq(dcli_board_get(board, 11, 1, 100), address + 8192);
    cr_expect_null(dcli_board_get(board, 11, 1, 101), "it is not so long");
    dcli_board_drop_storage(board, 10);
    dcli_board_drop_storage(board, 11);
    cr_expect(is_mapped(address), "more parts may come");
    put(board, 1, 7, 12, 4096);
    dcli_board_end_memory(board, 1, 7);
    cr_expect_eq(dcli_board_get(board, 12, 1, 100), address + 4096);
    dcli_board_drop(board, 12, 1);
    cr_expect_not(is_mapped(address));
    cr_expect_not(dcli_board_find_memory(board, 1, 7, &found, &bytes));
    dcli_board_end_memory(board, 1, 7); /* not there any more */
    dcli_board_close(board);
}

Test(board, memories_are_each_nodes_own)
{
    dcli_board *board = dcli_board_open();
    char *address[3] = {map(), map(), map()};
    void *found;
    size_t bytes;
    for (int node = 0; node < 3; node++)
        cr_assert_eq(dcli_board_add_memory(board, node, 1 + node / 2, address[node], BYTES), DCL_OK);
    cr_expect_eq(dcli_board_add_memory(board, 1, 1, NULL, 0), DCL_ERR_PROTOCOL);
    cr_expect_not_null(strstr(dcl_error(), "node 1 shows memory 1 again"), "%s", dcl_error());
    put(board, 2, 2, 5, 0);
    cr_assert(dcli_board_find_memory(board, 1, 1, &found, &bytes));
    cr_expect(found == address[1] && bytes == BYTES);
    cr_expect_not(dcli_board_find_memory(board, 1, 2, &found, &bytes));
    dcli_board_end_memory(board, 1, 0); /* a node that is lost */
    dcli_board_end_memory(board, 2, 0);
    cr_expect(is_mapped(address[0]));
    cr_expect_not(is_mapped(address[1]));
    cr_expect(is_mapped(address[2]), "a part in it is left");
    dcli_board_close(board);
    cr_expect_not(is_mapped(address[0]));
    cr_expect_not(is_mapped(address[2]));
}

Test(board, memory_that_could_not_be_mapped_is_there_without_an_address)
{
    dcli_board *board = dcli_board_open();
    void *found = board;
    size_t bytes = 1;
    cr_assert_eq(dcli_board_add_memory(board, 0, 3, NULL, 0), DCL_OK);
    cr_expect(dcli_board_find_memory(board, 0, 3, &found, &bytes));
    cr_expect(found == NULL && bytes == 0);
    dcli_board_end_memory(board, 0, 3);
    cr_expect_not(dcli_board_find_memory(board, 0, 3, &found, &bytes));
    dcli_board_close(board);
}

/* Every piece of peer memory that a part lies in stays, not only the first. */
Test(board, pieces_last_as_long_as_the_parts_in_them)
{
    enum { PIECES = 3, PIECE_BYTES = 8192 };
    dcli_board *board = dcli_board_open();
    dcli_memory_place place;
    int descriptor[PIECES];
    for (int n = 0; n < PIECES; n++) {
        descriptor[n] = memfd_create("piece", MFD_CLOEXEC);
        cr_assert_eq(dcli_board_add_peer_memory(board, 1, 7 + n, descriptor[n]), DCL_OK);
    }
    dcli_msg_part part = {.storage = 5, .bytes = 2 * PIECE_BYTES + 1, .memfd = 7, .piece_bytes = PIECE_BYTES};
    cr_assert_eq(dcli_board_put_part(board, 1, &part), DCL_OK, "%s", dcl_error());
    for (int n = 0; n < PIECES; n++)
        dcli_board_end_memory(board, 1, 7 + n);
    cr_assert(dcli_board_get_peer(board, 5, 1, (size_t)part.bytes, &place));
    cr_expect_eq(place.piece_count, PIECES);
    for (int n = 0; n < PIECES; n++) {
        cr_expect_eq(place.descriptors[n], descriptor[n]);
        cr_expect_geq(fcntl(descriptor[n], F_GETFD), 0, "piece %d is closed", n);
    }
    dcli_board_drop_storage(board, 5);
    for (int n = 0; n < PIECES; n++)
        cr_expect_lt(fcntl(descriptor[n], F_GETFD), 0, "piece %d is left", n);
    dcli_board_close(board);
}

Test(board, parts_whose_pieces_were_not_shown_are_not_there)
{
    dcli_board *board = dcli_board_open();
    dcli_memory_place place;
    cr_assert_eq(dcli_board_add_peer_memory(board, 1, 7, memfd_create("piece", MFD_CLOEXEC)), DCL_OK);
    dcli_msg_part part = {.storage = 5, .bytes = 8193, .memfd = 7, .piece_bytes = 8192},
                  unsized = {.storage = 6, .bytes = 100, .memfd = 7};
    cr_expect_eq(dcli_board_put_part(board, 1, &part), DCL_OK);
    cr_expect_eq(dcli_board_put_part(board, 1, &unsized), DCL_OK);
    cr_expect_not(dcli_board_get_peer(board, 5, 1, 1, &place));
    cr_expect_not(dcli_board_get_peer(board, 6, 1, 1, &place));
    dcli_board_close(board);
}
