/* worker/catalog.h - what a peer knows from descriptors: storages, kernels, operations that are open, plans. */
#ifndef DCLI_WORKER_CATALOG_H
#define DCLI_WORKER_CATALOG_H

#include "device/device.h"
#include "lower/lower.h"
#include "net/message.h"
#include "worker/lent.h"

/** A layout that storages share: equal grids and maps are one object, so that plans are found by address. */
typedef struct dcli_shared_layout {
    dcli_layout layout;
    int64_t uses;
    struct dcli_shared_layout *next;
} dcli_shared_layout;

enum { DCLI_MOST_SHAPES = 4 }; /* that are remembered of a storage, and plans for them */

/** A storage as this peer holds it. */
typedef struct dcli_held {
    int64_t id;
    dcli_shared_layout *shared;
    dcli_shared_layout *shape[DCLI_MOST_SHAPES]; /* other shapes of it that views have used; NULL: none */
    int next_shape;                              /* which of these is given up for another one */
    bool released;                               /* a RELEASE has been seen: no later operation may name it */
    dcli_memory *memory;                         /* this node's part; NULL: none here, or its allocation failed */
    dcli_memory **peer; /* [node_count] other nodes' parts as kernels here see them; NULL until first used */
    struct dcli_held *next;
} dcli_held;

/** A body, and its program on this node's device once it was needed. */
typedef struct dcli_kernel {
    int64_t number;
    dcli_body *body;
    bool shapes[DCLI_MAX_PARAMS]; /* scalars that stand in subscripts: the others do not matter to plans */
    dcli_program *program;   /* given back when it was not used for long and there are many: it is then built again */
    int64_t used;            /* the last operation that built or ran it here */
    dcl_status build_status; /* of the last attempt */
    char *build_problem;     /* sentence, when it failed */
    int64_t uses;            /* open operations that run it */
    bool forgotten;          /* no later operation may: it ends with the last of these */
    struct dcli_kernel *next;
} dcli_kernel;

/** Where the elements of a chunk lie on this node, from the second time on that it is packed here, or written. */
typedef struct dcli_packing {
    bool used, ready;
    dcli_copies_list list;
} dcli_packing;

/** What is prepared for a batch the first time it runs. */
typedef struct dcli_prepared {
    bool ready;
    dcli_lowered lowered;
    dcli_memory *
        *table; /* [lowered.launch_count] rows, or tables, as kernels read them; NULL: rows are passed by value */
} dcli_prepared;

/** A plan kept for operations of the same shape. */
typedef struct dcli_kept_plan {
    uint64_t hash;
    dcli_operation key;    /* what it was made for: shapes and the scalars below count, storages do not */
    const bool *shapes;    /* [operand_count] scalars that count; NULL: none */
    dcli_transform *views; /* that its operands point to */
    int64_t *numbers;      /* the same */
    dcli_kept_state state; /* copies there were of its operands */
    int node;
    dcli_plan *plan;
    dcli_prepared *prepared; /* [batch_count], own plans only; NULL until the first batch runs */
    dcli_packing *packing;   /* [chunk_count], others' plans only; NULL until the first chunk is packed or written */
    int64_t bytes;           /* of memory, of all of this */
    int64_t uses;            /* open operations that use it */
    int64_t last_use;
    struct dcli_kept_plan *next;
} dcli_kept_plan;

/** An open operation. */
typedef struct dcli_entry {
    dcli_operation operation;      /* first, so that the address of one is the address of the other */
    dcli_msg_operation descriptor; /* strings copied; operands not */
    dcli_kernel *kernel;
    dcli_held *held[DCLI_MAX_PARAMS];
    dcli_transform *views;       /* [view_count] that operands point to */
    dcli_shared_layout **shapes; /* [view_count] the same, where an array is seen in another shape; else NULL */
    int view_count;
    int64_t *numbers;      /* that operands point to, of what is declared; NULL: none */
    dcli_kept_plan **plan; /* [peers] */
    dcli_lent *lent;       /* host: READ, WRITE; else NULL */
    dcli_region region;    /* host: the box in that memory */
    char *problem;         /* sentence of a failure found here */
    struct dcli_entry *next;
} dcli_entry;

/** This node's memory of a kept copy: for operations from `from` on, below `until`. */
typedef struct dcli_copy_memory {
    int64_t storage;
    dcl_box box;
    int64_t from, until;
    dcli_memory *memory; /* NULL: none yet */
    bool filled;         /* all pieces are on their way into it, before whatever is started later */
    struct dcli_copy_memory *next;
} dcli_copy_memory;

enum { DCLI_COPY_BUCKETS = 1024 }; /* a node may have as many copies of an array */

typedef struct dcli_catalog {
    dcli_plan_terms terms;
    int self, peers;
    dcli_shared_layout *layouts;
    dcli_held *held[256];
    dcli_kernel *kernels[256];
    dcli_entry *first, *last;
    dcli_entry *spare; /* ended entries, kept for reuse */
    dcli_kept_plan *plans[256];
    int64_t plan_count, clock;
    int64_t plan_bytes, most_plan_bytes; /* of kept plans; beyond the second, those in use alone are kept */
    dcli_kept kept;        /* books of kept copies of all nodes, after the last operation that was added */
    dcli_kept_state asked; /* of the node whose plan is looked for; memory that is used again */
    dcli_copy_memory
        *copies[DCLI_COPY_BUCKETS];         /* that no operation drops which was added so far, by storage and box */
    dcli_copy_memory *ending, *last_ending; /* dropped ones that operations may still use, by rising `until` */
    /** Told what begins to be planned, and NULL at its end. NULL: nobody is. */
    void (*planning)(void *user, const char *what);
    void *planning_user;
    int64_t last_operation, last_created; /* numbers of the last operation and of the last storage that was made */
} dcli_catalog;

void dcli_catalog_init(dcli_catalog *catalog, int self, const dcli_plan_terms *terms);
/** Device memory and programs must have been released before by dcli_catalog_release_device(). */
void dcli_catalog_free(dcli_catalog *catalog);
void dcli_catalog_release_device(dcli_catalog *catalog);

dcli_held *dcli_catalog_held(const dcli_catalog *catalog, int64_t storage);
/** How long a node's part of it is. */
size_t dcli_held_bytes(const dcli_held *held, int node);
/** Release what kernels here used to see peers' parts. */
void dcli_held_forget_peers(const dcli_catalog *catalog, dcli_held *held);
void dcli_catalog_drop(dcli_catalog *catalog, dcli_held *held);
dcli_kernel *dcli_catalog_kernel(const dcli_catalog *catalog, int64_t number);
/** The kernel, another one than `but`, that has a program and was used longest ago; NULL: there is none. */
dcli_kernel *dcli_catalog_oldest_program(const dcli_catalog *catalog, const dcli_kernel *but);

/** Parse a body that came. @return DCL_OK, DCL_ERR_BODY, DCL_ERR_PROTOCOL (number taken), DCL_ERR_NOMEM. */
dcl_status dcli_catalog_add_kernel(dcli_catalog *catalog, const dcli_msg_kernel *message, dcli_kernel **kernel_out);
/** Forget the bodies that a message names, with their plans and programs; what is open may still use them. Numbers that are
 *  not known are passed over: the message is said again, or came to a newcomer. */
void dcli_catalog_forget_kernels(dcli_catalog *catalog, const dcli_msg_kernel *message);

/** Make an operation from its descriptor. @return DCL_OK; DCL_ERR_PROTOCOL for what a correct host does not send;
 *  DCL_ERR_NOMEM. */
dcl_status dcli_catalog_add(dcli_catalog *catalog, const dcli_msg_operation *descriptor, dcli_entry **entry_out);
/** Take note of a storage made before this node joined: a CREATE that is no operation here. */
dcl_status dcli_catalog_know(dcli_catalog *catalog, const dcli_msg_operation *descriptor);
/** Before an operation is planned: copies of older generations end. */
void dcli_catalog_begin_copies(dcli_catalog *catalog, const dcli_operation *operation);
/** Once an operation is planned for all that it concerns: enter the copies that nodes keep from now on.
 *  @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_catalog_enter_copies(dcli_catalog *catalog, dcli_entry *entry);
/** This node's copy of a box of an operand, for an open operation; NULL: there is none. */
dcli_copy_memory *dcli_catalog_copy(const dcli_catalog *catalog, const dcli_entry *entry, int operand,
                                    const dcl_box *box);
/** Memory of all copies. Cost: their number. */
size_t dcli_catalog_copy_bytes(const dcli_catalog *catalog);
/** Give back copies that no operation from `first_open` on uses. */
void dcli_catalog_free_copies(dcli_catalog *catalog, int64_t first_open);
/** Forget a retired operation. */
void dcli_catalog_retire(dcli_catalog *catalog, dcli_entry *entry);

/** The plan of an operation for a node, from the cache or made now; held until the operation is retired.
 *  @return NULL: DCL_ERR_NOMEM. */
dcli_kept_plan *dcli_catalog_plan(dcli_catalog *catalog, dcli_entry *entry, int node);

#endif
