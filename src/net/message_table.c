/* net/message_table.c - the table of messages, field by field. */

#include <limits.h>

#include <dcl/forall.h>

#include "base/config.h"
#include "base/ways.h"
#include "net/table.h"

_Static_assert(sizeof(dcl_counters) == DCLI_MSG_COUNTERS * sizeof(int64_t), "MARKS carries all of dcl_counters");

/* clang-format off */

/* A field of struct dcli_msg_<in>; docs/protocol.md gives it the same name. */
#define FIELD(in, name, kind) #name, kind, offsetof(dcli_msg_##in, name)
#define INT(in, name, low, high, text) \
    { FIELD(in, name, DCLI_FIELD_INT), .minimum = (low), .maximum = (high), .about = (text) }
#define UP_TO(in, name, low, most, text) \
    { FIELD(in, name, DCLI_FIELD_INT64), .minimum = (low), .maximum = (most), .about = (text) }
#define INT64(in, name, low, text) UP_TO(in, name, low, INT64_MAX, text)
#define MILLISECONDS(in, name, text) UP_TO(in, name, 1, DCLI_MOST_MS, text)
#define BITS(in, name, text) \
    { FIELD(in, name, DCLI_FIELD_BITS), .about = (text) }
#define BOOL(in, name, text) \
    { FIELD(in, name, DCLI_FIELD_BOOL), .about = (text) }
#define STRING(in, name, bytes, text) \
    { FIELD(in, name, DCLI_FIELD_STRING), .most = (bytes), .about = (text) }
#define SENTENCE(in, name, text) \
    { FIELD(in, name, DCLI_FIELD_SENTENCE), .most = DCLI_MOST_SENTENCE, .about = (text) }
#define AXES(in, name, how, number, low, text) \
    { FIELD(in, name, DCLI_FIELD_INLINE), how, offsetof(dcli_msg_##in, number), .most = DCL_MAX_RANK, \
      .minimum = (low), .maximum = INT64_MAX, .about = (text) }
#define NUMBERS(in, title, name, number, limit, low, text) \
    { title, DCLI_FIELD_NUMBERS, offsetof(dcli_msg_##in, name), DCLI_COUNT_OWN, offsetof(dcli_msg_##in, number), \
      .most = (limit), .minimum = (low), .maximum = INT64_MAX, .about = (text) }
#define RECORDS(in, name, number, limit, table, text) \
    { FIELD(in, name, DCLI_FIELD_RECORDS), DCLI_COUNT_OWN, offsetof(dcli_msg_##in, number), .most = (limit), \
      .record = (table), .about = (text) }
#define COUNTERS(in, text) \
    { FIELD(in, counter, DCLI_FIELD_INLINE), DCLI_COUNT_FIXED, .most = DCLI_MSG_COUNTERS, .minimum = 0, \
      .maximum = INT64_MAX, .about = (text) }
#define PROOF(in) \
    NUMBERS(in, "proof", proof.number, proof.count, 2 * DCLI_MOST_NODES, INT64_MIN, \
            "pairs (node, authentication tag) of the nodes to which the message is still to be forwarded")

/** A record: its name and struct, number of required fields, description, whether a second frame may follow, fields. */
#define RECORD_WITH(title, in, least, text, has_payload, ...) \
    { title, sizeof(dcli_msg_##in), sizeof((const dcli_field[]){__VA_ARGS__}) / sizeof(dcli_field), least, \
      (const dcli_field[]){__VA_ARGS__}, has_payload, text }
#define RECORD(title, in, least, text, ...) RECORD_WITH(title, in, least, text, false, __VA_ARGS__)

/* ---- structs inside messages ---- */

static const dcli_record operand_record = RECORD("operand", operand, 1, "an array or scalar",
    INT64(operand, storage, -1, "number of the storage; -1: a scalar or prelude"),
    BITS(operand, value, "bits of a scalar"),
    INT64(operand, generation, -INT64_MAX,
          "forall, move: which replicas it uses. 0: none; positive: those of this generation, and it makes new ones; "
          "negative: those of the generation with the opposite sign, and it makes none"));

static const dcli_record view_record = RECORD("view", view, 6, "how an operation accesses an array through a view",
    INT(view, operand, 0, DCLI_MOST_OPERANDS - 1, "position in the operation's list"),
    AXES(view, origin, DCLI_COUNT_OWN, rank, INT64_MIN, "first index per axis of the view"),
    AXES(view, extent, DCLI_COUNT_SAME, rank, 0, "indices per axis of the view"),
    {"axis", DCLI_FIELD_INLINE, offsetof(dcli_msg_view, axis), DCLI_COUNT_OWN, offsetof(dcli_msg_view, base_rank), 0,
     DCL_MAX_RANK, -1, DCL_MAX_RANK - 1, NULL,
     "per axis of the array: the axis of the view that runs along it; -1: none"},
    AXES(view, constant, DCLI_COUNT_SAME, base_rank, INT64_MIN,
         "per axis of the array: its index at the view's index 0"),
    AXES(view, step, DCLI_COUNT_SAME, base_rank, INT64_MIN,
         "per axis of the array: the step of its index per step of the view's index"),
    AXES(view, shape, DCLI_COUNT_OWN, shape_rank, 0,
         "of a reshaped view: extents of its grid, origin 0; empty: the array's own grid"));

static const dcli_record reach_record = RECORD("reach", reach, 2, "a declaration of what is read of an array",
    INT(reach, operand, 0, DCLI_MOST_OPERANDS - 1, "position in the operation's list"),
    NUMBERS(reach, "number", number, count, DCLI_MOST_DECLARED_NUMBERS, INT64_MIN,
            "halo, cross: width per axis; box: start, count, stride, each per axis; function: for each portion two boxes "
            "in this form: indices of the output, and the elements that the body reads for these indices"),
    BOOL(reach, approximate, "the declaration covers more than what is read"));

static const dcli_record operation_record = RECORD("operation", operation, 2, "one call of the program",
    /* fields in an order that lets the frequent kinds omit most at the end */
    INT64(operation, number, 0, "operations are numbered in the program's order"),
    INT(operation, kind, 1, DCLI_MOST_OPERATION_KIND,
        "create, release, forall, fill, write, read, load, save, move, drop"),
    INT64(operation, kernel, 0, "forall: the body"),
    RECORDS(operation, operand, operand_count, DCLI_MOST_OPERANDS, &operand_record,
            "arrays and scalars, in the body's order"),
    {"box.start", DCLI_FIELD_INLINE, offsetof(dcli_msg_operation, box.start), DCLI_COUNT_OWN,
     offsetof(dcli_msg_operation, box_rank),
     offsetof(dcli_msg_operation, box.rank), DCL_MAX_RANK, INT64_MIN, INT64_MAX, NULL,
     "per axis; empty: the whole grid"},
    AXES(operation, box.count, DCLI_COUNT_SAME, box_rank, 0, "per axis"),
    AXES(operation, box.stride, DCLI_COUNT_SAME, box_rank, 1, "per axis"),
    BITS(operation, element, "fill: bits of the element"),
    STRING(operation, path, DCLI_MOST_PATH, "load, save: the file"),
    INT64(operation, data_start, 0, "load, save: bytes before the first element"),
    BOOL(operation, fortran_order, "load, save: first axis fastest in the file"),
    BOOL(operation, swapped, "load: the bytes of each element are in reverse order"),
    INT(operation, type, 0, DCL_DOUBLE, "create: element type; 0: none"),
    AXES(operation, origin, DCLI_COUNT_OWN, rank, INT64_MIN, "create: first index per axis"),
    AXES(operation, extent, DCLI_COUNT_SAME, rank, 0, "create: elements per axis"),
    STRING(operation, map, DCLI_MOST_MAP_TEXT, "create: the map, as dcl_map_parse() reads it"),
    INT64(operation, tile_bytes, 0, "create: intended size of a tile"),
    INT64(operation, block_bytes, 0, "create: intended size of a block"),
    INT64(operation, small_bytes, 0, "create: smaller arrays are stored on one node"),
    INT(operation, map_nodes, 0, DCLI_MOST_PEERS,
        "create: number of nodes when the map was made; 0: all of the session"),
    RECORDS(operation, view, view_count, DCLI_MOST_OPERANDS, &view_record,
            "views through which operands are accessed; fill, read, write: only reshaped views"),
    RECORDS(operation, reach, reach_count, DCLI_MOST_OPERANDS, &reach_record, "forall: declared reads of operands"),
    INT(operation, node, 0, DCLI_MOST_PEERS, "move: the node that receives the elements"),
    BITS(operation, device, "load, save: file system of the file (st_dev), as the program's host numbers it"),
    BITS(operation, inode, "load, save: inode of the file; 0 (load): any file of that name"),
    BOOL(operation, unset,
         "create: the next operation overwrites the whole array; until then its contents are undefined"),
    INT(operation, steal, DCL_STEAL_DEFAULT, DCL_STEAL_ALWAYS,
        "forall: when its batches are lent. 0: as the session's setting; 1: never; 2: if it pays; 3: always"),
    INT(operation, overlap, 0, DCLI_MOST_LINES,
        "forall: 0: the lines around parts are not used; k > 0: nodes also compute k - 1 lines on each side of their parts"),
    BITS(operation, fresh, "forall: bit k: the lines around the parts of operand k are received first"));

static const dcli_record parameter_record = RECORD("parameter", parameter, 2, "a named argument of a body",
    STRING(parameter, name, DCLI_MOST_NAME, "its name in the body"),
    INT(parameter, access, DCL_ACCESS_OUT, DCL_ACCESS_OPERATOR,
        "dcl_access; IN_KEPT and MOVE are sent as IN; GROUP and ITEMS are no parameters, but the field items"),
    INT(parameter, type, 0, DCL_DOUBLE, "element type; 0: none"),
    INT(parameter, rank, 0, DCL_MAX_RANK, "axes; 0: a scalar"),
    INT(parameter, turned, -1, DCL_MAX_RANK - 1,
        "axis along which neighbours are contiguous: 0 the last, 1 the one before it; -1: none"));

#define DEVICE(in) \
    STRING(in, name, DCLI_MOST_ADDRESS, "name that the driver reports"), \
    STRING(in, platform, DCLI_MOST_ADDRESS, "platform that the driver reports"), \
    STRING(in, version, DCLI_MOST_ADDRESS, "OpenCL version"), \
    STRING(in, class, DCLI_MOST_NAME, "cpu, gpu, accelerator or other"), \
    STRING(in, kind, 512, \
        "name, driver and platform version; one node of each kind compiles a new body immediately, the others at " \
        "first use; \"\" in WELCOME"), \
    INT(in, number, 0, 65535, "number of the device on its host"), \
    INT(in, compute_units, 0, INT_MAX, "compute units that it reports"), \
    BOOL(in, has_half, "supports half"), \
    BOOL(in, has_double, "supports double"), \
    BOOL(in, in_place, "works in host memory, which other processes of its host can map"), \
    INT64(in, memory_bytes, 0, "global memory it reports"), \
    INT64(in, process, 0, "id of the process that serves it"), \
    BOOL(in, reads_gpus, "it and other GPUs of its host can read each other's memory")

static const dcli_record device_record = RECORD("device", device, 6, "an OpenCL device", DEVICE(device));

/* How a node exchanges elements with others. */
#define CAN(in) \
    INT(in, can, 0, DCLI_CAN_ALL, \
        "sum of abilities: 1, it can read parts of other nodes in place; 2, they can read its parts in place; 4, they " \
        "can map the memory of its messages; 8 and 16, like 1 and 2, between GPUs; 32, its device pins memory of " \
        "messages")
#define GROUP(in) INT(in, group, 0, DCLI_MOST_NODES, "the abilities in `can` hold between nodes with the same `group`")

static const dcli_record peer_record = RECORD("peer", peer, 1, "a node of the session",
    BOOL(peer, present, "false: the node has not joined yet or is lost"),
    CAN(peer),
    GROUP(peer),
    STRING(peer, address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
    STRING(peer, key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"));

static const dcli_record host_record = RECORD("host", host, 2, "how a process recognises the program of its session",
    STRING(host, key, DCLI_MOST_KEY,
           "with keys: public key of the program, hexadecimal; without: the password that the program uses for this "
           "process only"),
    STRING(host, name, DCLI_MOST_KEY,
           "known to the program and this process only; the routing id of the program's connection is made from it"));

static const dcli_record event_record = RECORD("event", event, 3, "what a node did, and when",
    UP_TO(event, begin_ns, 0, DCLI_MOST_NS, "by the node's clock"),
    UP_TO(event, duration_ns, 0, DCLI_MOST_NS, "0: it has no duration"),
    INT(event, kind, 1, DCLI_TRACE_KINDS - 1,
        "kernels, fill; stage, commit, move, load, read; pack, pass, save, write; sent, arrived; wait; plan, compile, "
        "launch, allocate"),
    UP_TO(event, operation, 0, DCLI_MOST_EXACT, "number of the operation; 0: of none"),
    UP_TO(event, part, -1, DCLI_MOST_EXACT, "number of the batch or chunk; -1: of none"),
    INT(event, peer, -1, DCLI_MOST_PEERS, "the other node, or the program; -1: none"),
    UP_TO(event, bytes, 0, DCLI_MOST_EXACT, "bytes moved"),
    INT(event, name, 0, DCLI_MOST_EVENT_NAMES, "number of its name; 0: none"),
    INT(event, clock, 0, DCLI_TRACE_CLOCKS - 1,
        "0: measured by the thread; 1: by the device; 2: launch and observed completion"),
    BOOL(event, written, "of a chunk: the sender computed its elements; false: the receiver reads them"),
    INT(event, tasks, 0, INT_MAX, "kernels: tiles; chunk of a lent batch: number of the batch"),
    INT(event, launches, 0, INT_MAX,
        "kernels: launches; chunk of a lent batch: number of the question that it was lent for"));

static const dcli_record command_record = RECORD("command", command, 1, "an OpenCL command",
    INT(command, kind, 1, DCLI_MOST_COMMAND_KIND,
        "release, buffer, sub-buffer, queue, source, binary, build, compile, link, kernel, argument, launch, marker, "
        "barrier, write, read, copy, copy of a rectangle, fill, user event, its status, forget events, append, tell an "
        "event, fail a transfer, sub-devices, context"),
    INT64(command, object, 0, "number of the object that it makes or uses; 0: none"),
    NUMBERS(command, "number", number, number_count, DCLI_MOST_COMMAND_NUMBERS, INT64_MIN,
            "depends on the kind: dcli_command_kind of src/net/message.h"),
    INT64(command, queue, 0, "number of the command queue; 0: none"),
    INT64(command, event, 0, "number by which its end is reported; 0: it is not reported"),
    BOOL(command, unobserved, "the end of the event may be reported some milliseconds late, because the program has no handle of it"),
    NUMBERS(command, "wait", wait, wait_count, DCLI_MOST_COMMAND_WAITS, 1, "events that must be complete before"),
    NUMBERS(command, "word", word, word_count, DCLI_MOST_COMMAND_WORDS, INT64_MIN,
            "bytes of an argument or pattern, 8 in each word, little-endian"),
    STRING(command, text, DCLI_MOST_TEXT, "options or name"));

static const dcli_record ended_record = RECORD("ended", ended, 2, "an event that has ended",
    INT64(ended, event, 1, "number of the event; or of a command queue, if one of its commands without an event has failed"),
    INT(ended, status, INT_MIN, 0, "0: complete; negative: an OpenCL error"),
    BOOL(ended, through, "all unobserved commands before it in its command queue are complete, too; their ends are not reported"),
    UP_TO(ended, queued_ns, 0, DCLI_MOST_NS, "by the device's clock; 0: not known"),
    UP_TO(ended, submit_ns, 0, DCLI_MOST_NS, "the same"),
    UP_TO(ended, start_ns, 0, DCLI_MOST_NS, "the same"),
    UP_TO(ended, end_ns, 0, DCLI_MOST_NS, "the same"));

static const dcli_record fact_record = RECORD("fact", fact, 2, "a part of an answer",
    INT64(fact, key, 0, "what it is about"),
    UP_TO(fact, bytes, 0, 8 * DCLI_MOST_FACT_WORDS, "bytes in `word`"),
    STRING(fact, text, DCLI_MOST_TEXT, "the fact, if it is a text"),
    NUMBERS(fact, "word", word, word_count, DCLI_MOST_FACT_WORDS, INT64_MIN,
            "the fact, 8 bytes in each word, little-endian"));

static const dcli_record name_record = RECORD("name", name, 1, "a name of events",
    STRING(name, text, DCLI_TRACE_NAME_BYTES - 1, "the first line of a body"));

/* ---- messages ---- */

const dcli_record dcli_message_table[DCLI_MSG_KIND_COUNT] = {
    [DCLI_MSG_KERNEL] = RECORD("KERNEL", kernel, 2, "program -> node: a body to parse and build",
        INT64(kernel, kernel, 0, "number of the body, chosen by the program"),
        STRING(kernel, text, DCLI_MOST_TEXT, "the body"),
        STRING(kernel, prelude, DCLI_MOST_TEXT, "text to compile before the body"),
        RECORDS(kernel, parameter, parameter_count, DCLI_MOST_OPERANDS, &parameter_record, "its parameters"),
        NUMBERS(kernel, "builder", builder, builder_count, DCLI_MOST_NODES, 0,
                "nodes that compile immediately and answer BUILT; others compile at first use"),
        AXES(kernel, items, DCLI_COUNT_OWN, item_count, 0,
             "of a tile kernel: three work-group sizes (0: DCL chooses), three numbers of work-items per tile (0: one "
             "per element); empty: a body"),
        NUMBERS(kernel, "forgotten", forgotten, forgotten_count, DCLI_MOST_FORGOTTEN, 0,
                "bodies to evict: no later operation uses them"),
        BOOL(kernel, along, "a body that reduces into its outputs, along the axes that they do not have"),
        STRING(kernel, over, DCLI_MOST_TEXT, "ranges of the body's indices; empty: those of the arrays"),
        BOOL(kernel, fast, "of a body with `along`: a product of matrices may be computed in any order"),
        BOOL(kernel, gathers, "its first operation probably gathers inputs, so the program for CPUs should have the kernels that do"),
        PROOF(kernel)),
    [DCLI_MSG_BUILT] = RECORD("BUILT", built, 2, "node -> program: result of KERNEL",
        INT64(built, kernel, 0, "number of the body"),
        INT(built, status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
        SENTENCE(built, sentence, "error text")),
    [DCLI_MSG_OPERATIONS] = RECORD("OPERATIONS", operations, 1, "program -> node: descriptors, in order",
        RECORDS(operations, operation, count, DCLI_MOST_OPERATIONS, &operation_record, "in the program's order"),
        INT64(operations, epoch, 0,
              "epoch that the program knew; a receiver with an older epoch waits until it knows all members"),
        PROOF(operations),
        {"order", DCLI_FIELD_NUMBERS, offsetof(dcli_msg_operations, order), DCLI_COUNT_OWN,
         offsetof(dcli_msg_operations, order_count), 0, DCLI_MOST_ORDER, 0, DCLI_MOST_OPERATIONS, NULL,
         "one number per call, in the order in which the program made the calls. 0: the next operation of the list. "
         "k > 0: the k-th operation of the list, a forall that has already occurred, is repeated; its number is "
         "that of the preceding call plus 1. Empty: each operation of the list once, in the order of the list"}),
    [DCLI_MSG_GRANT] = RECORD("GRANT", grant, 2, "reader -> owner: chunks of one operation may be sent",
        INT64(grant, operation, 0, "number of the operation"),
        INT64(grant, chunks, 0, "total number of chunks of the stream that may be sent"),
        BOOL(grant, declined, "they are not read, because the reader has failed: send them empty")),
    [DCLI_MSG_CHUNK] = RECORD_WITH("CHUNK", chunk, 3,
        "owner -> reader, or writer -> owner: packed data in the second frame", true,
        INT64(chunk, operation, 0, "number of the operation"),
        INT(chunk, stream, 0, 1, "0: what the receiver reads; 1: what the sender wrote for it"),
        INT64(chunk, chunk, 0, "number in the stream"),
        INT(chunk, status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status; not 0: no payload, because the storage has failed")),
    [DCLI_MSG_CREDIT] = RECORD("CREDIT", credit, 1, "owner -> writer: chunks were committed",
        INT64(credit, chunks, 0, "committed since the last credit")),
    [DCLI_MSG_MARKS] = RECORD("MARKS", marks, 2, "node -> nodes and program: watermarks",
        INT64(marks, done, 0, "the sender's tasks have finished reading up to this operation"),
        INT64(marks, ready, 0, "the sender's own elements are written up to this operation"),
        COUNTERS(marks, "to the program: dcl_counters, in the order of its fields; to nodes: zeros"),
        NUMBERS(marks, "failures", failure, failure_count, DCLI_MOST_MARKS_FAILURES, 0,
                "to nodes: pairs (number of an operation, storage whose contents are undefined after it); the receiver "
                "records them before it uses the watermarks")),
    [DCLI_MSG_FAILED] = RECORD("FAILED", failed, 3, "node -> program -> nodes: an operation failed",
        INT64(failed, operation, 0, "number of the operation"),
        INT(failed, node, DCL_HOST, DCLI_MOST_PEERS, "where it failed first"),
        INT(failed, status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
        BOOL(failed, cause, "true: the sender found the failure; false: it skipped the operation because of another failure, or passes the "
                           "failure on"),
        NUMBERS(failed, "storage", storage, storage_count, DCLI_MOST_OPERANDS, 0,
                "storages whose contents are now undefined"),
        SENTENCE(failed, sentence, "error text")),
    [DCLI_MSG_REPORT] = RECORD("REPORT", report, 2,
        "node -> program: an access outside a grid, or outside what was declared",
        INT64(report, operation, 0, "number of the operation"),
        STRING(report, array, DCLI_MOST_NAME, "name in the body"),
        AXES(report, index, DCLI_COUNT_OWN, rank, INT64_MIN, "the first index that is outside"),
        SENTENCE(report, body, "first line of the body"),
        SENTENCE(report, declared, "the declaration that was violated; empty: the index is outside the grid"),
        BOOL(report, written, "the access was a write"),
        SENTENCE(report, outputs, "of a tile kernel: the arrays that it writes; empty: the access was in a body"),
        NUMBERS(report, "storage", storage, storage_count, DCLI_MOST_OPERANDS, 0,
                "storages that the operation writes")),
    [DCLI_MSG_STOP] = {"STOP", .about = "program -> node: the session ends, no further message comes"},
    [DCLI_MSG_DEVICE] = RECORD("DEVICE", device, 6, "node -> program, its first message: what it serves", DEVICE(device)),
    [DCLI_MSG_SETUP] = RECORD("SETUP", setup, 14, "program -> node, its first message: the session",
        INT(setup, self, 0, DCLI_MOST_NODES - 1, "the receiver's number"),
        RECORDS(setup, peer, peer_count, DCLI_MOST_NODES, &peer_record, "all nodes, in the order of their numbers"),
        UP_TO(setup, first_operation, 1, DCLI_MOST_OPERATION, "first operation in which the receiver takes part"),
        INT64(setup, epoch, 0, "epoch of this list of members"),
        INT(setup, tree_nodes, 0, DCLI_MOST_NODES,
            "number of nodes in the tree that forwards descriptors; the others are attached to the program"),
        UP_TO(setup, tile_bytes, 1, DCLI_MOST_POOL, "intended size of a tile"),
        UP_TO(setup, chunk_bytes, 1, DCLI_MOST_CHUNK, "largest size of a chunk"),
        UP_TO(setup, pool_bytes, 1, DCLI_MOST_POOL, "memory for arriving data"),
        INT64(setup, quota_bytes, 0,
              "the program's limit on memory; 0: the worker's limit holds or, if it has none, its default"),
        MILLISECONDS(setup, silence_ms, "a peer that sends nothing for this long is lost"),
        MILLISECONDS(setup, build_ms, "time limit of a compilation"),
        MILLISECONDS(setup, kernel_ms, "time limit of a kernel"),
        INT(setup, fanout, 1, DCLI_MOST_NODES, "children of a peer in the tree of descriptors"),
        INT(setup, log, 0, 3, "level of the log"),
        STRING(setup, fault, DCLI_MOST_ADDRESS, "for tests: a failure to provoke"),
        UP_TO(setup, kept_bytes, 0, DCLI_MOST_POOL, "limit on bytes of replicas"),
        BOOL(setup, check_access, "kernels check all reads and writes"),
        STRING(setup, word_key, DCLI_MOST_KEY,
               "key of the authentication tags of forwarded messages, shared by the program and this node; empty: no "
               "tags"),
        UP_TO(setup, plan_ms, 0, DCLI_MOST_MS, "time limit of planning an operation; 0: no limit"),
        UP_TO(setup, trace_bytes, 0, DCLI_MOST_TRACE, "memory for recorded events; 0: none are recorded"),
        INT(setup, steal, DCL_STEAL_DEFAULT, DCL_STEAL_ALWAYS,
            "when nodes lend batches. 0, 1: never; 2: if it pays; 3: always"),
        BOOL(setup, steal_kinds, "also to devices of another kind")),
    [DCLI_MSG_PART] = RECORD("PART", part, 3, "node -> nodes of its host: where a part lies",
        INT64(part, storage, 0, "number of the storage"),
        INT64(part, bytes, 1, "size of the sender's part"),
        INT64(part, memfd, 1,
              "number that the sender has given to the memfd that contains the part; the first PART with this number "
              "carries the memfd's file descriptor"),
        INT64(part, offset, 0, "offset of the part in that memfd"),
        INT64(part, piece, 0,
              "number of the allocation. A part in GPU memory may consist of several; each is sent as a PART, number 0 "
              "last"),
        INT64(part, piece_bytes, 0,
              "in GPU memory: size of each allocation; the allocations have consecutive memfd numbers. 0: host memory")),
    [DCLI_MSG_LOST] = RECORD("LOST", lost, 3,
        "node -> program: cannot reach a peer; program -> nodes: a peer is gone for good",
        INT(lost, peer, 0, DCLI_MOST_PEERS, "number of the peer"),
        INT64(lost, epoch, 0, "from the program: epoch of the session from now on; from a node: 0"),
        SENTENCE(lost, sentence, "how the loss was noticed")),
    [DCLI_MSG_JOINED] = RECORD("JOINED", joined, 3, "program -> nodes: a peer takes part from now on",
        INT(joined, peer, 0, DCLI_MOST_NODES - 1, "number of the peer"),
        INT64(joined, epoch, 1, "epoch of the session from now on"),
        INT64(joined, first_operation, 1, "first operation in which it takes part"),
        STRING(joined, address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
        STRING(joined, key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"),
        CAN(joined),
        GROUP(joined)),
    [DCLI_MSG_SEES] = RECORD("SEES", sees, 3, "program -> node: is this file there?",
        INT64(sees, number, 0, "number of the question"),
        STRING(sees, path, DCLI_MOST_PATH, "path of a file that the program has made"),
        STRING(sees, token, DCLI_MOST_KEY, "contents of that file"),
        BITS(sees, device, "file system of the file (st_dev), as the program's host numbers it"),
        BITS(sees, inode, "inode of the file")),
    [DCLI_MSG_SEEN] = RECORD("SEEN", seen, 1, "node -> program: the answer",
        INT64(seen, number, 0, "number of the question"),
        BOOL(seen, yes, "the file exists, has these contents, and may be used")),
    [DCLI_MSG_RISEN] = RECORD("RISEN", risen, 2, "node -> its parent in the tree: watermarks of all nodes below it",
        INT64(risen, done, 0, "minimum over the sender and all nodes below it"),
        INT64(risen, ready, 0, "minimum over the sender and all nodes below it"),
        NUMBERS(risen, "notices", notice, notice_count, 2 * DCLI_MOST_NODES, 0,
                "pairs (node, number of FAILED and REPORT messages that it has sent); the program does not act on this "
                "RISEN until that many have arrived from each of these nodes, except lost ones")),
    [DCLI_MSG_COUNT] = RECORD("COUNT", count, 1, "program -> node: send your counters",
        INT64(count, number, 0, "number of the question"),
        INT64(count, kernel, 0, "a body whose measured times are asked for, too; 0: none")),
    [DCLI_MSG_COUNTS] = RECORD("COUNTS", counts, 2, "node -> program: the answer",
        INT64(counts, number, 0, "number of the question"),
        COUNTERS(counts, "dcl_counters, in the order of its fields"),
        INT64(counts, kernel, 0, "the body that was asked for"),
        INT(counts, axis, 0, DCL_MAX_RANK - 1, "axis of its first output along which the node's times were measured"),
        INT64(counts, first, INT64_MIN, "first index of the node along this axis"),
        INT64(counts, count, 0, "number of indices from there on, which are divided into equal parts; 0: nothing is known"),
        INT64(counts, calls, 0, "number of calls that were measured; older ones count less"),
        INT(counts, seen, 0, 64, "number of the last calls for which `stolen` was counted"),
        INT(counts, stolen, 0, 64, "in how many of these calls another node has computed batches of the sender"),
        NUMBERS(counts, "work", work, work_count, 4 * DCLI_MSG_WORK_PARTS, 0,
                "per part: ns and elements of what this node has computed, ns and elements of what others have computed"),
        NUMBERS(counts, "thief", thief, thief_count, 3 * DCLI_MSG_WORK_THIEVES, 0,
                "triples (node, ns that this node took for batches of the sender, ns that the sender would have taken for them)")),
    [DCLI_MSG_TRACE] = RECORD("TRACE", trace, 2, "program -> node: send your recorded events (docs/tracing.md)",
        INT64(trace, number, 0, "number of the question"),
        UP_TO(trace, part, -1, DCLI_MOST_TRACE,
              "0, 1, ...: send events 2048 * part to 2048 * part + 2047, oldest first, and record no further events; "
              "-1: send only the time"),
        UP_TO(trace, asked_ns, 0, DCLI_MOST_NS, "the program's clock when this was sent")),
    [DCLI_MSG_TRACED] = RECORD("TRACED", traced, 5, "node -> program: the answer",
        INT64(traced, number, 0, "number of the question"),
        UP_TO(traced, part, -1, DCLI_MOST_TRACE, "`part` of the question"),
        UP_TO(traced, asked_ns, 0, DCLI_MOST_NS, "`asked_ns` of the question"),
        UP_TO(traced, now_ns, 0, DCLI_MOST_NS, "the node's clock at the answer"),
        BITS(traced, clock_id, "peers with the same number read the same clock; 0: not known"),
        UP_TO(traced, kept, 0, DCLI_MOST_TRACE, "number of events that the node has"),
        UP_TO(traced, dropped, 0, DCLI_MOST_EXACT, "number of events that it had no room for"),
        RECORDS(traced, event, event_count, DCLI_MOST_EVENTS, &event_record, "events, oldest first"),
        RECORDS(traced, name, name_count, DCLI_MOST_EVENT_NAMES, &name_record,
                "in the answer for part 0: names of the events, numbered from 1"),
        BOOL(traced, unrecorded, "the node had no memory to record events")),
    [DCLI_MSG_HUNGRY] = RECORD("HUNGRY", hungry, 4, "node -> node: lend me batches of your plans (docs/model.md, Lending)",
        INT64(hungry, question, 1, "number of the question: 1, 2, ... per pair of nodes"),
        UP_TO(hungry, first, 1, DCLI_MOST_OPERATION, "first operation that the sender still knows"),
        UP_TO(hungry, upto, 1, DCLI_MOST_OPERATION, "last operation that it knows"),
        UP_TO(hungry, bytes, 1, DCLI_MOST_POOL, "memory that it has reserved for the answer"),
        BITS(hungry, kind, "hash of the kind of its device"),
        UP_TO(hungry, busy_ns, 0, DCLI_MOST_NS, "predicted time until it can begin")),
    [DCLI_MSG_NOTHING] = RECORD("NOTHING", nothing, 1, "node -> node: the answer no to HUNGRY",
        INT64(nothing, question, 1, "number of the question")),
    [DCLI_MSG_LENT] = RECORD("LENT", lent, 4, "node -> node: the answer yes to HUNGRY; LOANs with the inputs follow",
        INT64(lent, question, 1, "number of the question"),
        UP_TO(lent, operation, 1, DCLI_MOST_OPERATION, "number of the operation"),
        INT64(lent, first, 0, "first batch, in the sender's plan of the operation"),
        INT64(lent, count, 1, "number of batches"),
        UP_TO(lent, batch_ns, 0, DCLI_MOST_NS, "predicted mean time of one of them at the receiver; 0: it is not known"),
        INT64(lent, each, 0, "a new loan begins at each batch whose number is a multiple of this; 0: at each batch")),
    [DCLI_MSG_LOAN] = RECORD_WITH("LOAN", loan, 5,
        "node -> node: inputs or results of a loan, in the second frame", true,
        INT64(loan, question, 1, "number of the question"),
        UP_TO(loan, operation, 1, DCLI_MOST_OPERATION, "number of the operation"),
        INT64(loan, batch, 0, "number of the first batch of the loan"),
        BOOL(loan, written, "a result; false: an input"),
        INT64(loan, chunk, 0, "number among the inputs, or among the results, of the loan")),
    [DCLI_MSG_RECALL] = RECORD("RECALL", recall, 3, "node -> node: return a loan if you have not begun it",
        INT64(recall, question, 1, "number of the question"),
        UP_TO(recall, operation, 1, DCLI_MOST_OPERATION, "number of the operation"),
        INT64(recall, batch, 0, "number of its first batch")),
    [DCLI_MSG_RESULT] = RECORD("RESULT", result, 3, "node -> node: a loan was run, and all its results were sent",
        INT64(result, question, 1, "number of the question"),
        UP_TO(result, operation, 1, DCLI_MOST_OPERATION, "number of the operation"),
        INT64(result, batch, 0, "number of its first batch"),
        UP_TO(result, kernel_ns, 0, DCLI_MOST_NS, "time of its kernels; 0: not measured"),
        UP_TO(result, held_ns, 0, DCLI_MOST_NS, "other time between the arrival of its inputs and this message")),
    [DCLI_MSG_RETURNED] = RECORD("RETURNED", returned, 3, "node -> node: a loan was not run",
        INT64(returned, question, 1, "number of the question"),
        UP_TO(returned, operation, 1, DCLI_MOST_OPERATION, "number of the operation"),
        INT64(returned, batch, 0, "number of its first batch")),
    [DCLI_MSG_HELLO] = RECORD("HELLO", hello, 2, "client -> listener, its first message",
        STRING(hello, program, DCLI_MOST_ADDRESS, "name of the calling program, for people"),
        BITS(hello, capabilities, "sum of 1 (keys) and 2 (files)")),
    [DCLI_MSG_WELCOME] = RECORD("WELCOME", welcome, 3, "listener -> client: what it offers",
        STRING(welcome, program, DCLI_MOST_ADDRESS, "name of the answering program, for people"),
        BITS(welcome, capabilities, "sum of 1 (keys) and 2 (files)"),
        RECORDS(welcome, device, device_count, DCLI_MOST_NODES, &device_record, "devices that can serve as nodes"),
        INT(welcome, sessions, 0, INT_MAX, "sessions that are open now"),
        INT(welcome, processes, 0, INT_MAX, "processes that serve them"),
        INT64(welcome, load_percent, 0, "load of the processors, average over the last minute"),
        BOOL(welcome, files, "worker processes may read and write files")),
    [DCLI_MSG_REFUSED] = RECORD("REFUSED", refused, 2, "listener -> client: no, and why",
        INT(refused, status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
        SENTENCE(refused, sentence, "reason")),
    [DCLI_MSG_OPEN] = RECORD("OPEN", open, 7, "client -> listener: start the processes of a session",
        BITS(open, session, "random number of the session"),
        STRING(open, key, DCLI_MOST_KEY, "public key of the session's nodes, hexadecimal; empty: they use a password"),
        STRING(open, password, DCLI_MOST_KEY, "with keys: the secret key that the nodes share; without: their password"),
        MILLISECONDS(open, silence_ms, "a peer that sends nothing for this long is lost"),
        INT(open, first, 0, DCLI_MOST_NODES - 1,
            "number of the node that the first process becomes; the others follow"),
        INT(open, nodes, 1, DCLI_MOST_NODES, "how many node numbers the session has; the program has the number after the last"),
        UP_TO(open, chunk_bytes, 0, DCLI_MOST_CHUNK,
              "largest size of a chunk, equal to that in SETUP; it limits the frames that the processes accept"),
        RECORDS(open, host, host_count, DCLI_MOST_NODES, &host_record, "per process: how it recognises the program"),
        BOOL(open, opencl, "the client is an OpenCL driver: the processes take COMMANDS instead of OPERATIONS")),
    [DCLI_MSG_OPENED] = RECORD("OPENED", opened, 1, "listener -> client: where they listen",
        RECORDS(opened, peer, peer_count, DCLI_MOST_NODES, &peer_record, "one per device")),
    [DCLI_MSG_BEAT] = RECORD("BEAT", beat, 1, "client <-> listener: still there",
        INT64(beat, number, 0, "increases with every beat")),
    [DCLI_MSG_GONE] = RECORD("GONE", gone, 2, "listener -> client: a process has ended; client -> listener: end it",
        INT(gone, process, 0, DCLI_MOST_NODES - 1, "position of the process in OPENED"),
        SENTENCE(gone, sentence, "how it ended")),
    [DCLI_MSG_PRINTED] = RECORD("PRINTED", printed, 3, "listener -> client: what a process has printed",
        INT64(printed, number, 1,
              "1, 2, ...; the next PRINTED is sent after a SHOWN with this number, or when a process has ended"),
        INT(printed, process, 0, DCLI_MOST_NODES - 1, "position of the process in OPENED"),
        STRING(printed, text, DCLI_MOST_TEXT, "printed text, whole lines"),
        INT64(printed, dropped, 0, "number of bytes printed after this text and dropped"),
        INT64(printed, flushed, 0,
              "`flush` of the SHOWN that this message answers: all text that was printed before that SHOWN arrived is "
              "in this message or in earlier ones; 0: no answer")),
    [DCLI_MSG_SHOWN] = RECORD("SHOWN", shown, 1, "client -> listener: PRINTED was taken; the next one may come",
        INT64(shown, number, 0, "number of the last PRINTED that was taken; 0: none"),
        INT64(shown, flush, 0, "not 0: send everything at once and answer with this number")),
    [DCLI_MSG_FORGET] = RECORD("FORGET", forget, 1, "node -> nodes of its host: memory that contained parts is freed",
        INT64(forget, memfd, 1, "number of the memfd, which is no longer used")),
    [DCLI_MSG_COMMANDS] = RECORD("COMMANDS", commands, 1, "driver -> server: OpenCL commands, in order",
        RECORDS(commands, command, count, DCLI_MOST_COMMANDS, &command_record, "in the program's order")),
    [DCLI_MSG_DATA] = RECORD_WITH("DATA", data, 2,
        "driver -> server, server -> driver, server -> server: bytes of a transfer in the second frame", true,
        INT64(data, transfer, 1, "number that the driver has given to the transfer"),
        INT64(data, offset, 0, "of the first byte, from the beginning of the transfer")),
    [DCLI_MSG_TAKEN] = RECORD("TAKEN", taken, 2, "receiver of DATA -> sender: more may be sent",
        INT64(taken, transfer, 1, "number of the transfer"),
        INT64(taken, granted, 0,
              "to the driver, and between servers: number of bytes from the beginning of the transfer that may be sent; "
              "from the driver: number of bytes that have arrived")),
    [DCLI_MSG_EVENTS] = RECORD("EVENTS", events, 1, "server -> driver, server -> server: events that have ended",
        RECORDS(events, ended, count, DCLI_MOST_ENDED, &ended_record, "in the order in which they were noticed")),
    [DCLI_MSG_QUERY] = RECORD("QUERY", query, 2, "driver -> server: a question",
        INT64(query, number, 1, "number of the question"),
        INT(query, kind, DCLI_ASK_DEVICE, DCLI_ASK_CHECK,
            "1: properties of the device; 2: binary of a program; 3: whether a binary suits the device"),
        INT64(query, object, 0, "number of the object")),
    [DCLI_MSG_ANSWER] = RECORD("ANSWER", answer, 2, "server -> driver: the answer",
        INT64(answer, number, 1, "number of the question"),
        INT(answer, status, INT_MIN, INT_MAX, "OpenCL status"),
        BOOL(answer, more, "further messages with parts of this answer follow"),
        RECORDS(answer, fact, fact_count, DCLI_MOST_FACTS, &fact_record, "what was asked for")),
    [DCLI_MSG_PRINTF] = RECORD_WITH("PRINTF", printf, 0,
        "server -> driver: what kernels have printed, in the second frame", true,
        INT64(printf, dropped, 0, "bytes that were printed after this and dropped")),
};
/* clang-format on */

const char *dcli_message_name(dcli_message_kind kind) { return dcli_message_table[kind].name; }
