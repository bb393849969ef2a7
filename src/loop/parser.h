/* loop/parser.h - what the two files of the parser share. */
#ifndef DCLI_LOOPS_PARSER_H
#define DCLI_LOOPS_PARSER_H

#include "loop/scan.h"
#include "loop/tree.h"

enum { DCLI_LOOPS_NESTING = 64 /* most brackets and statements inside each other */ };

typedef struct dcli_loops_parser {
    dcli_loops_tree *tree;
    dcli_loops_complaints *complaints;
    const dcli_loops_sign *sign; /* the tokens */
    int count, at;
    bool failed;  /* no memory */
    bool stopped; /* statements were nested too deeply: the rest is not read */
    int nesting;  /* of the expression or statement */
    /* around the current statement: */
    int depth, loop[DCLI_LOOPS_DEPTH];
    int test_count;
    dcli_loops_test test[DCLI_LOOPS_TESTS];
    int choice_count; /* conditions of ?: around the current expression */
    dcli_loops_test choice[DCLI_LOOPS_TESTS];
    int scope_count; /* the variables that can be used here, the innermost declared last */
    int scope[DCLI_LOOPS_SCALARS];
    dcli_loops_statement *statement; /* the statement whose expressions are read; NULL: those of a bound or a
                                        condition are read */
} dcli_loops_parser;

/** Read an expression. @return NULL: it has an error, which was reported. */
dcli_loops_expr *dcli_loops_parse_value(dcli_loops_parser *parser);
/** Find the variable of a name that can be used here. @return its number; -1: there is none. */
int dcli_loops_parse_variable(const dcli_loops_parser *parser, const dcli_loops_sign *sign);
/** Record that a variable is used in a statement, or is the counter of a loop. @return false: it is both, which was
 *  reported. */
bool dcli_loops_parse_note_use(dcli_loops_parser *parser, int variable, bool as_counter, dcli_loops_place place);
/** Whether a name is that of a function that a nest may call. */
bool dcli_loops_is_function(const dcli_loops_sign *sign);
/** Check the number and types of the arguments of a call in a statement, and set the call's type. @return false: they
 *  are wrong, which was reported. */
bool dcli_loops_check_call(dcli_loops_parser *parser, dcli_loops_expr *call, const dcli_loops_sign *sign);
/** Read the target of an assignment: an element or a variable, without noting that it is read. */
dcli_loops_expr *dcli_loops_parse_target(dcli_loops_parser *parser);
/** Read the type of a variable or a cast at the current token, if it is one: "double", "unsigned int". */
bool dcli_loops_parse_type(dcli_loops_parser *parser, char type_out[16]);
/** Note in the current statement that an element or a variable is read. */
bool dcli_loops_parse_note_read(dcli_loops_parser *parser, dcli_loops_expr *expr);
/** Require and skip a token. */
bool dcli_loops_parse_expect(dcli_loops_parser *parser, const char *spelling, const char *where);
/** Complain at the current token. @return false. */
bool dcli_loops_parse_refuse(dcli_loops_parser *parser, const char *code, const char *why, const char *way);

static inline const dcli_loops_sign *dcli_loops_parse_now(const dcli_loops_parser *parser)
{
    return &parser->sign[parser->at];
}
static inline bool dcli_loops_parse_is(const dcli_loops_parser *parser, const char *spelling)
{
    return dcli_loops_sign_is(dcli_loops_parse_now(parser), spelling);
}

#endif
