/* fleet/ask.c - ask workers what they offer, without opening a session (dcl_worker_list()). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/addresses.h"
#include "fleet/supervisor.h"
#include "fleet/worker_pool_inside.h"

static double monotonic_us(void) { return 1e-3 * (double)dcli_monotonic_ns(); }

static void note_text(char *text_out, size_t capacity, const char *text)
{
    dcli_clean(text_out, capacity, text, strlen(text), "");
}

void dcli_device_note(const dcli_msg_device *device, dcl_device_info *info)
{
    *info = (dcl_device_info){.number = device->number,
                              .is_default = true,
                              .has_half = device->has_half,
                              .has_double = device->has_double,
                              .compute_units = device->compute_units,
                              .memory_bytes = device->memory_bytes};
    note_text(info->name, sizeof info->name, device->name);
    note_text(info->platform, sizeof info->platform, device->platform);
    note_text(info->version, sizeof info->version, device->version);
    note_text(info->kind, sizeof info->kind, device->class);
}

static void note_welcome(const dcli_msg_welcome *welcome, dcl_worker_info *info)
{
    enum { MOST = sizeof info->device / sizeof info->device[0] };
    note_text(info->program, sizeof info->program, welcome->program);
    info->device_count = welcome->device_count;
    for (int d = 0; d < welcome->device_count && d < MOST; d++)
        dcli_device_note(&welcome->device[d], &info->device[d]);
    info->sessions = welcome->sessions;
    info->processes = welcome->processes;
    info->load_percent = (int)welcome->load_percent;
    info->files = welcome->files;
}

static dcl_status measure(dcli_control *call, dcl_worker_info *info)
{
    enum { TIMES = 5 };
    dcl_status status = DCL_OK;
    for (int n = 0; n < TIMES && status == DCL_OK; n++) {
        dcli_received beat = {0};
        double start = monotonic_us();
        status = dcli_control_send(call, &(dcli_message){.kind = DCLI_MSG_BEAT, .beat.number = n + 1});
        if (status == DCL_OK)
            status = dcli_contact_hear(call, info->address, DCLI_MSG_BEAT, &beat);
        if (status != DCL_OK)
            return status;
        double took = monotonic_us() - start;
        if (n == 0 || took < info->round_trip_us)
            info->round_trip_us = took;
        dcli_received_free(&beat);
    }
    return status;
}

static dcl_status ask(dcli_net *net, const dcl_config *config, const dcli_worker_address *worker, dcl_worker_info *info)
{
    dcli_resolved resolved;
    dcli_control *call = NULL;
    dcli_received welcome = {0};
    dcl_status status = dcli_contact_call(net, config, worker, &resolved, &call);
    if (status == DCL_OK)
        status = dcli_contact_greet(call);
    if (status == DCL_OK)
        status = dcli_contact_hear(call, worker->text, DCLI_MSG_WELCOME, &welcome);
    if (status == DCL_OK) {
        note_welcome(&welcome.message.welcome, info);
        dcli_received_free(&welcome);
        status = measure(call, info);
    }
    dcli_control_close(call);
    return status;
}

dcl_status dcli_workers_ask(const dcl_config *config, int capacity, dcl_worker_info info_out[], int *count_out)
{
    dcli_worker_address list[DCLI_MOST_CALLS];
    dcli_net *net;
    if (config->workers == NULL || strncmp(config->workers, "local:", 6) == 0)
        return DCLI_FAIL(DCL_ERR_INVALID,
                         "workers is %s%s%s; expected addresses, or a file with them: only workers that run "
                         "by themselves can be asked",
                         config->workers != NULL ? "\"" : "", config->workers != NULL ? config->workers : "NULL",
                         config->workers != NULL ? "\"" : "");
    int count = dcli_addresses_read(config->workers, list);
    if (count < 0)
        return dcli_error_status();
    dcl_status status = dcli_net_open_io(1, &net);
    if (status != DCL_OK)
        return status;
    for (int w = 0; w < count && w < capacity; w++) {
        dcl_worker_info *info = &info_out[w];
        memset(info, 0, sizeof *info);
        memcpy(info->address, list[w].text, sizeof info->address); /* both arrays have the same length */
        info->status = ask(net, config, &list[w], info);
        if (info->status != DCL_OK)
            snprintf(info->problem, sizeof info->problem, "%.500s", dcli_error_sentence());
    }
    dcli_net_close(net);
    *count_out = count;
    return DCL_OK;
}
