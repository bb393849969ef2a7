/* kernel/parser.h - the state shared by the files that parse a body. */
#ifndef DCLI_KERNEL_PARSER_H
#define DCLI_KERNEL_PARSER_H

#include "kernel/inside.h"

/** How an occurrence uses its element. */
typedef enum dcli_usage { DCLI_READS, DCLI_WRITES, DCLI_UPDATES } dcli_usage;

/** Where a name stands in its statement, or in the condition of an if or a loop. */
typedef struct dcli_spot {
    bool maybe;   /* it may not be evaluated, because it follows ?, && or || */
    int brackets; /* number of brackets around it, including those of a condition */
} dcli_spot;

typedef struct dcli_parser {
    dcli_body *body;
    struct dcli_body_inside *inside;
    const dcli_tokens *tokens;
    bool survey; /* roles and scalars are unknown: any subscripts are accepted, and accesses are distinguished by
                    their text */

    int at;              /* token at which the next statement begins */
    int start;           /* token at which the current statement or condition begins */
    int hidden;          /* token that may contain control flow (kernel/macro.h), -1: none; after it no write is
                            certain */
    int depth;           /* nesting depth of statements */
    int loops, switches; /* enclosing loops and switches */
    int switch_block;    /* the token { of the innermost switch; -1: none */
    bool declaring;      /* the statement is a declaration */

    /* Sets of accesses, one bit each, for definite assignment as in the Java Language Specification, chapter 16: an
     * access is written for certain at a point if every path to this point writes it. */
    uint64_t written;                  /* written for certain before the current statement */
    uint64_t pending;                  /* written by the current statement; added to `written` at its end */
    uint64_t switch_written;           /* the accesses written before the innermost switch: at a label no others are
                                          certain */
    int early_read[DCLI_MAX_ACCESSES]; /* token of the first read before the first write; -1: none */
} dcli_parser;

/** Read all statements. */
dcl_status dcli_parse_statements(dcli_parser *parser);

/** Parse the tokens [first, end) of an expression or declaration: its names, its accesses. @param spot  context of
 *  `first`. */
dcl_status dcli_parse_expression(dcli_parser *parser, int first, int end, dcli_spot spot);

/** Parse an occurrence of array `param` at token `name`. @param next_out  the token after it. */
dcl_status dcli_parse_access(dcli_parser *parser, int name, int param, dcli_spot spot, int *next_out);

/** How the tokens around [first, last] use this operand. */
dcli_usage dcli_usage_of(const dcli_tokens *tokens, int first, int last);
/** Whether [first, last] is evaluated whenever its statement is, as far as this is known without expanding macros: it
 *  begins the statement, or follows its = and commas. */
bool dcli_is_sure(const dcli_parser *parser, int first, int last, dcli_spot spot);
/** Whether token t is an & that takes the address of what follows. */
bool dcli_takes_address(const dcli_tokens *tokens, int t);

/** Parse body->text with the roles of body->params; fills the accesses. */
dcl_status dcli_parse(dcli_body *body, bool survey);

/** Make an unparsed body of text and parameters. @return NULL: DCL_ERR_NOMEM or DCL_ERR_BODY (too long). */
dcli_body *dcli_body_new(const char *text, const char *prelude, int count, const dcli_param params[]);

#endif
