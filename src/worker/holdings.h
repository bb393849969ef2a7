/* worker/holdings.h - the storages that a peer knows from descriptors, and their layouts. Used by the thread of its peer. */
#ifndef DCLI_WORKER_HOLDINGS_H
#define DCLI_WORKER_HOLDINGS_H

#include "device/device.h"
#include "net/message.h"
#include "worker/layouts.h"

/** A layout that storages of this peer share. */
typedef struct dcli_shared_layout {
    const dcli_layout *layout; /* with a use in dcli_layouts */
    int64_t uses;              /* storages, shapes of these, and open operations */
    int64_t unused_since;      /* by the clock of dcli_holdings, while there are no uses */
    struct dcli_shared_layout *next;
} dcli_shared_layout;

enum {
    DCLI_MOST_SHAPES = 4,        /* that are remembered of a storage, and plans for them */
    DCLI_MOST_UNUSED_LAYOUTS = 8 /* that are kept, with plans for them, in case they are used again */
};

/** A storage as this peer holds it. */
typedef struct dcli_held {
    int64_t id;
    dcli_shared_layout *shared;
    dcli_shared_layout *shape[DCLI_MOST_SHAPES]; /* other shapes of it that views have used; NULL: none */
    int next_shape;                              /* which of these is given up for another one */
    bool released;                               /* a RELEASE has been seen: no later operation may name it */
    bool unset;          /* the next operation on it overwrites all of it: its memory need not be zeroed */
    dcli_memory *memory; /* this node's part; NULL: none here, or its allocation failed */
    dcli_memory **peer;  /* [node_count] other nodes' parts as kernels here see them; NULL until first used */
    struct dcli_held *next;
} dcli_held;

/** Called before the last use of a layout by this peer ends. */
typedef void dcli_layout_ends_fn(void *user, const dcli_layout *layout);

typedef struct dcli_holdings {
    int node_count;
    dcli_layouts *common;
    dcli_shared_layout *layouts;
    int64_t unused_count, clock; /* of these layouts; grows with every one that has no use any more */
    dcli_held *held[256];
    int64_t last_created; /* number of the last storage that was made */
    dcli_layout_ends_fn *layout_ends;
    void *user;
} dcli_holdings;

void dcli_holdings_init(dcli_holdings *holdings, int node_count, dcli_layouts *common, dcli_layout_ends_fn *layout_ends,
                        void *user);
/** Memory of the device has been released before. */
void dcli_holdings_free(dcli_holdings *holdings);
void dcli_holdings_release_device(dcli_holdings *holdings);

/** A storage by its number; NULL: there is none. */
dcli_held *dcli_holdings_find(const dcli_holdings *holdings, int64_t storage);
/** Make the storage that a CREATE describes, without memory. @return DCL_OK; DCL_ERR_PROTOCOL, DCL_ERR_NOMEM. */
dcl_status dcli_holdings_create(dcli_holdings *holdings, const dcli_msg_operation *descriptor);
/** End the layouts that have no use. */
void dcli_holdings_trim(dcli_holdings *holdings);
/** Forget a storage. Its memory is the caller's. */
void dcli_holdings_drop(dcli_holdings *holdings, dcli_held *held);
/** The layout of a storage's elements in another shape, to be ended with dcli_holdings_end_shape(). */
dcl_status dcli_holdings_shape(dcli_holdings *holdings, dcli_held *held, const dcli_msg_view *view,
                               dcli_shared_layout **shape_out);
void dcli_holdings_end_shape(dcli_holdings *holdings, dcli_shared_layout *shape);

/** How long a node's part of it is. */
size_t dcli_held_bytes(const dcli_held *held, int node);

#endif
