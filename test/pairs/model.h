/* pairs/model.h - what an array should hold, in host memory, and how it is compared: plain loops over elements. */
#ifndef TEST_PAIRS_MODEL_H
#define TEST_PAIRS_MODEL_H

#include <dcl.h>

/** An array and what it should hold: small whole numbers, which every element type can hold. Elements by rows. */
typedef struct test_model {
    const char *name;
    dcl_array *array;
    dcl_grid grid;
    int64_t total;
    int64_t *value;
    int *owner;         /* by dcl_map_locate(), which test/oracle checks; -1: stored nowhere */
    int64_t fill_value; /* what elements that are stored nowhere read as */
    bool copied;        /* nodes may keep copies: what moves is no more than owners say */
    bool kept;          /* nodes have copies of all that the next operation reads: nothing moves */
} test_model;

/** The sentence of the first thing that went wrong; empty so far. */
extern char test_wrong[1024];
/** Note what went wrong, unless something has before. @return false */
__attribute__((format(printf, 1, 2))) bool test_failed(const char *format, ...);
/** Note the library's sentence where a call failed. @return whether it succeeded */
bool test_done(const char *call, dcl_status status);

/** Random numbers from a seed. Source: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
int64_t test_between(uint64_t *random, int64_t low, int64_t high);

/** Make an array under a map, all zero but what is stored nowhere: that is `rest`. @return whether it worked */
bool test_model_make(test_model *model, const char *name, const dcl_grid *grid, const dcl_map *map, int64_t fill_value);
void test_model_end(test_model *model);

void test_index(const dcl_grid *grid, int64_t e, int64_t index_out[]);
/** Number of an element; -1: outside of the grid. */
int64_t test_element(const dcl_grid *grid, const int64_t index[]);

dcl_box test_random_box(const dcl_grid *grid, uint64_t *random);
bool test_box_has(const dcl_box *box, const int64_t index[]);

/** Whether a map is replicated. */
bool test_is_replicated(const dcl_map *map);
/** Whether a map says that nodes keep copies: it is, or has a halo. */
bool test_keeps_copies(const dcl_map *map, const dcl_grid *grid);

/** Whether some elements are stored nowhere. */
bool test_is_partial(const test_model *model);

/** Write new random values into a box, or compare it with the values; memory is laid out by rows, by columns, or with
 *  the first axis backwards, at random. A box with elements that are stored nowhere has to be refused; the array is
 *  then filled anew.
 *  @param box  NULL: the whole array, packed; or all that is stored */
bool test_write(test_model *model, const dcl_box *box, uint64_t *random);
bool test_compare(const test_model *model, const dcl_box *box, uint64_t *random);

bool test_fill(test_model *model, int64_t value);

/** Save as .npy, and compare what the file holds; or load. Values of `model` become those of `from`. */
bool test_save(const test_model *model, const char *path);
bool test_load(test_model *model, const test_model *from, const char *path);

#endif
