/* device/device.h - one OpenCL device: finding, opening, memory, programs, launches. The only room, besides icd and
 * remote, that uses OpenCL.
 * Threads: a device and its objects are used by one thread at a time (the worker that serves it). */
#ifndef DCLI_DEVICE_DEVICE_H
#define DCLI_DEVICE_DEVICE_H

#include <dcl/cluster.h>

#include "base/log.h"
#include "segment/product.h"

typedef struct dcli_device dcli_device;
typedef struct dcli_memory dcli_memory;
typedef struct dcli_program dcli_program;
typedef struct dcli_slot dcli_slot;
typedef void dcli_unmapped_fn(void *user, int64_t memfd);

/** List devices in the order of their numbers: platform order, then device order. A device that two platforms offer
 *  counts once; two devices of one platform always count as two. Parameters as dcl_device_list(). */
dcl_status dcli_device_enumerate(int capacity, dcl_device_info info_out[], int *count_out);
/** Describe one device. @param platform_out, id_out  its cl_platform_id and cl_device_id. @return DCL_OK, DCL_ERR_DEVICE
 *  (there is no device of this number). */
dcl_status dcli_device_identify(int number, dcl_device_info *info_out, void **platform_out, void **id_out);
/** Find the numbers of the devices that a selection names (grammar: dcl_open()); NULL: the default.
 *  @param numbers_out  [capacity]. @param count_out  how many are named, at least 1, perhaps more than `capacity`.
 *  @return DCL_OK; DCL_ERR_DEVICE: there is none on this host, with the remedy; DCL_ERR_INVALID: the selection names
 *          none, or is malformed; DCL_ERR_NOMEM. */
dcl_status dcli_device_select(const char *selection, int capacity, int numbers_out[], int *count_out);

/** Open device `number`, with a context and in-order queues of its own. */
dcl_status dcli_device_open(int number, const dcli_log *log, dcli_device **device_out);
/** Options for opening a device; the first two are for tests. */
typedef enum dcli_open_flags {
    DCLI_OPEN_SEPARATE = 1, /* use memory of the device and copies, even if it could work in host memory */
    DCLI_OPEN_AS_GPU = 2,   /* use kernels in the form for GPUs */
    DCLI_OPEN_SHARED = 4,   /* allocate memory that other processes can map: see dcli_memory_place_of() */
    DCLI_OPEN_PEERS = 8,    /* if possible, allocate memory that other GPUs can import: see dcli_device_reads_peers() */
    DCLI_OPEN_LENDS = 16    /* make room for many slots, as other nodes of this process read what it sends in them */
} dcli_open_flags;
dcl_status dcli_device_open_as(int number, const dcli_log *log, int flags, dcli_device **device_out);
/** Close a device; its memory and programs must be released. Waits for launches. NULL is accepted. */
void dcli_device_close(dcli_device *device);
/** The description of a device; valid until it is closed. */
const dcl_device_info *dcli_device_about(const dcli_device *device);
/** Whether kernels have the form for GPUs (a work-item per index) instead of that for CPUs. */
bool dcli_device_is_gpu(const dcli_device *device);
/** Whether the device works in host memory, which is probed when it is opened (CL_MEM_USE_HOST_PTR, the host sees
 *  writes of kernels). Then all its memory has a host address. */
bool dcli_device_in_place(const dcli_device *device);
/** Whether the device works in host memory, and its kernels see it at the host's addresses. */
bool dcli_device_same_addresses(const dcli_device *device);
/** Whether this device and the other GPUs of the host can import each other's memory. Then dcli_memory_place_of()
 *  returns places for dcli_memory_import(). */
bool dcli_device_reads_peers(const dcli_device *device);
/** Make dcli_device_reads_peers() false from now on. Call it before any memory of arrays is allocated. */
void dcli_device_forgo_peers(dcli_device *device);
/** The kind of a device: its name, driver and platform version as one text. Of the nodes with devices of one kind, only
 *  the first compiles a new body before the call returns; the others compile it when they first need it. */
const char *dcli_device_kind(const dcli_device *device);

enum { DCLI_MEMORY_ALIGN = 4096, DCLI_MEMORY_SHIFT = 1024 };
/** Allocate zeroed memory, in huge pages where useful. Host memory begins at a page (DCLI_MEMORY_ALIGN), or a multiple of
 *  DCLI_MEMORY_SHIFT bytes after its beginning. bytes may be 0. */
dcl_status dcli_memory_create(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** Allocate memory with undefined contents, which is overwritten before it is read. */
dcl_status dcli_memory_create_unset(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** Allocate zeroed memory that no other process can map; it needs no descriptor. */
dcl_status dcli_memory_create_private(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** Allocate memory with undefined contents that no other process can map. */
dcl_status dcli_memory_scratch(dcli_device *device, size_t bytes, dcli_memory **memory_out);
/** Bytes allocated on this device, in whole mappings and buffers, without wrapped memory. */
size_t dcli_device_taken_bytes(const dcli_device *device);
/** Bytes of freed mappings and buffers that are retained for reuse, or until no command uses them. */
size_t dcli_device_spare_bytes(const dcli_device *device);
/** Release the events of complete commands, and free retained buffers beyond the limit of an idle device, unless commands run. */
void dcli_device_rest(dcli_device *device);
/** Free what dcli_device_spare_bytes() counts. Waits for the commands that use them. */
void dcli_device_drop_spare(dcli_device *device);
/** Use host memory of the caller in place (only if the device works in host memory); it must outlive the object. */
dcl_status dcli_memory_wrap(dcli_device *device, void *host, size_t bytes, dcli_memory **memory_out);
/** Release memory. If it is in host memory, waits for launches that use it. NULL is accepted. */
void dcli_memory_release(dcli_memory *memory);
/** The host address of memory; NULL if the device does not work in host memory. Not synchronized: see
 *  dcli_memory_settle(). */
void *dcli_memory_host(const dcli_memory *memory);
/** Size of a memory, as asked for. */
size_t dcli_memory_bytes(const dcli_memory *memory);
/** The place of a memory, by which others access it: a range of bytes in a memfd, or in peer memory. Other processes
 *  map the memfd (PROT_READ, MAP_SHARED); other GPUs import the peer memory. The size of a memfd never changes and, if
 *  the system supports it (Linux 5.1), nobody else can map it for writing. Several memories may lie in one memfd. When
 *  they are released, the memfd is used for others; its pages exist as long as somebody maps them. */
typedef struct dcli_memory_place {
    int64_t memfd;  /* unique number of the memfd on this device, 1 or more */
    int descriptor; /* descriptor of the memfd or peer memory: borrowed, close-on-exec */
    size_t offset;  /* in bytes */
    int owner;      /* peer memory: the number that its readers give to the node that owns it */
    void *host;     /* address in this process, set by the caller before the place is passed on; NULL: peer memory */
    /* Peer memory: its pieces (one or several allocations), which are numbered from `memfd` on; otherwise 0 and NULL. */
    int piece_count;
    size_t piece_bytes;
    const int *descriptors; /* [piece_count] descriptors of the pieces, borrowed */
} dcli_memory_place;
/** Get the place of a memory. @return false if it has none: memory of 0 bytes, private, scratch, wrapped or imported
 *  memory; memory of devices that work in host memory without DCLI_OPEN_SHARED; memory of other devices if
 *  dcli_device_reads_peers() is false. */
bool dcli_memory_place_of(const dcli_memory *memory, dcli_memory_place *place_out);
/** Import memory of another GPU, so that kernels of this device read it over the link between the two GPUs. The object
 *  keeps that memory allocated, even if its owner frees it meanwhile. Commands of the two devices are not ordered with
 *  each other. All pieces are imported once for all places in them, and stay imported until dcli_device_end_imports()
 *  was called and the last such object was released.
 *  @param place  of the other device; the descriptors are borrowed.
 *  @return DCL_OK, DCL_ERR_NOMEM, DCL_ERR_DEVICE, DCL_ERR_UNSUPPORTED; DCL_ERR_PROTOCOL: the place does not lie in the
 *          memory that was imported with this number. */
dcl_status dcli_memory_import(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                              dcli_memory **memory_out);
/** End the import of memory that the other device has freed. If objects still use it, it ends with the last of them.
 *  @param number  number of its first allocation; 0: all memory of this owner. */
void dcli_device_end_imports(dcli_device *device, int owner, int64_t number);
/** Whether a memory was imported from this place. The descriptor is not compared: numbers are never used twice. */
bool dcli_memory_is_import(const dcli_memory *memory, const dcli_memory_place *place);
/** Call `fn` before a memfd is unmapped here and its descriptor closed, which happens some time after the last memory
 *  in it was released, and for each piece of peer memory before it is freed. fn NULL: stop. */
void dcli_device_on_unmap(dcli_device *device, dcli_unmapped_fn *fn, void *user);
/** Wait until launched kernels that write the memory (for_writing: that use it at all) are complete, so that the host
 *  may access it. */
dcl_status dcli_memory_settle(dcli_memory *memory, bool for_writing);
/** Whether dcli_memory_settle() would return at once. Asks the driver; does not wait. */
bool dcli_memory_is_settled(dcli_memory *memory, bool for_writing);

/** Copy between host and memory, on any device, in order with launches. If the device works in host memory, the calls
 *  wait for launches that use the memory, and are complete when they return. Otherwise put() has taken the host's bytes
 *  when it returns, and does not wait; get() waits. */
dcl_status dcli_memory_put(dcli_memory *memory, size_t offset_bytes, const void *host, size_t bytes);
dcl_status dcli_memory_get(dcli_memory *memory, size_t offset_bytes, void *host, size_t bytes);

/* Slots, for devices with memory of their own: a slot is pinned host memory, which the device copies fast, and scratch
 * memory of the device of equal size. Transfers between host and device, and copies from and to scratch memory, run in
 * queues of their own, concurrently with kernels that do not use the same memory. */

/** Take a slot of at least 1 byte. Never waits: if the ring of slots is full, the slot gets ordinary memory. */
dcl_status dcli_slot_take(dcli_device *device, size_t bytes, dcli_slot **slot_out);
/** Take a slot whose host memory is the caller's, preferably registered: see dcli_device_register(). `end` gets it back
 *  when the slot has been returned and its commands are complete. @param host  NULL: the slot needs none, because it is
 *  only for dcli_slot_send_from(). @return not DCL_OK: the memory stays the caller's. */
dcl_status dcli_slot_take_over(dcli_device *device, void *host, size_t bytes, void (*end)(void *host),
                               dcli_slot **slot_out);
/** Take the caller's memory out of a slot whose commands are complete; `end` will not be called. The slot must still be
 *  returned. @return NULL: it has no memory of the caller, or its commands are not complete. NULL is accepted. */
void *dcli_slot_leave(dcli_slot *slot);
/** Return a slot, even while commands use it: it becomes free when they are complete. A lent slot may be returned by
 *  any thread, also after the device was closed. NULL is accepted. */
void dcli_slot_give(dcli_slot *slot);
/** The host memory of a slot; NULL: it has none. */
void *dcli_slot_host(const dcli_slot *slot);
/** The scratch memory of a slot. Not released by the caller. */
dcli_memory *dcli_slot_memory(dcli_slot *slot);
/** Start copying the first `bytes` of the slot's host memory to memory of the device (which may be the slot's). In
 *  order with launches, copies and fills that use that memory. */
dcl_status dcli_slot_send(dcli_slot *slot, dcli_memory *target, size_t offset_bytes, size_t bytes);
/** Rows of equal length, in a memory and in host memory: on each side the position of the first one and the distance to
 *  the next, in bytes. */
typedef struct dcli_crossing_rows {
    size_t rows, row_bytes, memory_at, memory_pitch, host_at, host_pitch;
} dcli_crossing_rows;
/** Whether such rows can cross between a memory and the host in one command, without scratch memory. */
bool dcli_slot_takes_rows(const dcli_memory *memory, const dcli_crossing_rows *crossing);
/** Start copying rows from host memory, such as the slot's, to a memory. For dcli_slot_takes_rows() only. */
dcl_status dcli_slot_send_rows(dcli_slot *slot, const void *host, dcli_memory *target,
                               const dcli_crossing_rows *crossing);
/** Start copying rows from a memory to the slot. For dcli_slot_takes_rows() only. */
dcl_status dcli_slot_fetch_rows(dcli_slot *slot, dcli_memory *source, const dcli_crossing_rows *crossing);
/** As dcli_slot_send(), but from other host memory, such as a slot of another device: it must not change until the slot
 *  is complete. */
dcl_status dcli_slot_send_from(dcli_slot *slot, const void *host, dcli_memory *target, size_t offset_bytes,
                               size_t bytes);
/** The other direction of dcli_slot_send(): from a memory to the slot's host memory. */
dcl_status dcli_slot_fetch(dcli_slot *slot, dcli_memory *source, size_t offset_bytes, size_t bytes);
/** Whether all commands that use the slot are complete; *status_out then tells their result. Asks the driver; does not
 *  wait. */
bool dcli_slot_is_complete(dcli_slot *slot, dcl_status *status_out);
/** Wait until all commands that use the slot are complete. @return their result. */
dcl_status dcli_slot_finish(dcli_slot *slot);
/** Whether less than 8 MB of the ring's pinned or scratch memory are free, so that nothing that needs slots should be
 *  started. False if no command runs and no slot is held, apart from lent ones. Frees returned slots whose commands are
 *  complete. */
bool dcli_slots_are_short(dcli_device *device);
/** Wait for the commands of returned slots until dcli_slots_are_short() is false. It stays true if slots that are held
 *  are the cause. */
void dcli_slots_await(dcli_device *device);

/* Slots are lent to other threads of the process: at most three quarters of the ring, so that the serving thread never
 * depends on them. */

/** Take a slot for another thread, which fills its host memory and passes the slot on. From any thread. @return NULL:
 *  too much is lent, or the ring has no room; then no error is recorded. */
dcli_slot *dcli_slot_borrow(dcli_device *device, size_t bytes);
/** Lend a slot that the serving thread has taken; all commands that use it are complete. @return false: too much is
 *  lent already, or the slot has no pinned memory. */
bool dcli_slot_lend(dcli_slot *slot);
/** The slot of this device whose pinned host memory contains this address; NULL: there is none. */
dcli_slot *dcli_slot_at(dcli_device *device, const void *host);

/** Register host memory, so that this device copies between it and its own memory at the speed of slots: see
 *  dcli_slot_send_from() and dcli_slot_take_over(). It must be mapped for writing and begin at a page. Registering the
 *  same memory again is free; the first time takes 50 us per MB.
 *  @param most_bytes  limit of all registered memory. @return false: it is not registered, because the limit is reached
 *                     or the driver refuses, which the log says once. */
bool dcli_device_register(dcli_device *device, void *host, size_t bytes, size_t most_bytes);
/** End the registration before the memory is unmapped; waits for transfers that use it. Memory that is not registered
 *  is accepted.
 *  @return false: the device is lost and may still use the memory, so it must stay mapped. */
bool dcli_device_unregister(dcli_device *device, const void *host);

/** Start a strided copy between two memories of one device, carried out by the device (also works if it uses host
 *  memory): element t (per axis below count) from source[source_offset + sum t*source_step] to target[...]; in
 *  elements. In order with launches.
 *  @param element_bytes 1, 2, 4 or 8. */
dcl_status dcli_device_copy(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], dcli_memory *source, int64_t source_offset,
                            const int64_t source_step[], int rank, const int64_t count[], size_t element_bytes);
/** Start filling strided elements with one element. */
dcl_status dcli_device_fill(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], const void *element, int rank, const int64_t count[],
                            size_t element_bytes);

/** Compile a program. Programs are cached per device by source: building the same source again returns another
 *  reference to the same program.
 *  @param kernels    [kernel_count] names, by the numbers that launches give; NULL: the program has no kernel of this
 *                    number.
 *  @param fresh_out  whether it was compiled now (not found in this device's cache); may be NULL.
 *  @param log_out    on DCL_ERR_BODY the compiler's log, freed with dcli_free(), or NULL if there is none; else NULL.
 *  @return DCL_OK, DCL_ERR_BODY (the source does not compile), DCL_ERR_DEVICE, DCL_ERR_NOMEM. */
dcl_status dcli_program_build(dcli_device *device, const char *source, int kernel_count, const char *const kernels[],
                              dcli_program **program_out, bool *fresh_out, char **log_out);
/** dcli_program_build() for a program whose launches differ in size. PoCL 5.0 generates the code of a kernel again for
 *  a larger launch, but counts its uses by text and work-group size only. If two CPU devices of a process launch one
 *  text in different sizes at the same time, it aborts (pocl_release_dlhandle_cache: ref_count > 0). So CPU devices
 *  that share a platform with others get a text of their own here. */
dcl_status dcli_program_build_own(dcli_device *device, const char *source, int kernel_count,
                                  const char *const kernels[], dcli_program **program_out, bool *fresh_out,
                                  char **log_out);
/** Whether a program has a kernel of this number. */
bool dcli_program_has(const dcli_program *program, int kernel);
void dcli_program_release(dcli_program *program);

/** A program that is being compiled while the device goes on working. */
typedef struct dcli_compiling dcli_compiling;
/** Begin to compile a program in a thread of its own, and to launch its first `launched` kernels there once each, with a
 *  work-item and zeros as arguments, so that no later launch of these has to generate code.
 *  @param kernels  as for dcli_program_build(). @return NULL: there is no memory, or no thread, or exit() has begun. */
dcli_compiling *dcli_program_compile(dcli_device *device, const char *source, int kernel_count,
                                     const char *const kernels[], int launched);
/** Whether the compilation has ended, with or without success. */
bool dcli_program_is_compiled(const dcli_compiling *compiling);
/** Take the program, which the caller releases, and end the compilation; waits for it. @return NULL: it has failed. NULL
 *  is accepted. */
dcli_program *dcli_program_take(dcli_compiling *compiling);
/** Leave a compilation that may never end to itself. Its thread uses the record, the device and its context, so these must
 *  stay. NULL is accepted. */
void dcli_program_leave(dcli_compiling *compiling);
/** From now on, exit() of the program waits for compilers that run in threads, at most 10 s, before anything that they use is
 *  destroyed. Call it in the main thread: if exit() is called in another thread, a compiler may still crash. */
void dcli_compilers_end_before_exit(void);
/** Whether a device has more programs, including referenced ones, than the memory limit allows: release some. */
bool dcli_programs_are_many(const dcli_device *device);

/** Whether the device supports work-groups of these sizes, and, given a program, whether all its kernels do, whose
 *  use of registers may reduce the limit. @return DCL_OK, DCL_ERR_UNSUPPORTED with the sizes and the limit,
 *  DCL_ERR_DEVICE. */
dcl_status dcli_device_check_group(const dcli_device *device, const dcli_program *program, const int64_t group[3]);

/** One argument of a launch. */
typedef struct dcli_argument {
    dcli_memory *memory; /* a memory; NULL: the argument is a value */
    bool written;        /* the kernel may write the memory */
    const void *value;   /* copied at the launch */
    size_t bytes;
} dcli_argument;

/** Number of work-items of a CPU that share work if each has scratch memory; constant for a device. */
size_t dcli_device_shares(const dcli_device *device);
/** Number of work-items for `rows` independent rows on a CPU: one per row, but dcli_device_shares() where launches of
 *  one text must not differ in size (see dcli_program_build_own()). 0 rows: 0. */
size_t dcli_device_items(const dcli_device *device, size_t rows);

/** Start a kernel of a program, in order with everything before. Arguments equal to those of the kernel's last launch
 *  are not set again. Does not flush: see dcli_device_flush(). A launch of no work-items starts nothing.
 *  @param local  [dimensions], or NULL: the driver chooses.
 *  @param ticket_out  number of this launch, increasing by one from 1 (copies and fills count too). May be NULL. */
dcl_status dcli_device_launch(dcli_device *device, dcli_program *program, int kernel, int count,
                              const dcli_argument arguments[], int dimensions, const size_t global[],
                              const size_t local[], uint64_t *ticket_out);
/** Whether a library multiplies matrices in memory of this device: OpenBLAS for CPUs that work in host memory, if it can be
 *  loaded and the driver runs functions of the host in its queues. The first call loads it. */
bool dcli_device_multiplies(dcli_device *device);
/** For this process: the number of threads that each such product uses. 0: the library decides. */
void dcli_device_multiply_threads(int count);
/** Start products that a library computes, in order with launches. For dcli_device_multiplies() only.
 *  @param matrix  [DCLI_PRODUCT_MATRICES] the memory in which the product's offsets count. */
dcl_status dcli_device_multiply(dcli_device *device, const dcli_matrix_product *product, dcli_memory *const matrix[]);
/** Declare that the last launch reads memory that is not one of its arguments. */
void dcli_device_reads(dcli_memory *memory);
/** Declare that the last launch writes memory that is not one of its arguments. */
void dcli_device_writes(dcli_memory *memory);
/** Submit the launches to the device. Does not wait. */
dcl_status dcli_device_flush(dcli_device *device);
/** Ticket of the last command (launch, copy, fill or transfer). */
uint64_t dcli_device_launched(const dcli_device *device);
/** Ticket up to which all launches, fills and copies that do not touch slots are known to be complete. Asks the driver;
 *  does not wait. */
uint64_t dcli_device_retired(dcli_device *device);
/** Whether all commands up to `ticket` that change the device's memory are complete; *status_out then tells their
 *  result. Asks the driver; does not wait. */
bool dcli_device_is_complete(dcli_device *device, uint64_t ticket, dcl_status *status_out);
/** As dcli_device_is_complete(), but only for transfers from host memory. */
bool dcli_device_has_taken(dcli_device *device, uint64_t ticket, dcl_status *status_out);
/** As dcli_device_has_taken(), and also for copies out of slots' scratch memory. */
bool dcli_device_has_unpacked(dcli_device *device, uint64_t ticket, dcl_status *status_out);
/** Result of the commands up to `ticket`, which are complete. */
dcl_status dcli_device_outcome(dcli_device *device, uint64_t ticket);
/** Wait until all commands up to `ticket` are complete. @return DCL_OK, or DCL_ERR_DEVICE if one failed. */
dcl_status dcli_device_finish(dcli_device *device, uint64_t ticket);
enum { DCLI_MEASURES = 4 }; /* sums of measured times */
/** Time the launches from now on, and add their times to a sum, which starts at 0 again; launches before do not count for
 *  it any more. Only CPU devices are timed, and devices after dcli_device_keep_times(). @param sum  0..DCLI_MEASURES-1, or -1: do not time launches from now on. */
void dcli_device_measure(dcli_device *device, int sum);
/** Total time of the launches of a sum that are known to be complete. 0: none, or the driver does not tell. */
int64_t dcli_device_measured_ns(const dcli_device *device, int sum);
/** Keep the times of launches that complete from now on, of the last 32. The queue of a CPU device records times in any case;
 *  another device gets a new queue for kernels that does. Each of its launches then has an event. Waits for launches. */
dcl_status dcli_device_keep_times(dcli_device *device);
/** How long the device worked on the launches with tickets after `after` up to `upto`, which are known to be complete: from
 *  the end of the launch before them to the end of the last one. A pause before the first one counts up to 50 us, because
 *  the device may have had nothing to do. By the driver's clock, so it does not depend on when the host notices that
 *  launches have ended. @return 0: not known */
int64_t dcli_device_took_ns(const dcli_device *device, uint64_t after, uint64_t upto);
/** Called with the ticket of a launch that is complete, and its begin and end by dcli_monotonic_ns(). */
typedef void dcli_timed_fn(void *user, uint64_t ticket, int64_t begin_ns, int64_t end_ns);
/** Have `fn` called for each launch from now on, when it is found to be complete. CPUs only: the queues of other devices
 *  record no times. @param fn  NULL: for none. */
void dcli_device_on_timed(dcli_device *device, dcli_timed_fn *fn, void *user);
/** Call `fn(user)`, from any thread, when launch `ticket` is complete or has failed, or a little later if its event was
 *  dropped. On devices with memory of their own, also call it when the oldest command of each other busy queue
 *  (transfers, packing, unpacking) is complete. If the launch is complete but a later one is not, or if no queue is
 *  busy, call it before returning. Where the same `user` has asked before, it is called once. `fn` may only signal.
 *  Submits the launches to the device. If this function fails, `fn` may not be called. */
dcl_status dcli_device_notify(dcli_device *device, uint64_t ticket, void (*fn)(void *user), void *user);

#endif
