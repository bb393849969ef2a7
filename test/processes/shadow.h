/* processes/shadow.h - what arrays must hold, kept beside them in plain memory, and which of them may have failed.
 *
 * A lost node fails the arrays with a part on it, and what was computed from these since the last time that all was
 * known to be complete. All others must keep their values. */
#ifndef PROCESSES_SHADOW_H
#define PROCESSES_SHADOW_H

#include <dcl.h>

enum { MOST_GROUPS = 4, PER_GROUP = 3, MOST_ARRAYS = MOST_GROUPS * PER_GROUP, MOST_EXTENT = 64, MOST_EVENTS = 4096 };

/* A square array of int32. */
typedef struct shadow {
    dcl_array *array;
    char name[8];  /* its name in bodies */
    bool is_named; /* a body has used it */
    int64_t extent;
    bool may_fail;
    int32_t value[MOST_EXTENT * MOST_EXTENT];
} shadow;

/* A call that wrote, since all was complete. Numbers of shadows; -1: none. */
typedef struct event {
    int out[2], in[3];
    bool overwrites; /* all of its outputs, without reading them */
    bool swaps;      /* its two outputs were exchanged */
    bool refused;
} event;

typedef struct history {
    shadow shadow[MOST_ARRAYS];
    int shadow_count;
    event event[MOST_EVENTS];
    int event_count;
} history;

/** Stop with a sentence: what the library did is wrong. */
_Noreturn void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Whether elements of the array lie on the node. */
bool has_part(const dcl_array *array, int node);
/** Whether elements of it lie on any node that is lost. */
bool has_lost_part(const dcl_cluster *cluster, const dcl_array *array);

/** @return the event, to be completed. */
event *note_event(history *history, int out, int other_out);
/** All calls so far are complete and went well. */
void forget_events(history *history);
/** A node is lost: mark what may have failed. */
void follow_loss(history *history, const dcl_cluster *cluster);
/** Compare with what was read. */
void compare(const shadow *shadow, const int32_t found[], const char *when);

#endif
