/* golden/scene.h - one case: arrays under random maps, and what is done with them through the public interface. */
#ifndef TEST_GOLDEN_SCENE_H
#define TEST_GOLDEN_SCENE_H

#include "golden/bodies.h"
#include "golden/draw.h"

enum { GOLDEN_NODES = 4 };

/** How a cluster is opened. Sizes in bytes, 0: the default. */
typedef struct golden_settings {
    int nodes;
    const char *move;
    size_t tile, chunk, pool, block;
} golden_settings;

extern const golden_settings golden_setting[];
extern const int golden_setting_count;

/** What an array of a case shows: another array, the base, or itself. */
typedef enum golden_view {
    GOLDEN_PLAIN,
    GOLDEN_TRANSPOSED,
    GOLDEN_REVERSED,
    GOLDEN_STRIDED,
    GOLDEN_TAKEN,
    GOLDEN_BROADCAST,
    GOLDEN_RESHAPED
} golden_view;

/** What is done with the arrays; bodies run in each. */
typedef enum golden_script {
    GOLDEN_ONCE,  /**< the body */
    GOLDEN_BOX,   /**< the body over a box of its indices */
    GOLDEN_TWICE, /**< the body, writes of a box of an input, the body, an exchange, the body: nobody waits between */
    GOLDEN_KEEP,  /**< copies of an input are kept, the body twice, a write of some of it, the body */
    GOLDEN_MOVE,  /**< some of an input is brought to a node, the body, the copies are dropped, the body */
    GOLDEN_REMAP, /**< an input and the output are remapped, the body */
    GOLDEN_COPY   /**< an input is copied to an array of another map and back, the body */
} golden_script;

typedef struct golden_array {
    golden_operand operand;
    dcl_grid grid; /**< as the body sees it */
    golden_view view;
    dcl_grid base;         /**< GOLDEN_PLAIN: the same */
    char map[GOLDEN_TEXT]; /**< of the base; "": the default one */
} golden_array;

typedef struct golden_case {
    int64_t number;
    const golden_body *body;
    const golden_settings *settings;
    golden_script script;
    int array_count;
    golden_array array[GOLDEN_ARRAYS];
    uint64_t random; /**< for what is drawn while it runs */
} golden_case;

/** What came of a case. */
typedef struct golden_result {
    dcl_status status;  /**< the first that was not DCL_OK */
    char sentence[256]; /**< and what dcl_error() said; for people */
    uint64_t bits;      /**< hash of all arrays at the end */
    dcl_counters sum;   /**< planned counters of all operations, over all nodes */
    uint32_t per_node;  /**< hash of the same node by node */
    dcl_counters node[GOLDEN_NODES];
    char wrong[256]; /**< where explain and stats differ; "": they agree */
} golden_result;

/** Draw case `number`. */
void golden_case_draw(int64_t number, golden_case *out);
/** For people. */
void golden_case_describe(const golden_case *scene, char text_out[4 * GOLDEN_TEXT]);
/** Run it. @param cluster  opened with its settings. */
void golden_case_run(const golden_case *scene, dcl_cluster *cluster, golden_result *out);
/** Source: FNV-1a (Fowler, Noll, Vo), 64 bits. Begin with GOLDEN_HASH. */
uint64_t golden_hash(uint64_t hash, const void *bytes, size_t count);
#define GOLDEN_HASH 0xCBF29CE484222325

#endif
