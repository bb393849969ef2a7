/* kernel/parser.h - the state shared by the files that parse a body. */
#ifndef DCLI_KERNEL_PARSER_H
#define DCLI_KERNEL_PARSER_H

#include "kernel/inside.h"

/** How one occurrence of an access uses its element: reads it, writes it (=), or both (+=, ++). */
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
    bool survey; /* a survey: roles and scalars are not known, so any subscripts are accepted, and accesses differ if
                    their texts do */

    int at;              /* token at which the next statement begins */
    int start;           /* token at which the current statement or condition begins */
    int hidden;          /* the first macro of the body that may hide control flow (kernel/macro.h), as a token; -1:
                            none. After it no write is certain */
    int depth;           /* nesting depth of statements */
    int loops, switches; /* number of enclosing loops, and of enclosing switches */
    int switch_block;    /* the token { of the innermost switch; -1: none */
    bool declaring;      /* the statement is a declaration */

    /* Sets of accesses, one bit each, for definite assignment as in the Java Language Specification, chapter 16: an
     * access is written for certain at a point if every path to this point writes it. */
    uint64_t written;                  /* written for certain before the current statement */
    uint64_t pending;                  /* written by the current statement; added to `written` at its end */
    uint64_t switch_written;           /* the accesses written before the innermost switch: at a label no others are
                                          certain */
    int early_read[DCLI_MAX_ACCESSES]; /* per access: token of its first read where it is not certainly written; -1:
                                          none */
} dcli_parser;

/** Check and complete a body that was parsed with this status. It is freed on failure. */
dcl_status dcli_finish_body(dcli_body *body, dcl_status status, dcli_body **body_out);

/** Parse all statements of the body: record accesses and how they are used. */
dcl_status dcli_parse_statements(dcli_parser *parser);

/** Parse an expression or declaration, the tokens [first, end): the names and accesses in it. @param spot  where token
 *  `first` stands. */
dcl_status dcli_parse_expression(dcli_parser *parser, int first, int end, dcli_spot spot);

/** Parse an occurrence of array `param` at token `name`, with its subscripts. @param next_out  the token after it. */
dcl_status dcli_parse_access(dcli_parser *parser, int name, int param, dcli_spot spot, int *next_out);

/** Reductions: find which names are indices, before the body is parsed. @return DCL_OK or DCL_ERR_BODY. */
dcl_status dcli_find_indices(dcli_parser *parser);
/** Reductions: parse an occurrence of result `param` at token t. @param next_out  the token after its operator. */
dcl_status dcli_parse_result(dcli_parser *parser, int t, int param, dcli_spot spot, int *next_out);
/** Keyed reductions: as dcli_parse_result(), with keys. */
dcl_status dcli_parse_keyed(dcli_parser *parser, int t, int param, dcli_spot spot, int *next_out);
/** Keyed reductions: add the parameters from dcli_body.partials on. */
dcl_status dcli_add_keyed(dcli_body *body);
/** Reductions: check a statement that reduces into `param`, with its operator at token t. @param before  the operator of an earlier
 *  statement; -1: none. */
dcl_status dcli_check_operator(const dcli_parser *parser, int t, const dcli_param *param, int before);
/** Replace tokens of the text. */
dcl_status dcli_add_edit(dcli_parser *parser, const dcli_edit *edit);
/** The first token from t on, outside of brackets, that has one of these spellings; tokens->count: none. */
int dcli_find_token(const dcli_tokens *tokens, int t, const char *spellings);
/** Reductions: check the body as a whole, and find the access whose owners compute. */
dcl_status dcli_check_reduction(dcli_body *body);
/** Reductions: add the parameter of the partial results, dcli_body.partials. */
dcl_status dcli_add_partials(dcli_body *body);

/** An operator of a reduction or scan. */
typedef struct dcli_operator {
    dcli_fold fold;
    bool integers; /* it is for integers only */
    int param;     /* DCLI_FOLD_OWN: the parameter */
    int next;      /* the token after it */
} dcli_operator;
/** Find the operator of a reduction or scan that begins at token t. @param params  [count] those of the program. @return
 *  false: there is none. */
bool dcli_operator_at(const dcli_tokens *tokens, int t, int count, const dcli_param params[],
                      dcli_operator *operator_out);
/** Reductions along axes: check the body as a whole, and find the inner axes. */
dcl_status dcli_check_along(dcli_body *body);

/** List an occurrence of an array at token `name`, with its subscripts. @param access_out  the access it belongs to. */
dcl_status dcli_list_access(dcli_parser *parser, int name, int param, int *access_out);
/** Check that an output is written at plain indices, each once. */
dcl_status dcli_check_permutation(const dcli_parser *parser, int a, int name);

/** How the operand [first, last] is used, judged by the tokens next to it. */
dcli_usage dcli_usage_of(const dcli_tokens *tokens, int first, int last);
/** Whether the operand [first, last] is evaluated whenever its statement is: it begins the statement, or follows its =
 *  and commas. Macros are not expanded for this. */
bool dcli_is_sure(const dcli_parser *parser, int first, int last, dcli_spot spot);
/** Whether token t is an & that takes the address of what follows. */
bool dcli_takes_address(const dcli_tokens *tokens, int t);

/** Parse body->text with the roles of body->params: fill the accesses of the body and check it. @param survey  as
 *  dcli_parser.survey; the body is not checked. */
dcl_status dcli_parse(dcli_body *body, bool survey);

/** Make a body that has a text and parameters and is not parsed yet. @return NULL: DCL_ERR_NOMEM or DCL_ERR_BODY (too
 *  long). */
dcli_body *dcli_body_new(const char *text, const char *prelude, int count, const dcli_param params[]);

#endif
