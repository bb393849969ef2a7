/* fuzz/null_device.c - src/device without OpenCL: device/device.h says what each function does. */
#include "fuzz/null_device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"
#include "device/device.h"

struct dcli_device {
    dcl_device_info info;
    bool separate, shared, slow;
    uint64_t launched, retired, failed; /* tickets; failed 0: none */
    void (*notice)(void *user);
    void *notice_user;
    int memories, programs, slots; /* not released */
    size_t taken_bytes;
};

struct dcli_memory {
    dcli_device *device;
    size_t bytes;
    char *contents;
    bool wrapped, scratch;
};

struct dcli_slot {
    dcli_memory *memory;
    char *host;
};

struct dcli_program {
    dcli_device *device;
};

static null_device_terms terms;
static dcli_device *open_device; /* one at a time */

static void demand(bool holds)
{
    if (!holds)
        abort();
}

void null_device_set(const null_device_terms *to) { terms = *to; }

void null_device_fail_after(int calls) { terms.fail_after = calls; }

static bool fails(void) { return terms.fail_after > 0 && --terms.fail_after == 0; }

static dcl_status fail(void) { return DCLI_FAIL(DCL_ERR_DEVICE, "the null device fails, as it was told to"); }

/* ---- devices ------------------------------------------------------------------------------------------------------ */

static const dcl_device_info about = {.name = "null",
                                      .platform = "null",
                                      .version = "0",
                                      .kind = "cpu",
                                      .is_default = true,
                                      .has_double = true,
                                      .compute_units = 2,
                                      .memory_bytes = 1 << 20};

dcl_status dcli_device_identify(int number, dcl_device_info *info_out, void **platform_out, void **id_out)
{
    (void)number;
    (void)info_out;
    (void)platform_out;
    (void)id_out;
    return DCL_ERR_DEVICE; /* sessions of OpenCL drivers are not fuzzed here */
}

dcl_status dcli_device_enumerate(int capacity, dcl_device_info info_out[], int *count_out)
{
    if (capacity > 0)
        info_out[0] = about;
    *count_out = 1;
    return DCL_OK;
}

dcl_status dcli_device_select(const char *selection, int capacity, int numbers_out[], int *count_out)
{
    (void)selection;
    if (capacity > 0)
        numbers_out[0] = 0;
    *count_out = 1;
    return DCL_OK;
}

dcl_status dcli_device_open_as(int number, const dcli_log *log, int flags, dcli_device **device_out)
{
    (void)log;
    demand(open_device == NULL && number >= 0);
    if (fails())
        return fail();
    dcli_device *device = dcli_calloc(1, sizeof *device);
    if (device == NULL)
        return DCL_ERR_NOMEM;
    device->info = about;
    device->separate = terms.separate;
    device->shared = (flags & DCLI_OPEN_SHARED) != 0;
    device->slow = terms.slow;
    *device_out = open_device = device;
    return DCL_OK;
}

dcl_status dcli_device_open(int number, const dcli_log *log, dcli_device **device_out)
{
    return dcli_device_open_as(number, log, 0, device_out);
}

static void retire_all(dcli_device *device)
{
    void (*notice)(void *user) = device->notice;
    device->retired = device->launched;
    device->notice = NULL;
    if (notice != NULL)
        notice(device->notice_user);
}

void null_device_end(void)
{
    if (open_device != NULL)
        retire_all(open_device);
}

void dcli_device_close(dcli_device *device)
{
    if (device == NULL)
        return;
    retire_all(device);
    demand(device->slots == 0 && device->memories == 0 && device->programs == 0 && device->taken_bytes == 0);
    dcli_free(device);
    open_device = NULL;
}

const dcl_device_info *dcli_device_about(const dcli_device *device) { return &device->info; }
bool dcli_device_is_gpu(const dcli_device *device) { return device->separate; }
bool dcli_device_in_place(const dcli_device *device) { return !device->separate; }
bool dcli_device_reads_peers(const dcli_device *device)
{
    (void)device;
    return false;
}

void dcli_device_forgo_peers(dcli_device *device) { (void)device; }

dcl_status dcli_memory_import(dcli_device *device, const dcli_memory_place *place, size_t bytes,
                              dcli_memory **memory_out)
{
    (void)device;
    (void)place;
    (void)bytes;
    (void)memory_out;
    return DCLI_FAIL(DCL_ERR_UNSUPPORTED, "there is no memory of other devices");
}

void dcli_device_end_imports(dcli_device *device, int owner, int64_t number)
{
    (void)device;
    (void)owner;
    (void)number;
}

bool dcli_memory_is_import(const dcli_memory *memory, const dcli_memory_place *place)
{
    (void)memory;
    (void)place;
    return false;
}

bool dcli_device_same_addresses(const dcli_device *device) { return !device->separate; }
const char *dcli_device_kind(const dcli_device *device)
{
    (void)device;
    return "null";
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static dcl_status make_memory(dcli_device *device, size_t bytes, char *contents, dcli_memory **memory_out)
{
    enum { MOST = 256 << 20 };
    if (fails())
        return fail();
    if (bytes > MOST)
        return DCLI_FAIL(DCL_ERR_NOMEM, "%zu bytes; expected at most %d", bytes, MOST);
    dcli_memory *memory = dcli_calloc(1, sizeof *memory);
    if (memory == NULL)
        return DCL_ERR_NOMEM;
    *memory = (dcli_memory){.device = device, .bytes = bytes, .contents = contents, .wrapped = contents != NULL};
    if (contents == NULL && (memory->contents = dcli_calloc(bytes > 0 ? bytes : 1, 1)) == NULL) {
        dcli_free(memory);
        return DCL_ERR_NOMEM;
    }
    device->memories++;
    device->taken_bytes += memory->wrapped ? 0 : bytes;
    *memory_out = memory;
    return DCL_OK;
}

void dcli_device_rest(dcli_device *device) { (void)device; }

dcl_status dcli_memory_create(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return make_memory(device, bytes, NULL, memory_out);
}

dcl_status dcli_memory_create_unset(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return dcli_memory_create(device, bytes, memory_out);
}

dcl_status dcli_memory_create_private(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    return make_memory(device, bytes, NULL, memory_out);
}

dcl_status dcli_memory_scratch(dcli_device *device, size_t bytes, dcli_memory **memory_out)
{
    dcl_status status = make_memory(device, bytes, NULL, memory_out);
    if (status == DCL_OK)
        (*memory_out)->scratch = true;
    return status;
}

dcl_status dcli_memory_wrap(dcli_device *device, void *host, size_t bytes, dcli_memory **memory_out)
{
    demand(!device->separate && host != NULL);
    return make_memory(device, bytes, host, memory_out);
}

void dcli_memory_release(dcli_memory *memory)
{
    if (memory == NULL)
        return;
    retire_all(memory->device);
    memory->device->memories--;
    if (!memory->wrapped) {
        memory->device->taken_bytes -= memory->bytes;
        dcli_free(memory->contents);
    }
    dcli_free(memory);
}

size_t dcli_device_taken_bytes(const dcli_device *device) { return device->taken_bytes; }
size_t dcli_device_spare_bytes(const dcli_device *device)
{
    (void)device;
    return 0;
}
void dcli_device_drop_spare(dcli_device *device) { (void)device; }

void *dcli_memory_host(const dcli_memory *memory) { return memory->device->separate ? NULL : memory->contents; }
size_t dcli_memory_bytes(const dcli_memory *memory) { return memory->bytes; }

/* Nobody looks into it: one for all. */
bool dcli_memory_place_of(const dcli_memory *memory, dcli_memory_place *place_out)
{
    static int descriptor = -1;
    if (descriptor < 0)
        descriptor = memfd_create("null", MFD_CLOEXEC);
    *place_out = (dcli_memory_place){.memfd = 1, .descriptor = descriptor};
    bool none = memory->bytes == 0 || memory->wrapped || memory->scratch;
    return !none && !memory->device->separate && memory->device->shared;
}

void dcli_device_on_unmap(dcli_device *device, dcli_unmapped_fn *fn, void *user) { (void)device, (void)fn, (void)user; }

dcl_status dcli_memory_settle(dcli_memory *memory, bool for_writing)
{
    (void)for_writing;
    if (fails())
        return fail();
    retire_all(memory->device);
    return DCL_OK;
}

bool dcli_memory_is_settled(dcli_memory *memory, bool for_writing)
{
    (void)memory;
    (void)for_writing;
    return true; /* settling does not take long */
}

dcl_status dcli_memory_put(dcli_memory *memory, size_t offset_bytes, const void *host, size_t bytes)
{
    if (fails())
        return fail();
    memcpy(memory->contents + offset_bytes, host, bytes);
    return DCL_OK;
}

dcl_status dcli_memory_get(dcli_memory *memory, size_t offset_bytes, void *host, size_t bytes)
{
    if (fails())
        return fail();
    retire_all(memory->device);
    memcpy(host, memory->contents + offset_bytes, bytes);
    return DCL_OK;
}

/* ---- slots -------------------------------------------------------------------------------------------------------- */

dcl_status dcli_slot_take(dcli_device *device, size_t bytes, dcli_slot **slot_out)
{
    demand(device->separate && bytes > 0);
    if (fails())
        return fail();
    dcli_slot *slot = dcli_calloc(1, sizeof *slot);
    dcl_status status = slot != NULL ? dcli_memory_scratch(device, bytes, &slot->memory) : DCL_ERR_NOMEM;
    if (status == DCL_OK && (slot->host = dcli_calloc(bytes, 1)) == NULL) {
        dcli_memory_release(slot->memory);
        status = DCL_ERR_NOMEM;
    }
    if (status != DCL_OK) {
        dcli_free(slot);
        return status;
    }
    device->slots++;
    *slot_out = slot;
    return DCL_OK;
}

/* Nothing is registered: chunks are copied. */
bool dcli_device_register(dcli_device *device, void *host, size_t bytes, size_t most_bytes)
{
    (void)device;
    (void)host;
    (void)bytes;
    (void)most_bytes;
    return false;
}

bool dcli_device_unregister(dcli_device *device, const void *host)
{
    (void)device;
    (void)host;
    return true;
}

dcl_status dcli_slot_take_over(dcli_device *device, void *host, size_t bytes, void (*end)(void *host),
                               dcli_slot **slot_out)
{
    (void)host;
    (void)end;
    demand(false);
    return dcli_slot_take(device, bytes, slot_out);
}

void *dcli_slot_leave(dcli_slot *slot)
{
    (void)slot;
    return NULL;
}

void dcli_slot_give(dcli_slot *slot)
{
    if (slot == NULL)
        return;
    slot->memory->device->slots--;
    dcli_memory_release(slot->memory);
    dcli_free(slot->host);
    dcli_free(slot);
}

/* Nothing is lent: chunks are copied to buffers. */
dcli_slot *dcli_slot_borrow(dcli_device *device, size_t bytes)
{
    (void)device;
    (void)bytes;
    return NULL;
}

bool dcli_slot_lend(dcli_slot *slot)
{
    (void)slot;
    return false;
}

dcli_slot *dcli_slot_at(dcli_device *device, const void *host)
{
    (void)device;
    (void)host;
    return NULL;
}

void *dcli_slot_host(const dcli_slot *slot) { return slot->host; }
dcli_memory *dcli_slot_memory(dcli_slot *slot) { return slot->memory; }

/* What crosses does so at once, but is seen to have done so later where the device is slow. */
static dcl_status cross(dcli_slot *slot)
{
    if (fails())
        return fail();
    slot->memory->device->launched++;
    if (!slot->memory->device->slow)
        retire_all(slot->memory->device);
    return DCL_OK;
}

dcl_status dcli_slot_send(dcli_slot *slot, dcli_memory *target, size_t offset_bytes, size_t bytes)
{
    demand(bytes <= slot->memory->bytes && offset_bytes + bytes <= target->bytes);
    memcpy(target->contents + offset_bytes, slot->host, bytes);
    return cross(slot);
}

dcl_status dcli_slot_send_from(dcli_slot *slot, const void *host, dcli_memory *target, size_t offset_bytes,
                               size_t bytes)
{
    (void)slot;
    return dcli_memory_put(target, offset_bytes, host, bytes);
}

dcl_status dcli_slot_fetch(dcli_slot *slot, dcli_memory *source, size_t offset_bytes, size_t bytes)
{
    demand(bytes <= slot->memory->bytes && offset_bytes + bytes <= source->bytes);
    memcpy(slot->host, source->contents + offset_bytes, bytes);
    return cross(slot);
}

bool dcli_slot_takes_rows(const dcli_memory *memory, const dcli_crossing_rows *crossing)
{
    (void)memory;
    return crossing->memory_pitch >= crossing->row_bytes && crossing->host_pitch >= crossing->row_bytes;
}

dcl_status dcli_slot_send_rows(dcli_slot *slot, const void *host, dcli_memory *target,
                               const dcli_crossing_rows *crossing)
{
    dcl_status status = cross(slot);
    for (size_t r = 0; r < crossing->rows && status == DCL_OK; r++)
        status =
            dcli_memory_put(target, crossing->memory_at + r * crossing->memory_pitch,
                            (const char *)host + crossing->host_at + r * crossing->host_pitch, crossing->row_bytes);
    return status;
}

dcl_status dcli_slot_fetch_rows(dcli_slot *slot, dcli_memory *source, const dcli_crossing_rows *crossing)
{
    for (size_t r = 0; r < crossing->rows; r++) {
        size_t at = crossing->memory_at + r * crossing->memory_pitch,
               host_at = crossing->host_at + r * crossing->host_pitch;
        demand(host_at + crossing->row_bytes <= slot->memory->bytes && at + crossing->row_bytes <= source->bytes);
        memcpy(slot->host + host_at, source->contents + at, crossing->row_bytes);
    }
    return cross(slot);
}

bool dcli_slot_is_complete(dcli_slot *slot, dcl_status *status_out)
{
    return dcli_device_is_complete(slot->memory->device, slot->memory->device->launched, status_out);
}

dcl_status dcli_slot_finish(dcli_slot *slot)
{
    return dcli_device_finish(slot->memory->device, slot->memory->device->launched);
}

bool dcli_slots_are_short(dcli_device *device)
{
    (void)device;
    return false;
}

void dcli_slots_await(dcli_device *device) { (void)device; }

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static int64_t offset_of(int rank, const int64_t at[], const int64_t step[], int64_t offset)
{
    for (int d = 0; d < rank; d++)
        offset += at[d] * step[d];
    return offset;
}

/* @param source_step  NULL: one element for all. */
static dcl_status copy(dcli_memory *target, int64_t target_offset, const int64_t target_step[], const char *source,
                       int64_t source_offset, const int64_t source_step[], int rank, const int64_t count[],
                       size_t bytes)
{
    int64_t at[DCL_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++)
        if (count[d] <= 0)
            return DCL_OK;
    target->device->launched++;
    if (!target->device->slow)
        retire_all(target->device);
    for (;;) {
        int64_t from = source_step != NULL ? offset_of(rank, at, source_step, source_offset) : 0;
        memcpy(target->contents + offset_of(rank, at, target_step, target_offset) * (int64_t)bytes,
               source + from * (int64_t)bytes, bytes);
        int d = rank - 1;
        while (d >= 0 && ++at[d] >= count[d])
            at[d--] = 0;
        if (d < 0)
            return DCL_OK;
    }
}

dcl_status dcli_device_copy(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], dcli_memory *source, int64_t source_offset,
                            const int64_t source_step[], int rank, const int64_t count[], size_t element_bytes)
{
    demand(target->device == device && source->device == device);
    if (fails())
        return fail();
    return copy(target, target_offset, target_step, source->contents, source_offset, source_step, rank, count,
                element_bytes);
}

dcl_status dcli_device_fill(dcli_device *device, dcli_memory *target, int64_t target_offset,
                            const int64_t target_step[], const void *element, int rank, const int64_t count[],
                            size_t element_bytes)
{
    demand(target->device == device);
    if (fails())
        return fail();
    return copy(target, target_offset, target_step, element, 0, NULL, rank, count, element_bytes);
}

/* ---- programs and launches ---------------------------------------------------------------------------------------- */

dcl_status dcli_program_build(dcli_device *device, const char *source, int kernel_count, const char *const kernels[],
                              dcli_program **program_out, bool *fresh_out, char **log_out)
{
    (void)kernel_count;
    (void)kernels;
    demand(strlen(source) > 0);
    if (log_out != NULL)
        *log_out = NULL;
    if (fails()) {
        if (log_out != NULL)
            *log_out = dcli_strdup("input.cl:1:1: error: the null device fails, as it was told to");
        return DCL_ERR_BODY;
    }
    dcli_program *program = dcli_calloc(1, sizeof *program);
    if (program == NULL)
        return DCL_ERR_NOMEM;
    program->device = device;
    device->programs++;
    if (fresh_out != NULL)
        *fresh_out = true;
    *program_out = program;
    return DCL_OK;
}

dcl_status dcli_program_build_own(dcli_device *device, const char *source, int kernel_count,
                                  const char *const kernels[], dcli_program **program_out, bool *fresh_out,
                                  char **log_out)
{
    return dcli_program_build(device, source, kernel_count, kernels, program_out, fresh_out, log_out);
}

bool dcli_program_has(const dcli_program *program, int kernel)
{
    (void)program, (void)kernel;
    return true;
}

void dcli_program_release(dcli_program *program)
{
    if (program == NULL)
        return;
    program->device->programs--;
    dcli_free(program);
}

bool dcli_programs_are_many(const dcli_device *device)
{
    (void)device;
    return false;
}

void dcli_device_reads(dcli_memory *memory) { demand(memory->device == open_device); }
void dcli_device_writes(dcli_memory *memory) { demand(memory->device == open_device); }

/* The fuzzed session has no threads. */
dcli_compiling *dcli_program_compile(dcli_device *device, const char *source, int kernel_count,
                                     const char *const kernels[], int launched)
{
    (void)device;
    (void)source;
    (void)kernel_count;
    (void)kernels;
    (void)launched;
    return NULL;
}

bool dcli_program_is_compiled(const dcli_compiling *compiling) { return compiling == NULL; }

dcli_program *dcli_program_take(dcli_compiling *compiling)
{
    (void)compiling;
    return NULL;
}

void dcli_program_leave(dcli_compiling *compiling) { (void)compiling; }

size_t dcli_device_shares(const dcli_device *device) { return (size_t)device->info.compute_units; }

size_t dcli_device_items(const dcli_device *device, size_t rows)
{
    (void)device;
    return rows;
}

/* All of it: memory that is not there is noticed. */
static void look_at(const dcli_argument *argument)
{
    const volatile char *bytes = argument->memory != NULL ? argument->memory->contents : argument->value;
    size_t count = argument->memory != NULL ? argument->memory->bytes : argument->bytes;
    unsigned sum = 0;
    for (size_t b = 0; b < count; b++)
        sum += (unsigned char)bytes[b];
    (void)sum;
}

dcl_status dcli_device_check_group(const dcli_device *device, const dcli_program *program, const int64_t group[3])
{
    (void)device;
    (void)program;
    (void)group;
    return DCL_OK;
}

dcl_status dcli_device_launch(dcli_device *device, dcli_program *program, int kernel, int count,
                              const dcli_argument arguments[], int dimensions, const size_t global[],
                              const size_t local[], uint64_t *ticket_out)
{
    (void)local;
    demand(program->device == device && kernel >= 0 && dimensions >= 1 && dimensions <= 3);
    size_t items = 1;
    for (int d = 0; d < dimensions; d++)
        items *= global[d];
    if (fails())
        return fail();
    for (int a = 0; a < count && items > 0; a++)
        look_at(&arguments[a]);
    if (items > 0)
        device->launched++;
    if (fails())
        device->failed = device->launched;
    if (!device->slow)
        retire_all(device);
    if (ticket_out != NULL)
        *ticket_out = device->launched;
    return DCL_OK;
}

dcl_status dcli_device_flush(dcli_device *device)
{
    (void)device;
    return fails() ? fail() : DCL_OK;
}

uint64_t dcli_device_launched(const dcli_device *device) { return device->launched; }
uint64_t dcli_device_retired(dcli_device *device) { return device->retired; }

dcl_status dcli_device_outcome(dcli_device *device, uint64_t ticket)
{
    return device->failed > 0 && device->failed <= ticket ? fail() : DCL_OK;
}

dcl_status dcli_device_finish(dcli_device *device, uint64_t ticket)
{
    demand(ticket <= device->launched);
    retire_all(device);
    return dcli_device_outcome(device, ticket);
}

bool dcli_device_is_complete(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    if (device->retired < ticket)
        return false;
    *status_out = dcli_device_outcome(device, ticket);
    return true;
}

bool dcli_device_has_taken(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    if (device->retired < ticket)
        return false;
    *status_out = dcli_device_outcome(device, ticket);
    return true;
}

bool dcli_device_has_unpacked(dcli_device *device, uint64_t ticket, dcl_status *status_out)
{
    if (device->retired < ticket)
        return false;
    *status_out = dcli_device_outcome(device, ticket);
    return true;
}

void dcli_device_measure(dcli_device *device, int sum)
{
    (void)device;
    (void)sum;
}

int64_t dcli_device_measured_ns(const dcli_device *device, int sum)
{
    (void)device;
    (void)sum;
    return 0;
}

dcl_status dcli_device_keep_times(dcli_device *device)
{
    (void)device;
    return DCL_OK;
}

int64_t dcli_device_took_ns(const dcli_device *device, uint64_t after, uint64_t upto)
{
    (void)device;
    (void)after;
    (void)upto;
    return 0;
}

void dcli_device_on_timed(dcli_device *device, dcli_timed_fn *fn, void *user)
{
    (void)device;
    (void)fn;
    (void)user;
}

dcl_status dcli_device_notify(dcli_device *device, uint64_t ticket, void (*fn)(void *user), void *user)
{
    (void)ticket;
    if (fails())
        return fail();
    device->notice = fn;
    device->notice_user = user;
    if (device->retired == device->launched)
        retire_all(device);
    return DCL_OK;
}

bool dcli_device_multiplies(dcli_device *device)
{
    (void)device;
    return false;
}

void dcli_device_multiply_threads(int count) { (void)count; }

dcl_status dcli_device_multiply(dcli_device *device, const dcli_matrix_product *product, dcli_memory *const matrix[])
{
    (void)device;
    (void)product;
    (void)matrix;
    demand(false); /* this device multiplies nothing */
    return fail();
}
