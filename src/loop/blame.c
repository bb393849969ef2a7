/* loop/blame.c - explains why statements cannot run in parallel, by an example of two iterations that depend on each
 * other. */
#include "loop/inside.h"

/* ---- what stands in the way ---------------------------------------------------------------------------------------- */

static const char *name_of(const dcli_loops_tree *tree, const dcli_loops_access *access)
{
    return access->is_array ? tree->name[access->symbol].name : tree->scalar[access->symbol].name;
}

static const dcli_loops_access *access_of(const dcli_loops_tree *tree, int s, int read)
{
    return read < 0 ? &tree->statement[s].target : &tree->statement[s].read[read];
}

/* The innermost loop, not run by the program, that is around both statements; -1: none. */
static int common_loop(const dcli_loops_tree *tree, int s, int t, const dcli_loops_hosts *hosts)
{
    int found = -1;
    for (int d = 0; d < tree->statement[s].depth && d < tree->statement[t].depth; d++) {
        int loop = tree->statement[s].loop[d];
        if (loop == tree->statement[t].loop[d] && !dcli_loops_is_hosted(hosts, s, d) &&
            !dcli_loops_is_hosted(hosts, t, d))
            found = loop;
    }
    return found;
}

static void put_pair(dcli_loops_complaints *complaints, const dcli_loops_tree *tree, const char *first, int s,
                     const int64_t from[], const char *second, int t, const int64_t to[], const char *way)
{
    dcli_text source = {0}, sink = {0};
    dcli_loops_put_iteration(&source, tree, s, from);
    dcli_loops_put_iteration(&sink, tree, t, to);
    dcli_loops_note(complaints, "%s at %s (line %d), %s at %s (line %d)", first,
                    source.bytes != NULL ? source.bytes : "once", tree->statement[s].place.line, second,
                    sink.bytes != NULL ? sink.bytes : "once", tree->statement[t].place.line);
    dcli_loops_note(complaints, "%s", way);
    dcli_text_free(&source);
    dcli_text_free(&sink);
}

/* Add a note that names a sum of counters which orders the iterations, if there is one. */
static void note_skew(dcli_loops_sets *sets, const dcli_loops_failure *failure, dcli_loops_complaints *complaints)
{
    static const dcli_loops_hosts none = {0};
    dcli_text sum = {0};
    if (dcli_loops_skew(sets, failure->statements, &none, &sum) ||
        dcli_loops_skew(sets, failure->statements, &failure->hosts, &sum))
        dcli_loops_note(
            complaints,
            "iterations with the same %s are independent: an outer loop over this sum, with arrays that have "
            "an axis for it, makes the inner ones parallel",
            sum.bytes);
    dcli_text_free(&sum);
}

/* Report a dependence between threads, by an example of two iterations: in the first iteration of the host loops that has
 * such a pair. */
static void complain_cross(dcli_loops_sets *sets, const dcli_loops_failure *failure, dcli_loops_complaints *complaints)
{
    const dcli_loops_dependence *d = &sets->dependence[failure->why.number];
    const dcli_loops_tree *tree = sets->tree;
    const dcli_loops_access *sink = access_of(tree, d->sink, d->sink_read);
    int loop = common_loop(tree, d->source, d->sink, &failure->hosts);
    int64_t from[DCLI_LOOPS_DEPTH], to[DCLI_LOOPS_DEPTH];
    isl_map *map = dcli_loops_both_at(sets, isl_map_copy(d->map), d->source, d->sink, &failure->hosts);
    map = isl_map_project_out(map, isl_dim_param, 0, (unsigned)failure->hosts.count);
    if (loop >= 0) { /* if possible, of two different iterations of this loop */
        int a = dcli_loops_depth_in(tree, d->source, loop), b = dcli_loops_depth_in(tree, d->sink, loop);
        isl_map *equal = isl_map_equate(isl_map_universe(isl_map_get_space(map)), isl_dim_in, a, isl_dim_out, b);
        isl_map *other = isl_map_subtract(isl_map_copy(map), equal);
        if (dcli_loops_no_map(sets, isl_map_copy(other))) {
            isl_map_free(other);
        } else {
            isl_map_free(map);
            map = other;
        }
    }
    dcli_loops_complain(complaints, sink->place, "carried",
                        "%s%s cannot run in parallel: %s is %s by one iteration and %s by "
                        "a later one",
                        loop >= 0 ? "the iterations of loop " : "these statements",
                        loop >= 0 ? tree->loop[loop].name : "", name_of(tree, sink),
                        d->source_read < 0 ? "written" : "read", d->sink_read < 0 ? "written" : "read");
    if (dcli_loops_first_pair(sets, map, d->source, d->sink, from, to))
        put_pair(complaints, tree, d->source_read < 0 ? "written" : "read", d->source, from,
                 d->sink_read < 0 ? "written" : "read", d->sink, to,
                 "write to another array than is read, or change the order of the loops so that an inner loop is free "
                 "of this");
    note_skew(sets, failure, complaints);
}

static void complain_scalar(dcli_loops_sets *sets, const dcli_loops_failure *failure, dcli_loops_complaints *complaints)
{
    const dcli_loops_flow *f = &sets->flow[failure->why.number];
    const dcli_loops_tree *tree = sets->tree;
    const dcli_loops_access *read = NULL;
    int64_t from[DCLI_LOOPS_DEPTH], to[DCLI_LOOPS_DEPTH];
    for (int r = 0; r < tree->statement[f->sink].read_count; r++)
        if (!tree->statement[f->sink].read[r].is_array && tree->statement[f->sink].read[r].symbol == f->scalar)
            read = &tree->statement[f->sink].read[r];
    dcli_loops_complain(complaints, read != NULL ? read->place : tree->statement[f->sink].place, "scalar",
                        "the variable %s carries a value between iterations that would run in parallel",
                        tree->scalar[f->scalar].name);
    if (dcli_loops_first_pair(sets, isl_map_copy(f->map), f->source, f->sink, from, to))
        put_pair(
            complaints, tree, "assigned", f->source, from, "read", f->sink, to,
            "keep the values in an array, as s[i] in place of s, or give the variable its value in the same iteration");
}

void dcli_loops_blame(dcli_loops_sets *sets, const dcli_loops_failure *failure, dcli_loops_complaints *complaints)
{
    const dcli_loops_tree *tree = sets->tree;
    const dcli_loops_why *why = &failure->why;
    int s = 0;
    switch (why->reason) {
    case DCLI_LOOPS_CROSS:
        complain_cross(sets, failure, complaints);
        return;
    case DCLI_LOOPS_SCALAR:
        complain_scalar(sets, failure, complaints);
        return;
    case DCLI_LOOPS_STRIDE:
        dcli_loops_complain(complaints, tree->statement[why->statement].target.place, "stride",
                            "the counter in a subscript of %s, which is written, is multiplied by a number",
                            name_of(tree, &tree->statement[why->statement].target));
        dcli_loops_note(complaints, "let the loop count in these steps, as for (i = 0; i < n; i += 2) in place of 2*i");
        return;
    case DCLI_LOOPS_MIXED:
        while (!dcli_loops_in(failure->statements, s))
            s++;
        dcli_loops_complain(
            complaints, tree->statement[s].place, "mixed",
            "this statement and others depend on each other in a cycle, but write elements of arrays of "
            "different shapes, or at different subscripts of the same loops");
        dcli_loops_note(complaints, "split the loops, or give each variable one user");
        return;
    }
}
