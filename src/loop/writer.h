/* loop/writer.h - the text of an operation while it is generated: by loop/emit.c and, for whole lines, loop/lines.c. */
#ifndef DCLI_LOOP_WRITER_H
#define DCLI_LOOP_WRITER_H

#include "loop/inside.h"

typedef struct dcli_loops_writer {
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    dcli_loops_operation *operation;
    dcli_text *out;
    int statement; /* number of the statement whose expressions are written */
    isl_map *unguarded[DCLI_LOOPS_STATEMENTS];
    dcli_loops_mask limited;      /* fixed loops whose bounds are tests in the free loop around them */
    dcli_loops_mask headed;       /* free loops whose head stands before the loop around them, which is turned */
    uint64_t uses;                /* bit k: the text uses operand k */
    const dcli_loops_node *parts; /* the loop that may run in parts */
    /* HEAD: the text is without the loop `parts`; REST: without the statements before that loop. */
    enum { WHOLE, HEAD, REST } share;
    bool in_lanes; /* lines: several lines are computed together; q_w is the number of a line among these */
} dcli_loops_writer;

/** Get the argument with a name, and add it if there is none. @return NULL: there are too many. */
dcli_loops_operand *dcli_loops_add_operand(dcli_loops_writer *writer, const char *prefix, int number, const char *name,
                                           dcl_access access, int symbol, int64_t value);
/** Put a linear form of counters. @param loop  by depth. */
void dcli_loops_put_counters(dcli_loops_writer *writer, const dcli_loops_linear *linear, const int loop[]);
/** Whether a node contains statements of the operation. */
bool dcli_loops_holds(const dcli_loops_writer *writer, const dcli_loops_node *node);
/** Emit those conditions on a loop's counter that iterations may violate. In a free loop, they skip an iteration, or
 *  leave the loop after its last one; otherwise they open blocks. @return number of open blocks. */
int dcli_loops_put_bounds(dcli_loops_writer *writer, int number);
/** Print the head of a free loop. Bounds are arguments, so that one text serves all sizes; those of short loops are
 *  numbers, because kernels unroll such loops. */
void dcli_loops_put_head(dcli_loops_writer *writer, int number, int64_t step);
/** Whether the text of the operation contains a variable of the nest. A statement that never runs depends on no assignment, so that its
 *  operation may contain none to a variable that it reads. */
bool dcli_loops_uses_variable(const dcli_loops_writer *writer, int variable);
/** Put a node; put a node and the nodes beside it that follow. */
void dcli_loops_put_node(dcli_loops_writer *writer, const dcli_loops_node *node);
void dcli_loops_put_nodes(dcli_loops_writer *writer, const dcli_loops_node *node);
const char *dcli_loops_type_name(dcl_type type);
/** The place where an operation first writes an array. */
dcli_loops_place dcli_loops_place_of_output(const dcli_loops_writer *writer, int array);

/** Put an element of the thread's own line, or of an input, in the tile kernel of an operation on lines. */
void dcli_loops_put_line_element(dcli_loops_writer *writer, const dcli_loops_access *access, int read);
/** Put the tile kernel of an operation on lines. */
void dcli_loops_put_lines(dcli_loops_writer *writer);

#endif
