/* runtime/stream_inside.h - what the files of runtime/stream*.c share. */
#ifndef DCLI_RUNTIME_STREAM_INSIDE_H
#define DCLI_RUNTIME_STREAM_INSIDE_H

#include "loop/tiles.h"
#include "runtime/report.h"
#include "runtime/stream.h"
#include "runtime/stream_speed.h"

enum { MOST_WAITING = 64, MOST_BUFFERS = 6, ROUNDS_IN_FLIGHT = 4, MEASURED_STEPS = 3 };

/* A buffer: an array on one node. */
struct buffer {
    dcl_array *array;
    dcl_grid grid;
    int node;
    bool used;
    struct buffer *next;
};

/* A buffer that holds a part of an array of the nest. */
struct slot {
    struct buffer *buffer;
    dcl_array *view; /* view of the part, under the indices of the whole array; NULL: nothing yet */
    dcl_box box;
};

/* The buffers of one array on one node; the current one was filled last. */
struct ring {
    int current;
    struct slot slot[MOST_BUFFERS];
};

/* A transfer that was started, and not waited for. */
struct started {
    int64_t number, round;
    int host;
    bool reads; /* from the node to the program's memory */
    dcl_box box;
};

/* A transfer that is to be started. */
struct wanted {
    dcl_array *view;
    int host;
    dcl_box box;
};

struct dcli_stream {
    dcl_cluster *cluster;
    const dcli_loops_plan *plan;
    int host_count, node_count;
    dcli_host_array *host;
    dcl_map **map; /* [node_count] over one node */
    int64_t most_bytes;
    struct buffer *buffers;
    int64_t started_count, started_capacity, round;
    struct started *started;                 /* in the order of their numbers */
    int64_t in_bytes, out_bytes, kept_bytes; /* bytes of the present operation */
    double in_weight, out_weight;
    int waiting_count; /* operations that may run together with the next ones */
    struct waiting *waiting[MOST_WAITING];
    bool wrote; /* results were copied back */
    int64_t wanted_count[2], wanted_capacity[2];
    struct wanted *wanted[2]; /* transfers that were not started yet, to the nodes and back */
};

/* An operation that waits or is run. */
struct run {
    dcli_stream *stream;
    const dcli_loops_call *operation;
    const dcl_arg *args;
    const int *host_of;
    int array[DCLI_LOOPS_OPERANDS]; /* by operand: its number in `tiles`; -1: none */
    int host[DCLI_TILES_ARRAYS];
    dcli_tiles tiles;
    dcl_box all;   /* the box of `tiles` for the whole operation: `tiles` may be split again */
    int64_t first; /* value of the loop that is the inner axis */
    int64_t access_count;
    dcli_tiles_access access[DCLI_MAX_ACCESSES];
    struct ring *ring; /* [node_count][tiles.array_count] */
    dcli_tiles_speed speed;
    bool measured; /* `speed` was measured, or does not matter */
};

/* An operation that waits until it is known which ones follow. */
struct waiting {
    struct run run;
    dcli_loops_call operation;
    dcl_arg args[DCLI_LOOPS_OPERANDS];
    int host_of[DCLI_LOOPS_OPERANDS];
};

/* A step in progress. */
struct ready {
    dcl_box box;        /* box of the step's indices */
    int64_t low, count; /* values of the loop that is the inner axis */
    bool begins, ends;  /* it is the first, or the last, of the steps that compute these elements */
    dcl_array *view[DCLI_TILES_ARRAYS];
    dcl_array *from[DCLI_TILES_ARRAYS]; /* what the step before has of it, too; NULL: nothing */
    dcl_box common[DCLI_TILES_ARRAYS];  /* the elements that `from` has */
};

/* ---- stream_copy.c: buffers and transfers ---- */

/** Functions on arrays, maps and views give errors their own names: give them that of the call again. */
static inline void dcli_stream_name_call(void) { dcli_error_enter("dcl_loops"); }
/** Let a slot show another part of its array. @param largest  the grid of its buffer, or more if the part needs it. */
dcl_status dcli_stream_set_slot(dcli_stream *stream, int node, const dcl_grid *largest, const dcl_box *box,
                                struct slot *slot);
/** Note that a box is to be copied between the program's memory and a slot: to the node, or back (`reads`). */
dcl_status dcli_stream_want(struct run *run, int array, bool reads, dcl_array *view, const dcl_box *box);
/** Start the copies that were noted, after earlier copies of the same elements have ended. Copies of nodes with memory of
 *  their own are started piece by piece, one of each direction in turn. */
dcl_status dcli_stream_start(dcli_stream *stream);
/** Wait for all transfers of rounds before `round`, even if one of them, or `status`, is a failure: the program's
 *  memory is then not used any more. @return `status` if it is a failure, otherwise the first failure of a transfer. */
dcl_status dcli_stream_collect(dcli_stream *stream, int64_t round, dcl_status status);
/** Copy what two slots of a node have in common. */
dcl_status dcli_stream_copy_common(struct run *run, int array, const dcl_box *box, dcl_array *from, dcl_array *to);

/* ---- stream_steps.c: steps of an operation ---- */

/** Make the rings of slots of all nodes, which are empty. End them with dcli_stream_end_steps(). */
dcl_status dcli_stream_begin_steps(struct run *run);
/** Run the steps from `first` on. */
dcl_status dcli_stream_run_steps(struct run *run, int64_t first);
/** Run the first MEASURED_STEPS steps one after the other, measure the last of them and a small copy, and keep the
 *  speed for later operations of this kind. @param speed  its rates of copies change only if the step copies enough
 *  to tell them. */
dcl_status dcli_stream_measure(struct run *run, dcli_tiles_speed *speed);
/** Give back the buffers of all nodes. */
void dcli_stream_end_steps(struct run *run);

/* ---- stream_sweeps.c: several operations together ---- */

/** Whether an operation may run together with others. */
bool dcli_stream_can_join(const struct run *op);
/** Run operations together as far as this is faster. @param done_out  how many were run, from the first one on; the
 *  others were not begun. 0: none. */
dcl_status dcli_stream_run_together(dcli_stream *stream, int count, struct run *const op[], int *done_out);

#endif
