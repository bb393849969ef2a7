/* device/opencl.h - shared by the files of this room: the device, its memory and programs, and OpenCL's errors.
 * Only functions of OpenCL 1.2 are used, so that all current drivers work. */
#ifndef DCLI_DEVICE_OPENCL_H
#define DCLI_DEVICE_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdatomic.h>

#include "device/device.h"

enum {
    DCLI_MOST_DEVICES = 256,
    DCLI_KEPT_EVENTS = 16,       /* most events of complete commands that are kept until the device rests */
    DCLI_MOST_MARKS = 256,       /* most events stored for a queue's incomplete commands */
    DCLI_POOL_REGIONS = 64,      /* most freed host mappings retained for reuse */
    DCLI_HUGE_BYTES = 2 << 20,   /* bytes of a huge page */
    DCLI_SLAB_BYTES = 32 << 20,  /* bytes of a slab: slab.c */
    DCLI_LARGE_BYTES = 64 << 20, /* mappings of at least this size are checked against free memory */
    DCLI_MOST_SPARE = 1024,      /* most buffers of freed device memory retained for reuse */
    DCLI_COPY_KERNELS = 10       /* number of kernels that copy and fill, for units of 1, 2, 4, 8 and 16 bytes */
};

/* ---- errors (cl_error.c) ------------------------------------------------------------------------------------- */

/** The name of an error code, "CL_OUT_OF_RESOURCES"; "an unknown code" if it is unknown. Static storage. */
const char *dcli_cl_name(cl_int code);
/** Record that `call` returned `code` on a device (NULL: none yet). Codes for exhausted memory become DCL_ERR_NOMEM,
 *  all others DCL_ERR_DEVICE. */
dcl_status dcli_cl_fail(const dcli_device *device, const char *call, cl_int code);
/** Check that PoCL's kernel cache can be written and that its disk is not almost full: PoCL cannot compile otherwise.
 *  @return DCL_OK or DCL_ERR_DEVICE. */
dcl_status dcli_cache_check(void);

/* ---- finding (enumerate.c) ----------------------------------------------------------------------------------- */

/** A device found on this host, before it is opened. */
typedef struct dcli_found {
    dcl_device_info info;
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    char driver[128], platform_version[128];
    bool has_bus, has_uuid; /* identification of the hardware, if the driver provides it */
    bool has_import;        /* it has the extension cl_khr_external_memory_opaque_fd */
    uint32_t bus[4];        /* domain, bus, device, function */
    unsigned char uuid[16];
    int same_name_before; /* number of devices of this platform with the same name before this one */
} dcli_found;

/** Find all devices, numbered, without duplicates from several platforms. @param found_out  [DCLI_MOST_DEVICES] */
dcl_status dcli_find_devices(dcli_found found_out[], int *count_out);
/** Whether two devices of different platforms are the same hardware. */
bool dcli_found_same(const dcli_found *a, const dcli_found *b);
/** Mark the devices that are used by default: all GPUs and accelerators; if there are none, the CPU devices of the
 *  first platform that has some. */
void dcli_mark_defaults(dcli_found found[], int count);

/* ---- the device ---------------------------------------------------------------------------------------------- */

typedef struct dcli_slab dcli_slab;

/** The command queues of a device, each in order. Only events order commands of different queues: see dcli_after.
 *  Devices that work in host memory have only the first queue. Packing and unpacking have separate queues, because a
 *  command that waits for another node must not delay one for which another node waits. */
typedef enum dcli_direction {
    DCLI_COMPUTE, /* kernels of programs, copies between memories, fills */
    DCLI_IN,      /* transfers from host memory */
    DCLI_OUT,     /* transfers to host memory */
    DCLI_PACK,    /* copies into the scratch memory of slots */
    DCLI_UNPACK,  /* copies out of the scratch memory of slots */
    DCLI_QUEUES
} dcli_direction;

/** Peer memory: one allocation, or several of equal length at consecutive addresses on the device. A kernel whose
 *  argument is the first buffer can access all of them; a copy command only the buffer that it names. */
typedef struct dcli_pieces {
    int count;
    size_t bytes;                /* bytes of each piece */
    cl_mem *buffer;              /* [count] */
    int *descriptor;             /* [count] for memory allocated by this device; -1: imported memory of other devices */
    uint64_t until[DCLI_QUEUES]; /* for released pieces: tickets of the last commands that may use them */
    struct dcli_pieces *next;    /* next in device->leaving */
} dcli_pieces;

/** Memory of another device that is imported here: see peer_import.c. */
typedef struct dcli_import dcli_import;

/** Host memory mapped for a device, or peer memory: memory of the device that other devices read. */
typedef struct dcli_mapping {
    void *host;          /* NULL: peer memory */
    dcli_pieces *pieces; /* NULL: host memory */
    size_t bytes;        /* 0: there is no mapping */
    int descriptor;      /* the memfd it maps, or of the first piece; -1: private memory */
    int64_t number;      /* number of that memfd or allocation on its device, never used twice; 0: private memory */
    size_t offset;       /* offset in the memory that the descriptor names */
    dcli_slab *slab;     /* the slab that it is a slot of; NULL: it has pages of its own */
} dcli_mapping;

/** The functions and numbers that a device needs to allocate and import peer memory. See peer.c. */
typedef struct dcli_peers {
    bool on;
    int gpu; /* number of the device in libcuda's numbering */
    /* clCreateBufferWithProperties, of OpenCL 3.0, and clEnqueueAcquireExternalMemObjectsKHR */
    cl_mem (*import)(cl_context, const uint64_t *, cl_mem_flags, size_t, void *, cl_int *);
    cl_int (*acquire)(cl_command_queue, cl_uint, const cl_mem *, cl_uint, const cl_event *, cl_event *);
} dcli_peers;

/** The event of a command. */
typedef struct dcli_mark {
    uint64_t ticket;
    cl_event event;
    const char *call; /* name of the OpenCL function that enqueued the command */
    int sum;          /* of measured times, to which that of the command is added; -1: none */
    bool told;        /* its begin and end are reported to timed_fn */
    int64_t added_ns; /* when the command was enqueued; 0: not known, because clocks need not be compared */
    void *noticed_by; /* `user` of the last dcli_device_notify() that asked for its end; NULL: there was none */
} dcli_mark;

/** When the device began and ended a launch, by its own clock, in ns. */
typedef struct dcli_launch_times {
    uint64_t ticket;
    int64_t begin_ns, end_ns;
} dcli_launch_times;
enum { DCLI_KEPT_TIMES = 32 };

typedef struct dcli_queue {
    cl_command_queue handle;
    uint64_t last, retired;           /* tickets: of the last command; of the last one known to be complete */
    dcli_mark marks[DCLI_MOST_MARKS]; /* a ring, in the order of tickets */
    int first_mark, mark_count;
    int unmarked;          /* commands since the last one with an event */
    int64_t unmarkable_ns; /* time since which no event could be made; 0: events can be made */
    bool unflushed;        /* commands were enqueued since the last flush */
    const char *last_call; /* name of the OpenCL function that enqueued the last command */
} dcli_queue;

/** A retained buffer: see spare.c. */
typedef struct dcli_spare {
    cl_mem buffer;
    size_t bytes;
    uint64_t used[DCLI_QUEUES]; /* tickets of the last commands that used it */
} dcli_spare;

typedef struct dcli_ring dcli_ring;
typedef struct dcli_registered dcli_registered;

/** How kernels of a device see host memory. */
typedef struct dcli_sight {
    bool in_place, same_addresses; /* whether in place; whether at the host's addresses, too */
} dcli_sight;

struct dcli_device {
    dcl_device_info info;
    char kind[400];
    bool is_gpu, shared; /* shared: opened with DCLI_OPEN_SHARED */
    dcli_sight sight;
    dcli_peers peers;
    bool beside;                       /* a CPU device that shares its platform with others */
    bool multiplies, asked_multiplies; /* of dcli_device_multiplies(): the answer, once it is known */
    const dcli_log *log;
    size_t most_bytes; /* largest size of one buffer */
    cl_device_id id;
    cl_context context;

    dcli_queue queue[DCLI_QUEUES];
    uint64_t launched;                        /* ticket of the last command of any queue */
    int measures;                             /* number of the sum to which the times of launches are added; -1: none */
    int64_t measured_ns[DCLI_MEASURES];       /* total times of the timed launches that are complete */
    bool keeps_times;                         /* the times of the last launches are kept: */
    dcli_launch_times times[DCLI_KEPT_TIMES]; /* a ring, in the order of tickets */
    int first_times, times_count;
    dcli_timed_fn *timed_fn; /* NULL: nobody is told the times of launches */
    void *timed_user;
    int64_t clock_offset_ns; /* least known upper bound of the host's clock minus the device's, at clock_compared_ns */
    int64_t clock_compared_ns; /* the host's time of the last comparison; 0: there was none */
    int64_t clock_ended_ns;    /* end of the command by which the clocks were last compared, by the device's clock */
    int comparisons_left;      /* number of launches by which the clocks are still to be compared */
    cl_int failure;            /* error code of the first failed command; 0: none */
    uint64_t failed_ticket;
    const char *failed_call; /* static storage */
    bool lost;               /* not even waiting succeeded: kernels may still run, so its memory is never freed */
    atomic_int notices;      /* notifications requested and not yet made */
    cl_event ended[DCLI_KEPT_EVENTS]; /* events of complete commands, to be released */
    int ended_count;

    uint64_t serial;      /* serial number of the last memory */
    dcli_pieces *leaving; /* released pieces that commands may still use */
    size_t leaving_bytes; /* bytes of those of them that this device has made */
    dcli_import *imports;
    size_t taken_bytes;
    cl_mem nothing; /* dummy buffer for memory of 0 bytes */
    dcli_mapping nothing_at;
    dcli_mapping pool[DCLI_POOL_REGIONS];
    int pool_count;
    size_t pool_bytes, most_pool_bytes;
    dcli_spare spare[DCLI_MOST_SPARE]; /* the oldest first */
    int spare_count;
    size_t spare_bytes;
    dcli_slab *slabs;  /* the oldest first */
    size_t slab_bytes; /* bytes of slabs that have pages and are not in use */
    int64_t memfds_made;
    unsigned shifted;           /* number of memories for which a shift was chosen */
    dcli_unmapped_fn *unmapped; /* NULL: nobody is told */
    void *unmapped_user;
    size_t unseen_bytes;         /* bytes of small mappings allowed until free memory is checked again */
    dcli_ring *ring;             /* the ring of slots, see slots.c; NULL on devices that work in host memory */
    dcli_registered *registered; /* [registered_count], see registered.c */
    int64_t registered_count, registered_capacity;
    size_t registered_bytes;
    bool registering_failed; /* a registration has failed, and was logged */

    dcli_program *programs;
    size_t program_bytes, most_program_bytes; /* estimated size of all programs, and its limit; more are kept only
                                                 while in use */
    uint64_t program_clock;
    dcli_program *copy_program;
};

struct dcli_memory {
    dcli_device *device;
    cl_mem buffer;
    uint64_t serial; /* unique, unlike addresses, which are reused */
    size_t bytes;
    size_t buffer_bytes;                              /* bytes of `buffer`, if only this memory uses it; 0: others
                                                         do, too */
    size_t base;                                      /* offset in the buffer; 0 except for slots */
    void *host;                                       /* NULL: not in place */
    size_t shift;                                     /* bytes of the mapping before `host` */
    dcli_import *import;                              /* the import that it is a part of, if it is peer memory of
                                                         another device; else NULL */
    bool in_slot;                                     /* scratch memory of a slot */
    dcli_pieces *pieces;                              /* the allocations that it consists of, if there are several;
                                                         else NULL */
    dcli_mapping mapping;                             /* memory mapped by this device; of 0 bytes: there is none, or
                                                         it belongs to somebody else */
    uint64_t used[DCLI_QUEUES], written[DCLI_QUEUES]; /* tickets of the last commands of each queue that use it, and
                                                         that write it */
};

/* ---- probing (probe.c) --------------------------------------------------------------------------------------- */

/** Probe whether kernels and the host see each other's writes to host memory. Cached per device of this process. */
dcl_status dcli_probe_sight(dcli_device *device, dcli_sight *sight_out);
/** For tests: forget the results of all probes. */
void dcli_probe_forget(void);

/* ---- host memory (pages.c, slab.c, pool.c) ------------------------------------------------------------------- */

/** The size of a mapping for that many bytes: whole pages; from 2 MB on, whole huge pages. */
size_t dcli_pages_round(size_t bytes);
/** Map zeroed pages, in huge pages where useful; on devices with peers.on, allocate peer memory instead, with undefined
 *  contents. @param bytes  from dcli_pages_round(). @param shared  in a memfd of their own. @return DCL_OK or
 *  DCL_ERR_NOMEM; for peer memory as dcli_peers_map(). */
dcl_status dcli_pages_map(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out);
/** Map memory whose pages are allocated later: private pages at their first write, those of a memfd by
 *  dcli_pages_back(). Never huge pages. Peer memory, as of dcli_pages_map(), is allocated at once. */
dcl_status dcli_pages_map_sparse(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out);
/** Allocate the pages of a range, if there is enough memory. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_pages_back(dcli_device *device, const dcli_mapping *mapping, size_t offset, size_t bytes);
void dcli_pages_unmap(dcli_device *device, const dcli_mapping *mapping);

/** Take a slot of a slab; slabs of 32 MB are made as needed. @param bytes  from dcli_pages_round(), less than a huge
 *  page. @param dirty_out  number of bytes at its start that may not be zero. @return DCL_OK or DCL_ERR_NOMEM. */
dcl_status dcli_slab_take(dcli_device *device, size_t bytes, bool shared, dcli_mapping *mapping_out, size_t *dirty_out);
void dcli_slab_give(dcli_device *device, const dcli_mapping *mapping);
/** Unmap a slab without slots in use. @return false: there is none. */
bool dcli_slab_drop_empty(dcli_device *device);
/** Return unused pages of slabs to the system. */
void dcli_slabs_trim(dcli_device *device);
void dcli_slabs_close(dcli_device *device);

/* ---- peer memory (peer.c) ------------------------------------------------------------------------------------ */

/** Get a buffer for a part of another one; for offset 0 the other one itself, retained. */
dcl_status dcli_buffer_cut(dcli_device *device, cl_mem whole, size_t offset, size_t bytes, cl_mem *buffer_out);
/** Fill contiguous bytes of device memory by a pattern, in order with launches. @param at  byte offset in the memory's
 *  buffer. */
dcl_status dcli_memory_fill(dcli_memory *memory, size_t at, const void *pattern, size_t pattern_bytes, size_t bytes);
/** Set device->peers.on if this device can make and read memory of every GPU of the host, which is tried here.
 *  Otherwise it stays off, and the reason is logged, unless the device is the only GPU, works in host memory, or its
 *  driver lacks the extensions. Clears this thread's error. */
void dcli_peers_open(dcli_device *device, const dcli_found *found);
/** Allocate peer memory with undefined contents. @param bytes  of dcli_pages_round(), a multiple of a huge page.
 *  @return DCL_OK; DCL_ERR_NOMEM, DCL_ERR_UNSUPPORTED, DCL_ERR_DEVICE. */
dcl_status dcli_peers_map(dcli_device *device, size_t bytes, dcli_mapping *mapping_out);
void dcli_peers_unmap(dcli_device *device, const dcli_mapping *mapping);

/** Make a record of pieces that are to be imported. @return NULL: DCL_ERR_NOMEM, which is recorded. */
dcli_pieces *dcli_pieces_new(int count, size_t bytes);
/** Import pieces so that their addresses follow each other. @param descriptors  [pieces->count], borrowed. */
dcl_status dcli_pieces_import(dcli_device *device, const int descriptors[], dcli_pieces *pieces);
/** Import one piece. @param descriptor  borrowed. */
dcl_status dcli_piece_import(dcli_device *device, int descriptor, size_t bytes, cl_mem *buffer_out);
/** Free a record of pieces: release their buffers and close their descriptors. Commands that use them must have ended:
 *  otherwise call dcli_pieces_leave(). NULL is accepted. */
void dcli_pieces_free(dcli_pieces *pieces);
/** Free pieces when the commands queued so far have ended. The driver itself retains only the first piece while a
 *  command uses the memory. */
void dcli_pieces_leave(dcli_device *device, dcli_pieces *pieces);
/** Free released pieces that no command uses any more. @param wait  wait until none is used. */
void dcli_pieces_collect(dcli_device *device, bool wait);

/** End a memory's use of an import. */
void dcli_import_give(dcli_device *device, dcli_import *import);
void dcli_imports_close(dcli_device *device);
/** For tests: larger memory than this consists of several pieces. A multiple of DCLI_HUGE_BYTES. */
extern size_t dcli_most_piece_bytes;

/** Get the buffer that contains offset *at of a memory. @param at  in: offset in the memory; out: in the buffer. @param
 *  bytes  in: length of a range that begins there; out: length of its part in this buffer. */
static inline cl_mem dcli_memory_buffer_at(const dcli_memory *memory, size_t *at, size_t *bytes)
{
    const dcli_pieces *pieces = memory->pieces;
    if (pieces == NULL)
        return memory->buffer;
    size_t piece = *at / pieces->bytes;
    *at -= piece * pieces->bytes;
    if (*bytes > pieces->bytes - *at)
        *bytes = pieces->bytes - *at;
    return pieces->buffer[piece];
}

typedef enum dcli_mapping_flags {
    DCLI_MAPPING_ZEROED = 1, /* otherwise the contents are undefined; host memory only */
    DCLI_MAPPING_SHARED = 2  /* host memory: its pages are in a memfd, which other processes can map; or peer memory */
} dcli_mapping_flags;
/** Take host memory or, on devices with memory of their own, peer memory. Retained mappings are reused if they fit. */
dcl_status dcli_mapping_take(dcli_device *device, size_t bytes, int flags, dcli_mapping *mapping_out);
/** Return a mapping that is no longer used. If the device is lost, it stays mapped until the process ends. */
void dcli_mapping_give(dcli_device *device, dcli_mapping *mapping);
/** Return all retained memory to the system. */
void dcli_pool_empty(dcli_device *device);
/** Bytes retained: freed mappings, and what slabs contain beside slots in use. */
size_t dcli_pool_bytes(const dcli_device *device);

/* ---- device memory (spare.c) --------------------------------------------------------------------------------- */

/** Take a buffer of at least that many bytes, with undefined contents; a retained one if it fits and no command uses
 *  it. @param size_out  bytes of the buffer. @return DCL_OK, DCL_ERR_NOMEM or DCL_ERR_DEVICE. */
dcl_status dcli_spare_take(dcli_device *device, size_t bytes, cl_mem *buffer_out, size_t *size_out);
/** Return a buffer. @param size  from dcli_spare_take(). @param used  tickets of the last commands that use it; they may
 *  still run. */
void dcli_spare_give(dcli_device *device, cl_mem buffer, size_t size, const uint64_t used[DCLI_QUEUES]);
/** Free all retained buffers. Drivers may wait for running commands. */
void dcli_spare_empty(dcli_device *device);

/* ---- launches (launch.c) ----------------------------------------------------------------------------------------- */

/** dcli_device_launch() in one of the queues. */
dcl_status dcli_launch_in(dcli_device *device, dcli_direction direction, dcli_program *program, int kernel, int count,
                          const dcli_argument arguments[], int dimensions, const size_t global[], const size_t local[],
                          uint64_t *ticket_out);

/* ---- tickets (ticket.c) -------------------------------------------------------------------------------------- */

/** Record a command that was just enqueued by `call` (static storage), with its event (NULL: none). @return its
 *  ticket. */
uint64_t dcli_ticket_add(dcli_device *device, dcli_direction direction, const char *call, cl_event event);
/** Whether a command should have an event. Only small launches on GPUs may have none, because there an event costs a third
 *  of the launch. @param items  work-items of a launch. */
bool dcli_ticket_wants_event(const dcli_device *device, dcli_direction direction, size_t items);
/** Wait for all commands, and up to 1 s for requested callbacks, and drop all events. @return false if a callback does
 *  not come: it may still use the device. */
bool dcli_ticket_end(dcli_device *device);
/** Release the events of complete commands. */
void dcli_ended_release(dcli_device *device);

/** Record that a command uses a memory. */
static inline void dcli_memory_touch(dcli_memory *memory, dcli_direction direction, uint64_t ticket, bool written)
{
    memory->used[direction] = ticket;
    if (written)
        memory->written[direction] = ticket;
}

/** Whether all commands of a queue are known to be complete. */
static inline bool dcli_queue_is_idle(const dcli_queue *queue) { return queue->retired == queue->last; }

/** The commands of each queue that a new command must follow. Start with {0}. */
typedef struct dcli_after {
    uint64_t ticket[DCLI_QUEUES];
    cl_event event[DCLI_QUEUES]; /* [count] the wait list, once computed */
    cl_uint count;
} dcli_after;

/** Add a memory that the new command uses: readers follow writers, writers follow all users. */
static inline void dcli_after_add(dcli_after *after, const dcli_memory *memory, bool written)
{
    const uint64_t *ticket = written ? memory->used : memory->written;
    for (int n = 0; n < DCLI_QUEUES; n++)
        if (after->ticket[n] < ticket[n])
            after->ticket[n] = ticket[n];
}

/** Compute the wait list of a command of this queue, which follows its own queue in any case. Valid until the next
 *  command. */
dcl_status dcli_after_find(dcli_device *device, dcli_direction direction, dcli_after *after);
static inline const cl_event *dcli_after_list(const dcli_after *after)
{
    return after->count > 0 ? after->event : NULL;
}

/** Wait for the commands of each queue up to these tickets. */
dcl_status dcli_tickets_finish(dcli_device *device, const uint64_t ticket[DCLI_QUEUES]);
/** Whether these commands are complete; asks the driver, does not wait. @param status_out  their result. */
bool dcli_tickets_are_complete(dcli_device *device, const uint64_t ticket[DCLI_QUEUES], dcl_status *status_out);

/* ---- slots (slots.c) ----------------------------------------------------------------------------------------- */

struct dcli_slot {
    dcli_ring *ring;
    dcli_slot *next; /* next in the list of returned slots */
    bool lent;       /* held by another thread than the serving one; any thread may return it */
    bool pinned;     /* its host memory is in the ring */
    char *host;
    void (*end)(void *host); /* takes back host memory of the caller; NULL: it is the slot's own */
    dcli_memory memory;      /* scratch memory of the device; its tickets are those of all commands that use the slot */
    dcli_memory *own;        /* NULL: its scratch memory is in the ring; else its own memory */
};

/** Make the slots of a device. @param lends  see DCLI_OPEN_LENDS. */
dcl_status dcli_ring_open(dcli_device *device, bool lends);
/** Free the ring; all commands are complete. Lent slots retain their host memory until they are returned. */
void dcli_ring_free(dcli_device *device);

/* ---- registered memory (registered.c) ------------------------------------------------------------------------ */

/** Record that a command uses memory at this address, so that it is not unregistered too early. The memory need not be
 *  registered. */
void dcli_registered_touch(dcli_device *device, const void *host, dcli_direction direction, uint64_t ticket);
/** Unregister all memory; all commands are complete. */
void dcli_registered_free(dcli_device *device);

/** Free all programs in the device's cache. */
void dcli_programs_free(dcli_device *device);

#endif
