/* net/message_table.c - the messages, field by field. */

#include <limits.h>

#include <dcl/forall.h>

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
            "where nodes pass it on: number and tag of each that it is still to reach, so that it knows it for the "   \
            "host's"                                                                                                   \
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
          "forall, move: generation of its copies, which are used and made; negative: used only; 0: neither"),
};
static const dcli_record operand_record = RECORD("operand", OBJECT, operand_fields, 1, "an array or scalar");
#undef OBJECT

#define OBJECT dcli_msg_view
static const dcli_field view_fields[] = {
    INT(operand, 0, DCLI_MOST_OPERANDS - 1, "its number in the operation"),
    AXES(origin, DCLI_COUNT_OWN, rank, INT64_MIN, "first index per axis of the view"),
    AXES(extent, DCLI_COUNT_SAME, rank, 0, "indices per axis of the view"),
    {"axis", DCLI_FIELD_INLINE, offsetof(OBJECT, axis), DCLI_COUNT_OWN, offsetof(OBJECT, base_rank), 0, DCL_MAX_RANK,
     -1, DCL_MAX_RANK - 1, NULL, "per axis of the array: the view's axis that runs along it; -1: none"},
    AXES(constant, DCLI_COUNT_SAME, base_rank, INT64_MIN, "per axis of the array: where the view's index 0 lies"),
    AXES(step, DCLI_COUNT_SAME, base_rank, INT64_MIN,
         "per axis of the array: indices from one of the view's to the next"),
    AXES(shape, DCLI_COUNT_OWN, shape_rank, 0,
         "extents of a grid of another shape, origin 0, which is seen instead of the array's; empty: none"),
};
static const dcli_record view_record = RECORD("view", OBJECT, view_fields, 6, "what an operation sees of an array");
#undef OBJECT

#define OBJECT dcli_msg_reach
static const dcli_field reach_fields[] = {
    INT(operand, 0, DCLI_MOST_OPERANDS - 1, "its number in the operation"),
    {"number", DCLI_FIELD_NUMBERS, offsetof(OBJECT, number), DCLI_COUNT_OWN, offsetof(OBJECT, count), 0,
     DCLI_MOST_DECLARED_NUMBERS, ANY, NULL,
     "halo, cross: width per axis; box: start, count, stride, each per axis; function: two such boxes per portion, of "
     "the "
     "loop's indices and of what they read"},
    BOOL(approximate, "more than what is read"),
};
static const dcli_record reach_record = RECORD("reach", OBJECT, reach_fields, 2, "what is declared of an array");
#undef OBJECT

#define OBJECT dcli_msg_operation
static const dcli_field operation_fields[] = {
    /* in the order that lets the frequent kinds leave out the most */
    INT64(number, 0, "operations are numbered in the program's order"),
    INT(kind, 1, DCLI_MOST_OPERATION_KIND, "create, release, forall, fill, write, read, load, save, move, drop"),
    INT64(kernel, 0, "forall: the body"),
    RECORDS(operand, operand_count, DCLI_MOST_OPERANDS, &operand_record, "arrays and scalars, as the body has them"),
    {"box.start", DCLI_FIELD_INLINE, offsetof(OBJECT, box.start), DCLI_COUNT_OWN, offsetof(OBJECT, box_rank),
     offsetof(OBJECT, box.rank), DCL_MAX_RANK, ANY, NULL, "per axis; empty: the whole grid"},
    AXES(box.count, DCLI_COUNT_SAME, box_rank, 0, "per axis"),
    AXES(box.stride, DCLI_COUNT_SAME, box_rank, 1, "per axis"),
    BITS(element, "fill: bits of the element"),
    STRING(path, DCLI_MOST_PATH, "load, save: the file"),
    INT64(data_start, 0, "load, save: bytes before the first element"),
    BOOL(fortran_order, "load, save: first axis fastest in the file"),
    BOOL(swapped, "load: the other order of bytes in an element"),
    INT(type, 0, DCL_DOUBLE, "create: element type; 0: none"),
    AXES(origin, DCLI_COUNT_OWN, rank, INT64_MIN, "create: first index per axis"),
    AXES(extent, DCLI_COUNT_SAME, rank, 0, "create: elements per axis"),
    STRING(map, DCLI_MOST_MAP_TEXT, "create: the map, as dcl_map_parse() reads it"),
    INT64(tile_bytes, 0, "create: size aimed at for a tile"),
    INT64(block_bytes, 0, "create: size aimed at for a block"),
    INT64(small_bytes, 0, "create: smaller arrays lie on one node"),
    INT(map_nodes, 0, DCLI_MOST_PEERS, "create: nodes that there were when the map was made; 0: all of the session"),
    RECORDS(view, view_count, DCLI_MOST_OPERANDS, &view_record,
            "of operands that are not seen as they are; fill, read, write: of another shape only"),
    RECORDS(reach, reach_count, DCLI_MOST_OPERANDS, &reach_record, "forall: of operands that a call says more of"),
    INT(node, 0, DCLI_MOST_PEERS, "move: where to"),
    BITS(device, "load, save: of the file, by its number at the host"),
    BITS(inode, "load, save: of the file; 0 (load): whichever has the name"),
    BOOL(unset, "create: the next operation on it overwrites all of it; until then it may hold anything"),
};
static const dcli_record operation_record = RECORD("operation", OBJECT, operation_fields, 2, "one call of the program");
#undef OBJECT

#define OBJECT dcli_msg_parameter
static const dcli_field parameter_fields[] = {
    STRING(name, DCLI_MOST_NAME, "in the body"),
    INT(access, DCL_ACCESS_OUT, DCL_ACCESS_IN_FUNCTION, "dcl_access"),
    INT(type, 0, DCL_DOUBLE, "element type; 0: none"),
    INT(rank, 0, DCL_MAX_RANK, "axes; 0: a scalar"),
    INT(turned, -1, DCL_MAX_RANK - 1,
        "neighbours along which axis lie together: 0 the last, 1 the one before it; -1: none"),
};
static const dcli_record parameter_record = RECORD("parameter", OBJECT, parameter_fields, 2, "a name of a body");
#undef OBJECT

/* ---- messages ---- */

#define OBJECT dcli_msg_kernel
static const dcli_field kernel_fields[] = {
    INT64(kernel, 0, "number, chosen by the host"),
    STRING(text, DCLI_MOST_TEXT, "the body"),
    STRING(prelude, DCLI_MOST_TEXT, "text before it"),
    RECORDS(parameter, parameter_count, DCLI_MOST_OPERANDS, &parameter_record, "its names"),
    {"builder", DCLI_FIELD_NUMBERS, offsetof(OBJECT, builder), DCLI_COUNT_OWN, offsetof(OBJECT, builder_count), 0,
     DCLI_MOST_NODES, NATURAL, NULL, "nodes that compile now and answer BUILT; others when it is first used"},
    AXES(items, DCLI_COUNT_OWN, item_count, 0,
         "of a tile kernel: three sizes of a work-group (0: chosen), three numbers of work-items of a tile (0: one per "
         "element); empty: a body"),
    {"forgotten", DCLI_FIELD_NUMBERS, offsetof(OBJECT, forgotten), DCLI_COUNT_OWN, offsetof(OBJECT, forgotten_count), 0,
     DCLI_MOST_FORGOTTEN, NATURAL, NULL, "bodies that no later operation uses: who has them forgets them"},
    PROOF,
};
#undef OBJECT

#define OBJECT dcli_msg_built
static const dcli_field built_fields[] = {
    INT64(kernel, 0, "its number"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    SENTENCE(sentence, "what went wrong"),
};
#undef OBJECT

#define OBJECT dcli_msg_operations
static const dcli_field operations_fields[] = {
    RECORDS(operation, count, DCLI_MOST_OPERATIONS, &operation_record, "in the program's order"),
    INT64(epoch, 0, "of the members that the host knew: who has not heard of all of them waits"),
    PROOF,
};
#undef OBJECT

#define OBJECT dcli_msg_grant
static const dcli_field grant_fields[] = {
    INT64(operation, 0, "its number"),
    INT64(chunks, 0, "of the stream, from the first: may be sent in all"),
};
#undef OBJECT

#define OBJECT dcli_msg_chunk
static const dcli_field chunk_fields[] = {
    INT64(operation, 0, "its number"),
    INT(stream, 0, 1, "0: what the receiver reads; 1: what the sender wrote for it"),
    INT64(chunk, 0, "number in the stream"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status; not 0: no payload, the storage behind it failed"),
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
    INT64(ready, 0, "what the sender owns is written up to this operation"),
    {"counter", DCLI_FIELD_INLINE, offsetof(OBJECT, counter), DCLI_COUNT_FIXED, .most = DCLI_MSG_COUNTERS, .minimum = 0,
     .maximum = INT64_MAX, .about = "dcl_counters in its order; zeros to nodes"},
};
#undef OBJECT

#define OBJECT dcli_msg_failed
static const dcli_field failed_fields[] = {
    INT64(operation, 0, "its number"),
    INT(node, DCL_HOST, DCLI_MOST_PEERS, "where it failed first"),
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    BOOL(cause, "found by the sender; false: skipped because of another failure"),
    {"storage", DCLI_FIELD_NUMBERS, offsetof(OBJECT, storage), DCLI_COUNT_OWN, offsetof(OBJECT, storage_count), 0,
     DCLI_MOST_OPERANDS, NATURAL, NULL, "what may now hold anything"},
    SENTENCE(sentence, "what went wrong"),
};
#undef OBJECT

#define OBJECT dcli_msg_report
static const dcli_field report_fields[] = {
    INT64(operation, 0, "its number"),
    STRING(array, DCLI_MOST_NAME, "name in the body"),
    AXES(index, DCLI_COUNT_OWN, rank, INT64_MIN, "the first that is outside"),
    SENTENCE(body, "its first line"),
    SENTENCE(declared, "what is said of the array; empty: the index lies outside its grid"),
    BOOL(written, "it was to be written"),
    SENTENCE(outputs, "of a tile kernel: the arrays that it writes; empty: it was a body"),
    {"storage", DCLI_FIELD_NUMBERS, offsetof(OBJECT, storage), DCLI_COUNT_OWN, offsetof(OBJECT, storage_count), 0,
     DCLI_MOST_OPERANDS, NATURAL, NULL, "what the operation writes"},
};
#undef OBJECT

#define OBJECT dcli_msg_device
static const dcli_field device_fields[] = {
    STRING(name, DCLI_MOST_ADDRESS, "as its driver calls it"),
    STRING(platform, DCLI_MOST_ADDRESS, "of the driver"),
    STRING(version, DCLI_MOST_ADDRESS, "of OpenCL"),
    STRING(class, DCLI_MOST_NAME, "cpu, gpu, accelerator or other"),
    STRING(kind, 512, "devices of equal kind compile alike"),
    INT(number, 0, 65535, "on its host"),
    INT(compute_units, 0, INT_MAX, "as reported"),
    BOOL(has_half, "knows half"),
    BOOL(has_double, "knows double"),
    BOOL(in_place, "works in host memory that others of its host can map"),
    INT64(memory_bytes, 0, "global memory it reports"),
    INT64(process, 0, "number of the process that serves it, on its host"),
};
static const dcli_record device_record = RECORD("device", OBJECT, device_fields, 6, "an OpenCL device");
#undef OBJECT

#define OBJECT dcli_msg_peer
static const dcli_field peer_fields[] = {
    BOOL(present, "false: nobody yet, or not any more"),
    BOOL(in_place, "reads parts of others in place"),
    STRING(address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
    STRING(key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"),
};
static const dcli_record peer_record = RECORD("peer", OBJECT, peer_fields, 1, "a node of the session");
#undef OBJECT

#define OBJECT dcli_msg_setup
static const dcli_field setup_fields[] = {
    INT(self, 0, DCLI_MOST_NODES - 1, "the receiver's number"),
    RECORDS(peer, peer_count, DCLI_MOST_NODES, &peer_record, "all nodes, in the order of their numbers"),
    UP_TO(first_operation, 1, DCLI_MOST_OPERATION, "the receiver takes part from this one on"),
    INT64(epoch, 0, "of the members named here"),
    INT(tree_nodes, 0, DCLI_MOST_NODES,
        "the first so many nodes pass descriptors on as a tree; others have the host as parent"),
    UP_TO(tile_bytes, 1, DCLI_MOST_POOL, "size aimed at for a tile"),
    UP_TO(chunk_bytes, 1, DCLI_MOST_CHUNK, "most bytes of a chunk"),
    UP_TO(pool_bytes, 1, DCLI_MOST_POOL, "memory for what arrives"),
    INT64(quota_bytes, 0, "most bytes of storage; 0: no limit"),
    MILLISECONDS(silence_ms, "who is not heard of for so long is lost"),
    MILLISECONDS(build_ms, "most time of a compilation"),
    MILLISECONDS(kernel_ms, "most time of a kernel"),
    INT(fanout, 1, DCLI_MOST_NODES, "children of a peer in the tree of descriptors"),
    INT(log, 0, 3, "level of the log"),
    STRING(fault, DCLI_MOST_ADDRESS, "for tests: a failure to provoke"),
    UP_TO(kept_bytes, 0, DCLI_MOST_POOL, "most bytes of kept copies"),
    BOOL(check_access, "kernels check everything they read and write"),
    STRING(word_key, DCLI_MOST_KEY,
           "of the host and this node: of the tags of what others pass on; empty: there are none"),
    UP_TO(plan_ms, 0, DCLI_MOST_MS, "most time of planning an operation; 0: no limit"),
};
#undef OBJECT

#define OBJECT dcli_msg_part
static const dcli_field part_fields[] = {
    INT64(storage, 0, "number of the storage"),
    INT64(bytes, 1, "length of the sender's part of it"),
    INT64(memfd, 1,
          "memory that it lies in, as the sender numbers it; with a number that is new, a descriptor comes along"),
    INT64(offset, 0, "bytes before it in that memory"),
};
#undef OBJECT

#define OBJECT dcli_msg_forget
static const dcli_field forget_fields[] = {
    INT64(memfd, 1, "its number; nothing is in use there any more"),
};
#undef OBJECT

#define OBJECT dcli_msg_lost
static const dcli_field lost_fields[] = {
    INT(peer, 0, DCLI_MOST_PEERS, "its number"),
    INT64(epoch, 0, "of the session, from now on; 0: a node's observation"),
    SENTENCE(sentence, "how it was noticed"),
};
#undef OBJECT

#define OBJECT dcli_msg_joined
static const dcli_field joined_fields[] = {
    INT(peer, 0, DCLI_MOST_NODES - 1, "its number"),
    INT64(epoch, 1, "of the session, from now on"),
    INT64(first_operation, 1, "it takes part from this one on"),
    STRING(address, DCLI_MOST_ADDRESS, "where it listens; empty: nowhere"),
    STRING(key, DCLI_MOST_KEY, "its public key, hexadecimal; empty: none"),
    BOOL(in_place, "reads parts of others in place"),
};
#undef OBJECT

#define OBJECT dcli_msg_sees
static const dcli_field sees_fields[] = {
    INT64(number, 0, "of the question"),
    STRING(path, DCLI_MOST_PATH, "a file the host has made"),
    STRING(token, DCLI_MOST_KEY, "what it holds"),
    BITS(device, "of the file, by its number at the host"),
    BITS(inode, "of the file"),
};
#undef OBJECT

#define OBJECT dcli_msg_seen
static const dcli_field seen_fields[] = {
    INT64(number, 0, "of the question"),
    BOOL(yes, "the file is there, holds that, and may be used"),
};
#undef OBJECT

#define OBJECT dcli_msg_risen
static const dcli_field risen_fields[] = {
    INT64(done, 0, "the least of the sender and all below it"),
    INT64(ready, 0, "the least of the sender and all below it"),
    {"notices", DCLI_FIELD_NUMBERS, offsetof(OBJECT, notice), DCLI_COUNT_OWN, offsetof(OBJECT, notice_count), 0,
     2 * DCLI_MOST_NODES, NATURAL, NULL,
     "of each of these that has sent FAILED or REPORT to the host: its number, and how many; the host takes this when "
     "all of them have come"},
};
#undef OBJECT

#define OBJECT dcli_msg_count
static const dcli_field count_fields[] = {
    INT64(number, 0, "of the question"),
};
#undef OBJECT

#define OBJECT dcli_msg_counts
static const dcli_field counts_fields[] = {
    INT64(number, 0, "of the question"),
    {"counter", DCLI_FIELD_INLINE, offsetof(OBJECT, counter), DCLI_COUNT_FIXED, .most = DCLI_MSG_COUNTERS, .minimum = 0,
     .maximum = INT64_MAX, .about = "dcl_counters in its order"},
};
#undef OBJECT

#define OBJECT dcli_msg_hello
static const dcli_field hello_fields[] = {
    STRING(program, DCLI_MOST_ADDRESS, "who calls, for people"),
    BITS(capabilities, "1: keys, 2: files"),
};
#undef OBJECT

#define OBJECT dcli_msg_welcome
static const dcli_field welcome_fields[] = {
    STRING(program, DCLI_MOST_ADDRESS, "who answers, for people"),
    BITS(capabilities, "1: keys, 2: files"),
    RECORDS(device, device_count, DCLI_MOST_NODES, &device_record, "what can serve as a node here"),
    INT(sessions, 0, INT_MAX, "open here now"),
    INT(processes, 0, INT_MAX, "that serve them"),
    INT64(load_percent, 0, "of the processors, over the last minute"),
    BOOL(files, "workers here may read and write files"),
};
#undef OBJECT

#define OBJECT dcli_msg_refused
static const dcli_field refused_fields[] = {
    INT(status, DCL_OK, DCL_ERR_INTERNAL, "dcl_status"),
    SENTENCE(sentence, "why"),
};
#undef OBJECT

#define OBJECT dcli_msg_host
static const dcli_field host_fields[] = {
    STRING(key, DCLI_MOST_KEY, "its public key, hexadecimal; or the password that it presents to this process alone"),
};
static const dcli_record host_record = RECORD("host", OBJECT, host_fields, 1, "how a process knows its session's host");
#undef OBJECT

#define OBJECT dcli_msg_open
static const dcli_field open_fields[] = {
    BITS(session, "its number, random"),
    STRING(key, DCLI_MOST_KEY, "public key of the session's nodes, hexadecimal; empty: they have a password"),
    STRING(password, DCLI_MOST_KEY, "of the nodes; or their secret key, by which they know each other"),
    MILLISECONDS(silence_ms, "who is not heard of for so long is lost"),
    INT(first, 0, DCLI_MOST_NODES - 1, "number of the node that the first process becomes; the others follow"),
    INT(nodes, 1, DCLI_MOST_NODES, "numbers that there are for nodes; the host has the next"),
    UP_TO(chunk_bytes, 0, DCLI_MOST_CHUNK,
          "most bytes of a chunk, as SETUP will say; the processes take no larger frames"),
    RECORDS(host, host_count, DCLI_MOST_NODES, &host_record, "per process: what it knows the host by"),
};
#undef OBJECT

#define OBJECT dcli_msg_opened
static const dcli_field opened_fields[] = {
    RECORDS(peer, peer_count, DCLI_MOST_NODES, &peer_record, "one per device"),
};
#undef OBJECT

#define OBJECT dcli_msg_beat
static const dcli_field beat_fields[] = {
    INT64(number, 0, "grows"),
};
#undef OBJECT

#define OBJECT dcli_msg_gone
static const dcli_field gone_fields[] = {
    INT(process, 0, DCLI_MOST_NODES - 1, "its place in OPENED"),
    SENTENCE(sentence, "how it ended"),
};
#undef OBJECT

#define OBJECT dcli_msg_printed
static const dcli_field printed_fields[] = {
    INT64(number, 1, "1, 2, ...; while SHOWN has not named it no other one comes, but for the last words of a process"),
    INT(process, 0, DCLI_MOST_NODES - 1, "its place in OPENED"),
    STRING(text, DCLI_MOST_TEXT, "whole lines"),
    INT64(dropped, 0, "bytes that were printed after them, and are not sent"),
    INT64(flushed, 0, "answers SHOWN with this number: all that had been printed then has been sent; 0: none"),
};
#undef OBJECT

#define OBJECT dcli_msg_shown
static const dcli_field shown_fields[] = {
    INT64(number, 0, "of the last PRINTED that was taken; 0: none"),
    INT64(flush, 0, "send at once what there is, and answer with this number; 0: no"),
};
#undef OBJECT

const dcli_record dcli_message_table[DCLI_MSG_KIND_COUNT] = {
    [DCLI_MSG_KERNEL] =
        RECORD("KERNEL", dcli_msg_kernel, kernel_fields, 2, "host -> worker: a body to parse and build"),
    [DCLI_MSG_BUILT] = RECORD("BUILT", dcli_msg_built, built_fields, 2, "worker -> host: how that went"),
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
    [DCLI_MSG_HELLO] = RECORD("HELLO", dcli_msg_hello, hello_fields, 2, "client -> desk, its first message"),
    [DCLI_MSG_WELCOME] = RECORD("WELCOME", dcli_msg_welcome, welcome_fields, 3, "desk -> client: what can be had here"),
    [DCLI_MSG_REFUSED] = RECORD("REFUSED", dcli_msg_refused, refused_fields, 2, "desk -> client: no, and why"),
    [DCLI_MSG_OPEN] = RECORD("OPEN", dcli_msg_open, open_fields, 7, "client -> desk: start the processes of a session"),
    [DCLI_MSG_OPENED] = RECORD("OPENED", dcli_msg_opened, opened_fields, 1, "desk -> client: where they listen"),
    [DCLI_MSG_BEAT] = RECORD("BEAT", dcli_msg_beat, beat_fields, 1, "client <-> desk: still there"),
    [DCLI_MSG_GONE] =
        RECORD("GONE", dcli_msg_gone, gone_fields, 2, "desk -> client: a process has ended; client -> desk: end it"),
    [DCLI_MSG_PRINTED] =
        RECORD("PRINTED", dcli_msg_printed, printed_fields, 3, "desk -> client: what a process has printed"),
    [DCLI_MSG_SHOWN] =
        RECORD("SHOWN", dcli_msg_shown, shown_fields, 1, "client -> desk: it was taken: the next may come"),
    [DCLI_MSG_FORGET] = RECORD("FORGET", dcli_msg_forget, forget_fields, 1,
                               "node -> nodes of its host: memory that parts lay in is given back"),
};

const char *dcli_message_name(dcli_message_kind kind) { return dcli_message_table[kind].name; }
