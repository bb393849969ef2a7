/* worker/storage_table.h - the storages that a peer knows from descriptors, and their layouts. Used by the thread of
 * its peer. */
#ifndef DCLI_WORKER_STORAGE_TABLE_H
#define DCLI_WORKER_STORAGE_TABLE_H

#include "device/device.h"
#include "net/message.h"
#include "worker/layouts.h"

/** A layout shared by storages of this peer. */
typedef struct dcli_shared_layout {
    const dcli_layout *layout; /* it counts as a use in dcli_layouts */
    int64_t uses;              /* uses by storages, their reshaped views, and open operations */
    int64_t unused_since;      /* clock value of dcli_storage_table when its last use ended */
    struct dcli_shared_layout *next;
} dcli_shared_layout;

enum {
    DCLI_MOST_SHAPES = 4,        /* most reshaped layouts of a storage that are cached, with plans for them */
    DCLI_MOST_UNUSED_LAYOUTS = 8 /* most unused layouts that are cached, with plans for them */
};

/** A storage as this peer knows it. */
typedef struct dcli_known_storage {
    int64_t id;
    dcli_shared_layout *shared;
    dcli_shared_layout *shape[DCLI_MOST_SHAPES]; /* reshaped layouts that views have used; NULL: none */
    int next_shape;                              /* index of the one that is replaced next */
    bool released;                               /* a RELEASE was received: no later operation may name it */
    bool unset;          /* the next operation overwrites all of it, so its memory need not be zeroed */
    dcli_memory *memory; /* this node's part; NULL: none here, not allocated yet, or released */
    dcli_memory **peer;  /* [node_count] other nodes' parts as memory objects for kernels; NULL until first used */
    struct dcli_known_storage *next;
} dcli_known_storage;

/** Called before an unused layout is removed here, while it can still be read. */
typedef void dcli_layout_ends_fn(void *user, const dcli_layout *layout);

typedef struct dcli_storage_table {
    int node_count;
    dcli_layouts *common;
    dcli_shared_layout *layouts;
    int64_t unused_count, clock; /* number of unused layouts; how often a layout has become unused */
    dcli_known_storage *held[256];
    int64_t last_created; /* number of the last storage created */
    dcli_layout_ends_fn *layout_ends;
    void *user;
} dcli_storage_table;

void dcli_storage_table_init(dcli_storage_table *storage_table, int node_count, dcli_layouts *common,
                             dcli_layout_ends_fn *layout_ends, void *user);
/** Free; memory of the device was released before. */
void dcli_storage_table_free(dcli_storage_table *storage_table);
void dcli_storage_table_release_device(dcli_storage_table *storage_table);

/** Find a storage by its number; NULL: there is none. */
dcli_known_storage *dcli_storage_table_find(const dcli_storage_table *storage_table, int64_t storage);
/** Create the storage that a CREATE describes, without memory. @return DCL_OK; DCL_ERR_PROTOCOL (it exists, or its map
 *  has too many nodes); DCL_ERR_INVALID (grid, map); DCL_ERR_NOMEM. */
dcl_status dcli_storage_table_create(dcli_storage_table *storage_table, const dcli_msg_operation *descriptor);
/** Free all cached layouts that nothing uses, with the plans for them. */
void dcli_storage_table_trim(dcli_storage_table *storage_table);
/** Remove a storage. The caller has released its memory; the memory objects for peers' parts are released here. */
void dcli_storage_table_drop(dcli_storage_table *storage_table, dcli_known_storage *held);
/** Get the layout of a storage in another shape; end its use with dcli_storage_table_end_layout(). @return DCL_OK;
 *  DCL_ERR_INVALID, DCL_ERR_UNSUPPORTED (elements would have to move); DCL_ERR_NOMEM. */
dcl_status dcli_storage_table_shape(dcli_storage_table *storage_table, dcli_known_storage *held,
                                    const dcli_msg_view *view, dcli_shared_layout **shape_out);
/** End a use of a layout. Some unused layouts are retained with their plans, for arrays that are remapped back and
 *  forth. */
void dcli_storage_table_end_layout(dcli_storage_table *storage_table, dcli_shared_layout *shared);

/** Size of a node's part, in bytes. */
size_t dcli_known_storage_bytes(const dcli_known_storage *held, int node);

#endif
