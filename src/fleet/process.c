/* fleet/process.c - starting, monitoring and ending worker processes.
 * Source: posix_spawn(3), pidfd_open(2), waitid(2), memfd_create(2). */
#include "fleet/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "worker/blame.h"

extern char **environ;

void dcli_process_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < 1 << 16 ? limit.rlim_max : 1 << 16;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

dcl_status dcli_process_allow_descriptors(int more)
{
    struct rlimit limit;
    int lowest_free = memfd_create("dcl-lowest", MFD_CLOEXEC); /* the system assigns the lowest free descriptor */
    if (lowest_free >= 0)
        close(lowest_free);
    rlim_t wanted = (rlim_t)(lowest_free >= 0 ? lowest_free : 0) + (rlim_t)more;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return DCL_OK;
    if (limit.rlim_max < wanted)
        return DCLI_FAIL(DCL_ERR_NETWORK,
                         "this process may have %" PRIu64 " open descriptors; expected %" PRIu64
                         " for its workers; raise the hard limit (`ulimit -Hn`), or use fewer workers",
                         (uint64_t)limit.rlim_max, (uint64_t)wanted);
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    return DCL_OK;
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

dcl_status dcli_process_program(const char *program, char path_out[4096])
{
    enum { CAPACITY = 4096 };
    if (program != NULL) {
        snprintf(path_out, CAPACITY, "%s", program);
        if (is_program(path_out))
            return DCL_OK;
        return DCLI_FAIL(DCL_ERR_FILE,
                         "DCL_PROGRAM is \"%s\", which is no program that can be run (%s); expected the "
                         "path of the dcl command",
                         program, errno != 0 ? strerror(errno) : "not a file");
    }
    static const char *const beside[] = {"dcl", "../dcl", "../bin/dcl", "../../bin/dcl"};
    Dl_info about;
    const char *library = dladdr((void *)(uintptr_t)&dcli_process_program, &about) != 0 ? about.dli_fname : "";
    const char *slash = strrchr(library, '/');
    for (size_t b = 0; slash != NULL && b < sizeof beside / sizeof beside[0]; b++) {
        snprintf(path_out, CAPACITY, "%.*s/%s", (int)(slash - library), library, beside[b]);
        if (is_program(path_out))
            return DCL_OK;
    }
    snprintf(path_out, CAPACITY, "dcl"); /* dcli_process_start() looks for it in PATH */
    return DCL_OK;
}

/* ---- starting ----------------------------------------------------------------------------------------------------- */

dcl_status dcli_process_prepare(dcli_process *process_out)
{
    dcli_process process = {.pidfd = -1};
    process.status_memory = memfd_create("dcl-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (process.status_memory < 0)
        return DCLI_FAIL(DCL_ERR_NOMEM, "memfd_create: %s; raise the limit of open descriptors with `ulimit -n`",
                         strerror(errno));
    void *page = MAP_FAILED;
    if (dcli_memory_back(process.status_memory, DCLI_STATUS_BYTES) == NULL &&
        fcntl(process.status_memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        page = mmap(NULL, DCLI_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, process.status_memory, 0);
    if (page == MAP_FAILED) {
        dcl_status status =
            DCLI_FAIL(DCL_ERR_NOMEM, "the status page of a worker process: %s; free memory", strerror(errno));
        close(process.status_memory);
        return status;
    }
    process.page = page;
    *process_out = process;
    return DCL_OK;
}

static int prepare_actions(posix_spawn_file_actions_t *actions, int output, int count, const int descriptors[])
{
    int code = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(actions, output, 2);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(actions, 2, 1);
    /* a descriptor that is copied to itself stays open after exec() */
    for (int d = 0; d < count && code == 0; d++)
        code = posix_spawn_file_actions_adddup2(actions, descriptors[d], descriptors[d]);
    return code;
}

/* Attributes of a new process. It gets a process group of its own, so that signals of the terminal reach only the
 * program. */
static int prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

static int spawn(const char *program, const char *terms, char *const variables[], int output, int count,
                 const int descriptors[], pid_t *pid_out)
{
    char *arguments[] = {(char *)(uintptr_t)program, "worker", "--process", (char *)(uintptr_t)terms, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = prepare_actions(&actions, output, count, descriptors);
        if (code == 0)
            code = prepare_attributes(&attributes);
        if (code == 0)
            code = posix_spawnp(pid_out, program, &actions, &attributes, arguments, variables);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

dcl_status dcli_process_start(const char *program, const char *terms, char *const variables[], int output, int count,
                              const int descriptors[], dcli_process *process)
{
    int code =
        spawn(program, terms, variables != NULL ? variables : environ, output, count, descriptors, &process->pid);
    if (code != 0) {
        process->pid = 0;
        return DCLI_FAIL(DCL_ERR_FILE,
                         "a worker process cannot be started with the program \"%s\": %s; install DCL's command beside "
                         "its library, or set DCL_PROGRAM to its path",
                         program, strerror(code));
    }
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd < 0) { /* nothing would end it */
        dcl_status status =
            errno == ENOSYS
                ? DCLI_FAIL(
                      DCL_ERR_UNSUPPORTED,
                      "pidfd_open: this system has no descriptors of processes (Linux 5.3 or newer has them, unless "
                      "they are switched off for this container); without worker processes nodes are threads")
                : DCLI_FAIL(DCL_ERR_NOMEM, "pidfd_open: %s; raise the limit of open descriptors with `ulimit -n`",
                            strerror(errno));
        kill(process->pid, SIGKILL); /* not reaped yet, so the process id is still valid */
        waitpid(process->pid, NULL, 0);
        process->pid = 0;
        return status;
    }
    fcntl(process->pidfd, F_SETFD, FD_CLOEXEC);
    return DCL_OK;
}

/* ---- watching ----------------------------------------------------------------------------------------------------- */

/* Reap a process that has ended. If another process traces it, that is possible only after the tracer lets go. If the
 * program reaps its children itself, or ignores SIGCHLD, only the fact that it has ended is known. */
static void reap(dcli_process *process)
{
    siginfo_t about = {0};
    int code = waitid(P_PIDFD, (id_t)process->pidfd, &about, WEXITED | WNOHANG);
    process->ended = code != 0 || about.si_pid == process->pid;
    if (code == 0 && process->ended) {
        process->wait_code = about.si_code;
        process->wait_status = about.si_status;
    }
}

static bool has_ended_within(dcli_process *process, int milliseconds)
{
    if (process->pid == 0 || process->ended)
        return true;
    enum { STEP_MS = 5 };
    struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
    for (int waited = 0;; waited += STEP_MS) {
        if (poll(&end, 1, waited < milliseconds ? milliseconds - waited : 0) > 0)
            reap(process);
        if (process->ended || end.revents == 0 || waited >= milliseconds)
            return process->ended;
        poll(NULL, 0, STEP_MS); /* it has ended, but cannot be reaped yet */
    }
}

bool dcli_process_has_ended(dcli_process *process) { return has_ended_within(process, 0); }

bool dcli_process_is_silent(dcli_process *process, int64_t now_ns, int64_t silence_ms)
{
    enum {
        TIME_TO_BEGIN_MS = 10000,  /* for loading the program */
        MOST_PASSED_NS = 500000000 /* longest time that one look counts for */
    };
    int64_t beats = atomic_load(&process->page->beats), passed_ns = now_ns - process->looked_ns;
    bool beat = beats != process->beats || process->looked_ns == 0;
    process->silent_ns = beat ? 0 : process->silent_ns + dcli_min(passed_ns, MOST_PASSED_NS);
    process->beats = beats;
    process->looked_ns = now_ns;
    if (beats == 0 && silence_ms < TIME_TO_BEGIN_MS)
        silence_ms = TIME_TO_BEGIN_MS;
    return process->silent_ns > silence_ms * 1000000;
}

/* Copy text from the status page with escapes: the process may have written anything, without an end. */
static void clean(char *text_out, const char *text, size_t capacity)
{
    dcli_clean(text_out, capacity, text, strnlen(text, capacity - 1), "");
    dcli_blame_nobody(text_out);
}

/* The text of the body that an activity compiles or runs. */
static const char *body_text(const dcli_process *process, int activity)
{
    bool in_step = activity == DCLI_COMPUTING && atomic_load(&process->page->step.kernel) != 0;
    return in_step ? process->page->step.text : process->page->activity[activity].text;
}

static void add_activity(const dcli_process *process, char *text_out, size_t capacity)
{
    static const char *const names[DCLI_ACTIVITIES] = {"built", "ran", "moved the elements of", "opened", "planned"};
    for (int a = 0; a < DCLI_ACTIVITIES; a++) {
        if (atomic_load(&process->page->activity[a].since_ns) == 0)
            continue;
        char body[sizeof process->page->activity[a].text];
        clean(body, body_text(process, a), sizeof body);
        size_t length = strlen(text_out);
        snprintf(text_out + length, capacity - length, " while it %s `%s`", names[a], body);
        return;
    }
    if (process->wait_code != CLD_KILLED && process->wait_code != CLD_DUMPED)
        return;
    char body[sizeof process->page->activity[DCLI_COMPUTING].text];
    clean(body, body_text(process, DCLI_COMPUTING), sizeof body);
    size_t length = strlen(text_out);
    if (body[0] != '\0')
        snprintf(text_out + length, capacity - length, "; what it ran last was `%s`", body);
}

static void tell_own_end(const dcli_process *process, char *text_out, size_t capacity)
{
    char farewell[sizeof process->page->farewell];
    clean(farewell, process->page->farewell, sizeof farewell);
    snprintf(text_out, capacity, "ended by itself with status %d%s%s", process->wait_status,
             farewell[0] != '\0' ? ": " : "", farewell);
}

static const char *const deadlines[DCLI_ACTIVITIES] = {
    "its compiler took longer than DCL_BUILD_MS allows", "its kernel took longer than DCL_KERNEL_MS allows",
    "moving data made no progress for an hour", "its device took too long to open",
    "planning took longer than DCL_PLAN_MS allows"};

static void tell_end(const dcli_process *process, char *text_out, size_t capacity)
{
    int exceeded = atomic_load(&process->page->exceeded);
    if (exceeded >= 1 && exceeded <= DCLI_ACTIVITIES)
        snprintf(text_out, capacity, "was ended: %s",
                 exceeded == 1 + DCLI_COMPUTING && atomic_load(&process->page->limit_is_workers)
                     ? "its kernel took longer than the worker's --most-kernel-ms allows"
                     : deadlines[exceeded - 1]);
    else if (process->wait_code == CLD_KILLED || process->wait_code == CLD_DUMPED)
        snprintf(text_out, capacity, "was killed by signal %d (SIG%s)", process->wait_status,
                 sigabbrev_np(process->wait_status) != NULL ? sigabbrev_np(process->wait_status) : "?");
    else if (process->wait_code == CLD_EXITED)
        tell_own_end(process, text_out, capacity);
    else
        snprintf(text_out, capacity, "ended");
}

/* Whether a signal comes from a program's own fault. SIGKILL comes from others, and from the system when memory runs
 * out. */
static bool is_own_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGABRT ||
           number == SIGTRAP;
}

/* The body to blame for the end of the process. @return its number; 0: unknown. */
static int64_t blamed_body(const dcli_process *process)
{
    int exceeded = atomic_load(&process->page->exceeded);
    int64_t building = atomic_load(&process->page->activity[DCLI_BUILDING].kernel);
    int64_t computing = atomic_load(&process->page->step.kernel);
    if (computing == 0)
        computing = atomic_load(&process->page->activity[DCLI_COMPUTING].kernel);
    if (exceeded == 1 + DCLI_BUILDING)
        return building;
    if (exceeded == 1 + DCLI_COMPUTING)
        return computing;
    bool crashed =
        (process->wait_code == CLD_KILLED || process->wait_code == CLD_DUMPED) && is_own_fault(process->wait_status);
    bool gave_up = process->wait_code == CLD_EXITED && process->wait_status != 0 &&
                   process->page->farewell[0] == '\0';      /* as sanitizers end it */
    bool beside = atomic_load(&process->page->beside) != 0; /* the compiler in another thread may have crashed */
    if (exceeded != 0 || !process->ended || !(crashed || gave_up) || (building != 0 && computing != 0) || beside)
        return 0;
    return computing != 0 ? computing
           : crashed      ? building
                          : 0; /* a compiler that exits may only lack memory or disk
                                                                   space */
}

/* Append the blamed body's text and then its number, where dcli_blamed_body() reads it. */
static void add_blame(const dcli_process *process, char *text_out, size_t capacity)
{
    size_t length = strlen(text_out);
    int64_t body = blamed_body(process);
    if (body > 0 && length > 0 && text_out[length - 1] == '`')
        snprintf(text_out + length, capacity - length, " (body %" PRId64 ")", body);
}

void dcli_page_why(const dcli_status_page *page, char *text_out, size_t capacity)
{
    const dcli_process none = {.page = (dcli_status_page *)(uintptr_t)page};
    int exceeded = atomic_load(&page->exceeded);
    snprintf(text_out, capacity, "%s",
             exceeded > 0 ? deadlines[exceeded - 1]
                          : "its driver has not returned from a call for longer than DCL_SILENCE_MS");
    add_activity(&none, text_out, capacity);
    add_blame(&none, text_out, capacity);
}

void dcli_process_why(dcli_process *process, char *text_out, size_t capacity)
{
    if (process->page == NULL)
        snprintf(text_out, capacity, "has not been started");
    else if (has_ended_within(process, 0))
        tell_end(process, text_out, capacity);
    else
        snprintf(text_out, capacity, "does not answer");
    if (process->page == NULL)
        return;
    add_activity(process, text_out, capacity);
    add_blame(process, text_out, capacity);
}

/* ---- ending ------------------------------------------------------------------------------------------------------- */

static void await_all(int count, dcli_process *const process[], int milliseconds)
{
    int64_t until = dcli_monotonic_ms() + milliseconds;
    for (int p = 0; p < count; p++) {
        int64_t left = until - dcli_monotonic_ms();
        has_ended_within(process[p], left > 0 ? (int)left : 0);
    }
}

static void forget(dcli_process *process)
{
    if (process->page != NULL) {
        munmap(process->page, DCLI_STATUS_BYTES);
        close(process->status_memory);
    }
    if (process->pid != 0)
        close(process->pidfd);
    *process = (dcli_process){.pidfd = -1};
}

void dcli_process_kill(dcli_process *process)
{
    if (process->pid != 0 && !process->ended)
        syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
}

void dcli_process_end_all(int count, dcli_process *const process[], int grace_ms)
{
    enum { TIME_TO_DIE_MS = 5000 };
    await_all(count, process, grace_ms);
    for (int p = 0; p < count; p++)
        dcli_process_kill(process[p]);
    await_all(count, process, TIME_TO_DIE_MS);
    for (int p = 0; p < count; p++)
        forget(process[p]);
}

void dcli_process_end(dcli_process *process, int grace_ms) { dcli_process_end_all(1, &process, grace_ms); }
