/* golden/bodies.h - the bodies that cases are made of. Few, since a driver compiles each for a tenth of a second and more. */
#ifndef TEST_GOLDEN_BODIES_H
#define TEST_GOLDEN_BODIES_H

#include <dcl.h>

enum { GOLDEN_ARRAYS = 4 };

/** An array of a body, as the table says. */
typedef struct golden_operand {
    char name[2];
    dcl_access access;
    int64_t width; /**< of a halo or cross */
    dcl_type type;
    int rank;
    char axis[4][8]; /**< extents: i (of that index), 2i+2, K (the scalar), 3 */
} golden_operand;

typedef struct golden_body {
    const char *text;
    const char *operands; /**< "C out float i,j; A in float j,i": name, access, type, axes */
    const char *prelude;
    int rank;
    bool shifts;  /**< may run over grids whose origin is not 0 */
    bool tiles;   /**< is a tile kernel */
    int64_t most; /**< largest extent; 0: any */
} golden_body;

extern const golden_body golden_bodies[];
extern const int golden_body_count;

/** Read the operands. @return how many */
int golden_operands(const golden_body *body, golden_operand out[GOLDEN_ARRAYS]);
/** Whether a name occurs in the text. */
bool golden_names(const char *text, const char *name);

#endif
