/* loop/partition_search.h - a space partition while it is searched: for the files that find it. */
#ifndef DCLI_LOOP_PARTITION_SEARCH_H
#define DCLI_LOOP_PARTITION_SEARCH_H

#include "loop/partition.h"

/** Pairs of iterations that are to run in one thread. */
typedef struct dcli_partition_pair {
    int source, sink;
    isl_map *map; /* in one iteration of the hosts */
} dcli_partition_pair;

typedef struct dcli_partition_search {
    dcli_loops_sets *sets;
    const dcli_loops_tree *tree;
    const dcli_loops_hosts *hosts;
    int64_t pair_count, pair_capacity;
    dcli_partition_pair *pair;
    dcli_loops_partition *found;
    dcli_loops_mask component;                        /* whose numbers are searched */
    int base[DCLI_LOOPS_STATEMENTS], forms, unknowns; /* by Farkas' lemma: loop/partition_farkas.c */
} dcli_partition_search;

/** Search numbers of the component by Farkas' lemma. @param component  its first statement. */
void dcli_partition_by_farkas(dcli_partition_search *search, int component);
/** Take the coincident dimensions of a schedule by isl as numbers of the component. */
void dcli_partition_by_schedule(dcli_partition_search *search);

/** Put a form of a statement, whose counters have the names <letter><depth>. */
void dcli_partition_put_form(dcli_text *out, const dcli_loops_linear *form, char letter);

/* ---- independent forms: loop/partition_forms.c ---- */

/** The factors of independent forms, as the rows of a matrix. */
typedef struct dcli_partition_forms {
    int count;
    int64_t row[DCLI_LOOPS_DEPTH][DCLI_LOOPS_DEPTH];
    int pivot[DCLI_LOOPS_DEPTH]; /* column of the first element of each row; no other row has one there */
} dcli_partition_forms;

/** Add a form's factors. @return whether they are independent of those before. */
bool dcli_partition_add_form(dcli_partition_forms *forms, const dcli_loops_linear *form);
/** The factors of counters alone in number n of a statement: those of hosts tell no iterations apart. */
dcli_loops_linear dcli_partition_of_counters(const dcli_partition_search *search, int s, int n);
/** The numbers of a statement that were found. */
void dcli_partition_find_forms(const dcli_partition_search *search, int s, dcli_partition_forms *forms_out);

#endif
