/* loop/describe.h - say how a loop nest would run. For `dcl loops`; not installed. */
#ifndef DCLI_LOOP_DESCRIBE_H
#define DCLI_LOOP_DESCRIBE_H

#include <stdbool.h>

#include <dcl/forall.h>

/** An argument of a nest. */
typedef struct dcl_nest_argument {
    char name[48];
    dcl_access access; /* OUT, IN, INOUT, VALUE */
    dcl_type type;
    int rank;
    int64_t extent[DCL_MAX_RANK];
    int64_t value; /* of an integer VALUE */
} dcl_nest_argument;

/** Say of each loop of a nest how it would run, and why; or print the nest as a scheme (loop/scheme.h).
 *  @param nest       may begin with #line.
 *  @param arguments  [count]
 *  @param only_read  read the nest, but analyse nothing: finds the errors that do not depend on sizes.
 *  @param scheme     "en", "uk" or "ru": the language of a scheme, which says what is parallel; NULL: no scheme.
 *  @param text_out   the text, to be ended with dcl_nest_forget(); NULL for only_read.
 *  @return DCL_OK or as dcl_loops(): the text of DCL_ERR_BODY lists all errors. */
DCL_API dcl_status dcl_nest_describe(const char *nest, int count, const dcl_nest_argument arguments[], bool only_read,
                                     const char *scheme, char **text_out);
DCL_API void dcl_nest_forget(char *text);

#endif
