/* store/npy_flight.c - read several stretches of a file at a time, each by several threads, directly into slots.
 *
 * A slot gets either the whole stretch or, if little of it is needed, only the needed runs, one after the other. The
 * device copies its pieces out of the slot. */
#include "store/npy_flight.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "store/store.h"

enum { PART_BYTES = 512 << 10 }; /* intended bytes of a part of a flight; one thread reads a part */

struct dcli_npy_flight {
    dcli_task task;
    const dcli_npy_flights *flights;
    dcli_npy_slab slab;
    bool sparse; /* the slot gets only the needed runs, not the whole stretch */
    dcli_slot *slot;
    atomic_int failed; /* DCL_OK, or the status of the first part that has failed; `problem` is its sentence */
    char problem[DCLI_ERROR_BYTES];
};

static int64_t elements_of(const struct dcli_npy_flight *flight)
{
    return flight->sparse ? flight->slab.needed : flight->slab.bytes / (int64_t)flight->flights->bytes;
}

/* ---- reading, by helpers ------------------------------------------------------------------------------------------ */

/* Read `count` elements of the file: number `from` of the stretch becomes number `to` of the slot, and so on. */
static dcl_status read_elements(const struct dcli_npy_flight *flight, int64_t to, int64_t from, int64_t count)
{
    const dcli_npy_flights *flights = flight->flights;
    int64_t bytes = (int64_t)flights->bytes;
    char *target = (char *)dcli_slot_host(flight->slot) + to * bytes;
    dcl_status status = dcli_npy_pread(flights->fd, flights->path, target, (size_t)(count * bytes),
                                       flight->slab.start_bytes + from * bytes);
    if (status == DCL_OK && flights->swapped)
        dcli_npy_swap(target, count, flights->bytes);
    return status;
}

/* Read the runs [first, end) of all that are needed. */
static dcl_status read_runs(const struct dcli_npy_flight *flight, int64_t first, int64_t end)
{
    const dcli_npy_slab *slab = &flight->slab;
    dcl_status status = DCL_OK;
    int64_t to = 0, run = 0;
    dcli_region part, file;
    for (int64_t at = slab->first_region;
         status == DCL_OK && run < end && dcli_npy_next_piece(slab, &at, &part, &file);) {
        dcli_npy_runs runs = dcli_npy_runs_of(slab->walk, &file);
        do {
            if (run >= first && run < end)
                status = read_elements(flight, to, runs.offset, runs.length);
            to += runs.length;
            run++;
        } while (status == DCL_OK && dcli_npy_next_run(&runs));
    }
    return status;
}

static void read_part(void *user, int part)
{
    struct dcli_npy_flight *flight = user;
    int64_t parts = flight->task.parts, total = flight->sparse ? flight->slab.runs : elements_of(flight);
    int64_t first = total * part / parts, end = total * (part + 1) / parts;
    if (atomic_load_explicit(&flight->failed, memory_order_relaxed) != DCL_OK)
        return;
    dcl_status status =
        flight->sparse ? read_runs(flight, first, end) : read_elements(flight, first, first, end - first);
    int none = DCL_OK;
    if (status != DCL_OK && atomic_compare_exchange_strong(&flight->failed, &none, (int)status))
        snprintf(flight->problem, sizeof flight->problem, "%s", dcli_error_sentence());
}

/* ---- to the device ------------------------------------------------------------------------------------------------ */

/* Whether a piece is all that the slot contains, in the same order as in the part's memory. */
static bool is_all(const struct dcli_npy_flight *flight, const dcli_region *part, const dcli_region *file)
{
    return dcli_region_lies_as(part, file) && dcli_box_elements(&part->box) == elements_of(flight);
}

static dcl_status pass_on(const struct dcli_npy_flight *flight)
{
    const dcli_npy_flights *flights = flight->flights;
    const dcli_npy_slab *slab = &flight->slab;
    dcl_status status = DCL_OK;
    bool sent = false;
    int64_t packed = 0;
    size_t total = (size_t)elements_of(flight) * flights->bytes;
    dcli_region part, file;
    for (int64_t at = slab->first_region; status == DCL_OK && dcli_npy_next_piece(slab, &at, &part, &file);) {
        if (flight->sparse) {
            file = dcli_npy_packed(slab->walk, &file.box);
            file.offset = packed;
            packed += dcli_box_elements(&file.box);
        }
        if (!sent && is_all(flight, &part, &file))
            return dcli_slot_send(flight->slot, flights->memory, (size_t)part.offset * flights->bytes, total);
        if (!sent)
            status = dcli_slot_send(flight->slot, dcli_slot_memory(flight->slot), 0, total);
        sent = true;
        if (status == DCL_OK)
            status = dcli_store_copy(flights->device, flights->memory, &part, dcli_slot_memory(flight->slot), &file,
                                     flights->bytes);
    }
    return status;
}

/* End the oldest flight: wait until it is read, and start copying it to the device unless something has failed. */
static dcl_status land_one(dcli_npy_flights *flights, dcl_status status)
{
    struct dcli_npy_flight *flight = flights->flight[flights->first];
    flights->first = (flights->first + 1) % DCLI_NPY_FLIGHTS;
    flights->count--;
    dcli_helpers_await(flights->helpers, &flight->task);
    dcl_status failed = (dcl_status)atomic_load(&flight->failed);
    if (status == DCL_OK && failed != DCL_OK)
        status = DCLI_FAIL(failed, "%s", flight->problem);
    else if (status == DCL_OK)
        status = pass_on(flight);
    dcli_slot_give(flight->slot);
    dcli_free(flight);
    return status;
}

dcl_status dcli_npy_land(dcli_npy_flights *flights, dcl_status status)
{
    while (flights->count > 0)
        status = land_one(flights, status);
    return status;
}

dcl_status dcli_npy_take_off(dcli_npy_flights *flights, const dcli_npy_slab *slab)
{
    dcl_status status = flights->count == DCLI_NPY_FLIGHTS ? land_one(flights, DCL_OK) : DCL_OK;
    if (status != DCL_OK)
        return status;
    struct dcli_npy_flight *flight = dcli_calloc(1, sizeof *flight);
    if (flight == NULL)
        return DCL_ERR_NOMEM;
    flight->flights = flights;
    flight->slab = *slab;
    flight->sparse = slab->runs * DCLI_NPY_RUN_BYTES + slab->needed * (int64_t)flights->bytes < slab->bytes;
    int64_t total = elements_of(flight) * (int64_t)flights->bytes;
    int64_t parts = dcli_min((total + PART_BYTES - 1) / PART_BYTES, flight->sparse ? slab->runs : elements_of(flight));
    flight->task = (dcli_task){.run = read_part, .user = flight, .parts = (int)dcli_max(parts, 1)};
    dcli_slots_await(flights->device);
    status = dcli_slot_take(flights->device, (size_t)total, &flight->slot);
    if (status != DCL_OK) {
        dcli_free(flight);
        return status;
    }
    flights->flight[(flights->first + flights->count++) % DCLI_NPY_FLIGHTS] = flight;
    dcli_helpers_start(flights->helpers, &flight->task);
    return DCL_OK;
}
