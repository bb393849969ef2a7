/* net/message_test.c - packing and unpacking of every kind, and what is refused. */
#include "net/message.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dcl/forall.h>
#include <msgpack.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/protocol_page.h"
#include "net/random_message.h"
#include "net/table.h"
#include "net/wire_text.h"

/** Unpack a copy of exactly `length` bytes, so that reading behind it is seen. */
static dcl_status unpack_exact(const void *bytes, size_t length, dcli_arena *arena, dcli_message *message_out)
{
    void *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, bytes, length);
    dcl_status status = dcli_message_unpack(copy, length, arena, message_out);
    free(copy);
    return status;
}

static dcl_status unpack_text(const char *text)
{
    const unsigned char *bytes;
    size_t length = test_wire(text, &bytes);
    dcli_arena arena = {0};
    dcli_message message;
    dcl_status status = unpack_exact(bytes, length, &arena, &message);
    dcli_arena_free(&arena);
    return status;
}

/* ---- round trips ---- */

Test(message, every_kind_arrives_as_it_was)
{
    const uint64_t seed = 20261120;
    test_random random = {seed};
    dcli_arena arena = {0};
    for (int i = 0; i < 2000; i++) {
        dcli_message message = test_random_message(&random, 1 + i % (DCLI_MSG_KIND_COUNT - 1)), received;
        void *bytes;
        size_t length;
        const char *different;
        cr_assert_eq(dcli_message_pack(&message, &bytes, &length), DCL_OK, "seed %" PRIu64 " message %d: %s", seed, i,
                     dcl_error());
        cr_assert_eq(unpack_exact(bytes, length, &arena, &received), DCL_OK, "seed %" PRIu64 " message %d: %s", seed, i,
                     dcl_error());
        cr_assert(test_message_equal(&message, &received, &different), "seed %" PRIu64 " message %d: %s", seed, i,
                  different);
        dcli_free(bytes);
    }
    dcli_arena_free(&arena);
}

static size_t packed_length(const dcli_message *message)
{
    void *bytes;
    size_t length = 0;
    cr_assert_eq(dcli_message_pack(message, &bytes, &length), DCL_OK, "%s", dcl_error());
    dcli_free(bytes);
    return length;
}

Test(message, what_says_nothing_is_left_out)
{
    dcli_msg_operand operand[3] = {{.storage = 5}, {.storage = 6}, {.storage = 7}};
    dcli_msg_operation operation = {.number = 9, .kind = 3, .kernel = 2, .operand_count = 3, .operand = operand};
    dcli_message forall = {.kind = DCLI_MSG_OPERATIONS, .operations = {1, &operation}};
    cr_expect_eq(packed_length(&forall), 4 + 1 + 4 + 1 + 3 * 2, "head, list, operation, list, three operands");
    dcli_message stop = {.kind = DCLI_MSG_STOP, .epoch = 7};
    cr_expect_eq(packed_length(&stop), 4, "array, version, kind, epoch");
    dcli_message marks = {.kind = DCLI_MSG_MARKS, .marks = {.done = 1, .ready = 2}};
    cr_expect_eq(packed_length(&marks), 6, "no counters to nodes");
}

static int count_items(const msgpack_object *object)
{
    int items = 1;
    if (object->type == MSGPACK_OBJECT_ARRAY)
        for (uint32_t i = 0; i < object->via.array.size; i++)
            items += count_items(&object->via.array.ptr[i]);
    return items;
}

/** Of all operands, as far as a message may have so many. */
static int largest_views(int operation, dcli_msg_view view[])
{
    int count = operation < DCLI_MOST_VIEWS / DCLI_MOST_OPERANDS ? DCLI_MOST_OPERANDS : 0;
    for (int v = 0; v < count; v++) {
        view[v] =
            (dcli_msg_view){.operand = v, .rank = DCL_MAX_RANK, .base_rank = DCL_MAX_RANK, .shape_rank = DCL_MAX_RANK};
        for (int d = 0; d < DCL_MAX_RANK; d++) {
            view[v].origin[d] = view[v].constant[d] = view[v].step[d] = INT64_MIN;
            view[v].extent[d] = view[v].shape[d] = INT64_MAX;
            view[v].axis[d] = DCL_MAX_RANK - 1;
        }
    }
    return count;
}

/** Of all operands, together as much as a message may have. */
static int largest_reaches(int operation, dcli_msg_reach reach[])
{
    static int64_t number[DCLI_MOST_DECLARED_NUMBERS / DCLI_MOST_OPERANDS];
    int count = operation == 0 ? DCLI_MOST_OPERANDS : 0;
    for (size_t n = 0; n < sizeof number / sizeof number[0]; n++)
        number[n] = INT64_MIN;
    for (int r = 0; r < count; r++)
        reach[r] = (dcli_msg_reach){r, sizeof number / sizeof number[0], number, true};
    return count;
}

/** All fields of all operations at their largest: 64 operations of 64 operands. A longer map stands alone. */
static dcli_message largest_message(void)
{
    static dcli_msg_operation operation[DCLI_MOST_OPERATIONS];
    static dcli_msg_operand operand[DCLI_MOST_OPERANDS];
    static dcli_msg_view view[DCLI_MOST_OPERANDS];
    static dcli_msg_reach reach[DCLI_MOST_OPERANDS];
    static char path[DCLI_MOST_PATH + 1], map[DCLI_MOST_SHORT_MAP + 1];
    static int64_t order[DCLI_MOST_ORDER];
    memset(path, 'p', DCLI_MOST_PATH);
    memset(map, 'm', DCLI_MOST_SHORT_MAP);
    dcli_msg_operation one = {INT64_MAX,
                              DCLI_MOST_OPERATION_KIND,
                              INT64_MAX,
                              DCLI_MOST_OPERANDS,
                              operand,
                              DCL_MAX_RANK,
                              {.rank = DCL_MAX_RANK},
                              UINT64_MAX,
                              path,
                              INT64_MAX,
                              true,
                              true,
                              DCL_DOUBLE,
                              DCL_MAX_RANK,
                              {0},
                              {0},
                              map,
                              INT64_MAX,
                              INT64_MAX,
                              INT64_MAX,
                              DCLI_MOST_PEERS,
                              0,
                              NULL,
                              0,
                              NULL,
                              DCLI_MOST_PEERS,
                              UINT64_MAX,
                              UINT64_MAX,
                              true,
                              DCL_STEAL_ALWAYS,
                              DCLI_MOST_LINES,
                              UINT64_MAX};
    for (int d = 0; d < DCL_MAX_RANK; d++) {
        one.origin[d] = one.box.start[d] = INT64_MIN;
        one.extent[d] = one.box.count[d] = one.box.stride[d] = INT64_MAX;
    }
    for (int i = 0; i < DCLI_MOST_OPERANDS; i++)
        operand[i] = (dcli_msg_operand){INT64_MAX, UINT64_MAX, INT64_MAX};
    for (int i = 0; i < DCLI_MOST_OPERATIONS; i++) {
        operation[i] = one;
        operation[i].view = view;
        operation[i].view_count = largest_views(i, view);
        operation[i].reach = reach;
        operation[i].reach_count = largest_reaches(i, reach);
    }
    for (int n = DCLI_MOST_OPERATIONS; n < DCLI_MOST_ORDER; n++)
        order[n] = DCLI_MOST_OPERATIONS;
    return (dcli_message){
        .kind = DCLI_MSG_OPERATIONS,
        .epoch = UINT64_MAX,
        .operations = {DCLI_MOST_OPERATIONS, operation, .order_count = DCLI_MOST_ORDER, .order = order}};
}

Test(message, the_largest_is_within_the_limits)
{
    dcli_message largest = largest_message(), received;
    dcli_arena arena = {0};
    void *bytes;
    size_t length;
    const char *different;
    cr_assert_eq(dcli_message_pack(&largest, &bytes, &length), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_OK, "%s", dcl_error());
    cr_expect(test_message_equal(&largest, &received, &different), "%s", different);

    msgpack_unpacked reference; /* msgpack-c agrees on what is in it */
    msgpack_unpacked_init(&reference);
    cr_assert_eq(msgpack_unpack_next(&reference, bytes, length, NULL), MSGPACK_UNPACK_SUCCESS);
    cr_expect_eq(count_items(&reference.data), 32648, "%d items", count_items(&reference.data));
    msgpack_unpacked_destroy(&reference);
    dcli_free(bytes);
    dcli_arena_free(&arena);
}

/* As many events and names as a message may have, all of the greatest values. */
Test(message, the_largest_part_of_a_trace_is_within_the_limits)
{
    static dcli_msg_event event[DCLI_MOST_EVENTS];
    static dcli_msg_name name[DCLI_MOST_EVENT_NAMES];
    static char text[DCLI_TRACE_NAME_BYTES];
    memset(text, 'n', sizeof text - 1);
    for (int n = 0; n < DCLI_MOST_EVENTS; n++)
        event[n] = (dcli_msg_event){DCLI_MOST_NS,
                                    DCLI_MOST_NS,
                                    DCLI_TRACE_KINDS - 1,
                                    DCLI_MOST_EXACT,
                                    DCLI_MOST_EXACT,
                                    DCLI_MOST_PEERS,
                                    DCLI_MOST_EXACT,
                                    DCLI_MOST_EVENT_NAMES,
                                    2,
                                    true,
                                    INT_MAX,
                                    INT_MAX};
    for (int n = 0; n < DCLI_MOST_EVENT_NAMES; n++)
        name[n].text = text;
    dcli_message largest = {.kind = DCLI_MSG_TRACED, .epoch = UINT64_MAX}, received;
    largest.traced = (dcli_msg_traced){
        INT64_MAX,        0,     DCLI_MOST_NS,          DCLI_MOST_NS, UINT64_MAX, DCLI_MOST_TRACE, DCLI_MOST_EXACT,
        DCLI_MOST_EVENTS, event, DCLI_MOST_EVENT_NAMES, name,         true};
    dcli_arena arena = {0};
    void *bytes;
    size_t length;
    const char *different;
    cr_assert_eq(dcli_message_pack(&largest, &bytes, &length), DCL_OK, "%s", dcl_error());
    cr_expect_leq(length, DCLI_MOST_MESSAGE);
    cr_assert_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_OK, "%s", dcl_error());
    cr_expect(test_message_equal(&largest, &received, &different), "%s", different);
    dcli_arena_free(&arena);
    dcli_free(bytes);
}

Test(message, the_longest_map_stands_alone)
{
    dcli_message largest = largest_message(), received;
    dcli_arena arena = {0};
    void *bytes;
    size_t length;
    const char *different;
    char *map = dcli_calloc(DCLI_MOST_MAP_TEXT + 1, 1);
    memset(map, 'm', DCLI_MOST_MAP_TEXT);
    largest.operations.count = 1;
    largest.operations.operation[0].map = map;
    cr_assert_eq(dcli_message_pack(&largest, &bytes, &length), DCL_OK, "%s", dcl_error());
    cr_assert_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_OK, "%s", dcl_error());
    cr_expect(test_message_equal(&largest, &received, &different), "%s", different);
    dcli_free(bytes);
    dcli_free(map);
    dcli_arena_free(&arena);
}

Test(message, other_encodings_of_a_number_are_read)
{
    /* CREDIT of 5 as fixint, uint8 .. uint64, int8 .. int64 */
    static const struct {
        unsigned char bytes[16];
        size_t length;
    } forms[] = {
        {{0x94, DCLI_PROTOCOL, 6, 0, 5}, 5},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xcc, 5}, 6},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xcd, 0, 5}, 7},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xce, 0, 0, 0, 5}, 9},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xcf, 0, 0, 0, 0, 0, 0, 0, 5}, 13},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xd0, 5}, 6},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xd1, 0, 5}, 7},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xd2, 0, 0, 0, 5}, 9},
        {{0x94, DCLI_PROTOCOL, 6, 0, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5}, 13},
        {{0xdc, 0, 4, DCLI_PROTOCOL, 6, 0, 5}, 7},
        {{0xdd, 0, 0, 0, 4, DCLI_PROTOCOL, 6, 0, 5}, 9},
    };
    dcli_arena arena = {0};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        dcli_message message = {0};
        cr_expect_eq(unpack_exact(forms[i].bytes, forms[i].length, &arena, &message), DCL_OK, "form %zu: %s", i,
                     dcl_error());
        cr_expect(message.kind == DCLI_MSG_CREDIT && message.credit.chunks == 5, "form %zu", i);
    }
    dcli_arena_free(&arena);
}

/* ---- refusals ---- */

static const struct {
    const char *text, *words;
} refusals[] = {
    /* the head */
    {"[]", "the array of a message of unknown kind has 0 items; expected 3..32768"},
    {"[v]", "has 1 items; expected 3.."},
    {"[v,10]", "has 2 items; expected 3.."},
    {"7", "the array of a message of unknown kind is of another type (first byte 0x07); expected an array"},
    {"[2,10,0]", "version 2 of the protocol, this peer version " TEST_PROTOCOL ";"},
    {"[300,'what a later version may hold',nil]", "version 300 of the protocol, this peer version " TEST_PROTOCOL ";"},
    {"[-1,10,0]", "version -1 of the protocol, this peer version " TEST_PROTOCOL ";"},
    {"[0,10,0]", "version 0 of the protocol, this peer version " TEST_PROTOCOL ";"},
    {"['1',10,0]", "version of a message of unknown kind is of another type"},
    {"[v,0,0]", "kind of a message of unknown kind is 0; expected 1..46"},
    {"[v,47,0]", "kind of a message of unknown kind is 47; expected 1..46"},
    {"[v,10,-1]", "epoch of a message STOP is -1; expected 0 or more"},
    {"[v,10,true]", "epoch of a message STOP is of another type"},
    {"[v,10,0,0]", "a message STOP has 1 fields; expected 0..0"},
    /* KERNEL */
    {"[v,1,0,4]", "a message KERNEL has 1 fields; expected 2..12"},
    {"[v,1,0,-1,'']", "kernel of a message KERNEL is -1; expected 0.."},
    {"[v,1,0,9223372036854775808,'']", "kernel of a message KERNEL is 9223372036854775808; expected 0.."},
    {"[v,1,0,4,5]", "text of a message KERNEL is of another type (first byte 0x05); expected a string"},
    {"[v,1,0,4,'a'*65537]", "text of a message KERNEL has 65537 bytes; expected 65536 at most"},
    {"[v,1,0,4,'a\\b']", "text of a message KERNEL holds a byte 0"},
    {"[v,1,0,4,'','b'*65537]", "prelude of a message KERNEL has 65537 bytes"},
    {"[v,1,0,4,'','',5]", "parameter of a message KERNEL is of another type (first byte 0x05); expected an array"},
    {"[v,1,0,4,'','',[['A',2]]*65]", "parameter of a message KERNEL has 65 items; expected 0..64"},
    {"[v,1,0,4,'','',[['A']]]", "parameter[0] of a message KERNEL has 1 items; expected 2..5"},
    {"[v,1,0,4,'','',[['A',2],['B',2,1,1,1,1]]]", "parameter[1] of a message KERNEL has 6 items; expected 2..5"},
    {"[v,1,0,4,'','',[['A'*64,2]]]", "parameter[0].name of a message KERNEL has 64 bytes; expected 63 at most"},
    {"[v,1,0,4,'','',[['A',0]]]", "parameter[0].access of a message KERNEL is 0; expected 1..18"},
    {"[v,1,0,4,'','',[['A',19]]]", "parameter[0].access of a message KERNEL is 19; expected 1..18"},
    {"[v,1,0,4,'','',[['A',1,12]]]", "parameter[0].type of a message KERNEL is 12; expected 0..11"},
    {"[v,1,0,4,'','',[['A',1,-1]]]", "parameter[0].type of a message KERNEL is -1; expected 0..11"},
    {"[v,1,0,4,'','',[['A',1,2,9]]]", "parameter[0].rank of a message KERNEL is 9; expected 0..8"},
    {"[v,1,0,4,'','',[['A',1,2,-1]]]", "parameter[0].rank of a message KERNEL is -1; expected 0..8"},
    {"[v,1,0,4,'','',[],1]", "builder of a message KERNEL is of another type"},
    {"[v,1,0,4,'','',[],[-1]]", "builder[0] of a message KERNEL is -1"},
    {"[v,1,0,4,'','',[],[],[],1]", "forgotten of a message KERNEL is of another type"},
    {"[v,1,0,4,'','',[],[],[],[3,-1]]", "forgotten[1] of a message KERNEL is -1; expected 0.."},
    {"[v,1,0,4,'','',[],[],[],[],2]", "along of a message KERNEL is of another type"},
    {"[v,1,0,4,'','',[],[],[],[],true,7]", "over of a message KERNEL is of another type"},
    {"[v,1,0,4,'','',[],[],[],[],true,'',7]", "fast of a message KERNEL is of another type"},
    {"[v,1,0,4,'','',[],[],[],[1]*257]", "forgotten of a message KERNEL has 257 items; expected 0..256"},
    {"[v,3,0,[],-1]", "epoch of a message OPERATIONS is -1"},
    /* BUILT */
    {"[v,2,0,-1,0]", "kernel of a message BUILT is -1"},
    {"[v,2,0,1,13]", "status of a message BUILT is 13; expected 0..12"},
    {"[v,2,0,1,-1]", "status of a message BUILT is -1; expected 0..12"},
    {"[v,2,0,1,1,'s'*1537]", "sentence of a message BUILT has 1537 bytes; expected 1536 at most"},
    /* OPERATIONS */
    {"[v,3,0,[[1,1]]*65]", "operation of a message OPERATIONS has 65 items; expected 0..64"},
    {"[v,3,0,[[1]]]", "operation[0] of a message OPERATIONS has 1 items; expected 2..29"},
    {"[v,3,0,[[1,1],7]]", "operation[1] of a message OPERATIONS is of another type (first byte 0x07)"},
    {"[v,3,0,[[-1,1]]]", "operation[0].number of a message OPERATIONS is -1; expected 0.."},
    {"[v,3,0,[[1,1],[2,0]]]", "operation[1].kind of a message OPERATIONS is 0; expected 1..10"},
    {"[v,3,0,[[1,11]]]", "operation[0].kind of a message OPERATIONS is 11; expected 1..10"},
    {"[v,3,0,[[1,4294967297]]]", "operation[0].kind of a message OPERATIONS is 4294967297; expected 1..10"},
    {"[v,3,0,[[1,3,-5]]]", "operation[0].kernel of a message OPERATIONS is -5; expected 0.."},
    {"[v,3,0,[[1,3,0,[[1]]*65]]]", "operation[0].operand of a message OPERATIONS has 65 items; expected 0..64"},
    {"[v,3,0,[[1,3,0,[[]]]]]", "operation[0].operand[0] of a message OPERATIONS has 0 items; expected 1..3"},
    {"[v,3,0,[[1,3,0,[[1],[-2]]]]]", "operation[0].operand[1].storage of a message OPERATIONS is -2; expected -1.."},
    {"[v,3,0,[[1,3,0,[[1,-1]]]]]", "operation[0].operand[0].value of a message OPERATIONS is -1; expected 0 or more"},
    {"[v,3,0,[[1,3,0,[],[0]*9]]]", "operation[0].box.start of a message OPERATIONS has 9 items; expected 0..8"},
    {"[v,3,0,[[1,3,0,[],[0,9223372036854775808]]]]", "operation[0].box.start[1] of a message OPERATIONS is 92233720"},
    {"[v,3,0,[[1,3,0,[],[0,0]]]]", "operation[0].box.count of a message OPERATIONS is left out; expected 2 items"},
    {"[v,3,0,[[1,3,0,[],[0,0],[1]]]]", "operation[0].box.count of a message OPERATIONS has 1 items; expected 2..2"},
    {"[v,3,0,[[1,3,0,[],[0,0],[1,-1]]]]", "operation[0].box.count[1] of a message OPERATIONS is -1; expected 0.."},
    {"[v,3,0,[[1,3,0,[],[0,0],[1,1]]]]", "operation[0].box.stride of a message OPERATIONS is left out; expected 2"},
    {"[v,3,0,[[1,3,0,[],[0],[1],[0]]]]", "operation[0].box.stride[0] of a message OPERATIONS is 0; expected 1.."},
    {"[v,3,0,[[1,4,0,[],[],[],[],-1]]]", "operation[0].element of a message OPERATIONS is -1; expected 0 or more"},
    {"[v,3,0,[[1,7,0,[],[],[],[],0,'p'*4097]]]", "operation[0].path of a message OPERATIONS has 4097 bytes"},
    {"[v,3,0,[[1,7,0,[],[],[],[],0,'\\']]]", "operation[0].path of a message OPERATIONS holds a byte 0"},
    {"[v,3,0,[[1,7,0,[],[],[],[],0,'p',-1]]]", "operation[0].data_start of a message OPERATIONS is -1; expected 0.."},
    {"[v,3,0,[[1,7,0,[],[],[],[],0,'p',0,0]]]", "operation[0].fortran_order of a message OPERATIONS is of another"},
    {"[v,3,0,[[1,7,0,[],[],[],[],0,'p',0,true,[]]]]", "operation[0].swapped of a message OPERATIONS is of another"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,12]]]",
     "operation[0].type of a message OPERATIONS is 12; expected 0..11"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[0]*9]]]",
     "operation[0].origin of a message OPERATIONS has 9 items"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[0]]]]",
     "operation[0].extent of a message OPERATIONS is left out"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[[0,[],[],[],[],[]]]*65]]]",
     "operation[0].view of a message OPERATIONS has 65 items; expected 0..64"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[[64,[],[],[],[],[]]]]]]",
     "operation[0].view[0].operand of a message OPERATIONS is 64; expected 0..63"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[[0,[0],[1],[8],[0],[1]]]]]]",
     "operation[0].view[0].axis[0] of a message OPERATIONS is 8; expected -1..7"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[[0,[0],[1],[0],[0],[]]]]]]",
     "operation[0].view[0].step of a message OPERATIONS has 0 items; expected 1..1"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[],[[0,[]]]*65]]]",
     "operation[0].reach of a message OPERATIONS has 65 items; expected 0..64"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[],[[64,[]]]]]]",
     "operation[0].reach[0].operand of a message OPERATIONS is 64; expected 0..63"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[],[[0,[0]*4097]]]]]",
     "operation[0].reach[0].number of a message OPERATIONS has 4097 items; expected 0..4096"},
    {"[v,3,0,[[1,3,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[],[[0]]]]]",
     "operation[0].reach[0] of a message OPERATIONS has 1 items"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[0],[-1]]]]",
     "operation[0].extent[0] of a message OPERATIONS is -1"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[0],[4],'m'*262145]]]",
     "operation[0].map of a message OPERATIONS has"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[0],[4],'',-1]]]",
     "operation[0].tile_bytes of a message OPERATIONS is"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[],[],'',0,-1]]]",
     "operation[0].block_bytes of a message OPERATIONS"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[],[],'',0,0,-1]]]",
     "operation[0].small_bytes of a message OPERATI"},
    {"[v,3,0,[[1,1,0,[],[],[],[],0,'',0,false,false,2,[],[],'',0,0,0,65537]]]",
     "operation[0].map_nodes of a message OPERATIONS is 65537; expected 0..65536"},
    {"[v,3,0,[[1,9,0,[],[],[],[],0,'',0,false,false,0,[],[],'',0,0,0,0,[],[],65537]]]",
     "operation[0].node of a message OPERATIONS is 65537; expected 0..65536"},
    /* GRANT, CHUNK, CREDIT, MARKS */
    {"[v,4,0,-1,0]", "operation of a message GRANT is -1"},
    {"[v,4,0,1,-1]", "chunks of a message GRANT is -1"},
    {"[v,4,0,1]", "a message GRANT has 1 fields; expected 2..3"},
    {"[v,5,0,-1,0,0]", "operation of a message CHUNK is -1"},
    {"[v,5,0,1,2,0]", "stream of a message CHUNK is 2; expected 0..1"},
    {"[v,5,0,1,0,-1]", "chunk of a message CHUNK is -1"},
    {"[v,5,0,1,0,0,13]", "status of a message CHUNK is 13; expected 0..12"},
    {"[v,6,0,-1]", "chunks of a message CREDIT is -1"},
    {"[v,7,0,-1,0]", "done of a message MARKS is -1"},
    {"[v,7,0,0,-1]", "ready of a message MARKS is -1"},
    {"[v,7,0,0,0,[0]*16]", "counter of a message MARKS has 16 items; expected 17..17"},
    {"[v,7,0,0,0,[0]*18]", "counter of a message MARKS has 18 items; expected 17..17"},
    {"[v,7,0,0,0,[0,0,0,0,0,0,0,0,0,0,-1,0,0,0,0,0,0]]", "counter[10] of a message MARKS is -1"},
    /* FAILED, REPORT */
    {"[v,8,0,-1,0,1]", "operation of a message FAILED is -1"},
    {"[v,8,0,1,-3,1]", "node of a message FAILED is -3; expected -2..65536"},
    {"[v,8,0,1,65537,1]", "node of a message FAILED is 65537"},
    {"[v,8,0,1,0,13]", "status of a message FAILED is 13"},
    {"[v,8,0,1,0,1,0]", "cause of a message FAILED is of another type"},
    {"[v,8,0,1,0,1,true,[0]*65]", "storage of a message FAILED has 65 items; expected 0..64"},
    {"[v,8,0,1,0,1,true,[0,-1]]", "storage[1] of a message FAILED is -1"},
    {"[v,8,0,1,0,1,true,[],'s'*1537]", "sentence of a message FAILED has 1537 bytes"},
    {"[v,9,0,-1,'A']", "operation of a message REPORT is -1"},
    {"[v,9,0,1,'A'*64]", "array of a message REPORT has 64 bytes; expected 63 at most"},
    {"[v,9,0,1,'A',[0]*9]", "index of a message REPORT has 9 items; expected 0..8"},
    {"[v,9,0,1,'A',['x']]", "index[0] of a message REPORT is of another type"},
    /* DEVICE */
    {"[v,11,0,'d','p','v','cpu','k']", "a message DEVICE has 5 fields; expected 6..13"},
    {"[v,11,0,'d'*256,'p','v','cpu','k',0]", "name of a message DEVICE has 256 bytes; expected 255 at most"},
    {"[v,11,0,'d','p'*256,'v','cpu','k',0]", "platform of a message DEVICE has 256 bytes"},
    {"[v,11,0,'d','p','v'*256,'cpu','k',0]", "version of a message DEVICE has 256 bytes"},
    {"[v,11,0,'d','p','v','c'*64,'k',0]", "class of a message DEVICE has 64 bytes"},
    {"[v,11,0,'d','p','v','cpu','k'*513,0]", "kind of a message DEVICE has 513 bytes"},
    {"[v,11,0,'d','p','v','cpu','k',65536]", "number of a message DEVICE is 65536; expected 0..65535"},
    {"[v,11,0,'d','p','v','cpu','k',0,-1]", "compute_units of a message DEVICE is -1"},
    {"[v,11,0,'d','p','v','cpu','k',0,0,1]", "has_half of a message DEVICE is of another type"},
    {"[v,11,0,'d','p','v','cpu','k',0,0,true,true,true,-1]", "memory_bytes of a message DEVICE is -1"},
    {"[v,11,0,'d','p','v','cpu','k',0,0,true,true,true,1,-1]", "process of a message DEVICE is -1"},
    /* SETUP */
    {"[v,12,0,2048,[],1,0,0,1,1,1,0,1,1,1,1,0]", "self of a message SETUP is 2048; expected 0..2047"},
    {"[v,12,0,0,[[true]]*2049,1,0,0,1,1,1,0,1,1,1,1,0]", "peer of a message SETUP has 2049 items; expected 0..2048"},
    {"[v,12,0,0,[[0]],1,0,0,1,1,1,0,1,1,1,1,0]", "peer[0].present of a message SETUP is of another type"},
    {"[v,12,0,0,[[true,7,0,'a'*256]],1,0,0,1,1,1,0,1,1,1,1,0]", "peer[0].address of a message SETUP has 256 bytes"},
    {"[v,12,0,0,[[true,7,0,'a','k'*65]],1,0,0,1,1,1,0,1,1,1,1,0]", "peer[0].key of a message SETUP has 65 bytes"},
    {"[v,12,0,0,[],0,0,0,1,1,1,0,1,1,1,1,0]", "first_operation of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,0,1,1,0,1,1,1,1,0]", "tile_bytes of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,0,1,0,1,1,1,1,0]", "chunk_bytes of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1073741825,1,0,1,1,1,1,0]",
     "chunk_bytes of a message SETUP is 1073741825; expected 1..1073741824"},
    {"[v,12,0,0,[],1,0,0,1,1,1125899906842625,0,1,1,1,1,0]",
     "pool_bytes of a message SETUP is 1125899906842625; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1,0,0,1,1,1,1,0]", "pool_bytes of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1,1,-1,1,1,1,1,0]", "quota_bytes of a message SETUP is -1; expected 0.."},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,0,1,1,1,0]", "silence_ms of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,1,0,1,1,0]", "build_ms of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,1,1,0,1,0]", "kernel_ms of a message SETUP is 0; expected 1.."},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,1,1,1,0,0]", "fanout of a message SETUP is 0; expected 1..2048"},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,1,1,1,1,4]", "log of a message SETUP is 4; expected 0..3"},
    {"[v,12,0,0,[],1,0,0,1,1,1,0,1,1,1,1,0,'f'*256]", "fault of a message SETUP has 256 bytes"},
    /* PART, LOST, JOINED */
    {"[v,13,0,-1,1,1]", "storage of a message PART is -1"},
    {"[v,13,0,1,0,1]", "bytes of a message PART is 0; expected 1.."},
    {"[v,13,0,1,1,0]", "memfd of a message PART is 0; expected 1.."},
    {"[v,13,0,1,1,1,-1]", "offset of a message PART is -1"},
    {"[v,14,0,65537,0,'']", "peer of a message LOST is 65537; expected 0..65536"},
    {"[v,14,0,0,-1,'']", "epoch of a message LOST is -1"},
    {"[v,14,0,0,0,'s'*1537]", "sentence of a message LOST has 1537 bytes"},
    {"[v,15,0,2048,1,1]", "peer of a message JOINED is 2048; expected 0..2047"},
    {"[v,15,0,0,0,1]", "epoch of a message JOINED is 0; expected 1.."},
    {"[v,15,0,0,1,0]", "first_operation of a message JOINED is 0; expected 1.."},
    {"[v,15,0,0,1,1,'a'*256]", "address of a message JOINED has 256 bytes"},
    {"[v,15,0,0,1,1,'a','k'*65]", "key of a message JOINED has 65 bytes"},
    {"[v,15,0,0,1,1,'a','k',64]", "can of a message JOINED is 64; expected 0..63"},
    {"[v,15,0,0,1,1,'a','k',0,-1]", "group of a message JOINED is -1; expected 0..2048"},
    /* SEES, SEEN, COUNT, COUNTS */
    {"[v,16,0,-1,'','']", "number of a message SEES is -1"},
    {"[v,16,0,0,'p'*4097,'']", "path of a message SEES has 4097 bytes"},
    {"[v,16,0,0,'','t'*65]", "token of a message SEES has 65 bytes"},
    {"[v,17,0,-1]", "number of a message SEEN is -1"},
    {"[v,17,0,0,1]", "yes of a message SEEN is of another type"},
    {"[v,18,0,-1]", "number of a message COUNT is -1"},
    {"[v,19,0,-1,[0]*17]", "number of a message COUNTS is -1"},
    {"[v,19,0,0,[0]*16]", "counter of a message COUNTS has 16 items; expected 17..17"},
    {"[v,19,0,0,[-1]*17]", "counter[0] of a message COUNTS is -1"},
    /* TRACE, TRACED */
    {"[v,31,0,-1,0]", "number of a message TRACE is -1"},
    {"[v,31,0,0,-2]", "part of a message TRACE is -2; expected -1..1073741824"},
    {"[v,31,0,0,0,-1]", "asked_ns of a message TRACE is -1; expected 0.."},
    {"[v,32,0,-1,0,0,0,0]", "number of a message TRACED is -1"},
    {"[v,32,0,0,-2,0,0,0]", "part of a message TRACED is -2; expected -1..1073741824"},
    {"[v,32,0,0,0,-1,0,0]", "asked_ns of a message TRACED is -1"},
    {"[v,32,0,0,0,0,-1,0]", "now_ns of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,-1]", "clock_id of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,-1]", "kept of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,0,-1]", "dropped of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,1073741825]", "kept of a message TRACED is 1073741825"},
    {"[v,32,0,0,0,0,0,0,0,9007199254740993]", "dropped of a message TRACED is 9007199254740993"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,9007199254740993]]]", "event[0].operation of a message TRACED is 9007199254740993"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,9007199254740993]]]", "event[0].part of a message TRACED is 9007199254740993"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,0,0,9007199254740993]]]",
     "event[0].bytes of a message TRACED is 9007199254740993"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1]]*2049]", "event of a message TRACED has 2049 items; expected 0..2048"},
    {"[v,32,0,0,0,0,0,0,0,0,[[-1,0,1]]]", "event[0].begin_ns of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,-1,1]]]", "event[0].duration_ns of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,0]]]", "event[0].kind of a message TRACED is 0; expected 1..18"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,19]]]", "event[0].kind of a message TRACED is 19; expected 1..18"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,-1]]]", "event[0].operation of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,-2]]]", "event[0].part of a message TRACED is -2"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,0,65537]]]", "event[0].peer of a message TRACED is 65537"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,0,0,-1]]]", "event[0].bytes of a message TRACED is -1"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,0,0,0,1001]]]", "event[0].name of a message TRACED is 1001"},
    {"[v,32,0,0,0,0,0,0,0,0,[[0,0,1,0,0,0,0,0,3]]]", "event[0].clock of a message TRACED is 3; expected 0..2"},
    {"[v,32,0,0,0,0,0,0,0,0,[],[['n'*96]]]", "name[0].text of a message TRACED has 96 bytes"},
    {"[v,32,0,0,0,0,0,0,0,0,[],[['n']]*1001]", "name of a message TRACED has 1001 items; expected 0..1000"},
    /* HELLO, WELCOME, REFUSED */
    {"[v,20,0,'p'*256,0]", "program of a message HELLO has 256 bytes"},
    {"[v,20,0,'p',-1]", "capabilities of a message HELLO is -1; expected 0 or more"},
    {"[v,21,0,'p'*256,0,[]]", "program of a message WELCOME has 256 bytes"},
    {"[v,21,0,'p',true,[]]", "capabilities of a message WELCOME is of another type"},
    {"[v,21,0,'p',0,[['','','','','',0]]*2049]", "device of a message WELCOME has 2049 items; expected 0..2048"},
    {"[v,21,0,'p',0,[['','','','','',-1]]]", "device[0].number of a message WELCOME is -1"},
    {"[v,21,0,'p',0,[],-1]", "sessions of a message WELCOME is -1"},
    {"[v,21,0,'p',0,[],0,-1]", "processes of a message WELCOME is -1"},
    {"[v,21,0,'p',0,[],0,0,-1]", "load_percent of a message WELCOME is -1"},
    {"[v,21,0,'p',0,[],0,0,0,0]", "files of a message WELCOME is of another type"},
    {"[v,22,0,13,'']", "status of a message REFUSED is 13; expected 0..12"},
    {"[v,22,0,1,'s'*1537]", "sentence of a message REFUSED has 1537 bytes"},
    /* OPEN, OPENED, BEAT, GONE */
    {"[v,23,0,-1,'','',1,0,1,0]", "session of a message OPEN is -1"},
    {"[v,23,0,0,'k'*65,'',1,0,1,0]", "key of a message OPEN has 65 bytes"},
    {"[v,23,0,0,'','p'*65,1,0,1,0]", "password of a message OPEN has 65 bytes"},
    {"[v,23,0,0,'','',0,0,1,0]", "silence_ms of a message OPEN is 0; expected 1.."},
    {"[v,23,0,0,'','',1,2048,1,0]", "first of a message OPEN is 2048; expected 0..2047"},
    {"[v,23,0,0,'','',1,0,0,0]", "nodes of a message OPEN is 0; expected 1..2048"},
    {"[v,23,0,0,'','',1,0,1,-1]", "chunk_bytes of a message OPEN is -1; expected 0.."},
    {"[v,24,0,[[true]]*2049]", "peer of a message OPENED has 2049 items"},
    {"[v,24,0,[[]]]", "peer[0] of a message OPENED has 0 items; expected 1..5"},
    {"[v,25,0,-1]", "number of a message BEAT is -1"},
    {"[v,26,0,2048,'']", "process of a message GONE is 2048; expected 0..2047"},
    {"[v,26,0,0,'s'*1537]", "sentence of a message GONE has 1537 bytes"},
    {"[v,27,0,-1,0]", "done of a message RISEN is -1"},
    {"[v,27,0,0,-1]", "ready of a message RISEN is -1"},
    {"[v,27,0,0,0,[0,-1]]", "of a message RISEN is -1"},
    {"[v,28,0,0,0,'']", "number of a message PRINTED is 0; expected 1.."},
    {"[v,28,0,1,2048,'']", "process of a message PRINTED is 2048; expected 0..2047"},
    {"[v,28,0,1,0,'t'*65537]", "text of a message PRINTED has 65537 bytes"},
    {"[v,28,0,1,0,'',-1]", "dropped of a message PRINTED is -1"},
    {"[v,28,0,1,0,'',0,-1]", "flushed of a message PRINTED is -1"},
    {"[v,29,0,-1]", "number of a message SHOWN is -1"},
    {"[v,29,0,0,-1]", "flush of a message SHOWN is -1"},
    {"[v,30,0,0]", "memfd of a message FORGET is 0; expected 1.."},
    {"[v,40,0,[[0]]]", "command[0].kind of a message COMMANDS is 0; expected 1..27"},
    {"[v,40,0,[[28]]]", "command[0].kind of a message COMMANDS is 28; expected 1..27"},
    {"[v,40,0,[[1,-1]]]", "command[0].object of a message COMMANDS is -1; expected 0.."},
    {"[v,40,0,[[13,0,[],1,1,false,[0]]]]", "command[0].wait[0] of a message COMMANDS is 0; expected 1.."},
    {"[v,41,0,0,0]", "transfer of a message DATA is 0; expected 1.."},
    {"[v,41,0,1,-1]", "offset of a message DATA is -1; expected 0.."},
    {"[v,42,0,1,-1]", "granted of a message TAKEN is -1; expected 0.."},
    {"[v,43,0,[[0,0]]]", "ended[0].event of a message EVENTS is 0; expected 1.."},
    {"[v,43,0,[[1,1]]]", "ended[0].status of a message EVENTS is 1; expected -2147483648..0"},
    {"[v,44,0,1,4]", "kind of a message QUERY is 4; expected 1..3"},
    {"[v,45,0,0,0]", "number of a message ANSWER is 0; expected 1.."},
    {"[v,45,0,1,0,false,[[0,65537]]]", "fact[0].bytes of a message ANSWER is 65537; expected 0..65536"},
    {"[v,33,0,0,1,1,1]", "question of a message HUNGRY is 0; expected 1.."},
    {"[v,33,0,1,0,1,1]", "first of a message HUNGRY is 0; expected 1.."},
    {"[v,33,0,1,1,0,1]", "upto of a message HUNGRY is 0; expected 1.."},
    {"[v,33,0,1,1,1,0]", "bytes of a message HUNGRY is 0; expected 1.."},
    {"[v,33,0,1,1,1,1,-1]", "kind of a message HUNGRY is -1"},
    {"[v,34,0,0]", "question of a message NOTHING is 0; expected 1.."},
    {"[v,35,0,0,1,0,1]", "question of a message LENT is 0; expected 1.."},
    {"[v,35,0,1,0,0,1]", "operation of a message LENT is 0; expected 1.."},
    {"[v,35,0,1,1,-1,1]", "first of a message LENT is -1"},
    {"[v,35,0,1,1,0,0]", "count of a message LENT is 0; expected 1.."},
    {"[v,36,0,0,1,0,false,0]", "question of a message LOAN is 0; expected 1.."},
    {"[v,36,0,1,0,0,false,0]", "operation of a message LOAN is 0; expected 1.."},
    {"[v,36,0,1,1,-1,false,0]", "batch of a message LOAN is -1"},
    {"[v,36,0,1,1,0,false,-1]", "chunk of a message LOAN is -1"},
    {"[v,37,0,0,1,0]", "question of a message RECALL is 0; expected 1.."},
    {"[v,37,0,1,0,0]", "operation of a message RECALL is 0; expected 1.."},
    {"[v,37,0,1,1,-1]", "batch of a message RECALL is -1"},
    {"[v,38,0,0,1,0]", "question of a message RESULT is 0; expected 1.."},
    {"[v,38,0,1,1,-1]", "batch of a message RESULT is -1"},
    {"[v,38,0,1,1,0,-1]", "kernel_ns of a message RESULT is -1"},
    {"[v,39,0,0,1,0]", "question of a message RETURNED is 0; expected 1.."},
    {"[v,39,0,1,1,-1]", "batch of a message RETURNED is -1"},
};

Test(message, every_field_outside_its_range_is_refused_by_name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        cr_expect_eq(unpack_text(refusals[i].text), DCL_ERR_PROTOCOL, "%s was accepted", refusals[i].text);
        cr_expect(strstr(dcl_error(), refusals[i].words) != NULL, "%s: \"%s\"; expected \"%s\"", refusals[i].text,
                  dcl_error(), refusals[i].words);
        cr_expect(strstr(dcl_error(), "same version of DCL") != NULL, "%s: no remedy in \"%s\"", refusals[i].text,
                  dcl_error());
    }
}

static const struct {
    const char *what, *words;
    unsigned char bytes[24];
    size_t length;
} malformed[] = {
    {"nothing", "byte 0 of a message of 0 bytes: the message ends where an item should follow", {0}, 0},
    {"an array of 2^28 items in five bytes", "more items are announced than bytes are left", {0xdd, 0x10, 0, 0, 0}, 5},
    {"an array of 2^32 - 1 items", "more items are announced than bytes are left", {0xdd, 255, 255, 255, 255}, 5},
    {"nested arrays that fit each alone",
     "more items are announced than bytes are left",
     {0xdc, 0, 10, 0xdc, 0, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
     16},
    {"nine arrays in each other",
     "too deep in each other; expected a depth of 8 at most",
     {0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 1},
     10},
    {"a string of 2^32 - 1 bytes", "ends inside an item", {0x91, 0xdb, 255, 255, 255, 255, 'a'}, 7},
    {"a string one byte too long", "ends inside an item", {0x91, 0xa3, 'a', 'b'}, 4},
    {"a string without all of its length", "ends inside a count", {0x91, 0xda, 0}, 3},
    {"half a number", "ends inside an item", {0x94, DCLI_PROTOCOL, 6, 0, 0xcf, 0, 0, 0}, 8},
    {"half a version", "ends inside an item", {0x91, 0xcd, 1}, 3},
    {"nil",
     "byte 3 of a message of 4 bytes: an item of a type that no message has",
     {0x93, DCLI_PROTOCOL, 10, 0xc0},
     4},
    {"a float", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xca, 0, 0, 0, 0}, 9},
    {"bytes", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xc4, 0}, 6},
    {"a map", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0x80}, 5},
    {"a large map", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xdf, 255, 255, 255, 255}, 9},
    {"an ext", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xc7, 0, 1}, 7},
    {"a fixext", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xd4, 1, 1}, 7},
    {"the byte msgpack never uses", "a type that no message has", {0x94, DCLI_PROTOCOL, 6, 0, 0xc1}, 5},
    {"a byte behind it", "byte 5 of a message of 6 bytes: bytes follow", {0x94, DCLI_PROTOCOL, 6, 0, 5, 0}, 6},
    {"a message behind it", "bytes follow", {0x93, DCLI_PROTOCOL, 10, 0, 0x93, DCLI_PROTOCOL, 10, 0}, 8},
};

Test(message, malformed_bytes_are_refused)
{
    dcli_arena arena = {0};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        dcli_message message;
        cr_expect_eq(unpack_exact(malformed[i].bytes, malformed[i].length, &arena, &message), DCL_ERR_PROTOCOL, "%s",
                     malformed[i].what);
        cr_expect(strstr(dcl_error(), malformed[i].words) != NULL, "%s: \"%s\"", malformed[i].what, dcl_error());
    }
    cr_expect_eq(arena.capacity, 0, "nothing was allocated for any of them");
    dcli_arena_free(&arena);
}

Test(message, too_many_items_or_bytes_are_refused)
{
    size_t length = DCLI_MOST_MESSAGE + 1;
    unsigned char *bytes = calloc(1, length);
    dcli_arena arena = {0};
    dcli_message message;
    memcpy(bytes, (unsigned char[]){0xdd, 0, 0, 0x80, 0}, 5); /* 32768 items beside the array itself */
    cr_expect_eq(unpack_exact(bytes, 5 + 32768, &arena, &message), DCL_ERR_PROTOCOL);
    cr_expect(strstr(dcl_error(), "version 0") != NULL, "%s", dcl_error());
    bytes[5] = DCLI_PROTOCOL;
    cr_expect_eq(unpack_exact(bytes, 5 + 32768, &arena, &message), DCL_ERR_PROTOCOL);
    cr_expect(strstr(dcl_error(), "too many items; expected 32768 at most") != NULL, "%s", dcl_error());
    cr_expect_eq(unpack_exact(bytes, length, &arena, &message), DCL_ERR_PROTOCOL);
    cr_expect(strstr(dcl_error(), "it is too long; expected 1048576 bytes at most") != NULL, "%s", dcl_error());
    free(bytes);
    dcli_arena_free(&arena);
}

Test(message, cut_anywhere_or_followed_by_anything_is_refused)
{
    const uint64_t seed = 77;
    test_random random = {seed};
    dcli_arena arena = {0};
    for (int i = 0; i < 60; i++) {
        dcli_message message = test_random_message(&random, 1 + i % (DCLI_MSG_KIND_COUNT - 1)), received;
        void *bytes;
        size_t length;
        cr_assert_eq(dcli_message_pack(&message, &bytes, &length), DCL_OK, "%s", dcl_error());
        for (size_t cut = 0; cut < length; cut += 1 + length / 300)
            cr_assert_eq(unpack_exact(bytes, cut, &arena, &received), DCL_ERR_PROTOCOL,
                         "seed %" PRIu64 " message %d of %zu bytes, cut to %zu", seed, i, length, cut);
        unsigned char *longer = malloc(length + 1);
        memcpy(longer, bytes, length);
        longer[length] = (unsigned char)i;
        cr_assert_eq(unpack_exact(longer, length + 1, &arena, &received), DCL_ERR_PROTOCOL,
                     "seed %" PRIu64 " message %d", seed, i);
        free(longer);
        dcli_free(bytes);
    }
    dcli_arena_free(&arena);
}

/* ---- packing refuses too ---- */

static dcl_status pack(const dcli_message *message)
{
    void *bytes;
    size_t length;
    dcl_status status = dcli_message_pack(message, &bytes, &length);
    if (status == DCL_OK)
        dcli_free(bytes);
    return status;
}

#define EXPECT_PACK(message, expected, words)                                                     \
    do {                                                                                          \
        cr_expect_eq(pack(message), expected);                                                    \
        cr_expect(strstr(dcl_error(), words) != NULL, "\"%s\" lacks \"%s\"", dcl_error(), words); \
    } while (0)

Test(message, packing_refuses_what_receivers_would)
{
    dcli_msg_operand operand[2] = {{.storage = 0}, {.storage = -2}};
    dcli_msg_operation operation[2] = {{.kind = 1}, {.kind = 3, .operand_count = 2, .operand = operand}};
    dcli_message message = {.kind = DCLI_MSG_OPERATIONS, .operations = {2, operation}};
    EXPECT_PACK(&message, DCL_ERR_INVALID, "operation[1].operand[1].storage of a message OPERATIONS is -2");
    operation[1].operand_count = 65;
    EXPECT_PACK(&message, DCL_ERR_INVALID, "operation[1].operand of a message OPERATIONS has 65 items; expected 0..64");
    operation[1].operand_count = -1;
    EXPECT_PACK(&message, DCL_ERR_INVALID, "has -1 items");
    operation[1].operand_count = 0;
    operation[0].box_rank = 1; /* strides are 1 at least */
    EXPECT_PACK(&message, DCL_ERR_INVALID, "operation[0].box.stride[0] of a message OPERATIONS is 0; expected 1..");
    char path[DCLI_MOST_PATH + 2];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    operation[0] = (dcli_msg_operation){.kind = 7, .path = path};
    EXPECT_PACK(&message, DCL_ERR_INVALID, "operation[0].path of a message OPERATIONS has 4097 bytes; expected 4096");
    EXPECT_PACK(&(dcli_message){.kind = 0}, DCL_ERR_INVALID, "kind of a message is 0; expected 1..46");
    EXPECT_PACK(&(dcli_message){.kind = DCLI_MSG_KIND_COUNT}, DCL_ERR_INVALID, "kind of a message is 47");
}

Test(message, long_sentences_are_cut_not_refused)
{
    char sentence[3000];
    memset(sentence, 's', sizeof sentence - 1);
    sentence[sizeof sentence - 1] = '\0';
    dcli_message message = {.kind = DCLI_MSG_BUILT, .built = {1, DCL_ERR_BODY, sentence}}, received;
    dcli_arena arena = {0};
    void *bytes;
    size_t length;
    cr_assert_eq(dcli_message_pack(&message, &bytes, &length), DCL_OK);
    cr_assert_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_OK, "%s", dcl_error());
    cr_expect_eq(strlen(received.built.sentence), DCLI_MOST_SENTENCE);
    dcli_free(bytes);
    dcli_arena_free(&arena);
}

Test(message, running_out_of_memory_is_an_error)
{
    dcli_message message = largest_message(), received;
    dcli_arena arena = {0};
    void *bytes;
    size_t length;
    cr_assert_eq(dcli_message_pack(&message, &bytes, &length), DCL_OK);
    for (int n = 1; n <= 4; n++) {
        dcli_arena_free(&arena);
        dcli_alloc_fail_after(n);
        cr_expect_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_ERR_NOMEM, "allocation %d", n);
        dcli_alloc_fail_after(n);
        cr_expect_eq(pack(&message), DCL_ERR_NOMEM, "allocation %d", n);
    }
    dcli_alloc_fail_after(0);
    cr_expect_eq(dcli_message_unpack(bytes, length, &arena, &received), DCL_OK, "%s", dcl_error());
    dcli_free(bytes);
    dcli_arena_free(&arena);
}

/* ---- the table and the page ---- */

static void check_record(const dcli_record *record, int depth)
{
    cr_expect(depth <= DCLI_MOST_DEPTH, "%s", record->name);
    for (int i = record->required; i < record->field_count; i++) {
        const dcli_field *field = &record->field[i];
        if (field->kind == DCLI_FIELD_INT || field->kind == DCLI_FIELD_INT64 || field->count_kind == DCLI_COUNT_FIXED)
            cr_expect(field->minimum <= 0 && field->maximum >= 0, "%s.%s may be left out, so 0 is in its range",
                      record->name, field->name);
    }
    for (int i = 0; i < record->field_count; i++) {
        const dcli_field *field = &record->field[i];
        if (field->kind == DCLI_FIELD_INT)
            cr_expect(field->minimum >= INT32_MIN && field->maximum <= INT32_MAX, "%s.%s", record->name, field->name);
        if (field->record != NULL)
            check_record(field->record, depth + 2);
    }
}

Test(message, the_table_is_sound)
{
    for (int kind = 1; kind < DCLI_MSG_KIND_COUNT; kind++) {
        cr_assert_not_null(dcli_message_table[kind].name, "kind %d", kind);
        check_record(&dcli_message_table[kind], 1);
    }
}

/** docs/protocol.md of the sources. TEST_WRITE_PROTOCOL=1 writes it anew. */
static FILE *open_page(const char *mode)
{
    static const char path[] = TEST_SOURCES "/../docs/protocol.md"; /* __FILE__ may be relative to any folder */
    FILE *file = fopen(path, mode);
    cr_assert_not_null(file, "%s cannot be opened", path);
    return file;
}

Test(message, the_page_is_made_from_the_table)
{
    char *document = protocol_page();
    cr_assert_not_null(document);
    if (getenv("TEST_WRITE_PROTOCOL") != NULL) {
        FILE *page = open_page("w");
        fputs(document, page);
        fclose(page);
    }
    static char text[1 << 16];
    FILE *page = open_page("r");
    text[fread(text, 1, sizeof text - 1, page)] = '\0';
    fclose(page);
    cr_expect_str_eq(text, document,
                     "docs/protocol.md differs from the table: run this test with TEST_WRITE_PROTOCOL=1");
    dcli_free(document);
}
