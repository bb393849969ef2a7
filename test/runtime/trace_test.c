/* test/runtime/trace_test.c - what a traced cluster writes, compared with what it has counted. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trace.h"
#include "fleet/worker_pool_inside.h"
#include "runtime/trace.h"
#include "support/nodes.h"

TestSuite(trace_on_device, .timeout = TEST_SECONDS);

/* ---- a file, as text with an event per line -------------------------------------------------------------------------- */

static char folder[64], path[96];

static void make_folder(void)
{
    strcpy(folder, "/tmp/dcl-trace-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.json", folder);
}

static void drop_folder(void)
{
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "a file is left beside the trace");
}

static char *read_all(void)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "there is no trace");
    struct stat about;
    cr_assert_eq(fstat(fileno(file), &about), 0);
    char *text = calloc((size_t)about.st_size + 1, 1);
    cr_assert_eq(fread(text, 1, (size_t)about.st_size, file), (size_t)about.st_size);
    fclose(file);
    return text;
}

/* Sum of a number over the events of a kind; `field` "": the count of events. @param process  as in the file; 0: all. */
static int64_t sum(const char *text, int process, const char *kind, const char *field)
{
    char cat[32], pid[16], name[32];
    int64_t all = 0;
    snprintf(cat, sizeof cat, "\"cat\":\"%s\"", kind);
    snprintf(pid, sizeof pid, "\"pid\":%d,", process);
    snprintf(name, sizeof name, "\"%s\":", field);
    const char *after = text + strlen(text); /* the address sanitizer measures a string whenever it is searched */
    for (const char *line = text, *end; line < after; line = end < after ? end + 1 : end) {
        end = memchr(line, '\n', (size_t)(after - line));
        end = end != NULL ? end : after;
        char one[1024] = "";
        memcpy(one, line, (size_t)(end - line) < sizeof one ? (size_t)(end - line) : sizeof one - 1);
        if (strstr(one, cat) == NULL || (process != 0 && strstr(one, pid) == NULL))
            continue;
        const char *at = strstr(one, name);
        all += field[0] == '\0' ? 1 : at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
    }
    return all;
}

/* ---- a program ------------------------------------------------------------------------------------------------------ */

/* C = A + B^T on two nodes, some times; the counters of node n and then of the program. */
static void run(dcl_cluster *cluster, dcl_counters counters_out[3])
{
    dcl_grid grid = dcl_grid_2d(DCL_INT32, 64, 64);
    dcl_array *A = test_array(cluster, "block,*", grid), *B = test_array(cluster, "block,*", grid);
    dcl_array *C = test_array(cluster, "block,*", grid);
    static int32_t got[64][64];
    TEST_OK(dcl_forall(cluster, "A(i,j) = i;", DCL_OUT(A)));
    TEST_OK(dcl_forall(cluster, "\n  B(i,j) = 100*j;\n", DCL_OUT(B)));
    for (int n = 0; n < 3; n++)
        TEST_OK(dcl_forall(cluster, "C(i,j) = A(i,j) + B(j,i);", DCL_OUT(C), DCL_IN(A), DCL_IN(B)));
    TEST_OK(dcl_read(C, NULL, got, NULL));
    cr_expect_eq(got[3][5], 303);
    for (int n = 0; n < 2; n++)
        counters_out[n] = test_counters(cluster, n);
    counters_out[2] = test_counters(cluster, DCL_HOST);
}

static void expect_counted(const char *text, const dcl_counters counters[3])
{
    int64_t planned = 0, sent = 0;
    for (int n = 0; n < 2; n++) {
        const dcl_counters *node = &counters[n];
        cr_expect_eq(sum(text, n + 2, "kernels", "launches"), node->launches, "node %d: launches", n);
        cr_expect_eq(sum(text, n + 2, "kernels", "tasks"), node->tasks, "node %d: tasks", n);
        cr_expect_eq(sum(text, n + 2, "wire", "bytes"), node->bytes_moved, "node %d: bytes moved", n);
        cr_expect_eq(sum(text, n + 2, "wire", ""), node->messages_planned, "node %d: messages", n);
        cr_expect(sum(text, n + 2, "plan", "") > 0);
        cr_expect_eq(sum(text, n + 2, "allocate", "bytes"), node->storage_bytes);
        planned += node->bytes_moved;
        sent += node->bytes_sent;
    }
    cr_expect_eq(planned, 3 * 2 * 32 * 32 * 4);
    cr_expect_eq(sum(text, 0, "wire", "bytes"), sent, "all that was sent has arrived");
    cr_expect_eq(sum(text, 0, "pack", "bytes"), sent);
    cr_expect_eq(sum(text, 1, "wire", "bytes"), 64 * 64 * 4, "what the program has read");
    cr_expect_eq(sum(text, 1, "read", "bytes"), 64 * 64 * 4);
    cr_expect(sum(text, 1, "wait", "") > 0);
    cr_expect_eq(sum(text, 0, "sent", ""), 0, "a chunk that did not arrive");
    cr_expect_null(strstr(text, "not known"), "an arrival whose sending is not known");
    cr_expect_null(strstr(text, "\"ts\":-"), "an event before the cluster was opened");
}

static void trace_with(const char *workers)
{
    dcl_counters counters[3];
    make_folder();
    dcl_config config = test_config(2);
    config.trace = path;
    config.transfer = "send";
    config.workers = workers;
    config.program = TEST_DCL;
    dcl_cluster *cluster = test_open(&config);
    cr_assert_eq(access(path, F_OK), -1, "nothing is written before the end");
    run(cluster, counters);
    TEST_OK(dcl_close(cluster));
    char *text = read_all();
    expect_counted(text, counters);
    cr_expect_not_null(strstr(text, "\"name\":\"B(i,j) = 100*j;\""));
    cr_expect_not_null(strstr(text, "\"name\":\"C(i,j) = A(i,j) + B(j,i);\""));
    cr_expect_not_null(strstr(text, "{\"name\":\"preparing\"}"));
    free(text);
    drop_folder();
}

Test(trace_on_device, has_what_the_counters_say) { trace_with(NULL); }

Test(trace_on_device, has_what_worker_processes_have_done) { trace_with("local:2"); }

/* ---- the ring is full ------------------------------------------------------------------------------------------------ */

static void overflow_with(const char *workers)
{
    make_folder();
    dcl_config config = test_config(2);
    config.trace = path;
    config.trace_bytes = 4096;
    config.workers = workers;
    config.program = TEST_DCL;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100));
    for (int n = 0; n < 200; n++)
        TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    TEST_OK(dcl_close(cluster));
    char *text = read_all();
    int64_t room = dcli_trace_capacity(4096);
    for (int node = 0; node < 2; node++) {
        cr_expect_leq(sum(text, node + 2, "kernels", ""), room);
        cr_expect_gt(sum(text, node + 2, "kernels", ""), room / 4);
    }
    cr_expect_not_null(strstr(text, " events dropped\""));
    cr_expect_null(strstr(text, "\"operation\":5,"), "the oldest event is still there");
    cr_expect_not_null(strstr(text, "\"operation\":200,"));
    free(text);
    drop_folder();
}

Test(trace_on_device, drops_the_oldest_events_and_says_how_many) { overflow_with(NULL); }

Test(trace_on_device, drops_the_oldest_events_of_worker_processes) { overflow_with("local:2"); }

/* ---- files --------------------------------------------------------------------------------------------------------- */

static void expect_refused(const char *file, const char *words)
{
    dcl_config config = test_config(1);
    config.trace = file;
    cr_expect_null(dcl_open(&config));
    cr_expect_eq(dcl_status_of(NULL), DCL_ERR_FILE);
    cr_expect_not_null(strstr(dcl_error(), words), "%s", dcl_error());
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

Test(trace_on_device, refuses_a_file_that_is_no_trace_and_replaces_one)
{
    make_folder();
    put("precious");
    expect_refused(path, "which exists and is no trace");
    char *text = read_all();
    cr_expect_str_eq(text, "precious");
    free(text);
    expect_refused(folder, "which exists and is no trace");
    expect_refused("/dev/null", "which exists and is no trace");
    expect_refused("/no/such/folder/trace.json", "cannot be made");
    put("{\"dcl_trace\":1 of old");
    dcl_config config = test_config(1);
    config.trace = path;
    config.map = "no map";
    cr_expect_null(dcl_open(&config));
    text = read_all();
    cr_expect_str_eq(text, "{\"dcl_trace\":1 of old", "the call that failed has replaced it");
    free(text);
    config.map = NULL;
    TEST_OK(dcl_close(test_open(&config)));
    text = read_all();
    cr_expect_not_null(strstr(text, "traceEvents"));
    free(text);
    drop_folder();
}

Test(trace_on_device, says_at_the_end_that_the_file_cannot_be_written)
{
    make_folder();
    dcl_config config = test_config(1);
    config.trace = path;
    dcl_cluster *cluster = test_open(&config);
    cr_assert_eq(rmdir(folder), 0);
    TEST_REFUSED(dcl_close(cluster), DCL_ERR_FILE, "cannot be made");
}

/* ---- a worker is lost ------------------------------------------------------------------------------------------------ */

Test(trace_on_device, says_which_worker_was_lost)
{
    make_folder();
    dcl_config config = test_config(2);
    config.trace = path;
    config.workers = "local:2";
    config.program = TEST_DCL;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100));
    TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    TEST_OK(dcl_wait(cluster));
    dcli_worker_pool *pool = TEST_INSIDE(cluster)->pool;
    pthread_mutex_lock(&pool->lock); /* the process monitor clears it once the process is reaped */
    pid_t victim = pool->member[1].process.pid;
    pthread_mutex_unlock(&pool->lock);
    cr_assert_eq(kill(victim, SIGKILL), 0);
    while (dcl_node_is_alive(cluster, 1))
        usleep(1000);
    cr_expect_eq(dcl_close(cluster), DCL_ERR_NODE_LOST);
    char *text = read_all();
    cr_expect_gt(sum(text, 2, "kernels", ""), 0);
    cr_expect_eq(sum(text, 3, "kernels", ""), 0);
    cr_expect_not_null(strstr(text, "the node was lost, and its events with it"));
    free(text);
    drop_folder();
}

/* ---- clocks -------------------------------------------------------------------------------------------------------- */

Test(trace, times_of_other_clocks_are_moved_and_stretched)
{
    dcli_traced_peer peer = {.begin = {.at_ns = 1000, .offset_ns = 500}, .end = {.at_ns = 2000, .offset_ns = 700}};
    cr_expect_eq(dcli_traced_time(&peer, 1000), 1500);
    cr_expect_eq(dcli_traced_time(&peer, 1500), 2100);
    cr_expect_eq(dcli_traced_time(&peer, 2000), 2700);
    peer.begin.at_ns = 0; /* it joined later */
    cr_expect_eq(dcli_traced_time(&peer, 1000), 1700);
    peer.is_same_clock = true;
    cr_expect_eq(dcli_traced_time(&peer, 1000), 1000);
}

/* A writer's whole output for two nodes that send a chunk to each other, with clocks that differ. */
Test(trace, file_joins_sent_and_arrived_and_divides_overlapping_events)
{
    dcli_traced_peer peer[3] = {{.is_same_clock = true}, {.end = {.at_ns = 1, .offset_ns = -5000, .error_ns = 200}}};
    for (int p = 0; p < 3; p++)
        peer[p].ring = dcli_trace_open(1 << 12);
    dcli_trace_event sent = {.kind = DCLI_TRACE_SENT, .begin_ns = 2000, .end_ns = 2000, .operation = 7, .peer = 1};
    dcli_trace_event arrived = {
        .kind = DCLI_TRACE_ARRIVED, .begin_ns = 8500, .end_ns = 8500, .operation = 7, .bytes = 64};
    dcli_trace_add(peer[0].ring, &sent);
    dcli_trace_add(peer[1].ring, &arrived);
    sent.part = 1; /* it did not arrive */
    dcli_trace_add(peer[0].ring, &sent);
    arrived.part = 2; /* that it was sent was dropped */
    dcli_trace_add(peer[1].ring, &arrived);
    dcli_trace_event kernels = {
        .kind = DCLI_TRACE_KERNELS, .begin_ns = 1500, .end_ns = 3000, .operation = 8, .peer = 9, .launches = 1};
    kernels.name = dcli_trace_name(peer[0].ring, "a \"quoted\"\t\x01 name \\");
    dcli_trace_add(peer[0].ring, &kernels);
    kernels.begin_ns = 2999;
    dcli_trace_add(peer[0].ring, &kernels);
    /* Two chunks of lent batches: they differ from the first one, and from each other, by their loans and batches only. */
    for (int n = 0; n < 2; n++) {
        sent = (dcli_trace_event){.kind = DCLI_TRACE_SENT, .operation = 7, .peer = 1, .tasks = 4 + n, .launches = 1};
        sent.begin_ns = sent.end_ns = 2200 + 100 * n;
        arrived = (dcli_trace_event){.kind = DCLI_TRACE_ARRIVED, .operation = 7, .tasks = 4 + n, .launches = 1};
        arrived.begin_ns = arrived.end_ns = 9000 + 100 * n;
        dcli_trace_add(peer[0].ring, &sent);
        dcli_trace_add(peer[1].ring, &arrived);
    }
    dcli_trace_source source[3] = {{"A", "", &peer[0]}, {"B", "", &peer[1]}, {"", "", &peer[2]}};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    cr_assert_eq(dcli_trace_write(file, 3, source, 4, 1000), DCL_OK);
    fclose(file);
    static const char *const lines[] = {
        "\"ts\":1.000,\"dur\":1.500,\"cat\":\"wire\",\"name\":\"wire from node 0\",\"args\":{\"clock\":\"host\","
        "\"operation\":7,\"chunk\":0,\"peer\":2,\"bytes\":64,\"written\":false}}",
        "\"ts\":2.500,\"dur\":0.000,\"cat\":\"wire\",\"name\":\"wire from node 0\",\"args\":{\"clock\":\"host\","
        "\"operation\":7,\"chunk\":2,\"peer\":2,\"bytes\":64,\"written\":false,\"sent\":\"not known\"}}",
        "\"ts\":1.200,\"dur\":1.800,\"cat\":\"wire\",\"name\":\"wire from node 0\",\"args\":{\"clock\":\"host\","
        "\"operation\":7,\"loan\":1,\"batch\":4,\"chunk\":0,\"peer\":2,\"written\":false}}",
        "\"ts\":1.300,\"dur\":1.800,\"cat\":\"wire\",\"name\":\"wire from node 0\",\"args\":{\"clock\":\"host\","
        "\"operation\":7,\"loan\":1,\"batch\":5,\"chunk\":0,\"peer\":2,\"written\":false}}",
        "\"ts\":1.000,\"dur\":0.000,\"cat\":\"sent\",\"name\":\"sent for node 1\",\"args\":{\"clock\":\"host\","
        "\"operation\":7,\"chunk\":1,\"peer\":3,\"written\":false}}",
        "{\"ph\":\"X\",\"pid\":2,\"tid\":384,\"ts\":0.500,\"dur\":1.500,\"cat\":\"kernels\",\"name\":"
        "\"a \\\"quoted\\\"\\\\t\\\\x01 name \\\\\",\"args\":{\"clock\":\"host\",\"operation\":8,\"batch\":0,",
        "{\"ph\":\"X\",\"pid\":2,\"tid\":385,\"ts\":1.999,\"dur\":0.001,\"cat\":\"kernels\"",
        "{\"ph\":\"M\",\"pid\":2,\"tid\":385,\"name\":\"thread_name\",\"args\":{\"name\":\"compute 2\"}}",
        "\"clock\":\"compared by messages\",\"clock_error_us\":0.200}"};
    for (size_t n = 0; n < sizeof lines / sizeof lines[0]; n++)
        cr_expect_not_null(strstr(text, lines[n]), "%s\nhas not\n%s", text, lines[n]);
    free(text);
    for (int p = 0; p < 3; p++)
        dcli_trace_close(peer[p].ring);
}

/* ---- answers of nodes -------------------------------------------------------------------------------------------------- */

static void expect_peer(dcli_traced_peer *peer, bool is_lost, int64_t events, int64_t dropped, const char *missing)
{
    char text[DCLI_TRACE_MISSING];
    int64_t was_dropped = 0, kept = 0;
    if (peer->ring != NULL)
        dcli_trace_count(peer->ring, &was_dropped, &kept);
    cr_expect_eq(kept, events);
    cr_expect_eq(was_dropped, dropped);
    dcli_traced_missing(peer, is_lost, text);
    cr_expect_str_eq(text, missing);
}

Test(trace, says_how_many_events_of_a_node_have_come)
{
    dcli_traced_peer peer = {.is_same_clock = true};
    dcli_msg_event event[2] = {{.begin_ns = 10, .kind = 1}, {.begin_ns = 20, .kind = 1}};
    dcli_msg_traced traced = {.kept = 3, .dropped = 5, .event_count = 2, .event = event};
    expect_peer(&peer, false, 0, 0, "the node has not sent its events");
    expect_peer(&peer, true, 0, 0, "the node was lost, and its events with it");
    dcli_traced_add(&peer, &traced, 100, 0, 100);
    expect_peer(&peer, false, 2, 5, "only the oldest 2 of 3 events have come");
    expect_peer(&peer, true, 2, 5, "the node was lost: only the oldest 2 of 3 events have come");
    traced.part = 1; /* it says that there is one, and sends two */
    dcli_traced_add(&peer, &traced, 100, 0, 100);
    expect_peer(&peer, false, 3, 5, "");
    dcli_trace_close(peer.ring);
    peer = (dcli_traced_peer){.is_same_clock = true};
    dcli_traced_add(&peer, &(dcli_msg_traced){.unrecorded = true}, 100, 0, 100);
    expect_peer(&peer, false, 0, 0, "the node had no memory to record events");
}

/* Whatever a node says of its clock and events: no arithmetic overflows, and what is written is of the session. */
Test(trace, events_outside_the_session_count_as_dropped)
{
    const int64_t second = 1000000000, most = DCLI_MOST_NS;
    static const struct row {
        int64_t begin_at, end_at, begin_ns, duration_ns;
        bool is_same_clock, is_taken;
    } rows[] = {{0, 0, 105000000000, 1000, true, true},
                {0, 0, 98000000000, 1000, true, false},        /* before the session */
                {0, 0, 105000000000, 9000000000, true, false}, /* after it */
                {0, 0, DCLI_MOST_NS, DCLI_MOST_NS, true, false},
                {DCLI_MOST_NS - 1, DCLI_MOST_NS, 0, DCLI_MOST_NS, false, false},
                {1, 2, DCLI_MOST_NS, DCLI_MOST_NS, false, false},
                {1, DCLI_MOST_NS, DCLI_MOST_NS / 2, 1, false, true}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct row *row = &rows[r];
        dcli_traced_peer peer = {.is_same_clock = row->is_same_clock,
                                 .begin = {.at_ns = row->begin_at, .offset_ns = 100 * second - row->begin_at},
                                 .end = {.at_ns = row->end_at, .offset_ns = 110 * second - row->end_at}};
        dcli_msg_event event = {.begin_ns = row->begin_ns, .duration_ns = row->duration_ns, .kind = 1, .peer = -1};
        dcli_msg_traced traced = {.kept = 1, .dropped = DCLI_MOST_EXACT, .event_count = 1, .event = &event};
        dcli_traced_add(&peer, &traced, 100, 100 * second, 110 * second);
        expect_peer(&peer, false, row->is_taken, DCLI_MOST_EXACT + !row->is_taken, "");
        dcli_trace_close(peer.ring);
        peer.begin.offset_ns = -most; /* whatever it is, there is no overflow */
        peer.end.offset_ns = most;
        dcli_traced_time(&peer, most);
    }
}

/* ---- the program's locale --------------------------------------------------------------------------------------------- */

/* Make a locale that writes a decimal comma, and use it. @return whether there is one. */
static bool use_decimal_comma(void)
{
    char command[256];
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > %s/log 2>&1", folder, folder);
    setenv("LOCPATH", folder, 1);
    return system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

Test(trace, numbers_have_a_point_in_every_locale)
{
    make_folder();
    bool comma = use_decimal_comma();
    dcli_traced_peer peer = {.end = {.at_ns = 1, .offset_ns = 2000, .error_ns = 1234},
                             .ring = dcli_trace_open(1 << 12)};
    dcli_trace_add(peer.ring, &(dcli_trace_event){.kind = DCLI_TRACE_KERNELS, .begin_ns = 1, .end_ns = 2, .peer = -1});
    dcli_trace_source source = {"A", "", &peer};
    char *text = NULL, command[128];
    size_t length;
    FILE *file = open_memstream(&text, &length);
    cr_assert_eq(dcli_trace_write(file, 1, &source, 0, 0), DCL_OK);
    fclose(file);
    setlocale(LC_ALL, "C");
    cr_expect_not_null(strstr(text, "\"clock_error_us\":1.234}"), "%s", text);
    cr_expect_not_null(strstr(text, "\"ts\":2.001,\"dur\":0.001"), "%s", text);
    free(text);
    dcli_trace_close(peer.ring);
    snprintf(command, sizeof command, "rm -r %s/*", folder);
    cr_expect_eq(system(command), 0);
    drop_folder();
    if (!comma)
        cr_skip("there is no locale with a decimal comma, and none can be made");
}

/* ---- a thread records while the file is written ---------------------------------------------------------------------- */

static atomic_bool writes;

static void *add_events(void *user)
{
    while (writes)
        dcli_trace_add(user, &(dcli_trace_event){.kind = DCLI_TRACE_KERNELS, .begin_ns = 1, .end_ns = 2, .peer = -1});
    return NULL;
}

/* The thread of a node that hung in its driver may return at any time. */
Test(trace, file_has_as_many_events_as_it_says_though_a_thread_goes_on)
{
    dcli_traced_peer peer[2] = {{.is_same_clock = true, .ring = dcli_trace_open(1 << 22)},
                                {.is_same_clock = true, .ring = dcli_trace_open(1 << 12)}};
    dcli_trace_source source[2] = {{"A", "", &peer[0]}, {"", "", &peer[1]}};
    pthread_t thread;
    char *text = NULL, said[32];
    size_t length;
    writes = true;
    cr_assert_eq(pthread_create(&thread, NULL, add_events, peer[0].ring), 0);
    int64_t dropped, kept;
    do
        dcli_trace_count(peer[0].ring, &dropped, &kept);
    while (kept < 100);
    FILE *file = open_memstream(&text, &length);
    cr_assert_eq(dcli_trace_write(file, 2, source, 1, 0), DCL_OK);
    fclose(file);
    writes = false;
    pthread_join(thread, NULL);
    snprintf(said, sizeof said, "\"events\":%" PRId64 ",", sum(text, 2, "kernels", ""));
    cr_expect_not_null(strstr(text, said), "there are not %s", said);
    free(text);
    for (int p = 0; p < 2; p++)
        dcli_trace_close(peer[p].ring);
}

Test(trace_on_device, of_a_cluster_that_broke_is_written_when_it_is_closed)
{
    make_folder();
    dcl_config config = test_config(2);
    config.trace = path;
    dcl_cluster *cluster = test_open(&config);
    dcl_array *A = test_array(cluster, "block", dcl_grid_1d(DCL_INT32, 100));
    TEST_OK(dcl_forall(cluster, "A(i) = i;", DCL_OUT(A)));
    TEST_OK(dcl_wait(cluster));
    dcl_cluster *inside = TEST_INSIDE(cluster);
    inside->hooks.broken(inside, DCL_ERR_NOMEM, "node 1: no memory");
    cr_expect_eq(access(path, F_OK), -1, "the nodes still record");
    cr_expect_eq(dcl_close(cluster), DCL_ERR_NOMEM);
    char *text = read_all();
    cr_expect_gt(sum(text, 2, "kernels", ""), 0);
    free(text);
    drop_folder();
}
