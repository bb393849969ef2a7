/* cli/operand.h - the pairs on eval's command line: NAME=FILE[:SHAPE][:TYPE], NAME=VALUE, [NAME=]MAP. */
#ifndef CLI_OPERAND_H
#define CLI_OPERAND_H

#include <dcl.h>

enum { CLI_NAME_BYTES = 64 };

/** An array of the body with its file. */
typedef struct cli_operand {
    char name[CLI_NAME_BYTES];
    char *path;
    dcl_grid grid;     /* rank 0 or type 0: not known yet */
    const char *map;   /* NULL: the default */
    dcl_access access; /* found in the body */
    bool load;         /* the file is read before the body runs */
    bool fortran;      /* order of the input file */
    bool image;        /* the file is a picture: its name ends in .png or .pgm */
} cli_operand;

/** Split "NAME=REST". @return REST, or NULL if the text does not begin with a name and "=". */
char *cli_split_name(char *text, char name_out[CLI_NAME_BYTES]);

/** Parse NAME=FILE[:SHAPE][:TYPE]. `text` is cut into pieces and must live as long as the operand. File names may
 *  contain colons: only what looks like a shape or a type is removed from the end. @return CLI_OK, or CLI_USAGE after a
 *  sentence. */
int cli_operand_parse(char *text, cli_operand *operand_out);

/** Parse a value: 3 is int64, 0.5 and 1e3 are double, 0.5f is float. The result borrows `name`. @return CLI_OK, or
 *  CLI_USAGE after a sentence. */
int cli_value_parse(const char *command, const char *name, const char *text, dcl_arg *arg_out);

#endif
