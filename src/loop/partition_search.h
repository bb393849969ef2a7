/* loop/partition_search.h - the state of a search for a space partition, shared by the files that search. */
#ifndef DCLI_LOOP_PARTITION_SEARCH_H
#define DCLI_LOOP_PARTITION_SEARCH_H

#include "loop/partition.h"

/** Pairs of iterations that are to run in one thread. */
typedef struct dcli_partition_pair {
    int source, sink;
    isl_map *map; /* in one iteration of the host loops */
} dcli_partition_pair;

typedef struct dcli_partition_search {
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    const dcli_loops_hosts *hosts;
    int64_t pair_count, pair_capacity;
    dcli_partition_pair *pair;
    dcli_loops_partition *found;
    dcli_loops_mask component;                        /* the statements whose numbers are searched */
    int base[DCLI_LOOPS_STATEMENTS], forms, unknowns; /* used by loop/partition_farkas.c */
} dcli_partition_search;

/** Find numbers of the component by Farkas' lemma. @param component  its first statement. */
void dcli_partition_by_farkas(dcli_partition_search *search, int component);
/** Find numbers of the component by isl's scheduler: the coincident dimensions of a schedule. */
void dcli_partition_by_schedule(dcli_partition_search *search);

/** Print a form; the counter at depth d is named <letter><d>. */
void dcli_partition_put_form(dcli_text *out, const dcli_loops_linear *form, char letter);

/* ---- independent forms: loop/partition_forms.c ---- */

/** The factors of independent forms, as the rows of a matrix. */
typedef struct dcli_partition_forms {
    int count;
    int64_t row[DCLI_LOOPS_DEPTH][DCLI_LOOPS_DEPTH];
    int pivot[DCLI_LOOPS_DEPTH]; /* column of the first element of each row; no other row has one there */
} dcli_partition_forms;

/** Add the factors of a form to a matrix, if they are linearly independent of its rows. @return whether they were
 *  added; false also if numbers overflow 64 bits. */
bool dcli_partition_add_form(dcli_partition_forms *forms, const dcli_loops_linear *form);
/** Form n of a statement without the hosts' counters, which are the same for all iterations that are compared. */
dcli_loops_linear dcli_partition_of_counters(const dcli_partition_search *search, int s, int n);
/** Collect the forms that were found for a statement, without the hosts' counters. */
void dcli_partition_find_forms(const dcli_partition_search *search, int s, dcli_partition_forms *forms_out);

#endif
