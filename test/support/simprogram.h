/* test/support/simprogram.h - random programs for the simulated cluster, and what they must compute.
 *
 * All elements are int64_t. The value that a body writes at an index is a mixture of the values read through its
 * accesses and, unless the body is blind, of the index. So the arithmetic in the text does not matter, only which
 * elements it reads. */
#ifndef TEST_SUPPORT_SIMPROGRAM_H
#define TEST_SUPPORT_SIMPROGRAM_H

#include "base/text.h"
#include "segment/random.h"
#include "workqueue/overlap.h"

/** The contents of memory after a failure, and of unwritten memory. No mixture gives these values. */
#define SIM_POISON INT64_C(0x5BADBADBADBADBAD)
#define SIM_GARBAGE INT64_C(0x6A6A6A6A6A6A6A6A)

/** A storage with its correct contents. */
typedef struct sim_array {
    int64_t storage;
    dcli_layout layout;
    char map[160];
    int64_t elements;
    int64_t *value; /* [elements] row-major: as the program leaves them; not stored: the fill value */
    bool released;
} sim_array;

enum { SIM_MAX_VIEWS = 12, SIM_MAX_NUMBERS = 2048 };

/** One operation of the program. */
typedef struct sim_step {
    dcli_operation operation;
    int view_count;
    dcli_transform view[SIM_MAX_VIEWS]; /* FORALL: views that operands point to */
    int shape_count;
    dcli_layout shape[SIM_MAX_VIEWS]; /* FORALL: reshaped layouts that operands point to */
    int number_count;
    int64_t number[SIM_MAX_NUMBERS]; /* FORALL: numbers of declarations that operands point to */
    dcli_body *body;                 /* FORALL */
    char text[1024];                 /* FORALL: its text; others: a description */
    int64_t fill;                    /* FILL, LOAD: determines what is written */
    int64_t *memory;                 /* READ, WRITE: the program's memory, packed over the box */
    int64_t *expected;               /* READ, SAVE: the expected values (SAVE: of the whole array) */
    bool waits;                      /* READ: the program waits for it */
} sim_step;

enum { SIM_MAX_ARRAYS = 64, SIM_MAX_STEPS = 64, SIM_MAX_SPARES = 4, SIM_MAX_NODES = 64 };

typedef struct sim_program {
    int node_count, spare_count;   /* the last `spare_count` nodes join later, in the order of their numbers */
    int64_t joins[SIM_MAX_SPARES]; /* [spare_count] the operation before which each joins */
    int array_count, step_count;
    sim_array array[SIM_MAX_ARRAYS];
    sim_step step[SIM_MAX_STEPS];
} sim_program;

/** Generate a program: some arrays with contents, then `steps` random operations; and run it on plain arrays. Arrays
 *  lie on nodes that exist when they are made: `spares` of them join later. Aborts the test without memory.
 *  @param loops  most operations are steps of time loops, on arrays whose maps have an overlap. */
sim_program *sim_program_make(test_random *random, int node_count, int spares, int steps, bool loops);
void sim_program_free(sim_program *program);
/** The program as text, an operation per line. */
void sim_program_print(const sim_program *program, dcli_text *text);

/** The array of a storage. */
sim_array *sim_array_of(sim_program *program, int64_t storage);
const sim_step *sim_step_of(const sim_program *program, int64_t operation);

/** Row-major number of an element. */
int64_t sim_number_of(const dcl_grid *grid, const int64_t element[]);
/** Wrap an index that lies beyond the edges of periodic axes. */
void sim_wrap(const dcli_layout *layout, int64_t element[]);
/** The base's element of an operand at an index, which may lie beyond edges, too. */
void sim_behind(const dcli_operand *operand, const int64_t index[], int64_t element_out[]);
/** Row-major number of the base's element of an operand at an index. */
int64_t sim_number_seen(const dcli_operand *operand, const int64_t index[]);
/** The valid indices of access `a` of a body: beyond the edges of periodic axes as far as the halo is wide. */
dcl_grid sim_seen(const dcli_operation *operation, int a);
/** Whether a node stores an element. */
bool sim_is_stored(const dcli_layout *layout, const int64_t element[]);
/** The value of elements that are not stored. */
int64_t sim_fill_value(const dcli_layout *layout);
/** The value that LOAD finds in its file. */
int64_t sim_loaded(int64_t fill, int64_t number);

/** How a body's elements are accessed: by the oracle in plain arrays, by a node through bindings. */
typedef struct sim_access {
    void *user;
    /** The value of an element read by access `a` (in the grid that the operation sees). */
    int64_t (*fetch)(void *user, int a, const int64_t element[]);
    /** Called instead if access `a` reads outside its grid: the value is 0. */
    void (*outside)(void *user, int a);
    void (*store)(void *user, int a, const int64_t element[], int64_t value);
} sim_access;

/** Run the body of a FORALL at one index (of the loop axes). Any SIM_POISON read makes all results SIM_POISON. */
void sim_evaluate(const dcli_operation *operation, const dcli_subscripts subscripts[], const int64_t index[],
                  const sim_access *access);
/** Run a blind body, all of whose reads are inside their grids, without naming elements. */
void sim_evaluate_blind(const dcli_operation *operation, const sim_access *access);
/** The element that an affine access touches. @param grid  sim_seen(). @return whether it is in the grid. */
bool sim_element(const dcli_subscripts *subscripts, const dcl_grid *grid, const int64_t index[], int64_t element_out[]);
/** Whether an index may read an element by a declared reach, by the definition. */
bool sim_may_read(const dcli_subscripts *subscripts, const int64_t index[], const int64_t element[]);
/** The subscripts of all accesses, with their declarations. */
void sim_subscripts(const dcli_operation *operation, dcli_subscripts subscripts_out[]);

/** Step through a box, last axis fastest: place[] counts from 0. Start with zeros. @return false after the last. */
bool sim_next_place(int64_t place[], const dcl_box *box);

#endif
