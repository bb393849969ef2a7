/* net/message_table.c - the table of messages, field by field. */

#include <limits.h>

#include <dcl/forall.h>

#include "base/ways.h"
#include "net/table.h"

_Static_assert(sizeof(dcl_counters) == DCLI_MSG_COUNTERS * sizeof(int64_t), "MARKS carries all of dcl_counters");

#define ANY INT64_MIN, INT64_MAX
#define NATURAL 0, INT64_MAX

#define INT(name, low, high, text)                                                                          \
    {                                                                                                       \
#name, DCLI_FIELD_INT, offsetof(OBJECT, name), .minimum = (low), .maximum = (high), .about = (text) \
    }
#define UP_TO(name, low, most, text)                                                                          \
    {                                                                                                         \
#name, DCLI_FIELD_INT64, offsetof(OBJECT, name), .minimum = (low), .maximum = (most), .about = (text) \
    }
#define INT64(name, low, text) UP_TO(name, low, INT64_MAX, text)
#define MILLISECONDS(name, text) UP_TO(name, 1, DCLI_MOST_MS, text)
#define BITS(name, text)                                                \
    {                                                                   \
#name, DCLI_FIELD_BITS, offsetof(OBJECT, name), .about = (text) \
    }
#define BOOL(name, text)                                                \
    {                                                                   \
#name, DCLI_FIELD_BOOL, offsetof(OBJECT, name), .about = (text) \
    }
#define STRING(name, bytes, text)                                                          \
    {                                                                                      \
#name, DCLI_FIELD_STRING, offsetof(OBJECT, name), .most = (bytes), .about = (text) \
    }
#define SENTENCE(name, text)                                                                            \
    {                                                                                                   \
#name, DCLI_FIELD_SENTENCE, offsetof(OBJECT, name), .most = DCLI_MOST_SENTENCE, .about = (text) \
    }
#define AXES(name, how, number, low, text)                                                \
    {                                                                                     \
#name, DCLI_FIELD_INLINE, offsetof(OBJECT, name), how, offsetof(OBJECT, number),  \
            .most = DCL_MAX_RANK, .minimum = (low), .maximum = INT64_MAX, .about = (text) \
    }
#define RECORDS(name, number, limit, table, text)                                                    \
    {                                                                                                \
#name, DCLI_FIELD_RECORDS, offsetof(OBJECT, name), DCLI_COUNT_OWN, offsetof(OBJECT, number), \
            .most = (limit), .record = (table), .about = (text)                                      \
    }
#define PROOF                                                                                                          \
    {                                                                                                                  \
        "proof", DCLI_FIELD_NUMBERS, offsetof(OBJECT, proof.number), DCLI_COUNT_OWN, offsetof(OBJECT, proof.count), 0, \
            2 * DCLI_MOST_NODES, ANY, NULL,                                                                            \
            "if nodes forward it: node number and authentication tag of each node that it has yet to "                 \
            "reach"                                                                                                    \
    }
#define RECORD(title, type, list, least, text)                                          \
    {                                                                                   \
        title, sizeof(type), sizeof(list) / sizeof((list)[0]), least, list, false, text \
    }

/* ---- structs inside messages ---- */

#define OBJECT dcli_msg_operand
static const dcli_field operand_fields[] = {
    INT64(storage, -1, "number of the storage; -1: a scalar or prelude"),
    BITS(value, "bits of a scalar"),
    INT64(kept, -INT64_MAX,
          "forall, move: generation of its replicas. Positive: use and make them; negative: only use them; 0: neither"),
};
static const dcli_record operand_record = RECORD("operand", OBJECT, operand_fields, 1, "an array or scalar");
#undef OBJECT

#define OBJECT dcli_msg_view
static const dcli_field view_fields[] = {
    INT(operand, 0, DCLI_MOST_OPERANDS - 1, "position in the operation's list"),
    AXES(origin, DCLI_COUNT_OWN, rank, INT64_MIN, "first index per axis of the view"),
    AXES(extent, DCLI_COUNT_SAME, rank, 0, "indices per axis of the view"),
    {"axis", DCLI_FIELD_INLINE, offsetof(OBJECT, axis), DCLI_COUNT_OWN, offsetof(OBJECT, base_rank), 0, DCL_MAX_RANK,
     -1, DCL_MAX_RANK - 1, NULL, "per axis of the array: the axis of the view that runs along it; -1: none"},
    AXES(constant, DCLI_COUNT_SAME, base_rank, INT64_MIN, "per axis of the array: its index at the view's index 0"),
    AXES(step, DCLI_COUNT_SAME, base_rank, INT64_MIN, "per axis of the array: its index step per step of the view"),
    AXES(shape, DCLI_COUNT_OWN, shape_rank, 0,
         "of a reshaped view: extents of its grid, origin 0; empty: the array's own grid"),
};
static const dcli_record view_record =
    RECORD("view", OBJECT, view_fields, 6, "how an operation accesses an array through a view");
#undef OBJECT

#define OBJECT dcli_msg_reach
static const dcli_field reach_fields[] = {
    INT(operand, 0, DCLI_MOST_OPERANDS - 1, "position in the operation's list"),
    {"number", DCLI_FIELD_NUMBERS, offsetof(OBJECT, number), DCLI_COUNT_OWN, offsetof(OBJECT, count), 0,
     DCLI_MOST_DECLARED_NUMBERS, ANY, NULL,
     "halo, cross: width per axis; box: start, count, stride, each per axis; function: two such boxes per portion, of "
     "the "
     "loop's indices and of what they read"},
    BOOL(approximate, "the declaration covers more than what is read"),
};
static const dcli_record reach_record =
    RECORD("reach", OBJECT, reach_fields, 2, "a declaration of what is read of an array");
#undef OBJECT

#define OBJECT dcli_msg_operation
static const dcli_field operation_fields[] = {
    /* fields in an order that lets the frequent kinds omit most at the end */
    INT64(number, 0, "operations are numbered in the program's order"),
    INT(kind, 1, DCLI_MOST_OPERATION_KIND, "create, release, forall, fill, write, read, load, save, move, drop"),
    INT64(kernel, 0, "forall: the body"),
    RECORDS(operand, operand_count, DCLI_MOST_OPERANDS, &operand_record, "arrays and scalars, in the body's order"),
    {"box.start", DCLI_FIELD_INLINE, offsetof(OBJECT, box.start), DCLI_COUNT_OWN, offsetof(OBJECT, box_rank),
     offsetof(OBJECT, box.rank), DCL_MAX_RANK, ANY, NULL, "per axis; empty: the whole grid"},
    AXES(box.count, DCLI_COUNT_SAME, box_rank, 0, "per axis"),
    AXES(box.stride, DCLI_COUNT_SAME, box_rank, 1, "per axis"),
    BITS(element, "fill: bits of the element"),
    STRING(path, DCLI_MOST_PATH, "load, save: the file"),
    INT64(data_start, 0, "load, save: bytes before the first element"),
    BOOL(fortran_order, "load, save: first axis fastest in the file"),
    BOOL(swapped, "load: the bytes of each element are in reverse order"),
    INT(type, 0, DCL_DOUBLE, "create: element type; 0: none"),
    AXES(origin, DCLI_COUNT_OWN, rank, INT64_MIN, "create: first index per axis"),
    AXES(extent, DCLI_COUNT_SAME, rank, 0, "create: elements per axis"),
    STRING(map, DCLI_MOST_MAP_TEXT, "create: the map, as dcl_map_parse() reads it"),
    INT64(tile_bytes, 0, "create: intended size of a tile"),
    INT64(block_bytes, 0, "create: intended size of a block"),
    INT64(small_bytes, 0, "create: smaller arrays are stored on one node"),
    INT(map_nodes, 0, DCLI_MOST_PEERS, "create: number of nodes when the map was made; 0: all of the session"),
    RECORDS(view, view_count, DCLI_MOST_OPERANDS, &view_record,
            "views through which operands are accessed; fill, read, write: only reshaped views"),
    RECORDS(reach, reach_count, DCLI_MOST_OPERANDS, &reach_record, "forall: declared reads of operands"),
    INT(node, 0, DCLI_MOST_PEERS, "move: the node that receives the elements"),
    BITS(device, "load, save: device number of the file, as the host sees it"),
    BITS(inode, "load, save: inode of the file; 0 (load): any file of that name"),
    BOOL(unset, "create: the next operation overwrites the whole array; until then its contents are undefined"),
};
static const dcli_record operation_record = RECORD("operation", OBJECT, operation_fields, 2, "one call of the program");
#undef OBJECT

#define OBJECT dcli_msg_parameter
static const dcli_field parameter_fields[] = {
    STRING(name, DCLI_MOST_NAME, "its name in the body"),
    INT(access, DCL_ACCESS_OUT, DCL_ACCESS_IN_FUNCTION,
        "dcl_access; IN_KEPT and MOVE are sent as IN, GROUP and ITEMS as the field items"),
    INT(type, 0, DCL_DOUBLE, "element type; 0: none"),
    INT(rank, 0, DCL_MAX_RANK, "axes; 0: a scalar"),
    INT(turned, -1, DCL_MAX_RANK - 1,
        "axis along which neighbours are contiguous: 0 the last, 1 the one before it; -1: none"),
};
static const dcli_record parameter_record = RECORD("parameter", OBJECT, parameter_fields, 2, "a name of a body");
#undef OBJECT

/* ---- messages ---- */

#define OBJECT dcli_msg_kernel
static const dcli_field kernel_fields[] = {
    INT64(kernel, 0, "number of the body, chosen by the host"),
    STRING(text, DCLI_MOST_TEXT, "the body"),
    STRING(prelude, DCLI_MOST_TEXT, "text to compile before the body"),
    RECORDS(parameter, parameter_count, DCLI_MOST_OPERANDS, &parameter_record, "its parameters"),
    {"builder", DCLI_FIELD_NUMBERS, offsetof(OBJECT, builder), DCLI_COUNT_OWN, offsetof(OBJECT, builder_count), 0,
     DCLI_MOST_NODES, NATURAL, NULL, "nodes that compile immediately and answer BUILT; others compile at first use"},
    AXES(items, DCLI_COUNT_OWN, item_count, 0,
         "of a tile kernel: three work-group sizes (0: DCL chooses), three numbers of work-items per tile (0: one "
         "per element); empty: a body"),
    {"forgotten", DCLI_FIELD_NUMBERS, offsetof(OBJECT, forgotten), DCLI_COUNT_OWN, offsetof(OBJECT, forgotten_count), 0,
     DCLI_MOST_FORGOTTEN, NATURAL, NULL, "bodies to evict: no later operation uses them"},
    PROOF,
};
#undef OBJECT

#define OBJECT dcli_msg_built
static const dcli_field built_fields[] = {
    INT64(kernel, 0, "number of the body"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    SENTENCE(sentence, "error text"),
};
#undef OBJECT

#define OBJECT dcli_msg_operations
static const dcli_field operations_fields[] = {
    RECORDS(operation, count, DCLI_MOST_OPERATIONS, &operation_record, "in the program's order"),
    INT64(epoch, 0, "epoch of the host; a receiver with an older epoch waits until it knows all members"),
    PROOF,
};
#undef OBJECT

#define OBJECT dcli_msg_grant
static const dcli_field grant_fields[] = {
    INT64(operation, 0, "number of the operation"),
    INT64(chunks, 0, "total number of chunks of the stream that may be sent"),
};
#undef OBJECT

#define OBJECT dcli_msg_chunk
static const dcli_field chunk_fields[] = {
    INT64(operation, 0, "number of the operation"),
    INT(stream, 0, 1, "0: what the receiver reads; 1: what the sender wrote for it"),
    INT64(chunk, 0, "number in the stream"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status; not 0: no payload, because the storage has failed"),
};
#undef OBJECT

#define OBJECT dcli_msg_credit
static const dcli_field credit_fields[] = {
    INT64(chunks, 0, "committed since the last credit"),
};
#undef OBJECT

#define OBJECT dcli_msg_marks
static const dcli_field marks_fields[] = {
    INT64(done, 0, "the sender's tasks have finished reading up to this operation"),
    INT64(ready, 0, "the sender's own elements are written up to this operation"),
    {"counter", DCLI_FIELD_INLINE, offsetof(OBJECT, counter), DCLI_COUNT_FIXED, .most = DCLI_MSG_COUNTERS, .minimum = 0,
     .maximum = INT64_MAX, .about = "dcl_counters in its order; zeros to nodes"},
};
#undef OBJECT

#define OBJECT dcli_msg_failed
static const dcli_field failed_fields[] = {
    INT64(operation, 0, "number of the operation"),
    INT(node, DCL_HOST, DCLI_MOST_PEERS, "where it failed first"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    BOOL(cause, "found by the sender; false: skipped because of another failure"),
    {"storage", DCLI_FIELD_NUMBERS, offsetof(OBJECT, storage), DCLI_COUNT_OWN, offsetof(OBJECT, storage_count), 0,
     DCLI_MOST_OPERANDS, NATURAL, NULL, "storages whose contents are now undefined"},
    SENTENCE(sentence, "error text"),
};
#undef OBJECT

#define OBJECT dcli_msg_report
static const dcli_field report_fields[] = {
    INT64(operation, 0, "number of the operation"),
    STRING(array, DCLI_MOST_NAME, "name in the body"),
    AXES(index, DCLI_COUNT_OWN, rank, INT64_MIN, "the first index that is outside"),
    SENTENCE(body, "first line of the body"),
    SENTENCE(declared, "the declaration that was violated; empty: the index is outside the grid"),
    BOOL(written, "the access was a write"),
    SENTENCE(outputs, "of a tile kernel: the arrays that it writes; empty: the access was in a body"),
    {"storage", DCLI_FIELD_NUMBERS, offsetof(OBJECT, storage), DCLI_COUNT_OWN, offsetof(OBJECT, storage_count), 0,
     DCLI_MOST_OPERANDS, NATURAL, NULL, "storages that the operation writes"},
};
#undef OBJECT

#define OBJECT dcli_msg_device
static const dcli_field device_fields[] = {
    STRING(name, DCLI_MOST_ADDRESS, "name that the driver reports"),
    STRING(platform, DCLI_MOST_ADDRESS, "platform that the driver reports"),
    STRING(version, DCLI_MOST_ADDRESS, "OpenCL version"),
    STRING(class, DCLI_MOST_NAME, "cpu, gpu, accelerator or other"),
    STRING(kind, 512, "devices of equal kind share compiled programs"),
    INT(number, 0, 65535, "number of the device on its host"),
    INT(compute_units, 0, INT_MAX, "compute units that it reports"),
    BOOL(has_half, "supports half"),
    BOOL(has_double, "supports double"),
    BOOL(in_place, "works in host memory, which other processes of its host can map"),
    INT64(memory_bytes, 0, "global memory it reports"),
    INT64(process, 0, "id of the process that serves it"),
    BOOL(reads_gpus, "reads memory of other GPUs of its host, and they its own"),
};
static const dcli_record device_record = RECORD("device", OBJECT, device_fields, 6, "an OpenCL device");
#undef OBJECT

/* How a node exchanges elements with others. */
#define CAN                                                                                                            \
    INT(can, 0, DCLI_CAN_ALL,                                                                                          \
        "sum of: 1, it reads parts of others in place; 2, others can read its parts in place; 4, it shares memory of " \
        "messages; 8 and 16, as 1 and 2, between GPUs; 32, its device registers such memory")
#define GROUP INT(group, 0, DCLI_MOST_NODES, "it can do so with nodes of the same group")

#define OBJECT dcli_msg_peer
static const dcli_field peer_fields[] = {
    BOOL(present, "false: the node has not joined yet or is lost"),
    CAN,
    GROUP,
    STRING(address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
    STRING(key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"),
};
static const dcli_record peer_record = RECORD("peer", OBJECT, peer_fields, 1, "a node of the session");
#undef OBJECT

#define OBJECT dcli_msg_setup
static const dcli_field setup_fields[] = {
    INT(self, 0, DCLI_MOST_NODES - 1, "the receiver's number"),
    RECORDS(peer, peer_count, DCLI_MOST_NODES, &peer_record, "all nodes, in the order of their numbers"),
    UP_TO(first_operation, 1, DCLI_MOST_OPERATION, "first operation in which the receiver takes part"),
    INT64(epoch, 0, "epoch of this list of members"),
    INT(tree_nodes, 0, DCLI_MOST_NODES,
        "number of nodes in the tree that forwards descriptors; the others are attached to the host"),
    UP_TO(tile_bytes, 1, DCLI_MOST_POOL, "intended size of a tile"),
    UP_TO(chunk_bytes, 1, DCLI_MOST_CHUNK, "largest size of a chunk"),
    UP_TO(pool_bytes, 1, DCLI_MOST_POOL, "memory for arriving data"),
    INT64(quota_bytes, 0,
          "the program's limit on memory; 0: it sets none: that of the worker holds, or a share of the memory"),
    MILLISECONDS(silence_ms, "a peer that sends nothing for this long is lost"),
    MILLISECONDS(build_ms, "time limit of a compilation"),
    MILLISECONDS(kernel_ms, "time limit of a kernel"),
    INT(fanout, 1, DCLI_MOST_NODES, "children of a peer in the tree of descriptors"),
    INT(log, 0, 3, "level of the log"),
    STRING(fault, DCLI_MOST_ADDRESS, "for tests: a failure to provoke"),
    UP_TO(kept_bytes, 0, DCLI_MOST_POOL, "limit on bytes of replicas"),
    BOOL(check_access, "kernels check all reads and writes"),
    STRING(word_key, DCLI_MOST_KEY,
           "key of the authentication tags of forwarded messages, shared by the host and this node; empty: no tags"),
    UP_TO(plan_ms, 0, DCLI_MOST_MS, "time limit of planning an operation; 0: no limit"),
};
#undef OBJECT

#define OBJECT dcli_msg_part
static const dcli_field part_fields[] = {
    INT64(storage, 0, "number of the storage"),
    INT64(bytes, 1, "size of the sender's part"),
    INT64(memfd, 1, "the sender's number of the memfd that contains the part; with a new number comes a descriptor"),
    INT64(offset, 0, "offset of the part in that memfd"),
    INT64(piece, 0,
          "if memory of a GPU is several allocations, each has a PART with its number; that of 0 comes last and shows "
          "the part"),
    INT64(piece_bytes, 0,
          "of memory of a GPU: size of each allocation; their memfd numbers are consecutive; 0: host memory"),
};
#undef OBJECT

#define OBJECT dcli_msg_forget
static const dcli_field forget_fields[] = {
    INT64(memfd, 1, "number of the memfd, which is no longer used"),
};
#undef OBJECT

#define OBJECT dcli_msg_lost
static const dcli_field lost_fields[] = {
    INT(peer, 0, DCLI_MOST_PEERS, "number of the peer"),
    INT64(epoch, 0, "epoch of the session from now on; 0: only a node's observation"),
    SENTENCE(sentence, "how the loss was noticed"),
};
#undef OBJECT

#define OBJECT dcli_msg_joined
static const dcli_field joined_fields[] = {
    INT(peer, 0, DCLI_MOST_NODES - 1, "number of the peer"),
    INT64(epoch, 1, "epoch of the session from now on"),
    INT64(first_operation, 1, "first operation in which it takes part"),
    STRING(address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
    STRING(key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"),
    CAN,
    GROUP,
};
#undef OBJECT

#define OBJECT dcli_msg_sees
static const dcli_field sees_fields[] = {
    INT64(number, 0, "number of the question"),
    STRING(path, DCLI_MOST_PATH, "path of a file that the host has made"),
    STRING(token, DCLI_MOST_KEY, "contents of that file"),
    BITS(device, "device number of the file, as the host sees it"),
    BITS(inode, "inode of the file"),
};
#undef OBJECT

#define OBJECT dcli_msg_seen
static const dcli_field seen_fields[] = {
    INT64(number, 0, "number of the question"),
    BOOL(yes, "the file exists, has these contents, and may be used"),
};
#undef OBJECT

#define OBJECT dcli_msg_risen
static const dcli_field risen_fields[] = {
    INT64(done, 0, "minimum over the sender and all nodes below it"),
    INT64(ready, 0, "minimum over the sender and all nodes below it"),
    {"notices", DCLI_FIELD_NUMBERS, offsetof(OBJECT, notice), DCLI_COUNT_OWN, offsetof(OBJECT, notice_count), 0,
     2 * DCLI_MOST_NODES, NATURAL, NULL,
     "for each of these nodes that has sent FAILED or REPORT: its number, and how many; the host applies this "
     "message after it has received all of them"},
};
#undef OBJECT

#define OBJECT dcli_msg_count
static const dcli_field count_fields[] = {
    INT64(number, 0, "number of the question"),
};
#undef OBJECT

#define OBJECT dcli_msg_counts
static const dcli_field counts_fields[] = {
    INT64(number, 0, "number of the question"),
    {"counter", DCLI_FIELD_INLINE, offsetof(OBJECT, counter), DCLI_COUNT_FIXED, .most = DCLI_MSG_COUNTERS, .minimum = 0,
     .maximum = INT64_MAX, .about = "dcl_counters in its order"},
};
#undef OBJECT

#define OBJECT dcli_msg_hello
static const dcli_field hello_fields[] = {
    STRING(program, DCLI_MOST_ADDRESS, "name of the calling program, for people"),
    BITS(capabilities, "sum of 1 (keys) and 2 (files)"),
};
#undef OBJECT

#define OBJECT dcli_msg_welcome
static const dcli_field welcome_fields[] = {
    STRING(program, DCLI_MOST_ADDRESS, "name of the answering program, for people"),
    BITS(capabilities, "sum of 1 (keys) and 2 (files)"),
    RECORDS(device, device_count, DCLI_MOST_NODES, &device_record, "devices that can serve as nodes"),
    INT(sessions, 0, INT_MAX, "sessions that are open now"),
    INT(processes, 0, INT_MAX, "processes that serve them"),
    INT64(load_percent, 0, "load of the processors, average over the last minute"),
    BOOL(files, "workers may read and write files"),
};
#undef OBJECT

#define OBJECT dcli_msg_refused
static const dcli_field refused_fields[] = {
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    SENTENCE(sentence, "reason"),
};
#undef OBJECT

#define OBJECT dcli_msg_host
static const dcli_field host_fields[] = {
    STRING(key, DCLI_MOST_KEY,
           "public key of the host, hexadecimal; or the password that it uses for this process only"),
};
static const dcli_record host_record =
    RECORD("host", OBJECT, host_fields, 1, "how a process recognises the host of its session");
#undef OBJECT

#define OBJECT dcli_msg_open
static const dcli_field open_fields[] = {
    BITS(session, "random number of the session"),
    STRING(key, DCLI_MOST_KEY, "public key of the session's nodes, hexadecimal; empty: they use a password"),
    STRING(password, DCLI_MOST_KEY, "password of the nodes; or the secret key that they share"),
    MILLISECONDS(silence_ms, "a peer that sends nothing for this long is lost"),
    INT(first, 0, DCLI_MOST_NODES - 1, "number of the node that the first process becomes; the others follow"),
    INT(nodes, 1, DCLI_MOST_NODES, "count of node numbers; the host has the next number"),
    UP_TO(chunk_bytes, 0, DCLI_MOST_CHUNK,
          "largest size of a chunk, equal to that in SETUP; the processes refuse larger frames"),
    RECORDS(host, host_count, DCLI_MOST_NODES, &host_record, "per process: how it recognises the host"),
};
#undef OBJECT

#define OBJECT dcli_msg_opened
static const dcli_field opened_fields[] = {
    RECORDS(peer, peer_count, DCLI_MOST_NODES, &peer_record, "one per device"),
};
#undef OBJECT

#define OBJECT dcli_msg_beat
static const dcli_field beat_fields[] = {
    INT64(number, 0, "increases with every beat"),
};
#undef OBJECT

#define OBJECT dcli_msg_gone
static const dcli_field gone_fields[] = {
    INT(process, 0, DCLI_MOST_NODES - 1, "position of the process in OPENED"),
    SENTENCE(sentence, "how it ended"),
};
#undef OBJECT

#define OBJECT dcli_msg_printed
static const dcli_field printed_fields[] = {
    INT64(number, 1, "1, 2, ...; the next one is sent after SHOWN has named this one, or when a process has ended"),
    INT(process, 0, DCLI_MOST_NODES - 1, "position of the process in OPENED"),
    STRING(text, DCLI_MOST_TEXT, "printed text, whole lines"),
    INT64(dropped, 0, "number of bytes printed after this text and dropped"),
    INT64(flushed, 0,
          "answers the SHOWN with this flush number: everything printed before it has been sent; 0: no answer"),
};
#undef OBJECT

#define OBJECT dcli_msg_shown
static const dcli_field shown_fields[] = {
    INT64(number, 0, "number of the last PRINTED that was taken; 0: none"),
    INT64(flush, 0, "not 0: send everything at once and answer with this number"),
};
#undef OBJECT

const dcli_record dcli_message_table[DCLI_MSG_KIND_COUNT] = {
    [DCLI_MSG_KERNEL] =
        RECORD("KERNEL", dcli_msg_kernel, kernel_fields, 2, "host -> worker: a body to parse and build"),
    [DCLI_MSG_BUILT] = RECORD("BUILT", dcli_msg_built, built_fields, 2, "worker -> host: result of KERNEL"),
    [DCLI_MSG_OPERATIONS] =
        RECORD("OPERATIONS", dcli_msg_operations, operations_fields, 1, "host -> worker: descriptors, in order"),
    [DCLI_MSG_GRANT] =
        RECORD("GRANT", dcli_msg_grant, grant_fields, 2, "reader -> owner: chunks of one operation may be sent"),
    [DCLI_MSG_CHUNK] = {"CHUNK", sizeof(dcli_msg_chunk), sizeof chunk_fields / sizeof chunk_fields[0], 3, chunk_fields,
                        true, "owner -> reader, or writer -> owner: packed data in the second frame"},
    [DCLI_MSG_CREDIT] = RECORD("CREDIT", dcli_msg_credit, credit_fields, 1, "owner -> writer: chunks were committed"),
    [DCLI_MSG_MARKS] = RECORD("MARKS", dcli_msg_marks, marks_fields, 2, "node -> peers and host: watermarks"),
    [DCLI_MSG_FAILED] =
        RECORD("FAILED", dcli_msg_failed, failed_fields, 3, "node -> peers and host: an operation failed here"),
    [DCLI_MSG_REPORT] = RECORD("REPORT", dcli_msg_report, report_fields, 2,
                               "node -> host: an access outside a grid, or outside what was declared"),
    [DCLI_MSG_STOP] = {"STOP", 0, 0, 0, NULL, false, "host -> worker: no more will come"},
    [DCLI_MSG_DEVICE] =
        RECORD("DEVICE", dcli_msg_device, device_fields, 6, "worker -> host, its first message: what it serves"),
    [DCLI_MSG_SETUP] = RECORD("SETUP", dcli_msg_setup, setup_fields, 14, "host -> worker, its first: the session"),
    [DCLI_MSG_PART] = RECORD("PART", dcli_msg_part, part_fields, 3, "node -> nodes of its host: where a part lies"),
    [DCLI_MSG_LOST] = RECORD("LOST", dcli_msg_lost, lost_fields, 3,
                             "node -> host: cannot reach a peer; host -> nodes: a peer is gone for good"),
    [DCLI_MSG_JOINED] =
        RECORD("JOINED", dcli_msg_joined, joined_fields, 3, "host -> nodes: a peer takes part from now on"),
    [DCLI_MSG_SEES] = RECORD("SEES", dcli_msg_sees, sees_fields, 3, "host -> worker: is this file there?"),
    [DCLI_MSG_SEEN] = RECORD("SEEN", dcli_msg_seen, seen_fields, 1, "worker -> host: the answer"),
    [DCLI_MSG_RISEN] =
        RECORD("RISEN", dcli_msg_risen, risen_fields, 2, "node -> its parent in the tree: watermarks of all below"),
    [DCLI_MSG_COUNT] = RECORD("COUNT", dcli_msg_count, count_fields, 1, "host -> worker: send your counters"),
    [DCLI_MSG_COUNTS] = RECORD("COUNTS", dcli_msg_counts, counts_fields, 2, "worker -> host: the answer"),
    [DCLI_MSG_HELLO] = RECORD("HELLO", dcli_msg_hello, hello_fields, 2, "client -> listener, its first message"),
    [DCLI_MSG_WELCOME] =
        RECORD("WELCOME", dcli_msg_welcome, welcome_fields, 3, "listener -> client: what can be had here"),
    [DCLI_MSG_REFUSED] = RECORD("REFUSED", dcli_msg_refused, refused_fields, 2, "listener -> client: no, and why"),
    [DCLI_MSG_OPEN] =
        RECORD("OPEN", dcli_msg_open, open_fields, 7, "client -> listener: start the processes of a session"),
    [DCLI_MSG_OPENED] = RECORD("OPENED", dcli_msg_opened, opened_fields, 1, "listener -> client: where they listen"),
    [DCLI_MSG_BEAT] = RECORD("BEAT", dcli_msg_beat, beat_fields, 1, "client <-> listener: still there"),
    [DCLI_MSG_GONE] = RECORD("GONE", dcli_msg_gone, gone_fields, 2,
                             "listener -> client: a process has ended; client -> listener: end it"),
    [DCLI_MSG_PRINTED] =
        RECORD("PRINTED", dcli_msg_printed, printed_fields, 3, "listener -> client: what a process has printed"),
    [DCLI_MSG_SHOWN] =
        RECORD("SHOWN", dcli_msg_shown, shown_fields, 1, "client -> listener: it was taken: the next may come"),
    [DCLI_MSG_FORGET] = RECORD("FORGET", dcli_msg_forget, forget_fields, 1,
                               "node -> nodes of its host: memory that parts lay in is given back"),
};

const char *dcli_message_name(dcli_message_kind kind) { return dcli_message_table[kind].name; }
