/* test/cli/many_events.c - write a trace of many events: many_events FILE EVENTS. On two nodes, which send each other
 * chunks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/trace.h"

static dcli_trace_event make(int64_t n)
{
    static const dcli_trace_kind kinds[] = {DCLI_TRACE_SENT, DCLI_TRACE_ARRIVED, DCLI_TRACE_PLAN, DCLI_TRACE_KERNELS};
    return (dcli_trace_event){.kind = (uint8_t)kinds[n % 4],
                              .begin_ns = 1000 * n,
                              .end_ns = 1000 * n + (n % 4 < 2 ? 0 : 1500),
                              .operation = n / 4 + 1,
                              .peer = DCLI_TRACE_NOBODY,
                              .launches = 1};
}

int main(int count, char **list)
{
    int64_t events = count == 3 ? strtoll(list[2], NULL, 10) : 0;
    FILE *file = events > 0 ? fopen(list[1], "w") : NULL;
    if (file == NULL)
        return 2;
    dcli_traced_peer peer[3] = {{.is_same_clock = true}, {.is_same_clock = true}, {.is_same_clock = true}};
    dcli_trace_source source[3] = {{"first", "", &peer[0]}, {"second", "", &peer[1]}, {"", "", &peer[2]}};
    for (int p = 0; p < 3; p++)
        if ((peer[p].ring = dcli_trace_open((size_t)events * sizeof(dcli_trace_event))) == NULL)
            return 1;
    for (int64_t n = 0; n < events; n++) {
        dcli_trace_event event = make(n);
        if (event.kind == DCLI_TRACE_SENT || event.kind == DCLI_TRACE_ARRIVED)
            event.peer = event.kind == DCLI_TRACE_SENT;
        dcli_trace_add(peer[n % 4 == 1].ring, &event);
    }
    dcl_status status = dcli_trace_write(file, 3, source, 2, 0);
    for (int p = 0; p < 3; p++)
        dcli_trace_close(peer[p].ring);
    return fclose(file) != 0 || status != DCL_OK;
}
