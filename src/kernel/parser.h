/* kernel/parser.h - the state shared by the files that read a body. */
#ifndef DCLI_KERNEL_PARSER_H
#define DCLI_KERNEL_PARSER_H

#include "kernel/inside.h"

/** How an occurrence uses its element. */
typedef enum dcli_usage { DCLI_READS, DCLI_WRITES, DCLI_UPDATES } dcli_usage;

/** Where a part of a statement stands. */
typedef struct dcli_spot {
    bool maybe;   /* perhaps not evaluated: behind ?, && or || */
    int brackets; /* around it; those of a condition count */
} dcli_spot;

typedef struct dcli_parser {
    dcli_body *body;
    struct dcli_body_inside *inside;
    const dcli_tokens *tokens;
    bool survey; /* roles and scalars are unknown: subscripts may be anything, accesses are told apart by their text */

    int at;              /* token where the next statement begins */
    int start;           /* token where the statement or condition being read begins */
    int hidden;          /* token that may stand for control flow (kernel/macro.h), -1: then no write is sure */
    int depth;           /* statements inside one another */
    int loops, switches; /* of the body around the statement */
    int switch_block;    /* the token { of the innermost switch, -1 */
    bool declaring;      /* the statement is a declaration */

    /* Bits by access number. Definite assignment as in the Java Language Specification, chapter 16: an access is
     * written when it is on every way that leads here. */
    uint64_t written;                  /* here */
    uint64_t pending;                  /* by the statement being read, effective at its end */
    uint64_t switch_written;           /* where the innermost switch began: what its labels start from */
    int early_read[DCLI_MAX_ACCESSES]; /* token of the first read before it was written, -1 */
} dcli_parser;

/** Read all statements. */
dcl_status dcli_parse_statements(dcli_parser *parser);

/** Read the tokens [first, end) of an expression or declaration: its names, its accesses.
 *  @param spot  where `first` stands. */
dcl_status dcli_parse_expression(dcli_parser *parser, int first, int end, dcli_spot spot);

/** Read an occurrence of array `param` at token `name`. @param next_out  the token behind it. */
dcl_status dcli_parse_access(dcli_parser *parser, int name, int param, dcli_spot spot, int *next_out);

/** What stands around the tokens [first, last] makes of them. */
dcli_usage dcli_usage_of(const dcli_tokens *tokens, int first, int last);
/** Whether what stands at [first, last] is evaluated whenever its statement is, as far as it can be told without the
 *  macros of a prelude: it begins the statement, or follows its = and commas. */
bool dcli_is_sure(const dcli_parser *parser, int first, int last, dcli_spot spot);
/** Whether token t is an & that takes an address of what follows. */
bool dcli_takes_address(const dcli_tokens *tokens, int t);

/** Tokens and statements of body->text with the roles that body->params have; fills accesses. */
dcl_status dcli_parse(dcli_body *body, bool survey);

/** A body with text and parameters, nothing parsed. @return NULL: DCL_ERR_NOMEM or DCL_ERR_BODY (too long). */
dcli_body *dcli_body_new(const char *text, const char *prelude, int count, const dcli_param params[]);

#endif
